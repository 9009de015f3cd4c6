package org.kernbench.nn.autograd;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.kernbench.device.Launch;
import org.kernbench.machine.SimulationException;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * The computation of one step on one rank: records what is computed from what, and finds gradients
 * by going backwards ({@code autograd} of PyTorch, but explicit: there is no global switch).
 *
 * <p>It owns every tensor made in it and closes them all when it is closed; {@link Parameter}s and
 * their gradients live on. Operations return at once, kernels run in simulated time; nothing is
 * computed on the host. Shapes follow PyTorch; matrices are the last two axes with all leading ones
 * taken together as rows.
 */
public final class Graph implements AutoCloseable {
  private final Torch torch;
  private final Recipe recipe;
  private final List<Tensor> owned = new ArrayList<>();
  private final Deque<String> path = new ArrayDeque<>();
  private final Compute compute;
  private final Elementwise elements;
  private final Products products;
  private final RowChoices rows;
  private final Tape tape = new Tape(this);
  private final Supplier<String> told = this::place;
  private boolean overlaps = true;
  private boolean leavesWeights;
  private final Dropping dropping = new Dropping(this);
  private double lossScale = 1;
  private Optional<F8> f8 = Optional.empty();
  private Finite finite = Finite.NOT_LOOKED_FOR;
  private Watch watch = (place, value, what) -> {};
  private boolean closed;

  private Graph(Torch torch, Recipe recipe) {
    this.torch = torch;
    this.recipe = recipe;
    this.compute = new Compute(torch, this::own);
    this.elements = new Elementwise(this);
    this.products = new Products(this);
    this.rows = new RowChoices(this);
  }

  /** An empty graph of the rank that owns this view of the runtime. */
  public static Graph of(Torch torch) {
    return of(torch, Recipe.STANDARD);
  }

  /** An empty graph of a model of one module that is trained with a mistake, to see it found. */
  public static Graph of(Torch torch, ParallelLayout layout, Fault fault) {
    return of(torch, TwoModuleRecipe.of(layout, fault));
  }

  /** An empty graph of a model that follows another recipe. */
  public static Graph of(Torch torch, Recipe recipe) {
    return new Graph(torch, recipe);
  }

  /** The rank's view of the runtime. */
  public Torch torch() {
    return torch;
  }

  // ---- recording ----

  /** How gradients flow back through an operation. */
  @FunctionalInterface
  public interface Backward {
    /**
     * @param grad of the operation's result; must not be changed, others may hold it
     * @param into takes the gradients of the operands
     */
    void run(Tensor grad, Sink into);
  }

  /** Takes gradients of an operation's operands, by position. */
  public interface Sink {
    /** Whether anybody wants this operand's gradient. */
    boolean wants(int operand);

    /** Adds to an operand's gradient. */
    void give(int operand, Tensor grad);

    /**
     * Likewise, of a tensor that the graph owns and that is there for nothing else: once it is part
     * of a parameter's gradient, its memory is given back.
     */
    void giveAway(int operand, Tensor grad);

    /**
     * Where the gradient of an operand may be written at once, if it is the first of a parameter
     * that is spread over PEs; it is to be given all the same.
     */
    default Optional<Tensor> home(int operand) {
      return Optional.empty();
    }
  }

  public Compute compute() {
    return compute;
  }

  /** How the parallel parts of the model hang together. */
  public Recipe recipe() {
    return recipe;
  }

  public Tensor own(Tensor tensor) {
    if (closed) {
      throw new SimulationException("the graph is closed; make a new one for each step");
    }
    owned.add(tensor);
    return tensor;
  }

  /** Gives back what is owned, before the graph is closed. */
  void drop(Tensor tensor) {
    int i = owned.lastIndexOf(tensor);
    if (i < 0) {
      throw new IllegalStateException("bug: " + tensor + " is not the graph's");
    }
    owned.remove(i).close();
  }

  /** A step of a path, for names of kernels; close it to leave. */
  public interface Section extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * Names a part of the model: kernels recorded until the section is closed, and those of their
   * gradients, have it in their names, so that reports can tell layers apart.
   */
  public Section section(String name) {
    path.addLast(name);
    torch.within(told);
    return path::removeLast;
  }

  /** An error of shapes that names the part of the model. */
  ShapeException wrong(String problem) {
    return new ShapeException(path.isEmpty() ? problem : place() + ": " + problem);
  }

  /** Is shown values at named places of a model. */
  @FunctionalInterface
  public interface Watch {
    void see(String place, Variable value, Seen what);
  }

