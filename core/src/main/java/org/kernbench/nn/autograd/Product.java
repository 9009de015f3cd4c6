package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.machine.spec.GemmMode;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.nn.autograd.Compute.Matrix;
import org.kernbench.nn.autograd.TileGrid.Range;
import org.kernbench.nn.autograd.TileGrid.Rectangle;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.placement.Mesh;

/**
 * A product of two matrices, by tiles of the result: each is made by one PE over all of k in
 * ascending order, so its bits depend on no division (ADR 0102).
 *
 * <p>A PE works on a few neighbouring tiles at once, which share what they read. On a package, the
 * cubes of a row make the same rows of the result and those of a column the same columns: operands
 * are first {@linkplain Panels copied} into each cube that needs them, once, and the PEs of a cube
 * read them there. Without that, every PE would draw its operands through the links between cubes.
 */
final class Product implements Dependent {
  /** Tiles along each side that a PE makes at once, as the TCM has room for their sums. */
  private static final int SIDE = 2;

  private final Compute compute;
  private final String name;
  private final Matrix a;
  private final Matrix b;
  private final Tensor c;
  private final boolean add;
  private final TileGrid grid;
  private final boolean panels;
  private final boolean turned;

  /**
   * A product.
   *
   * @param turned whether rows of the result go over the columns of cubes, as those of parameters
   *     do
   */
  Product(Compute compute, String name, Matrix a, Matrix b, Tensor c, boolean add, boolean turned) {
    this.turned = turned;
    this.compute = compute;
    this.name = name;
    this.a = a;
    this.b = b;
    this.c = c;
    this.add = add;
    GemmSpec gemm = compute.torch().machine().pe().gemm();
    Mesh mesh = compute.mesh();
    int whole = compute.tile(gemm.rows());
    int wholeN = compute.tile(gemm.columns());
    // tiles of one array each, if only so all PEs have one
    boolean fine = compute.isPackage() && tiles(whole, wholeN) < mesh.size();
    int tileM = fine ? Math.min(whole, gemm.rows()) : whole;
    int tileN = fine ? Math.min(wholeN, gemm.columns()) : wholeN;
    int high = mesh.axes().get(0).size();
    int wide = mesh.axes().get(1).size();
    TileGrid.Places cubes =
        turned ? new TileGrid.Places(wide, high) : new TileGrid.Places(high, wide);
    int pes = mesh.axes().get(2).size();
    this.panels = cubes.count() > 1 && tiles(tileM, tileN) >= mesh.size();
    this.grid =
        panels
            ? TileGrid.of(a.height(), b.width(), tileM, tileN, cubes, pes)
            : TileGrid.of(a.height(), b.width(), tileM, tileN, mesh.size());
  }

  @Override
  public List<Object> dependsOn() {
    return panels // which are captured apart, and may outlive the operands
        ? List.of(compute, a.dependsOnShape(), b.dependsOnShape(), c, add, grid, turned)
        : List.of(compute, a, b, c, add, grid);
  }

  private long tiles(int tileM, int tileN) {
    return (long) Math.ceilDiv(a.height(), tileM) * Math.ceilDiv(b.width(), tileN);
  }

  void launch() {
    if (a.height() == 0 || b.width() == 0) {
      return;
    }
    compute.countFlops(name, 2.0 * a.height() * b.width() * a.width());
    if (!panels) {
      compute.deal(
          name,
          grid.places(),
          List.of(c),
          List.of(a.tensor(), b.tensor()),
          (tl, place, places) -> run(tl, a, b, grid.tilesOf(0, place), 0));
      return;
    }
    int pes = compute.mesh().axes().get(2).size();
    Panels left = compute.panels(name + "-left", a, grid.tileM(), !turned);
    Panels right = compute.panels(name + "-right", b.transpose(), grid.tileN(), turned);
    compute.dealLong(
        name,
        List.of(c),
        List.of(left.copies(), right.copies()),
        (tl, place, places) -> {
          if (place % pes < grid.inner().count()) {
            Rectangle tiles = grid.tilesOf(group(place / pes), place % pes);
            run(tl, left, right.across(), tiles, (double) compute.turn(tl) / places);
          }
        });
  }

  /** The group of the grid that a cube is. */
  private int group(int cube) {
    int wide = compute.mesh().axes().get(1).size();
    int high = compute.mesh().axes().get(0).size();
    return turned ? cube % wide * high + cube / wide : cube;
  }

