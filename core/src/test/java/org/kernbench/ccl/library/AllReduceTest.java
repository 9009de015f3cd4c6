package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Every algorithm gives every rank the same bits, equal to a reduction in double within what the
 * type can hold, and moves exactly the bytes that its description says.
 */
public final class AllReduceTest {
  private static final DType[] DTYPES = {DType.F32, DType.F16, DType.BF16, DType.I32};

  /** Those that have two messages for one queue in a step. */
  private static final List<String> NEED_MORE_SLOTS =
      List.of(
          "torus",
          "torus_both_orders",
          "ring_bidirectional",
          "exchange",
          "hierarchical",
          "halving_doubling");

  /**
   * An algorithm on a machine.
   *
   * @param wire the vectors, in units of its length, that all ranks together send
   */
  public record Case(String algorithm, RankLevel level, int ranks, Machine machine, long wire) {
    @Override
    public String toString() {
      return algorithm + " on " + ranks + " " + level + " of " + machine.name();
    }

    public CollectiveLibrary library(String... overrides) {
      List<String> all = new ArrayList<>(List.of(overrides));
      all.add("defaults.algorithm=" + algorithm);
      all.add("algorithms." + algorithm + ".rank_level=" + level.name().toLowerCase(Locale.ROOT));
      all.add("algorithms." + algorithm + ".world_size=" + ranks);
      return CollectiveLibrary.open(machine, CclConfig.load(Optional.empty(), all));
    }
  }

  private static Machine sips(int n, String topology) {
    return Machines.load(
        "ring", List.of("system.sips.count=" + n, "system.sips.topology=" + topology));
  }

  private static Machine cubes(int width, int height, int sips, String topology) {
    return Machines.load(
        "tiny",
        List.of(
            "sip.cube_mesh.w=" + width,
            "sip.cube_mesh.h=" + height,
            "system.sips.count=" + sips,
            "system.sips.topology=" + topology));
  }

  private static Machine pes() {
    return Machines.load(
        "sip-2026", List.of("system.sips.count=1", "system.sips.topology=ring_1d"));
  }

  private static Machine tinyPes() {
    return Machines.load("tiny", List.of("system.sips.count=3", "system.sips.topology=ring_1d"));
  }

  /** Links times rounds of the vector that all ranks send round rings along both axes. */
  private static long rings(int width, int height) {
    return (long) width * height * (width - 1 + height - 1);
  }

