package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.device.fabric.FabricMesh;
import org.kernbench.device.simulator.FlitMesh.Tie;
import org.kernbench.device.simulator.FlitMeshTraffic.Packet;
import org.kernbench.device.simulator.FlitMeshTraffic.Pattern;

/**
 * The fabric under contention against {@link FlitMesh}, which steps every flit through every
 * router.
 *
 * <p>Virtual cut-through gives a link to a packet until its tail has passed, so here one chunk is
 * one packet. The same packets are offered to both models. With the fabric's rule for heads that
 * arrive together the two must agree on every packet; with the rule of a hardware arbiter, on mean
 * latency and throughput.
 */
class FabricContentionTest {
  private static final Path GRID = Path.of("../docs/validation/fabric-latency-load.csv");
  private static final double MOST_DEVIATION = 0.02;
  private static final int[] SIDES = {4, 8};
  private static final int[] PACKET_FLITS = {1, 4, 16, 64};
  private static final int[] LOAD_PERCENT = {10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100, 110, 150};

  /** One point of a curve. Latencies in cycles, throughputs in flits per node and cycle. */
  private record Point(
      int side,
      Pattern pattern,
      int packetFlits,
      int loadPercent,
      int packets,
      double fabricLatency,
      double flitLatency,
      double fabricThroughput,
      double flitThroughput) {
    static final String HEADER =
        "mesh,pattern,packet_flits,load_percent,packets,latency_fabric_cycles,latency_flits_cycles,"
            + "latency_deviation_percent,throughput_fabric,throughput_flits,"
            + "throughput_deviation_percent";

    static Point measure(int side, Pattern pattern, int flits, int load, long packets) {
      double perCycle = load / 100.0 * pattern.capacity(side) * side * side / flits;
      long cycles = (long) Math.ceil(packets / perCycle);
      long seed = ((side * 31L + pattern.ordinal()) * 1_000 + flits) * 1_000 + load;
      FlitMeshTraffic traffic =
          FlitMeshTraffic.bernoulli(pattern, side, flits, load / 100.0, cycles, seed);
      long[] fabric = FabricMesh.run(traffic, flits);
      long[] mesh = FlitMesh.run(traffic, Tie.ROTATING_PORT);
      return new Point(
          side,
          pattern,
          flits,
          load,
          fabric.length,
          traffic.meanLatency(fabric),
          traffic.meanLatency(mesh),
          traffic.throughput(fabric),
          traffic.throughput(mesh));
    }

    double latencyDeviation() {
      return fabricLatency / flitLatency - 1;
    }

    double throughputDeviation() {
      return fabricThroughput / flitThroughput - 1;
    }

    String csv() {
      return String.format(
          Locale.ROOT,
          "%dx%d,%s,%d,%d,%d,%.3f,%.3f,%.3f,%.5f,%.5f,%.3f",
          side,
          side,
          pattern.name().toLowerCase(Locale.ROOT),
          packetFlits,
          loadPercent,
          packets,
          fabricLatency,
          flitLatency,
          100 * latencyDeviation(),
          fabricThroughput,
          flitThroughput,
          100 * throughputDeviation());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "4,UNIFORM,1,95",
    "4,TRANSPOSE,4,90",
    "8,UNIFORM,16,80",
    "8,TRANSPOSE,64,95",
    "8,UNIFORM,4,150"
  })
  void mesh_sameRuleForTies_everyPacketArrivesInTheSameCycle(
      int side, Pattern pattern, int flits, int load) {
    FlitMeshTraffic traffic =
        FlitMeshTraffic.bernoulli(pattern, side, flits, load / 100.0, 2_000L * flits, load);
    assertThat(FabricMesh.run(traffic, flits)).isEqualTo(FlitMesh.run(traffic, Tie.PACKET));
    assertThat(traffic.packets()).hasSizeGreaterThan(1_000);
  }

