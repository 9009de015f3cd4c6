package org.kernbench.torch.collective;

import java.util.List;
import org.kernbench.device.simulator.Fold;
import org.kernbench.machine.CannotFoldException;
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

  /**
   * {@link #connect(List)} of one of several groups that do alike and have one order.
   *
   * @param order what {@link #commonOrder} said
   */
  default Communicator connect(List<Pe> leadPes, List<Integer> order) {
    return connect(leadPes);
  }

  /**
   * An order for groups that do alike, for example those of data-parallel ranks, one for each
   * tensor-parallel rank. If all of them go round in it, all add in the same order, and ranks that
   * have the same values in different groups have the same sums, to the bit.
   *
   * @param groups by group and rank the PE that runs the rank's share; of equal size
   * @return by place the rank; empty if the order that each takes for itself is the same
   */
  default List<Integer> commonOrder(List<List<Pe>> groups) {
    return List.of();
  }

  /**
   * These collectives where package 0 is simulated for all: what they plan is its part only, and
   * they have looked that the others do likewise.
   *
   * @throws CannotFoldException if they cannot tell
   */
  default CollectiveBackend folded(Fold fold) {
    throw new CannotFoldException(
        "collectives of backend " + name() + " do not say who does alike");
  }
}
