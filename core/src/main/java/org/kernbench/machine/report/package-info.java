/**
 * A machine shown to people: the text of {@code machine show} and the drawings of {@code machine
 * diagram}. Start at {@code MachineReport}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.machine.report;

import org.jspecify.annotations.NullMarked;
