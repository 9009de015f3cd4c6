package org.kernbench.nn.kernels;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
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
  /** Steps of a block after each of which it does a part of the ending of the block before. */
  private static final int STEPS_PER_PART = 2;

  private final Compute compute;
  private final String name;
  private final Matrix a;
  private final Matrix b;

  /** Right operands, all of one shape, and what becomes of each; one but for {@link #together}. */
  private final List<Output> outputs;

  private final boolean add;
  private final List<Tensor> factors;
  private final ProductPlan plan;
  private final TileGrid grid;
  private final boolean panels;
  private final boolean turned;

  /** Copies of the ending's results for the products that follow, one for each. */
  private final List<Panels> ahead = new ArrayList<>();

  /** What becomes of tiles beside being stored. */
  private final Optional<Ending> ending;

  /** A right operand and the product with it. */
  record Output(Matrix b, Tensor c) {}

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
    this(compute, name, a, List.of(new Output(b, c)), add, turned, factors, Optional.empty());
  }

  /** Several products of one left operand, whose tiles at the same place are made at once. */
  static Product together(
      Compute compute, String name, Matrix a, List<Output> outputs, Optional<Ending> ending) {
    return new Product(compute, name, a, outputs, false, false, List.of(), ending);
  }

  private Product(
      Compute compute,
      String name,
      Matrix a,
      List<Output> outputs,
      boolean add,
      boolean turned,
      List<Tensor> factors,
      Optional<Ending> ending) {
    this.factors = factors;
    this.turned = turned;
    this.ending = ending;
    this.compute = compute;
    this.name = name;
    this.a = a;
    this.outputs = List.copyOf(outputs);
    this.b = outputs.getFirst().b;
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
            new ProductPlan.Sizes(
                a.height(),
                b.width(),
                a.width(),
                a.tensor().dtype(),
                outputs.size(),
                ending.map(e -> e.results().size()).orElse(0)),
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
        ? List.of(
            compute,
            a.dependsOnShape(),
            b.dependsOnShape(),
            results(),
            add,
            grid,
            turned,
            factors,
            ending,
            ahead)
        : List.of(compute, a.dependsOn(), b.dependsOn(), results(), add, grid, factors);
  }

  private long tiles(int tileM, int tileN) {
    return (long) Math.ceilDiv(a.height(), tileM) * Math.ceilDiv(b.width(), tileN);
  }

  private List<Tensor> results() {
    return outputs.stream().map(Output::c).toList();
  }

  /** Whether cubes have copies of operands. */
  boolean sharesOperands() {
    return panels;
  }

  /** Makes copies of operands, if the product reads any, in so far as they are not there. */
  void copy() {
    if (panels && a.height() > 0 && b.width() > 0) {
      left();
      rights();
    }
  }

  private Panels left() {
    return compute.panels().get(name + "-left", a, grid.tileM(), !turned);
  }

  private List<Panels> rights() {
    return outputs.stream()
        .map(to -> compute.panels().get(name + "-right", to.b.transpose(), grid.tileN(), turned))
        .toList();
  }

  void launch() {
    if (a.height() == 0 || b.width() == 0) {
      return;
    }
    int rate = compute.torch().machine().pe().gemm().rate(a.tensor().dtype().isF8());
    compute.countFlops(name, 2.0 * a.height() * b.width() * a.width() * outputs.size() / rate);
    if (!panels) {
      compute.deal(
          name,
          grid.places(),
          results(),
          Stream.concat(Stream.of(a.tensor(), b.tensor()), factors.stream()).toList(),
          (tl, place, places) -> run(tl, a::load, List.of(b::load), grid.tilesOf(0, place), 0));
      return;
    }
    Panels left = left();
    List<Panels> rights = rights();
    while (left.isClosed()) { // for the others' room; from then on no copy is given back
      left = left();
    }
    launch(left, rights);
  }

  private void launch(Panels left, List<Panels> rights) {
    int pes = compute.mesh().axes().get(2).size();
    List<Tensor> written = new ArrayList<>(results());
    for (Tensor result : ending.map(Ending::results).orElse(List.of())) {
      Matrix of = Matrix.of(result, a.height(), b.width());
      ahead.add(compute.panels().ahead(result.name() + "-left", of, grid.tileM(), true));
      written.add(result);
    }
    List<Copies> read = new ArrayList<>(List.of(left.copies()));
    rights.forEach(right -> read.add(right.copies()));
    compute.dealLong(
        name,
        new Compute.Touched(written, ahead.stream().map(Panels::copies).toList()),
        new Compute.Touched(factors, read),
        (tl, place, places) -> {
          if (place % pes < grid.inner().count()) {
            Rectangle tiles = grid.tilesOf(group(place / pes), place % pes);
            List<Operand> across = rights.stream().map(Panels::across).toList();
            run(tl, left, across, tiles, (double) compute.turn(tl) / places);
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
  private void run(Tl tl, Operand left, List<Operand> rights, Rectangle tiles, double start) {
    List<Rectangle> blocks = TileGrid.blocks(tiles, plan.down(), plan.across());
    int first = (int) (start * blocks.size());
    Deque<Runnable> rest = new ArrayDeque<>();
    try (Scope all = tl.scope()) {
      for (int i = 0; i < blocks.size(); i++) {
        Rectangle block = blocks.get((first + i) % blocks.size());
        new Block(tl, left, rights, tiles, block, rest).run();
      }
      rest.forEach(Runnable::run);
    }
  }

  /** How much of an axis some tiles are. */
  private static int extent(Range tiles, int tile, int all) {
    return Math.min(all, tiles.to() * tile) - Math.min(all, tiles.from() * tile);
  }

  /** Some columns of one of the products. */
  private record Columns(int output, Range range) {}

  /** Some tiles of one PE, made at once. */
  private final class Block {
    private final Tl tl;
    private final Operand left;
    private final List<Operand> rights;
    private final List<Range> rows;
    private final List<Columns> columns;
    private final Optional<ComputeOp.Whole> whole;

    /** What is left of endings: beside the next block, so that its first loads do not wait. */
    private final Deque<Runnable> rest;

    /**
     * @param all tiles that the PE makes in this product, which its multiprocessors share out
     * @param tiles of these, those of this block
     */
    Block(
        Tl tl,
        Operand left,
        List<Operand> rights,
        Rectangle all,
        Rectangle tiles,
        Deque<Runnable> rest) {
      this.rest = rest;
      this.tl = tl;
      this.left = left;
      this.rights = rights;
      this.rows = extents(tiles.rows(), grid.tileM(), a.height());
      this.columns = new ArrayList<>();
      for (Range range : extents(tiles.columns(), grid.tileN(), b.width())) {
        for (int i = 0; i < rights.size(); i++) {
          columns.add(new Columns(i, range));
        }
      }
      boolean waves = compute.torch().machine().pe().gemm().mode() == GemmMode.WAVES;
      this.whole =
          waves && a.width() > 0
              ? Optional.of(
                  new ComputeOp.Whole(
                      extent(all.rows(), grid.tileM(), a.height()),
                      extent(all.columns(), grid.tileN(), b.width()) * rights.size(),
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

    void run() {
      DType in = a.tensor().dtype();
      int k = a.width();
      int wider = Math.max(grid.tileM(), grid.tileN());
      int step = plan.step();
      boolean begun = (add && factors.isEmpty()) || whole.isPresent() || k == 0;
      List<@Nullable Value> sums = new ArrayList<>();
      for (Range r : rows) {
        for (Columns s : columns) {
          sums.add(begun ? start(r, s) : null);
        }
      }
      int last = Math.max(0, Math.ceilDiv(k, step) - lastSteps(step * wider * in.sizeBytes()));
      for (int l = 0; l < last; l++) {
        step(sums, l * step, Math.min(step, k - l * step));
        if (l % STEPS_PER_PART == 0 && !rest.isEmpty()) {
          rest.removeFirst().run();
        }
      }
      finish(sums, last * step, step);
    }

    /** Steps of which the TCM has room for all operands. */
    private int lastSteps(int operandBytes) {
      return (int) (plan.lastBytes() / ((rows.size() + columns.size()) * (long) operandBytes));
    }

    /**
     * The last steps, for one tile after the other: so each is stored while the next ones are still
     * made.
     */
    private void finish(List<@Nullable Value> sums, int from, int step) {
      int k = a.width();
      List<Value> together = new ArrayList<>();
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
        Value rounded = rounded(rows.get(row), columns.get(column), Objects.requireNonNull(sum));
        if (ending.isEmpty()) {
          tl.release(rounded);
          continue;
        }
        together.add(rounded);
        if (together.size() == outputs.size()) {
          Range range = columns.get(column).range;
          rest.addAll(new End(tl, List.copyOf(together), rows.get(row), range).parts());
          together.clear();
        }
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
      for (Range r : rows) {
        lefts.add(left.load(tl, r.from(), r.to() - r.from(), l, d));
      }
      List<Value> of = new ArrayList<>();
      for (Columns s : columns) {
        Range range = s.range;
        of.add(rights.get(s.output).load(tl, l, d, range.from(), range.to() - range.from()));
      }
      return new Operands(tl, lefts, of);
    }

    /** Stores a sum, whose room it leaves to the next ones if it is not what is stored. */
    private Value rounded(Range r, Columns s, Value sum) {
      DType type = outputs.get(s.output).c.dtype();
      Value rounded = factors.isEmpty() ? sum.cast(type) : scaled(place(r, s), sum, type);
      tl.store(place(r, s), rounded);
      if (rounded != sum) {
        tl.release(sum);
      }
      return rounded;
    }

    private Value scaled(Slice there, Value sum, DType type) {
      try (Scope scaling = tl.scope()) {
        Value scaled = sum;
        for (Tensor factor : factors) {
          scaled = scaled.mul(tl.load(tl.whole(factor).range(0, 1)).reshape(1, 1));
        }
        Value all = add ? scaled.add(tl.load(there).cast(scaled.dtype())) : scaled;
        return scaling.keep(all.cast(type));
      }
    }

    private Value start(Range r, Columns s) {
      DType kept = a.tensor().dtype().accumulator();
      if (!add || !factors.isEmpty()) {
        return tl.zeros(Shape.of(r.to() - r.from(), s.range.to() - s.range.from()), kept);
      }
      try (Scope one = tl.scope()) {
        return one.keep(tl.load(place(r, s)).cast(kept));
      }
    }

    private Slice place(Range r, Columns s) {
      return Product.this.place(tl, outputs.get(s.output).c, r, s.range);
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

  private Slice place(Tl tl, Tensor of, Range r, Range s) {
    Shard all = tl.whole(of).as(a.height(), b.width());
    return all.block(r.from(), r.to() - r.from(), s.from(), s.to() - s.from());
  }

  /** The ending of the tiles at one place, one of each product. */
  private final class End {
    private final Tl tl;
    private final List<Value> tiles;
    private final Range rows;
    private final Range columns;
    private final List<Value> made = new ArrayList<>();

    End(Tl tl, List<Value> tiles, Range rows, Range columns) {
      this.tl = tl;
      this.tiles = tiles;
      this.rows = rows;
      this.columns = columns;
    }

    /** What is to be done, one after the other. */
    List<Runnable> parts() {
      List<Runnable> parts = new ArrayList<>(List.of(this::make));
      for (int i = 0; i < ahead.size(); i++) {
        int result = i;
        for (int j = 0; j < ahead.get(i).copies().tensors().size(); j++) {
          int copy = j;
          parts.add(() -> store(result, copy));
        }
      }
      parts.add(() -> made.forEach(tl::release));
      return parts;
    }

    private void make() {
      Ending of = ending.orElseThrow();
      try (Scope one = tl.scope()) {
        for (Value value : of.formula().apply(tiles)) {
          made.add(one.keep(value));
        }
      }
      for (int i = 0; i < made.size(); i++) {
        tl.store(place(tl, of.results().get(i), rows, columns), made.get(i));
      }
      tiles.forEach(tl::release);
    }

    private void store(int result, int copy) {
      ahead.get(result).store(tl, copy, rows.from(), columns.from(), made.get(result));
    }
  }
}
