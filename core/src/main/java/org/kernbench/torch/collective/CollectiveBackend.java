package org.kernbench.torch.collective;

import java.util.List;
import org.kernbench.machine.Pe;
import org.kernbench.torch.Torch;
import org.kernbench.torch.placement.RankLevel;

/**
 * Collective algorithms of one machine and configuration, as {@link Torch} needs them. The room
 * {@code ccl} implements it; tests bring their own.
 */
public interface CollectiveBackend {
  /** The name that {@code initProcessGroup} must be given, for example {@code ahbm}. */
  String name();

  /** What one rank owns. */
  RankLevel rankLevel();

  /** Number of ranks; at most the machine's devices of {@link #rankLevel}. */
  int worldSize();

  /**
   * Binds the algorithms to a group of ranks, all or some of the world's. Called once for each
   * group; cheap, at most linear in the ranks.
   *
   * @param leadPes by rank, the PE that runs the rank's share of every collective
   */
  Communicator connect(List<Pe> leadPes);
}