  /** Where blocks of an operand are read. */
  interface Operand {
    Value load(Tl tl, int row, int height, int column, int width);
  }

  /**
   * PEs with the same rows or columns would read the same memory, and write it, at the same time if
   * all began with their first blocks: so they begin at different ones.
   *
   * @param start the share of its blocks that the PE does last
   */
  private void run(Tl tl, Operand left, Operand right, Rectangle tiles, double start) {
    Shard to = tl.whole(c).as(a.height(), b.width());
    List<Rectangle> blocks = TileGrid.blocks(tiles, SIDE);
    int first = (int) (start * blocks.size());
    for (int i = 0; i < blocks.size(); i++) {
      new Block(tl, left, right, tiles, blocks.get((first + i) % blocks.size())).run(to);
    }
  }

  /** How much of an axis some tiles are. */
  private static int extent(Range tiles, int tile, int all) {
    return Math.min(all, tiles.to() * tile) - Math.min(all, tiles.from() * tile);
  }

  /** Some tiles of one PE, made at once. */
  private final class Block {
    private final Tl tl;
    private final Operand left;
    private final Operand right;
    private final List<Range> rows;
    private final List<Range> columns;
    private final Optional<ComputeOp.Whole> whole;

    /**
     * @param all tiles that the PE makes in this product, which its multiprocessors share out
     * @param tiles of these, those of this block
     */
    Block(Tl tl, Operand left, Operand right, Rectangle all, Rectangle tiles) {
      this.tl = tl;
      this.left = left;
      this.right = right;
      this.rows = extents(tiles.rows(), grid.tileM(), a.height());
      this.columns = extents(tiles.columns(), grid.tileN(), b.width());
      boolean waves = compute.torch().machine().pe().gemm().mode() == GemmMode.WAVES;
      this.whole =
          waves && a.width() > 0
              ? Optional.of(
                  new ComputeOp.Whole(
                      extent(all.rows(), grid.tileM(), a.height()),
                      extent(all.columns(), grid.tileN(), b.width()),
                      a.width(),
                      1))
              : Optional.empty();
    }

    /** Rows, or columns, of each tile. */
    private static List<Range> extents(Range tiles, int tile, int all) {
      List<Range> extents = new ArrayList<>();
      for (int i = tiles.from(); i < tiles.to(); i++) {
        extents.add(new Range(i * tile, Math.min(all, (i + 1) * tile)));
      }
      return extents;
    }

    void run(Shard to) {
      DType in = a.tensor().dtype();
      int k = a.width();
      int wider = Math.max(grid.tileM(), grid.tileN());
      int step = Math.max(1, Math.min(512, compute.blockBytes() / (wider * in.sizeBytes()) * 2));
      try (Scope all = tl.scope()) {
        List<Value> sums = new ArrayList<>();
        for (Range r : rows) {
          for (Range s : columns) {
            sums.add(start(to, r, s));
          }
        }
        for (int l = 0; l < k; l += step) {
          step(sums, l, Math.min(step, k - l));
        }
        for (int i = 0; i < sums.size(); i++) {
          Slice place = place(to, rows.get(i / columns.size()), columns.get(i % columns.size()));
          tl.store(place, sums.get(i).cast(c.dtype()));
        }
      }
    }

    private Value start(Shard to, Range r, Range s) {
      DType kept = a.tensor().dtype().accumulator();
      return add
          ? tl.load(place(to, r, s)).cast(kept)
          : tl.zeros(Shape.of(r.to() - r.from(), s.to() - s.from()), kept);
    }

    private static Slice place(Shard to, Range r, Range s) {
      return to.block(r.from(), r.to() - r.from(), s.from(), s.to() - s.from());
    }

    private void step(List<Value> sums, int l, int d) {
      List<Value> lefts = new ArrayList<>();
      for (Range r : rows) {
        lefts.add(left.load(tl, r.from(), r.to() - r.from(), l, d));
      }
      for (int j = 0; j < columns.size(); j++) {
        Range s = columns.get(j);
        Value block = right.load(tl, l, d, s.from(), s.to() - s.from());
        for (int i = 0; i < rows.size(); i++) {
          int at = i * columns.size() + j;
          Value sum = sums.get(at);
          Value row = lefts.get(i);
          sums.set(
              at,
              whole.isPresent()
                  ? tl.dotInPlace(sum, row, block, whole.get())
                  : tl.dotInPlace(sum, row, block));
        }
        tl.release(block);
      }
      lefts.forEach(tl::release);
    }
  }
}
