package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Ideal;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Trees in grids against formula O11 of {@code docs/spec/collectives.md}, to the picosecond: reduce
 * to a root and broadcast back, full vectors or pipelined.
 */
final class TreeOracleTest {
  private static final int FLOAT = 4;
  private static final int S = 98_304;

  /** {@code D = max(rc, X-1-rc) + max(rr, Y-1-rr)}. */
  private static int depth(int width, int height, int rootX, int rootY) {
    return Math.max(rootX, width - 1 - rootX) + Math.max(rootY, height - 1 - rootY);
  }

  /** O11, full vector, without additions: {@code 2 D (o + L + S/B)}. */
  private static long hops(Ideal m, int depth, long bytes) {
    return 2L * depth * (m.occupancyPs(bytes) + m.latencyPs());
  }

  /**
   * A grid with its root: when sums are there, by recursion towards the leaves, and when results
   * are, by recursion away from the root.
   *
   * @param portPs what a message takes on a PE's own port; messages to several children stand in
   *     line there in the order of issue: the child with the most below it first
   */
  private record Grid(
      Ideal m, int width, int height, int rootX, int rootY, Tree.Order order, long portPs) {

    long allReduce() {
      return broadcast(rootX, rootY, sum(rootX, rootY));
    }

    private long hop() {
      return m.occupancyPs(S) + m.latencyPs();
    }

    private long sum(int x, int y) {
      long[] arrivals = children(x, y).stream().mapToLong(c -> sum(c[0], c[1]) + hop()).toArray();
      switch (order) {
        case PHASES -> {}
        case EARLIEST_FIRST -> Arrays.sort(arrivals);
        case LATEST_FIRST ->
            // all wait for the last one
            Arrays.fill(arrivals, Arrays.stream(arrivals).max().orElse(0));
      }
      long done = 0;
      for (long arrival : arrivals) {
        done = Math.max(done, arrival) + m.addPs(S);
      }
      return done;
    }

    private long broadcast(int x, int y, long time) {
      long last = time;
      long port = time;
      List<int[]> inOrder = children(x, y);
      inOrder.sort(Comparator.comparingInt((int[] c) -> height(c[0], c[1])).reversed());
      for (int[] c : inOrder) {
        last = Math.max(last, broadcast(c[0], c[1], port + hop()));
        port += portPs;
      }
      return last;
    }

    private int height(int x, int y) {
      return children(x, y).stream().mapToInt(c -> 1 + height(c[0], c[1])).max().orElse(0);
    }

    /** Up to two in the row of a node on the root's column, and up to two in that column. */
    private List<int[]> children(int x, int y) {
      List<int[]> result = new ArrayList<>();
      for (int to : outward(x, rootX, width)) {
        result.add(new int[] {to, y});
      }
      if (x == rootX) {
        for (int to : outward(y, rootY, height)) {
          result.add(new int[] {x, to});
        }
      }
      return result;
    }

    /**
     * Places next to {@code at} that lie farther from the root of a line; of the root both sides.
     */
    private static List<Integer> outward(int at, int root, int size) {
      List<Integer> result = new ArrayList<>();
      if (at <= root && at > 0) {
        result.add(at - 1);
      }
      if (at >= root && at < size - 1) {
        result.add(root < size - 1 - root && at == root ? 0 : result.size(), at + 1);
      }
      return result;
    }
  }

