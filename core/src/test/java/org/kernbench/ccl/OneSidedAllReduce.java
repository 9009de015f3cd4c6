package org.kernbench.ccl;

import java.util.List;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.placement.RankLevel;

/**
 * An all-reduce without messages: each rank reads its part of every vector where it lies, adds, and
 * writes the sum to where it belongs. No element is touched by two ranks, so nobody waits for
 * anybody; only {@code n S} bytes enter PEs, and as many leave them.
 */
public record OneSidedAllReduce() implements CollectiveAlgorithm {
  private static final int BLOCK = 8192;

  @Override
  public String name() {
    return "one_sided";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return new Schedule() {
      @Override
      public List<QueuePlan.Connection> connections() {
        return List.of();
      }

      @Override
      public RankProgram program(CollectiveCall call) {
        Segments parts = new Segments(0, Math.toIntExact(call.elements()), group.size());
        return (tl, rank, vector, reduction) -> {
          int end = parts.start(rank) + parts.count(rank);
          for (int at = parts.start(rank); at < end; at += BLOCK) {
            int count = Math.min(BLOCK, end - at);
            Value sum = tl.get(call.input(rank).range(at, count));
            for (int other = 0; other < group.size(); other++) {
              if (other != rank) {
                sum = reduction.fold(tl, sum, tl.get(call.input(other).range(at, count)));
              }
            }
            Value result = reduction.finish(tl, sum);
            for (int other = 0; other < group.size(); other++) {
              tl.put(call.output(other).range(at, count), result);
            }
            tl.release(result);
          }
        };
      }
    };
  }
}
