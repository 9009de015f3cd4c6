package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.log.CostModel;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.PureKernel;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.ElementRun;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.placement.Layout;
import org.kernbench.torch.placement.Mesh;

/**
 * The kernels that training needs, each launched on the rank's device: products of matrices, what
 * goes element by element or row by row, and copies of blocks. Nothing here knows of gradients.
 *
 * <p>Tensors are dense, and are taken as matrices or vectors of any shape with as many elements.
 * Their rows lie on all PEs that compute ({@link Torch#mesh}), and all of these take part: who has
 * an element of the result computes it where that is simple, else rows or tiles are cut evenly.
 * Operands are read by address wherever they lie. Kernels work in f32 (f64 for f64 tensors)
 * whatever the tensors' type, and round once when they store.
 *
 * <p>Results have the same bits on any number of PEs: no row is divided, the sum of a product over
 * k is formed by one PE in ascending order, and sums over rows are formed in blocks whose size
 * depends on the number of rows alone ({@link RowKernel}).
 */
public final class Compute implements Dependent {
  /** Extent of the tiles of a product, about: as many arrays of the GEMM engine as fit, or one. */
  private static final int TILE = 128;

  /**
   * Blocks of a long formula in which a run is taken, at least, unless they are half as large as
   * they may be: the first is loaded and the last stored while nothing is computed. Larger ones pay
   * the setup of a transfer and the issue of a command less often (ADR 0335).
   */
  private static final int FEWEST_BLOCKS = 8;

  /** Blocks that a row of a copy may be wide: an eighth of the TCM. */
  private static final int WIDEST_BLOCKS = 8;

  private static final int MOST_WRITTEN = 1024;

  private final Torch torch;
  private final UnaryOperator<Tensor> owner;
  private final Mesh mesh;

  /** Those of the mesh: one list for all launches on all of them. */
  private final List<Pe> pes;

  private final int blockBytes;

  /** The latest long launch, and the one before. */
  private List<Launch> last = List.of();

  private List<Launch> beforeLast = List.of();

  /** How many long launches there were, and at which count a tensor was last written here. */
  private int longLaunches;

  private final Map<Tensor, Integer> writtenAt = new IdentityHashMap<>();

  /** Of more tensors, those that are closed are forgotten. */
  private int mostWritten = MOST_WRITTEN;

  /** Is told of launches. */
  private Consumer<Launch> listener = launch -> {};

  private final PanelShelf panels;
  private final BlockCopies copies;
  private final Map<String, WorkCount> work = new LinkedHashMap<>();
  private final OperandBound operandBound;
  private final Map<List<OperandBound.Made>, Long> operandsPs = new HashMap<>();
  private final CopyBound copyBound;

  /** What copies along the rows, and the columns, of cubes cost. */
  private final Map<Integer, CopyCost> copyCosts = new HashMap<>();

  /**
   * Kernels of a rank.
   *
   * @param owner is given every tensor made here and closes it some day; returns it
   */
  public Compute(Torch torch, UnaryOperator<Tensor> owner) {
    this.torch = torch;
    this.owner = owner;
    this.mesh = torch.mesh();
    this.pes = List.copyOf(mesh.pes());
    this.panels = new PanelShelf(this);
    this.copies = new BlockCopies(this);
    this.operandBound = new OperandBound(this);
    this.copyBound = new CopyBound(torch.machine(), mesh);
    // some ten values are alive at once in the longest formulas, beside message slots
    this.blockBytes = Math.toIntExact(Math.max(256, torch.machine().pe().tcm().sizeBytes() / 64));
  }

  /** What has been launched so far, by name in the order of first launches. */
  public Map<String, WorkCount> work() {
    return Collections.unmodifiableMap(work);
  }

  /** Counts a launch that touches all of some tensors. */
  private void count(String name, List<Tensor> written, List<Tensor> read) {
    countBytes(name, bytes(written) + bytes(read));
    work.merge(name, new WorkCount(1, 0, 0, 0, 0), WorkCount::plus);
  }

