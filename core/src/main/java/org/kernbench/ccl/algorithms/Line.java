package org.kernbench.ccl.algorithms;

import java.util.List;
import java.util.Set;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * Operations with a root along the line of ranks, in pieces of one slot: what goes out walks from
 * the root to both ends, what comes in walks from both ends to the root. The plainest correct way,
 * for any number of ranks.
 *
 * <p>Sent by all ranks together, for a vector of {@code n} and parts of {@code n/p}: broadcast and
 * reduce {@code (p - 1) n}; gather and scatter {@code n/p} times the sum of all distances to the
 * root. Order of a reduction: from rank 0 up to the root, then what came from the last rank down.
 *
 * <p>No deadlock: data moves one way along a line, and no rank waits for what comes after it.
 */
public final class Line implements CollectiveAlgorithm {
  private static final String UP = "E";
  private static final String DOWN = "W";

  @Override
  public String name() {
    return "line";
  }

  @Override
  public String description() {
    return "broadcast, reduce, gather, scatter: from rank to rank, to or from the root";
  }

  @Override
  public Set<CollectiveOp> operations() {
    return Set.of(
        CollectiveOp.BROADCAST, CollectiveOp.REDUCE, CollectiveOp.GATHER, CollectiveOp.SCATTER);
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    Wiring wiring = new Wiring(group);
    for (int rank = 1; rank < group.size(); rank++) {
      wiring.join(rank - 1, UP, rank, DOWN);
    }
    List<QueuePlan.Connection> connections = wiring.connections();
    return new Schedule() {
      @Override
      public List<QueuePlan.Connection> connections() {
        return connections;
      }

      @Override
      public RankProgram program(CollectiveCall call) {
        int most = Pieces.fitting(queues, config, call.dtype());
        return (tl, rank, vector, reduction) ->
            new Walk(tl, call, rank, vector, reduction, most).run();
      }
    };
  }

  /** One rank's share. */
  private record Walk(
      Tl tl, CollectiveCall call, int rank, Payload vector, Reduction reduction, int most) {

    void run() {
      switch (call.op()) {
        case BROADCAST -> broadcast();
        case REDUCE -> reduce();
        case GATHER -> gather();
        case SCATTER -> scatter();
        case ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL, POINT_TO_POINT, BARRIER ->
            throw new CollectiveException("line has no " + call.op().word());
      }
    }

    private int last() {
      return call.ranks() - 1;
    }

    /** The direction of the root; only for others than the root. */
    private String inwards() {
      return rank < call.root() ? UP : DOWN;
    }

    private String outwards() {
      return rank < call.root() ? DOWN : UP;
    }

    private boolean isEnd() {
      return rank < call.root() ? rank == 0 : rank == last();
    }

    private Pieces part(int of) {
      return Pieces.of(call.parts().get(of), most);
    }

    private Value receive(String direction, int count) {
      return tl.recv(direction, Shape.of(count), call.dtype());
    }

    private void broadcast() {
      Pieces all = part(rank);
      for (int k = 0; k < all.pieces(); k++) {
        Value value;
        if (rank == call.root()) {
          value = vector.read(tl, all.start(k), all.count(k));
          if (rank < last()) {
            tl.send(UP, value);
          }
          if (rank > 0) {
            tl.send(DOWN, value);
          }
        } else {
          value = receive(inwards(), all.count(k));
          if (!isEnd()) {
            tl.send(outwards(), value);
          }
        }
        vector.write(tl, all.start(k), all.count(k), value);
        tl.release(value);
      }
    }

    private void reduce() {
      Pieces all = part(rank);
      for (int k = 0; k < all.pieces(); k++) {
        Value sum = vector.read(tl, all.start(k), all.count(k));
        if (rank == call.root()) {
          if (rank > 0) {
            sum = reduction.fold(tl, receive(DOWN, all.count(k)), sum);
          }
          if (rank < last()) {
            sum = reduction.fold(tl, sum, receive(UP, all.count(k)));
          }
          sum = reduction.finish(tl, sum);
          vector.write(tl, all.start(k), all.count(k), sum);
        } else {
          if (!isEnd()) {
            sum = reduction.fold(tl, receive(outwards(), all.count(k)), sum);
          }
          tl.send(inwards(), sum);
        }
        tl.release(sum);
      }
    }

    private void gather() {
      if (rank == call.root()) {
        copyOwn();
        for (int from = rank - 1; from >= 0; from--) {
          collect(DOWN, from);
        }
        for (int from = rank + 1; from <= last(); from++) {
          collect(UP, from);
        }
        return;
      }
      Pieces own = part(rank);
      for (int k = 0; k < own.pieces(); k++) {
        Value value = vector.read(tl, own.start(k), own.count(k));
        tl.send(inwards(), value);
        vector.giveBack(tl, value);
      }
      if (rank < call.root()) {
        for (int from = rank - 1; from >= 0; from--) {
          pass(DOWN, from, UP);
        }
      } else {
        for (int from = rank + 1; from <= last(); from++) {
          pass(UP, from, DOWN);
        }
      }
    }

    /** Farthest parts first, so that all links carry something early. */
    private void scatter() {
      if (rank == call.root()) {
        for (int to = 0; to < rank; to++) {
          hand(DOWN, to);
        }
        for (int to = last(); to > rank; to--) {
          hand(UP, to);
        }
        copyOwn();
        return;
      }
      if (rank < call.root()) {
        for (int to = 0; to < rank; to++) {
          pass(UP, to, DOWN);
        }
      } else {
        for (int to = last(); to > rank; to--) {
          pass(DOWN, to, UP);
        }
      }
      collect(inwards(), rank);
    }

    private void copyOwn() {
      Pieces own = part(rank);
      for (int k = 0; k < own.pieces(); k++) {
        Value value = vector.read(tl, own.start(k), own.count(k));
        vector.write(tl, own.start(k), own.count(k), value);
        vector.giveBack(tl, value);
      }
    }

    private void hand(String direction, int to) {
      Pieces p = part(to);
      for (int k = 0; k < p.pieces(); k++) {
        Value value = vector.read(tl, p.start(k), p.count(k));
        tl.send(direction, value);
        vector.giveBack(tl, value);
      }
    }

    private void pass(String from, int whose, String to) {
      Pieces p = part(whose);
      for (int k = 0; k < p.pieces(); k++) {
        Value value = receive(from, p.count(k));
        tl.send(to, value);
        tl.release(value);
      }
    }

    private void collect(String from, int whose) {
      Pieces p = part(whose);
      for (int k = 0; k < p.pieces(); k++) {
        Value value = receive(from, p.count(k));
        vector.write(tl, p.start(k), p.count(k), value);
        tl.release(value);
      }
    }
  }
}
