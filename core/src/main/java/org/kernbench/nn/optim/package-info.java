/**
 * From gradients to the next step: sums over ranks, in buckets beside the backward pass,
 * optimizers, divided optimizers, checkpoints. Start at {@link org.kernbench.nn.optim.Optimizer}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.optim;

import org.jspecify.annotations.NullMarked;
