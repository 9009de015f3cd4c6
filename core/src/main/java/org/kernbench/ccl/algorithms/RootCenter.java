package org.kernbench.ccl.algorithms;

import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.placement.RankLevel;

/**
 * Reduce to the centre cube of each package, exchange among the centres, broadcast back: full
 * vectors, one message each, as the predecessor did.
 *
 * <p>In a package: rows to the root column from both sides, the root column to the root, and the
 * same backwards. Between packages: on rings and tori full vectors round the rows, then round the
 * columns; on meshes along the lines to package (0, 0) and back. Sent by all ranks together: {@code
 * 2 (p - 1) n} elements in a package and on a mesh of packages; {@code k (w - 1 + h - 1) n} more on
 * a torus of {@code k = w h} packages.
 *
 * <p>Time ({@code docs/spec/collectives.md} O11), with D the depth of the tree: {@code 2 D (o + L +
 * S/B)}, and an addition for each contribution on the critical path. A contribution from the longer
 * side is taken first.
 */
public final class RootCenter implements CollectiveAlgorithm {
  private final Tree.Order order;

  /** The algorithm; has no state. */
  public RootCenter() {
    this(Tree.Order.PHASES);
  }

  RootCenter(Tree.Order order) {
    this.order = order;
  }

  @Override
  public String name() {
    return "root_center";
  }

  @Override
  public String description() {
    return "whole vectors to the centre cube of each package, round the packages, and back";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.CUBE;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    Packages packages = new Packages(group, config);
    Tree tree = packages.cubeTrees();
    RootExchange exchange = RootExchange.NONE;
    int[][] roots = packages.roots();
    if (packages.network() == Packages.Network.LINES) {
      GridTree.add(tree, roots, 0, 0, false, "global_");
    } else if (packages.sips().size() > 1) {
      exchange = new TorusExchange(roots, group.size(), "global_", queues);
    }
    return FullVector.schedule(group, queues, config, tree, order, exchange);
  }
}
