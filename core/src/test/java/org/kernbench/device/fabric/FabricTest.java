package org.kernbench.device.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.fabric.FabricRig.Outcome;
import org.kernbench.device.fabric.FabricRig.Transfer;
import org.kernbench.device.simulator.FabricTwin;
import org.kernbench.device.simulator.FabricTwin.Visit;
import org.kernbench.machine.SimulationException;
import org.kernbench.sim.Rate;
import org.kernbench.sim.Simulation;

/** The streaming rule against closed forms, conservation laws and {@link FabricTwin}. */
class FabricTest {
  private static final int PATHS = 4_000;
  private static final int NETWORKS = 3_000;

  /**
   * A link rounds the time of each chunk up to a picosecond, so a transfer of {@code k} chunks
   * takes up to {@code k - 1} ps more than the formula that rounds once. It loses these to nobody:
   * what a transfer waited for others is counted from the sum of its rounded chunks, and zero
   * alone.
   */
  @Test
  void transfer_uncontendedOnRandomPaths_takesLatenciesPlusBytesOverNarrowest() {
    SplittableRandom random = new SplittableRandom(11);
    for (int i = 0; i < PATHS; i++) {
      FabricRig path = randomPath(random);
      Transfer t = path.transfers().getFirst();
      Outcome outcome = path.run();
      long took = outcome.deliveredPs().getFirst() - t.timePs();

      assertThat(took)
          .as("path %d: %s", i, path)
          .isBetween(path.boundPs(t), path.boundPs(t) + path.chunks(t) - 1);
      assertThat(took).as("path %d, each chunk rounded up", i).isEqualTo(perChunkPs(path, t));
      assertThat(outcome.waitPs().getFirst()).as("path %d", i).isZero();
    }
  }

  private static FabricRig randomPath(SplittableRandom random) {
    int links = 1 + random.nextInt(10);
    long[] rates = new long[links];
    long[] latencies = new long[links];
    int[] route = new int[links];
    for (int link = 0; link < links; link++) {
      rates[link] =
          random.nextBoolean()
              ? FabricRig.awkwardRate(random)
              : 32_000_000_000L << random.nextInt(6);
      latencies[link] = random.nextInt(4) == 0 ? 0 : random.nextInt(1_000_000);
      route[link] = link;
    }
    latencies[random.nextInt(links)] = 1;
    long chunk = 1L << random.nextInt(17);
    long bytes = random.nextLong(0, chunk * (1 + random.nextInt(40)) + 1);
    Transfer transfer = new Transfer(route, bytes, random.nextInt(1_000_000));
    return new FabricRig(chunk, rates, latencies, List.of(transfer));
  }

  private static long perChunkPs(FabricRig rig, Transfer t) {
    long narrowest = rig.narrowest(t);
    long serial = 0;
    for (int chunk = 0; chunk < rig.chunks(t); chunk++) {
      serial += FabricRig.serialPs(rig.chunkSize(t, chunk), narrowest);
    }
    return rig.latencyPs(t) + serial;
  }

  @ParameterizedTest
  @ValueSource(longs = {64, 128, 256, 1024, 4096, 65_536})
  void transfer_evenRates_takesTheSameTimeForEveryChunkSize(long chunkBytes) {
    long[] rates = {512_000_000_000L, 128_000_000_000L, 64_000_000_000L, 256_000_000_000L};
    long[] latencies = {5_000, 14_000, 1, 300_000};
    Transfer t = new Transfer(new int[] {3, 0, 2, 1}, 65_536, 7);
    FabricRig rig = new FabricRig(chunkBytes, rates, latencies, List.of(t));
    assertThat(rig.run().deliveredPs()).containsExactly(7L + 319_001 + 1_024_000);
  }

  @Test
  void transfer_empty_takesTheLatencies() {
    long[] rates = {1_000_000_000L, 2_000_000_000L};
    Transfer t = new Transfer(new int[] {0, 1}, 0, 10);
    Outcome outcome = new FabricRig(256, rates, new long[] {30, 4}, List.of(t)).run();
    assertThat(outcome.deliveredPs()).containsExactly(44L);
    assertThat(outcome.injectedPs()).containsExactly(10L);
    assertThat(outcome.bytesOn()).containsExactly(0L, 0L);
  }