  /** What is shown. */
  public enum Seen {
    /** A value, and its gradient. */
    WHOLE,
    /**
     * This tensor-parallel rank's part of a sum over the group; its gradient is that of the sum.
     */
    PART,
    /** A value of a tensor-parallel region, of all rows of the group. */
    REGION,
    /** One whose gradient is this rank's part of a sum. */
    ENTERED,
    /** Rows of all context-parallel ranks: their gradient is this rank's part of a sum. */
    GATHERED;

    /** Whether only the gradient is to be looked at. */
    public boolean isGradOnly() {
      return this == ENTERED || this == GATHERED;
    }
  }

  /** Shows values from now on. */
  public void watch(Watch by) {
    watch = by;
  }

  /** Shows a value to whoever watches; costs nothing on the device. */
  public void see(String place, Variable value) {
    see(place, value, Seen.WHOLE);
  }

  /** Shows a value or a part of one. */
  public void see(String place, Variable value, Seen what) {
    watch.see(place, value, what);
  }

  /** The name of a kernel of this part of the model. */
  public String name(String kernel) {
    return path.isEmpty() ? kernel : place() + "." + kernel;
  }

  /** Does something as another part of the model. */
  void at(String place, Runnable work) {
    at(
        place,
        () -> {
          work.run();
          return place;
        });
  }

  <T> T at(String place, Supplier<T> work) {
    List<String> before = List.copyOf(path);
    path.clear();
    if (!place.isEmpty()) {
      path.addLast(place);
    }
    torch.within(told);
    try {
      return work.get();
    } finally {
      path.clear();
      path.addAll(before);
    }
  }

  /** The part of the model that is recorded now, or whose gradient is computed. */
  String place() {
    return String.join(".", path);
  }

  static boolean wants(Variable v) {
    return v instanceof Parameter p ? !p.isFrozen() : v.requiresGrad();
  }

  /** Records an operation that is not in the list of this class, for example a collective. */
  public Variable record(Tensor value, Shape shape, List<Variable> operands, Backward backward) {
    boolean wanted = false;
    for (Variable v : operands) {
      wanted |= wants(v);
    }
    Variable result = new Variable(Variable.shaped(value, shape), shape, wanted);
    if (wanted) {
      tape.add(new Tape.Node(place(), result, List.copyOf(operands), backward));
    }
    finite.result(result, operands);
    return result;
  }

  /**
   * A part of a model whose activations are not kept: they are made again on the way back, from its
   * input ({@code torch.utils.checkpoint} of PyTorch). The same values, to the bit; as much memory
   * less as the part would have held, and its forward pass a second time.
   *
   * @param x a value that a gradient is wanted for
   * @param part computes in the graph that it is given; asked twice, and must do the same
   */
  public Variable recompute(Variable x, BiFunction<Graph, Variable, Variable> part) {
    String place = place();
    Variable result;
    try (Graph first = inner()) {
      Variable y = first.at(place, () -> part.apply(first, first.input(x.value())));
      result = new Variable(own(first.release(y)), y.shape(), true);
    }
    tape.add(
        new Tape.Node(
            place,
            result,
            List.of(x),
            (grad, into) -> {
              if (leavesWeights) {
                throw new SimulationException(
                    "a backward pass in two parts of what is recomputed; expected one of them");
              }
              try (Graph again = inner()) {
                again.dropping.drawsAgain();
                again.watch = watch;
                Variable in = again.input(x.value());
                Variable y = again.at(place, () -> part.apply(again, in));
                again.tape.run(y, grad, tape.told());
                again.compute.forgetPanels();
                Tensor dx = in.grad().orElseThrow();
                into.give(0, own(again.release(new Variable(dx, x.shape(), false))));
              }
            }));
    return result;
  }

  /** A graph that does as this one does, for a part of it. */
  private Graph inner() {
    Graph inner = new Graph(torch, recipe);
    inner.overlaps = overlaps;
    inner.finite = finite;
    inner.dropping.becomes(dropping);
    inner.f8 = f8;
    inner.lossScale = lossScale;
    inner.compute.tell(compute::tells);
    return inner;
  }

  /** A value that outlives this graph: its tensor, or a copy if that is part of another. */
  private Tensor release(Variable v) {
    Tensor value = v.value();
    if (owned.removeIf(t -> t == value)) {
      return value;
    }
    Tensor copy = compute.map(name("keep"), v.shape(), v.dtype(), List.of(value), a -> a.get(0));
    owned.removeIf(t -> t == copy);
    return copy;
  }

