package org.kernbench.ccl.algorithms;

import java.util.OptionalInt;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.placement.RankLevel;

/**
 * Four ranks in a 2 x 2 mesh: exchange full vectors with the neighbour in the row, then with the
 * one in the column. Rank {@code r} stands at {@code x = r mod 2, y = r / 2}.
 *
 * <p>Sent by all ranks together: {@code 8 n} elements. Time: {@code 2 (o + L + S/B + gamma S)}.
 */
public final class MeshExchange implements CollectiveAlgorithm {
  private static final int RANKS = 4;

  /** The algorithm; has no state. */
  public MeshExchange() {}

  @Override
  public String name() {
    return "mesh";
  }

  @Override
  public String description() {
    return "four ranks in a 2 x 2 mesh exchange whole vectors along x, then along y";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.PE;
  }

  @Override
  public OptionalInt defaultWorldSize() {
    return OptionalInt.of(RANKS);
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    if (group.size() != RANKS) {
      throw new CollectiveException(
          """
          algorithm %s is for 4 ranks in a 2 x 2 mesh, the group has %s; use world_size: \
          4, or ring or tree\
          """
              .formatted(config.name(), group.size()));
    }
    RootExchange exchange = new TorusExchange(new int[][] {{0, 1}, {2, 3}}, RANKS, "", queues);
    Tree roots = new Tree(RANKS);
    return FullVector.schedule(group, queues, config, roots, Tree.Order.PHASES, exchange);
  }
}