  /**
   * Sources on links of their own (as fast as the shared one or faster), the shared link, then
   * faster ones.
   */
  @ParameterizedTest
  @CsvSource({"2,1", "2,2", "2,8", "3,1", "5,4"})
  void transfers_sharingOneLink_takeTurnsChunkByChunk(int sharers, int sourceSpeedup) {
    assertSharersTakeTurns(sharers, sourceSpeedup, true);
  }

  /**
   * The source paces: the next chunk is offered when the last one has entered, so others get in
   * between.
   */
  @ParameterizedTest
  @CsvSource({"2,1", "2,8", "5,1", "5,4"})
  void transfers_sharingTheirSource_takeTurnsChunkByChunk(int sharers, int sourceSpeedup) {
    assertSharersTakeTurns(sharers, sourceSpeedup, false);
  }

  private static void assertSharersTakeTurns(int sharers, int sourceSpeedup, boolean ownSources) {
    SplittableRandom random = new SplittableRandom(sharers);
    for (int i = 0; i < 200; i++) {
      long chunk = 64L << random.nextInt(6);
      long bytes = chunk * (1 + random.nextInt(30));
      long shared = 64_000_000_000L;
      long[] rates = new long[sharers + 3];
      long[] latencies = new long[sharers + 3];
      Arrays.fill(rates, 0, sharers, shared * sourceSpeedup);
      Arrays.fill(latencies, 0, sharers, 1 + random.nextInt(50_000));
      rates[sharers] = shared;
      for (int link = sharers; link < rates.length; link++) {
        latencies[link] = 1 + random.nextInt(50_000);
        rates[link] = link == sharers ? shared : shared << random.nextInt(3);
      }
      List<Transfer> transfers = new ArrayList<>();
      for (int s = 0; s < sharers; s++) {
        int source = ownSources ? s : 0;
        int[] route = {source, sharers, sharers + 1, sharers + 2};
        transfers.add(new Transfer(route, bytes, 0));
      }
      FabricRig rig = new FabricRig(chunk, rates, latencies, transfers);
      long last = rig.latencyPs(transfers.getFirst()) + FabricRig.serialPs(sharers * bytes, shared);
      List<Long> expected = new ArrayList<>();
      for (int s = 0; s < sharers; s++) {
        expected.add(last - FabricRig.serialPs((sharers - 1 - s) * chunk, shared));
      }
      assertThat(rig.run().deliveredPs()).isEqualTo(expected);
    }
  }

  @Test
  void transfers_crossingOnRandomNetworks_matchTheTwinEventByEvent() {
    long crossed = 0;
    for (int seed = 0; seed < NETWORKS; seed++) {
      FabricRig rig = FabricRig.random(seed);
      Outcome outcome = rig.run();
      FabricTwin twin = FabricTwin.solve(rig);
      assertThat(outcome.heads()).as("heads, network %d", seed).isEqualTo(twin.heads());
      assertThat(outcome.deliveredPs()).as("network %d", seed).isEqualTo(twin.deliveredPs());
      assertThat(outcome.injectedPs()).as("network %d", seed).isEqualTo(twin.injectedPs());
      assertThat(outcome.busyPs()).as("network %d", seed).isEqualTo(twin.busyPs());
      crossed += outcome.waitPs().stream().filter(wait -> wait > 0).count();
    }
    assertThat(crossed).as("transfers that waited").isGreaterThan(NETWORKS);
  }

  /** Links with a sole feeder take no event of their own; nothing else may change. */
  @Test
  void transfers_linksWithSoleFeeders_giveTheSameOutcomeInFewerEvents() {
    long heads = 0;
    long headsWithFeeders = 0;
    for (int seed = 0; seed < NETWORKS; seed++) {
      FabricRig rig = FabricRig.random(seed);
      Outcome every = rig.run();
      Outcome fed = rig.runWithFeeders();
      assertThat(fed.deliveredPs()).as("network %d", seed).isEqualTo(every.deliveredPs());
      assertThat(fed.injectedPs()).as("network %d", seed).isEqualTo(every.injectedPs());
      assertThat(fed.waitPs()).as("network %d", seed).isEqualTo(every.waitPs());
      assertThat(fed.busyPs()).as("network %d", seed).isEqualTo(every.busyPs());
      assertThat(fed.bytesOn()).as("network %d", seed).isEqualTo(every.bytesOn());
      assertThat(new HashSet<>(every.heads())).containsAll(fed.heads());
      heads += every.heads().size();
      headsWithFeeders += fed.heads().size();
    }
    assertThat(heads - headsWithFeeders).as("events saved").isGreaterThan(NETWORKS);
  }