  /** Packets longer than the fabric's chunk: trains, whose chunks other packets get in between. */
  @ParameterizedTest
  @CsvSource({
    "4,UNIFORM,64,16,90",
    "4,UNIFORM,16,1,80",
    "8,UNIFORM,16,4,95",
    "8,TRANSPOSE,64,4,90"
  })
  void mesh_packetsOfManyChunks_everyPacketArrivesInTheSameCycle(
      int side, Pattern pattern, int flits, int chunkFlits, int load) {
    FlitMeshTraffic traffic =
        FlitMeshTraffic.bernoulli(pattern, side, flits, load / 100.0, 1_000L * flits, load);
    assertThat(FabricMesh.run(traffic, chunkFlits))
        .isEqualTo(FlitMesh.run(traffic, chunkFlits, Tie.PACKET))
        .isNotEqualTo(FabricMesh.run(traffic, flits));
  }

  @ParameterizedTest
  @CsvSource({
    "4,UNIFORM,1,50", "4,UNIFORM,64,90", "4,TRANSPOSE,16,95", "4,TRANSPOSE,1,150",
    "8,UNIFORM,4,90", "8,UNIFORM,16,110", "8,TRANSPOSE,4,80", "8,TRANSPOSE,64,50"
  })
  void mesh_arbiterForTies_latencyAndThroughputAgree(
      int side, Pattern pattern, int flits, int load) {
    Point point = Point.measure(side, pattern, flits, load, 10_000);
    assertThat(point.latencyDeviation()).as(point.csv()).isEqualTo(0, within(MOST_DEVIATION));
    assertThat(point.throughputDeviation()).as(point.csv()).isEqualTo(0, within(MOST_DEVIATION));
  }