  public static Stream<Case> cases() {
    List<Case> cases = new ArrayList<>();
    for (int n = 1; n <= 9; n++) {
      long once = 2L * (n - 1);
      cases.add(new Case("ring", RankLevel.SIP, n, sips(n, "ring_1d"), once));
      cases.add(new Case("root_center", RankLevel.SIP, n, sips(n, "ring_1d"), (long) n * (n - 1)));
      cases.add(new Case("root_center_pipelined", RankLevel.SIP, n, sips(n, "ring_1d"), once));
      cases.add(new Case("root_center", RankLevel.SIP, n, sips(n, "mesh_2d_no_wrap"), once));
      cases.add(new Case("root_center_pipelined", RankLevel.SIP, n, sips(n, "torus_2d"), once));
      cases.add(new Case("ring", RankLevel.SIP, n, sips(n, "mesh_2d_no_wrap"), once));
      cases.add(new Case("packed_trees", RankLevel.SIP, n, sips(n, "torus_2d"), once));
      if (n <= 8) {
        cases.add(new Case("packed_trees", RankLevel.PE, n, pes(), once));
        cases.add(new Case("hello_send", RankLevel.PE, n, pes(), once));
        cases.add(new Case("tree", RankLevel.PE, n, pes(), once));
        cases.add(new Case("ring", RankLevel.PE, n, pes(), once));
      }
      cases.add(new Case("hello_send", RankLevel.SIP, n, sips(n, "switch"), once));
      cases.add(new Case("tree", RankLevel.SIP, n, sips(n, "fully_connected"), once));
    }
    cases.add(new Case("mesh", RankLevel.PE, 4, pes(), 8));
    cases.add(new Case("root_center", RankLevel.SIP, 4, sips(4, "torus_2d"), rings(2, 2)));
    cases.add(new Case("root_center", RankLevel.SIP, 6, sips(6, "torus_2d"), rings(3, 2)));
    cases.add(new Case("root_center", RankLevel.SIP, 9, sips(9, "torus_2d"), rings(3, 3)));
    int[][] shapes = {{1, 1}, {2, 1}, {1, 3}, {2, 2}, {5, 1}, {3, 2}, {1, 7}, {4, 2}, {3, 3}};
    for (int[] shape : shapes) {
      int n = shape[0] * shape[1];
      Machine one = cubes(shape[0], shape[1], 1, "ring_1d");
      for (String algorithm :
          List.of("root_center", "root_center_pipelined", "ring", "packed_trees")) {
        cases.add(new Case(algorithm, RankLevel.CUBE, n, one, 2L * (n - 1)));
      }
    }
    Machine six = Machines.load("kb-compat", List.of());
    cases.add(new Case("root_center", RankLevel.CUBE, 96, six, 6 * 30 + rings(3, 2)));
    cases.add(new Case("root_center_pipelined", RankLevel.CUBE, 96, six, 2 * 95));
    cases.add(new Case("ring", RankLevel.CUBE, 96, six, 2 * 95));
    for (String algorithm :
        List.of("ring_bidirectional", "torus", "torus_both_orders", "two_shot")) {
      for (int n : new int[] {2, 3, 5, 6, 7}) {
        cases.add(new Case(algorithm, RankLevel.SIP, n, sips(n, "ring_1d"), 2L * (n - 1)));
      }
      cases.add(new Case(algorithm, RankLevel.SIP, 6, sips(6, "torus_2d"), 10));
      cases.add(new Case(algorithm, RankLevel.CUBE, 6, cubes(3, 2, 1, "ring_1d"), 10));
      cases.add(new Case(algorithm, RankLevel.CUBE, 8, cubes(2, 2, 2, "ring_1d"), 14));
      cases.add(new Case(algorithm, RankLevel.PE, 8, pes(), 14));
    }
    for (int n : new int[] {2, 3, 6, 7, 8}) {
      long folded = 2L * (Integer.highestOneBit(n) - 1) + 2L * (n - Integer.highestOneBit(n));
      cases.add(new Case("halving_doubling", RankLevel.SIP, n, sips(n, "switch"), folded));
      for (String tree : List.of("chain", "grid_tree", "binary_tree", "double_binary_tree")) {
        cases.add(new Case(tree, RankLevel.SIP, n, sips(n, "mesh_2d_no_wrap"), 2L * (n - 1)));
      }
    }
    cases.add(new Case("hierarchical", RankLevel.PE, 24, tinyPes(), 2L * 23));
    cases.add(new Case("one_shot", RankLevel.SIP, 5, sips(5, "switch"), 20));
    cases.add(new Case("exchange", RankLevel.SIP, 6, sips(6, "torus_2d"), 6 * 2 + 6));
    cases.add(new Case("exchange", RankLevel.SIP, 5, sips(5, "ring_1d"), 20));
    Machine line = cubes(2, 2, 3, "mesh_2d_no_wrap");
    cases.add(new Case("root_center", RankLevel.CUBE, 12, line, 22));
    cases.add(new Case("root_center_pipelined", RankLevel.CUBE, 12, line, 22));
    return cases.stream();
  }

  @ParameterizedTest
  @MethodSource("cases")
  void allReduce_sizesAroundTheRanks_matchesDoubleOnEveryRank(Case c) {
    int n = c.ranks;
    int[] sizes = n > 20 ? new int[] {1, n - 1, n + 1, 257} : sizesAround(n);
    CollectiveLibrary library = c.library();
    List<Pe> leads = Bed.leads(c.machine, c.level, n);
    Communicator communicator = library.connect(leads);
    int seed = 1;
    for (int size : Arrays.stream(sizes).distinct().toArray()) {
      DType dtype = DTYPES[seed % DTYPES.length];
      for (ReduceKind kind : ReduceKind.values()) {
        check(c, Mode.VALUES, communicator, leads, kind, dtype, size, seed++);
        if (seed % (n > 20 ? 10 : 5) == 0) {
          check(c, Mode.FULL, communicator, leads, kind, dtype, size, seed);
        }
      }
    }
  }

  private static int[] sizesAround(int n) {
    return new int[] {0, 1, n - 1, n, n + 1, 2 * n + 3, 257};
  }

