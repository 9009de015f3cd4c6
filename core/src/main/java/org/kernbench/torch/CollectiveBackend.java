package org.kernbench.torch;

import java.util.List;
import org.kernbench.machine.Pe;

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
   * Chooses the algorithm for a group of ranks and plans its message queues. Called once, when the
   * process group is initialised.
   *
   * @param leadPes by rank, the PE that runs the rank's share of every collective
   */
  Communicator connect(List<Pe> leadPes);
}
