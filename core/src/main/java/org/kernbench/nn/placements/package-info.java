/**
 * Placements of a tensor over ranks, as {@code DTensor} of PyTorch has them: whole, cut or as parts
 * of a sum along each dimension of a mesh, the collectives from one placement to another, and
 * operations by rules. Start at {@code DistributedTensor}, then {@code PlacedOperations}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.placements;

import org.jspecify.annotations.NullMarked;
