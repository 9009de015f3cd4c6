package org.kernbench.eval.benches;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.ValueCheck;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;

/** The benches that come with kernbench, and the registry that holds them. */
final class BenchTest {
  private static final BenchRegistry BENCHES = BenchRegistry.standard();

  private static RunResult run(String bench, RunOptions options) {
    return Runner.of("test", Progress.SILENT).run(BENCHES.find(bench), options);
  }

  @Test
  void registry_twoBenchesOfOneName_isAnError() {
    assertThatThrownBy(() -> BenchRegistry.of(List.of(new HelloSendBench(), new HelloSendBench())))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("two benches are called hello-send");
  }

  @ParameterizedTest
  @CsvSource({"ccl-allreduce", "ccl_allreduce", "CCL_AllReduce"})
  void registry_dashAndUnderscore_areAlike(String name) {
    assertThat(BENCHES.find(name).name()).isEqualTo("ccl-allreduce");
  }

  @Test
  void benches_parametersHaveDistinctNames() {
    for (Bench bench : BENCHES.all()) {
      assertThat(bench.params()).extracting(Param::name).doesNotHaveDuplicates();
    }
  }

  @ParameterizedTest
  @CsvSource({"f32", "f16", "bf16", "i32", "i64"})
  void allReduce_everyDtype_isCorrect(String dtype) {
    RunResult result =
        run(
            "ccl-allreduce",
            RunOptions.DEFAULT
                .withOverrides(List.of("sip.cube_mesh.w=2", "sip.cube_mesh.h=1"))
                .withParams(List.of("dtype=" + dtype, "n_elem=100")));

    assertThat(result.problems()).isEmpty();
    assertThat(result.values().orElseThrow().checked()).isEqualTo(12 * 100);
    assertThat(result.values().orElseThrow().maxAbsError()).isZero();
  }

  @Test
  void allReduce_sumsBeyondTheDtype_isRefusedWithRemedy() {
    assertThatThrownBy(() ->
            run(
                "ccl-allreduce",
                RunOptions.DEFAULT.withParams(List.of("dtype=f8e4m3", "pattern=rank"))))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("the sums of 96 ranks reach 4656, beyond the largest f8e4m3, 448")
        .hasMessageContaining("pattern=mixed");
  }

  @Test
  void allReduce_byDefault_isExactSoThatAMissingRankShows() {
    RunResult result = run("ccl-allreduce", RunOptions.DEFAULT.withParams(List.of("n_elem=64")));

    assertThat(result.params()).containsEntry("ranks", 96).containsEntry("pattern", "mixed");
    assertThat(result.values().orElseThrow().allowed()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "root=corner", "root_cube=3", "root=corner algorithm=root_center_pipelined",
    "algorithm=ring rank_level=cube ranks=8", "rank_level=sip", "ranks=4"
  })
  void allReduce_otherRootsAndRanks_areCorrect(String params) {
    List<String> given = new java.util.ArrayList<>(List.of(params.split(" ")));
    given.add("n_elem=1000");
    RunResult result =
        run(
            "ccl-allreduce",
            RunOptions.DEFAULT
                .withTopology("tiny")
                .withOverrides(List.of("system.sips.count=2"))
                .withParams(given));

    assertThat(result.problems()).isEmpty();
    int ranks = params.contains("rank_level=sip") ? 2 : params.equals("ranks=4") ? 4 : 8;
    assertThat(result.params()).containsEntry("ranks", ranks);
    assertThat(result.values().orElseThrow().checked()).isEqualTo(ranks * 1000L);
  }

  @Test
  void allReduce_rootOfAnAlgorithmWithoutOne_orOfNoCube_isRefused() {
    assertThatThrownBy(() ->
            run(
                "ccl-allreduce",
                RunOptions.DEFAULT.withParams(List.of("algorithm=ring", "root=corner"))))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--param root: algorithm ring has no root that can be chosen");
    assertThatThrownBy(
            () -> run("ccl-allreduce", RunOptions.DEFAULT.withParams(List.of("root_cube=16"))))
        .hasMessageContaining(
            "root_cube is 16, which takes no part; expected one of the cubes 0 to 15");
  }

