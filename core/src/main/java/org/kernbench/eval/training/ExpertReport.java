package org.kernbench.eval.training;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.output.Numbers;
import org.kernbench.nn.autograd.GroupedLinear;
import org.kernbench.nn.experts.DispatchPlan;
import org.kernbench.nn.experts.ExpertCosts;
import org.kernbench.nn.layers.MoELayer;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.torch.Worker;

/** How tokens went to experts, on all ranks and in all layers, in each layer's latest pass. */
final class ExpertReport {
  /** One layer on one rank. */
  private record Layer(int epRank, DispatchPlan plan, int mostDropped, int rowBytes, int tile) {}

  private final SortedMap<String, Layer> layers = new TreeMap<>();

  /** Notes what layers of a rank did; of a rank with several stages, after those of others. */
  void add(Worker w, ExpertGroups groups, List<MoELayer> own, int rowBytes) {
    int epRank = groups.ep().rank();
    int tile = GroupedLinear.tileRows(w.torch());
    String rank = String.format(Locale.ROOT, "%06d.", w.rank());
    int before = layers.subMap(rank, rank + "~").size();
    for (int i = 0; i < own.size(); i++) {
      int number = i;
      own.get(i)
          .latest()
          .ifPresent(plan ->
              layers.put(
                  rank + String.format(Locale.ROOT, "%06d", before + number),
                  new Layer(epRank, plan, own.get(number).mostDropped(), rowBytes, tile)));
    }
  }

  /** Copies that no expert computed, of each layer in the pass that had most of these. */
  long mostDropped() {
    return layers.values().stream().mapToLong(Layer::mostDropped).sum();
  }

  /** Adds metrics, if there were experts. */
  void report(Outcome outcome) {
    if (layers.isEmpty()) {
      return;
    }
    long copies = 0;
    long dropped = 0;
    long mostSent = 0;
    long mostGot = 0;
    long rows = 0;
    long padded = 0;
    int busiest = 0;
    int experts = 0;
    for (Layer layer : layers.values()) {
      DispatchPlan plan = layer.plan;
      copies += plan.places().length;
      dropped += plan.dropped();
      int ep = layer.epRank;
      mostSent = Math.max(mostSent, (long) plan.sentAway(ep) * layer.rowBytes);
      mostGot = Math.max(mostGot, (long) plan.gotFromOthers(ep) * layer.rowBytes);
      int[] each = plan.perExpert();
      rows += Arrays.stream(each).sum();
      padded += ExpertCosts.paddedRows(each, layer.tile);
      busiest = Math.max(busiest, Arrays.stream(each).max().orElse(0));
      experts += each.length;
    }
    outcome
        .metric("expert_copies", copies)
        .metric("expert_dropped", dropped)
        .metric("dispatch_sent_most_bytes", mostSent)
        .metric("dispatch_got_most_bytes", mostGot)
        .metric("expert_busiest_tokens", busiest)
        .metric("expert_imbalance", Numbers.rounded((double) busiest * experts / Math.max(1, rows)))
        .metric(
            "expert_padding_pct", Numbers.rounded(100.0 * (padded - rows) / Math.max(1, padded)));
  }
}
