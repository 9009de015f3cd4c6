package org.kernbench.ccl.algorithms;

import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.placement.RankLevel;

/**
 * The smallest collective there is: along a line to rank 0, each rank adding its own, and back.
 * Full vectors, one message at a time; a first test of queues.
 *
 * <p>Sent by all ranks together: {@code 2 (p - 1) n} elements. Time ({@code
 * docs/spec/collectives.md} O5): {@code 2 (p-1) (o + L + S/B) + (p-1) gamma S}.
 */
public final class HelloSend implements CollectiveAlgorithm {
  /** The algorithm; has no state. */
  public HelloSend() {}

  @Override
  public String name() {
    return "hello_send";
  }

  @Override
  public String description() {
    return "along a line to rank 0, each rank adding its own, and back; a first test of queues";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.PE;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    Tree tree = new Tree(group.size());
    for (int rank = 1; rank < group.size(); rank++) {
      tree.add(rank, "W", rank - 1, "E");
    }
    return FullVector.schedule(group, queues, config, tree, Tree.Order.PHASES, RootExchange.NONE);
  }
}
