package org.kernbench.ccl.algorithms;

import java.util.List;
import java.util.Set;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.RingOrder;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * Barrier by dissemination: in round k every rank tells the one {@code 2^k} further on that it, and
 * all that it has heard of, have arrived. After {@code ceil(log2 p)} rounds that is everyone.
 *
 * <p>Time ({@code docs/spec/collectives.md} O17): {@code rounds o + hops L}, with the hops of a
 * ring {@code sum of min(2^k, p - 2^k)}. Sent: a byte in each round and rank. One slot is enough: a
 * rank sends a message and takes one, in each round with other partners.
 */
public final class Dissemination implements CollectiveAlgorithm {
  @Override
  public String name() {
    return "dissemination";
  }

  @Override
  public String description() {
    return "barrier: in round k a byte to the rank 2^k further on";
  }

  @Override
  public Set<CollectiveOp> operations() {
    return Set.of(CollectiveOp.BARRIER);
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    int p = group.size();
    RingOrder order = RingOrder.of(group);
    Wiring wiring = new Wiring(group);
    for (int step = 1; step < p; step *= 2) {
      for (int i = 0; i < p; i++) {
        wiring.join(order.rankAt(i), "to" + step, order.rankAt((i + step) % p), "from" + step);
      }
    }
    List<QueuePlan.Connection> connections = wiring.connections();
    return new Schedule() {
      @Override
      public List<QueuePlan.Connection> connections() {
        return connections;
      }

      @Override
      public RankProgram program(CollectiveCall call) {
        return (tl, rank, vector, reduction) -> {
          Value word = tl.zeros(Shape.of(1), DType.I8);
          for (int step = 1; step < p; step *= 2) {
            tl.send("to" + step, word);
            Value heard = tl.recv("from" + step, Shape.of(1), DType.I8);
            tl.await(heard);
            tl.release(heard);
          }
          tl.release(word);
        };
      }
    };
  }
}
