package org.kernbench.nn.bridge;

import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.AlongAxis;
import org.kernbench.nn.autograd.BridgeFault;
import org.kernbench.nn.autograd.Exchange;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.BridgePlan.Direction;
import org.kernbench.nn.bridge.BridgePlan.SliceInfo;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;

/**
 * Carries activations from one module to another on the same ranks, and gradients back ({@code
 * ColocatedBridgeCommunicator} in Megatron-LM): each module has its own tensor-, context- and
 * data-parallel sizes, so the samples of a rank change on the way. {@link BridgePlan} says who has
 * what.
 *
 * <table>
 * <caption>What a rank does, along the axis of samples</caption>
 * <tr><th>direction</th><th>forward</th><th>backward</th></tr>
 * <tr><td>equal</td><td>nothing</td><td>C</td></tr>
 * <tr><td>fan-in</td><td>all-gather, in the order of slots</td><td>C, keeps its slice</td></tr>
 * <tr><td>fan-out</td><td>keeps its slice</td><td>C, all-gather</td></tr>
 * </table>
 *
 * <p>Step C, with context parallelism in the destination only: a sum over its context-parallel
 * group, on a private copy. Each of those ranks works on some positions of the sequence, so the
 * gradient that comes from it is zero at the others; the sum is the whole gradient.
 *
 * <p>With context parallelism in the source (an option; no public version has it), a rank brings
 * the positions of its {@link SequencePart}. They are gathered over the source's context-parallel
 * group first and put in order; backwards, a rank keeps its own positions last.
 *
 * <p>The source's output must be alike on its tensor-parallel ranks, so it must not end in
 * sequence-parallel rows; the gradient must be alike on the destination's tensor-parallel ranks,
 * which its first layer sees to. Both are the caller's duty. Source: {@code docs/spec/megatron.md}
 * 4.
 */
public final class ColocatedBridgeCommunicator {
  private final BridgePlan plan;
  private final BridgeFault fault;
  private final Distributed distributed;
  private final int rank;
  private final @Nullable ProcessGroup context;
  private final @Nullable ProcessGroup sourceContext;
  private @Nullable ProcessGroup gather;
  private boolean destroyed;

  private ColocatedBridgeCommunicator(
      HyperCommGrid src, HyperCommGrid dest, BridgePlan plan, BridgeFault fault) {
    this.plan = plan;
    this.fault = fault;
    this.distributed = src.distributed();
    this.rank = src.rank();
    this.context = dest.ranks().size(Dim.CP) > 1 ? contextGroup(dest) : null;
    this.sourceContext = src.ranks().size(Dim.CP) > 1 ? src.get(Dim.CP) : null;
    this.gather =
        plan.direction() == Direction.EQUAL
            ? null
            : distributed.newSubgroupsByEnumeration(plan.gatherGroups(), "bridge").own();
  }

  private ProcessGroup contextGroup(HyperCommGrid dest) {
    ProcessGroup own = dest.get(Dim.CP);
    return fault == BridgeFault.SUM_OVER_DP_CP
        ? distributed.newSubgroupsByEnumeration(dest.enumerate(Dim.CP, Dim.DP), "bridge").own()
        : own;
  }

  /**
   * A bridge; all ranks of the world call it alike, also those that the grids leave out.
   *
   * @param src layout of the module that gives; its {@code cp} groups exist, if that is divided
   * @param dest layout of the module that takes; its {@code cp} groups exist, if that is divided
   * @throws LayoutException if there can be no bridge between them, see {@link BridgePlan}, or the
   *     {@code cp} groups do not exist
   */
  public static ColocatedBridgeCommunicator create(
      HyperCommGrid src, HyperCommGrid dest, BridgeOptions options) {
    return create(src, dest, options, BridgeFault.NONE);
  }

  /** One with a mistake in it. */
  public static ColocatedBridgeCommunicator create(
      HyperCommGrid src, HyperCommGrid dest, BridgeOptions options, BridgeFault fault) {
    BridgePlan plan = new BridgePlan(src.ranks(), dest.ranks(), options, fault);
    return new ColocatedBridgeCommunicator(src, dest, plan, fault);
  }

  /** Who does what. */
  public BridgePlan plan() {
    return plan;
  }

  /**
   * The samples of the larger batch that are this rank's own; see {@link BridgePlan#slice}.
   *
   * @param batch samples of the larger batch
   */
  public SliceInfo slice(int batch) {
    return plan.slice(rank, batch);
  }

  // ---- what it does ----

