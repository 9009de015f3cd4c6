package org.kernbench.nn.kernels;

import java.util.List;
import org.kernbench.device.Mode;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * {@link Copies} of an operand of a product on a package: its rows are cut over the rows (or
 * columns) of the grid of cubes and over the PEs of a cube, and each cube along the other axis has
 * a copy.
 *
 * <p>The operand is taken as {@code [rows, k]}. If it lies so, its copies do, too. If it lies
 * transposed, {@code [k, rows]}, a PE would have to read a little of every other PE's memory, all
 * of them at once and in the same order: it is copied as panels {@code [k, width]} of neighbouring
 * rows, each on one PE or two.
 */
final class Panels implements Product.Operand, Dependent, KeptCopies.Kept {
  private final Copies copies;
  private final boolean transposed;
  private final int rows;
  private final int k;
  private final int width;
  private final Matrix of;
  private final boolean down;

  /** How often the host had written to the operand when they were made, and anybody. */
  private int version = -1;

  private int changes = -1;

  private Panels(Copies copies, Matrix of, int width, boolean down) {
    this.of = of;
    this.down = down;
    this.copies = copies;
    this.transposed = of.transposed();
    this.rows = of.height();
    this.k = of.width();
    this.width = width;
  }

  /** Whether these are the copies that {@link #of} would make. */
  boolean areOf(Matrix other, int otherWidth, boolean otherDown) {
    return areFor(other, otherWidth, otherDown) && areStill(other.tensor());
  }

  /** Whether these are such copies, made at any time. */
  boolean areFor(Matrix other, int otherWidth, boolean otherDown) {
    return other.transposed() == transposed
        && other.height() == rows
        && (otherWidth == width || !transposed)
        && otherDown == down
        && other.tensor() == of.tensor();
  }

  @Override
  public boolean isOf(Tensor value) {
    return of.tensor() == value;
  }

  @Override
  public boolean isSpare() {
    return true;
  }

  /** Whether their memory has been given back. */
  boolean isClosed() {
    return copies.isClosed();
  }

  /** Whether these are the elements of a matrix, one after the other as they are in its tensor. */
  boolean areRowsOf(Matrix other) {
    return !transposed && areStill(other.tensor());
  }

  private boolean areStill(Tensor other) {
    return other == of.tensor() && other.version() == version && !copies.isClosed();
  }

  /** Whether they are panels {@code [k, width]}. */
  boolean isTransposed() {
    return transposed;
  }

  /** Elements of each row of the operand. */
  int k() {
    return k;
  }

  /** Memory that they take on each PE, about. */
  long bytesOnEach() {
    return copies.bytesOnEach();
  }

  /**
   * Room for copies.
   *
   * @param of {@code [rows, k]}, or transposed
   * @param width rows of a panel
   * @param down whether the rows are cut over the rows of cubes, rather than over their columns
   */
  static Panels of(Compute compute, String name, Matrix of, int width, boolean down) {
    int rows = of.height();
    int k = of.width();
    Shape shape =
        of.transposed() ? Shape.of(Math.ceilDiv(rows, width), k, width) : Shape.of(rows, k);
    Copies copies = new Copies(compute, name, shape, of.tensor().dtype(), down ? 1 : 0);
    return new Panels(copies, of, width, down);
  }

  /** Makes the copies. */
  void make(Compute compute, String name) {
    Copies near = compute.panels().nearest(of);
    Tensor tensor = of.tensor();
    List<Tensor> sources = near == null ? List.of(tensor) : near.tensors();
    boolean beside = of.resident() || compute.isSettled(tensor);
    copies.make(
        name,
        sources,
        beside,
        (tl, to, from, count) ->
            fetch(compute, tl, near == null ? tensor : near.near(tl), to, from, count, beside));
    made();
  }

  private void made() {
    version = of.tensor().version();
    changes = of.tensor().changes();
  }

  /**
   * Makes the copies again if the operand may have been written to. What only the host has written
   * the host copies: that is how the operand came to where it lies.
   */
  void renew(Compute compute, String name) {
    if (changes == of.tensor().changes()) {
      return;
    }
    if (!of.tensor().isOfHost()) {
      make(compute, name);
      return;
    }
    if (compute.torch().simulator().mode() != Mode.TIME) {
      double[] values = of.tensor().toDoubles();
      copies.fill(transposed ? inPanels(values) : values);
    }
    made();
  }