  /** A ring sends 2 (n - 1) vectors, 2.1 million messages: more than an op log keeps. */
  @Tag("slow")
  @Test
  void collective_moreMessagesThanALogKeeps_countsAllBytes() {
    RunResult result =
        run(
            "collective",
            RunOptions.DEFAULT
                .withTopology("ring")
                .withOverrides(List.of("system.sips.count=1024"))
                .withParams(List.of("algorithm=ring", "min_size=4 KiB", "max_size=4 KiB"))
                .withMode(Mode.TIME));

    assertThat(result.rows().getFirst()).containsEntry("wire_bytes", 2L * 1023 * 4096);
  }

  /**
   * Counts in closed form, with 8 shards: a stretch from one element further on lies in two shards,
   * but for the last PE's, which begins again at the front; whoever reads another's memory walks
   * the page table once.
   */
  @ParameterizedTest
  @CsvSource({"1, i8", "3, f16", "100, f32", "1000, f64"})
  void vaOffset_shardsWithinAPage_loadsAndMissesAsCounted(int n, String dtype) {
    RunResult result =
        run(
            "va-offset-verify",
            RunOptions.DEFAULT
                .withTopology("tiny")
                .withParams(List.of("n_elem=" + n, "dtype=" + dtype)));

    assertThat(result.isOk()).isTrue();
    assertThat(result.values().orElseThrow().checked()).isEqualTo(4 * (8 * n - 1));
    // one element per shard leaves nothing for the last PE, and nothing straddles
    boolean one = n == 1;
    assertThat(result.rows())
        .extracting(r -> r.get("reads"), r -> r.get("loads"), r -> r.get("tlb_misses"))
        .containsExactly(
            tuple("own", 8L, 0L),
            tuple("straddling", one ? 8L : 15L, one ? 7L : 8L),
            tuple("next PE", one ? 8L : 9L, one ? 7L : 9L),
            tuple("next cube", one ? 8L : 9L, one ? 7L : 9L));
  }

  @ParameterizedTest
  @CsvSource({
    "6, F16, RANK",
    "63, F16, RANK",
    "64, F16, MIXED",
    "96, F32, RANK",
    "22, BF16, RANK",
    "23, BF16, MIXED",
    "15, I8, RANK",
    "16, I8, MIXED",
    "64, I8, SPARSE",
    "1025, F16, SPARSE",
    "96, F8E4M3, SPARSE",
    "96, F8E5M2, SPARSE"
  })
  void pattern_auto_isRankWhereItsSumsAreExact(int ranks, DType dtype, Pattern expected) {
    assertThat(Pattern.exactIn(dtype, ranks)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"F8E4M3, 5", "F8E5M2, 96", "I8, 2400", "F16, 4097"})
  void pattern_sparse_showsEveryMissingRankExactly(DType dtype, int ranks) {
    int n = ranks / 4 + 1;
    double[] sums = Pattern.SPARSE.sums(ranks, n, dtype);
    assertThat(Pattern.SPARSE.isExact(dtype, ranks)).isTrue();
    for (double sum : sums) {
      assertThat(sum).isBetween(1.0, 8.0).isEqualTo(dtype.round(sum));
    }
    for (int rank = 0; rank < ranks; rank++) {
      assertThat(Arrays.stream(Pattern.SPARSE.values(rank, n, ranks, dtype)).sum())
          .as("rank %d of %d", rank, ranks)
          .isPositive();
    }
  }

