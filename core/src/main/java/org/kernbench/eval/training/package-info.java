/**
 * The benches that train, alone and in two modules, and what they compare their steps with. Start
 * at {@code TrainingBench}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.training;

import org.jspecify.annotations.NullMarked;