  /** Counts what memory must read and write, in one launch or several. */
  public void countBytes(String name, long bytes) {
    work.merge(name, new WorkCount(0, 0, bytes, 0, 0), WorkCount::plus);
  }

  static long bytes(List<Tensor> tensors) {
    return tensors.stream().mapToLong(t -> t.shape().elements() * t.dtype().sizeBytes()).sum();
  }

  /**
   * Counts products of a launch, as many as there would be of 16 bits in the same time.
   *
   * @param of what they multiply
   */
  public void countFlops(String name, double flops, DType of) {
    work.merge(name, new WorkCount(0, flops / rate(of), 0, 0, 0), WorkCount::plus);
  }

  /** Products of a type in the time of one of 16 bits. */
  double rate(DType of) {
    return CostModel.rate(torch.machine().pe().gemm(), of);
  }

  OperandBound operandBound() {
    return operandBound;
  }

  /** Counts how long operands of a launch of products are on their way at least. */
  void countOperands(String name, List<OperandBound.Made> products) {
    if (products.stream().allMatch(p -> p.k() > 0)) {
      long ps = operandsPs.computeIfAbsent(products, operandBound::leastPs);
      work.merge(name, new WorkCount(0, 0, 0, ps, 0), WorkCount::plus);
    }
  }

  /** Counts how long copies are on their way from cube to cube at least. */
  void countLinks(String name, Tensor copy, int axis, List<Tensor> sources) {
    long ps = copyBound.leastPs(copy, axis, sources);
    work.merge(name, new WorkCount(0, 0, 0, 0, ps), WorkCount::plus);
  }

  Torch torch() {
    return torch;
  }

  /** Tells of every launch from now on that goes on beside no other. */
  public void tell(Consumer<Launch> who) {
    listener = who;
  }

  public void tells(Launch launch) {
    listener.accept(launch);
  }

  private Launch told(Launch launch) {
    listener.accept(launch);
    return launch;
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(mesh, blockBytes);
  }

  /** Bytes of a value of which some ten can be alive at once. */
  public int blockBytes() {
    return blockBytes;
  }

  /** The type that kernels compute in for tensors of a type. */
  public static DType working(DType type) {
    return type == DType.F64 ? DType.F64 : DType.F32;
  }

  /** A new tensor of which nothing is written yet; its rows lie on all PEs that compute. */
  public Tensor empty(String name, Shape shape, DType dtype) {
    return own(spread(torch, name, shape, dtype));
  }

  /** Leaves a tensor to the owner of what is made here. */
  Tensor own(Tensor made) {
    return owner.apply(made);
  }

  /** As {@link #empty}, of which the caller takes care. */
  public static Tensor spread(Torch torch, String name, Shape shape, DType dtype) {
    return torch.empty(shape, dtype, Layout.all(torch.mesh(), new Layout.Rows()), name);
  }

  /** A spread tensor with host values, which are computed only where there are any. */
  public static Tensor spread(
      Torch torch, String name, Shape shape, DType dtype, Supplier<double[]> values) {
    return filled(torch, spread(torch, name, shape, dtype), values);
  }

  /** A tensor with host values, all of it on each PE that computes. */
  public static Tensor everywhere(
      Torch torch, String name, Shape shape, DType dtype, Supplier<double[]> values) {
    Layout layout = Layout.all(torch.mesh(), new Layout.Replicate());
    return filled(torch, torch.empty(shape, dtype, layout, name), values);
  }

  private static Tensor filled(Torch torch, Tensor made, Supplier<double[]> values) {
    return torch.simulator().mode() == Mode.TIME ? made : made.copyInPlace(values.get());
  }

  /**
   * A tensor like a parameter of this shape: rows on all PEs that compute, a vector on the first.
   * Rows go over the columns of cubes first and over their rows last: so the part that a column of
   * cubes needs in a product lies in that column, a share in each cube.
   */
  public static Tensor parameter(Torch torch, String name, Shape shape, DType dtype) {
    if (shape.rank() <= 1) {
      return torch.empty(shape, dtype, name);
    }
    List<Layout.Part> home = List.of(new Layout.Rows(2), new Layout.Rows(0), new Layout.Rows(1));
    return torch.empty(shape, dtype, new Layout(torch.mesh(), home), name);
  }

