package org.kernbench.ccl.bounds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.Ideal;
import org.kernbench.ccl.OneSidedAllReduce;
import org.kernbench.ccl.library.AllReduceTest;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** Bounds equal the published ones of rings, meshes and tori, and no simulated run beats them. */
final class BoundsTest {
  private static final long S = 1 << 20;

  private static Bounds bounds(Machine machine, RankLevel level, int ranks) {
    return new Bounds(machine, Bed.leads(machine, level, ranks));
  }

  /** The table of {@code docs/spec/collectives.md} 4.2, in units of S/B. */
  @ParameterizedTest
  @CsvSource({
    "ring_1d, 6, auto, single, 0.8333",
    "ring_1d, 12, auto, single, 0.9167",
    "ring_1d, 2, auto, single, 1.0",
    "torus_2d, 6, 3, single, 0.5556",
    "torus_2d, 6, 3, double, 0.4167",
    "ring_1d, 2, auto, double, 0.5",
    "mesh_2d_no_wrap, 6, 3, single, 0.7143",
    "mesh_2d_no_wrap, 5, 5, single, 1.0",
    "mesh_2d_no_wrap, 9, 3, single, 0.6667",
    "torus_2d, 9, 3, single, 0.4444",
    "mesh_2d_no_wrap, 8, 4, single, 0.7",
    "mesh_2d_no_wrap, 16, 4, single, 0.625",
    "torus_2d, 16, 4, single, 0.46875",
    // Behind a switch every package sends S/n to each other one, twice: 2 (n - 1) / n.
    "switch, 2, auto, single, 1.0",
    "switch, 3, auto, single, 1.33333",
    "switch, 4, auto, single, 1.5",
    "switch, 8, auto, single, 1.75"
  })
  void traffic_packages_isTheStrengthOfTheirGraph(
      String topology, int count, String width, String wrap, double optimum) {
    Ideal ideal = new Ideal(0, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine =
        ideal.ring(
            count,
            "system.sips.topology=" + topology,
            "system.sips.w=" + width,
            "system.sips.wrap_pairs=" + wrap);
    double ps = bounds(machine, RankLevel.SIP, count).trafficPs(S);
    assertThat(ps / ideal.wirePs(S)).isCloseTo(optimum, within(5e-5));
  }

  /** Strength beyond what can be enumerated: 16 to 100 ranks, by minimum cuts. */
  @ParameterizedTest
  @CsvSource({
    "mesh_2d_no_wrap, 15, 5, 0.6364", // 22 links: 14/22
    "mesh_2d_no_wrap, 100, 10, 0.55", // 180 links: 99/180
    "torus_2d, 100, 10, 0.495", // 200 links: 99/200
    "torus_2d, 64, 8, 0.4921875",
    "ring_1d, 101, auto, 0.990099",
    "switch, 100, auto, 1.98",
    "switch, 200, auto, 1.99"
  })
  void traffic_manyPackages_isTheStrengthOfTheirGraph(
      String topology, int count, String width, double optimum) {
    Ideal ideal = new Ideal(0, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine =
        ideal.ring(count, "system.sips.topology=" + topology, "system.sips.w=" + width);
    double ps = bounds(machine, RankLevel.SIP, count).trafficPs(S);
    assertThat(ps / ideal.wirePs(S)).isCloseTo(optimum, within(5e-5));
  }

  /**
   * More ranks than cuts are tried for: what decides is still the links between packages, of which
   * each rank of a package has the same. In units of S/B, as of packages with one rank each.
   */
  @ParameterizedTest
  @CsvSource({"ring_1d, 2, auto, 1.0", "ring_1d, 3, auto, 0.66667", "mesh_2d_no_wrap, 4, 2, 0.75"})
  void traffic_manyRanksInPackages_isThatOfTheSlowLinksBetweenThem(
      String topology, int sips, String width, double optimum) {
    Machine machine =
        Machines.load(
            "sip-2026",
            List.of(
                "system.sips.count=" + sips,
                "system.sips.topology=" + topology,
                "system.sips.w=" + width,
                "system.sips.wrap_pairs=single",
                "system.links.sip_to_sip.bandwidth=1 GB/s"));
    int ranks = machine.peCount();
    assertThat(ranks).isGreaterThan(128);
    double ps = bounds(machine, RankLevel.PE, ranks).trafficPs(S);
    assertThat(ps / (S * 1000.0)).isCloseTo(optimum, within(2e-5));
  }

  /**
   * All other operations on packages with one link of B between neighbours, in units of S/B: by
   * hand, from the links of a package, the cut in the middle, or the loads of O16.
   */
  @ParameterizedTest
  @CsvSource({
    // topology, ranks, width, reduce-scatter and all-gather, broadcast, all-to-all (S/P to each)
    "ring_1d, 6, auto, 0.41667, 0.5, 0.75", // 5/6 over two links; two ways; P^2/8 / P
    "ring_1d, 5, auto, 0.4, 0.5, 0.6", // (P^2 - 1)/8 / P
    "torus_2d, 9, 3, 0.22222, 0.25, 0.33333", // 8/9 over four links; ring of 3: 1, times 3, / 9
    "mesh_2d_no_wrap, 6, 3, 0.41667, 0.5, 0.66667", // corners have two links; O16: 4 / 6
    "mesh_2d_no_wrap, 16, 4, 0.46875, 0.5, 1.0", // O16: 16 / 16
    "mesh_2d_no_wrap, 6, 6, 0.83333, 1.0, 1.5" // a line, O16: 9 / 6
  })
  void otherOperations_packages_areTheCutsByHand(
      String topology, int ranks, String width, double spread, double broadcast, double exchange) {
    Ideal ideal = new Ideal(0, 5, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine =
        ideal.ring(ranks, "system.sips.topology=" + topology, "system.sips.w=" + width);
    Bounds bounds = bounds(machine, RankLevel.SIP, ranks);
    long bytes = (1 << 20) * (long) ranks;
    List<Long> parts = java.util.Collections.nCopies(ranks, bytes / ranks);
    double wire = ideal.wirePs(bytes);
    assertThat(bounds.allGather(parts).ps() / wire).isCloseTo(spread, within(2e-5));
    assertThat(bounds.reduceScatter(parts).ps() / wire).isCloseTo(spread, within(2e-5));
    assertThat(bounds.broadcast(0, bytes).ps() / wire).isCloseTo(broadcast, within(2e-5));
    assertThat(bounds.reduce(0, bytes).ps() / wire).isCloseTo(broadcast, within(2e-5));
    List<List<Long>> sends = java.util.Collections.nCopies(ranks, parts);
    assertThat(bounds.allToAll(sends).ps() / wire).isCloseTo(exchange, within(2e-5));
    // The root of a gather has the links of a package for all parts but its own.
    assertThat(bounds.gather(0, parts).ps() / wire)
        .isCloseTo(broadcast * (ranks - 1) / ranks, within(2e-5));
    assertThat(bounds.scatter(0, parts).ps() / wire)
        .isCloseTo(broadcast * (ranks - 1) / ranks, within(2e-5));
  }

  /**
   * Who is left out passes bytes on: of 6 packages behind a switch 3, of a ring every other one.
   */
  @ParameterizedTest
  @CsvSource({"switch, 6, 2, 1.33333", "ring_1d, 6, 2, 0.66667", "ring_1d, 8, 4, 0.5"})
  void traffic_partOfThePackages_isThatOfTheirNetwork(
      String topology, int count, int stride, double optimum) {
    Ideal ideal = new Ideal(0, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine = ideal.ring(count, "system.sips.topology=" + topology);
    List<Pe> leads = new ArrayList<>();
    for (int sip = 0; sip < count; sip += stride) {
      leads.add(new Pe(sip, 0, 0));
    }
    double ps = new Bounds(machine, leads).trafficPs(S);
    assertThat(ps / ideal.wirePs(S)).isCloseTo(optimum, within(5e-5));
  }

  /** What the bound of a switch says can be had. */
  @Test
  void packedTrees_behindASwitch_isAtTheBound() {
    Ideal ideal = new Ideal(0, 5, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
    Machine machine = ideal.ring(4, "system.sips.topology=switch");
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    CollectiveTrial.Result result =
        CollectiveTrial.of(
                machine,
                CollectiveLibrary.algorithm(config, "packed_trees"),
                config.of("packed_trees"),
                RankLevel.SIP,
                Bed.leads(machine, RankLevel.SIP, 4))
            .run(CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F16, 8 << 20), Mode.TIME);
    assertThat(result.problems()).isEmpty();
    assertThat(result.bound().kind()).isEqualTo("traffic");
    assertThat(result.efficiency()).isGreaterThan(0.99);
  }

  @Test
  void barrier_packages_isOverheadAndDiameter() {
    Ideal ideal = new Ideal(7000, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Bounds bounds = bounds(ideal.ring(6), RankLevel.SIP, 6);
    assertThat(bounds.barrier()).isEqualTo(new Bounds.Bound(7000 + 300_000 - 4, "latency"));
    assertThat(bounds.pointToPoint(0, 5, 0).ps()).isEqualTo(107_000);
  }

  /** A message takes one way, as slow as its slowest link, however many others there are. */
  @Test
  void message_ofManyBytes_isAsSlowAsItsSlowestLink() {
    Machine torus = Machines.load("torus-4x4x4", List.of());
    Bounds bounds = new Bounds(torus, List.of(new Pe(0, 0, 0), new Pe(1, 0, 0)));
    Bounds.Bound bound = bounds.pointToPoint(0, 1, 8 << 20);
    assertThat(bound.kind()).isEqualTo("traffic");
    assertThat(bound.ps()).isBetween(167_772_160L, 169_500_000L); // 8 MiB at 50 GB/s, and latency
  }

  @Test
  void port_tensorsInMemory_countsLoadsAndStores() {
    // Ports of B only. By 6 ranks 10 S are sent through 6 ports; of tensors, 6 S enter the PEs.
    Ideal ideal = new Ideal(0, 5, 128, 512, Ideal.Bottleneck.PORT);
    Machine machine = ideal.ring(6);
    List<Pe> leads = Bed.leads(machine, RankLevel.SIP, 6);
    double wire = ideal.wirePs(S);
    Bounds.Bound resident = new Bounds(machine, leads).allReduce(S);
    Bounds.Bound tensors = Bounds.of(machine, leads).allReduce(S);
    assertThat(resident.ps() / wire).isCloseTo(10 / 6.0, within(1e-5));
    assertThat(tensors.ps() / wire).isCloseTo(1, within(1e-5));
    assertThat(tensors.kind()).isEqualTo("port");
  }

  @Test
  void traffic_cubesOfAPackage_isTheStrengthOfTheirMesh() {
    Ideal ideal = new Ideal(0, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    assertThat(bounds(ideal.mesh(4, 4), RankLevel.CUBE, 16).trafficPs(S) / (double) ideal.wirePs(S))
        .isCloseTo(0.625, within(1e-5));
    assertThat(bounds(ideal.mesh(3, 2), RankLevel.CUBE, 6).trafficPs(S) / (double) ideal.wirePs(S))
        .isCloseTo(0.7143, within(5e-5));
  }

  @ParameterizedTest
  @CsvSource({
    "ring_1d, 6, 3", "ring_1d, 7, 3", "torus_2d, 6, 2", "mesh_2d_no_wrap, 6, 3",
    "mesh_2d_no_wrap, 16, 6", "torus_2d, 16, 4", "ring_1d, 40, 20", "fully_connected, 6, 1"
  })
  void latency_packages_isOverheadAndDiameter(String topology, int count, int diameter) {
    Ideal ideal = new Ideal(7000, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine = ideal.ring(count, "system.sips.topology=" + topology);
    long ps = bounds(machine, RankLevel.SIP, count).latencyPs(0);
    // A package on the way is crossed without its PE: two picoseconds less than L for each.
    assertThat(ps).isEqualTo(7000 + diameter * 100_000L - 2L * (diameter - 1));
  }

  /** Nothing to exchange takes no time; a byte to oneself is nothing, one to another a message. */
  @Test
  void allToAll_ofNothing_takesNoTime() {
    Ideal ideal = new Ideal(7000, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Bounds bounds = bounds(ideal.ring(3), RankLevel.SIP, 3);
    List<Long> none = List.of(0L, 0L, 0L);
    assertThat(bounds.allToAll(List.of(none, none, none)))
        .isEqualTo(new Bounds.Bound(0, "latency"));
    assertThat(bounds.allToAll(List.of(List.of(9L, 0L, 0L), none, none)).ps()).isZero();
    assertThat(bounds.allToAll(List.of(List.of(9L, 1L, 0L), none, none)).ps())
        .isGreaterThanOrEqualTo(107_000);
  }

  /** Ranks that are many and lie in no order: the ends of the line are still found. */
  @Test
  void latency_ranksInAnyOrder_isThatOfTheLine() {
    Ideal ideal = new Ideal(7000, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine = ideal.ring(40, "system.sips.topology=mesh_2d_no_wrap", "system.sips.w=40");
    for (int seed = 0; seed < 5; seed++) {
      List<Pe> leads = new ArrayList<>(Bed.leads(machine, RankLevel.SIP, 40));
      Collections.shuffle(leads, new Random(seed));
      assertThat(new Bounds(machine, leads).latencyPs(0)).isEqualTo(7000 + 39 * 100_000L - 2 * 38);
    }
  }

  /** Two ranks that exchange one message each: o + L + S/B, and then an addition. */
  @Test
  void latency_twoRanksAndOneMessage_isAllButTheAddition() {
    Ideal ideal = new Ideal(7000, 100_000, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.PORT);
    Bounds bounds = bounds(ideal.ring(2), RankLevel.SIP, 2);
    assertThat(bounds.latencyPs(S)).isEqualTo(107_000 + ideal.wirePs(S));
  }

  @Test
  void allReduce_nothingToDo_isZero() {
    Machine machine = Machines.load("tiny", List.of());
    assertThat(bounds(machine, RankLevel.CUBE, 1).allReduce(S).ps()).isZero();
    assertThat(bounds(machine, RankLevel.CUBE, 4).allReduce(0).ps()).isZero();
  }

  @Test
  void bounds_4096Packages_areQuick() {
    Machine machine = Machines.load("ring", List.of("system.sips.count=4096"));
    Bounds.Bound bound = bounds(machine, RankLevel.SIP, 4096).allReduce(1024);
    assertThat(bound.kind()).isEqualTo("latency");
    assertThat(bound.ps()).isGreaterThan(2048 * 250_000L);
  }

  @Test
  void allReduce_everyAlgorithmAndSize_isNeverBeaten() {
    List<AllReduceTest.Case> cases = AllReduceTest.cases().filter(c -> c.ranks() > 1).toList();
    for (AllReduceTest.Case c : cases) {
      List<Pe> leads = Bed.leads(c.machine(), c.level(), c.ranks());
      Bounds bounds = Bounds.of(c.machine(), leads);
      int[] sizes = c.ranks() > 20 ? new int[] {1, 20_000} : new int[] {1, 1000, 15_000};
      for (int n : sizes) {
        try (Bed bed = Bed.open(c.machine(), Mode.TIME)) {
          List<Shard> shards = bed.vectors(leads, DType.F16, n);
          long ps =
              bed.allReduce(c.library().connect(leads), leads, ReduceKind.SUM, shards).criticalPs();
          assertThat(ps)
              .as("%s, %d elements, %s", c, n, bounds.allReduce(2L * n))
              .isGreaterThanOrEqualTo(bounds.allReduce(2L * n).ps());
        }
      }
    }
  }

  /** Kernels may read and write each other's memory: then far less passes the ports of PEs. */
  @ParameterizedTest
  @CsvSource({
    "ring, SIP, 2",
    "ring, SIP, 6",
    "tiny, PE, 2",
    "tiny, PE, 8",
    "tiny, CUBE, 4",
    "sip-2026, CUBE, 96",
    "sip-2026, PE, 8",
    "sip-2026-hbm3e, CUBE, 16",
    "dgx-a100, SIP, 8"
  })
  void allReduce_ofOneSidedAccesses_isNotBelow(String preset, RankLevel level, int ranks) {
    Machine machine = Machines.load(preset, List.of());
    isNotBelow(machine, Bed.leads(machine, level, ranks));
  }

  @Test
  void allReduce_ofOneSidedAccessesThroughNarrowPorts_isNotBelow() {
    Ideal ideal = new Ideal(5000, 5, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.PORT);
    Machine machine = ideal.ring(6);
    isNotBelow(machine, Bed.leads(machine, RankLevel.SIP, 6));
  }

  private static void isNotBelow(Machine machine, List<Pe> leads) {
    AlgorithmConfig config = CclConfig.load(Optional.empty(), List.of()).of("ring");
    CollectiveTrial trial =
        CollectiveTrial.of(machine, new OneSidedAllReduce(), config, RankLevel.SIP, leads);
    for (int elements : new int[] {leads.size(), 20_000, 500_000}) {
      CollectiveTrial.Question question =
          CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F16, elements);
      Mode mode = elements < 50_000 ? Mode.FULL : Mode.TIME;
      assertThat(trial.run(question, mode).problems()).isEmpty();
    }
  }

  @Test
  void rootCenterPipelined_longVector_isNearTheWire() {
    // The pipelined tree tends to S/B, whatever its depth; without a pipeline it is 2 D S/B.
    Ideal ideal = new Ideal(1000, 32_000, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
    Machine machine = ideal.mesh(4, 4);
    List<Pe> leads = Bed.leads(machine, RankLevel.CUBE, 16);
    List<Double> inUnits = new ArrayList<>();
    for (String algorithm : List.of("root_center", "root_center_pipelined")) {
      CclConfig config =
          CclConfig.load(
              Optional.empty(),
              List.of("defaults.algorithm=" + algorithm, "defaults.chunk=32 KiB"));
      try (Bed bed = Bed.open(machine, Mode.TIME)) {
        List<Shard> shards = bed.vectors(leads, DType.F16, 4 << 20);
        long ps =
            bed.allReduce(
                    CollectiveLibrary.open(machine, config).connect(leads),
                    leads,
                    ReduceKind.SUM,
                    shards)
                .criticalPs();
        inUnits.add(ps / (double) ideal.wirePs(8 << 20));
      }
    }
    assertThat(inUnits.get(0)).isBetween(7.9, 8.3);
    assertThat(inUnits.get(1)).isBetween(1.0, 1.1);
  }

  /** A long ring's bound comes from two short rings; compared here where both can be had. */
  @ParameterizedTest
  @CsvSource({"130, 4", "200, 65536", "255, 1048576", "301, 1024", "200, 1073741824"})
  void allReduce_onALongRing_isThatOfAllItsRanks(int ranks, long bytes) {
    Machine machine = Machines.load("ring", List.of("system.sips.count=" + ranks));
    List<Pe> leads = IntStream.range(0, ranks).mapToObj(sip -> new Pe(sip, 0, 0)).toList();
    Bounds.Bound whole = Bounds.of(machine, leads).allReduce(bytes);
    Bounds.Bound fromTwo = Bounds.onLongRing(machine, bytes);
    assertThat(fromTwo).isEqualTo(whole);
  }

  /** What a switch adds up leaves each rank once and comes back once, whatever their number. */
  @ParameterizedTest
  @ValueSource(ints = {4, 100, 128, 129, 200})
  void trafficOfASwitchThatAddsUp_isOneVectorThroughEachPort(int ranks) {
    Machine machine =
        Machines.load(
            "ring",
            List.of(
                "system.sips.count=" + ranks,
                "system.sips.topology=switch",
                "system.sips.reduces=true"));
    List<Pe> leads = IntStream.range(0, ranks).mapToObj(i -> new Pe(i, 0, 0)).toList();
    long bytes = 64 << 20;
    double seconds = bytes / 200e9;
    assertThat(new Bounds(machine, leads).trafficPs(bytes) / 1e12)
        .isCloseTo(seconds, within(1e-6 * seconds));
  }
}
