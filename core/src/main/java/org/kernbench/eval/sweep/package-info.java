/**
 * Grids of runs: points, workers, and the store of their rows. Start at {@code Sweep}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.sweep;

import org.jspecify.annotations.NullMarked;
