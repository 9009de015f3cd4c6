package org.kernbench.ccl.flow;

import java.util.List;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * An algorithm that is drawn as a {@link Dataflow}, from which kernel, queues, forecast and proof
 * follow.
 */
public interface DrawnAlgorithm extends CollectiveAlgorithm {
  /** Draws what the calls of a group need. */
  interface Artist {
    /**
     * Ways to do a call, at least one; the one with the best forecast is taken. For operations
     * whose ranks own parts, unit {@code k p + r} is the k-th share of the part of rank r of p; for
     * an all-to-all, unit {@code s p + d} is the block from rank s to rank d.
     *
     * @param root rank, -1 if the operation has none
     */
    List<Dataflow> draw(CollectiveOp op, int root);

    /**
     * Rings that go at once, over links of their own: a step of all of them costs a collective
     * library's protocol what a step of one ring does, and its share is of all their links. 0 for
     * drawings of another kind.
     */
    default int rings() {
      return 0;
    }
  }

  /**
   * Binds the algorithm to a group.
   *
   * @throws CollectiveException if it cannot serve this group
   */
  Artist artist(Group group, AlgorithmConfig config);

  @Override
  default Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return new FlowSchedule(group, queues, config, artist(group, config), operations());
  }
}
