package org.kernbench.ccl.algorithms;

import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Segments;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;

/**
 * Reduce up a tree, exchange among the roots if there are several, broadcast down the tree.
 *
 * <p>A vector goes in chunks. With a lag of 0 a rank is done with a chunk before it begins the next
 * (one chunk: the full vector at once). With a lag of {@code d} it sends {@code d} chunks up before
 * it takes the first one that comes down, which keeps both directions busy on a PE with one message
 * channel, where a send that waits for its data holds up all later ones.
 *
 * <p>No deadlock: run in rounds, in round {@code k} all ranks first do chunk {@code k + lag}
 * upwards, children before parents, then chunk {@code k} downwards. Every message that a rank wants
 * is there, and at most {@code lag(child) - lag(parent) + 1} are under way on an edge; {@link Pace}
 * keeps that within the slots. Since no rank looks at the order of arrivals, every other order ends
 * as well.
 */
final class TreeSchedule implements Schedule {
  /**
   * Size of chunks, how far up runs ahead of down, and whether a receive lets later commands go on
   * where a PE issues them one by one.
   */
  record Pace(int chunkElements, int[] lag, boolean asyncReceive) {}

  /** Chooses the pace of a call. */
  interface Pacing {
    Pace of(int elements, DType dtype);
  }

  private final Group group;
  private final Tree tree;
  private final Tree.Order order;
  private final RootExchange exchange;
  private final Pacing pacing;

  TreeSchedule(Group group, Tree tree, Tree.Order order, RootExchange exchange, Pacing pacing) {
    this.group = group;
    this.tree = tree;
    this.order = order;
    this.exchange = exchange;
    this.pacing = pacing;
  }

  @Override
  public List<QueuePlan.Connection> connections() {
    Wiring wiring = new Wiring(group);
    tree.wire(wiring);
    exchange.wire(wiring);
    return wiring.connections();
  }

  @Override
  public RankProgram program(CollectiveCall call) {
    int elements = Math.toIntExact(call.elements());
    DType dtype = call.dtype();
    Pace pace = pacing.of(elements, dtype);
    Segments chunks = Segments.ofAtMost(0, elements, pace.chunkElements);
    return (tl, rank, vector, reduction) ->
        new Node(tl, rank, vector, reduction, dtype, chunks, pace.asyncReceive).run(pace.lag[rank]);
  }

  @Override
  public OptionalLong formulaPs(CollectiveCall call) {
    int elements = Math.toIntExact(call.elements());
    Pace pace = pacing.of(elements, call.dtype());
    if (Arrays.stream(pace.lag).anyMatch(lag -> lag > 0)) {
      return OptionalLong.empty();
    }
    TreeFormula formula = new TreeFormula(group, tree, order, exchange);
    Segments chunks = Segments.ofAtMost(0, elements, pace.chunkElements);
    long ps = 0;
    for (int k = 0; k < chunks.parts(); k++) {
      ps += formula.ps((long) chunks.count(k) * call.dtype().sizeBytes());
    }
    return OptionalLong.of(ps);
  }

  private final class Node {
    private final Tl tl;
    private final int rank;
    private final Payload vector;
    private final Reduction reduction;
    private final DType dtype;
    private final Segments chunks;
    private final boolean asyncReceive;
    private final boolean isRoot;
    private final List<Tree.Edge> reduceOrder;
    private final List<Tree.Edge> broadcastOrder;

    Node(
        Tl tl,
        int rank,
        Payload vector,
        Reduction reduction,
        DType dtype,
        Segments chunks,
        boolean asyncReceive) {
      this.tl = tl;
      this.rank = rank;
      this.vector = vector;
      this.reduction = reduction;
      this.dtype = dtype;
      this.chunks = chunks;
      this.asyncReceive = asyncReceive;
      this.isRoot = tree.isRoot(rank);
      this.reduceOrder = tree.children(rank, order);
      this.broadcastOrder = tree.children(rank, Tree.Order.LATEST_FIRST);
    }

    void run(int lag) {
      for (int k = -lag; k < chunks.parts(); k++) {
        if (isRoot) {
          down(k, whole(up(k)));
          continue;
        }
        if (k + lag < chunks.parts()) {
          Value sum = up(k + lag);
          tl.send(tree.toParent(rank), sum);
          tl.release(sum);
        }
        if (k >= 0) {
          down(k, receive(tree.toParent(rank), k));
        }
      }
    }

    /** The own contribution and all from below. */
    private Value up(int k) {
      Value sum = vector.read(tl, chunks.start(k), chunks.count(k));
      for (Tree.Edge child : reduceOrder) {
        sum = reduction.fold(tl, sum, receive(child.direction(), k));
      }
      return sum;
    }

    private Value whole(Value sum) {
      return reduction.finish(tl, exchange.run(tl, rank, sum, reduction));
    }

    private void down(int k, Value result) {
      for (Tree.Edge child : broadcastOrder) {
        tl.send(child.direction(), result);
      }
      vector.write(tl, chunks.start(k), chunks.count(k), result);
      tl.release(result);
    }

    private Value receive(String direction, int k) {
      Shape shape = Shape.of(chunks.count(k));
      return asyncReceive
          ? tl.recvAsync(direction, shape, dtype)
          : tl.recv(direction, shape, dtype);
    }
  }
}