  /** The flit model itself: a packet alone takes its links' cycles and one cycle per flit. */
  @Test
  void flitMesh_onePacketAlone_takesItsHopsAndItsFlits() {
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 200; i++) {
      int side = 1 + random.nextInt(8);
      int from = random.nextInt(side * side);
      int to = random.nextInt(side * side);
      int flits = 1 + random.nextInt(64);
      int hops = Math.abs(from % side - to % side) + Math.abs(from / side - to / side);
      FlitMeshTraffic one = new FlitMeshTraffic(side, flits, 10, List.of(new Packet(7, from, to)));
      long expected = 7 + 2 * FlitMesh.LOCAL_CYCLES + (long) hops * FlitMesh.HOP_CYCLES + flits;
      assertThat(FlitMesh.run(one, Tie.ROTATING_PORT)).containsExactly(expected);
    }
  }

  /**
   * Both models at one queue: Bernoulli arrivals, fixed service (Geo/D/1), mean wait rho (P - 1) /
   * (2 (1 - rho)).
   */
  @ParameterizedTest
  @CsvSource({"4,0.5", "16,0.7", "16,0.3"})
  void mesh_oneQueue_waitsAsQueueingTheorySays(int flits, double load) {
    SplittableRandom random = new SplittableRandom(flits);
    List<Packet> packets = new ArrayList<>();
    long cycles = 200_000L * flits;
    for (long cycle = 0; cycle < cycles; cycle++) {
      if (random.nextDouble() < load / flits) {
        packets.add(new Packet(cycle, 0, 0));
      }
    }
    FlitMeshTraffic traffic = new FlitMeshTraffic(1, flits, cycles, packets);
    double alone = 2 * FlitMesh.LOCAL_CYCLES + flits;
    double wait = load * (flits - 1) / (2 * (1 - load));
    assertThat(traffic.meanLatency(FabricMesh.run(traffic, flits)) - alone)
        .isEqualTo(wait, within(0.02 * wait));
    assertThat(traffic.meanLatency(FlitMesh.run(traffic, Tie.PACKET)) - alone)
        .isEqualTo(wait, within(0.02 * wait));
  }

  private static Stream<Arguments> curves() {
    List<Arguments> curves = new ArrayList<>();
    for (int side : SIDES) {
      for (Pattern pattern : Pattern.values()) {
        for (int flits : PACKET_FLITS) {
          curves.add(Arguments.of(side, pattern, flits));
        }
      }
    }
    return curves.stream();
  }

  /**
   * A curve of the complete grid, its rows as published in {@code
   * docs/validation/fabric-latency-load.csv}. All of them in one took longer than a test may on a
   * busy machine. {@code -Dkernbench.rewrite=true} writes the rows instead of comparing with them.
   */
  @ParameterizedTest
  @Tag("slow")
  @MethodSource("curves")
  void mesh_completeGrid_isWithinTwoPercentAndAsPublished(int side, Pattern pattern, int flits)
      throws IOException {
    List<String> rows = new ArrayList<>();
    for (int load : LOAD_PERCENT) {
      Point point = Point.measure(side, pattern, flits, load, 40_000);
      assertThat(point.latencyDeviation()).as(point.csv()).isEqualTo(0, within(MOST_DEVIATION));
      assertThat(point.throughputDeviation()).as(point.csv()).isEqualTo(0, within(MOST_DEVIATION));
      rows.add(point.csv());
    }
    List<String> published = Files.readAllLines(GRID);
    String curve = curve(side, pattern, flits);
    if (Boolean.getBoolean("kernbench.rewrite")) {
      int first = (int) published.stream().takeWhile(row -> !row.startsWith(curve)).count();
      published.removeIf(row -> row.startsWith(curve));
      published.addAll(first, rows);
      Files.write(GRID, published);
    }
    assertThat(published.stream().filter(row -> row.startsWith(curve)))
        .containsExactlyElementsOf(rows);
  }

  /** How rows of a curve begin. */
  private static String curve(Object side, Object pattern, Object flits) {
    return "%sx%s,%s,%s,".formatted(side, side, pattern, flits).toLowerCase(Locale.ROOT);
  }

  @Test
  void completeGrid_asPublished_hasARowForEachPointAndNoOther() throws IOException {
    List<String> places = new ArrayList<>();
    curves()
        .map(Arguments::get)
        .forEach(of -> {
          for (int load : LOAD_PERCENT) {
            places.add(curve(of[0], of[1], of[2]) + load + ",");
          }
        });
    List<String> rows = Files.readAllLines(GRID);
    assertThat(rows.getFirst()).isEqualTo(Point.HEADER);
    assertThat(rows.subList(1, rows.size()))
        .zipSatisfy(places, (row, place) -> assertThat(row).startsWith(place));
  }

  /**
   * What the size of a chunk means, as published in {@code docs/validation/fabric-chunk.csv}:
   * messages of 64 flits on an 8x8 mesh, cut into chunks of 1 to 64 flits on both sides.
   */
  @Test
  @Tag("slow")
  @Timeout(value = 30, unit = TimeUnit.MINUTES)
  void mesh_messagesOfManyChunks_areWithinTwoPercentAndAsPublished() throws IOException {
    StringBuilder csv =
        new StringBuilder(
            "pattern,message_flits,chunk_flits,load_percent,latency_fabric_cycles,"
                + "latency_flits_cycles,deviation_percent\n");
    for (Pattern pattern : Pattern.values()) {
      for (int load : new int[] {10, 30, 50, 70, 80, 90}) {
        double perCycle = load / 100.0 * pattern.capacity(8);
        FlitMeshTraffic traffic =
            FlitMeshTraffic.bernoulli(
                pattern, 8, 64, load / 100.0, (long) (40_000 / perCycle), load);
        for (int chunk : PACKET_FLITS) {
          double fabric = traffic.meanLatency(FabricMesh.run(traffic, chunk));
          double flits = traffic.meanLatency(FlitMesh.run(traffic, chunk, Tie.ROTATING_PORT));
          String line =
              String.format(
                  Locale.ROOT,
                  "%s,64,%d,%d,%.3f,%.3f,%.3f",
                  pattern.name().toLowerCase(Locale.ROOT),
                  chunk,
                  load,
                  fabric,
                  flits,
                  100 * (fabric / flits - 1));
          assertThat(fabric / flits).as(line).isEqualTo(1, within(MOST_DEVIATION));
          csv.append(line).append('\n');
        }
      }
    }
    assertIsPublished("fabric-chunk.csv", csv.toString());
  }

  private static void assertIsPublished(String name, String csv) throws IOException {
    Path published = Path.of("../docs/validation", name);
    if (Boolean.getBoolean("kernbench.rewrite")) {
      Files.writeString(published, csv);
    }
    assertThat(csv).isEqualTo(Files.readString(published));
  }
}