  /** A tensor as a constant: no gradient is computed for it. It stays the caller's. */
  public Variable constant(Tensor tensor) {
    return new Variable(tensor, tensor.shape(), false);
  }

  /** Host values as a constant, rounded to a type. */
  public Variable constant(double[] values, Shape shape, DType dtype, String name) {
    return constant(() -> values, shape, dtype, name);
  }

  /** Likewise, of values that are made only where they are computed with. */
  Variable constant(Supplier<double[]> values, Shape shape, DType dtype, String name) {
    return constant(own(Compute.spread(torch, name, shape, dtype, values)));
  }

  /** A tensor as an input whose gradient is wanted. It stays the caller's. */
  public Variable input(Tensor tensor) {
    return new Variable(tensor, tensor.shape(), true);
  }

  // ---- backwards ----

  /** {@link #backward(Variable, Tensor)} with gradient 1 of a scalar. */
  public void backward(Variable loss) {
    backward(loss, one(loss));
  }

  public Tensor one(Variable loss) {
    if (loss.shape().elements() != 1) {
      throw new ShapeException(
          """
          backward from %s: expected one element; reduce the loss, or give its gradient\
          """
              .formatted(loss));
    }
    return own(torch.full(loss.shape(), loss.dtype(), 1, "d" + loss.value().name()));
  }

  /**
   * Finds the gradients of everything that a result depends on, and adds them to those that {@link
   * Variable#grad} and {@link Parameter#grad} hold. It can be called again, from the same result or
   * another: what was recorded is kept until the graph is closed ({@code retain_graph} of PyTorch).
   *
   * @param grad of the result, as many elements
   */
  public void backward(Variable result, Tensor grad) {
    backward(result, grad, p -> {});
  }

  /**
   * As {@link #backward(Variable, Tensor)}; tells of each parameter when its gradient here is
   * complete.
   */
  public void backward(Variable result, Tensor grad, Consumer<Parameter> whenComplete) {
    tape.run(result, grad, whenComplete);
    compute.forgetPanels();
  }

  /**
   * The first part of a backward pass in two: finds all gradients but those of weights that are
   * matrices of {@link #linear}, which are left until {@link #backwardWeights}. What these need is
   * kept until then.
   *
   * @param grad of the result, as many elements
   */
  public void backwardInput(Variable result, Tensor grad) {
    leavesWeights = true;
    try {
      backward(result, grad);
    } finally {
      leavesWeights = false;
    }
  }

  /** The second part: adds the gradients of weights that {@link #backwardInput} has left. */
  public void backwardWeights() {
    tape.runPutOff();
    compute.forgetPanels();
  }

  /**
   * Tells of every kernel that computes for this graph, in the order of their launches; copies that
   * go on beside others, and collectives, are not told of.
   */
  public void tellLaunches(Consumer<Launch> listener) {
    compute.tell(listener);
  }

  /** Bytes of the tensors that were made here and are not closed: what the graph holds now. */
  public long bytesHeld() {
    long bytes = 0;
    for (Tensor t : owned) {
      bytes += t.isClosed() ? 0 : t.sizeBytes();
    }
    return bytes;
  }

  /**
   * Whether weight gradients of tensor-parallel layers are computed beside the collective on their
   * input's gradient, rather than before it; on by default. Changes no value.
   */
  public Graph withOverlap(boolean beside) {
    overlaps = beside;
    return this;
  }

  /**
   * Looks at every value and every gradient as soon as it is computed ({@code
   * torch.autograd.set_detect_anomaly}): the first that is infinite or NaN is a {@link
   * NotFiniteException} that names the operation, the tensor and the element. The host waits for
   * every operation, so times are not those of a run without; without values there is nothing to
   * see.
   */
  public Graph withAnomalyDetection() {
    finite = Finite.of(torch);
    return this;
  }

  /** Sets values to zero from now on, as layers ask for it; none by default. */
  public Graph withDropout(Dropout which) {
    dropping.becomes(which);
    return this;
  }

  /**
   * Says by what the loss is multiplied, whose gradients are computed: what layers add to gradients
   * beside it is multiplied, too. 1 by default.
   */
  public Graph withLossScale(double factor) {
    lossScale = factor;
    return this;
  }

  double lossScale() {
    return lossScale;
  }

  /** Multiplies in 8 bits from now on, where layers allow it; nowhere by default. */
  public Graph withF8(Optional<F8> how) {
    f8 = how;
    return this;
  }

  /** How layers that allow it multiply in 8 bits; empty if they do not. */
  Optional<F8> f8() {
    return f8;
  }

  Dropping dropping() {
    return dropping;
  }

  Finite finite() {
    return finite;
  }

