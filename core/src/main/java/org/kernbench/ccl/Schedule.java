package org.kernbench.ccl;

import java.util.List;
import org.kernbench.device.QueuePlan;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Tl;

/** An algorithm bound to a group: who talks to whom, and what each rank does. */
public interface Schedule {
  /** The queues it needs; a direction name is used once per PE. */
  List<QueuePlan.Connection> connections();

  /**
   * What each rank does in an all-reduce.
   *
   * @param elements of the vector, at least 1
   * @param dtype of the elements
   */
  RankProgram allReduce(int elements, DType dtype);

  /** The kernel of one collective, told its rank. */
  @FunctionalInterface
  interface RankProgram {
    /**
     * Issues the commands of one rank.
     *
     * @param vector what the rank contributes, and where the result goes
     */
    void run(Tl tl, int rank, Payload vector, Reduction reduction);
  }
}
