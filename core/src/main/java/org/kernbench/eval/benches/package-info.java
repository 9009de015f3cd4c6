/**
 * The benches that come with the program. Start at {@link
 * org.kernbench.eval.benches.BenchRegistry}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.benches;

import org.jspecify.annotations.NullMarked;