  private double[] inPanels(double[] values) {
    double[] panels = new double[Math.ceilDiv(rows, width) * k * width];
    for (int l = 0; l < k; l++) {
      for (int row = 0; row < rows; row++) {
        panels[(row / width * k + l) * width + row % width] = values[l * rows + row];
      }
    }
    return panels;
  }

  private void fetch(
      Compute compute, Tl tl, Tensor source, Tensor to, int from, int count, boolean beside) {
    if (transposed) {
      pieces(compute, tl, source, to, from / width, count / width, beside);
    } else {
      compute.copy(tl, source, to, from, count, new Pace(tl, beside));
    }
  }

  /** Rows of panels, each PE from another place on. */
  private void pieces(
      Compute compute, Tl tl, Tensor source, Tensor to, int first, int count, boolean beside) {
    Shard all = tl.whole(source).as(k, rows);
    Shard panels = tl.whole(to).as(to.shape().dim(0) * k, width);
    int step = Math.max(1, compute.blockBytes() / (width * to.dtype().sizeBytes()));
    Pace pace = new Pace(tl, beside);
    int steps = Math.ceilDiv(count, step);
    int turn = (int) ((long) compute.turn(tl) * steps / compute.places());
    for (int s = 0; s < steps; s++) {
      int start = first + (s + turn) % steps * step;
      int behind = Math.min(first + count, start + step);
      for (int row = start, d; row < behind; row += d) {
        int panel = row / k;
        int l = row % k;
        d = Math.min(behind - row, k - l);
        int wide = Math.min(width, rows - panel * width);
        try (Scope one = tl.scope()) {
          Value block = pace.loaded(tl.load(all.block(l, d, panel * width, wide)));
          tl.store(panels.block(row, d, 0, wide), block);
        }
      }
    }
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(copies, transposed, rows, k, width);
  }

  Copies copies() {
    return copies;
  }

  @Override
  public Value load(Tl tl, int row, int height, int column, int extent) {
    if (!transposed) {
      return tl.load(tl.whole(copies.near(tl)).as(rows, k).block(row, height, column, extent));
    }
    return stored(tl, row, height, column, extent).trans();
  }

  /** {@code [extent, height]} of a panel. */
  private Value stored(Tl tl, int row, int height, int column, int extent) {
    Tensor near = copies.near(tl);
    Shard all = tl.whole(near).as(near.shape().dim(0) * k, width);
    return tl.load(all.block(row / width * k + column, extent, 0, height));
  }

  /** Room for copies that the kernel which makes the operand writes itself, by {@link #store}. */
  static Panels ahead(Compute compute, String name, Matrix of, int width, boolean down) {
    Panels made = of(compute, name, of, width, down);
    made.made();
    return made;
  }

  /**
   * Stores a block of the operand's tensor to a copy.
   *
   * @param index of the copy, counted from the nearest
   * @param row first row of the tensor
   * @param column first column
   */
  void store(Tl tl, int index, int row, int column, Value block) {
    Tensor copy = copies.near(tl, index);
    int height = block.shape().dim(0);
    int extent = block.shape().dim(1);
    if (!transposed) {
      tl.store(tl.whole(copy).as(rows, k).block(row, height, column, extent), block);
      return;
    }
    Shard all = tl.whole(copy).as(copy.shape().dim(0) * k, width);
    for (int i = 0, wide; i < extent; i += wide) {
      int panel = (column + i) / width;
      int in = (column + i) % width;
      wide = Math.min(extent - i, width - in);
      tl.store(all.block(panel * k + row, height, in, wide), block.narrow(1, i, wide));
    }
  }

  /** The operand as the right one of a product, {@code [k, rows]}. */
  Product.Operand across() {
    return (tl, l, d, column, count) ->
        transposed ? stored(tl, column, count, l, d) : load(tl, column, count, l, d).trans();
  }

  /** Gives the memory back when nobody reads it any more. */
  @Override
  public void close() {
    copies.close();
  }
}
