/**
 * {@code kernbench probe}: what the paths of a machine can do, each measured on an idle machine.
 * Start at {@code Probe}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.probe;

import org.jspecify.annotations.NullMarked;
