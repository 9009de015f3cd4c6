package org.kernbench.torch.collective;

import java.util.Optional;
import org.kernbench.device.QueuePlan;

/** The collectives of one group of ranks, each on one PE. */
public interface Communicator {
  /**
   * Chooses how to perform a call. Every group has at least two ranks then, and there is something
   * to move.
   *
   * @throws RuntimeException a user's error if no algorithm can do this call
   */
  CollectivePlan plan(CollectiveCall call);

  /**
   * Chooses from now on as another one of the same group does, whose PEs are at another place of
   * the members' devices, wherever the same can be done here.
   */
  default void follow(Communicator first) {}

  /**
   * Name of the algorithm that performs all-reduces, as far as it does not depend on the call; for
   * reports.
   */
  String algorithm();

  /** Queues to install when the group is opened, before the first call; empty to wait for that. */
  default Optional<QueuePlan> firstQueues() {
    return Optional.empty();
  }
}
