package org.kernbench.ccl.algorithms;

import java.util.OptionalInt;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.placement.RankLevel;

/**
 * Reduce up a binary tree and broadcast down it, full vectors: rank {@code r} has parent {@code
 * (r-1)/2}.
 *
 * <p>Sent by all ranks together: {@code 2 (p - 1) n} elements. Directions: {@code parent}, {@code
 * child0}, {@code child1}.
 */
public final class BinaryTree implements CollectiveAlgorithm {
  /** The algorithm; has no state. */
  public BinaryTree() {}

  @Override
  public String name() {
    return "tree";
  }

  @Override
  public String description() {
    return "whole vectors up a binary tree and down again; by default over seven PEs";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.PE;
  }

  @Override
  public OptionalInt defaultWorldSize() {
    return OptionalInt.of(7);
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    Tree tree = new Tree(group.size());
    for (int rank = 1; rank < group.size(); rank++) {
      tree.add(rank, "parent", (rank - 1) / 2, "child" + (rank - 1) % 2);
    }
    return FullVector.schedule(group, queues, config, tree, Tree.Order.PHASES, RootExchange.NONE);
  }
}
