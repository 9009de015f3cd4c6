package org.kernbench.cli.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.sweep.Sweep;
import org.kernbench.eval.sweep.SweepFolder;
import org.kernbench.eval.sweep.SweepRunner;

/** What is shown of a sweep, of rows made by hand. */
final class SweepTextTest {
  @TempDir private Path directory;

  private static Sweep sweep(String axis) {
    return Sweep.of(
        BenchRegistry.standard().find("hello-send"),
        RunOptions.DEFAULT,
        List.of(Sweep.Axis.parse(axis)),
        "1.2",
        "");
  }

  private static Map<String, Object> row(Object... pairs) {
    Map<String, Object> row = new LinkedHashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      row.put((String) pairs[i], pairs[i + 1]);
    }
    return row;
  }

  private String text(List<Map<String, Object>> rows, int reused) {
    SweepRunner.Summary summary =
        new SweepRunner.Summary(rows.size(), reused, rows.size() - reused, 0, List.of());
    return SweepText.write(
            sweep("n_elem=1,2"), rows, summary, SweepFolder.create(directory.resolve("s")))
        .replace(directory.toString(), "@");
  }

  @Test
  void rows_haveTheColumnsThatSomeRowHas() {
    List<Map<String, Object>> rows =
        List.of(
            row("n_elem", 1, "bytes", 2, "status", "ok", "crit_ns", "3.5", "other", "x"),
            row("n_elem", 2, "status", "refused"));

    assertThat(text(rows, 0))
        .isEqualTo(
            """
            sweep       hello-send   (kernbench 1.2, 2 points)

              n_elem  bytes  status   crit_ns
                   1      2  ok           3.5
                   2         refused

            all columns @/s/results.csv, @/s/results.json
            store       @/s/results.sqlite
            """);
  }

  @Test
  void sixtyRows_areShown_ofMoreHowMany() {
    List<Map<String, Object>> rows = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      rows.add(row("n_elem", i));
    }
    assertThat(text(rows, 0)).contains("\n      59\n").doesNotContain("more");

    rows.add(row("n_elem", 60));

    assertThat(text(rows, 7))
        .contains("(kernbench 1.2, 61 points, 7 of them before)")
        .contains("\n      59\n  … and 1 more\n")
        .doesNotContain("\n      60\n");
  }

  @Test
  void failures_nameTheFirst() {
    List<Map<String, Object>> rows =
        List.of(
            row("n_elem", 1, "status", "ok"),
            row("n_elem", 2, "status", "deadlock", "problems", "first line\nsecond"),
            row("n_elem", 3, "status", "refused", "problems", "x"));
    SweepRunner.Summary summary = new SweepRunner.Summary(3, 0, 3, 2, List.of());

    assertThat(SweepText.failures(sweep("n_elem=1,2,3"), rows, summary))
        .isEqualTo(
            """
            2 of 3 points failed, first n_elem=2 (first line); column problems of the results has \
            the others\
            """);
    assertThat(summary.isOk()).isFalse();
    assertThat(new SweepRunner.Summary(1, 0, 1, 0, List.of()).isOk()).isTrue();
    assertThat(new SweepRunner.Summary(1, 0, 0, 0, List.of("lost")).isOk()).isFalse();
  }
}
