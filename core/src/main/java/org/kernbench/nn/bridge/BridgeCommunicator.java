package org.kernbench.nn.bridge;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.AlongAxis;
import org.kernbench.nn.autograd.Exchange;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.BridgeLanes.Lane;
import org.kernbench.nn.bridge.BridgePlan.Direction;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.P2POp;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Work;

/**
 * Carries activations between modules on ranks of their own, and gradients back ({@code
 * BridgeCommunicator} in Megatron-LM). {@link BridgeLanes} says who leads.
 *
 * <p>Each side has a graph of its own. A step goes: the source calls {@link #sendForward}, the
 * destination {@link #recvForward}, whose result is an input of its graph; after its backward pass
 * it calls {@link #sendBackward}, the source {@link #recvBackward}, and then its own backward pass
 * from what it had sent. All ranks of a boundary stage call; leaders send and receive, and hand on
 * what came to the others of their lane.
 *
 * <p>The methods that begin with {@code i} return at once, for programs that order their messages
 * themselves, as a pipeline does; their messages go each by itself ({@link
 * ProcessGroup#withMessagesApart}).
 *
 * <p>With more lanes on one side, its lanes' samples follow each other: a leader cuts what it has
 * for several, and joins what comes from several.
 *
 * <p>The source's output must be alike on the ranks of its lane. With context parallelism in the
 * destination every rank gets the whole sequence; gradients, zero but for a rank's own positions,
 * are summed over the leader's context-parallel group before they go back.
 */
public final class BridgeCommunicator {
  private final BridgeLanes plan;
  private final Distributed distributed;
  private final int rank;
  private final @Nullable ProcessGroup context;
  private @Nullable ProcessGroup stage;

  /**
   * A bridge; all ranks of the world call it alike.
   *
   * @param src layout of the module that gives
   * @param dest layout of the module that takes; its {@code cp} groups exist, if that is divided
   * @throws LayoutException if there can be no bridge between them, see {@link BridgeLanes}, or the
   *     {@code cp} groups do not exist
   */
  public BridgeCommunicator(HyperCommGrid src, HyperCommGrid dest, BridgeOptions options) {
    this.plan = new BridgeLanes(src.ranks(), dest.ranks(), options);
    this.distributed = src.distributed();
    this.rank = src.rank();
    this.context = dest.ranks().size(Dim.CP) > 1 ? dest.get(Dim.CP) : null;
    List<List<Integer>> stages = new ArrayList<>();
    plan.sourceLanes().forEach(lane -> stages.add(lane.boundary()));
    plan.destLanes().forEach(lane -> stages.add(lane.boundary()));
    this.stage = distributed.newSubgroupsByEnumeration(stages, "bridge").own();
  }

  /** Who leads, and who exchanges with whom. */
  public BridgeLanes plan() {
    return plan;
  }

  // ---- forward ----

  /**
   * Gives an activation to the destination; on the source's last stage.
   *
   * @param x {@code [b, s, h]}, or as the options say, or a matrix of rows; the lane's samples
   * @param tokens of a matrix, how many rows the samples have: of the side with larger batches;
   *     null for rows that may be cut anywhere
   */
  public void sendForward(Graph graph, Variable x, @Nullable SampleTokens tokens) {
    Side side = new Side(true, "sendForward", graph, tokens);
    side.send(x.value(), x.shape(), distributed.world()).forEach(Work::await);
  }

  /**
   * {@link #sendForward(Graph, Variable, SampleTokens)}, without waiting for the other side.
   *
   * @return what the graph must outlive; nothing on a rank that is no leader
   */
  public List<Work> isendForward(Graph graph, Variable x, @Nullable SampleTokens tokens) {
    return new Side(true, "isendForward", graph, tokens).send(x.value(), x.shape(), apart());
  }

  private ProcessGroup apart() {
    return distributed.world().withMessagesApart();
  }

  /** {@link #sendForward(Graph, Variable, SampleTokens)} without tokens per sample. */
  public void sendForward(Graph graph, Variable x) {
    sendForward(graph, x, null);
  }

  /**
   * Takes an activation from the source; on the destination's first stage.
   *
   * @param shape of the lane's samples
   * @param tokens as on the other side
   * @return an input of the graph, alike on all ranks of the lane
   */
  public Variable recvForward(
      Graph graph, Shape shape, DType dtype, @Nullable SampleTokens tokens) {
    Side side = new Side(false, "recvForward", graph, tokens);
    return new Variable(side.receive(shape, dtype, distributed.world()).await(), shape, true);
  }

  /**
   * {@link #recvForward(Graph, Shape, DType, SampleTokens)}, without waiting for the other side.
   */
  public Receipt irecvForward(
      Graph graph, Shape shape, DType dtype, @Nullable SampleTokens tokens) {
    return new Side(false, "irecvForward", graph, tokens).receive(shape, dtype, apart());
  }

  /** {@link #recvForward(Graph, Shape, DType, SampleTokens)} without tokens per sample. */
  public Variable recvForward(Graph graph, Shape shape, DType dtype) {
    return recvForward(graph, shape, dtype, null);
  }

