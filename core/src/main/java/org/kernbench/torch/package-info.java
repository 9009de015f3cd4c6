/**
 * The host runtime, shaped like PyTorch: a context, tensors and their placement, kernel launches,
 * cooperative ranks, process groups.
 *
 * <p>What PyTorch keeps global belongs here to the context a program is handed, or to a rank's own
 * view of it. Names are PyTorch's in camelCase. Collectives are found through an interface that
 * this room owns and {@code ccl} implements.
 *
 * <p>Depends on: tl, device, machine, tensor, config. Knows no collective algorithm.
 */
@NullMarked
package org.kernbench.torch;

import org.jspecify.annotations.NullMarked;
