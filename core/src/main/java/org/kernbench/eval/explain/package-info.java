/**
 * Why a run took its time: moments and what each followed from, the critical path, utilisation,
 * sensitivities. Start at {@link org.kernbench.eval.explain.Breakdown}. Reads logs; knows no bench
 * and no result.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.explain;

import org.jspecify.annotations.NullMarked;
