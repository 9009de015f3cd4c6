package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Ideal;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;
import org.kernbench.torch.placement.RankLevel;

/**
 * Several rings at once: what each link carries, by hand; the time, by a closed form on machines on
 * which only links and additions take any ({@link Ideal}); the values, by {@link CollectiveTrial}.
 */
final class ManyRingsTest {
  private static final int FLOAT = 4;
  private static final String COMPLETE = "system.sips.topology=fully_connected";
  private static final List<CollectiveOp> OPERATIONS =
      List.of(CollectiveOp.ALL_REDUCE, CollectiveOp.REDUCE_SCATTER, CollectiveOp.ALL_GATHER);

  private static AlgorithmConfig config(CollectiveOp op, String rings, String... overrides) {
    String name = op == CollectiveOp.ALL_REDUCE ? "ring" : "cycle";
    List<String> all = new ArrayList<>(List.of(overrides));
    all.add("algorithms." + name + ".rings=" + rings);
    return CclConfig.load(Optional.empty(), all).of(name);
  }

  private static Schedule plan(CollectiveOp op, Group group, AlgorithmConfig config) {
    var algorithm = op == CollectiveOp.ALL_REDUCE ? new RingAllReduce() : new Cycle();
    return algorithm.plan(group, config.queues(group.machine().ipcq()), config);
  }

  private static Group sips(Machine machine, int n) {
    return new Group(machine, RankLevel.SIP, Bed.leads(machine, RankLevel.SIP, n));
  }

  /** A call on vectors of their own; its time, and what every link between packages carried. */
  private record Run(long ps, Map<String, Long> bytesOfLinks) {
    static Run of(CollectiveOp op, Group group, AlgorithmConfig config, int elements) {
      int n = group.size();
      List<Part> parts = new ArrayList<>();
      for (int rank = 0; rank < n; rank++) {
        parts.add(
            op.hasParts()
                ? new Part((long) elements / n * rank, elements / n)
                : new Part(0, elements));
      }
      Schedule schedule = plan(op, group, config);
      try (Bed bed = Bed.open(group.machine(), Mode.TIME)) {
        List<Optional<Shard>> x = new ArrayList<>();
        List<Optional<Shard>> y = new ArrayList<>();
        for (Pe lead : group.leads()) {
          x.add(Optional.of(bed.vector(lead, DType.F32, elements)));
          y.add(Optional.of(bed.vector(lead, DType.F32, elements)));
        }
        CollectiveCall call =
            new CollectiveCall(
                op, ReduceKind.SUM, DType.F32, -1, elements, parts, Splits.NONE, List.of(), x, y);
        Schedule.RankProgram program = schedule.program(call);
        QueuePlan queues =
            new QueuePlan(config.queues(group.machine().ipcq()), schedule.connections(call));
        long ps =
            bed.run(
                    queues,
                    group.leads(),
                    tl -> {
                      int rank = group.rankOf(tl.pe());
                      program.run(
                          tl, rank, Payload.of(call, rank), new Reduction(ReduceKind.SUM, n));
                    })
                .criticalPs();
        return new Run(ps, bytesOfLinks(group.machine(), bed.simulator.opLog()));
      }
    }

    private static Map<String, Long> bytesOfLinks(Machine machine, OpLog log) {
      Map<String, Long> bytes = new TreeMap<>();
      TransferLog ways = log.transfers();
      for (int service = 0; service < ways.services(); service++) {
        int link = ways.link(service);
        int op = ways.op(ways.partOf(service));
        if (machine.linkKind(link).isBetweenSips() && log.kind(op) == OpKind.SEND) {
          bytes.merge(machine.link(link).name(), (long) ways.chunkBytes(service), Long::sum);
        }
      }
      return bytes;
    }
  }

  // ---- bytes ----

  /** By hand: of 12 n (n - 1) elements each rank's part goes n - 1 links in each of n - 1 rings. */
  @ParameterizedTest
  @ValueSource(ints = {3, 5, 7, 8, 9, 10})
  void allRings_ofAnyNumberButFourAndSix_loadEveryLinkAlike(int n) {
    Machine m = Machines.load("ring", List.of("system.sips.count=" + n, COMPLETE));
    int elements = 12 * n * (n - 1);
    for (CollectiveOp op : OPERATIONS) {
      Map<String, Long> bytes = Run.of(op, sips(m, n), config(op, "all"), elements).bytesOfLinks();
      long each = (op == CollectiveOp.ALL_REDUCE ? 2L : 1L) * elements / n * FLOAT;
      assertThat(bytes).as("%s of %d: links", op, n).hasSize(n * (n - 1));
      assertThat(bytes.values()).as("%s of %d", op, n).containsOnly(each);
    }
  }