  // ---- who does what ----

  /** What one place of several does. */
  @FunctionalInterface
  public interface Share {
    /**
     * Says its commands.
     *
     * @param from first unit of work
     * @param to behind the last one
     */
    void run(Tl tl, int from, int to);
  }

  /** Units of work in their order, as evenly as they go over as many PEs as there are units. */
  public void cut(String name, int units, List<Tensor> written, List<Tensor> read, Share share) {
    deal(
        name,
        units,
        written,
        read,
        (tl, place, places) -> {
          int each = units / places;
          int more = units % places;
          int from = place * each + Math.min(place, more);
          share.run(tl, from, from + each + (place < more ? 1 : 0));
        });
  }

  /** What one place of several does. */
  @FunctionalInterface
  public interface Hand {
    void run(Tl tl, int place, int places);
  }

  /** Launches on as many PEs as there are units, at most all. */
  public void deal(String name, int units, List<Tensor> written, List<Tensor> read, Hand hand) {
    if (units > 0) {
      count(name, written, read);
      launch(name, Math.min(units, mesh.size()), written, read, hand);
    }
  }

  private Launch launch(
      String name, int places, List<Tensor> written, List<Tensor> read, Hand hand) {
    PureKernel kernel = tl -> hand.run(tl, mesh.placeOf(tl.pe()), places);
    writes(written);
    List<Pe> there = places == pes.size() ? pes : pes.subList(0, places);
    return told(torch.launch(name, kernel, there, written, read));
  }

  private void writes(List<Tensor> written) {
    written.forEach(t -> writtenAt.put(t, longLaunches));
    if (writtenAt.size() > mostWritten) {
      writtenAt.keySet().removeIf(Tensor::isClosed); // nobody asks for them, and they keep launches
      mostWritten = Math.max(MOST_WRITTEN, 2 * writtenAt.size());
    }
  }

  /** Whether a long launch was made after what is written here was: it need not be waited for. */
  boolean isSettled(Tensor tensor) {
    Integer at = writtenAt.get(tensor);
    return at != null && at < longLaunches;
  }

  /** What a launch reads or writes: tensors, and others that lie in several copies. */
  record Touched(List<Tensor> tensors, List<Copies> copies) {
    private List<Tensor> all() {
      List<Tensor> all = new ArrayList<>(tensors);
      copies.forEach(of -> all.addAll(of.tensors()));
      return all;
    }
  }

  /** A launch on all PEs that compute, before which some copies for the next ones are made. */
  void dealLong(String name, Touched written, Touched read, Hand hand) {
    List<Tensor> once = new ArrayList<>(read.tensors);
    read.copies.forEach(of -> once.add(of.tensors().getFirst()));
    count(name, written.tensors, once);
    beforeLast = last;
    longLaunches++;
    last = List.of(launch(name, mesh.size(), written.all(), read.all(), hand));
  }

  /**
   * Where a vector is read by all PEs: its value, or if that would keep one memory busy for long,
   * copies of a parameter's on all PEs, which stay with it.
   */
  public Tensor near(String name, Tensor value, KeptCopies kept) {
    if (!isPackage() || allReadPs(value) < copyCost(0).oncePs()) {
      return value;
    }
    return kept.get(Everywhere.class, value, e -> true, () -> Everywhere.of(this, name, value))
        .renewed(this, name);
  }

  /** How long the memory of one PE is busy if all read a tensor from there. */
  private long allReadPs(Tensor value) {
    Pe first = mesh.pe(0);
    Machine machine = torch.machine();
    int port = machine.route(machine.hbmNode(first), machine.peNode(first)).first();
    return machine.specOf(port).durationPs(mesh.size() * value.sizeBytes());
  }

  /** Copies of operands of products. */
  PanelShelf panels() {
    return panels;
  }

  /** Operands may be written from now on. */
  public void forgetPanels() {
    panels.clear();
  }

  /** Whether more than one PE computes. */
  public boolean isSpread() {
    return mesh.size() > 1;
  }

