package org.kernbench.nn.autograd;

import java.util.List;
import org.kernbench.nn.autograd.Compute.Matrix;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.placement.Layout;

/**
 * Copies of an operand of a product on a package: its rows are cut over the rows (or columns) of
 * the grid of cubes and over the PEs of a cube, and each cube along the other axis has a copy.
 *
 * <p>The operand is taken as {@code [rows, k]}. If it lies so, its copies do, too. If it lies
 * transposed, {@code [k, rows]}, a PE would have to read a little of every other PE's memory, all
 * of them at once and in the same order: it is copied as panels {@code [k, width]} of neighbouring
 * rows, each whole on a PE.
 */
final class Panels implements Product.Operand, Dependent, AutoCloseable {
  private final Tensor tensor;
  private final boolean transposed;
  private final int rows;
  private final int k;
  private final int width;
  private final Matrix of;
  private final boolean down;
  private final int version;
  private final long bytesOnEach;

  private Panels(Tensor tensor, Matrix of, int width, boolean down) {
    this.bytesOnEach =
        tensor.shards().stream()
            .mapToLong(s -> s.shape().elements() * tensor.dtype().sizeBytes())
            .max()
            .orElse(0);
    this.of = of;
    this.down = down;
    this.version = of.tensor().version();
    this.tensor = tensor;
    this.transposed = of.transposed();
    this.rows = of.height();
    this.k = of.width();
    this.width = width;
  }

  /** Whether these are the copies that {@link #of} would make. */
  boolean areOf(Matrix other, int otherWidth, boolean otherDown) {
    return other.transposed() == transposed
        && other.height() == rows
        && otherWidth == width
        && otherDown == down
        && areStill(other.tensor());
  }

  /** Whether these are the elements of a matrix, one after the other as they are in its tensor. */
  boolean areRowsOf(Matrix other) {
    return !transposed && areStill(other.tensor());
  }

  private boolean areStill(Tensor other) {
    return other == of.tensor() && other.version() == version && !tensor.isClosed();
  }

  /** Whether they are panels {@code [k, width]}. */
  boolean isTransposed() {
    return transposed;
  }

  /** Memory that they take on each PE, about. */
  long bytesOnEach() {
    return bytesOnEach;
  }

  /**
   * Makes the copies.
   *
   * @param of {@code [rows, k]}, or transposed
   * @param width rows of a panel
   * @param down whether the rows are cut over the rows of cubes, rather than over their columns
   */
  static Panels of(Compute compute, String name, Matrix of, int width, boolean down) {
    Layout.Part cut = of.transposed() ? new Layout.Shard(0) : new Layout.Rows();
    Layout.Part all = new Layout.Replicate();
    Layout layout =
        new Layout(compute.mesh(), down ? List.of(cut, all, cut) : List.of(all, cut, cut));
    int rows = of.height();
    int k = of.width();
    Shape shape =
        of.transposed() ? Shape.of(Math.ceilDiv(rows, width), k, width) : Shape.of(rows, k);
    Tensor from = compute.nearest(of);
    Tensor copies = compute.own(compute.torch().empty(shape, of.tensor().dtype(), layout, name));
    Panels panels = new Panels(copies, of, width, down);
    boolean beside = of.resident();
    if (of.transposed()) {
      panels.fill(compute, name, from, beside);
    } else {
      compute.copy(name, copies, from, beside);
    }
    return panels;
  }

  /** Every PE that holds panels copies them, each from another place of k on. */
  private void fill(Compute compute, String name, Tensor source, boolean beside) {
    int step = Math.max(1, compute.blockBytes() / (width * tensor.dtype().sizeBytes()));
    int steps = Math.ceilDiv(k, step);
    compute.owners(
        name,
        List.of(tensor),
        List.of(source),
        beside,
        (tl, run) -> {
          int turn = compute.mesh().placeOf(tl.pe()) * steps / compute.places();
          Shard from = tl.whole(source).as(k, rows);
          Shard to = tl.whole(tensor).as(tensor.shape().dim(0) * k, width);
          int first = run.start() / (k * width);
          Pace pace = Pace.ofPieces(compute, tl, beside);
          for (int p = first; p < first + run.count() / (k * width); p++) {
            int count = Math.min(width, rows - p * width);
            for (int s = 0; s < steps; s++) {
              int l = (s + turn) % steps * step;
              int d = Math.min(step, k - l);
              try (Scope one = tl.scope()) {
                Value block = tl.load(from.block(l, d, p * width, count));
                pace.stored(tl.store(to.block(p * k + l, d, 0, count), block));
              }
            }
          }
        });
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(tensor, transposed, rows, k, width);
  }

  Tensor tensor() {
    return tensor;
  }

  @Override
  public Value load(Tl tl, int row, int height, int column, int extent) {
    if (!transposed) {
      return tl.load(tl.whole(tensor).as(rows, k).block(row, height, column, extent));
    }
    return stored(tl, row, height, column, extent).trans();
  }

  /** {@code [extent, height]} of a panel. */
  private Value stored(Tl tl, int row, int height, int column, int extent) {
    Shard all = tl.whole(tensor).as(tensor.shape().dim(0) * k, width);
    return tl.load(all.block(row / width * k + column, extent, 0, height));
  }

  /** The operand as the right one of a product, {@code [k, rows]}. */
  Product.Operand across() {
    return (tl, l, d, column, count) ->
        transposed ? stored(tl, column, count, l, d) : load(tl, column, count, l, d).trans();
  }

  /** Gives the memory back when nobody reads it any more. */
  @Override
  public void close() {
    tensor.close();
  }
}