  /**
   * Carries a value over.
   *
   * @param x {@code [b, s, h]}, or in another order as the options say, or {@code [rows, h]} with
   *     the rows of each sample together. Of a matrix nothing is known of samples, so it is cut by
   *     rows: give {@link SampleTokens} to be safe
   * @return the same with the destination's samples, on all its tensor- and context-parallel ranks
   *     alike
   */
  public Variable communicate(Graph graph, Variable x) {
    return communicate(graph, x, null);
  }

  /**
   * Carries a matrix over, whose rows belong to samples.
   *
   * @param x {@code [rows, h]}
   * @param tokens how many rows each sample has; of the whole sequence, if the source is context
   *     parallel
   */
  public Variable communicate(Graph graph, Variable x, @Nullable SampleTokens tokens) {
    checkUsable();
    int b = plan.options().dims().b();
    boolean isMatrix = x.shape().rank() == 2;
    if (!isMatrix && (x.shape().rank() != 3 || tokens != null)) {
      throw new ShapeException(
          "bridge of %s: expected three axes%s"
              .formatted(
                  x,
                  tokens == null ? ", or a matrix [rows, h]" : " to go without tokens per sample"));
    }
    if (isMatrix && b != 0) {
      throw new ShapeException(
          """
          bridge of matrix %s with samples along axis %s: expected axis 0; a matrix \
          [rows, h] has the rows of each sample together\
          """
              .formatted(x, b));
    }
    return new Carriage(graph, x, tokens).run();
  }

  private void checkUsable() {
    if (destroyed) {
      throw LayoutException.state("bridge " + plan + ": destroyed; create another");
    }
    if (!plan.source().contains(rank)) {
      throw LayoutException.state(
          """
          bridge %s: rank %s is not one of its ranks, %s; call communicate on these only\
          """
              .formatted(plan, rank, plan.source().span()));
    }
  }

  /** One value on its way. */
  private final class Carriage {
    private final Graph graph;
    private final Variable x;
    private final @Nullable SampleTokens tokens;
    private final int axis;

    Carriage(Graph graph, Variable x, @Nullable SampleTokens tokens) {
      this.graph = graph;
      this.x = x;
      this.tokens = tokens;
      this.axis = x.shape().rank() == 2 ? 0 : plan.options().dims().b();
    }

    Variable run() {
      if (plan.direction() == Direction.EQUAL && context == null && sourceContext == null) {
        checkRows(x.shape());
        return x;
      }
      try (Graph.Section section = graph.section("bridge")) {
        SequenceParts parts = parts();
        Shape whole = parts == null ? x.shape() : flat(parts.wholeShape());
        checkRows(whole);
        SliceInfo cut = cut(whole);
        Tensor value = parts == null ? x.value() : parts.join(x.value());
        Shape shape = whole;
        switch (plan.direction()) {
          case EQUAL -> {}
          case FAN_IN -> {
            value = along(whole).gather(value, gatherGroup(), extents(), new int[0]);
            shape = along(whole).with(gathered(whole.dim(axis)));
          }
          case FAN_OUT -> {
            value = along(whole).select("slice", value, AlongAxis.range(cut.start(), cut.size()));
            shape = along(whole).with(cut.size());
          }
        }
        Shape taken = shape;
        return graph.record(
            value,
            taken,
            List.of(x),
            (grad, into) -> into.give(0, backward(grad, whole, taken, cut, parts)));
      }
    }

    private Tensor backward(
        Tensor grad, Shape whole, Shape taken, SliceInfo cut, @Nullable SequenceParts parts) {
      Tensor g = grad;
      if (context != null && fault != BridgeFault.SKIP_CP_SUM) {
        g = new Exchange(graph, context).move(Move.ALL_REDUCE, g, taken);
      }
      int[] own = AlongAxis.range(cut.start(), cut.size());
      g =
          switch (plan.direction()) {
            case EQUAL -> g;
            case FAN_IN -> along(taken).select("slice", g, own);
            case FAN_OUT ->
                fault == BridgeFault.ZERO_PAD
                    ? along(whole).place("pad", g, own)
                    : along(taken).gather(g, gatherGroup(), extents(), new int[0]);
          };
      return parts == null ? g : parts.own(g);
    }

    private ProcessGroup gatherGroup() {
      ProcessGroup group = gather;
      if (group == null) {
        throw new IllegalStateException("bug: " + plan + " gathers without a group");
      }
      return group;
    }

    private AlongAxis along(Shape shape) {
      return new AlongAxis(graph, shape, axis);
    }