  /** Whether more than one PE computes in a rank's view. */
  public static boolean isSpread(Torch torch) {
    return torch.mesh().size() > 1;
  }

  /** PEs that compute in a rank's view. */
  public static int pes(Torch torch) {
    return torch.mesh().size();
  }

  /** Whether the PEs that compute are those of several cubes. */
  public boolean isPackage() {
    return mesh.axes().get(0).size() * mesh.axes().get(1).size() > 1;
  }

  /** How many PEs compute. */
  public int places() {
    return mesh.size();
  }

  /** What copies along an axis of the grid of cubes cost. */
  CopyCost copyCost(int axis) {
    return copyCosts.computeIfAbsent(axis, a -> CopyCost.of(torch.machine(), mesh, a));
  }

  /** Places in an order in which PEs of one cube are far apart. */
  int turn(Tl tl) {
    int place = mesh.placeOf(tl.pe());
    int pes = mesh.axes().get(2).size();
    return place % pes * (mesh.size() / pes) + place / pes;
  }

  /** The PEs that compute. */
  public Mesh mesh() {
    return mesh;
  }

  // ---- products ----

  /**
   * A matrix operand: a tensor taken as {@code rows x columns}, or its transpose.
   *
   * @param resident whether it has been there for long, as a parameter has: copies of it can be
   *     made beside the kernels before
   * @param kept of the parameter that it is the value of, if it is one
   */
  public record Matrix(
      Tensor tensor,
      int rows,
      int columns,
      boolean transposed,
      boolean resident,
      Optional<KeptCopies> kept) {
    public static Matrix of(Tensor tensor, int rows, int columns) {
      return new Matrix(tensor, rows, columns, false, false, Optional.empty());
    }

    public static Matrix of(Tensor tensor, int rows, int columns, KeptCopies kept) {
      return new Matrix(tensor, rows, columns, false, true, Optional.of(kept));
    }

    public Matrix residing() {
      return new Matrix(tensor, rows, columns, transposed, true, kept);
    }

    public Matrix transpose() {
      return new Matrix(tensor, rows, columns, !transposed, resident, kept);
    }

    /** What loads from it depend on: not whether copies of it are kept. */
    List<Object> dependsOn() {
      return List.of(tensor, dependsOnShape());
    }

    /** All but where it lies. */
    List<Object> dependsOnShape() {
      return List.of(tensor.dtype(), rows, columns, transposed);
    }

    int height() {
      return transposed ? columns : rows;
    }

    int width() {
      return transposed ? rows : columns;
    }

    /** A tile of the (transposed) matrix. */
    Value load(Tl tl, int row, int height, int column, int width) {
      Shard shard = tl.whole(tensor).as(rows, columns);
      return transposed
          ? tl.load(shard.block(column, width, row, height)).trans()
          : tl.load(shard.block(row, height, column, width));
    }
  }

  /** {@code a b}, accumulated over ascending k and rounded once. */
  public Tensor matmul(String name, Matrix a, Matrix b, DType out) {
    return matmul(name, a, b, out, () -> {});
  }

  /**
   * As {@link #matmul(String, Matrix, Matrix, DType)}, with something beside it.
   *
   * @param beside is launched between the copies of operands and the product
   */
  public Tensor matmul(String name, Matrix a, Matrix b, DType out, Runnable beside) {
    int m = a.height();
    int n = b.width();
    int k = a.width();
    if (b.height() != k || a.tensor.dtype() != b.tensor.dtype()) {
      throw new IllegalArgumentException(
          name + ": product of " + m + "x" + k + " and " + b.height() + "x" + n);
    }
    Tensor c = empty(name, Shape.of(m, n), out);
    Product product = new Product(this, name, a, b, c, false, false);
    launch(product, beside);
    return c;
  }

  private static void launch(Product product, Runnable beside) {
    product.copyLeft();
    product.copyRight();
    beside.run();
    product.launch();
  }