  /**
   * Where there are fewer rings, or fewer are asked for, their links carry more, others nothing.
   */
  @ParameterizedTest
  @CsvSource({"4, all, 2", "4, 2, 2", "6, all, 4", "6, 3, 3", "8, 2, 2", "5, 3, 3"})
  void rings_fewerThanLinks_loadTheirLinksAlike(int n, String rings, int number) {
    Machine m = Machines.load("ring", List.of("system.sips.count=" + n, COMPLETE));
    int elements = 12 * n * number;
    for (CollectiveOp op : OPERATIONS) {
      Map<String, Long> bytes = Run.of(op, sips(m, n), config(op, rings), elements).bytesOfLinks();
      int steps = (op == CollectiveOp.ALL_REDUCE ? 2 : 1) * (n - 1);
      assertThat(bytes).as("%s of %d: links", op, n).hasSize(n * number);
      assertThat(bytes.values())
          .as("%s of %d", op, n)
          .containsOnly((long) steps * elements / n / number * FLOAT);
    }
  }

  // ---- time ----

  private static final Ideal FREE =
      new Ideal(20_000, 250_000, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
  private static final Ideal ADDS = new Ideal(20_000, 250_000, 128, 512, Ideal.Bottleneck.LINK);
  private static final int MESSAGE = 1024;

  /** The time beyond load, store, and so many steps of a message. */
  private static long beyondSteps(CollectiveOp op, Ideal ideal, int n, int rings) {
    Machine m = ideal.ring(n, COMPLETE);
    long s = (long) MESSAGE * FLOAT;
    int steps = (op == CollectiveOp.ALL_REDUCE ? 2 : 1) * (n - 1);
    AlgorithmConfig config = config(op, "" + rings, "defaults.chunk=1 MiB");
    return Run.of(op, sips(m, n), config, MESSAGE * n * rings).ps()
        - steps * (ideal.occupancyPs(s) + ideal.latencyPs())
        - ideal.loadPs(m, s)
        - ideal.storePs(m, s);
  }

  /**
   * O24 of {@code docs/spec/collectives.md}. The R messages that set out together take the port of
   * their PE one after the other, a picosecond each, and then stay so far apart; so do additions,
   * of which the last ring waits once for those of the others.
   */
  @ParameterizedTest
  @CsvSource({"3, 2", "4, 2", "5, 2", "5, 4", "7, 2", "9, 2"})
  void time_ringsThatMeetOnce_isO24ToThePicosecond(int n, int rings) {
    assertThat(beyondSteps(CollectiveOp.ALL_GATHER, FREE, n, rings)).isEqualTo(rings - 1);
    long additions = (n - 1 + rings - 1) * ADDS.addPs(MESSAGE * FLOAT);
    assertThat(beyondSteps(CollectiveOp.REDUCE_SCATTER, ADDS, n, rings)).isEqualTo(additions);
    assertThat(beyondSteps(CollectiveOp.ALL_REDUCE, ADDS, n, rings)).isEqualTo(additions);
  }

  /**
   * Where rings come to their ranks in changing order they meet again: two picoseconds for each
   * message of a rank on its port, and at most the additions of all rings at each step.
   */
  @ParameterizedTest
  @CsvSource({"5, 4", "6, 4", "7, 6", "8, 7", "8, 3", "9, 8", "10, 9"})
  void time_anyRings_isBetweenO24WithoutAndWithAllMeetings(int n, int rings) {
    long port = 2L * rings * (n - 1);
    assertThat(beyondSteps(CollectiveOp.ALL_GATHER, FREE, n, rings)).isBetween(0L, port);
    long add = ADDS.addPs(MESSAGE * FLOAT);
    for (CollectiveOp op : List.of(CollectiveOp.REDUCE_SCATTER, CollectiveOp.ALL_REDUCE)) {
      assertThat(beyondSteps(op, ADDS, n, rings))
          .isBetween((n - 1) * add, (n - 1) * rings * add + 2 * port);
    }
  }

  /** A chain of sends pays the step of a protocol once for all rings. */
  @Test
  void allReduce_withAProtocol_paysAStepForAllRingsTogether() {
    List<String> box =
        List.of(
            "system.sips.count=5",
            COMPLETE,
            "system.links.sip_to_sip.bandwidth=100 GB/s",
            "software.collective.protocols.ll.base=0 us",
            "software.collective.protocols.ll.step=100 us");
    Machine m = Machines.load("dgx-a100", box);
    CollectiveOp op = CollectiveOp.ALL_REDUCE;
    AlgorithmConfig config = config(op, "all", "algorithms.ring.protocol=ll");
    long ps = Run.of(op, sips(m, 5), config, 20).ps();
    assertThat(ps / 1e6).isBetween(8 * 100.0, 9 * 100.0); // 8 steps, and messages of 1 us or two
  }

  /**
   * The copies of a rank are one after the other and beside all else: a call takes at least what
   * its bytes take at the protocol's share of all rings' links, and at most a third more, steps
   * apart. With copies that hold up the kernel it took three times as long, and longer than one
   * ring.
   */
  @Test
  void allReduce_withAProtocol_isAsQuickAsTheCopiesOfAllRings() {
    List<String> box =
        List.of("system.sips.count=4", COMPLETE, "system.links.sip_to_sip.bandwidth=100 GB/s");
    Machine m = Machines.load("dgx-a100", box);
    CollectiveOp op = CollectiveOp.ALL_REDUCE;
    int elements = 4 << 20;
    long many =
        Run.of(op, sips(m, 4), config(op, "all", "algorithms.ring.protocol=simple"), elements).ps();
    long one =
        Run.of(op, sips(m, 4), config(op, "1", "algorithms.ring.protocol=simple"), elements).ps();

    double stepsPs = (8.4 + 6 * 3.4) * 1e6; // published: base, and a step six times
    double copiesPs = 1.5 * elements * FLOAT / (2 * 100e9 * 0.8) * 1e12;
    assertThat(many - stepsPs).isGreaterThanOrEqualTo(copiesPs);
    assertThat(many).isLessThan(one * 3 / 4);
  }

  // ---- values ----

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 6, 7, 8})
  void values_anyLength_areThoseOfTheReference(int n) {
    Machine m = Machines.load("ring", List.of("system.sips.count=" + n, COMPLETE));
    List<Pe> leads = new ArrayList<>(Bed.leads(m, RankLevel.SIP, n));
    leads.add(leads.removeFirst()); // ranks that are not in the order of their packages
    DType[] types = {DType.F32, DType.F16, DType.BF16, DType.I32};
    for (CollectiveOp op : OPERATIONS) {
      for (int slots : new int[] {1, 8}) {
        AlgorithmConfig config =
            config(op, "all", "defaults.slots=" + slots, "defaults.slot_size=64 B");
        var algorithm = op == CollectiveOp.ALL_REDUCE ? new RingAllReduce() : new Cycle();
        CollectiveTrial trial = CollectiveTrial.of(m, algorithm, config, RankLevel.SIP, leads);
        for (int elements : new int[] {1, n - 1, 7 * n, 331, 1024}) {
          var question =
              new CollectiveTrial.Question(
                  op, ReduceKind.SUM, types[(n + elements) % types.length], -1, elements);
          assertThat(trial.run(question, Mode.FULL).problems())
              .as("%s on %d with %d slots", question, n, slots)
              .isEmpty();
        }
      }
    }
  }

  // ---- what is refused ----

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "6|ring_1d|2|got 2, but rings would share link",
        "6|torus_2d|all|got all, but rings would share link",
        "4|switch|all|got all, but rings would share link",
        "4|fully_connected|3|got 3; 4 packages joined each to each have 2",
        "6|fully_connected|5|got 5; 6 packages joined each to each have 4",
        "2|fully_connected|2|got 2; 2 packages joined each to each have 1",
      })
  void rings_thatWouldShareLinks_areRefusedInOneMessage(
      int n, String topology, String rings, String message) {
    Machine m =
        Machines.load(
            "ring", List.of("system.sips.count=" + n, "system.sips.topology=" + topology));
    for (CollectiveOp op : OPERATIONS) {
      assertThatThrownBy(() -> plan(op, sips(m, n), config(op, rings)))
          .isInstanceOf(CollectiveException.class)
          .hasMessageContaining("rings: " + message)
          .hasMessageContaining(": use ");
    }
  }

  @Test
  void rings_severalRanksOnAPackage_areRefused() {
    Machine m = Machines.load("sip-2026", List.of("system.sips.count=4", COMPLETE));
    Group group = new Group(m, RankLevel.CUBE, Bed.leads(m, RankLevel.CUBE, 8));
    assertThatThrownBy(
            () -> plan(CollectiveOp.ALL_REDUCE, group, config(CollectiveOp.ALL_REDUCE, "2")))
        .isInstanceOf(CollectiveException.class)
        .hasMessageContaining("ranks 0 and 1 are on one package");
  }

  /** Three packages in a ring are joined each to each. */
  @Test
  void rings_ofThreeInARing_goBothWays() {
    Machine m = Machines.load("ring", List.of("system.sips.count=3"));
    CollectiveOp op = CollectiveOp.ALL_REDUCE;
    assertThat(Run.of(op, sips(m, 3), config(op, "all"), 36).bytesOfLinks()).hasSize(6);
    assertThat(Run.of(op, sips(m, 3), config(op, "1"), 36).bytesOfLinks()).hasSize(3);
  }
}
