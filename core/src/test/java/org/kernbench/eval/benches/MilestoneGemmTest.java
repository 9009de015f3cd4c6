package org.kernbench.eval.benches;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.ValueCheck;

/** The evaluation of matrix products against the predecessor's tiles and the bounds of a PE. */
final class MilestoneGemmTest {
  private static final RunResult RUN =
      Runner.of("test", Progress.SILENT)
          .run(new MilestoneGemmBench(), RunOptions.DEFAULT.withMode(Mode.TIME));

  private static List<Map<String, Object>> rows(String sweep) {
    return RUN.rows().stream().filter(r -> r.get("sweep").equals(sweep)).toList();
  }

  private static double number(Map<String, Object> row, String column) {
    return ((BigDecimal) row.getOrDefault(column, BigDecimal.ZERO)).doubleValue();
  }

  @Test
  void tiles_perShape_areThePublishedOnes() {
    Map<Object, Object> tiles = new LinkedHashMap<>();
    rows("shapes").forEach(r -> tiles.put(r.get("shape"), r.get("tiles")));

    assertThat(tiles)
        .containsExactly(
            entry("32x32x32", 1L),
            entry("32x64x32", 1L),
            entry("32x128x32", 2L),
            entry("32x128x128", 8L),
            entry("32x3072x32", 48L),
            entry("8x128x128", 8L),
            entry("128x8x128", 16L),
            entry("512x512x512", 2048L));
  }

  @Test
  void everyPoint_isAboveItsRoofline_andNoEngineIsBusyLongerThanTheWindow() {
    assertThat(rows("shapes")).hasSize(8 * 3);
    for (Map<String, Object> r : RUN.rows()) {
      if (!r.get("sweep").equals("timeline")) {
        double window = number(r, "composite_window_ns");
        assertThat(number(r, "pe_window_ns")).isGreaterThanOrEqualTo(number(r, "bound_ns"));
        assertThat(number(r, "pe_window_ns")).isGreaterThanOrEqualTo(window);
        for (String engine : List.of("dma_read", "gemm", "dma_write")) {
          assertThat(number(r, engine + "_busy_ns")).isBetween(0.0, window);
        }
        assertThat(number(r, "tflop_per_s")).isLessThanOrEqualTo(number(r, "peak_tflop_per_s"));
      }
    }
  }

  /**
   * 48 tiles of B of 4 KiB each at 256 GB/s, and the 4.5 ns of a command beside its bytes: the one
   * reader is held until its data is there.
   */
  @Test
  void longK_withALoaded_readsATileIn20Nanoseconds() {
    Map<String, Object> row =
        rows("shapes").stream()
            .filter(r -> r.get("shape").equals("32x3072x32") && r.get("staging").equals("load_ref"))
            .findFirst()
            .orElseThrow();

    double tileNs = 64 * 32 * 2 / 256.0;
    assertThat(number(row, "dma_read_busy_ns")).isCloseTo(48 * (tileNs + 4.5), within(48 * 0.05));
    assertThat(row.get("cause")).isEqualTo("DMA-bound (reads)");
  }

  @Test
  void busyEngines_areWhatATallyOfTheTimelineSays() {
    Map<String, Object> row =
        rows("shapes").stream()
            .filter(r -> r.get("shape").equals("32x128x128") && r.get("staging").equals("ref_ref"))
            .findFirst()
            .orElseThrow();
    double gemm = 0;
    for (Map<String, Object> slice : rows("timeline")) {
      if (slice.get("staging").equals("ref_ref") && slice.get("engine").equals("GEMM")) {
        gemm += number(slice, "end_ns") - number(slice, "start_ns"); // one at a time
      }
    }
    assertThat(number(row, "gemm_busy_ns")).isPositive().isCloseTo(gemm, within(1e-6));
  }

  @Test
  void columnsOverPes_scaleWithoutCommunication() {
    List<Map<String, Object>> rows = rows("all_pes");
    double one = number(rows.getFirst(), "tflop_per_s");
    for (Map<String, Object> r : rows) {
      int pes = (Integer) r.get("pes");
      assertThat(number(r, "tflop_per_s")).isBetween(0.95 * one * pes, 1.05 * one * pes);
    }
    assertThat(rows).hasSize(4);
  }

  /**
   * Each element is rounded once to f16, and sums of f32 add little: so much and no more is off.
   */
  @ParameterizedTest
  @CsvSource({"8x128x128 load_load, 8, 128", "512x512x512 on 4 PEs, 512, 512"})
  void values_ofAPoint_areThoseOfAProductInDoubles(String point, int m, int n) {
    RunResult run =
        Runner.of("test", Progress.SILENT)
            .run(
                new MilestoneGemmBench(),
                RunOptions.DEFAULT.withMode(Mode.VALUES).withPoint(point));
    assertThat(run.isOk()).isTrue();
    assertThat(run.rows()).hasSize(1).first().extracting("correct").isEqualTo(true);
    ValueCheck values = run.values().orElseThrow();
    assertThat(values.checked()).isEqualTo((long) m * n);
    assertThat(values.maxAbsError()).isBetween(1e-4, 0.05);
  }
}
