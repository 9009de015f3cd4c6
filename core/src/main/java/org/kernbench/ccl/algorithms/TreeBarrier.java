package org.kernbench.ccl.algorithms;

import java.util.List;
import java.util.Set;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * A barrier: one byte up a binary tree of ranks when all below have arrived, and down again. Rank
 * {@code r} has parent {@code (r-1)/2}; {@code 2 (p - 1)} bytes in all, {@code 2 floor(log2 p)}
 * messages on the longest way.
 */
public final class TreeBarrier implements CollectiveAlgorithm {
  private static final Shape TOKEN = Shape.of(1);

  @Override
  public String name() {
    return "tree_barrier";
  }

  @Override
  public String description() {
    return "barrier: a byte up a binary tree and down again";
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
    Wiring wiring = new Wiring(group);
    for (int rank = 1; rank < group.size(); rank++) {
      wiring.join(rank, "parent", (rank - 1) / 2, child((rank - 1) % 2));
    }
    List<QueuePlan.Connection> connections = wiring.connections();
    return new Schedule() {
      @Override
      public List<QueuePlan.Connection> connections() {
        return connections;
      }

      @Override
      public RankProgram program(CollectiveCall call) {
        return (tl, rank, vector, reduction) -> pass(tl, rank, group.size());
      }
    };
  }

  private static String child(int which) {
    return "child" + which;
  }

  private static void pass(Tl tl, int rank, int ranks) {
    int children = Math.clamp(ranks - 1 - 2 * rank, 0, 2);
    Value token = tl.zeros(TOKEN, DType.I8);
    for (int c = 0; c < children; c++) {
      // What goes up is made from what came, so that it cannot leave earlier.
      Value below = tl.recv(child(c), TOKEN, DType.I8);
      Value both = token.add(below);
      tl.release(token);
      tl.release(below);
      token = both;
    }
    if (rank > 0) {
      tl.send("parent", token);
      tl.release(token);
      token = tl.recv("parent", TOKEN, DType.I8);
    }
    for (int c = 0; c < children; c++) {
      tl.send(child(c), token);
    }
    tl.await(token); // leaves have nothing to do with it, but wait for it
    tl.release(token);
  }
}
