package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * All-reduces over nodes with NICs, on packages in which nothing takes time but links, against
 * closed forms of their bytes: a flat ring sends {@code 2 (p - 1) / p S} through the NIC where it
 * leaves a node; a hierarchy {@code 2 (g - 1) / g S} over the links of a node of g and {@code 2 (n
 * - 1) / n S / g} through each NIC.
 */
final class NodesAllReduceTest {
  private static final double INSIDE = 450e9;
  private static final double NIC = 50e9;

  @TempDir private Path folder;

  private Machine machine(String network, String nodes) throws IOException {
    Path file = folder.resolve("m.yaml");
    Files.writeString(
        file, "description: x\nextends: model-sips\nsystem:\n  network:\n" + network + nodes);
    return Machines.load(file.toString(), List.of("pe.dma.message_overhead=0 ns"));
  }

  /** The rates of 2x-dgx-h100, and next to no latencies. */
  private Machine twoNodes(int nics) throws IOException {
    return machine(
        """
            - {kind: switch, size: 8, bandwidth: 450 GB/s, latency: 1 ns}
            - {kind: switch, size: 2, bandwidth: 50 GB/s, latency: 1 ns}
        """,
        """
          nodes: {packages: 8, nics: %s, bandwidth: 50 GB/s, latency: 1 ns, message_overhead: 0 ns,
            link: {bandwidth: 64 GB/s, latency: 1 ns}}
        """
            .formatted(nics));
  }

