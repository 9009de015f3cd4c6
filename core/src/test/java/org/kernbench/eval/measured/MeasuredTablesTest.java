package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/**
 * The tables of {@code examples/measured} stay as near as {@code docs/validation/hardware.md} says.
 */
final class MeasuredTablesTest {
  private static final Path TABLES =
      Path.of(System.getProperty("basedir", "."), "..", "examples", "measured");
  private static final Path PAGE =
      Path.of(System.getProperty("basedir", "."), "..", "docs", "validation", "hardware");

  @ParameterizedTest
  @CsvSource({
    "a100_matmul, 0.06",
    "a100_softmax, 0.08",
    "a100_layernorm, 0.08",
    "a100_gelu, 0.08",
    "a100x4_allreduce, 0.10",
    "a100_vtrain_allreduce, 0.10"
  })
  void table_onItsMachine_isAsNearAsItWas(String name, double most) {
    MeasuredFile file =
        MeasuredFile.read(TABLES.resolve(name + ".csv").toString(), Optional.empty());
    Validation found = validated(file, "dgx-a100");
    assertThat(found.meanError()).isLessThan(most);
    isAsPublished(name, found);
  }

  /** To the last digit of what stands in the page's data: a model that changes renews the page. */
  private static void isAsPublished(String name, Validation found) {
    String json = read(PAGE.resolve(name + ".json"));
    assertThat(number(json, "mean_error")).isCloseTo(found.meanError(), within(0.000051));
    assertThat(number(json, "bias")).isCloseTo(found.bias(), within(0.000051));
    String page = read(PAGE.resolveSibling("hardware.md"));
    assertThat(page)
        .contains(
            String.format(
                Locale.ROOT,
                "mean error **%.1f %%**, bias %+.1f %%",
                found.meanError() * 100,
                found.bias() * 100));
  }

  private static double number(String json, String name) {
    Matcher m = Pattern.compile("\"" + name + "\": (-?[0-9.]+)").matcher(json);
    assertThat(m.find()).isTrue();
    return Double.parseDouble(m.group(1));
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void h100AllReduce_isAsPublished() {
    String name = "h100_dgx_allreduce";
    MeasuredFile all =
        MeasuredFile.read(TABLES.resolve(name + ".csv").toString(), Optional.empty());
    isAsPublished(name, validated(all, "dgx-h100"));
  }

  /** Below 1 MiB rows of two ranks differ by a factor of five without reason (ADR 0131). */
  @Test
  void h100AllReduce_fromOneMebibyte_isAsNearAsItWas() {
    MeasuredFile all =
        MeasuredFile.read(TABLES.resolve("h100_dgx_allreduce.csv").toString(), Optional.empty());
    MeasuredFile large = all.with(all.rows().stream().filter(r -> r.size() > 1e6).toList());

    assertThat(large.rows()).hasSize(21);
    assertThat(validated(large, "dgx-h100").meanError()).isLessThan(0.15);
  }

  /** Every 80th step; all of them are in {@code docs/validation/hardware.md}. */
  @Test
  void steps_onANodeOfA100_areAsNearAsTheyWere() {
    MeasuredFile all =
        MeasuredFile.read(TABLES.resolve("vtrain_steps_single.csv").toString(), Optional.empty());
    List<MeasuredRow> some = new ArrayList<>();
    for (int i = 0; i < all.rows().size(); i += 80) {
      some.add(all.rows().get(i));
    }
    Validation found = validated(all.with(some), "dgx-a100");

    assertThat(found.meanError()).isLessThan(0.15);
    assertThat(found.rows()).allMatch(r -> r.simulated().why().contains("bubble"));
  }

  private static Validation validated(MeasuredFile file, String machine) {
    RowSimulator simulator =
        new RowSimulator(
            Runner.of("test", Progress.SILENT),
            BenchRegistry.standard()::find,
            RunOptions.DEFAULT.withTopology(machine));
    return Validation.of(file, machine, simulator, List.of());
  }

  /** The host's part hides behind the kernel before, or the kernel behind the host's part. */
  @Test
  void repeated_isTheLongerOfHostAndKernel() {
    MeasuredRow row =
        new MeasuredRow(
            "x", "gelu", List.of(), List.of(), MeasuredRow.Metric.REPEATED, 1, 1, 0, "");

    assertThat(new RowSimulator.Simulated(40, 100, "").ps(row)).isEqualTo(60);
    assertThat(new RowSimulator.Simulated(80, 100, "").ps(row)).isEqualTo(80);
  }
}