  @Test
  void transfers_againstTheDeclaredFeeder_areRefused() {
    Rate[] rates = {
      Rate.ofBytesPerSecond(1_000), Rate.ofBytesPerSecond(1_000), Rate.ofBytesPerSecond(1_000)
    };
    long[] latencies = {1, 1, 1};
    Simulation sim = new Simulation();
    Fabric fabric = new Fabric(sim, new Wires(256, rates, latencies, new int[] {-1, -1, 0}));
    Source source =
        new Source(
            sim,
            fabric,
            FabricRig.route(new int[] {1, 2}, rates, latencies),
            new SplittableRandom(1),
            new ArrayList<>(),
            1);
    source.onInjected(0, 0);
    assertThatThrownBy(sim::run).hasMessageContaining("link 2").hasMessageContaining("feeder is 0");
    FabricRoute middle = FabricRig.route(new int[] {2}, rates, latencies);
    assertThatThrownBy(() -> fabric.begin(0, middle, 1, sim.nowPs(), source, 0, false))
        .hasMessageContaining("link 2");
  }

  /**
   * The order of events has 22 bits for the chunk; one more chunk would run into the transfer's id.
   */
  @Test
  void transfer_moreChunksThanCanBeNumbered_isRefusedWithARemedy() {
    Rate[] rates = {Rate.ofBytesPerSecond(1L << 40)};
    long[] latencies = {1};
    Fabric fabric = new Fabric(new Simulation(), FabricRig.wires(64, rates, latencies));
    FabricRoute route = FabricRig.route(new int[] {0}, rates, latencies);
    Fabric.Sink sink =
        new Fabric.Sink() {
          @Override
          public void onInjected(int arg, long timePs) {}

          @Override
          public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {}
        };
    fabric.begin(0, route, 64L << 22, 0, sink, 0, false);
    assertThatThrownBy(() -> fabric.begin(1, route, (64L << 22) + 1, 0, sink, 0, false))
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("268435457 bytes")
        .hasMessageContaining("4194304 chunks of 64 bytes")
        .hasMessageContaining("raise fabric.chunk to 128 B");
  }

  @Test
  void transfers_crossingOnRandomNetworks_conserveBytesAndBandwidth() {
    for (int seed = 0; seed < NETWORKS; seed++) {
      FabricRig rig = FabricRig.random(seed);
      Outcome outcome = rig.run();
      FabricTwin twin = FabricTwin.solve(rig);
      for (int link = 0; link < rig.latencyPs().length; link++) {
        int id = link;
        long bytes =
            rig.transfers().stream()
                .filter(t -> Arrays.stream(t.route()).anyMatch(l -> l == id))
                .mapToLong(Transfer::bytes)
                .sum();
        assertThat(outcome.bytesOn().get(link)).isEqualTo(bytes);
        assertThat(outcome.busyPs().get(link))
            .as("busy time of link %d, network %d", link, seed)
            .isBetween(FabricRig.serialPs(bytes, rig.bytesPerSecond()[link]), outcome.endPs());
        assertNoWindowExceedsTheRate(rig, twin.visits(link), link);
      }
    }
  }

  /**
   * Over any window the bytes that finish entering are at most rate x window plus the chunk that
   * was on its way.
   */
  private static void assertNoWindowExceedsTheRate(FabricRig rig, List<Visit> visits, int link) {
    long worst = 0;
    for (int from = 0; from < visits.size(); from++) {
      long bytes = 0;
      for (int to = from; to < visits.size(); to++) {
        bytes += visits.get(to).bytes;
        long window = visits.get(to).endPs - visits.get(from).startPs;
        worst = Math.max(worst, FabricRig.serialPs(bytes, rig.bytesPerSecond()[link]) - window);
      }
    }
    assertThat(worst).as("ps by which a window on link %d is too short", link).isNotPositive();
  }