  @Test
  void tree_examplesOfTheSpecification_takeTheirTimes() {
    Ideal noGamma = new Ideal(10_000, 32_000, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
    assertThat(hops(noGamma, depth(4, 4, 2, 2), S)).isEqualTo(6_480_000);
    assertThat(hops(noGamma, depth(4, 4, 0, 0), S)).isEqualTo(9_720_000);
    Ideal gamma = new Ideal(10_000, 32_000, 128, 512, Ideal.Bottleneck.LINK);
    Tree.Order order = Tree.Order.LATEST_FIRST;
    assertThat(new Grid(gamma, 4, 4, 2, 2, order, 0).allReduce()).isEqualTo(8_400_000);
    assertThat(new Grid(gamma, 3, 2, 1, 1, order, 0).allReduce()).isEqualTo(4_200_000);
    assertThat(new Grid(gamma, 6, 1, 3, 0, order, 0).allReduce()).isEqualTo(5_628_000);
  }

  @ParameterizedTest
  @CsvSource({
    "4, 4, 2, 2",
    "4, 4, 0, 0",
    "4, 4, 1, 2",
    "3, 2, 1, 1",
    "6, 1, 3, 0",
    "1, 5, 0, 2",
    "3, 3, 1, 1",
    "5, 4, 4, 0",
    "8, 4, 4, 2",
    "2, 2, 1, 1"
  })
  void tree_fullVector_takesO11(int width, int height, int rootX, int rootY) {
    for (int add : new int[] {Ideal.NO_GAMMA, 512, 96}) {
      Ideal ideal = new Ideal(10_000, 32_000, 128, add, Ideal.Bottleneck.LINK);
      Machine machine = ideal.mesh(width, height);
      for (Tree.Order order : Tree.Order.values()) {
        long expected = new Grid(ideal, width, height, rootX, rootY, order, 1).allReduce();
        assertThat(simulate(machine, tree(machine, width, height, rootX, rootY, order), S))
            .as("root %d, %d, %s, %d B/ns added", rootX, rootY, order, add)
            .isEqualTo(ideal.loadPs(machine, S) + expected + ideal.storePs(machine, S));
      }
    }
  }

  /** The algorithm of the library, on the numbers of {@code docs/spec/collectives.md} O11. */
  @ParameterizedTest
  @CsvSource({"4, 4, 6480, 1152", "3, 2, 3240, 576", "6, 1, 4860, 768"})
  void rootCenter_exampleOfTheSpecification_takesHopsAndItsAdditions(
      int width, int height, long hopsNs, long additionsNs) {
    Ideal ideal = new Ideal(10_000, 32_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine machine = ideal.mesh(width, height);
    Tree.Order order = Tree.Order.PHASES;
    Grid formula = new Grid(ideal, width, height, width / 2, height / 2, order, 0);
    Grid withPorts = new Grid(ideal, width, height, width / 2, height / 2, order, 1);
    assertThat(formula.allReduce()).isEqualTo((hopsNs + additionsNs) * 1000);
    assertThat(simulate(machine, library(machine, "root_center"), S))
        .isEqualTo(ideal.loadPs(machine, S) + withPorts.allReduce() + ideal.storePs(machine, S));
  }

  /**
   * O11: {@code 2 D (o + L + s/B) + (m-1) g}, with g the time between messages on a link; exactly,
   * with the picosecond that each of the D additions on the way up takes though gamma is 0. Where
   * chunks of two children reach a node at the same time, one of them, its addition and its load
   * stand in line for a picosecond each on every level; with g = o, sends to several children do.
   */
  @ParameterizedTest
  @CsvSource({
    "4, 4, 8, 0",
    "4, 4, 96, 0",
    "4, 4, 1, 0",
    "6, 1, 24, 0",
    "1, 4, 3, 0",
    "8, 4, 12, 0",
    "3, 2, 16, 2",
    "5, 3, 32, 4"
  })
  void rootCenterPipelined_chunks_takeO11(int width, int height, int m, int inLine) {
    for (String algorithm : List.of("root_center_pipelined", "grid_tree")) {
      for (long overhead : new long[] {0, 1000, 10_000, 40_000}) {
        Ideal ideal = new Ideal(overhead, 32_000, 128, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
        Machine machine = ideal.mesh(width, height);
        long s = S / m;
        int d = depth(width, height, width / 2, height / 2);
        // The port is free at once, so o hides behind the wire, or the wire behind o.
        boolean wireBound = ideal.wirePs(s) > overhead;
        long g = wireBound ? ideal.wirePs(s) : overhead + 1;
        long simulated = simulate(machine, library(machine, algorithm, "chunk=" + s + " B"), S);
        long expected =
            ideal.loadPs(machine, s)
                + hops(ideal, d, s)
                + d * ideal.addPs(s)
                + (m - 1) * g
                + ideal.storePs(machine, s);
        assertThat(simulated - expected)
            .as("%s, o %d ps, %d chunks", algorithm, overhead, m)
            .isBetween(0L, wireBound ? inLine + (inLine == 0 ? 0L : d) : m);
      }
    }
  }

  private static Schedule tree(
      Machine machine, int width, int height, int rootX, int rootY, Tree.Order order) {
    Group group = group(machine);
    int[][] ranks = new int[height][width];
    for (int rank = 0; rank < width * height; rank++) {
      ranks[rank / width][rank % width] = rank;
    }
    Tree tree = new Tree(group.size());
    GridTree.add(tree, ranks, rootX, rootY, false, "");
    AlgorithmConfig config = CclConfig.load(Optional.empty(), List.of()).of("root_center");
    return FullVector.schedule(group, machine.ipcq(), config, tree, order, RootExchange.NONE);
  }

  private static Group group(Machine machine) {
    return new Group(
        machine, RankLevel.CUBE, Bed.leads(machine, RankLevel.CUBE, machine.cubesPerSip()));
  }

  private static long simulate(Machine machine, Schedule schedule, long bytes) {
    Group group = group(machine);
    int n = (int) (bytes / FLOAT);
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      List<Shard> shards = bed.vectors(group.leads(), DType.F32, n);
      Schedule.RankProgram program = schedule.program(Bed.allReduce(ReduceKind.SUM, shards));
      return bed.run(
              new QueuePlan(machine.ipcq(), schedule.connections()),
              group.leads(),
              tl -> {
                int rank = group.rankOf(tl.pe());
                Payload vector = Payload.of(shards.get(rank));
                program.run(tl, rank, vector, new Reduction(ReduceKind.SUM, group.size()));
              })
          .criticalPs();
    }
  }

  private static Communicator library(Machine machine, String algorithm, String... settings) {
    List<String> overrides = new ArrayList<>();
    overrides.add("defaults.algorithm=" + algorithm);
    overrides.add("algorithms." + algorithm + ".rank_level=cube");
    for (String setting : settings) {
      overrides.add("algorithms." + algorithm + "." + setting);
    }
    CclConfig config = CclConfig.load(Optional.empty(), overrides);
    return CollectiveLibrary.open(machine, config).connect(group(machine).leads());
  }

  private static long simulate(Machine machine, Communicator communicator, long bytes) {
    Group group = group(machine);
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      List<Shard> shards = bed.vectors(group.leads(), DType.F32, (int) (bytes / FLOAT));
      return bed.allReduce(communicator, group.leads(), ReduceKind.SUM, shards).criticalPs();
    }
  }

  /** The formula that figures show: exact on one link, near where vectors wait on the way. */
  @ParameterizedTest
  @CsvSource({
    "center, 8",
    "corner, 8",
    "center, 1024",
    "corner, 8192",
    "center, 49152",
    "corner, 49152"
  })
  void formula_ofTheDefaultMachine_isNearTheSimulatedTime(String root, int elements) {
    Machine machine = org.kernbench.machine.Machines.load("sip-2026", List.of());
    CollectiveTrial trial = trial(machine, RankLevel.CUBE, 96, root);
    CollectiveTrial.Question question =
        CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F16, elements);
    double formula = trial.formulaPs(question).orElseThrow();
    assertThat(formula / trial.run(question, Mode.TIME).ps())
        .isBetween(elements < 10_000 ? 0.99 : 0.9, 1.01);
  }

  @ParameterizedTest
  @ValueSource(strings = {"center", "corner"})
  void formula_ofOneLinkAndNoAdditions_isTheDepthTimesAHop(String root) {
    Ideal ideal = new Ideal(8_000, 14_000, 512, Ideal.NO_GAMMA, Ideal.Bottleneck.LINK);
    CollectiveTrial trial = trial(ideal.mesh(4, 4), RankLevel.CUBE, 16, root);
    CollectiveTrial.Question question =
        CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F32, S / FLOAT);
    int depth = root.equals("corner") ? depth(4, 4, 0, 0) : depth(4, 4, 2, 2);
    double hops = hops(ideal, depth, S);
    assertThat(trial.formulaPs(question).orElseThrow() / hops).isBetween(1.0, 1.002);
    assertThat(trial.run(question, Mode.TIME).ps() / hops).isBetween(1.0, 1.002);
  }

  private static CollectiveTrial trial(Machine machine, RankLevel level, int ranks, String root) {
    CclConfig config =
        CclConfig.load(Optional.empty(), List.of("algorithms.root_center.root=" + root));
    return CollectiveTrial.of(
        machine,
        new RootCenter(),
        config.of("root_center"),
        level,
        Bed.leads(machine, level, ranks));
  }
}
