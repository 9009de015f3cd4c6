package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.output.Numbers;
import org.kernbench.nn.layers.MoELayer;

/** How tokens went to experts in a step, on all ranks and in all layers. */
final class ExpertReport {
  /** One layer on one rank. */
  private record Layer(MoELayer.Dispatched dispatched, int rowBytes) {}

  private final List<Layer> layers = new ArrayList<>();

  /** Notes what layers of a rank did. */
  void add(List<MoELayer> own, int rowBytes) {
    for (MoELayer layer : own) {
      layers.add(new Layer(layer.dispatched(), rowBytes));
    }
  }

  /** Copies that no expert computed. */
  long dropped() {
    return layers.stream().mapToLong(l -> l.dispatched.dropped()).sum();
  }

  /** Adds metrics, if there were experts. */
  void report(Outcome outcome) {
    if (layers.isEmpty()) {
      return;
    }
    long copies = 0;
    long mostSent = 0;
    long mostGot = 0;
    long rows = 0;
    long padded = 0;
    long busiest = 0;
    int experts = 0;
    for (Layer layer : layers) {
      MoELayer.Dispatched d = layer.dispatched;
      copies += d.copies();
      mostSent = Math.max(mostSent, (long) d.mostSent() * layer.rowBytes);
      mostGot = Math.max(mostGot, (long) d.mostGot() * layer.rowBytes);
      padded += d.padded();
      for (long each : d.perExpert()) {
        rows += each;
        busiest = Math.max(busiest, each);
        experts++;
      }
    }
    outcome
        .metric("expert_copies", copies)
        .metric("expert_dropped", dropped())
        .metric("dispatch_sent_most_bytes", mostSent)
        .metric("dispatch_got_most_bytes", mostGot)
        .metric("expert_busiest_tokens", busiest)
        .metric("expert_imbalance", Numbers.rounded((double) busiest * experts / Math.max(1, rows)))
        .metric(
            "expert_padding_pct", Numbers.rounded(100.0 * (padded - rows) / Math.max(1, padded)));
  }
}