  // ---- backward ----

  /**
   * Gives the gradient of what came to the source; on the destination's first stage.
   *
   * @param received what {@link #recvForward} returned, after the backward pass
   */
  public void sendBackward(Graph graph, Variable received, @Nullable SampleTokens tokens) {
    Tensor grad =
        received
            .grad()
            .orElseThrow(() ->
                LayoutException.state(
                    "bridge %s: sendBackward of %s, which has no gradient; run backward first"
                        .formatted(plan, received)));
    sendBackward(
            new Side(false, "sendBackward", graph, tokens),
            grad,
            received.shape(),
            distributed.world())
        .forEach(Work::await);
  }

  /**
   * {@link #sendBackward(Graph, Variable, SampleTokens)}, without waiting for the other side.
   *
   * @param grad the gradient of what was received
   * @return what the graph must outlive; nothing on a rank that is no leader
   */
  public List<Work> isendBackward(
      Graph graph, Variable received, Tensor grad, @Nullable SampleTokens tokens) {
    Side side = new Side(false, "isendBackward", graph, tokens);
    return sendBackward(side, grad, received.shape(), apart());
  }

  private List<Work> sendBackward(Side side, Tensor grad, Shape shape, ProcessGroup messages) {
    ProcessGroup group = context;
    Tensor sum = grad;
    if (group != null && group.ranks().contains(side.lane().leader())) {
      sum = new Exchange(side.graph, group).move(Move.ALL_REDUCE, grad, shape);
    }
    return side.send(sum, shape, messages);
  }

  /** {@link #sendBackward(Graph, Variable, SampleTokens)} without tokens per sample. */
  public void sendBackward(Graph graph, Variable received) {
    sendBackward(graph, received, null);
  }

  /**
   * Takes the gradient of what was sent; on the source's last stage.
   *
   * @param sent what {@link #sendForward} was given
   * @return its gradient, for {@link Graph#backward(Variable, Tensor)}
   */
  public Tensor recvBackward(Graph graph, Variable sent, @Nullable SampleTokens tokens) {
    return new Side(true, "recvBackward", graph, tokens)
        .receive(sent.shape(), sent.dtype(), distributed.world())
        .await();
  }

  /** {@link #recvBackward(Graph, Variable, SampleTokens)}, without waiting for the other side. */
  public Receipt irecvBackward(Graph graph, Variable sent, @Nullable SampleTokens tokens) {
    return new Side(true, "irecvBackward", graph, tokens)
        .receive(sent.shape(), sent.dtype(), apart());
  }

  /** {@link #recvBackward(Graph, Variable, SampleTokens)} without tokens per sample. */
  public Tensor recvBackward(Graph graph, Variable sent) {
    return recvBackward(graph, sent, null);
  }

  /** A rank's side of one call. */
  private final class Side {
    private final boolean isSource;
    private final String method;
    private final Graph graph;
    private final @Nullable SampleTokens tokens;
    private final int lane;
    private final ProcessGroup group;

    Side(boolean isSource, String method, Graph graph, @Nullable SampleTokens tokens) {
      this.isSource = isSource;
      this.method = method;
      this.graph = graph;
      this.tokens = tokens;
      List<Lane> lanes = isSource ? plan.sourceLanes() : plan.destLanes();
      this.lane = BridgeLanes.laneOf(lanes, rank);
      if (lane < 0) {
        throw LayoutException.argument(
            "bridge %s: %s on rank %s; expected a rank of the %s stage, one of %s"
                .formatted(
                    plan,
                    method,
                    rank,
                    isSource ? "source's last" : "destination's first",
                    lanes.stream().map(Lane::boundary).toList()));
      }
      ProcessGroup own = stage;
      if (own == null) {
        throw LayoutException.state("bridge " + plan + ": destroyed; create another");
      }
      this.group = own;
    }

    boolean isLeader() {
      return rank == lane().leader();
    }

    Lane lane() {
      return (isSource ? plan.sourceLanes() : plan.destLanes()).get(lane);
    }

    private AlongAxis along(Shape shape) {
      return new AlongAxis(graph, shape, axis(shape));
    }

    private int axis(Shape shape) {
      if (shape.rank() == 2) {
        return 0;
      }
      if (shape.rank() != 3 || tokens != null) {
        throw new ShapeException(
            """
            %s of %s: expected three axes, or a matrix [rows, h], which alone has tokens \
            per sample\
            """
                .formatted(method, shape));
      }
      return plan.options().dims().b();
    }

