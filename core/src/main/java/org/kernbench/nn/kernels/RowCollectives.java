package org.kernbench.nn.kernels;

import java.util.List;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.Layout;
import org.kernbench.torch.placement.Mesh;

/**
 * Collectives that join or cut the first axis, of tensors whose rows lie on several PEs.
 *
 * <p>A PE exchanges its shard with the PEs at its place on other devices, and the axis that is cut
 * must be whole on it. So rows are turned to columns first: each PE gathers some columns of all
 * rows of its device, by address; the collective runs in as many lanes as there are PEs; and what
 * comes of it is turned back. On one PE there is nothing to turn.
 */
public final class RowCollectives implements Dependent {
  private final Compute compute;
  private final ProcessGroup group;

  public RowCollectives(Compute compute, ProcessGroup group) {
    this.compute = compute;
    this.group = group;
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(compute);
  }

  /** What a collective does with tensors that have whole rows, or whole columns, on each PE. */
  private interface Lanes {
    void run(Tensor out, Tensor in, int unit);
  }

  /**
   * {@link ProcessGroup#allGather(Tensor, Tensor, List)}.
   *
   * @param rows by member, along the first axis; empty if all bring as many
   */
  public void allGather(String name, Tensor out, Tensor in, List<Integer> rows) {
    run(
        name,
        out,
        in,
        (to, from, unit) -> {
          if (rows.isEmpty()) {
            group.allGather(to, from);
          } else {
            group.allGather(to, from, times(rows, unit));
          }
        });
  }

  /** {@link ProcessGroup#reduceScatter(Tensor, Tensor, ReduceKind, List)}, a sum. */
  public void reduceScatter(String name, Tensor out, Tensor in, List<Integer> rows) {
    run(
        name,
        out,
        in,
        (to, from, unit) -> {
          if (rows.isEmpty()) {
            group.reduceScatter(to, from, ReduceKind.SUM);
          } else {
            group.reduceScatter(to, from, ReduceKind.SUM, times(rows, unit));
          }
        });
  }

  /** {@link ProcessGroup#allToAll(Tensor, Tensor, List, List)}. */
  public void allToAll(
      String name, Tensor out, Tensor in, List<Integer> outRows, List<Integer> inRows) {
    run(
        name,
        out,
        in,
        (to, from, unit) -> {
          if (outRows.isEmpty()) {
            group.allToAll(to, from);
          } else {
            group.allToAll(to, from, times(outRows, unit), times(inRows, unit));
          }
        });
  }

  /** A tensor as a matrix of its last axis' rows: then each PE has one part of it at most. */
  public static Tensor asRows(Tensor x) {
    Shape shape = x.shape();
    int last = shape.rank() - 1;
    return shape.rank() <= 2
        ? x
        : x.view(0, Shape.of(Math.toIntExact(shape.outer(last)), shape.dim(last)), x.name());
  }

  private static List<Integer> times(List<Integer> rows, int unit) {
    return rows.stream().map(r -> r * unit).toList();
  }

  private void run(String name, Tensor out, Tensor in, Lanes lanes) {
    if (compute.mesh().size() == 1) {
      lanes.run(out, in, 1);
      return;
    }
    int rank = in.shape().rank();
    int width = rank == 1 ? 1 : in.shape().dim(rank - 1);
    long inner = in.shape().inner(0);
    int unit = width == 0 ? 0 : Math.toIntExact(inner / width);
    try (Tensor columns = columns(name, in, width);
        Tensor result = columns(name, out, width)) {
      turn(name, in, columns, true);
      lanes.run(result, columns, unit);
      turn(name, out, result, false);
    }
  }

  /** A matrix with as many elements as a tensor, of which each PE has some columns. */
  private Tensor columns(String name, Tensor of, int width) {
    int rows = width == 0 ? 0 : Math.toIntExact(of.shape().elements() / width);
    Layout layout = Layout.all(compute.mesh(), new Layout.Shard(1));
    return compute.torch().empty(Shape.of(rows, width), of.dtype(), layout, name + "-lanes");
  }

  /** Copies rows to columns or back. */
  private void turn(String name, Tensor rows, Tensor columns, boolean toColumns) {
    int height = columns.shape().dim(0);
    int width = columns.shape().dim(1);
    boolean isShort = height < compute.places(); // by rows, some PEs would have none
    if (toColumns || isShort) {
      compute.deal(
          name + (toColumns ? "-to-lanes" : "-from-lanes"),
          compute.places(),
          List.of(toColumns ? columns : rows),
          List.of(toColumns ? rows : columns),
          (tl, place, places) -> block(tl, rows, columns, place, new Range(0, height), toColumns));
    } else {
      compute.cut(
          name + "-from-lanes",
          height,
          List.of(rows),
          List.of(columns),
          (tl, from, to) -> {
            for (int place = 0; place < compute.places() && width > 0; place++) {
              block(tl, rows, columns, place, new Range(from, to), false);
            }
          });
    }
  }

  /** Rows, from one to before another. */
  private record Range(int from, int to) {}

  /** Copies the columns of a place, of some rows. */
  private void block(
      Tl tl, Tensor rows, Tensor columns, int place, Range range, boolean toColumns) {
    Mesh mesh = compute.mesh();
    Shard part = tl.shard(columns, mesh.pe(place));
    int first = columns.shardSpecs().get(place).offset().get(1);
    int count = part.shape().dim(1);
    // long rows, as those of buckets are, in pieces
    int width = Math.min(count, compute.blockBytes() / part.dtype().sizeBytes());
    int step = Math.max(1, compute.blockBytes() / Math.max(1, width * part.dtype().sizeBytes()));
    for (int row = range.from; row < range.to; row += step) {
      int height = Math.min(step, range.to - row);
      for (int column = 0; column < count; column += width) {
        int some = Math.min(width, count - column);
        var inRows =
            tl.whole(rows)
                .as(columns.shape().dim(0), columns.shape().dim(1))
                .block(row, height, first + column, some);
        var inColumns = part.block(row, height, column, some);
        try (Scope one = tl.scope()) {
          tl.store(toColumns ? inColumns : inRows, tl.load(toColumns ? inRows : inColumns));
        }
      }
    }
  }
}
