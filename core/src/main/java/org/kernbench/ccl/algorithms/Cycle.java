package org.kernbench.ccl.algorithms;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.RingOrder;
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
 * Reduce-scatter and all-gather along a cycle of all ranks in {@code p - 1} steps, parts ragged or
 * even, in passes of one slot for each part. Works for any number of ranks.
 *
 * <p>Sent by all ranks together: {@code (p - 1) n}. Order of a reduction: a part is summed from the
 * rank behind its owner round the cycle to the owner.
 *
 * <p>No deadlock with one slot: in step {@code s} of a pass each rank sends one message and then
 * takes one, the one that its neighbour sends in the same step.
 */
public final class Cycle implements CollectiveAlgorithm {
  private static final String NEXT = "E";
  private static final String PREVIOUS = "W";

  @Override
  public String name() {
    return "cycle";
  }

  @Override
  public String description() {
    return "reduce_scatter, all_gather: part by part round a cycle of any number of ranks";
  }

  @Override
  public Set<CollectiveOp> operations() {
    return Set.of(CollectiveOp.REDUCE_SCATTER, CollectiveOp.ALL_GATHER);
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return ManyRings.wanted(this, group, queues, config)
        .orElseGet(() -> one(group, queues, config));
  }

  private static Schedule one(Group group, IpcqSpec queues, AlgorithmConfig config) {
    RingOrder order = RingOrder.of(group);
    Wiring wiring = new Wiring(group);
    int p = group.size();
    for (int i = 0; i < p; i++) {
      wiring.join(order.rankAt(i), NEXT, order.rankAt((i + 1) % p), PREVIOUS);
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
        int passes = 0;
        for (int rank = 0; rank < p; rank++) {
          passes = Math.max(passes, Pieces.of(call.parts().get(rank), most).pieces());
        }
        int all = passes;
        return (tl, rank, vector, reduction) -> {
          int me = order.positionOf(rank);
          boolean copy = queues.slots() == 1;
          Pass pass = new Pass(tl, call, order, me, vector, reduction, most, copy);
          for (int k = 0; k < all; k++) {
            if (call.op() == CollectiveOp.ALL_GATHER) {
              pass.allGather(k);
            } else {
              pass.reduceScatter(k);
            }
          }
        };
      }
    };
  }

  /** One rank's share of one piece of every part. */
  private record Pass(
      Tl tl,
      CollectiveCall call,
      RingOrder order,
      int me,
      Payload vector,
      Reduction reduction,
      int most,
      boolean copy) {

    /** The part of the rank that stands {@code back} places before this one. */
    private Pieces part(int back) {
      int position = Math.floorMod(me - back, call.ranks());
      return Pieces.of(call.parts().get(order.rankAt(position)), most);
    }

    private @Nullable Value read(Pieces part, int k) {
      return part.count(k) == 0 ? null : vector.read(tl, part.start(k), part.count(k));
    }

    private @Nullable Value exchange(@Nullable Value out, Pieces in, int k) {
      if (out != null) {
        tl.send(NEXT, out);
        tl.release(out);
      }
      return in.count(k) == 0
          ? null
          : Pieces.receive(tl, PREVIOUS, Shape.of(in.count(k)), call.dtype(), copy);
    }

    private void write(Pieces part, int k, @Nullable Value value) {
      if (value != null) {
        vector.write(tl, part.start(k), part.count(k), value);
      }
    }

    void allGather(int k) {
      Value held = read(part(0), k);
      write(part(0), k, held);
      for (int step = 1; step < call.ranks(); step++) {
        Pieces in = part(step);
        held = exchange(held, in, k);
        write(in, k, held);
      }
      if (held != null) {
        tl.release(held);
      }
    }

    void reduceScatter(int k) {
      Value held = read(part(1), k);
      for (int step = 2; step <= call.ranks(); step++) {
        Pieces in = part(step);
        held = exchange(held, in, k);
        if (held != null) {
          held = reduction.fold(tl, held, vector.read(tl, in.start(k), in.count(k)));
        }
      }
      if (held != null) {
        held = reduction.finish(tl, held);
        write(part(0), k, held);
        tl.release(held);
      }
    }
  }
}