  /**
   * Whether products of one left operand are made {@linkplain #matmuls at once}: their PEs share
   * copies of operands, and have room for all of these and for tiles of all that are as large as
   * those of one.
   *
   * @param bs right operands, all of one shape
   * @param results of an ending
   */
  public boolean makesAtOnce(Matrix a, List<Matrix> bs, List<Tensor> results) {
    Product one = product(new Factors(a, bs.getFirst()), false);
    List<Matrix> copied = new ArrayList<>(bs);
    copied.add(a);
    results.forEach(of -> copied.add(Matrix.of(of, a.height(), bs.getFirst().width())));
    return one.sharesOperands()
        && panels.holds(copied)
        && fits(() -> {
          List<Tensor> made = bs.stream().map(Matrix::tensor).toList();
          Ending ending = new Ending(results, x -> x);
          return Product.together(this, "at once", a, bs, made, Optional.of(ending))
              .hasTilesOf(one);
        });
  }

  private static boolean fits(BooleanSupplier plan) {
    try {
      return plan.getAsBoolean();
    } catch (TcmException tooSmall) {
      return false;
    }
  }

  /** A product for its plan. */
  private Product product(Factors of, boolean likeParameter) {
    return new Product(this, "plan", of.a, of.b, of.a.tensor, false, likeParameter);
  }

  /** Operands of a product. */
  public record Factors(Matrix a, Matrix b) {}

  /**
   * Whether {@link #matmulSum} makes all products of a sum in one launch: their PEs share copies of
   * operands, and have room for all of these and for tiles as large as those of one product.
   */
  public boolean addsAtOnce(List<Factors> sum) {
    Product one = product(sum.getFirst(), false);
    return sum.stream().allMatch(of -> product(of, false).sharesOperands())
        && holds(sum)
        && fits(
            () -> Product.sum(this, "sum", terms(sum), sum.getFirst().a.tensor).hasTilesOf(one));
  }

  /** Whether {@link #matmulsInto} makes all products in one launch. */
  public boolean makesInOneLaunch(List<Factors> products) {
    return products.stream().allMatch(of -> product(of, true).sharesOperands()) && holds(products);
  }

  private boolean holds(List<Factors> products) {
    List<Matrix> operands =
        products.stream().flatMap(of -> Stream.of(of.a, of.b)).distinct().toList();
    return panels.holds(operands);
  }

  private static List<Product.Term> terms(List<Factors> sum) {
    return sum.stream().map(of -> new Product.Term(of.a, List.of(of.b))).toList();
  }

  /**
   * The sum of products that are {@linkplain #addsAtOnce made in one launch}, with the bits of one
   * after the other, each rounded and added to those before.
   *
   * @param beside is launched between the copies of operands and the product
   */
  public Tensor matmulSum(String name, List<Factors> sum, DType out, Runnable beside) {
    Factors first = sum.getFirst();
    Tensor c = empty(name, Shape.of(first.a.height(), first.b.width()), out);
    launch(Product.sum(this, name, terms(sum), c), beside);
    return c;
  }

  /**
   * Products of one left operand that are {@linkplain #makesAtOnce made at once}, in one launch,
   * and what is made of them tile by tile, with copies of that for the products that follow.
   *
   * @param names of the products; the first is that of the launch
   * @param bs right operands, all of one shape
   * @param shape of each product, with as many elements
   */
  public List<Tensor> matmuls(
      List<String> names,
      Matrix a,
      List<Matrix> bs,
      Shape shape,
      DType out,
      Optional<Ending> ending) {
    List<Tensor> results = names.stream().map(name -> empty(name, shape, out)).toList();
    Product.together(this, names.getFirst(), a, bs, results, ending).launch();
    return results;
  }

  /**
   * A product into a tensor that exists.
   *
   * @param add whether the product is added to what is there
   */
  void matmulInto(String name, Matrix a, Matrix b, Tensor c, boolean add) {
    matmulInto(name, a, b, c, add, false);
  }

  /**
   * As above, where the result may lie as a parameter does.
   *
   * @param likeParameter whether the result lies as a {@link #parameter} does
   */
  public void matmulInto(
      String name, Matrix a, Matrix b, Tensor c, boolean add, boolean likeParameter) {
    new Product(this, name, a, b, c, add, likeParameter).launch();
  }

