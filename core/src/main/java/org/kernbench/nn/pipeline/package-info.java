/**
 * Models cut into stages: schedules as data, their check, their times in theory, and the executor
 * that runs them on ranks. Start at {@link org.kernbench.nn.pipeline.Schedules} and {@link
 * org.kernbench.nn.pipeline.PipelineStep}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.pipeline;

import org.jspecify.annotations.NullMarked;
