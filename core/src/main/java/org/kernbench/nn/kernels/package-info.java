/**
 * Kernels on the tensors of one rank: products, rows, element by element, copies; without
 * gradients. Start at {@link org.kernbench.nn.kernels.Compute}.
 *
 * <p>Depends on: {@code torch}, {@code tl}, {@code tensor}, {@code device}, {@code machine}. Knows
 * no graph and no layer.
 */
@NullMarked
package org.kernbench.nn.kernels;

import org.jspecify.annotations.NullMarked;
