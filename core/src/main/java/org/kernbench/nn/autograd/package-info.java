/**
 * Automatic differentiation on simulated devices: the graph of one step, its tape, variables,
 * parameters, and the kernels of every operation, forwards and backwards. Start at {@code Graph}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.autograd;

import org.jspecify.annotations.NullMarked;
