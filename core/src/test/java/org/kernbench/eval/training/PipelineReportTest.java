package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** What a run says of its pipeline: metrics, table and chart say the same. */
final class PipelineReportTest {
  private static final int RANKS = 2;
  private static final int MICROBATCHES = 3;

  private static final RunResult RESULT =
      Runner.of("test", Progress.SILENT)
          .run(
              BenchRegistry.standard().find("train-step"),
              RunOptions.DEFAULT
                  .withMode(Mode.TIME)
                  .withParams(
                      List.of(
                          "tp=1",
                          "pp=" + RANKS,
                          "batch=" + MICROBATCHES,
                          "microbatches=" + MICROBATCHES,
                          "schedule=1f1b",
                          "layers=2",
                          "tokens=16")));

  /** An action as the table has it. */
  private record Action(
      int rank, int stage, int microbatch, String kind, double fromNs, double toNs) {}

  private static List<Action> actions() {
    List<String> lines = RESULT.files().get("pipeline.csv").get().lines().toList();
    assertThat(lines.getFirst()).isEqualTo("rank,stage,microbatch,kind,start_ns,end_ns");
    List<Action> actions = new ArrayList<>();
    for (String line : lines.subList(1, lines.size())) {
      String[] cells = line.split(",");
      actions.add(
          new Action(
              Integer.parseInt(cells[0]),
              Integer.parseInt(cells[1]),
              Integer.parseInt(cells[2]),
              cells[3],
              Double.parseDouble(cells[4]),
              Double.parseDouble(cells[5])));
    }
    return actions;
  }

  /** In 1F1B the last stage goes forward and backward by turns; the first has one more ahead. */
  @Test
  void table_hasTheActionsOfTheSchedule() {
    Map<Integer, StringBuilder> order = new LinkedHashMap<>();
    for (Action a : actions()) {
      assertThat(a.stage()).isEqualTo(a.rank());
      assertThat(a.toNs()).isGreaterThan(a.fromNs());
      order
          .computeIfAbsent(a.rank(), rank -> new StringBuilder())
          .append(a.kind())
          .append(a.microbatch());
    }
    assertThat(order.get(0)).hasToString("F0F1B0F2B1B2");
    assertThat(order.get(1)).hasToString("F0B0F1B1F2B2");
    assertThat(order).hasSize(RANKS);
  }

  @Test
  void metrics_followFromTheTable() {
    double first = actions().stream().mapToDouble(Action::fromNs).min().orElseThrow();
    double last = actions().stream().mapToDouble(Action::toNs).max().orElseThrow();
    double[] busy = new double[RANKS];
    for (Action a : actions()) {
      busy[a.rank()] += a.toNs() - a.fromNs();
    }
    double bubble = 1 - (busy[0] + busy[1]) / (RANKS * (last - first));
    List<String> idle = new ArrayList<>();
    for (double ns : busy) {
      idle.add(String.format(Locale.ROOT, "%.1f%%", 100 * (1 - ns / (last - first))));
    }

    assertThat(number("pipeline_ns")).isCloseTo(last - first, within(1e-6));
    assertThat(number("bubble_pct")).isCloseTo(100 * bubble, within(0.01)).isPositive();
    assertThat(RESULT.metrics().get("idle_by_rank")).isEqualTo(String.join(" ", idle));
    assertThat(RESULT.metrics().get("held_by_rank").toString())
        .as("the first stage holds two microbatches at once, the last one")
        .matches("[\\d.]+KiB [\\d.]+KiB");
  }

  private static double number(String metric) {
    return Double.parseDouble(RESULT.metrics().get(metric).toString());
  }

  /** A box for each action of the table, at its time; the chart begins with the first of them. */
  @Test
  void chart_drawsTheTable() {
    String svg = RESULT.files().get("pipeline.svg").get();
    List<Double> boxes =
        Pattern.compile("<rect [^>]*height=\"22\"[^>]* x=\"([\\d.]+)\"")
            .matcher(svg)
            .results()
            .map(m -> Double.parseDouble(m.group(1)))
            .toList();
    double first = actions().stream().mapToDouble(Action::fromNs).min().orElseThrow();
    double last = actions().stream().mapToDouble(Action::toNs).max().orElseThrow();

    assertThat(svg)
        .contains(
            ">Pipeline 1f1b: 2 stages on 2 ranks, 3 microbatches<",
            ">rank 0<",
            ">rank 1<",
            ">F forward<");
    assertThat(boxes).hasSize(2 * RANKS * MICROBATCHES);
    for (int i = 0; i < boxes.size(); i++) {
      double x = 70 + (actions().get(i).fromNs() - first) / (last - first) * (960 - 70 - 24);
      assertThat(boxes.get(i)).isCloseTo(x, within(0.02));
    }
  }
}