  @Test
  void pattern_sparse_tellsElementsApart() {
    int n = 4096;
    double[] sums = Pattern.SPARSE.sums(96, n, DType.F8E4M3);
    for (int shift = 1; shift < 2048; shift++) {
      int equal = 0;
      for (int i = 0; i + shift < n; i++) {
        equal += sums[i] == sums[i + shift] ? 1 : 0;
      }
      assertThat(equal).as("sums that survive a shift by %d", shift).isLessThan((n - shift) / 2);
    }
  }

  @Test
  void allReduce_ofEightBitFloats_isExactOverManyRanks() {
    for (String dtype : List.of("f8e4m3", "f8e5m2", "i8")) {
      RunResult result =
          run(
              "ccl-allreduce",
              RunOptions.DEFAULT.withParams(List.of("n_elem=50", "dtype=" + dtype)));

      assertThat(result.isOk()).isTrue();
      assertThat(result.params()).containsEntry("pattern", "sparse");
      assertThat(result.values().orElseThrow().allowed()).isZero();
    }
  }

  @Test
  void allReduce_withAFileOfCollectives_namesItInTheResult(@TempDir Path directory)
      throws IOException {
    Path file = Files.writeString(directory.resolve("mine.yaml"), "defaults: {algorithm: ring}");
    RunOptions options =
        new RunOptions(
            Optional.of("tiny"),
            List.of("system.sips.count=2"),
            Optional.of(file),
            List.of(),
            List.of("n_elem=8"),
            Mode.FULL,
            false);

    assertThat(run("ccl-allreduce", options).params())
        .containsEntry("algorithm", "ring")
        .containsEntry("ccl", file.toString());
    assertThatThrownBy(() -> run("hello-send", options.withParams(List.of())))
        .hasMessageContaining("bench hello-send runs no collective that this could change");
  }

  @Test
  void pattern_mixed_tellsRanksAndElementsApart() {
    int ranks = 96;
    int n = 4096;
    double[] sums = Pattern.MIXED.sums(ranks, n, DType.F16);
    for (int rank = 0; rank < ranks; rank++) {
      assertThat(Pattern.MIXED.values(rank, n, ranks, DType.F16)).contains(-2, -1, 0, 1, 2);
    }
    for (int shift = 1; shift < 2048; shift++) {
      int equal = 0;
      for (int i = 0; i + shift < n; i++) {
        equal += sums[i] == sums[i + shift] ? 1 : 0;
      }
      assertThat(equal).as("sums that survive a shift by %d", shift).isLessThan((n - shift) / 10);
    }
  }

  @Test
  void allReduce_timeMode_computesNoValues() {
    RunOptions options = RunOptions.DEFAULT.withTopology("tiny").withMode(Mode.TIME);
    RunResult result = run("ccl-allreduce", options);

    assertThat(result.isOk()).isTrue();
    assertThat(result.values()).isEmpty();
    assertThat((BigDecimal) result.metrics().get("crit_ns")).isPositive();
  }

  @Test
  void allReduce_valuesMode_hasNoTime() {
    RunOptions options = RunOptions.DEFAULT.withTopology("tiny").withMode(Mode.VALUES);
    RunResult result = run("ccl-allreduce", options);

    assertThat(result.isOk()).isTrue();
    assertThat(result.metrics()).doesNotContainKey("crit_ns");
    assertThat(result.values().orElseThrow().isCorrect()).isTrue();
  }

  @Test
  void sweep_hasThirtySixCorrectPointsThatGrowWithSize() {
    RunOptions options =
        RunOptions.DEFAULT.withOverrides(List.of("sip.cube_mesh.w=2", "sip.cube_mesh.h=2"));
    RunResult result = run("ccl-latency-sweep", options);

    assertThat(result.problems()).isEmpty();
    assertThat(result.rows()).hasSize(36);
    Set<Object> topologies = new HashSet<>();
    for (int i = 0; i < 36; i++) {
      assertThat(result.rows().get(i)).containsEntry("correct", true);
      topologies.add(result.rows().get(i).get("topology"));
      if (i % 12 > 0) {
        assertThat((BigDecimal) result.rows().get(i).get("crit_ns"))
            .isGreaterThan((BigDecimal) result.rows().get(i - 1).get("crit_ns"));
      }
    }
    assertThat(topologies).containsExactlyInAnyOrder("ring_1d", "torus_2d", "mesh_2d_no_wrap");
  }

