package org.kernbench.nn.kernels;

import java.util.List;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/** Matrices that are put together from blocks of others. */
final class BlockCopies implements Dependent {
  private final Compute compute;

  BlockCopies(Compute compute) {
    this.compute = compute;
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(compute);
  }

  /**
   * A matrix put together from blocks of others.
   *
   * @param zero whether what no block covers is zero; otherwise the blocks cover all
   */
  Tensor assemble(
      String name, int rows, int columns, DType dtype, boolean zero, List<BlockCopy> blocks) {
    Tensor to = compute.empty(name, Shape.of(rows, columns), dtype);
    if (to.shape().elements() == 0) {
      return to;
    }
    compute.countBytes(name, -Compute.bytes(froms(blocks))); // not all of them
    compute.cut(
        name,
        rows,
        List.of(to),
        froms(blocks),
        (tl, first, behind) -> {
          if (zero) {
            fill(tl, tl.whole(to), first * columns, (behind - first) * columns);
          }
          for (BlockCopy b : blocks) {
            int start = Math.max(first, b.toRow());
            int end = Math.min(behind, b.toRow() + b.rows());
            if (start < end) {
              b.rows(start, end).copy(tl, tl.whole(to).as(rows, columns), compute.blockBytes());
            }
          }
        });
    return to;
  }

  private static List<Tensor> froms(List<BlockCopy> blocks) {
    return blocks.stream().map(BlockCopy::from).distinct().toList();
  }

  /**
   * Blocks put into a matrix of whole rows, by the PEs that hold these; what no block covers is
   * zero.
   */
  Tensor assembleWhere(String name, Tensor to, List<BlockCopy> blocks) {
    int rows = to.shape().dim(0);
    int columns = to.shape().dim(1);
    compute.countBytes(name, -Compute.bytes(froms(blocks))); // not all of them
    compute.owners(
        name,
        List.of(to),
        froms(blocks),
        false,
        (tl, run) -> {
          int first = run.start() / columns;
          int behind = first + run.count() / columns;
          fill(tl, tl.whole(to), run.start(), run.count());
          for (BlockCopy b : blocks) {
            int start = Math.max(first, b.toRow());
            int end = Math.min(behind, b.toRow() + b.rows());
            if (start < end) {
              b.rows(start, end).copy(tl, tl.whole(to).as(rows, columns), compute.blockBytes());
            }
          }
        });
    return to;
  }

  void fill(Tl tl, Shard to, int start, int n) {
    int block = compute.blockBytes() / to.dtype().sizeBytes();
    try (Scope all = tl.scope()) {
      Value zeros = tl.zeros(Shape.of(Math.min(block, n)), to.dtype());
      for (int i = 0; i < n; i += block) {
        int count = Math.min(block, n - i);
        tl.store(to.range(start + i, count), zeros.range(0, count));
      }
    }
  }
}
