package org.kernbench.device.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.fabric.FabricRig.Transfer;
import org.kernbench.device.simulator.CurveFigure;
import org.kernbench.device.simulator.DeviceRig;
import org.kernbench.device.simulator.FlitMesh;
import org.kernbench.device.simulator.FlitMeshTraffic;
import org.kernbench.device.simulator.FlitMeshTraffic.Pattern;
import org.kernbench.device.simulator.PeIssueTest;
import org.kernbench.device.simulator.WormholeMesh;
import org.kernbench.machine.spec.FabricSpec;
import org.kernbench.sim.Rate;
import org.kernbench.sim.Simulation;

/** Finite buffers: closed forms, deadlock, and wormhole routers that are stepped cycle by cycle. */
class BufferedFabricTest {
  private static final long FLIT = 128;
  private static final int PACKET_FLITS = 16;

  /** What became of some transfers; -1 for one that never arrived. */
  private record Outcome(
      long[] deliveredPs, long[] injectedPs, long[] bytesOn, long[] busyPs, long endPs) {}

  private static Outcome run(FabricRig rig, long bufferBytes, int vcs, int[][] channels) {
    Simulation sim = new Simulation();
    Rate[] rates = rig.rates();
    FabricSpec spec = new FabricSpec(rig.chunkBytes(), bufferBytes, FLIT, vcs);
    BufferedFabric fabric = new BufferedFabric(sim, spec, rates, rig.latencyPs());
    long[] delivered = new long[rig.transfers().size()];
    Arrays.fill(delivered, -1);
    long[] injected = new long[delivered.length];
    Interconnect.Sink sink =
        new Interconnect.Sink() {
          @Override
          public void onInjected(int arg, long timePs) {
            injected[arg] = timePs;
          }

          @Override
          public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {
            assertThat(delivered[arg]).isEqualTo(-1);
            delivered[arg] = timePs;
          }
        };
    for (int i = 0; i < delivered.length; i++) {
      Transfer t = rig.transfers().get(i);
      FabricRoute route = FabricRig.route(t.route(), rates, rig.latencyPs());
      route.channels = channels.length == 0 ? new int[t.route().length] : channels[i];
      fabric.begin(i, route, t.bytes(), t.timePs(), sink, i, true, null);
    }
    sim.run();
    return new Outcome(
        delivered,
        injected,
        IntStream.range(0, rates.length).mapToLong(fabric::bytesOn).toArray(),
        IntStream.range(0, rates.length).mapToLong(fabric::busyPs).toArray(),
        LongStream.of(delivered).max().orElse(0));
  }

  private static Outcome run(FabricRig rig, long bufferBytes) {
    return run(rig, bufferBytes, 1, new int[0][]);
  }

  private static FabricRig chain(SplittableRandom random, long bytes) {
    int links = 1 + random.nextInt(8);
    long[] rates = new long[links];
    long[] latencies = new long[links];
    int[] route = new int[links];
    for (int i = 0; i < links; i++) {
      rates[i] = FabricRig.awkwardRate(random) + 1_000_000_000L;
      latencies[i] = 1 + random.nextInt(300_000);
      route[i] = i;
    }
    return new FabricRig(1024, rates, latencies, List.of(new Transfer(route, bytes, 5)));
  }