  /** Does now, or beside the next collective of the backward pass. */
  void defer(boolean may, Runnable work) {
    if (leavesWeights) {
      tape.putOff(work);
    } else if (may && overlaps) {
      tape.defer(work);
    } else {
      work.run();
    }
  }

  /** Waits with what the present operation gives an operand; see {@link Tape#join}. */
  void join(Variable operand, Runnable work) {
    tape.join(operand, work);
  }

  boolean hasDeferred() {
    return tape.hasDeferred();
  }

  /** Whether the backward pass under way leaves gradients of weights to a second part. */
  boolean leavesWeights() {
    return leavesWeights;
  }

  void runDeferred() {
    tape.runDeferred();
  }

  /** Closes every tensor that was made here. */
  @Override
  public void close() {
    closed = true;
    owned.forEach(Tensor::close);
    owned.clear();
    tape.clear();
  }

  // ---- element by element ----

  /** {@code a + b}. */
  public Variable add(Variable a, Variable b) {
    return elements.add(a, b);
  }

  /** {@code a - b}. */
  public Variable sub(Variable a, Variable b) {
    return add(a, scale(b, -1));
  }

  /** {@code a b}, element by element. */
  public Variable mul(Variable a, Variable b) {
    return elements.mul(a, b);
  }

  /** {@code factor a}. */
  public Variable scale(Variable a, double factor) {
    return elements.scale(a, factor);
  }

  /** A value in another type; gradients go back in the old one. */
  public Variable cast(Variable a, DType to) {
    return elements.cast(a, to);
  }

  /** {@code max(a, 0)}; its derivative at 0 is 0. */
  public Variable relu(Variable a) {
    return elements.relu(a);
  }

  /** {@code a Phi(a)}, with the error function. */
  public Variable gelu(Variable a) {
    return elements.gelu(a);
  }

  /** {@code a sigmoid(a)}. */
  public Variable silu(Variable a) {
    return elements.silu(a);
  }

  /**
   * {@code silu(gate) up}, the bits of {@link #silu} and {@link #mul} in one pass each way: what
   * {@code silu} gives is rounded to the operands' type in between, as if it had been stored.
   */
  public Variable swiglu(Variable gate, Variable up) {
    return elements.swiglu(gate, up);
  }

  // ---- matrices ----

  /**
   * {@code x w^T}: the product of a linear layer.
   *
   * @param x {@code [..., in]}
   * @param w {@code [out, in]}
   * @return {@code [..., out]}
   */
  public Variable linear(Variable x, Variable w) {
    return linear(x, w, false);
  }

  /**
   * As {@link #linear(Variable, Variable)}, with a word on what follows.
   *
   * @param beside whether a collective on the input's gradient follows, beside which that of the
   *     weight can be computed
   */
  public Variable linear(Variable x, Variable w, boolean beside) {
    return products.linear(x, w, beside);
  }

  /**
   * Says which products {@link #linear} will be asked for next, of one input and weights of one
   * shape. On a package they are made now, in one launch; elsewhere nothing happens. No bit of any
   * result depends on that.
   *
   * @param ws two weights or more
   * @param gated whether {@link #swiglu} of the last product and the first follows, which is then
   *     made tile by tile in that launch
   */
  public void linearAhead(Variable x, List<? extends Variable> ws, boolean gated) {
    products.ahead(x, ws, gated);
  }

  Elementwise elements() {
    return elements;
  }

  /** {@code a b} of two matrices. */
  public Variable matmul(Variable a, Variable b) {
    return products.matmul(a, b);
  }

  /** A vector that all PEs read. */
  Tensor near(Variable vector) {
    return vector instanceof Parameter p
        ? compute.near(name("near"), p.value(), p.copies())
        : vector.value();
  }

  /** Adds a vector to every row. */
  public Variable addBias(Variable x, Variable bias) {
    return products.addBias(x, bias);
  }

  /**
   * Layer norm of each row: {@code (x - mean) / sqrt(variance + epsilon) weight + bias}.
   *
   * @param weight one factor per column
   * @param bias one addend per column
   */
  public Variable layerNorm(Variable x, Variable weight, Variable bias, double epsilon) {
    return new Norms(this, true, epsilon).apply(x, weight, bias);
  }

  /** RMS norm of each row: {@code x / sqrt(mean(x^2) + epsilon) weight}. */
  public Variable rmsNorm(Variable x, Variable weight, double epsilon) {
    return new Norms(this, false, epsilon).apply(x, weight, null);
  }

  // ---- attention ----