  @ParameterizedTest
  @MethodSource("cases")
  void allReduce_vectorOfManySlots_matchesDoubleOnEveryRank(Case c) {
    List<Pe> leads = Bed.leads(c.machine, c.level, c.ranks);
    // 3 slots of 64 elements: a vector of 1500 takes many, and rings go in blocks
    Communicator small = c.library("defaults.slots=3", "defaults.slot_size=256 B").connect(leads);
    check(c, Mode.FULL, small, leads, ReduceKind.SUM, DType.F32, 1500, 77);
    check(c, Mode.FULL, small, leads, ReduceKind.SUM, DType.F16, 1501, 78);
    Communicator blocks = c.library("defaults.n_elem=100", "defaults.chunk=64 B").connect(leads);
    check(c, Mode.FULL, blocks, leads, ReduceKind.MAX, DType.BF16, 999, 79);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void allReduce_oneSlot_doesNotDeadlock(Case c) {
    List<Pe> leads = Bed.leads(c.machine, c.level, c.ranks);
    Communicator one = c.library("defaults.slots=1", "defaults.slot_size=256 B").connect(leads);
    try {
      check(c, Mode.FULL, one, leads, ReduceKind.SUM, DType.I32, 700, 80);
    } catch (CollectiveException refused) {
      assertThat(c.algorithm()).as("needs two messages under way").isIn(NEED_MORE_SLOTS);
      assertThat(refused).hasMessageContaining("message slots per direction, queues have 1");
    }
  }

  /**
   * ADR 0003: {@code full} and {@code time} differ in no operation, {@code full} and values in no
   * byte.
   */
  @Test
  void allReduce_threeModes_agreeInTimesAndInBytes() {
    for (Case c : cases().filter(c -> c.ranks > 3 && c.ranks < 20).toList()) {
      List<Pe> leads = Bed.leads(c.machine, c.level, c.ranks);
      Communicator communicator = c.library("defaults.slots=4").connect(leads);
      List<String> hashes = new ArrayList<>();
      List<byte[]> results = new ArrayList<>();
      for (Mode mode : Mode.values()) {
        Contributions x = Contributions.random(ReduceKind.AVG, DType.BF16, c.ranks, 3000, 5);
        try (Bed bed = Bed.open(c.machine, mode)) {
          List<Shard> shards = bed.vectors(leads, DType.BF16, 3000);
          for (int rank = 0; rank < c.ranks; rank++) {
            bed.write(shards.get(rank), x.bytes(rank));
          }
          bed.allReduce(communicator, leads, ReduceKind.AVG, shards);
          if (mode != Mode.VALUES) {
            hashes.add(bed.simulator.opLog().hash());
          }
          if (mode != Mode.TIME) {
            results.add(bed.read(shards.get(c.ranks - 1)));
          }
        }
      }
      assertThat(hashes.get(0)).as("%s: op logs of full and time", c).isEqualTo(hashes.get(1));
      assertThat(results.get(0)).as("%s: bytes of full and values", c).isEqualTo(results.get(1));
    }
  }

  @Test
  void ring_moreSubChunksThanSlots_isRefusedWithTheNumberNeeded() {
    Case c = new Case("ring", RankLevel.SIP, 4, sips(4, "ring_1d"), 6);
    CollectiveLibrary library = c.library("defaults.slots=3", "algorithms.ring.sub_chunks=4");
    List<Pe> leads = Bed.leads(c.machine, c.level, 4);
    assertThatThrownBy(() -> library.connect(leads))
        .isInstanceOf(CollectiveException.class)
        .hasMessageContaining("sub_chunks: got 4")
        .hasMessageContaining("3 slots");
  }

  private static void check(
      Case c,
      Mode mode,
      Communicator communicator,
      List<Pe> leads,
      ReduceKind kind,
      DType dtype,
      int elements,
      long seed) {
    Contributions x = Contributions.random(kind, dtype, c.ranks, elements, seed);
    try (Bed bed = Bed.open(c.machine, mode)) {
      List<Shard> shards = bed.vectors(leads, dtype, elements);
      for (int rank = 0; rank < c.ranks; rank++) {
        bed.write(shards.get(rank), x.bytes(rank));
      }
      bed.allReduce(communicator, leads, kind, shards);
      byte[] first = bed.read(shards.get(0));
      x.assertReduced(first, c + ", " + mode + " " + kind + " " + dtype.code() + " n " + elements);
      for (int rank = 1; rank < c.ranks; rank++) {
        assertThat(Arrays.equals(bed.read(shards.get(rank)), first))
            .as("%s: rank %d has the bits of rank 0 (%s %s, n %d)", c, rank, kind, dtype, elements)
            .isTrue();
      }
      if (mode == Mode.FULL) {
        assertThat(bed.bytes(OpKind.SEND))
            .as("%s: bytes on the wire", c)
            .isEqualTo(c.wire * elements * dtype.sizeBytes());
      }
    }
  }

  /** What the ranks contribute, and the reduction of it in double. */
  private record Contributions(ReduceKind kind, DType dtype, double[][] values) {
    static Contributions random(ReduceKind kind, DType dtype, int ranks, int n, long seed) {
      SplittableRandom random = new SplittableRandom(seed);
      double[][] values = new double[ranks][n];
      for (double[] row : values) {
        for (int i = 0; i < n; i++) {
          double v = random.nextDouble(-2, 2);
          if (dtype == DType.I32) {
            v = kind == ReduceKind.PRODUCT ? random.nextInt(1, 3) : random.nextInt(-1000, 1000);
          } else if (kind == ReduceKind.PRODUCT) {
            v = random.nextDouble(0.9, 1.1) * (random.nextBoolean() ? 1 : -1);
          }
          row[i] = dtype.round(v);
        }
      }
      return new Contributions(kind, dtype, values);
    }

    byte[] bytes(int rank) {
      double[] row = values[rank];
      byte[] bytes = new byte[row.length * dtype.sizeBytes()];
      for (int i = 0; i < row.length; i++) {
        dtype.putDouble(bytes, i * dtype.sizeBytes(), row[i]);
      }
      return bytes;
    }

    void assertReduced(byte[] result, String what) {
      int ranks = values.length;
      for (int i = 0; i < values[0].length; i++) {
        double exact = kind == ReduceKind.PRODUCT ? 1 : 0;
        double magnitude = 0;
        if (kind == ReduceKind.MIN || kind == ReduceKind.MAX) {
          exact = values[0][i];
        }
        for (double[] row : values) {
          exact =
              switch (kind) {
                case SUM, AVG -> exact + row[i];
                case PRODUCT -> exact * row[i];
                case MIN -> Math.min(exact, row[i]);
                case MAX -> Math.max(exact, row[i]);
              };
          magnitude += Math.abs(row[i]);
        }
        double got = dtype.getDouble(result, i * dtype.sizeBytes());
        double bound = 0;
        if (dtype == DType.I32) {
          exact = kind == ReduceKind.AVG ? (double) ((long) exact / ranks) : (int) (long) exact;
          if (kind == ReduceKind.PRODUCT) {
            exact = (int) wrapped(i);
          }
        } else {
          double u = dtype.unitRoundoff();
          switch (kind) {
            case SUM -> bound = (ranks - 1) * u * magnitude * 1.01;
            case AVG -> {
              exact /= ranks;
              bound = ranks * u * magnitude / ranks * 1.01;
            }
            case PRODUCT -> bound = (Math.pow(1 + u, ranks) - 1) * Math.abs(exact) * 1.5;
            case MIN, MAX -> bound = 0;
          }
        }
        if (!(Math.abs(got - exact) <= bound)) {
          throw new AssertionError(
              what + ": element " + i + " is " + got + ", expected " + exact + " +- " + bound);
        }
      }
    }

    private long wrapped(int i) {
      int product = 1;
      for (double[] row : values) {
        product *= (int) row[i];
      }
      return product;
    }
  }

  /** Packages in a torus, cubes in a mesh, eight PEs in a cube: as the default machine, smaller. */
  private static Machine structured(int sips, int width, int height) {
    return Machines.load(
        "sip-2026",
        List.of(
            "system.sips.count=" + sips, "sip.cube_mesh.w=" + width, "sip.cube_mesh.h=" + height));
  }

  private static void allPes(Machine machine, String algorithm, int elements) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    CollectiveTrial trial =
        CollectiveTrial.of(
            machine,
            CollectiveLibrary.builtIn(algorithm),
            config.of(algorithm),
            RankLevel.PE,
            Bed.leads(machine, RankLevel.PE, machine.peCount()));
    CollectiveTrial.Result result =
        trial.run(
            CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F32, elements), Mode.FULL);
    assertThat(result.problems()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"hierarchical", "ring"})
  void everyPeOfSeveralCubesAndPackages_sumsAreRight(String algorithm) {
    allPes(structured(2, 2, 2), algorithm, 1013);
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(strings = {"hierarchical", "ring"})
  void everyPeOfTheDefaultMachine_sumsAreRight(String algorithm) {
    Machine machine = Machines.load("sip-2026", List.of());
    assertThat(machine.peCount()).isEqualTo(768);
    allPes(machine, algorithm, 1536);
  }
}