  /** Buffers that cover bandwidth times round trip change nothing: sum L + n / min B. */
  @Test
  void oneTransfer_buffersCoverTheRoundTrip_takesItsTime() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 300; i++) {
      long bytes = 1 + random.nextInt(60_000);
      FabricRig rig = chain(random, bytes);
      Transfer t = rig.transfers().getFirst();
      long took = run(rig, 1L << 40).deliveredPs()[0] - t.timePs();
      long flits = Math.ceilDiv(bytes, FLIT);
      assertThat(took).as("%s", rig).isBetween(rig.boundPs(t), rig.boundPs(t) + flits);
    }
  }

  /** Two transfers share a link: the last ends at sum L + 2 n / B, the first a chunk earlier. */
  @Test
  void twoTransfers_sharingALink_takeTurnsByTheChunk() {
    long rate = 128_000_000_000L;
    long[] rates = {rate, rate, rate};
    long[] latency = {2_000, 2_000, 5_000};
    long n = 64 * 1024;
    FabricRig rig =
        new FabricRig(
            1024,
            rates,
            latency,
            List.of(new Transfer(new int[] {0, 2}, n, 0), new Transfer(new int[] {1, 2}, n, 0)));
    long[] delivered = run(rig, 1L << 20).deliveredPs();
    long last = 7_000 + FabricRig.serialPs(2 * n, rate);
    assertThat(delivered).containsExactly(last - FabricRig.serialPs(1024, rate), last);
  }

  /** A link passes buffer / (2 L), if that is less than B. */
  @ParameterizedTest
  @CsvSource({"128", "256", "512", "1024", "2048", "4096", "8192", "65536"})
  void oneTransfer_bufferTooSmall_isThrottledAsTheRoundTripSays(long buffer) {
    long rate = 256_000_000_000L;
    long latency = 10_000;
    long n = 1 << 20;
    FabricRig rig =
        new FabricRig(
            1024,
            new long[] {rate, rate},
            new long[] {latency, 1_000},
            List.of(new Transfer(new int[] {0, 1}, n, 0)));
    double seconds = (run(rig, buffer).deliveredPs()[0] - 11_000) / 1e12;
    double expected = Math.min(rate, buffer / (2 * latency / 1e12));
    assertThat(n / seconds).isEqualTo(expected, within(0.002 * expected));
  }

  /** A buffer of exactly bandwidth times round trip is enough, at every hop of a chain. */
  @Test
  void oneTransfer_bufferOfBandwidthTimesRoundTrip_isNotThrottled() {
    long rate = 128_000_000_000L; // a flit per ns
    long[] latencies = {4_000, 4_000, 4_000, 1_000};
    long[] rates = {rate, rate, rate, rate};
    long n = 64 * 1024;
    Transfer t = new Transfer(new int[] {0, 1, 2, 3}, n, 0);
    FabricRig rig = new FabricRig(1024, rates, latencies, List.of(t));
    assertThat(run(rig, 8 * FLIT).deliveredPs()).containsExactly(rig.boundPs(t));
    assertThat(run(rig, 7 * FLIT).deliveredPs()[0]).isGreaterThan(rig.boundPs(t));
  }

  /**
   * One flit of room and a slow way out: the credit waits, so that a flit does not arrive before
   * the tail of the one before it has left, and the slow link is still always busy.
   */
  @Test
  void oneTransfer_slowWayOut_creditWaitsForTheTail() {
    long fast = 256_000_000_000L;
    long slow = 12_800_000_000L; // a flit in 10 ns, the round trip is 2
    Transfer t = new Transfer(new int[] {0, 1}, 16 * FLIT, 0);
    FabricRig rig =
        new FabricRig(1024, new long[] {fast, slow}, new long[] {1_000, 1_000}, List.of(t));
    Outcome outcome = run(rig, FLIT);
    assertThat(outcome.deliveredPs()).containsExactly(2_000 + 16 * 10_000L);
    // the last flit reaches the buffer when the one before it has left
    assertThat(outcome.injectedPs()).containsExactly(15 * 10_000L + 500);
  }

  /** Bytes are neither lost nor made, no link is busy for longer than there was time. */
  @Test
  void randomNetworks_anyBuffer_deliverEverythingOnce() {
    for (long seed = 0; seed < 100; seed++) {
      FabricRig rig = treeRig(seed);
      Outcome outcome = run(rig, FLIT << seed % 6);
      long[] bytes = new long[rig.latencyPs().length];
      for (int i = 0; i < rig.transfers().size(); i++) {
        Transfer t = rig.transfers().get(i);
        long took = outcome.deliveredPs()[i] - t.timePs();
        assertThat(took).as("%s", rig).isGreaterThanOrEqualTo(rig.boundPs(t));
        for (int link : t.route()) {
          bytes[link] += t.bytes();
        }
      }
      assertThat(outcome.bytesOn()).isEqualTo(bytes);
      assertThat(LongStream.of(outcome.busyPs()).max().orElse(0))
          .isLessThanOrEqualTo(outcome.endPs());
    }
  }

  /** Links numbered so that routes go up: no circle of waits. */
  private static FabricRig treeRig(long seed) {
    FabricRig rig = FabricRig.random(seed);
    List<Transfer> sorted =
        rig.transfers().stream()
            .map(t ->
                new Transfer(Arrays.stream(t.route()).sorted().toArray(), t.bytes(), t.timePs()))
            .toList();
    return new FabricRig(1024, rig.bytesPerSecond(), rig.latencyPs(), sorted);
  }

  /** A ring of four, everybody sends two hops on: it stops for ever, and not with a dateline. */
  @Test
  void ring_oneChannel_stopsAndWithADatelineArrives() {
    long rate = 128_000_000_000L;
    long[] rates = new long[8];
    long[] latencies = new long[8];
    Arrays.fill(rates, rate);
    Arrays.fill(latencies, 2_000);
    Transfer[] transfers = new Transfer[4];
    int[][] dateline = new int[4][];
    for (int i = 0; i < 4; i++) {
      int next = (i + 1) % 4;
      transfers[i] = new Transfer(new int[] {i, next, 4 + (i + 2) % 4}, 8192, 0);
      int crossed = i == 3 ? 1 : 0;
      dateline[i] = new int[] {crossed, i == 2 ? 1 : crossed, 0};
    }
    FabricRig rig = new FabricRig(8192, rates, latencies, List.of(transfers));
    assertThat(run(rig, 512).deliveredPs()).contains(-1);
    assertThat(run(rig, 512, 2, dateline).deliveredPs()).doesNotContain(-1);
  }

  // ---- against wormhole routers ----

  private record Point(
      Pattern pattern,
      int depth,
      int channels,
      int load,
      double flits,
      double fabric,
      double free) {
    static Point measure(Pattern pattern, int depth, int channels, int load, long cycles) {
      FlitMeshTraffic traffic =
          FlitMeshTraffic.bernoulli(pattern, 8, PACKET_FLITS, load / 100.0, cycles, load);
      return new Point(
          pattern,
          depth,
          channels,
          load,
          traffic.meanLatency(WormholeMesh.run(traffic, depth, channels)),
          traffic.meanLatency(FabricMesh.runBuffered(traffic, depth, channels)),
          traffic.meanLatency(FabricMesh.run(traffic, PACKET_FLITS)));
    }

    double deviation() {
      return fabric / flits - 1;
    }

    String csv() {
      return String.format(
          Locale.ROOT,
          "8x8,%s,%d,%d,%d,%d,%.2f,%.2f,%.2f,%.2f,%.2f",
          pattern.name().toLowerCase(Locale.ROOT),
          PACKET_FLITS,
          depth,
          channels,
          load,
          flits,
          fabric,
          100 * deviation(),
          free,
          100 * (free / flits - 1));
    }
  }

  /** A packet alone in the wormhole mesh takes its hops and its flits. */
  @ParameterizedTest
  @ValueSource(ints = {8, 16})
  void wormholeMesh_onePacketAlone_takesItsHopsAndItsFlits(int depth) {
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 100; i++) {
      int from = random.nextInt(64);
      int to = random.nextInt(64);
      int hops = Math.abs(from % 8 - to % 8) + Math.abs(from / 8 - to / 8);
      FlitMeshTraffic one =
          new FlitMeshTraffic(8, 16, 10, List.of(new FlitMeshTraffic.Packet(7, from, to)));
      long expected = 7 + 2 * FlitMesh.LOCAL_CYCLES + (long) hops * FlitMesh.HOP_CYCLES + 16;
      assertThat(WormholeMesh.run(one, depth, 1)).containsExactly(expected);
      assertThat(FabricMesh.runBuffered(one, depth, 1)).containsExactly(expected);
    }
  }

  /** On one channel there is nothing to choose but turns: also beyond saturation. */
  @ParameterizedTest
  @CsvSource({
    "UNIFORM,1,2",
    "UNIFORM,1,8",
    "UNIFORM,4,8",
    "UNIFORM,16,1",
    "UNIFORM,16,4",
    "UNIFORM,16,8",
    "UNIFORM,16,16",
    "UNIFORM,16,32",
    "UNIFORM,64,8",
    "UNIFORM,64,64",
    "TRANSPOSE,4,2",
    "TRANSPOSE,16,8",
    "TRANSPOSE,64,16"
  })
  void mesh_oneChannel_everyPacketArrivesInTheSameCycle(Pattern pattern, int flits, int depth) {
    for (int side : new int[] {4, 8}) {
      for (int load : new int[] {20, 50, 100}) {
        FlitMeshTraffic traffic =
            FlitMeshTraffic.bernoulli(pattern, side, flits, load / 100.0, 1_500, load);
        assertThat(FabricMesh.runBuffered(traffic, depth, 1))
            .as("%d x %d, %d %%", side, side, load)
            .isEqualTo(WormholeMesh.run(traffic, depth, 1));
      }
    }
  }

  /** Short runs; the curves below have longer ones. */
  @ParameterizedTest
  @CsvSource({
    "UNIFORM,8,1",
    "UNIFORM,16,1",
    "UNIFORM,8,2",
    "UNIFORM,16,2",
    "UNIFORM,16,4",
    "TRANSPOSE,8,1",
    "TRANSPOSE,8,2"
  })
  void mesh_halfLoad_isWithinTenPercentOfWormholeRouters(Pattern pattern, int depth, int channels) {
    Point point = Point.measure(pattern, depth, channels, 50, 2_500);
    assertThat(point.deviation()).as(point.csv()).isEqualTo(0, within(0.10));
    if (pattern == Pattern.UNIFORM) {
      assertThat(point.free()).as("unlimited, %s", point.csv()).isLessThan(0.95 * point.flits());
    }
  }

  /**
   * The curves over load, as published in {@code docs/validation/fabric-buffers.csv}. Takes
   * minutes; {@code -Dkernbench.rewrite=true} writes the file instead of comparing with it.
   */
  @Test
  @Tag("slow")
  void mesh_curvesOverLoad_areAsPublished() throws IOException {
    List<Point> points = new ArrayList<>();
    StringBuilder csv =
        new StringBuilder(
            "mesh,pattern,packet_flits,buffer_flits,virtual_channels,load_percent,"
                + "latency_wormhole_cycles,latency_buffered_cycles,deviation_percent,"
                + "latency_unlimited_cycles,deviation_unlimited_percent\n");
    for (int[] config : new int[][] {{8, 1}, {16, 1}, {32, 1}, {8, 2}, {16, 2}, {16, 4}}) {
      for (int load : new int[] {10, 20, 30, 40, 45, 50, 55, 60, 70}) {
        Point point = Point.measure(Pattern.UNIFORM, config[0], config[1], load, 30_000);
        if (load <= 50) {
          assertThat(point.deviation()).as(point.csv()).isEqualTo(0, within(0.10));
        }
        points.add(point);
        csv.append(point.csv()).append('\n');
      }
    }
    assertIsPublished("fabric-buffers.csv", csv.toString());
    assertIsPublished("fabric-buffers.svg", figure(points));
  }

  private static void assertIsPublished(String name, String text) throws IOException {
    Path published = Path.of("../docs/validation", name);
    if (Boolean.getBoolean("kernbench.rewrite")) {
      Files.writeString(published, text);
    }
    assertThat(text).isEqualTo(Files.readString(published));
  }

  /** Latency over load: routers as marks, the fabric as lines, unlimited buffers dashed. */
  private static String figure(List<Point> points) {
    CurveFigure figure =
        new CurveFigure(
            "8x8 mesh, uniform traffic, packets of 16 flits: marks are wormhole routers stepped cycle by"
                + " cycle, lines the fabric",
            "offered load, % of what XY routing can carry",
            "mean latency, cycles",
            new double[] {10, 70},
            new double[] {30, 150});
    figure.line("unlimited buffers", "4 4", "#777777", points(points, 16, 1, Point::free));
    int[][] shown = {{8, 1}, {16, 1}, {32, 1}, {16, 2}};
    String[] colours = {"#0072b2", "#d55e00", "#009e73", "#000000"};
    for (int i = 0; i < shown.length; i++) {
      int depth = shown[i][0];
      int vcs = shown[i][1];
      String name = depth + " flits" + (vcs > 1 ? " x " + vcs + " channels" : "");
      figure.line(name, "", colours[i], points(points, depth, vcs, Point::fabric));
      figure.marks(i, colours[i], points(points, depth, vcs, Point::flits));
    }
    return figure.svg();
  }

  private static List<double[]> points(
      List<Point> points, int depth, int vcs, ToDoubleFunction<Point> latency) {
    return points.stream()
        .filter(p -> p.depth == depth && p.channels == vcs)
        .map(p -> new double[] {p.load, latency.applyAsDouble(p)})
        .toList();
  }

  // ---- machines ----

  /** One load on an idle machine: with room for the round trip as without limits, else slower. */
  @Test
  void machine_bufferOfALoad_matchesUnlimitedOrThrottles() {
    long unlimited = loadPs("fabric.buffer=unlimited");
    assertThat(loadPs("fabric.buffer=1 MiB")).isBetween(unlimited, unlimited + 512); // flits
    // 12 ns each way between cubes: 1 KiB per 24 ns
    long throttled = loadPs("fabric.buffer=1 KiB");
    double rate = 1024 / (2 * 12.0); // of the narrowest loop; longer than 7.25 ns to HBM
    assertThat((throttled - unlimited) / 1e3)
        .isEqualTo(65_536 / rate - 65_536 / 217.6, within(0.05 * 65_536 / rate));
  }

  private static long loadPs(String override) {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, "sip-2026", override)) {
      rig.run(p -> p.load(rig.hbm(8, 0, 65_536)));
      return rig.row(0).ps();
    }
  }

  /** Everybody loads from everybody, banks and all: it ends, and no earlier than without limits. */
  @ParameterizedTest
  @ValueSource(strings = {"flat", "banked"})
  void machine_crowdedTorus_ends(String fidelity) {
    long before = crowdPs(fidelity, "unlimited");
    assertThat(crowdPs(fidelity, "4 KiB")).isGreaterThan(before);
    assertThat(crowdPs(fidelity, "512 B")).isGreaterThan(before);
  }

  private static long crowdPs(String fidelity, String buffer) {
    try (DeviceRig rig =
        DeviceRig.of(
            Mode.TIME,
            "sip-2026",
            "system.sips.count=4",
            "sip.cube_mesh.w=2",
            "sip.cube_mesh.h=2",
            "cube.hbm.fidelity=" + fidelity,
            "fabric.buffer=" + buffer)) {
      int n = rig.machine.peCount();
      return rig.run(
              IntStream.range(0, n)
                  .<java.util.function.Consumer<PePort>>mapToObj(i ->
                      p -> {
                        p.release(p.load(rig.hbm((i * 37 + 11) % n, 0, 8192)));
                        p.store(
                            PeIssueTest.fill(p, 4096), 0, rig.hbm((i * 29 + 5) % n, 65_536, 4096));
                      })
                  .toList())
          .criticalPs();
    }
  }
}