  /**
   * Causal scaled dot-product attention: a query sees the keys at its own and earlier positions;
   * one that sees none gives zeros.
   *
   * @param q {@code [queries, batch, heads x size]}
   * @param k {@code [keys, batch, keyHeads x size]}, where {@code keyHeads} divides {@code heads}
   * @param v {@code [keys, batch, keyHeads x any size]}
   * @param size elements of a head of queries and keys
   * @param qAt position of each query in the whole sequence
   * @param kAt position of each key
   * @return {@code [queries, batch, heads x the size of values]}
   */
  public Variable attention(Variable q, Variable k, Variable v, int size, int[] qAt, int[] kAt) {
    Attention of = Attention.of(this, q, k, v, size, qAt, kAt);
    return of.apply(q, k, v, of.positions(qAt), of.positions(kAt));
  }

  /**
   * Rotary embedding: turns each pair {@code (i, i + turned/2)} of the last elements of every head
   * by the position times a frequency.
   *
   * @param x {@code [sequence, batch, heads x size]}
   * @param turned how many elements of a head are turned, even; all of them, or its last ones
   * @param at position of each row of the sequence
   */
  public Variable rotary(Variable x, int size, int turned, int[] at, RotaryAngles angles) {
    return new Rotary(this, x, size, turned, at, angles).apply();
  }

  // ---- losses ----

  /**
   * Cross entropy of each token over a vocabulary that is divided over a group.
   *
   * @param logits {@code [..., vocabulary / p]}
   * @param targets one id per token; one that is negative has no target term, so that its loss must
   *     be masked
   * @param smoothing share of the probability that is spread over the vocabulary, 0 to below 1
   * @return {@code [...]}, in f32, or f64 for f64
   */
  public Variable crossEntropy(
      Variable logits, int[] targets, ProcessGroup tp, int vocabulary, double smoothing) {
    try (Section section = section("cross_entropy")) {
      return new CrossEntropy(this, tp, vocabulary, smoothing).apply(logits, targets);
    }
  }

  /**
   * {@code sum of weights x}: a masked sum. The weights are the host's.
   *
   * @return {@code [1]}
   */
  public Variable weightedSum(Variable x, double[] weights) {
    return rows.weightedSum(x, weights);
  }

  /** Moves a value among the ranks of a group, and its gradient back. */
  public Variable map(Mapping mapping, Variable x, ProcessGroup group) {
    return Exchange.apply(this, mapping, x, group);
  }

  /**
   * As {@link #map(Mapping, Variable, ProcessGroup)}, for ranks with different numbers of rows.
   *
   * @param mapping {@link Mapping#GATHER_FROM_SEQUENCE} or {@link
   *     Mapping#REDUCE_SCATTER_TO_SEQUENCE}
   * @param rows that each rank has when the rows are divided, in the order of the group
   */
  public Variable map(Mapping mapping, Variable x, ProcessGroup group, List<Integer> rows) {
    return Exchange.apply(this, mapping, x, group, rows);
  }

  /**
   * Exchanges blocks of rows among the ranks of a group; gradients go the way back.
   *
   * @param out rows that come from each rank
   * @param in rows of {@code x} that go to each rank
   */
  public Variable allToAll(Variable x, ProcessGroup group, List<Integer> out, List<Integer> in) {
    return Exchange.allToAll(this, x, group, out, in);
  }

  // ---- other shapes ----

  /** These elements, counted in another shape; costs nothing. */
  public Variable reshape(Variable a, Shape shape) {
    if (shape.elements() != a.shape().elements()) {
      throw wrong("reshape of " + a + " to " + shape + ": other number of elements");
    }
    return record(a.value(), shape, List.of(a), (grad, into) -> into.give(0, grad));
  }

  /** Rows {@code [start, start + count)}, along the first axis of a matrix of rows. */
  public Variable narrowRows(Variable a, int start, int count) {
    int[] rows = new int[count];
    for (int i = 0; i < count; i++) {
      rows[i] = start + i;
    }
    return selectRows(a, rows);
  }

  /**
   * Rows of a matrix in any order, also repeatedly; the look-up of an embedding. The indices are
   * the host's and known when the kernel is made; the device follows them by its load descriptors.
   *
   * @param rows index of each row of the result; negative for a row of zeros
   * @return {@code [rows.length, columns]}
   */
  public Variable selectRows(Variable a, int[] rows) {
    return this.rows.select(a, rows);
  }

  /** Columns {@code [start, start + count)} of every row. */
  public Variable narrowColumns(Variable a, int start, int count) {
    return rows.narrowColumns(a, start, count);
  }
}