  private static CollectiveTrial.Result run(
      Machine machine, String algorithm, long bytes, Mode mode) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    CollectiveTrial.Result result =
        CollectiveTrial.of(
                machine,
                CollectiveLibrary.algorithm(config, algorithm),
                config.of(algorithm),
                RankLevel.SIP,
                Bed.leads(machine, RankLevel.SIP, machine.sips()))
            .run(CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F32, bytes / 4), mode);
    assertThat(result.problems()).isEmpty();
    assertThat(result.ps()).isGreaterThanOrEqualTo(result.bound().ps());
    return result;
  }

  /** Of the time that either level takes if the other took none, for so many NICs of a node. */
  private record Levels(double inside, double between) {
    static Levels of(long bytes, int nics) {
      return new Levels(
          2 * 7 / 8.0 * bytes / INSIDE * 1e12, 2 * 1 / 2.0 * bytes / nics / NIC * 1e12);
    }

    /** Levels overlap. */
    double longer() {
      return Math.max(inside, between);
    }
  }

  /** A few ways of three links of 1 ns. */
  private static final double LATENCIES_PS = 100_000;

  /**
   * Where links inside a node take longer, they are idle for want of what has to come back over the
   * NIC once: a slot, the largest piece that goes on by itself. It crosses the NIC, and a link
   * inside before it and after it. So what is over does not grow with the vector.
   */
  @ParameterizedTest
  @ValueSource(ints = {2, 8, 32, 128})
  void hierarchical_ownNics_takesTheLongerLevelAndASlot(int mib) throws IOException {
    long bytes = (long) mib << 20;
    Machine machine = twoNodes(8);
    double slot = machine.ipcq().slotBytes();
    double once = (slot / NIC + 2 * slot / INSIDE) * 1e12 + LATENCIES_PS;
    Levels levels = Levels.of(bytes, 8);

    long ps = run(machine, "hierarchical", bytes, Mode.TIME).ps();

    assertThat(levels.inside).isGreaterThan(levels.between);
    assertThat((double) ps).isBetween(levels.longer(), levels.longer() + once);
  }

  /**
   * Where the NIC takes longer, it is idle only while the first part is added up in the node and
   * the last is handed round there. A part that goes over the NIC by itself is a sixteenth of the
   * vector, what one of 16 ranks has in the end; so that is a sixteenth of the time inside.
   */
  @ParameterizedTest
  @ValueSource(ints = {2, 8, 32, 128})
  void hierarchical_oneNicForAll_takesThatNicAndAPart(int mib) throws IOException {
    long bytes = (long) mib << 20;
    Levels levels = Levels.of(bytes, 1);

    long ps = run(twoNodes(1), "hierarchical", bytes, Mode.TIME).ps();

    assertThat(levels.between).isGreaterThan(levels.inside);
    assertThat((double) ps)
        .isBetween(levels.longer(), levels.longer() + levels.inside / 16 + LATENCIES_PS);
  }

  /**
   * n nodes of g, each package with its own NIC, at rates of which either level binds. One order of
   * the levels sends {@code 2 (g-1)/g S} inside and {@code 2 (n-1)/n S/g} between; half the vector
   * in one order and half in the other {@code (g-1)/g (1 + 1/n) S} and {@code (n-1)/n (1 + 1/g) S};
   * the better of the two counts. The level that binds is idle at most while the first of n blocks
   * is scattered inside and the last gathered, an n-th of the time inside.
   */
  @ParameterizedTest
  @CsvSource({
    "4, 4, 25, 4",
    "4, 4, 200, 4",
    "4, 4, 200, 64",
    "2, 4, 100, 16",
    "8, 2, 50, 16",
    "4, 8, 40, 16",
    "4, 8, 100, 32",
    "8, 4, 50, 8",
    "2, 8, 25, 32",
    "3, 4, 60, 16"
  })
  void hierarchical_anyNodes_takesTheBetterOrder(int n, int g, int nic, int mib)
      throws IOException {
    Machine machine =
        machine(
            """
                - {kind: switch, size: %s, bandwidth: 300 GB/s, latency: 1 ns}
                - {kind: switch, size: %s, bandwidth: %s GB/s, latency: 1 ns}
            """
                .formatted(g, n, nic),
            """
              nodes: {packages: %1$s, nics: %1$s, bandwidth: %2$s GB/s, latency: 1 ns,
                message_overhead: 0 ns, link: {bandwidth: %2$s GB/s, latency: 1 ns}}
            """
                .formatted(g, nic));
    double bytes = mib << 20;
    double in = (g - 1.0) / g * bytes / 300e9 * 1e12;
    double out = (n - 1.0) / n * bytes / (nic * 1e9) * 1e12;
    double one = Math.max(2 * in, 2 * out / g);
    double both = Math.max(in * (1 + 1.0 / n), out * (1 + 1.0 / g));

    long ps = run(machine, "hierarchical", (long) bytes, Mode.TIME).ps();

    double form = Math.min(one, both);
    assertThat((double) ps).isBetween(form, form + 2 * in / n + n * LATENCIES_PS);
  }

  /**
   * A ring is bound by the NIC where it leaves a node, and by 30 steps of latencies and overheads;
   * so the hierarchy gains what the two forms say: 9.64 for long vectors.
   */
  @Test
  void hierarchical_onTwoNodesOfEight_beatsAFlatRingByWhatTheBytesSay() throws IOException {
    long bytes = 128L << 20;
    double flat = 2 * 15 / 16.0 * bytes / NIC * 1e12;
    Levels levels = Levels.of(bytes, 8);
    Machine machine = twoNodes(8);
    double slot = machine.ipcq().slotBytes();
    double once = (slot / NIC + 2 * slot / INSIDE) * 1e12 + LATENCIES_PS;

    long ring = run(machine, "ring", bytes, Mode.TIME).ps();
    long hierarchical = run(machine, "hierarchical", bytes, Mode.TIME).ps();

    assertThat((double) ring).isBetween(flat, flat + 2 * 15 * 10_000);
    assertThat(flat / levels.longer()).isEqualTo(9.64, within(0.005));
    assertThat((double) ring / hierarchical)
        .isBetween(flat / (levels.longer() + once), ring / levels.longer());
  }

  @Test
  void hierarchical_sharedNics_valuesAreRight() throws IOException {
    for (int nics : new int[] {1, 2}) {
      run(twoNodes(nics), "hierarchical", 4096, Mode.FULL);
    }
  }

  /** Four levels, one after the other: 2 (n - 1) messages a rank along each of them. */
  @Test
  void events_onFourLevels_growWithMessages() throws IOException {
    int[][] sizes = {{2, 2, 2, 2}, {4, 2, 2, 2}, {4, 4, 2, 2}};
    double[] perMessage = new double[sizes.length];
    for (int i = 0; i < sizes.length; i++) {
      int[] n = sizes[i];
      Machine m = fourLevels(n);
      long messages = m.sips() * Arrays.stream(n).mapToLong(s -> 2 * (s - 1)).sum();
      perMessage[i] = run(m, "by_dimension", 64 << 10, Mode.TIME).events() / (double) messages;
    }
    double least = Arrays.stream(perMessage).min().orElseThrow();
    assertThat(Arrays.stream(perMessage).max().orElseThrow()).isLessThan(1.25 * least);
  }

  /** Messages and events of a call in mode time. */
  private record Counted(long sent, long events) {
    double perMessage() {
      return events / (double) sent;
    }
  }

  private static Counted counted(Machine machine, List<Pe> leads, long bytes) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    CollectiveAlgorithm algorithm = CollectiveLibrary.algorithm(config, "hierarchical");
    long[] sent = new long[1];
    CollectiveTrial.Result result =
        CollectiveTrial.of(machine, algorithm, config.of("hierarchical"), RankLevel.SIP, leads)
            .run(
                CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F32, bytes / 4),
                Mode.TIME,
                SimulatorOptions.DEFAULT.withOpLogLimit(0),
                (log, launch, queues) -> sent[0] = log.completed(OpKind.SEND));
    assertThat(result.problems()).isEmpty();
    return new Counted(sent[0], result.events());
  }

  /**
   * A message has an event at least at each link of its way, and costs at most what one costs
   * between two packages alone, with its share of loads, sums and stores. So the events of all are
   * between two sums over messages, each known from its level; those are counted by the drawing.
   */
  private void events_areThoseOfMessages(int... n) throws IOException {
    Machine m = fourLevels(n);
    List<Pe> all = Bed.leads(m, RankLevel.SIP, m.sips());
    Counted whole = counted(m, all, 1 << 20);
    assertThat(whole.sent % m.sips()).isZero();
    long perRank = whole.sent / m.sips();
    int joined = 2 * Arrays.stream(n).map(size -> size - 1).sum();
    int inPieces = joined / 2 + m.sips() - 1; // on the way back each block goes by itself
    boolean isJoined = perRank % joined == 0;
    assertThat(perRank % (isJoined ? joined : inPieces)).isZero();
    double least = 0;
    double most = 0;
    int stride = 1;
    for (int d = 0; d < n.length; d++) {
      List<Pe> two = List.of(all.getFirst(), all.get(stride));
      stride *= n[d];
      int blocks = isJoined ? 1 : m.sips() / stride;
      double share = (1 + blocks) * (n[d] - 1.0) / (isJoined ? joined : inPieces);
      least += share * m.route(two.getFirst(), two.getLast()).links().length;
      most += share * counted(m, two, 1 << 16).perMessage();
    }
    assertThat(whole.perMessage()).isBetween(least, most);
  }

  @Test
  void events_hierarchical_growWithMessages() throws IOException {
    events_areThoseOfMessages(2, 2, 2, 2);
    events_areThoseOfMessages(4, 4, 2, 2);
  }

  @Tag("slow")
  @Test
  void events_hierarchicalOf256And1024_growWithMessages() throws IOException {
    events_areThoseOfMessages(8, 4, 4, 2);
    events_areThoseOfMessages(8, 16, 4, 2);
  }

  private Machine fourLevels(int[] n) throws IOException {
    return machine(
        """
            - {kind: fully_connected, size: %s, bandwidth: 450 GB/s, latency: 100 ns}
            - {kind: switch, size: %s, bandwidth: 200 GB/s, latency: 200 ns}
            - {kind: switch, size: %s, bandwidth: 50 GB/s, latency: 500 ns}
            - {kind: switch, size: %s, bandwidth: 25 GB/s, latency: 1 us}
        """
            .formatted(n[0], n[1], n[2], n[3]),
        """
          nodes: {packages: %s, nics: %s, bandwidth: 50 GB/s, latency: 300 ns,
            message_overhead: 10 ns, link: {bandwidth: 64 GB/s, latency: 300 ns}}
        """
            .formatted(n[0] * n[1], n[0]));
  }
}
