package org.kernbench.torch;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.device.log.RankExchange;
import org.kernbench.device.log.RankExchange.Hop;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.LanePlan;
import org.kernbench.torch.collective.Message;

/**
 * What the log says of a collective: the lanes of it put together, ranks as numbers of the world.
 */
final class RankExchanges {
  private RankExchanges() {}

  private record Way(int source, int target) {}

  static RankExchange of(CollectiveOp op, List<Integer> ranks, List<LanePlan> plans) {
    CollectiveCall first = plans.getFirst().call();
    long bytes = plans.stream().mapToLong(p -> p.call().bytes()).sum();
    return new RankExchange(
        op.word(),
        ranks,
        op.hasRoot() ? ranks.get(first.root()) : -1,
        op == CollectiveOp.ALL_TO_ALL ? bytes / ranks.size() : bytes,
        hops(ranks, plans),
        plans.getFirst().plan().algorithm());
  }

  private static List<Hop> hops(List<Integer> ranks, List<LanePlan> plans) {
    Map<Way, Long> bytes = new LinkedHashMap<>();
    for (LanePlan plan : plans) {
      for (Message m : plan.call().messages()) {
        long size = m.from().shape().elements() * m.from().dtype().sizeBytes();
        bytes.merge(new Way(ranks.get(m.src()), ranks.get(m.dst())), size, Long::sum);
      }
    }
    return bytes.entrySet().stream()
        .map(e -> new Hop(e.getKey().source, e.getKey().target, e.getValue()))
        .toList();
  }
}