    /** In a matrix, the rows of the slice of a rank in the gather group. */
    private int rowsOf(SampleTokens t, int slot) {
      int samples = t.samples(0) / plan.scale();
      return t.rows(slot * samples, samples);
    }

    /** By member of the gather group, where they differ: its extent of the axis. */
    private List<Integer> extents() {
      SampleTokens t = tokens;
      if (t == null || t.isUniform()) {
        return List.of();
      }
      return IntStream.range(0, plan.scale()).map(k -> rowsOf(t, k)).boxed().toList();
    }

    private int gathered(int extent) {
      List<Integer> extents = extents();
      return extents.isEmpty()
          ? extent * plan.scale()
          : extents.stream().mapToInt(Integer::intValue).sum();
    }

    /** The rank's slice of the larger batch, along the axis: of samples, or of rows. */
    private SliceInfo cut(Shape whole) {
      int extent = whole.dim(axis);
      int larger = plan.direction() == Direction.FAN_IN ? gathered(extent) : extent;
      SampleTokens t = tokens;
      if (t == null) {
        return plan.slice(rank, larger);
      }
      SliceInfo samples = plan.slice(rank, t.samples(larger));
      return new SliceInfo(t.rows(0, samples.start()), t.rows(samples.start(), samples.size()));
    }

    /** Whether the rows are those that the tokens per sample say. */
    private void checkRows(Shape whole) {
      SampleTokens t = tokens;
      if (t == null) {
        return;
      }
      int rows = whole.dim(0);
      if (t.isUniform()) {
        if (rows % t.every() != 0) {
          throw new ShapeException(
              "bridge of %s: %s rows are no whole samples of %s tokens"
                  .formatted(x, rows, t.every()));
        }
        return;
      }
      plan.slice(rank, t.samples(rows));
      int expected =
          plan.direction() == Direction.FAN_IN
              ? rowsOf(t, plan.slot(rank))
              : t.rows(0, t.samples(rows));
      if (rows != expected) {
        throw new ShapeException(
            "bridge of %s: %s rows; expected %s, by tokens per sample %s"
                .formatted(x, rows, expected, t));
      }
    }

    /** The source's parts of the sequence, if it is divided. */
    private @Nullable SequenceParts parts() {
      ProcessGroup group = sourceContext;
      if (group == null) {
        return null;
      }
      Shape shape = x.shape();
      int s = plan.options().dims().s();
      SampleTokens t = tokens;
      if (shape.rank() == 2) {
        if (t == null || !t.isUniform()) {
          throw new ShapeException(
              """
              bridge of matrix %s from a context-parallel source: expected uniform tokens per \
              sample, to know which rows are whose positions\
              """
                  .formatted(x));
        }
        int each = t.every() / group.size();
        if (t.every() % group.size() != 0 || shape.dim(0) % each != 0) {
          throw new ShapeException(
              """
              bridge of %s: %s rows are no samples of %s tokens, divided over %s \
              context-parallel ranks\
              """
                  .formatted(x, shape.dim(0), t.every(), group.size()));
        }
        shape = Shape.of(shape.dim(0) / each, each, shape.dim(1));
        s = 1;
      }
      int whole = shape.dim(s) * group.size();
      return new SequenceParts(
          graph, shape, s, group, new SequencePart(whole, group.size(), group.rank()));
    }

    /** A matrix of rows has its samples and positions in one axis. */
    private Shape flat(Shape shape) {
      return x.shape().rank() == 3 ? shape : Shape.of(shape.dim(0) * shape.dim(1), shape.dim(2));
    }
  }

  /**
   * The source's parts of the sequence.
   *
   * @param shape of the rank's part, three axes
   * @param axis of the sequence
   */
  private record SequenceParts(
      Graph graph, Shape shape, int axis, ProcessGroup group, SequencePart part) {
    Shape wholeShape() {
      return shape.with(axis, part.sequence());
    }

    Tensor join(Tensor x) {
      return new AlongAxis(graph, shape, axis).gather(x, group, List.of(), part.all());
    }

    Tensor own(Tensor whole) {
      return new AlongAxis(graph, wholeShape(), axis).select("part", whole, part.own());
    }
  }

  /** Releases its group ({@code destroy}); once is enough, more does no harm. */
  public void destroy() {
    ProcessGroup group = gather;
    if (group != null && group.isMember() && distributed.isInitialized()) {
      distributed.destroyProcessGroup(group);
    }
    gather = null;
    destroyed = true;
  }

  @Override
  public String toString() {
    return "ColocatedBridgeCommunicator(" + plan + ")";
  }
}
