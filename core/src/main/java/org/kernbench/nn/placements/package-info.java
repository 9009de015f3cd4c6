/**
 * Placements of a tensor over ranks, as {@code DTensor} of PyTorch has them: whole, cut or as parts
 * of a sum along each dimension of a mesh, and the collectives from one placement to another. Start
 * at {@code DistributedTensor}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.placements;

import org.jspecify.annotations.NullMarked;