  /**
   * A product into a tensor that exists and may lie as a {@link #parameter} does.
   *
   * @param add whether the product is added to what is there
   */
  public record Into(Factors of, Tensor c, boolean add) {}

  /** Products that are {@linkplain #makesInOneLaunch made in one launch}. */
  public void matmulsInto(String name, List<Into> products) {
    Product.launch(name, products.stream().map(p -> product(name, p)).toList());
  }

  private Product product(String name, Into p) {
    return new Product(this, name, p.of.a, p.of.b, p.c, p.add, true);
  }

  /** Makes copies of the left operand of such a product, if they are not there. */
  public void copyLeft(String name, Factors of) {
    product(name, new Into(of, of.a.tensor, false)).copyLeft();
  }

  /** As {@link #copyLeft}, of the right operand. */
  public void copyRight(String name, Factors of) {
    product(name, new Into(of, of.a.tensor, false)).copyRight();
  }

  /**
   * Rows or columns of a tile: whole arrays, because a part of one takes as long as all of it; but
   * no more sums than an eighth of the TCM holds.
   *
   * @param array rows or columns of the engine's array
   */
  int tile(int array) {
    int whole = array * Math.max(1, TILE / array);
    long sums = torch.machine().pe().tcm().sizeBytes() / 8 / DType.F32.sizeBytes();
    return Math.max(1, Math.min(whole, Math.max(TILE, (int) Math.sqrt((double) sums))));
  }

  /** Writes zeros. */
  public void zero(String name, Tensor to) {
    owners(
        name, to, List.of(), (tl, run) -> copies.fill(tl, tl.whole(to), run.start(), run.count()));
  }

  // ---- row by row ----

  /** What a kernel computes from one block of rows. */
  @FunctionalInterface
  public interface RowFormula {
    /**
     * @param x the operands, in the working type: a block of rows, or all of a small one
     * @return the results: a block of rows each; for column sums, what this block adds
     */
    List<Value> apply(Tl tl, List<Value> x);
  }

  /**
   * An operand or result of a kernel that goes row by row.
   *
   * @param columns elements per row
   * @param rowwise whether each row has its own; otherwise there is one row for all
   */
  public record RowArg(Tensor tensor, int columns, boolean rowwise) {
    /** One row for each row. */
    public static RowArg rows(Tensor tensor, int columns) {
      return new RowArg(tensor, columns, true);
    }

    /** One row for all: as an operand it is repeated, as a result it is summed over all rows. */
    public static RowArg once(Tensor tensor, int columns) {
      return new RowArg(tensor, columns, false);
    }
  }

  /**
   * Applies a formula to blocks of rows.
   *
   * @param rows of every rowwise argument
   * @param in operands; those of floating-point types come in the working type
   * @param out results, made by {@link #empty}
   */
  public void rows(String name, int rows, List<RowArg> in, List<RowArg> out, RowFormula formula) {
    new RowKernel(this, name, rows, in, out, formula).launch();
  }

  // ---- element by element ----

  /** What a kernel computes from elements at the same place. */
  @FunctionalInterface
  public interface Formula {
    Value apply(List<Value> x);
  }

  /** Applies a formula to elements at the same places of equally long tensors. */
  public Tensor map(String name, Shape shape, DType dtype, List<Tensor> in, Formula formula) {
    Tensor out = empty(name, shape, dtype);
    mapInto(name, out, in, formula);
    return out;
  }

  /**
   * As {@link #map}, but each operation of the formula rounds to the type of the result. One alone
   * gives the same bits either way, and a short type takes MATH a fraction of the time (ADR 0283).
   */
  public Tensor mapRounded(
      String name, Shape shape, DType dtype, List<Tensor> in, Formula formula) {
    Tensor out = empty(name, shape, dtype);
    mapInto(name, out, in, dtype, formula);
    return out;
  }

  /** A formula into a tensor that exists, which may be an operand as well. */
  public void mapInto(String name, Tensor out, List<Tensor> in, Formula formula) {
    mapInto(name, out, in, working(out.dtype()), formula);
  }