  @Test
  void sweep_rowsNameTheMachineThatWasSimulated() {
    RunOptions options = RunOptions.DEFAULT.withTopology("tiny").withMode(Mode.TIME);
    RunResult result = run("ccl-latency-sweep", options);

    Map<Object, Set<Object>> machines = new HashMap<>();
    Map<Object, Set<Object>> grids = new HashMap<>();
    for (Map<String, Object> row : result.rows()) {
      Object topology = row.get("topology");
      machines.computeIfAbsent(topology, t -> new HashSet<>()).add(row.get("point_machine"));
      grids.computeIfAbsent(topology, t -> new HashSet<>()).add(row.get("sips"));
    }
    for (LatencySweepBench.Network network : LatencySweepBench.NETWORKS) {
      Machine simulated = Machines.load("tiny", network.overrides());
      assertThat(machines).containsEntry(network.name(), Set.of(simulated.hash()));
    }
    assertThat(grids)
        .isEqualTo(
            Map.of(
                "ring_1d", Set.of("6x1"),
                "torus_2d", Set.of("2x3"),
                "mesh_2d_no_wrap", Set.of("2x3")));
    assertThat(result.machine().orElseThrow().sips()).isEqualTo(6);
    assertThat(result.params()).containsEntry("packages", 6);
  }

  @Test
  void ringScale_beyondTheKeptOperations_saysThatThePathIsNotKnown() {
    RunOptions options =
        RunOptions.DEFAULT.withParams(List.of("ranks=160", "bytes=64 KiB")).withMode(Mode.TIME);
    RunResult result = run("ring-scale", options);

    assertThat(result.isOk()).isTrue();
    assertThat(result.breakdown()).isEmpty();
    assertThat(result.breakdownNote()).contains("so the critical path is not known");
  }

  /** Mode time simulates 260 packages apart, mode full on one clock. */
  @ParameterizedTest
  @ValueSource(ints = {8, 260})
  void ringScale_isCorrectInEveryMode(int ranks) {
    RunOptions options =
        new RunOptions(
            java.util.Optional.empty(),
            List.of(),
            java.util.Optional.empty(),
            List.of(),
            List.of("ranks=" + ranks, "bytes=4 KiB"),
            Mode.FULL,
            true);
    RunResult result = run("ring-scale", options);

    assertThat(result.problems()).isEmpty();
    assertThat(result.verified()).hasSize(2);
  }

  @Test
  void verify_modesThatDisagree_failTheRun() {
    Bench bench = new ModeDependentBench();
    RunOptions options = RunOptions.DEFAULT;
    RunResult result =
        Runner.of("test", Progress.SILENT)
            .run(
                bench,
                new RunOptions(
                    options.topology(),
                    List.of(),
                    options.ccl(),
                    List.of(),
                    List.of(),
                    Mode.FULL,
                    true));

    assertThat(result.status()).isEqualTo(RunResult.Status.MODES_DISAGREE);
    assertThat(result.problems())
        .hasSize(1)
        .first()
        .asString()
        .contains("modes full and time disagree");
  }

  /** A bench that does something else in mode time. */
  private static final class ModeDependentBench implements Bench {
    @Override
    public String name() {
      return "mode-dependent";
    }

    @Override
    public String description() {
      return "";
    }

    @Override
    public List<Param<?>> params() {
      return List.of();
    }

    @Override
    public Outcome run(BenchContext context) {
      return Outcome.on(context.machine("tiny", List.of()))
          .simulated(1, context.mode() == Mode.TIME ? "a" : "b")
          .values(new ValueCheck(1, 0, 0, 0, java.util.Optional.empty()), "same");
    }
  }
}
