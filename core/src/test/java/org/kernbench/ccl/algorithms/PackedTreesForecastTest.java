package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * The forecast of packed trees where it can be worked out by hand: one tree of one or two edges, on
 * machines in which each of the things that can hold up a round is the slowest in turn.
 */
final class PackedTreesForecastTest {
  private static final int BYTES = 64 << 10;
  private static final int CHUNKS = 8;
  private static final double CHUNK = BYTES / (double) CHUNKS;

  private static long forecast(Machine machine, int ranks) {
    CclConfig config =
        CclConfig.load(
            Optional.empty(), List.of("algorithms.packed_trees.chunk=" + (int) CHUNK + " B"));
    Group group = new Group(machine, RankLevel.SIP, Bed.leads(machine, RankLevel.SIP, ranks));
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      CollectiveCall call =
          Bed.allReduce(ReduceKind.SUM, bed.vectors(group.leads(), DType.F32, BYTES / 4));
      return new PackedTrees()
          .plan(group, machine.ipcq(), config.of("packed_trees"))
          .predictPs(call)
          .orElseThrow();
    }
  }

  /** What one hop takes, with the addition at its end. */
  private static double hop(Machine machine, LinkCosts cost) {
    double adding = LinkCosts.additionPs(machine.pe(), (long) CHUNK);
    return cost.overheadPs()
        + cost.narrowest().durationPs((long) CHUNK)
        + cost.latencyPs()
        + adding;
  }

  /** One tree of height 1: up and down takes two hops, or rounds, and then a round a chunk. */
  private static double time(double hop, double period, int slots) {
    double lag = Math.max(1, Math.min(Math.min(8, Math.ceil(hop / period)), slots - 1));
    return 2 * Math.max(hop, lag * period) + (CHUNKS - 1) * period;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "link | 2 | system.links.sip_to_sip.bandwidth=1 GB/s",
        "commands | 2 | pe.cpu.dispatch=100 us",
        "addition | 2 | pe.math.clock=1 MHz",
        "message | 2 | pe.dma.message_overhead=50 us",
        "credits | 2 | system.links.sip_to_sip.latency=100 us; ipcq.slots=3",
        "sends | 3 | pe.dma.message_overhead=50 us; ipcq.slots=1",
        "sends by channel | 3 | pe.dma.message_overhead=50 us; ipcq.slots=1; pe.dma.message_channels=2",
      })
  void forecast_oneThingIsSlow_isWorkedOutByHand(String what, int ranks, String set) {
    List<String> all = new ArrayList<>(Arrays.asList(set.split("; ")));
    all.add("system.sips.count=" + ranks);
    Machine machine = Machines.load("ring", all);
    int slots = machine.ipcq().slots();
    List<org.kernbench.machine.Pe> leads = Bed.leads(machine, RankLevel.SIP, ranks);
    LinkCosts cost = LinkCosts.between(machine, leads.get(0), leads.get(1));
    double hop = hop(machine, cost);
    double injection = cost.overheadPs() + CHUNK * 1e12 / cost.injection().bytesPerSecond();
    double trip = hop + cost.latencyPs() + machine.ipcq().creditOverheadPs();
    double period =
        switch (what) {
          case "link" -> CHUNK * 1e12 / 1e9;
          case "commands" -> 5 * 100e6; // load, receive, add, send, store
          case "addition" -> LinkCosts.additionPs(machine.pe(), (long) CHUNK);
          case "message" -> injection;
          case "credits" -> trip / slots;
          case "sends" -> 2 * injection; // the middle one of three, to both
          case "sends by channel" -> trip / slots; // each over a channel of its own
          default -> throw new AssertionError(what);
        };
    double expected = time(hop, period, slots);
    assertThat((double) forecast(machine, ranks)).isCloseTo(expected, within(1e-4 * expected));
  }
}
