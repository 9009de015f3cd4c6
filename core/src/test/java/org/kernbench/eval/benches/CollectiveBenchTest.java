package org.kernbench.eval.benches;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.ValueCheck;

/** Any collective over sizes: the columns that follow from others, and what is refused. */
final class CollectiveBenchTest {
  private static RunResult run(Mode mode, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            new CollectiveBench(),
            RunOptions.DEFAULT.withTopology("tiny").withMode(mode).withParams(List.of(params)));
  }

  private static double number(Object value) {
    return Double.parseDouble(String.valueOf(value));
  }

  /** Of four ranks a rank moves at least so many vectors, as nccl-tests counts them. */
  @ParameterizedTest
  @CsvSource({
    "all_reduce, 1.5, 4",
    "reduce_scatter, 0.75, 1",
    "all_gather, 0.75, 4",
    "all_to_all, 0.75, 4",
    "gather, 0.75, 1",
    "scatter, 0.75, 1",
    "broadcast, 1, 4",
    "reduce, 1, 1"
  })
  void rows_ofEachOperation_haveTheBandwidthsOfTheirTimes(String op, double vectors, int results) {
    RunResult result =
        run(
            Mode.FULL,
            "op=" + op,
            "rank_level=cube",
            "min_size=60 B",
            "max_size=6000 B",
            "factor=10",
            "dtype=f32",
            "root=3");
    assertThat(result.problems()).isEmpty();
    assertThat(result.rows()).hasSize(3);
    long[] elements =
        op.equals("all_to_all") ? new long[] {12, 148, 1500} : new long[] {15, 150, 1500};
    double slowest = 0;
    long checked = 0;
    for (int i = 0; i < 3; i++) {
      Map<String, Object> row = result.rows().get(i);
      assertThat(row).containsEntry("n_elem", elements[i]).containsEntry("bytes", 4 * elements[i]);
      double ns = number(row.get("crit_ns"));
      double rate = 4 * elements[i] / ns;
      assertThat(number(row.get("algbw_gb_per_s"))).isCloseTo(rate, within(6e-5));
      assertThat(number(row.get("busbw_gb_per_s"))).isCloseTo(rate * vectors, within(6e-5));
      double efficiency = number(row.get("bound_ns")) / ns;
      assertThat(number(row.get("efficiency"))).isCloseTo(efficiency, within(1e-4)).isLessThan(1);
      assertThat(row).containsEntry("correct", true);
      slowest = Math.max(slowest, ns);
      checked += results * elements[i]; // all that ranks have in the end
    }
    assertThat(number(result.metrics().get("crit_ns"))).isEqualTo(slowest);
    assertThat(result.values().orElseThrow().checked()).isEqualTo(checked);
    assertThat(result.metrics()).containsEntry("points", 3);
  }

  /** What is allowed is the rounding of sums, not whatever the error was; 0 where none round. */
  @ParameterizedTest
  @CsvSource({"bf16, sum", "f8e4m3, product", "f32, avg", "bf16, max", "i32, sum"})
  void values_ofReductions_areWithinWhatRoundingAllows(String dtype, String reduce) {
    ValueCheck values =
        run(
                Mode.FULL,
                "op=all_reduce",
                "rank_level=cube",
                "max_size=4 KiB",
                "dtype=" + dtype,
                "reduce=" + reduce)
            .values()
            .orElseThrow();
    if (reduce.equals("max") || dtype.equals("i32")) {
      assertThat(values.maxAbsError()).isZero();
      assertThat(values.allowed()).isZero();
    } else {
      assertThat(values.maxAbsError()).isPositive();
      assertThat(values.allowed()).isGreaterThan(values.maxAbsError());
    }
  }

  @Test
  void barrier_hasOneRowWithoutBytes() {
    RunResult result = run(Mode.TIME, "op=barrier", "rank_level=pe", "ranks=4", "stride=2");
    assertThat(result.rows()).hasSize(1);
    assertThat(result.rows().getFirst())
        .containsEntry("bytes", 0L)
        .containsEntry("wire_bytes", 8L) // two rounds of four ranks, each message of one byte
        .doesNotContainKey("correct");
    assertThat(result.params()).containsEntry("ranks", 4).containsEntry("rank_level", "pe");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "root=4; op=broadcast; rank_level=cube | --param root: got 4; expected one of the 4 ranks,"
            + " from 0",
        "ranks=1; rank_level=cube | --param ranks: got 1; machine tiny has 4 devices of level cube:"
            + " expected 2 to 4",
        "ranks=5; rank_level=cube | --param ranks: got 5; machine tiny has 4 devices of level cube:"
            + " expected 2 to 4",
        "stride=3; ranks=4; rank_level=pe | got 4; machine tiny has 8 devices of level pe, of which"
            + " one in 3 is taken: expected 2 to 3",
        "rank_level=sip | one device of level sip: too few for a collective; expected a rank_level",
        "algorithm=rinng; rank_level=cube | --param algorithm: got \"rinng\"; expected one that can"
            + " do all_reduce: auto, binary_tree",
        "algorithm=rinng; rank_level=cube | ; did you mean ring?",
        "algorithm=direct; rank_level=cube | expected one that can do all_reduce",
        "min_size=2 KiB; max_size=1 KiB; rank_level=cube | --param min_size: larger than max_size",
        "algorithm=mesh; rank_level=pe | algorithm mesh is for",
        "min_size=0 B; rank_level=pe | --param min_size: 0 B; expected 1 B or more",
      })
  void run_ofWhatCannotBe_isRefused(String params, String message) {
    assertThatThrownBy(() -> run(Mode.TIME, params.split("; ")))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message);
  }

  @Test
  void run_inModeValues_isRefused() {
    assertThatThrownBy(() -> run(Mode.VALUES, "rank_level=cube"))
        .isInstanceOf(UsageException.class)
        .hasMessage("collective measures time; use --mode full or --mode time");
  }
}
