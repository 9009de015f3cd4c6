package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.log.TransferLog;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.report.MachineReport;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Sums in a switch against their closed form (O23 of {@code docs/spec/collectives.md}), to the
 * picosecond; what goes over the ports; what is refused.
 */
final class InSwitchTest {
  private static final int FLOAT = 4;

  @TempDir private Path folder;

  static Machine machine(int ranks, String... more) {
    List<String> set = new ArrayList<>();
    set.add("system.sips.count=" + ranks);
    set.add("system.sips.topology=switch");
    set.add("system.sips.reduces=true");
    set.addAll(List.of(more));
    return Machines.load("model-sips", set);
  }

  static CollectiveTrial trial(Machine machine, List<Pe> leads, String... set) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of(set));
    return CollectiveTrial.of(
        machine,
        CollectiveLibrary.algorithm(config, InSwitch.NAME),
        config.of(InSwitch.NAME),
        RankLevel.SIP,
        leads);
  }

  static CollectiveTrial trial(Machine machine, String... set) {
    List<Pe> leads = IntStream.range(0, machine.sips()).mapToObj(sip -> new Pe(sip, 0, 0)).toList();
    return trial(machine, leads, set);
  }

  private static CollectiveTrial.Question sum(long bytes) {
    return CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F32, bytes / FLOAT);
  }

  /**
   * O23 with m pieces of s bytes: {@code o + (m-1) max(o, s/B) + s/B up, then s/B down, and L each
   * way}; a load before and a store after.
   */
  private static long o23(Machine machine, long bytes, int pieces, long wirePs, long overheadPs) {
    Pe pe = new Pe(0, 0, 0);
    int node = machine.switchOf(0, 0);
    long up = machine.route(machine.peNode(pe), node).latencyPs();
    long down = machine.route(node, machine.peNode(pe)).latencyPs();
    var there = machine.route(machine.peNode(pe), machine.hbmNode(pe));
    var back = machine.route(machine.hbmNode(pe), machine.peNode(pe));
    long piece = bytes / pieces;
    long load = there.requestPs() + back.alonePs(piece);
    long store = there.alonePs(piece) + back.replyPs();
    return load
        + overheadPs
        + (pieces - 1) * Math.max(overheadPs + 1, wirePs)
        + wirePs
        + up
        + wirePs
        + down
        + store;
  }

  /** What a load before and a store after take that move a piece between a PE and its memory. */
  private static long endsPs(Machine machine, long piece) {
    Pe pe = new Pe(0, 0, 0);
    var there = machine.route(machine.peNode(pe), machine.hbmNode(pe));
    var back = machine.route(machine.hbmNode(pe), machine.peNode(pe));
    return there.requestPs() + back.alonePs(piece) + there.alonePs(piece) + back.replyPs();
  }

  /** O26 of an all-gather: pieces of all ranks come up at a time, and n-1 go down each port. */
  private static long gather(Machine machine, long part, int pieces, long wirePs, long overheadPs) {
    Pe pe = new Pe(0, 0, 0);
    int node = machine.switchOf(0, 0);
    long up = machine.route(machine.peNode(pe), node).latencyPs();
    long down = machine.route(node, machine.peNode(pe)).latencyPs();
    long free = 0;
    for (int k = 0; k < pieces; k++) {
      long there = overheadPs + k * Math.max(overheadPs + 1, wirePs) + wirePs + up;
      free = Math.max(free, there) + (machine.sips() - 1) * wirePs;
    }
    return free + down + endsPs(machine, part / pieces);
  }

  /**
   * O26 of a reduce-scatter, message by message: a rank's go up one port in the order of the ranks'
   * parts, each on the channel of its queue, whose o passes beside those of other channels. Of the
   * queues of rank r that of part s is number s, or s + 1 after the one by which it gets.
   */
  private static long scatter(Machine machine, int pieces, long piece, long wirePs, long o) {
    Pe pe = new Pe(0, 0, 0);
    int node = machine.switchOf(0, 0);
    int ranks = machine.sips();
    int channels = machine.pe().dma().messageChannels();
    long last = 0;
    for (int r = 0; r < ranks; r++) {
      long[] channel = new long[channels];
      long port = 0;
      long own = 0;
      for (int j = 0; j < pieces * ranks; j++) {
        int s = j % ranks;
        int c = (s <= r ? s : s + 1) % channels;
        long offered = Math.max(channel[c] + o, own);
        own = offered + 1; // the link of the PE
        channel[c] = own;
        port = Math.max(port, offered) + wirePs;
      }
      last = Math.max(last, port);
    }
    return last
        + machine.route(machine.peNode(pe), node).latencyPs()
        + wirePs
        + machine.route(node, machine.peNode(pe)).latencyPs()
        + endsPs(machine, piece);
  }

  private static CollectiveTrial.Question ask(CollectiveOp op, int root, long bytes) {
    return new CollectiveTrial.Question(op, ReduceKind.SUM, DType.F32, root, bytes / FLOAT);
  }

  /** There are slots for all pieces, so none waits for a credit. */
  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 5, 8, 13, 16})
  void otherOperations_idleSwitch_takeTheirClosedForms(int ranks) {
    Machine machine = machine(ranks);
    for (int[] size : new int[][] {{64, 1}, {4096, 4}, {65_536, 4}}) {
      long piece = size[0] / size[1];
      long wire = machine.specOf(machine.linkCount() - 1).rate().durationPs(piece);
      CollectiveTrial trial = trial(machine, "algorithms.in_switch.chunk=" + piece + " B");
      String what = ranks + " ranks, " + size[0] + " B in " + size[1];
      long whole = o23(machine, size[0], size[1], wire, 20_000);
      for (int root : new int[] {0, ranks - 1}) {
        assertThat(trial.timePs(ask(CollectiveOp.REDUCE, root, size[0]))).as(what).isEqualTo(whole);
        assertThat(trial.timePs(ask(CollectiveOp.BROADCAST, root, size[0])))
            .as(what)
            .isEqualTo(whole);
      }
      long all = (long) ranks * size[0];
      assertThat(trial.timePs(ask(CollectiveOp.REDUCE_SCATTER, -1, all)))
          .as(what)
          .isEqualTo(scatter(machine, size[1], piece, wire, 20_000));
      assertThat(trial.timePs(ask(CollectiveOp.ALL_GATHER, -1, all)))
          .as(what)
          .isEqualTo(gather(machine, size[0], size[1], wire, 20_000));
    }
  }

  /** Every operation, with parts of several lengths, at all roots, in all modes. */
  @ParameterizedTest
  @CsvSource({"2", "3", "5", "8"})
  void otherOperations_anyLength_areRightInAllModes(int ranks) {
    Machine machine = machine(ranks + 1);
    List<Pe> leads =
        IntStream.range(0, ranks).mapToObj(rank -> new Pe((rank + 1) % (ranks + 1), 0, 0)).toList();
    CollectiveTrial trial = trial(machine, leads, "algorithms.in_switch.chunk=1 KiB");
    for (CollectiveOp op : new InSwitch().operations()) {
      for (int root : op.hasRoot() ? new int[] {0, ranks - 1} : new int[] {-1}) {
        for (long elements : new long[] {1, ranks - 1, 1013}) {
          ReduceKind kind = op.reduces() ? ReduceKind.AVG : ReduceKind.SUM;
          var question = new CollectiveTrial.Question(op, kind, DType.BF16, root, elements);
          CollectiveTrial.Result full = trial.run(question, Mode.FULL);
          assertThat(full.problems()).as("%s", question).isEmpty();
          assertThat(trial.run(question, Mode.VALUES).problems()).as("%s", question).isEmpty();
          assertThat(trial.run(question, Mode.TIME).ps()).isEqualTo(full.ps());
        }
      }
    }
  }

  /** Bytes over the ports: up and down, of all ranks together, for vectors of S. */
  @ParameterizedTest
  @CsvSource({
    "REDUCE_SCATTER, 4, 1",
    "ALL_GATHER, 1, 3",
    "REDUCE, 4, 1",
    "BROADCAST, 1, 3",
    "ALL_REDUCE, 4, 4"
  })
  void operations_fourRanks_takePortsAsOftenAsTheyMust(CollectiveOp op, int up, int down) {
    Machine machine = machine(4);
    long bytes = 1 << 18;
    long[] over = new long[2];
    trial(machine)
        .run(
            ask(op, op.hasRoot() ? 1 : -1, bytes),
            Mode.TIME,
            SimulatorOptions.DEFAULT,
            (log, launch, queues) -> {
              TransferLog ways = log.transfers();
              for (int s = 0; s < ways.services(); s++) {
                if (machine.linkKind(ways.link(s)).isBetweenSips()) {
                  boolean goesDown = machine.linkFrom(ways.link(s)) == machine.switchOf(0, 0);
                  over[goesDown ? 1 : 0] += ways.chunkBytes(s);
                }
              }
            });
    assertThat(over).containsExactly(up * bytes, down * bytes);
  }

  /** None beats its bound, and long vectors near it: a reduce-scatter sends its own part too. */
  @ParameterizedTest
  @CsvSource({
    "REDUCE_SCATTER, 0.86, 0.875",
    "ALL_GATHER, 0.95, 1",
    "REDUCE, 0.95, 1",
    "BROADCAST, 0.95, 1"
  })
  void otherOperations_longVectors_nearTheirBounds(CollectiveOp op, double least, double most) {
    CollectiveTrial trial = trial(machine(8));
    CollectiveTrial.Result r = trial.run(ask(op, op.hasRoot() ? 0 : -1, 16 << 20), Mode.TIME);
    assertThat(r.problems()).isEmpty();
    assertThat(r.efficiency()).isBetween(least, most);
    assertThat(r.predictedPs().orElseThrow() / (double) r.ps()).isBetween(0.98, 1.02);
  }

  /** A switch adds up one part after the other, whoever gets them: as long as an all-reduce. */
  @Test
  void reduceScatter_slowSwitch_waitsForItsSums() {
    Machine half = machine(4, "system.sips.reduction_efficiency=0.5");
    String chunk = "algorithms.in_switch.chunk=16 KiB";
    long bytes = 1 << 20;
    long wire = 81_920; // 16 KiB at 200 B/ns
    var question = ask(CollectiveOp.REDUCE_SCATTER, -1, bytes);
    long fast = trial(machine(4), chunk).timePs(question);
    assertThat(trial(half, chunk).timePs(question)).isEqualTo(fast + 63 * wire);
    var gather = ask(CollectiveOp.ALL_GATHER, -1, bytes);
    assertThat(trial(half, chunk).timePs(gather))
        .isEqualTo(trial(machine(4), chunk).timePs(gather));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
  void sums_idleSwitch_takeTheClosedForm(int ranks) {
    for (int gigabytesPerSecond : new int[] {50, 200, 450}) {
      Machine machine =
          machine(ranks, "system.links.sip_to_sip.bandwidth=" + gigabytesPerSecond + " GB/s");
      for (int[] size : new int[][] {{64, 1}, {4096, 4}, {65_536, 4}, {1 << 20, 16}}) {
        int piece = size[0] / size[1];
        long wire = machine.specOf(machine.linkCount() - 1).rate().durationPs(piece);
        long ps = trial(machine, "algorithms.in_switch.chunk=" + piece + " B").timePs(sum(size[0]));
        assertThat(ps)
            .as("%s ranks, %s B in %s, %s GB/s", ranks, size[0], size[1], gigabytesPerSecond)
            .isEqualTo(o23(machine, size[0], size[1], wire, 20_000));
      }
    }
  }

  /** Every reduction and type, whole and in pieces, alone and among packages that take no part. */
  @ParameterizedTest
  @CsvSource({"2", "3", "5", "8"})
  void sums_anyReduction_areRightAndTheSameBitsInAllModes(int ranks) {
    Machine machine = machine(ranks + 1);
    List<Pe> leads =
        IntStream.range(0, ranks).mapToObj(rank -> new Pe((rank + 1) % (ranks + 1), 0, 0)).toList();
    CollectiveTrial trial = trial(machine, leads, "algorithms.in_switch.chunk=1 KiB");
    for (ReduceKind kind : ReduceKind.values()) {
      for (DType type : new DType[] {DType.F32, DType.BF16, DType.I32}) {
        var question = CollectiveTrial.Question.allReduce(kind, type, 1013);
        CollectiveTrial.Result full = trial.run(question, Mode.FULL);
        assertThat(full.problems()).as("%s", question).isEmpty();
        assertThat(trial.run(question, Mode.VALUES).problems()).as("%s", question).isEmpty();
        CollectiveTrial.Result time = trial.run(question, Mode.TIME);
        assertThat(time.problems()).isEmpty();
        assertThat(time.ps()).isEqualTo(full.ps());
      }
    }
  }

  /** S up and S down each port, to the byte; ranks send n S and the switch n S. */
  @ParameterizedTest
  @ValueSource(ints = {2, 3, 8})
  void sums_anyNumberOfRanks_takeEachPortOnceEachWay(int ranks) {
    Machine machine = machine(ranks);
    long bytes = 300_000;
    long[] over = new long[machine.linkCount()];
    trial(machine)
        .run(
            sum(bytes),
            Mode.TIME,
            SimulatorOptions.DEFAULT,
            (log, launch, queues) -> {
              TransferLog ways = log.transfers();
              for (int s = 0; s < ways.services(); s++) {
                over[ways.link(s)] += ways.chunkBytes(s);
              }
            });
    long ports = 0;
    for (int id = 0; id < over.length; id++) {
      if (machine.linkKind(id).isBetweenSips()) {
        assertThat(over[id]).as(machine.link(id).name()).isEqualTo(bytes);
        ports += over[id];
      }
    }
    assertThat(ports).isEqualTo(2 * ranks * bytes);
  }

  /** The bound is S/B, which a long vector nears and none beats. */
  @ParameterizedTest
  @ValueSource(ints = {2, 4, 16})
  void bound_reducingSwitch_isTheVectorOverThePort(int ranks) {
    CollectiveTrial reducing = trial(machine(ranks));
    long bytes = 8 << 20;
    CollectiveTrial.Result r = reducing.run(sum(bytes), Mode.TIME);
    assertThat(r.problems()).isEmpty();
    assertThat(r.bound().kind()).isEqualTo("in-switch traffic");
    assertThat(r.bound().ps()).isBetween(bytes * 5 - 1, bytes * 5); // 200 B/ns
    assertThat(r.efficiency()).isBetween(0.95, 1.0);
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    Machine plain = machine(ranks, "system.sips.reduces=false");
    Bounds.Bound ring =
        CollectiveTrial.of(
                plain,
                CollectiveLibrary.algorithm(config, "ring"),
                config.of("ring"),
                RankLevel.SIP,
                IntStream.range(0, ranks).mapToObj(sip -> new Pe(sip, 0, 0)).toList())
            .bound(sum(bytes));
    assertThat(ring.kind()).isEqualTo("traffic");
    long old = Math.round(bytes * 5.0 * 2 * (ranks - 1) / ranks);
    assertThat(ring.ps()).isBetween(old - 1, old + 1);
  }

  private Machine levels(String second, String more) throws IOException {
    Path file = folder.resolve("levels.yaml");
    Files.writeString(
        file,
        """
        description: two rings of which each place hangs on a switch
        extends: model-sips
        system:
          network:
            - {kind: ring, size: 2, bandwidth: 200 GB/s, latency: 100 ns}
            - {kind: switch, size: 3, bandwidth: 200 GB/s, latency: 100 ns%s}
        %s\
        """
            .formatted(second, more));
    return Machines.load(file.toString(), List.of());
  }

  private static List<Pe> sips(int... sips) {
    return IntStream.of(sips).mapToObj(sip -> new Pe(sip, 0, 0)).toList();
  }

  /** One of two switches, a port of 20 GB/s: all wait for it; sums at half a port's rate. */
  @Test
  void sums_slowPort_orSlowSwitch_takeItsTime() throws IOException {
    String chunk = "algorithms.in_switch.chunk=64 KiB";
    long bytes = 1 << 20;
    long wire = 327_680; // 64 KiB at 200 B/ns
    Machine usual = levels(", reduces: true", "");
    long ps = trial(usual, sips(1, 3, 5), chunk).timePs(sum(bytes));
    Machine slow = levels(", reduces: true", "  sips:\n    links: [\"5->switch1 20 GB/s\"]\n");
    assertThat(trial(slow, sips(1, 3, 5), chunk).timePs(sum(bytes)))
        .isEqualTo(ps + 16 * 9 * wire); // the last piece goes up 16 x 10 wires after the first
    assertThat(trial(slow, sips(0, 2, 4), chunk).timePs(sum(bytes))).isEqualTo(ps);
    Machine half = levels(", reduces: true, reduction_efficiency: 0.5", "");
    assertThat(trial(half, sips(1, 3, 5), chunk).timePs(sum(bytes)))
        .isEqualTo(
            ps + 15 * wire); // each sum but the first begins a wire later than the one before
    assertThat(MachineReport.text(half)).contains(", the switch reduces at 50 % of a port's rate");
  }

  @Test
  void groups_notOnOneSwitchThatReduces_areRefused() throws IOException {
    Machine levels = levels(", reduces: true", "");
    for (int[] group : new int[][] {{0, 1}, {0, 3}}) {
      assertThatThrownBy(() -> trial(levels, sips(group)))
          .isInstanceOf(CollectiveException.class)
          .hasMessageContaining("not all ranks hang on one switch that reduces");
    }
    Machine passing = levels("", "");
    assertThatThrownBy(() -> trial(passing, sips(1, 3)))
        .hasMessageContaining("not all ranks hang on one switch that reduces");
    Machine buffered = machine(3, "fabric.buffer=64 KiB", "fabric.virtual_channels=2");
    assertThatThrownBy(() -> trial(buffered)).hasMessageContaining("expected fabric.buffer");
  }

  /** Over their NICs, each of which pays for its message once. */
  @Test
  void sums_overNics_areRight() throws IOException {
    Path file = folder.resolve("nodes.yaml");
    Files.writeString(
        file,
        """
        description: three nodes of two packages, NICs on switches that reduce
        extends: model-sips
        system:
          network:
            - {kind: switch, size: 2, bandwidth: 200 GB/s, latency: 100 ns}
            - {kind: switch, size: 3, bandwidth: 50 GB/s, latency: 500 ns, reduces: true}
          nodes:
            packages: 2
            nics: 2
            bandwidth: 50 GB/s
            latency: 100 ns
            message_overhead: 300 ns
            link: {bandwidth: 60 GB/s, latency: 200 ns}
        """);
    Machine machine = Machines.load(file.toString(), List.of());
    CollectiveTrial trial = trial(machine, sips(1, 3, 5), "algorithms.in_switch.chunk=64 KiB");
    assertThat(trial.run(sum(100_000), Mode.FULL).problems()).isEmpty();
    long less = trial.timePs(sum(1 << 20));
    assertThat(trial.timePs(sum(2 << 20)) - less).isEqualTo(16 * (1_310_720L + 300_000));
  }

  private static long allReduce(Machine machine, List<Pe> leads, String algorithm, long bytes) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    return CollectiveTrial.of(
            machine,
            CollectiveLibrary.algorithm(config, algorithm),
            config.of(algorithm),
            RankLevel.SIP,
            leads)
        .timePs(sum(bytes));
  }

  /**
   * Rings of two whose places hang on switches, and the other way round: right in all modes, with
   * averages divided once, and a vector of one element too.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void levels_ofWhichOneAddsUp_areRightInAllModes(boolean bothAdd) throws IOException {
    Machine levels =
        bothAdd
            ? Machines.load(
                "2x-dgx-h100",
                List.of(
                    "system.network[0].size=4",
                    "system.nodes.packages=4",
                    "system.nodes.nics=4",
                    "system.network[0].reduces=true",
                    "system.network[1].reduces=true"))
            : levels(", reduces: true", "");
    CollectiveTrial trial =
        trial(levels, IntStream.range(0, levels.sips()).mapToObj(s -> new Pe(s, 0, 0)).toList());
    for (ReduceKind kind : ReduceKind.values()) {
      for (long elements : new long[] {1, 1013, 50_000}) {
        var question = CollectiveTrial.Question.allReduce(kind, DType.F32, elements);
        CollectiveTrial.Result full = trial.run(question, Mode.FULL);
        assertThat(full.problems()).as("%s", question).isEmpty();
        assertThat(trial.run(question, Mode.VALUES).problems()).isEmpty();
        assertThat(trial.run(question, Mode.TIME).ps()).isEqualTo(full.ps());
      }
    }
    assertThatThrownBy(() -> trial.run(ask(CollectiveOp.BROADCAST, 0, 64), Mode.TIME))
        .isInstanceOf(CollectiveException.class)
        .hasMessageContaining("goes through one switch only");
  }

  /**
   * Nodes of four on a switch that adds up, two nodes on rails of a quarter of its rate. Up a port
   * goes the vector S to be scattered and S/4 to be gathered, over a rail S/8 twice. Not less than
   * either, and not more than one phase after the other: a phase may begin with what is there.
   */
  @Test
  void levels_twoNodes_takeTheirSharesOfEachLevel() throws IOException {
    Path file = folder.resolve("rails.yaml");
    Files.writeString(
        file,
        """
        description: two nodes of four packages on a switch that reduces, joined by rails
        extends: model-sips
        system:
          network:
            - {kind: switch, size: 4, bandwidth: 200 GB/s, latency: 100 ns, reduces: true}
            - {kind: ring, size: 2, bandwidth: 50 GB/s, latency: 500 ns}
        """);
    Machine machine = Machines.load(file.toString(), List.of());
    List<Pe> all = IntStream.range(0, 8).mapToObj(s -> new Pe(s, 0, 0)).toList();
    long bytes = 16 << 20;
    double port = 1.25 * bytes / 200;
    double rail = 2 * (bytes / 8.0) / 50;
    double inNode = bytes / 200.0 + 0.75 * bytes / 200; // scattered, then gathered
    double ns = allReduce(machine, all, InSwitch.NAME, bytes) / 1e3;
    assertThat(ns).isBetween(Math.max(port, rail), 1.05 * (inNode + rail));
    assertThat(ns).isLessThan(allReduce(machine, all, "ring", bytes) / 1e3);
  }

  @Test
  void keys_thatDoNotFit_areRefused() {
    assertThatThrownBy(() -> levels(", reduces: maybe", "")).hasMessageContaining("true or false");
    assertThatThrownBy(() -> levels(", reduction_efficiency: 0.5", ""))
        .hasMessageContaining("network[1].reduction_efficiency: only a switch that adds up");
    assertThatThrownBy(() -> levels(", reduces: true, reduction_efficiency: 1.5", ""))
        .hasMessageContaining("a number above 0 and up to 1");
    assertThatThrownBy(() -> Machines.load("model-sips", List.of("system.sips.reduces=true")))
        .hasMessageContaining(
            "system.sips.reduces: only a switch adds up; expected topology: switch");
  }
}
