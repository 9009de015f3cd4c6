/**
 * Element types and their exact rounding, shapes, sparse memory images, numeric kernels and {@code
 * .npy} files. Start at {@link org.kernbench.tensor.DType} and {@link
 * org.kernbench.tensor.Numerics}. Depends on: java.base only (and the jspecify annotations). Knows
 * nothing of machines, time or kernels.
 */
@NullMarked
package org.kernbench.tensor;

import org.jspecify.annotations.NullMarked;
