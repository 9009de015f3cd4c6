package org.kernbench.ccl.algorithms;

import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.placement.RankLevel;

/**
 * Reduce to one root, the centre cube of the centre package, and broadcast back, in chunks: chunk
 * {@code k} comes back while later ones are still on their way up.
 *
 * <p>Sent by all ranks together: {@code 2 (p - 1) n} elements. Time ({@code
 * docs/spec/collectives.md} O11), with D the depth of the tree and {@code s = S/m}: {@code 2 D (o +
 * L + s/B) + (m - 1)(o + s/B)}, plus the additions of the first chunk on the critical path. The
 * chunk is {@code chunk} of {@code ccl.yaml} or the best by this formula; it never exceeds a slot.
 */
public final class RootCenterPipelined implements CollectiveAlgorithm {
  /** The algorithm; has no state. */
  public RootCenterPipelined() {}

  @Override
  public String name() {
    return "root_center_pipelined";
  }

  @Override
  public String description() {
    return "the same tree to one root, in chunks that follow each other";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.CUBE;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    Packages packages = new Packages(group, config);
    Tree tree = packages.cubeTrees();
    int[][] roots = packages.roots();
    boolean wrap = packages.network() == Packages.Network.RINGS;
    GridTree.add(tree, roots, roots[0].length / 2, roots.length / 2, wrap, "global_");
    return new TreeSchedule(
        group,
        tree,
        Tree.Order.EARLIEST_FIRST,
        RootExchange.NONE,
        new ChunkPacing(group, queues, config, tree));
  }
}