    /** How much of the axis each peer has. */
    private List<Integer> pieces(Shape shape, int peers) {
      int extent = shape.dim(axis(shape));
      SampleTokens t = tokens;
      int units = t == null ? extent : t.samples(extent);
      boolean isLarger = peers > 1 || plan.direction() == Direction.EQUAL;
      if (!isLarger) {
        checkRows(t, extent, plan.scale());
        return List.of(extent);
      }
      if (units % peers != 0) {
        throw LayoutException.argument(
            "bridge %s: %s of %s: %s%s cannot be divided by %s lanes"
                .formatted(
                    plan,
                    method,
                    shape,
                    units,
                    t == null ? " along the axis of samples" : " samples",
                    peers));
      }
      int each = units / peers;
      List<Integer> pieces =
          IntStream.range(0, peers)
              .mapToObj(i -> t == null ? each : t.rows(i * each, each))
              .toList();
      int sum = pieces.stream().mapToInt(Integer::intValue).sum();
      if (sum != extent) {
        throw new ShapeException(
            method + " of " + shape + ": tokens per sample " + t + " are " + sum + " rows");
      }
      return pieces;
    }

    /** Of a lane that is one of several for a lane of the other side. */
    private void checkRows(@Nullable SampleTokens t, int extent, int lanes) {
      if (t != null) {
        int each = t.isUniform() ? extent / t.every() : t.samples(0) / lanes;
        int expected = t.rows(t.isUniform() ? 0 : lane % lanes * each, each);
        if (expected != extent) {
          throw new ShapeException(
              "%s of %s rows; expected %s, by tokens per sample %s"
                  .formatted(method, extent, expected, t));
        }
      }
    }

    List<Work> send(Tensor x, Shape shape, ProcessGroup messages) {
      List<Integer> peers = plan.peers(isSource, lane);
      List<Integer> pieces = pieces(shape, peers.size());
      if (!isLeader()) {
        return List.of();
      }
      List<P2POp> ops = new ArrayList<>();
      int at = 0;
      for (int i = 0; i < peers.size(); i++) {
        Tensor piece = peers.size() == 1 ? x : cut(x, shape, at, pieces.get(i));
        at += pieces.get(i);
        ops.add(P2POp.isend(alike(piece, shape), peers.get(i)));
      }
      return messages.batchIsendIrecv(ops);
    }

    /** On many PEs a part of a tensor lies on others than a tensor of that size. */
    private Tensor cut(Tensor x, Shape shape, int at, int extent) {
      AlongAxis along = along(shape);
      Tensor piece = along.select("cut", x, AlongAxis.range(at, extent));
      return graph.compute().isSpread()
          ? along.join("cut", List.of(piece), List.of(extent))
          : piece;
    }

    Receipt receive(Shape shape, DType dtype, ProcessGroup messages) {
      List<Integer> peers = plan.peers(isSource, lane);
      return new Receipt(this, shape, dtype, peers, pieces(shape, peers.size()), messages);
    }

    private Tensor empty(Shape shape, DType dtype) {
      return graph.compute().empty(graph.name("received"), shape, dtype);
    }
  }

  /** What is on its way to a lane. */
  public static final class Receipt {
    private final Side side;
    private final Shape shape;
    private final List<Integer> pieces;
    private final List<Tensor> parts = new ArrayList<>();
    private final List<Work> works;
    private @Nullable Tensor whole;

    private Receipt(
        Side side,
        Shape shape,
        DType dtype,
        List<Integer> peers,
        List<Integer> pieces,
        ProcessGroup messages) {
      this.side = side;
      this.shape = shape;
      this.pieces = pieces;
      boolean leads = side.isLeader();
      List<P2POp> ops = new ArrayList<>();
      for (int i = 0; leads && i < peers.size(); i++) {
        parts.add(side.empty(side.along(shape).with(pieces.get(i)), dtype));
        ops.add(P2POp.irecv(alike(parts.getLast(), shape), peers.get(i)));
      }
      if (!leads) {
        parts.add(side.empty(shape, dtype));
      }
      this.works = messages.batchIsendIrecv(ops);
    }

    /** The messages from the other side; none on a rank that is no leader. */
    public List<Work> works() {
      return works;
    }

    /**
     * Waits until the other side has sent, as {@link Work#await} does, and hands on what has come
     * to all ranks of the lane; all of them call it, and get the same tensor each time.
     */
    public Tensor await() {
      Tensor known = whole;
      if (known != null) {
        return known;
      }
      works.forEach(Work::await);
      Tensor came =
          parts.size() == 1
              ? parts.getFirst()
              : side.along(shape)
                  .join("join", parts, pieces)
                  .view(0, shape, side.graph.name("join"));
      if (side.group.size() > 1) {
        side.group.broadcast(came, side.lane().leader());
      }
      whole = came;
      return came;
    }
  }

  /** Both ends see the same rows, or of tensors with more axes a row of as many elements. */
  private static Tensor alike(Tensor tensor, Shape of) {
    return of.rank() == 2
        ? tensor
        : tensor.view(0, Shape.of(Math.toIntExact(tensor.shape().elements())), tensor.name());
  }

  /** Releases its group; more than once does no harm. */
  public void destroy() {
    ProcessGroup group = stage;
    if (group != null && group.isMember() && distributed.isInitialized()) {
      distributed.destroyProcessGroup(group);
    }
    stage = null;
  }

  @Override
  public String toString() {
    return "BridgeCommunicator(" + plan + ")";
  }
}