  /**
   * Seen from outside: single chunks that leave by one link arrive no faster than it passes them
   * on.
   */
  @Test
  void transfers_intoOneSink_arriveNoFasterThanItsLink() {
    SplittableRandom random = new SplittableRandom(5);
    for (int i = 0; i < 200; i++) {
      int sources = 1 + random.nextInt(8);
      long[] rates = new long[sources + 1];
      long[] latencies = new long[sources + 1];
      List<Transfer> transfers = new ArrayList<>();
      for (int link = 0; link <= sources; link++) {
        rates[link] = FabricRig.awkwardRate(random);
        latencies[link] = 1 + random.nextInt(10_000);
      }
      for (int n = 0; n < 40; n++) {
        int[] route = {random.nextInt(sources), sources};
        transfers.add(new Transfer(route, 1 + random.nextInt(256), random.nextInt(1_000_000)));
      }
      FabricRig rig = new FabricRig(256, rates, latencies, transfers);
      List<Long> delivered = rig.run().deliveredPs();
      List<Integer> order = new ArrayList<>();
      for (int n = 0; n < delivered.size(); n++) {
        order.add(n);
      }
      order.sort((a, b) -> Long.compare(delivered.get(a), delivered.get(b)));
      for (int from = 0; from < order.size(); from++) {
        long bytes = 0;
        for (int to = from + 1; to < order.size(); to++) {
          bytes += transfers.get(order.get(to)).bytes();
          long window = delivered.get(order.get(to)) - delivered.get(order.get(from));
          assertThat(window).isGreaterThanOrEqualTo(FabricRig.serialPs(bytes, rates[sources]));
        }
      }
    }
  }

  @Test
  void transfers_underContention_neverBeatTheirUncontendedTime() {
    for (int seed = 0; seed < NETWORKS; seed++) {
      FabricRig rig = FabricRig.random(seed);
      Outcome outcome = rig.run();
      for (int i = 0; i < rig.transfers().size(); i++) {
        Transfer t = rig.transfers().get(i);
        long took = outcome.deliveredPs().get(i) - t.timePs();
        assertThat(took).isGreaterThanOrEqualTo(perChunkPs(rig, t));
        assertThat(outcome.waitPs().get(i)).isEqualTo(took - perChunkPs(rig, t));
      }
    }
  }

  @Test
  void transfers_sameInputAgainAndOnAnotherQueue_giveTheSameOutcome() {
    for (int seed = 0; seed < 500; seed++) {
      FabricRig rig = FabricRig.random(seed);
      Outcome first = rig.run();
      assertThat(rig.run()).isEqualTo(first);
      assertThat(rig.runOnHeap()).isEqualTo(first);
    }
  }

  /**
   * An engine begins its next transfer when the last one is injected; what it sends along one route
   * arrives in that order.
   */
  @Test
  void transfers_oneAfterTheOtherOnOneRoute_arriveInOrderWhateverCrosses() {
    for (int seed = 0; seed < 200; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      Rate[] rates = new Rate[6];
      long[] latencies = new long[6];
      for (int link = 0; link < 6; link++) {
        rates[link] = Rate.ofBytesPerSecond(FabricRig.awkwardRate(random));
        latencies[link] = 1 + random.nextInt(10_000);
      }
      Simulation sim = new Simulation();
      Fabric fabric = new Fabric(sim, FabricRig.wires(256, rates, latencies));
      List<Integer> arrived = new ArrayList<>();
      FabricRoute route = FabricRig.route(new int[] {0, 1, 2, 3}, rates, latencies);
      Source source = new Source(sim, fabric, route, random.split(), arrived, 30);
      source.onInjected(0, 0);
      for (int[] crossing : new int[][] {{4, 1, 5}, {5, 2}, {4, 3}}) {
        FabricRoute other = FabricRig.route(crossing, rates, latencies);
        new Source(sim, fabric, other, random.split(), new ArrayList<>(), 40).onInjected(0, 0);
      }
      sim.run();
      assertThat(arrived).as("seed %d", seed).hasSize(30).isSorted();
    }
  }

  /** Sends transfers of random size back to back. */
  private static final class Source implements Fabric.Sink {
    private final Simulation sim;
    private final Fabric fabric;
    private final FabricRoute route;
    private final SplittableRandom random;
    private final List<Integer> arrived;
    private final int count;
    private int begun;

    Source(
        Simulation sim,
        Fabric fabric,
        FabricRoute route,
        SplittableRandom random,
        List<Integer> arrived,
        int count) {
      this.sim = sim;
      this.fabric = fabric;
      this.route = route;
      this.random = random;
      this.arrived = arrived;
      this.count = count;
    }

    @Override
    public void onInjected(int arg, long timePs) {
      if (begun < count) {
        fabric.begin(
            begun * 8L + route.links[0], route, random.nextInt(3_000), timePs, this, begun++, true);
      }
    }

    @Override
    public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {
      arrived.add(arg);
    }
  }
}
