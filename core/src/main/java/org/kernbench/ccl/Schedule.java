package org.kernbench.ccl;

import java.util.List;
import org.kernbench.device.QueuePlan;
import org.kernbench.tl.Tl;
import org.kernbench.torch.CollectiveCall;

/** An algorithm bound to a group: who talks to whom, and what each rank does. */
public interface Schedule {
  /** The queues it needs; a direction name is used once per PE. */
  List<QueuePlan.Connection> connections();

  /**
   * What each rank does in a call.
   *
   * @param call of an operation that the algorithm {@linkplain CollectiveAlgorithm#operations can
   *     do}, with at least one element to move
   */
  RankProgram program(CollectiveCall call);

  /** The kernel of one collective, told its rank. */
  @FunctionalInterface
  interface RankProgram {
    /**
     * Issues the commands of one rank.
     *
     * @param vector what the rank contributes, and where the result goes
     * @param reduction how contributions combine, if the operation reduces
     */
    void run(Tl tl, int rank, Payload vector, Reduction reduction);
  }
}
