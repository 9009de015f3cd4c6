package org.kernbench.eval.traffic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.FlitMeshTraffic;
import org.kernbench.device.simulator.RouterMesh;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.RouterAllocator;
import org.kernbench.machine.spec.RouterSpec;

/** Latency over load on meshes, against anchors of the field and routers stepped by cycles. */
final class TrafficBenchTest {
  private static final String FOUR = "../examples/machines/mesh-4x4.yaml";
  private static final String EIGHT = "../examples/machines/mesh-8x8.yaml";
  private static final RouterSpec TEXTBOOK =
      new RouterSpec(1_000_000_000L, 1, 1, 1, 1, RouterAllocator.SEPARABLE, 1, 1, 0);

  private static RunResult run(String topology, List<String> overrides, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            new TrafficBench(),
            RunOptions.DEFAULT
                .withTopology(topology)
                .withMode(Mode.TIME)
                .withOverrides(overrides)
                .withParams(List.of(params)));
  }

  private static double of(Map<String, Object> row, String column) {
    return ((BigDecimal) row.get(column)).doubleValue();
  }

  /**
   * Five cycles for each of the routers on the way and two. To a node drawn from k along an axis it
   * is {@code (k^2 - 1) / (3 k)} hops in the mean: 19.5 cycles on 4x4 (published, with its load:
   * 19.6), 33.25 on 8x8 (33.2). A mean of n packets is off by chance; three standard errors, and
   * one packet in a hundred that waits a cycle for another.
   */
  @ParameterizedTest
  @CsvSource({"4, 9000", "8, 2300"})
  void almostNoLoad_isTheClosedForm(int side, int cycles) {
    RunResult result =
        run(side == 8 ? EIGHT : FOUR, List.of(), "load=0.02", "cycles=" + cycles, "warm_up=100");
    Map<String, Object> row = result.rows().getFirst();
    double hops = 2 * (side * side - 1) / (3.0 * side);
    double squares = 0; // of hops along an axis
    for (int a = 0; a < side; a++) {
      for (int b = 0; b < side; b++) {
        squares += (a - b) * (a - b) / (double) (side * side);
      }
    }
    double variance = 25 * 2 * (squares - hops * hops / 4);
    double error = 3 * Math.sqrt(variance / ((Number) row.get("packets")).doubleValue());
    assertThat(of(row, "mean_ns")).isEqualTo(5 * (1 + hops) + 2, within(error + 0.01 * hops));
    assertThat(row.get("saturated")).isEqualTo("no");
  }

  /** Ways of up to 1,526 slots: what arrives while it is measured is what is offered. */
  @Test
  void longWays_areFilledBeforeItIsMeasured() {
    RunResult result = run("sip-2026", List.of("system.sips.count=2"), "load=0.004");
    Map<String, Object> row = result.rows().getFirst();
    double packets = 0.004 * 200 * 256;
    double error = 4 / Math.sqrt(packets); // of each of the two counts
    assertThat(of(row, "accepted") / of(row, "offered")).isBetween(1 - error, 1 + error);
    RunResult soon = run("sip-2026", List.of("system.sips.count=2"), "load=0.004", "warm_up=0");
    assertThat(of(soon.rows().getFirst(), "accepted")).isLessThan(0.5 * of(row, "offered"));
  }

  /** Neighbours wrap: hops 1 or 3 each way; every latency is one of three sums. */
  @Test
  void neighbour_alone_takesTheHopsThatThereAre() {
    RunResult result = run(FOUR, List.of(), "pattern=neighbour", "load=0.01", "cycles=2000");
    Map<String, Object> row = result.rows().getFirst();
    // 9 of 16 nodes go 2 hops, 6 go 4, one goes 6
    double mean = 5 * (1 + (9 * 2 + 6 * 4 + 6) / 16.0) + 2;
    assertThat(of(row, "mean_ns")).isEqualTo(mean, within(0.05 * mean));
    assertThat(of(row, "p50_ns")).isEqualTo(17);
    assertThat(of(row, "max_ns")).isBetween(37.0, 45.0);
  }

  @Test
  void patterns_onAGrid_areTheirDefinitions() {
    Machine machine = Machines.load(FOUR, List.of());
    TrafficNodes nodes = TrafficNodes.of(machine);
    assertThat(nodes.text()).isEqualTo("4x4 nodes");
    int source = nodes.at(new int[] {1, 3});
    SplittableRandom random = new SplittableRandom(1);
    TrafficPattern.Hot hot = new TrafficPattern.Hot(5, 100);
    assertThat(place(nodes, TrafficPattern.TRANSPOSE, source)).containsExactly(3, 1);
    assertThat(place(nodes, TrafficPattern.BIT_COMPLEMENT, source)).containsExactly(2, 0);
    assertThat(place(nodes, TrafficPattern.TORNADO, source)).containsExactly(2, 0);
    assertThat(place(nodes, TrafficPattern.NEIGHBOUR, source)).containsExactly(2, 0);
    assertThat(TrafficPattern.HOTSPOT.destination(nodes, source, hot, random)).isEqualTo(5);
    int[] seen = new int[16];
    for (int i = 0; i < 16_000; i++) {
      seen[TrafficPattern.UNIFORM.destination(nodes, source, hot, random)]++;
    }
    assertThat(IntStream.of(seen)).allMatch(n -> n > 850 && n < 1150);
  }

  private static int[] place(TrafficNodes nodes, TrafficPattern pattern, int source) {
    int to =
        pattern.destination(nodes, source, new TrafficPattern.Hot(0, 1), new SplittableRandom(1));
    return new int[] {nodes.place(to, 0), nodes.place(to, 1)};
  }

  /** What a node draws into another is what the links into it let through: 1 / 16 of its rate. */
  @Test
  void hotspot_allToOne_acceptsTheRateOfOneLink() {
    RunResult result =
        run(FOUR, List.of(), "pattern=hotspot", "hot_percent=100", "load=0.5", "warm_up=300");
    Map<String, Object> row = result.rows().getFirst();
    assertThat(of(row, "accepted")).isEqualTo(1 / 16.0, within(0.002));
    assertThat(row.get("saturated")).isEqualTo("yes");
  }

  /**
   * Two packages share a NIC that takes 20 + 128 / 50 = 22.56 ns for a packet: each can send one in
   * 45.12 ns, 0.0111 of what its first link passes. So 0.02 is beyond that already; a tenth above
   * it is told as saturated.
   */
  @Test
  void curve_ofAMachineThatIsSaturatedAtOnce_beginsBelow(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("nodes.yaml");
    Files.writeString(
        file,
        """
        description: three nodes of four packages; two share a NIC
        extends: ring
        system:
          network:
            - {kind: switch, size: 4, bandwidth: 200 GB/s, latency: 100 ns}
            - {kind: switch, size: 3, bandwidth: 50 GB/s, latency: 500 ns}
          nodes:
            packages: 4
            nics: 2
            bandwidth: 50 GB/s
            latency: 300 ns
            message_overhead: 20 ns
            link: {bandwidth: 64 GB/s, latency: 300 ns}
        """);
    RunResult result = run(file.toString(), List.of(), "load=auto", "pattern=tornado");
    double capacity = 0.5 / 45.12;
    assertThat(of(result.metrics(), "saturation_load"))
        .isEqualTo(capacity, within(0.15 * capacity));
    assertThat(of(result.metrics(), "lowest_load_ns")).isEqualTo(2_373, within(60.0));
    assertThat(result.rows().getLast().get("saturated")).isEqualTo("yes");
  }

  /** Packets that never came count with the time that they have waited. */
  @Test
  void packetsThatAreLate_countWithTheirWaiting() {
    RunResult result =
        run("ring", List.of("system.sips.count=8"), "load=1", "pattern=tornado", "cycles=300");
    Map<String, Object> row = result.rows().getFirst();
    assertThat(((Number) row.get("late")).longValue()).isPositive();
    double window = (300 + 100) * 0.5;
    assertThat(of(row, "max_ns")).isGreaterThan(2 * window);
    assertThat(of(row, "mean_ns")).isGreaterThan(of(result.metrics(), "bound_ns"));
  }

  @Test
  void loadAtWhichChanceOffersNothing_isRefused() {
    assertThatThrownBy(
            () -> run("ring", List.of("system.sips.count=8"), "load=0.0001", "cycles=10"))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("load=1.0E-4: chance offers no packet in the 10 slots");
  }

  /** A load is a part of the bytes that the first link passes, whatever a packet has. */
  @ParameterizedTest
  @CsvSource({"64 B, 64", "100 B, 100", "130 B, 130", "1 KiB, 1024"})
  void load_ofAnyPacket_isAPartOfTheBytesThatTheLinkPasses(String packet, int bytes) {
    RunResult result =
        run(
            "ring",
            List.of("system.sips.count=8"),
            "load=0.5",
            "pattern=neighbour",
            "packet=" + packet,
            "cycles=20000");
    Map<String, Object> row = result.rows().getFirst();
    double slot = ((BigDecimal) result.params().get("slot_ns")).doubleValue();
    double offered = ((Number) row.get("packets")).doubleValue() * bytes / (20_000 * slot) / 8;
    assertThat(offered).as("GB/s of each node").isEqualTo(0.5 * 256, within(0.05 * 256));
    assertThat(of(row, "offered")).isEqualTo(0.5, within(0.03));
  }

  @Test
  void load_ofMoreThanAPacketInASlot_isRefused() {
    assertThatThrownBy(() -> run("ring", List.of(), "load=0.1,0.5", "packet=32 B"))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            "load=0.5 of packets of 32 B: a node begins one packet in a slot of 128 B at most;"
                + " expected loads up to 0.2500, or larger packets");
  }

  /** However few packets a slot has, those that the search needs are offered. */
  @ParameterizedTest
  @CsvSource({"256 KiB", "16 KiB"})
  void curve_ofLargePackets_isFound(String packet) {
    RunResult result = run("ring", List.of(), "load=auto", "pattern=tornado", "packet=" + packet);
    assertThat(of(result.metrics(), "saturation_load")).isBetween(0.05, 1.0);
  }

  /** Half of what is offered cannot arrive, though all that arrives does so soon enough. */
  @Test
  void fewerAcceptedThanOffered_isSaturated_butNotByChance() {
    assertThat(point(10_000, 0.3, 0.195, 0).isSaturated(100)).isTrue();
    assertThat(point(10_000, 0.3, 0.275, 0).isSaturated(100)).isFalse();
    assertThat(point(100, 0.3, 0.225, 0).isSaturated(100)).isFalse();
    assertThat(point(100, 0.3, 0.195, 0).isSaturated(100)).isTrue();
    assertThat(point(10_000, 0.3, 0.195, 0.3).isSaturated(100)).as("none came yet").isFalse();
  }

  private static TrafficPoint point(int packets, double offered, double accepted, double early) {
    long[] latencies = new long[packets];
    Arrays.fill(latencies, 200);
    return new TrafficPoint(0.3, offered, accepted, latencies, 0, 100, early, 1);
  }

  /** Links without clocked routers: any machine, by the streaming rule. */
  @Test
  void unlimitedBuffers_alone_isTheClosedForm() {
    RunResult result =
        run(
            FOUR,
            List.of(
                "fabric.router=none", "fabric.virtual_channels=auto", "fabric.buffer=unlimited"),
            "load=0.001",
            "cycles=4000");
    assertThat(of(result.rows().getFirst(), "max_ns")).isLessThanOrEqualTo(8 + 2);
    double bound = ((BigDecimal) result.metrics().get("bound_ns")).doubleValue();
    double time = ((BigDecimal) result.metrics().get("crit_ns")).doubleValue();
    assertThat(time).isBetween(bound, bound + 0.0011); // rounded outwards, to picoseconds
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "load=2 | load=2: got \"2\"; expected auto, or numbers above 0",
        "load=0.2,0.1 | got \"0.1\"; expected auto, or numbers above 0",
        "load=much | got \"much\"; expected auto, or numbers above 0",
        "warm_up=soon | warm_up=soon: expected auto, or a whole number, 0 to 1000000",
        "hot_node=16 | hot_node=16: expected a PE, 0 to 15",
      })
  void badParameter_isRefused(String param, String message) {
    assertThatThrownBy(() -> run(FOUR, List.of(), param))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message);
  }

  @Test
  void transpose_noSquare_isRefused() {
    assertThatThrownBy(() -> run("sip-2026", List.of(), "pattern=transpose"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("pattern=transpose needs a square of nodes; this machine has");
  }

  /** The anchors: 33.2 and 19.6 cycles with no load, saturation at 0.43 and 0.76. */
  @Tag("slow")
  @ParameterizedTest
  @CsvSource({"8, 33.2, 0.43", "4, 19.6, 0.76"})
  void curve_toSaturation_isTheAnchors(int side, double zero, double saturation) {
    RunResult result =
        run(side == 8 ? EIGHT : FOUR, List.of(), "load=auto", "cycles=3000", "warm_up=1500");
    assertThat(((BigDecimal) result.metrics().get("lowest_load_ns")).doubleValue())
        .isEqualTo(zero, within(0.05 * zero));
    assertThat(((BigDecimal) result.metrics().get("saturation_load")).doubleValue())
        .isEqualTo(saturation, within(0.05 * saturation));
  }

  /** Other packets, other code: to 90 % of saturation (0.14, 0.295, 0.40, 0.436) within 5 %. */
  @Tag("slow")
  @ParameterizedTest
  @CsvSource({"1, 0.125", "2, 0.265", "4, 0.36", "16, 0.39"})
  void curve_upToNineTenths_isThatOfRoutersSteppedByCycles(int channels, double most) {
    for (double load : new double[] {0.5 * most, 0.8 * most, most}) {
      RunResult result =
          run(
              EIGHT,
              List.of("fabric.virtual_channels=" + channels),
              "load=" + load,
              "cycles=6000",
              "warm_up=1500");
      double mean = of(result.rows().getFirst(), "mean_ns");
      assertThat(mean).as("load %s", load).isEqualTo(stepped(channels, load), within(0.05 * mean));
    }
  }

  private static double stepped(int channels, double load) {
    SplittableRandom random = new SplittableRandom(99);
    List<FlitMeshTraffic.Packet> packets = new ArrayList<>();
    for (long cycle = 0; cycle < 7_500; cycle++) {
      for (int node = 0; node < 64; node++) {
        if (random.nextDouble() < load) {
          packets.add(new FlitMeshTraffic.Packet(cycle, node, random.nextInt(64)));
        }
      }
    }
    FlitMeshTraffic traffic = new FlitMeshTraffic(8, 1, 7_500, packets);
    return traffic.meanLatency(RouterMesh.run(traffic, TEXTBOOK, channels, 8, 1, 1, 100_000));
  }
}
