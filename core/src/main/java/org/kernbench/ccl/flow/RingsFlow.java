package org.kernbench.ccl.flow;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.ccl.flow.Dataflow.Part;
import org.kernbench.ccl.flow.Phases.Reach;
import org.kernbench.torch.collective.CollectiveOp;

/** Several rings at once, each with an equal part of the vector, one way round. */
public final class RingsFlow {
  private RingsFlow() {}

  /**
   * Draws a collective.
   *
   * @param op ALL_REDUCE, REDUCE_SCATTER or ALL_GATHER
   * @param rings each by position the rank there
   */
  public static Dataflow draw(int ranks, CollectiveOp op, List<int[]> rings) {
    Dataflow flow = new Dataflow(ranks);
    Phases phases = new Phases(flow);
    for (int[] ring : rings) {
      int first = flow.addUnits(ranks, 1);
      List<List<Part>> held = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        held.add(
            List.of(
                op == CollectiveOp.ALL_GATHER
                    ? flow.own(rank, first + rank, 1)
                    : flow.own(rank, first, ranks)));
      }
      if (op == CollectiveOp.ALL_GATHER) {
        held.forEach(parts -> parts.forEach(phases::store));
      } else {
        phases.reduceScatter(ring, Reach.ONE_WAY, held, rank -> one(first + rank));
        phases.finish(held);
      }
      if (op != CollectiveOp.REDUCE_SCATTER) {
        phases.allGather(ring, Reach.ONE_WAY, held);
      }
    }
    return flow;
  }

  private static List<int[]> one(int unit) {
    return List.of(new int[] {unit, 1});
  }
}
