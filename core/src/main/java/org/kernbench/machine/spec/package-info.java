/**
 * The parts of a machine as its file states them: one record for each part, one enumeration for
 * each choice. Start at {@link org.kernbench.machine.spec.PeSpec}. Every record checks its own
 * ranges. None knows another part, a place in the machine, or a file.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.machine.spec;

import org.jspecify.annotations.NullMarked;
