package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.machine.spec.GemmMode;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.nn.kernels.TileGrid.Range;
import org.kernbench.nn.kernels.TileGrid.Rectangle;
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
  private final Compute compute;
  private final String name;
  private final Matrix a;
  private final Matrix b;
  private final Tensor c;
  private final boolean add;
  private final List<Tensor> factors;
  private final ProductPlan plan;
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
    this(compute, name, a, b, c, add, turned, List.of());
  }

  /**
   * A product whose sums are multiplied before they are rounded, or added to what is there.
   *
   * @param factors {@code [1]} each, in f32
   */
  Product(
      Compute compute,
      String name,
      Matrix a,
      Matrix b,
      Tensor c,
      boolean add,
      boolean turned,
      List<Tensor> factors) {
    this.factors = factors;
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
    this.plan =
        ProductPlan.of(
            compute,
            new ProductPlan.Sizes(a.height(), b.width(), a.width(), a.tensor().dtype()),
            tileM,
            tileN,
            (m, n) ->
                panels
                    ? TileGrid.of(a.height(), b.width(), m, n, cubes, pes)
                    : TileGrid.of(a.height(), b.width(), m, n, mesh.size()));
    this.grid = plan.grid();
  }

  @Override
  public List<Object> dependsOn() {
    return panels // which are captured apart, and may outlive the operands
        ? List.of(compute, a.dependsOnShape(), b.dependsOnShape(), c, add, grid, turned, factors)
        : List.of(compute, a.dependsOn(), b.dependsOn(), c, add, grid, factors);
  }

  private long tiles(int tileM, int tileN) {
    return (long) Math.ceilDiv(a.height(), tileM) * Math.ceilDiv(b.width(), tileN);
  }

  /** Makes copies of operands, if the product reads any, in so far as they are not there. */
  void copy() {
    if (panels && a.height() > 0 && b.width() > 0) {
      left();
      right();
    }
  }

  private Panels left() {
    return compute.panels().get(name + "-left", a, grid.tileM(), !turned);
  }

  private Panels right() {
    return compute.panels().get(name + "-right", b.transpose(), grid.tileN(), turned);
  }

  void launch() {
    if (a.height() == 0 || b.width() == 0) {
      return;
    }
    int rate = compute.torch().machine().pe().gemm().rate(a.tensor().dtype().isF8());
    compute.countFlops(name, 2.0 * a.height() * b.width() * a.width() / rate);
    if (!panels) {
      compute.deal(
          name,
          grid.places(),
          List.of(c),
          Stream.concat(Stream.of(a.tensor(), b.tensor()), factors.stream()).toList(),
          (tl, place, places) -> run(tl, a::load, b::load, grid.tilesOf(0, place), 0));
      return;
    }
    Panels left = left();
    Panels right = right();
    while (left.isClosed()) { // for the right one's room; from then on no copy is given back
      left = left();
    }
    launch(left, right);
  }

  private void launch(Panels left, Panels right) {
    int pes = compute.mesh().axes().get(2).size();
    compute.dealLong(
        name,
        List.of(c),
        List.of(left.copies(), right.copies()),
        factors,
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
    List<Rectangle> blocks = TileGrid.blocks(tiles, plan.side());
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
      int step = plan.step();
      boolean begun = (add && factors.isEmpty()) || whole.isPresent() || k == 0;
      try (Scope all = tl.scope()) {
        List<@Nullable Value> sums = new ArrayList<>();
        for (Range r : rows) {
          for (Range s : columns) {
            sums.add(begun ? start(to, r, s) : null);
          }
        }
        int last = Math.max(0, Math.ceilDiv(k, step) - lastSteps(step * wider * in.sizeBytes()));
        for (int l = 0; l < last * step; l += step) {
          step(sums, l, Math.min(step, k - l));
        }
        finish(sums, last * step, step, to);
      }
    }

    /** Steps of which the TCM has room for all operands. */
    private int lastSteps(int operandBytes) {
      return (int) (plan.lastBytes() / ((rows.size() + columns.size()) * (long) operandBytes));
    }

    /**
     * The last steps, for one tile after the other: so each is stored while the next ones are still
     * made.
     */
    private void finish(List<@Nullable Value> sums, int from, int step, Shard to) {
      int k = a.width();
      List<Operands> operands = new ArrayList<>();
      for (int l = from; l < k; l += step) {
        operands.add(operands(l, Math.min(step, k - l)));
      }
      for (int i = 0; i < sums.size(); i++) {
        Value sum = sums.get(i);
        int row = i / columns.size();
        int column = i % columns.size();
        for (Operands of : operands) {
          sum = added(sum, of.lefts.get(row), of.rights.get(column));
        }
        store(place(to, rows.get(row), columns.get(column)), Objects.requireNonNull(sum));
      }
      operands.forEach(Operands::release);
    }

    /** All operands of one step. */
    private record Operands(Tl tl, List<Value> lefts, List<Value> rights) {
      void release() {
        lefts.forEach(tl::release);
        rights.forEach(tl::release);
      }
    }

    private Operands operands(int l, int d) {
      List<Value> lefts = new ArrayList<>();
      List<Value> rights = new ArrayList<>();
      for (Range r : rows) {
        lefts.add(left.load(tl, r.from(), r.to() - r.from(), l, d));
      }
      for (Range s : columns) {
        rights.add(right.load(tl, l, d, s.from(), s.to() - s.from()));
      }
      return new Operands(tl, lefts, rights);
    }

    /** Stores a sum, and leaves its room to the next ones. */
    private void store(Slice place, Value sum) {
      if (!factors.isEmpty()) {
        storeScaled(place, sum);
        return;
      }
      Value rounded = sum.cast(c.dtype());
      tl.store(place, rounded);
      tl.release(rounded);
      if (rounded != sum) {
        tl.release(sum);
      }
    }

    private void storeScaled(Slice place, Value sum) {
      try (Scope scaling = tl.scope()) {
        Value scaled = sum;
        for (Tensor factor : factors) {
          scaled = scaled.mul(tl.load(tl.whole(factor).range(0, 1)).reshape(1, 1));
        }
        Value all = add ? scaled.add(tl.load(place).cast(scaled.dtype())) : scaled;
        tl.store(place, all.cast(c.dtype()));
      }
      tl.release(sum);
    }

    private Value start(Shard to, Range r, Range s) {
      DType kept = a.tensor().dtype().accumulator();
      return add && factors.isEmpty()
          ? tl.load(place(to, r, s)).cast(kept)
          : tl.zeros(Shape.of(r.to() - r.from(), s.to() - s.from()), kept);
    }

    private static Slice place(Shard to, Range r, Range s) {
      return to.block(r.from(), r.to() - r.from(), s.from(), s.to() - s.from());
    }

    private void step(List<@Nullable Value> sums, int l, int d) {
      Operands of = operands(l, d);
      for (int j = 0; j < columns.size(); j++) {
        for (int i = 0; i < rows.size(); i++) {
          int at = i * columns.size() + j;
          sums.set(at, added(sums.get(at), of.lefts.get(i), of.rights.get(j)));
        }
      }
      of.release();
    }

    /** A sum and the next products; the first ones need no zeros before them. */
    private Value added(@Nullable Value sum, Value left, Value right) {
      if (sum == null) {
        return tl.dot(left, right, left.dtype().accumulator());
      }
      return whole.isPresent()
          ? tl.dotInPlace(sum, left, right, whole.get())
          : tl.dotInPlace(sum, left, right);
    }
  }
}