  private void mapInto(String name, Tensor out, List<Tensor> in, DType working, Formula formula) {
    int block = blockBytes / working.sizeBytes();
    owners(
        name,
        out,
        in,
        (tl, run) -> {
          for (int i = 0; i < run.count(); i += block) {
            int at = run.start() + i;
            int count = Math.min(block, run.count() - i);
            try (Scope step = tl.scope()) {
              List<Value> x = new ArrayList<>();
              for (Tensor t : in) {
                x.add(tl.load(tl.whole(t).range(at, count)).cast(working));
              }
              tl.store(tl.whole(out).range(at, count), formula.apply(x).cast(out.dtype()));
            }
          }
        });
  }

  /** Multiplies all elements by one number, {@code [1]}. */
  public void scaleInto(String name, Tensor of, Tensor factor) {
    DType working = working(of.dtype());
    countBytes(name, bytes(List.of(of))); // read as well as written
    int block = blockBytes / working.sizeBytes();
    owners(
        name,
        List.of(of),
        List.of(factor),
        false,
        (tl, run) -> {
          try (Scope all = tl.scope()) {
            Value by = tl.load(tl.whole(factor).range(0, 1)).cast(working);
            for (int i = 0; i < run.count(); i += block) {
              int at = run.start() + i;
              int count = Math.min(block, run.count() - i);
              try (Scope step = tl.scope()) {
                Value x = tl.load(tl.whole(of).range(at, count)).cast(working);
                tl.store(tl.whole(of).range(at, count), x.mul(by).cast(of.dtype()));
              }
            }
          }
        });
  }

  /** What a kernel computes from elements at the same place, several results at once. */
  @FunctionalInterface
  public interface Formulas {
    /**
     * @param x the operands, each in its own type; then the constants, one element each, in the
     *     working type of the first result
     * @return as many values as there are results
     */
    List<Value> apply(Tl tl, List<Value> x);
  }

  /**
   * Several results of as many elements each, in one pass over the operands. PEs that hold the
   * first result make all of them; a result may be an operand as well.
   *
   * @param out of which no PE has copies
   * @param constants that formulas take as operands of one element
   */
  public void mapAllInto(
      String name, List<Tensor> out, List<Tensor> in, List<Double> constants, Formulas formulas) {
    Tensor first = out.getFirst();
    DType working = working(first.dtype());
    int most = blockBytes / working.sizeBytes();
    owners(
        name,
        out,
        in,
        false,
        (tl, run) -> {
          int block = Math.clamp(Math.ceilDiv(run.count(), FEWEST_BLOCKS), most / 2, most);
          try (Scope all = tl.scope()) {
            List<Value> fixed = new ArrayList<>();
            for (double c : constants) {
              fixed.add(tl.full(Shape.of(1), c, working));
            }
            for (int i = 0; i < run.count(); i += block) {
              int at = run.start() + i;
              int count = Math.min(block, run.count() - i);
              mapAll(tl, out, in, fixed, formulas, at, count);
            }
          }
        });
  }

  private static void mapAll(
      Tl tl,
      List<Tensor> out,
      List<Tensor> in,
      List<Value> fixed,
      Formulas formulas,
      int at,
      int count) {
    try (Scope step = tl.scope()) {
      List<Value> x = new ArrayList<>();
      for (Tensor t : in) {
        x.add(tl.load(tl.whole(t).range(at, count)));
      }
      x.addAll(fixed);
      List<Value> made = formulas.apply(tl, x);
      for (int j = 0; j < out.size(); j++) {
        Tensor to = out.get(j);
        tl.store(tl.whole(to).range(at, count), made.get(j).cast(to.dtype()));
      }
    }
  }

  /** Copies elements to the same places of another tensor of the type, wherever they lie. */
  void copy(Tl tl, Tensor from, Tensor to, int start, int count, Pace pace) {
    int block = blockBytes / to.dtype().sizeBytes();
    for (int i = 0; i < count; i += block) {
      int n = Math.min(block, count - i);
      try (Scope one = tl.scope()) {
        Value moved = pace.loaded(tl.load(tl.whole(from).range(start + i, n)));
        tl.store(tl.whole(to).range(start + i, n), moved);
      }
    }
  }

