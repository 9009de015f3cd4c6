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
 *
 * <p>Products can be made in one launch: with one left operand, tile by tile ({@link #together});
 * the sum of several ({@link #sum}); or one after the other on each PE ({@link #launch(String,
 * List)}), so that no PE waits at the end of each.
 */
final class Product implements Dependent {
  /** Steps of a block after each of which it does a part of the ending of the block before. */
  private static final int STEPS_PER_PART = 2;

  private final Compute compute;
  private final String name;

  /** Rows and columns of each result. */
  private final int m;

  private final int n;

  /** What is multiplied, and added up; one but for {@link #sum}. */
  private final List<Term> terms;

  /** One for each right operand of a term. */
  private final List<Tensor> results;

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

  /**
   * A left operand and right ones, all of one shape.
   *
   * @param bs one but for {@link #together}
   */
  record Term(Matrix a, List<Matrix> bs) {}

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
    this(
        compute,
        name,
        List.of(new Term(a, List.of(b))),
        List.of(c),
        add,
        turned,
        factors,
        Optional.empty());
  }

  /** Several products of one left operand, whose tiles at the same place are made at once. */
  static Product together(
      Compute compute,
      String name,
      Matrix a,
      List<Matrix> bs,
      List<Tensor> results,
      Optional<Ending> ending) {
    Term all = new Term(a, bs);
    return new Product(compute, name, List.of(all), results, false, false, List.of(), ending);
  }

  /**
   * A sum of products, each of them and each sum rounded to the type of the result, as if they were
   * stored one after the other and added.
   *
   * @param terms with one right operand each
   */
  static Product sum(Compute compute, String name, List<Term> terms, Tensor c) {
    return new Product(compute, name, terms, List.of(c), false, false, List.of(), Optional.empty());
  }

  private Product(
      Compute compute,
      String name,
      List<Term> terms,
      List<Tensor> results,
      boolean add,
      boolean turned,
      List<Tensor> factors,
      Optional<Ending> ending) {
    this.factors = factors;
    this.turned = turned;
    this.ending = ending;
    this.compute = compute;
    this.name = name;
    this.terms = List.copyOf(terms);
    this.results = List.copyOf(results);
    Matrix a = terms.getFirst().a;
    this.m = a.height();
    this.n = terms.getFirst().bs.getFirst().width();
    this.add = add;
    GemmSpec gemm = compute.torch().machine().pe().gemm();
    Mesh mesh = compute.mesh();
    int whole = compute.tile(gemm.rows());
    int wholeN = compute.tile(gemm.columns());
    // tiles of one array each, if only so all PEs have one
    boolean fine = compute.isPackage() && tiles(whole, wholeN) < mesh.size();
    int tileM = fine ? Math.min(whole, gemm.rows()) : whole;
    int tileN = fine ? Math.min(wholeN, gemm.columns()) : wholeN;
    int down = mesh.axes().get(0).size();
    int across = mesh.axes().get(1).size();
    TileGrid.Places cubes =
        turned ? new TileGrid.Places(across, down) : new TileGrid.Places(down, across);
    int pes = mesh.axes().get(2).size();
    this.panels = cubes.count() > 1 && tiles(tileM, tileN) >= mesh.size();
    this.plan =
        ProductPlan.of(
            compute,
            new ProductPlan.Sizes(
                m,
                n,
                terms.stream().mapToInt(term -> term.a.width()).max().orElse(0),
                a.tensor().dtype(),
                results.size(),
                ending.map(e -> e.results().size()).orElse(0),
                terms.size() > 1),
            tileM,
            tileN,
            (high, wide) ->
                panels
                    ? TileGrid.of(m, n, high, wide, cubes, pes)
                    : TileGrid.of(m, n, high, wide, mesh.size()));
    this.grid = plan.grid();
  }

  @Override
  public List<Object> dependsOn() {
    List<Object> operands = new ArrayList<>();
    for (Term term : terms) {
      for (Matrix b : term.bs) { // copies of operands are captured apart, and may outlive these
        operands.add(panels ? term.a.dependsOnShape() : term.a.dependsOn());
        operands.add(panels ? b.dependsOnShape() : b.dependsOn());
      }
    }
    return List.of(compute, operands, results, add, grid, panels, turned, factors, ending, ahead);
  }

  private long tiles(int tileM, int tileN) {
    return (long) Math.ceilDiv(m, tileM) * Math.ceilDiv(n, tileN);
  }

  /** Whether cubes have copies of operands. */
  boolean sharesOperands() {
    return panels;
  }

  /** Whether it is made of tiles as large as those of another, as many at once. */
  boolean hasTilesOf(Product other) {
    return plan.hasTilesOf(other.plan);
  }

  private boolean isEmpty() {
    return m == 0 || n == 0;
  }

  /** Makes copies of left operands, if the product reads any, in so far as they are not there. */
  void copyLeft() {
    if (panels && !isEmpty()) {
      terms.forEach(this::left);
    }
  }

  /** As {@link #copyLeft}, of right operands. */
  void copyRight() {
    if (panels && !isEmpty()) {
      terms.forEach(this::rights);
    }
  }

  private Panels left(Term term) {
    return compute.panels().get(name + "-left", term.a, grid.tileM(), !turned);
  }

  private List<Panels> rights(Term term) {
    return term.bs.stream()
        .map(b -> compute.panels().get(name + "-right", b.transpose(), grid.tileN(), turned))
        .toList();
  }

  /** Copies of the operands of a term. */
  private record Shared(Panels left, List<Panels> rights) implements Dependent {
    boolean isClosed() {
      return left.isClosed() || rights.stream().anyMatch(Panels::isClosed);
    }

    Stream<Panels> all() {
      return Stream.concat(Stream.of(left), rights.stream());
    }

    Factors factors() {
      return new Factors(left.k(), left, rights.stream().map(Panels::across).toList());
    }

    @Override
    public List<Object> dependsOn() {
      return List.of(left, rights);
    }
  }

  private Shared shared(Term term) {
    return new Shared(left(term), rights(term));
  }

  /** Where the operands of a term are read, along k. */
  private record Factors(int k, Operand left, List<Operand> rights) {}

  void launch() {
    if (isEmpty() || panels) {
      launch(name, List.of(this));
      return;
    }
    countFlops(name);
    compute.countOperands(name, List.of(made()));
    List<Tensor> read = new ArrayList<>(factors);
    for (Term term : terms) {
      read.add(term.a.tensor());
      term.bs.forEach(b -> read.add(b.tensor()));
    }
    compute.deal(
        name,
        grid.places(),
        results,
        read,
        (tl, place, places) -> run(tl, lying(), grid.tilesOf(0, place), 0, true));
  }

  private List<Factors> lying() {
    return terms.stream()
        .map(term ->
            new Factors(
                term.a.width(), term.a::load, term.bs.stream().<Operand>map(b -> b::load).toList()))
        .toList();
  }

  private void countFlops(String launch) {
    for (Term term : terms) {
      compute.countFlops(launch, 2.0 * m * n * term.a.width() * term.bs.size(), type());
    }
  }

  /** What its operands come for. */
  private OperandBound.Made made() {
    int k = terms.stream().mapToInt(term -> term.a.width()).sum();
    long stored =
        Compute.bytes(results) + Compute.bytes(ending.map(Ending::results).orElse(List.of()));
    return new OperandBound.Made(
        m,
        (double) n * results.size(),
        k,
        type().sizeBytes(),
        type().accumulator().sizeBytes(),
        compute.rate(type()),
        stored);
  }

  private DType type() {
    return terms.getFirst().a.tensor().dtype();
  }

  /**
   * Makes products that {@linkplain #sharesOperands share operands} in one launch, one after the
   * other on each PE.
   *
   * @param products none of which needs what another makes
   */
  static void launch(String name, List<Product> products) {
    List<Product> some = products.stream().filter(p -> !p.isEmpty()).toList();
    if (some.isEmpty()) {
      return;
    }
    List<Ready> ready = some.stream().map(Product::ready).toList();
    while (ready.stream().anyMatch(Ready::isClosed)) { // for the others' room
      ready = some.stream().map(Product::ready).toList();
    }
    List<Ready> all = ready; // from now on no copy is given back
    some.forEach(p -> p.countFlops(name));
    some.getFirst().compute.countOperands(name, some.stream().map(Product::made).toList());
    List<Tensor> written = new ArrayList<>();
    List<Copies> ahead = new ArrayList<>();
    List<Tensor> factors = new ArrayList<>();
    List<Copies> read = new ArrayList<>();
    for (Ready one : all) {
      one.product.makeRoomAhead();
      written.addAll(one.product.results);
      one.product.ending.ifPresent(e -> written.addAll(e.results()));
      one.product.ahead.forEach(p -> ahead.add(p.copies()));
      factors.addAll(one.product.factors);
      one.shared.stream().flatMap(Shared::all).map(Panels::copies).forEach(read::add);
    }
    Compute compute = some.getFirst().compute;
    compute.dealLong(
        name,
        new Compute.Touched(written, ahead),
        new Compute.Touched(factors, read.stream().distinct().toList()),
        (tl, place, places) ->
            all.forEach(one -> one.product.run(tl, one.shared, place, one == all.getLast())));
  }

  /** A product whose operands are copied. */
  private record Ready(Product product, List<Shared> shared) implements Dependent {
    boolean isClosed() {
      return shared.stream().anyMatch(Shared::isClosed);
    }

    @Override
    public List<Object> dependsOn() {
      return List.of(product, shared);
    }
  }

  private Ready ready() {
    return new Ready(this, terms.stream().map(this::shared).toList());
  }

  private void makeRoomAhead() {
    for (Tensor result : ending.map(Ending::results).orElse(List.of())) {
      Matrix of = Matrix.of(result, m, n);
      ahead.add(compute.panels().ahead(result.name() + "-left", of, grid.tileM(), true));
    }
  }

  private void run(Tl tl, List<Shared> shared, int place, boolean ends) {
    int pes = compute.mesh().axes().get(2).size();
    if (place % pes < grid.inner().count()) {
      Rectangle tiles = grid.tilesOf(group(place / pes), place % pes);
      int down = Math.ceilDiv(tiles.rows().count(), plan.down());
      int across = Math.ceilDiv(tiles.columns().count(), plan.across());
      // other cubes make the same rows, or columns, and store them where others do
      int apart = place / pes * down * across / compute.places();
      int first = grid.firstBlock(place % pes, down, across) + apart;
      run(tl, shared.stream().map(Shared::factors).toList(), tiles, first, ends);
    }
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
   * Makes the tiles of a PE.
   *
   * @param ends whether the PE does nothing after them in this launch
   */
  private void run(Tl tl, List<Factors> summands, Rectangle tiles, int first, boolean ends) {
    List<Rectangle> blocks = TileGrid.blocks(tiles, plan.down(), plan.across());
    Deque<Runnable> rest = new ArrayDeque<>();
    try (Scope all = tl.scope()) {
      for (int i = 0; i < blocks.size(); i++) {
        Rectangle block = blocks.get((first + i) % blocks.size());
        boolean last = ends && i == blocks.size() - 1;
        new Block(tl, summands, tiles, block, rest, last ? plan.endBytes() : plan.lastBytes())
            .run();
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
    private final List<Factors> summands;
    private final List<Range> rows;
    private final List<Columns> columns;
    private final Rectangle all;

    /** What is left of endings: beside the next block, so that its first loads do not wait. */
    private final Deque<Runnable> rest;

    /** Of operands for its last steps, which it has all at once. */
    private final long lastBytes;

    /**
     * @param all tiles that the PE makes in this product, which its multiprocessors share out
     * @param tiles of these, those of this block
     */
    Block(
        Tl tl,
        List<Factors> summands,
        Rectangle all,
        Rectangle tiles,
        Deque<Runnable> rest,
        long lastBytes) {
      this.rest = rest;
      this.lastBytes = lastBytes;
      this.tl = tl;
      this.summands = summands;
      this.all = all;
      this.rows = extents(tiles.rows(), grid.tileM(), m);
      this.columns = new ArrayList<>();
      for (Range range : extents(tiles.columns(), grid.tileN(), n)) {
        for (int i = 0; i < results.size(); i++) {
          columns.add(new Columns(i, range));
        }
      }
    }

    private Optional<ComputeOp.Whole> whole(int k) {
      boolean waves = compute.torch().machine().pe().gemm().mode() == GemmMode.WAVES;
      return waves && k > 0
          ? Optional.of(
              new ComputeOp.Whole(
                  extent(all.rows(), grid.tileM(), m),
                  extent(all.columns(), grid.tileN(), n) * results.size(),
                  k,
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
      List<Value> before = List.of();
      for (int i = 0; i < summands.size(); i++) {
        before = new Part(summands.get(i), before, i == summands.size() - 1).run();
      }
    }

    /** One term of the sum. */
    private final class Part {
      private final Factors of;
      private final List<Value> before;
      private final boolean last;
      private final Optional<ComputeOp.Whole> whole;

      /**
       * @param before rounded sums of the terms before, one for each tile; none of the first
       * @param last whether the sum is complete with it
       */
      Part(Factors of, List<Value> before, boolean last) {
        this.of = of;
        this.before = before;
        this.last = last;
        this.whole = whole(of.k);
      }

      /** Gives the rounded sums so far, unless the sum is complete. */
      List<Value> run() {
        int k = of.k;
        int wider = Math.max(grid.tileM(), grid.tileN());
        int step = plan.step();
        boolean begun = (add && factors.isEmpty()) || whole.isPresent() || k == 0;
        List<@Nullable Value> sums = new ArrayList<>();
        for (Range r : rows) {
          for (Columns s : columns) {
            sums.add(begun ? start(r, s) : null);
          }
        }
        int end = Math.ceilDiv(k, step) - lastSteps(step * wider * type().sizeBytes());
        for (int l = 0; l < end; l++) {
          step(sums, l * step, Math.min(step, k - l * step));
          if (l % STEPS_PER_PART == 0 && !rest.isEmpty()) {
            rest.removeFirst().run();
          }
        }
        return finish(sums, Math.max(0, end) * step, step);
      }

      /**
       * The last steps, for one tile after the other: so each is stored while the next ones are
       * still made.
       */
      private List<Value> finish(List<@Nullable Value> sums, int from, int step) {
        List<Value> soFar = new ArrayList<>();
        List<Value> together = new ArrayList<>();
        LastOperands operands = new LastOperands(from, step);
        for (int i = 0; i < sums.size(); i++) {
          Value sum = sums.get(i);
          int row = i / columns.size();
          int column = i % columns.size();
          for (int j = 0; j < operands.steps(); j++) {
            Value left = operands.left(row, column, j);
            Value right = operands.right(row, column, j);
            boolean rounds = j == operands.steps() - 1 && whole.isEmpty() && factors.isEmpty();
            sum =
                rounds
                    ? roundedSum(sum, left, right, results.get(columns.get(column).output).dtype())
                    : added(sum, left, right);
            operands.releaseAfter(row, column, j);
          }
          Value rounded = rounded(rows.get(row), columns.get(column), Objects.requireNonNull(sum));
          if (!before.isEmpty()) {
            rounded = plus(before.get(i), rounded);
          }
          if (!last) {
            soFar.add(rounded);
            continue;
          }
          tl.store(place(rows.get(row), columns.get(column)), rounded);
          if (ending.isEmpty()) {
            tl.release(rounded);
            continue;
          }
          together.add(rounded);
          if (together.size() == results.size()) {
            Range range = columns.get(column).range;
            rest.addAll(new End(tl, List.copyOf(together), rows.get(row), range).parts());
            together.clear();
          }
        }
        return soFar;
      }

      /**
       * Operands of the last steps, loaded when the first tile needs them and given back after the
       * last: of the left operand those of one row of tiles are there at a time.
       */
      private final class LastOperands {
        private final int from;
        private final int step;
        private final int steps;
        private final Value[] lefts;
        private final Value[][] rights;

        LastOperands(int from, int step) {
          this.from = from;
          this.step = step;
          this.steps = Math.ceilDiv(of.k - from, step);
          this.lefts = new Value[steps];
          this.rights = new Value[columns.size()][steps];
        }

        int steps() {
          return steps;
        }

        private int at(int j) {
          return from + j * step;
        }

        private int depth(int j) {
          return Math.min(step, of.k - at(j));
        }

        Value left(int row, int column, int j) {
          if (column == 0) {
            lefts[j] = Block.this.left(of, rows.get(row), at(j), depth(j));
          }
          return lefts[j];
        }

        Value right(int row, int column, int j) {
          if (row == 0) {
            rights[column][j] = Block.this.right(of, columns.get(column), at(j), depth(j));
          }
          return rights[column][j];
        }

        void releaseAfter(int row, int column, int j) {
          if (column == columns.size() - 1) {
            tl.release(lefts[j]);
          }
          if (row == rows.size() - 1) {
            tl.release(rights[column][j]);
          }
        }
      }

      private void step(List<@Nullable Value> sums, int l, int d) {
        Operands each = operands(of, l, d);
        for (int j = 0; j < columns.size(); j++) {
          for (int i = 0; i < rows.size(); i++) {
            int at = i * columns.size() + j;
            sums.set(at, added(sums.get(at), each.lefts.get(i), each.rights.get(j)));
          }
        }
        each.release();
      }

      /** A sum and the last products, which the array rounds as they leave it. */
      private Value roundedSum(@Nullable Value sum, Value left, Value right, DType type) {
        if (sum == null) {
          return tl.dot(left, right, type);
        }
        Value rounded = tl.dot(left, right, sum, type);
        tl.release(sum);
        return rounded;
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

    /** Steps of which the TCM has room for right operands and those of one row of tiles. */
    private int lastSteps(int operandBytes) {
      return (int) (lastBytes / ((1 + columns.size()) * (long) operandBytes));
    }

    private Value plus(Value before, Value more) {
      Value sum = before.add(more);
      tl.release(before);
      tl.release(more);
      return sum;
    }

    /** All operands of one step. */
    private record Operands(Tl tl, List<Value> lefts, List<Value> rights) {
      void release() {
        lefts.forEach(tl::release);
        rights.forEach(tl::release);
      }
    }

    private Operands operands(Factors of, int l, int d) {
      List<Value> lefts = new ArrayList<>();
      for (Range r : rows) {
        lefts.add(left(of, r, l, d));
      }
      List<Value> rights = new ArrayList<>();
      for (Columns s : columns) {
        rights.add(right(of, s, l, d));
      }
      return new Operands(tl, lefts, rights);
    }

    private Value left(Factors of, Range r, int l, int d) {
      return of.left.load(tl, r.from(), r.to() - r.from(), l, d);
    }

    private Value right(Factors of, Columns s, int l, int d) {
      Operand right = of.rights.get(s.output);
      return right.load(tl, l, d, s.range.from(), s.range.to() - s.range.from());
    }

    /** A sum as it is stored, to which it leaves its room if it is another. */
    private Value rounded(Range r, Columns s, Value sum) {
      DType type = results.get(s.output).dtype();
      Value rounded = factors.isEmpty() ? sum.cast(type) : scaled(place(r, s), sum, type);
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
      DType kept = type().accumulator();
      if (!add || !factors.isEmpty()) {
        return tl.zeros(Shape.of(r.to() - r.from(), s.range.to() - s.range.from()), kept);
      }
      try (Scope one = tl.scope()) {
        return one.keep(tl.load(place(r, s)).cast(kept));
      }
    }

    private Slice place(Range r, Columns s) {
      return Product.this.place(tl, results.get(s.output), r, s.range);
    }
  }

  private Slice place(Tl tl, Tensor of, Range r, Range s) {
    Shard all = tl.whole(of).as(m, n);
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
