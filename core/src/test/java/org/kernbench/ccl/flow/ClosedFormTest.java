package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Ideal;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.algorithms.Dissemination;
import org.kernbench.ccl.flow.GridFlow.Colour;
import org.kernbench.ccl.flow.GridFlow.Phase;
import org.kernbench.ccl.flow.Phases.Reach;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.OpKind;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;
import org.kernbench.torch.placement.RankLevel;

/**
 * Drawn algorithms against the closed forms O3 to O22 of {@code docs/spec/collectives.md}, on
 * machines that fulfil their assumptions ({@link Ideal}): only the links between ranks take time,
 * every PE has a message channel for each of its links, commands cost nothing.
 *
 * <p>Exact means to the picosecond. What the forms leave out costs a picosecond each time on these
 * machines, for no rate is infinite: a message on a PE's port when another goes out or comes in at
 * once, and an addition where gamma is to be 0. Where that can happen the time may be off by two
 * picoseconds for each message in a row, and never be less.
 */
final class ClosedFormTest {
  private static final int FLOAT = 4;
  private static final long O = 20_000;
  private static final long L = 250_000;
  private static final Ideal IDEAL = new Ideal(O, L, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
  private static final Ideal GAMMA = new Ideal(O, L, 128, 512, Ideal.Bottleneck.LINK);

  // ---- running ----

  private static Group sips(Machine machine, int n) {
    return new Group(machine, RankLevel.SIP, Bed.leads(machine, RankLevel.SIP, n));
  }

  /** A mesh of cubes; messages go in pieces, so that a load need not wait for a whole one. */
  private static Machine mesh(Ideal ideal, int width, int height) {
    return ideal.mesh(width, height, "fabric.chunk=512 B");
  }

  private static Group cubes(Machine machine) {
    int n = machine.cubesPerSip();
    return new Group(machine, RankLevel.CUBE, Bed.leads(machine, RankLevel.CUBE, n));
  }

  /** The one drawing of a built-in algorithm that has a certain property. */
  private static Dataflow drawing(Group group, String algorithm, CollectiveOp op, int number) {
    AlgorithmConfig config = CclConfig.load(Optional.empty(), List.of()).of("ring");
    DrawnAlgorithm drawn = (DrawnAlgorithm) CollectiveLibrary.builtIn(algorithm);
    return drawn.artist(group, config).draw(op, op.hasRoot() ? 0 : -1).get(number);
  }

  /** Time of a drawing with a vector in so many chunks, one behind the other. */
  private static long simulate(
      Group group, Dataflow flow, CollectiveOp op, long bytes, int chunks) {
    return simulate(group, flow, op, bytes, chunks, 0.006);
  }

  /** Asserts also that the forecast is as near as {@code tolerance}. */
  private static long simulate(
      Group group, Dataflow flow, CollectiveOp op, long bytes, int chunks, double tolerance) {
    FlowSteps steps = new FlowSteps(flow);
    int n = group.size();
    int elements = (int) (bytes / FLOAT);
    List<Part> parts = new ArrayList<>();
    for (int rank = 0; rank < n; rank++) {
      parts.add(
          op.hasParts()
              ? new Part((long) elements / n * rank, elements / n)
              : new Part(0, elements));
    }
    Splits splits = op == CollectiveOp.ALL_TO_ALL ? Splits.even(n, elements / n) : Splits.NONE;
    FlowCut cut =
        op == CollectiveOp.ALL_TO_ALL
            ? FlowCut.blocks(splits, chunks)
            : op.hasParts()
                ? FlowCut.shares(parts, flow.weights(), chunks)
                : FlowCut.even(elements, chunks, flow.weights());
    FlowPace pace = new FlowPace(chunks, 1, 1, false);
    FlowKernel program = new FlowKernel(steps, cut, pace, DType.F32);
    try (Bed bed = Bed.open(group.machine(), Mode.TIME)) {
      List<Optional<Shard>> x = new ArrayList<>();
      List<Optional<Shard>> y = new ArrayList<>();
      for (int rank = 0; rank < n; rank++) {
        x.add(Optional.of(bed.vector(group.lead(rank), DType.F32, elements)));
        y.add(Optional.of(bed.vector(group.lead(rank), DType.F32, elements)));
      }
      CollectiveCall call =
          new CollectiveCall(
              op,
              ReduceKind.SUM,
              DType.F32,
              op.hasRoot() ? 0 : -1,
              elements,
              parts,
              splits,
              List.of(),
              x,
              y);
      Kernel kernel =
          tl -> {
            int rank = group.rankOf(tl.pe());
            Payload vector = Payload.of(call, rank);
            program.run(tl, rank, vector, new Reduction(ReduceKind.SUM, n));
          };
      QueuePlan queues = new QueuePlan(group.machine().ipcq(), steps.connections(group));
      long ps = bed.run(queues, group.leads(), kernel).criticalPs();
      FlowForecast forecast = new FlowForecast(group, group.machine().ipcq(), steps);
      assertThat((double) forecast.timePs(cut, pace, FLOAT))
          .as("forecast of %d ps", ps)
          .isBetween((1 - tolerance) * ps, (1 + tolerance) * ps);
      return ps;
    }
  }

  private static long loadAndStore(Ideal ideal, Machine machine, long bytes) {
    return ideal.loadPs(machine, bytes) + ideal.storePs(machine, bytes);
  }

  private static long hop(Ideal ideal, long bytes) {
    return ideal.occupancyPs(bytes) + ideal.latencyPs();
  }

  /** Not before its closed form, and no later than what it leaves out can explain. */
  private static void assertTakes(String what, long simulated, long expected, int messages) {
    assertThat(simulated - expected)
        .as("%s: simulated %d, closed form %d", what, simulated, expected)
        .isBetween(0L, 2L * messages);
  }

  // ---- rings ----

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 5, 6, 7, 8, 9, 16})
  void ring_halves_takeO4(int p) {
    for (Ideal ideal : new Ideal[] {IDEAL, GAMMA}) {
      Group group = sips(ideal.ring(p), p);
      long bytes = 16_384L * p;
      long ends = loadAndStore(ideal, group.machine(), bytes / p);
      Dataflow scatter = drawing(group, "torus", CollectiveOp.REDUCE_SCATTER, 0);
      assertThat(simulate(group, scatter, CollectiveOp.REDUCE_SCATTER, bytes, 1))
          .as("RS %d", p)
          .isEqualTo((p - 1) * (hop(ideal, bytes / p) + ideal.addPs(bytes / p)) + ends);
      Dataflow gather = drawing(group, "torus", CollectiveOp.ALL_GATHER, 0);
      assertThat(simulate(group, gather, CollectiveOp.ALL_GATHER, bytes, 1))
          .as("AG %d", p)
          .isEqualTo((p - 1) * hop(ideal, bytes / p) + ends);
    }
  }

  /**
   * O3; on an even ring the block opposite goes half each way from its first message on, not only
   * in the last step, so a step is {@code o + L + b/(2B)} (ADR 0020).
   */
  @ParameterizedTest
  @ValueSource(ints = {3, 4, 5, 6, 7, 8, 9, 16})
  void ringBidirectional_halfDistance_takesO3(int p) {
    Group group = sips(IDEAL.ring(p), p);
    long bytes = 16_384L * p;
    long block = bytes / p;
    long form = p % 2 == 1 ? (p - 1) / 2 * hop(IDEAL, block) : p / 2 * hop(IDEAL, block / 2);
    long ofSpecification =
        p % 2 == 1 ? form : (p / 2 - 1) * hop(IDEAL, block) + hop(IDEAL, block / 2);
    assertThat(form).isLessThanOrEqualTo(ofSpecification);
    long ends = loadAndStore(IDEAL, group.machine(), block);
    Dataflow gather = drawing(group, "ring_bidirectional", CollectiveOp.ALL_GATHER, 0);
    assertTakes("AG", simulate(group, gather, CollectiveOp.ALL_GATHER, bytes, 1), form + ends, 2);
    Dataflow all = drawing(group, "ring_bidirectional", CollectiveOp.ALL_REDUCE, 0);
    assertTakes("AR", simulate(group, all, CollectiveOp.ALL_REDUCE, bytes, 1), 2 * form + ends, p);
  }

  @Test
  void ringBidirectional_exampleOfTheSpecification_takes680() {
    Ideal ideal = new Ideal(20_000, 100_000, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
    long block = 98_304 / 6;
    long form = 2 * hop(ideal, block) + hop(ideal, block / 2);
    assertThat(form).isEqualTo(680_000);
    Group group = sips(ideal.ring(6), 6);
    Dataflow gather = drawing(group, "ring_bidirectional", CollectiveOp.ALL_GATHER, 0);
    assertThat(simulate(group, gather, CollectiveOp.ALL_GATHER, 98_304, 1))
        .isBetween(552_000L, 552_020L); // 3 (o + L + b/(2B)), which is less
  }

  /** O5: the whole vector along a line to rank 0, added on its way, and back. */
  @ParameterizedTest
  @ValueSource(ints = {2, 3, 6})
  void helloSend_wholeVectors_takeO5(int p) {
    Group group = sips(GAMMA.ring(p), p);
    long s = 16_384;
    CclConfig config =
        CclConfig.load(
            Optional.empty(),
            List.of("defaults.algorithm=hello_send", "algorithms.hello_send.rank_level=sip"));
    try (Bed bed = Bed.open(group.machine(), Mode.TIME)) {
      long ps =
          bed.allReduce(
                  CollectiveLibrary.open(group.machine(), config).connect(group.leads()),
                  group.leads(),
                  ReduceKind.SUM,
                  bed.vectors(group.leads(), DType.F32, (int) s / FLOAT))
              .criticalPs();
      assertThat(ps)
          .isEqualTo(
              2 * (p - 1) * hop(GAMMA, s)
                  + (p - 1) * GAMMA.addPs(s)
                  + loadAndStore(GAMMA, group.machine(), s));
    }
  }

  @Test
  void axes_someOfARing_areARingOrALine() {
    Machine six = IDEAL.ring(6);
    assertThat(isRing(six, 0, 2, 4)).as("every second").isTrue();
    assertThat(isRing(six, 0, 1, 2, 3, 4)).as("all but one, with a hop over it").isTrue();
    assertThat(isRing(six, 0, 1, 2)).as("neighbours, with the way there for a way back").isFalse();
  }

  private static boolean isRing(Machine machine, int... sips) {
    List<Pe> leads = IntStream.of(sips).mapToObj(sip -> new Pe(sip, 0, 0)).toList();
    return Axes.of(new Group(machine, RankLevel.SIP, leads)).axis(0).closed();
  }

  // ---- tori and meshes ----

  private static Group torus(Ideal ideal, int x, int y) {
    return sips(
        ideal.ring(
            x * y, "system.sips.topology=torus_2d", "system.sips.w=" + x, "system.sips.h=" + y),
        x * y);
  }

  /** One dimension after the other, the blocks of the second joined before they go back. */
  private static Dataflow joined(Group group, Reach x, Reach y) {
    Axes axes = Axes.of(group);
    List<Phase> phases = new ArrayList<>();
    phases.add(new Phase(0, x, false));
    if (axes.count() > 1) {
      phases.add(new Phase(1, y, false));
    }
    return GridFlow.draw(axes, CollectiveOp.ALL_REDUCE, List.of(new Colour(1, phases)), true);
  }

  @ParameterizedTest
  @CsvSource({"3, 2", "3, 3", "4, 3", "4, 4", "5, 3", "2, 2"})
  void torus_oneWay_takesO6(int x, int y) {
    for (Ideal ideal : new Ideal[] {IDEAL, GAMMA}) {
      Group group = torus(ideal, x, y);
      long s = 16_384L * x * y;
      Reach ofX = x > 2 ? Reach.ONE_WAY : Reach.LINE;
      Reach ofY = y > 2 ? Reach.ONE_WAY : Reach.LINE;
      long form =
          2L * (x - 1) * hop(ideal, s / x)
              + 2L * (y - 1) * hop(ideal, s / x / y)
              + (x - 1) * ideal.addPs(s / x)
              + (y - 1) * ideal.addPs(s / x / y);
      // Joining is a store and a load between the all-gathers.
      long ends = 2 * loadAndStore(ideal, group.machine(), s);
      assertTakes(
          x + "x" + y,
          simulate(group, joined(group, ofX, ofY), CollectiveOp.ALL_REDUCE, s, 1),
          form + ends,
          2);
    }
  }

  @ParameterizedTest
  @CsvSource({"3, 3", "5, 3", "5, 5"})
  void torus_twoWay_takesO7(int x, int y) {
    Group group = torus(IDEAL, x, y);
    long s = 16_384L * x * y;
    long form = (x - 1) * hop(IDEAL, s / x) + (y - 1) * hop(IDEAL, s / x / y);
    long ends = 2 * loadAndStore(IDEAL, group.machine(), s);
    Dataflow flow = joined(group, Reach.TWO_WAY, Reach.TWO_WAY);
    assertTakes(
        x + "x" + y,
        simulate(group, flow, CollectiveOp.ALL_REDUCE, s, 1),
        form + ends,
        2 * (x + y));
  }

  /** O8: the bound of the torus, {@code (P-1) S / (2 P B)}, as the vector grows. */
  @Test
  void torus_bothOrdersAtOnce_reachesO8() {
    Group group = torus(IDEAL, 3, 3);
    long s = 36_864L * 9 * 16;
    List<Phase> xy =
        List.of(new Phase(0, Reach.TWO_WAY, false), new Phase(1, Reach.TWO_WAY, false));
    List<Phase> yx =
        List.of(new Phase(1, Reach.TWO_WAY, false), new Phase(0, Reach.TWO_WAY, false));
    Dataflow flow =
        GridFlow.draw(
            Axes.of(group),
            CollectiveOp.ALL_REDUCE,
            List.of(new Colour(1, xy), new Colour(1, yx)),
            false);
    long bound = IDEAL.wirePs(s) * 8 / 18;
    long simulated = simulate(group, flow, CollectiveOp.ALL_REDUCE, s, 24);
    assertThat(simulated).isBetween(bound, bound * 108 / 100 + 8 * (O + L));
  }

  @ParameterizedTest
  @CsvSource({"3, 2", "3, 3", "4, 3", "4, 4", "5, 3", "7, 2"})
  void mesh_rowsAndColumns_takeO9(int x, int y) {
    Group group = cubes(mesh(IDEAL, x, y));
    long s = 16_384L * x * y;
    long form = 2L * (x - 1) * hop(IDEAL, s / x) + 2L * (y - 1) * hop(IDEAL, s / x / y);
    long ends = 2 * loadAndStore(IDEAL, group.machine(), s);
    Dataflow flow = joined(group, Reach.LINE, Reach.LINE);
    assertTakes(
        x + "x" + y,
        simulate(group, flow, CollectiveOp.ALL_REDUCE, s, 1),
        form + ends,
        8_000); // of 512 B pieces on the way, and a load that waits for one
  }

  /** O10: a mesh with an even number of places has a cycle of neighbours, so O3 holds for it. */
  @ParameterizedTest
  @CsvSource({"3, 2", "4, 4", "2, 5"})
  void mesh_hamiltonianCycle_takesO3(int x, int y) {
    Group group = cubes(mesh(IDEAL, x, y));
    int p = x * y;
    long s = 16_384L * p;
    Dataflow flow = drawing(group, "ring_bidirectional", CollectiveOp.ALL_REDUCE, 0);
    assertTakes(
        x + "x" + y,
        simulate(group, flow, CollectiveOp.ALL_REDUCE, s, 1),
        p * hop(IDEAL, s / p / 2) + loadAndStore(IDEAL, group.machine(), s),
        200 * p); // of 512 B pieces on the way
    assertThat(Axes.ring(group).axis(0).closed()).isTrue();
    assertThat(Axes.ring(cubes(mesh(IDEAL, 3, 3))).axis(0).closed()).isFalse();
  }

  // ---- trees ----

  @ParameterizedTest
  @CsvSource({"2, 1", "3, 5", "6, 12", "9, 4", "16, 20"})
  void chain_chunks_takeO12(int p, int m) {
    for (long o : new long[] {0, 7_000, 60_000}) {
      Ideal ideal = new Ideal(o, L, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
      Group group = sips(ideal.ring(p), p);
      long s = 4096;
      // The port is free at once, so o hides behind the wire, or the wire behind o.
      long g = Math.max(o + 1, ideal.wirePs(s));
      long form = (p - 1) * hop(ideal, s) + (m - 1) * g + loadAndStore(ideal, group.machine(), s);
      Dataflow down = drawing(group, "chain", CollectiveOp.BROADCAST, 0);
      assertTakes("broadcast", simulate(group, down, CollectiveOp.BROADCAST, s * m, m), form, m);
      Dataflow up = drawing(group, "chain", CollectiveOp.REDUCE, 0);
      assertTakes("reduce", simulate(group, up, CollectiveOp.REDUCE, s * m, m), form, m + p);
    }
  }

  /** O13 with a link for each edge of the tree. */
  @ParameterizedTest
  @CsvSource({"3, 1, 1", "7, 2, 1", "7, 2, 8", "15, 3, 16"})
  void binaryTree_ownLinks_takesO13(int p, int depth, int m) {
    Group group = sips(IDEAL.ring(p, "system.sips.topology=fully_connected"), p);
    long s = 8192;
    Dataflow flow = drawing(group, "binary_tree", CollectiveOp.ALL_REDUCE, 0);
    assertTakes(
        p + " ranks, " + m + " chunks",
        simulate(group, flow, CollectiveOp.ALL_REDUCE, s * m, m),
        2L * depth * hop(IDEAL, s)
            + (m - 1) * IDEAL.wirePs(s)
            + loadAndStore(IDEAL, group.machine(), s),
        4 * depth + 4 * m);
  }

  // ---- direct ----

  private static Group crossbar(Ideal ideal, int p) {
    return sips(ideal.ring(p, "system.sips.topology=fully_connected"), p);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 4, 8, 16})
  void halvingDoubling_crossbar_takesO14(int p) {
    Group group = crossbar(IDEAL, p);
    int k = Integer.numberOfTrailingZeros(p);
    long s = 16_384L * p;
    Dataflow flow = drawing(group, "halving_doubling", CollectiveOp.ALL_REDUCE, k > 1 ? 1 : 0);
    long form = 2 * k * (O + L) + 2 * (p - 1) * IDEAL.wirePs(s / p);
    long joins = k * loadAndStore(IDEAL, group.machine(), s); // and load and store at the ends
    assertTakes(
        p + " ranks", simulate(group, flow, CollectiveOp.ALL_REDUCE, s, 1), form + joins, 2 * k);
  }

  /**
   * O14 on a ring: messages of a step share links, the worst has half the vector in every step.
   * With cut-through a message may begin before the one ahead of it on its way has ended.
   */
  @ParameterizedTest
  @ValueSource(ints = {4, 8, 16})
  void halvingDoubling_ring_isWithin7PercentOfO14(int p) {
    Group group = sips(IDEAL.ring(p, "fabric.chunk=4 KiB"), p);
    int k = Integer.numberOfTrailingZeros(p);
    long s = 1_048_576L;
    long form = 0;
    for (int i = 0; i < k; i++) {
      form += 2 * (O + (1L << i) * L + IDEAL.wirePs(s) / 2);
    }
    Dataflow flow = drawing(group, "halving_doubling", CollectiveOp.ALL_REDUCE, 1);
    assertThat((double) simulate(group, flow, CollectiveOp.ALL_REDUCE, s, 1, 0.2))
        .isBetween(0.93 * form, 1.07 * form);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 5, 8, 16})
  void direct_ownLinks_takesO15(int p) {
    for (Ideal ideal : new Ideal[] {IDEAL, GAMMA}) {
      Group group = crossbar(ideal, p);
      long s = 8192L * p;
      long ends = loadAndStore(ideal, group.machine(), s);
      Dataflow one = drawing(group, "one_shot", CollectiveOp.ALL_REDUCE, 0);
      assertTakes(
          "one-shot",
          simulate(group, one, CollectiveOp.ALL_REDUCE, s, 1),
          hop(ideal, s) + (p - 1) * ideal.addPs(s) + ends,
          2 * p);
      Dataflow two = drawing(group, "two_shot", CollectiveOp.ALL_REDUCE, 0);
      assertTakes(
          "two-shot",
          simulate(group, two, CollectiveOp.ALL_REDUCE, s, 1),
          2 * hop(ideal, s / p) + (p - 1) * ideal.addPs(s / p) + ends,
          4 * p);
    }
  }

  // ---- all-to-all, barrier, hierarchies ----

  /** O16: never below the load of the busiest link; on a crossbar exactly one block's time. */
  @ParameterizedTest
  @ValueSource(ints = {3, 4, 5, 6, 7, 8})
  void allToAll_ring_isBoundByO16(int p) {
    Group group = sips(IDEAL.ring(p), p);
    long block = 65_536;
    double load = p % 2 == 1 ? (p * p - 1) / 8.0 : p * p / 8.0;
    long bound = (long) (load * IDEAL.wirePs(block));
    assertThat(allToAll(group, "ring_rotation", block))
        .isBetween(bound, bound * 5 / 4 + p * (O + L));
    Dataflow direct = drawing(group, "direct", CollectiveOp.ALL_TO_ALL, 0);
    assertThat(simulate(group, direct, CollectiveOp.ALL_TO_ALL, block * p, 1, 1))
        .isGreaterThanOrEqualTo(bound);
    Group all = crossbar(IDEAL, p);
    long ends = loadAndStore(IDEAL, all.machine(), block);
    Dataflow crossed = drawing(all, "direct", CollectiveOp.ALL_TO_ALL, 0);
    assertTakes(
        "crossbar",
        simulate(all, crossed, CollectiveOp.ALL_TO_ALL, block * p, 1),
        hop(IDEAL, block) + ends,
        4 * p);
  }

  /** O16 on meshes and tori: the routes of all pairs over the busiest link, and no run below it. */
  @ParameterizedTest
  @CsvSource({
    "mesh_2d_no_wrap, 3, 2, 4",
    "mesh_2d_no_wrap, 4, 4, 16",
    "mesh_2d_no_wrap, 6, 1, 9",
    "mesh_2d_no_wrap, 8, 4, 64",
    "torus_2d, 3, 3, 3",
    "torus_2d, 5, 3, 9",
    "torus_2d, 7, 5, 30"
  })
  void allToAll_meshOrTorus_isBoundByO16(String topology, int x, int y, int load) {
    Machine machine =
        IDEAL.ring(
            x * y,
            "system.sips.topology=" + topology,
            "system.sips.w=" + x,
            "system.sips.h=" + y,
            "ipcq.slot_size=64 KiB");
    Group group = sips(machine, x * y);
    Map<Integer, Integer> routes = new HashMap<>();
    for (Pe from : group.leads()) {
      for (Pe to : group.leads()) {
        if (!from.equals(to)) {
          for (int link : machine.route(from, to).links()) {
            if (machine.linkKind(link) == LinkKind.SIP_TO_SIP) {
              routes.merge(link, 1, Integer::sum);
            }
          }
        }
      }
    }
    assertThat(Collections.max(routes.values())).isEqualTo(load);
    long block = 16_384;
    assertThat(allToAll(group, "direct", block)).isGreaterThanOrEqualTo(load * IDEAL.wirePs(block));
  }

  /** At the pace that the algorithm chooses. */
  private static long allToAll(Group group, String algorithm, long block) {
    AlgorithmConfig config = CclConfig.load(Optional.empty(), List.of()).of("ring");
    int n = group.size();
    long all = block / FLOAT * n;
    Schedule schedule =
        CollectiveLibrary.builtIn(algorithm).plan(group, group.machine().ipcq(), config);
    try (Bed bed = Bed.open(group.machine(), Mode.TIME)) {
      List<Optional<Shard>> x = new ArrayList<>();
      List<Optional<Shard>> y = new ArrayList<>();
      for (int rank = 0; rank < n; rank++) {
        x.add(Optional.of(bed.vector(group.lead(rank), DType.F32, all)));
        y.add(Optional.of(bed.vector(group.lead(rank), DType.F32, all)));
      }
      CollectiveCall call =
          new CollectiveCall(
              CollectiveOp.ALL_TO_ALL,
              ReduceKind.SUM,
              DType.F32,
              -1,
              all * n,
              Collections.nCopies(n, new Part(0, all * n)),
              Splits.even(n, block / FLOAT),
              List.of(),
              x,
              y);
      Schedule.RankProgram program = schedule.program(call);
      return bed.run(
              new QueuePlan(group.machine().ipcq(), schedule.connections(call)),
              group.leads(),
              tl -> {
                int rank = group.rankOf(tl.pe());
                Payload vector = Payload.of(call, rank);
                program.run(tl, rank, vector, new Reduction(ReduceKind.SUM, n));
              })
          .criticalPs();
    }
  }

  @ParameterizedTest
  @CsvSource({"4, 3", "6, 5", "8, 7", "16, 15", "3, 2", "5, 4", "7, 6"})
  void barrier_dissemination_takesO17(int p, int hops) {
    Group group = sips(IDEAL.ring(p), p);
    int rounds = 32 - Integer.numberOfLeadingZeros(p - 1);
    Schedule schedule =
        new Dissemination()
            .plan(
                group,
                group.machine().ipcq(),
                CclConfig.load(Optional.empty(), List.of()).of("dissemination"));
    Schedule.RankProgram program = schedule.program(CollectiveCall.barrier(p));
    try (Bed bed = Bed.open(group.machine(), Mode.TIME)) {
      long ps =
          bed.run(
                  new QueuePlan(group.machine().ipcq(), schedule.connections()),
                  group.leads(),
                  tl ->
                      program.run(
                          tl, group.rankOf(tl.pe()), NOTHING, new Reduction(ReduceKind.SUM, p)))
              .criticalPs();
      // a byte on the wire takes 8 ps; the hops are those of all rounds' longest ways
      assertThat(ps - rounds * O - hops * L).isBetween(0L, 16L * rounds);
      assertThat(bed.bytes(OpKind.SEND)).isEqualTo((long) p * rounds);
    }
  }

  private static final Payload NOTHING = Payload.of(CollectiveCall.barrier(2), 0);

  /**
   * O18: whole vectors up the trees of cubes, round the packages among the centres, and down again,
   * none of it overlapped: {@code 2 D h_c + T_SIP}, with {@code (X-1 + Y-1) h_s} for the packages.
   */
  @ParameterizedTest
  @CsvSource({
    "ring_1d, 2, 1, 2, 2",
    "ring_1d, 4, 1, 3, 2",
    "ring_1d, 5, 1, 4, 4",
    "torus_2d, 3, 2, 4, 4",
    "torus_2d, 3, 3, 1, 3"
  })
  void rootCenter_packagesOfCubes_takesO18(
      String topology, int sipsX, int sipsY, int width, int height) {
    String[] set = {
      "system.sips.topology=" + topology,
      "system.sips.w=" + (sipsY == 1 ? "auto" : "" + sipsX),
      "sip.cube_mesh.w=" + width,
      "sip.cube_mesh.h=" + height,
      "sip.links.cube_to_cube.latency=14 ns",
      "sip.links.cube_to_cube.bandwidth=512 GB/s"
    };
    Machine machine = IDEAL.ring(sipsX * sipsY, set);
    int n = machine.sips() * machine.cubesPerSip();
    long s = 98_304;
    CclConfig config = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=root_center"));
    List<Pe> leads = Bed.leads(machine, RankLevel.CUBE, n);
    long simulated;
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      simulated =
          bed.allReduce(
                  CollectiveLibrary.open(machine, config).connect(leads),
                  leads,
                  ReduceKind.SUM,
                  bed.vectors(leads, DType.F32, (int) s / FLOAT))
              .criticalPs();
    }
    int depth = width / 2 + height / 2;
    long cube = O + 14_002 + Math.ceilDiv(s * 1000, 512);
    int centre = height / 2 * width + width / 2;
    long form =
        2 * depth * cube
            + (sipsX - 1) * betweenCentres(machine, centre, 0, 1, s)
            + (sipsY > 1 ? (sipsY - 1) * betweenCentres(machine, centre, 0, sipsX, s) : 0)
            + loadAndStore(IDEAL, machine, s);
    assertTakes(topology + " " + n, simulated, form, 4 * (depth + sipsX + sipsY));
  }

  /** From the centre cube of a package to that of another: {@code o + latencies + S/B}. */
  private static long betweenCentres(Machine machine, int centre, int from, int to, long s) {
    Route route = machine.route(new Pe(from, centre, 0), new Pe(to, centre, 0));
    return O + route.latencyPs() + IDEAL.wirePs(s);
  }

  /** O19 with one rank for each package link: the inner and the outer reduce-scatter and back. */
  @Test
  void hierarchical_linesInARing_takesO19() {
    Machine machine =
        IDEAL.ring(3, "sip.cube_mesh.w=4", "sip.links.cube_to_cube.bandwidth=512 GB/s");
    Group group = new Group(machine, RankLevel.CUBE, Bed.leads(machine, RankLevel.CUBE, 12));
    long s = 98_304L * 12;
    Dataflow flow = drawing(group, "hierarchical", CollectiveOp.ALL_REDUCE, 0);
    long inner = 2 * 3 * (O + s / 4 * 1000 / 512);
    long outer = 2 * (O + L + 4 * IDEAL.wirePs(s / 12)); // four cubes share a link
    long simulated = simulate(group, flow, CollectiveOp.ALL_REDUCE, s, 1, 0.1);
    assertThat((double) simulated).isBetween(0.9 * (inner + outer), 1.15 * (inner + outer));
  }

  /** O22, for what the formulas count. */
  @Test
  void bytes_onTheWire_areTheExactCount() {
    Group group = torus(IDEAL, 3, 2);
    AlgorithmConfig config = CclConfig.load(Optional.empty(), List.of()).of("ring");
    for (DrawnAlgorithm algorithm : DrawnTest.algorithms()) {
      if (!algorithm.operations().contains(CollectiveOp.ALL_REDUCE)) {
        continue;
      }
      Schedule schedule = algorithm.plan(group, group.machine().ipcq(), config);
      try (Bed bed = Bed.open(group.machine(), Mode.TIME)) {
        List<Shard> x = bed.vectors(group.leads(), DType.F32, 1201);
        CollectiveCall call = Bed.allReduce(ReduceKind.SUM, x);
        Schedule.RankProgram program = schedule.program(call);
        bed.run(
            new QueuePlan(group.machine().ipcq(), schedule.connections(call)),
            group.leads(),
            tl -> {
              int rank = group.rankOf(tl.pe());
              program.run(tl, rank, Payload.of(call, rank), new Reduction(ReduceKind.SUM, 6));
            });
        long sent = bed.bytes(OpKind.SEND);
        assertThat(schedule.wireBytes(call)).as(algorithm.name()).hasValue(sent);
        if (!List.of("exchange", "one_shot", "halving_doubling").contains(algorithm.name())) {
          assertThat(sent).as(algorithm.name()).isEqualTo(2 * 5 * 1201 * FLOAT);
        }
      }
    }
  }
}