  /** What a PE does for a run of the elements that it holds. */
  interface OwnRun {
    void run(Tl tl, ElementRun run);
  }

  /** Every PE that holds elements of a result makes them, each copy by itself. */
  private void owners(String name, Tensor out, List<Tensor> in, OwnRun work) {
    owners(name, List.of(out), in, false, work);
  }

  /**
   * As above, of several results.
   *
   * @param beside whether it may go on beside the kernels launched before and after
   */
  void owners(String name, List<Tensor> out, List<Tensor> in, boolean beside, OwnRun work) {
    Map<Pe, List<ElementRun>> runs = out.getFirst().runs();
    if (runs.isEmpty()) {
      return;
    }
    count(name, out, in);
    PureKernel kernel =
        tl -> runs.getOrDefault(tl.pe(), List.of()).forEach(run -> work.run(tl, run));
    start(name, kernel, List.copyOf(runs.keySet()), out, in, beside);
  }

  /** A launch on all PEs that compute, which is a part of some work that is counted apart. */
  void onAll(String name, List<Tensor> out, List<Tensor> in, boolean beside, PureKernel kernel) {
    work.merge(name, new WorkCount(1, 0, 0, 0, 0), WorkCount::plus);
    start(name, kernel, pes, out, in, beside);
  }

  private void start(
      String name,
      PureKernel kernel,
      List<Pe> pes,
      List<Tensor> out,
      List<Tensor> in,
      boolean beside) {
    writes(out);
    if (beside) {
      // no earlier than one long launch ahead: copies for all that follows would go first
      torch.launchBeside(name, kernel, pes, out, in, beforeLast);
    } else {
      told(torch.launch(name, kernel, pes, out, in));
    }
  }

  // ---- copies ----

  /**
   * A block to copy from one matrix to another.
   *
   * @param fromColumns elements per row of the source
   */
  public record BlockCopy(
      Tensor from,
      int fromColumns,
      int fromRow,
      int fromColumn,
      int rows,
      int columns,
      int toRow,
      int toColumn) {
    /** What of it goes to some rows of the result. */
    BlockCopy rows(int first, int behind) {
      return new BlockCopy(
          from,
          fromColumns,
          fromRow + first - toRow,
          fromColumn,
          behind - first,
          columns,
          first,
          toColumn);
    }

    /** Copies by one PE. */
    void copy(Tl tl, Shard to, int blockBytes) {
      Shard all = tl.whole(from);
      int fromRows = Math.toIntExact(all.shape().elements() / fromColumns);
      Shard source = all.as(fromRows, fromColumns);
      int size = all.dtype().sizeBytes();
      int widest = WIDEST_BLOCKS * blockBytes / size; // a row that is wider goes in parts
      for (int j = 0; j < columns; j += widest) {
        int width = Math.min(widest, columns - j);
        int step = Math.max(1, blockBytes / (width * size));
        for (int i = 0; i < rows; i += step) {
          int count = Math.min(step, rows - i);
          try (Scope one = tl.scope()) {
            tl.store(
                to.block(toRow + i, count, toColumn + j, width),
                tl.load(source.block(fromRow + i, count, fromColumn + j, width)));
          }
        }
      }
    }
  }

  /**
   * A matrix put together from blocks of others.
   *
   * @param zero whether what no block covers is zero; otherwise the blocks cover all
   */
  public Tensor assemble(
      String name, int rows, int columns, DType dtype, boolean zero, List<BlockCopy> blocks) {
    return copies.assemble(name, rows, columns, dtype, zero, blocks);
  }

  /**
   * Blocks put into a matrix of whole rows, by the PEs that hold these; what no block covers is
   * zero.
   */
  public Tensor assembleWhere(String name, Tensor to, List<BlockCopy> blocks) {
    return copies.assembleWhere(name, to, blocks);
  }
}
