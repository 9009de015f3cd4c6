package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.figures.Figure;
import org.kernbench.eval.figures.PipelineChart;
import org.kernbench.eval.output.Numbers;
import org.kernbench.nn.pipeline.Action;
import org.kernbench.nn.pipeline.PipelineStep;
import org.kernbench.nn.pipeline.PipelineStep.Span;

/** What the ranks of a pipeline did when, and what they held. */
final class PipelineReport {
  private final String name;
  private final Map<Integer, Line> lines = new TreeMap<>();

  /** A rank of the first replica's pipeline, its first tensor- and context-parallel rank. */
  private record Line(List<Span> spans, long mostHeld) {
    Stream<Span.Stretch> stretches() {
      return spans.stream().flatMap(s -> s.stretches().stream());
    }
  }

  /** Of a schedule, as people know it. */
  PipelineReport(String name) {
    this.name = name;
  }

  /** Takes what a rank has done; one for each place in the pipeline is kept. */
  void add(int place, PipelineStep step) {
    lines.putIfAbsent(place, new Line(step.spans(), step.mostBytesHeld()));
  }

  /** Adds what there is to say; everything must be done. */
  void report(Outcome outcome) {
    if (lines.isEmpty()) {
      return;
    }
    long first = Long.MAX_VALUE;
    long last = 0;
    long busy = 0;
    List<String> held = new ArrayList<>();
    List<String> idle = new ArrayList<>();
    for (Line line : lines.values()) {
      for (Span span : line.spans) {
        first = Math.min(first, span.startPs());
        last = Math.max(last, span.endPs());
      }
    }
    for (Line line : lines.values()) {
      long own = line.stretches().mapToLong(s -> s.endPs() - s.startPs()).sum();
      busy += own;
      idle.add(percent(1 - own / (double) (last - first)));
      held.add(kib(line.mostHeld));
    }
    double bubble = 1 - busy / ((double) (last - first) * lines.size());
    outcome
        .metric("pipeline_ns", Numbers.ns(last - first))
        .metric("bubble_pct", Numbers.rounded(100 * bubble))
        .metric("idle_by_rank", String.join(" ", idle))
        .metric("held_by_rank", String.join(" ", held));
    long begin = first;
    outcome.file("pipeline.svg", () -> figure(begin).svg()).file("pipeline.csv", this::csv);
  }

  private Figure figure(long firstPs) {
    List<PipelineChart.Bar> bars = new ArrayList<>();
    lines.forEach((rank, line) -> {
      for (Span span : line.spans) {
        Action a = span.action();
        for (Span.Stretch stretch : span.stretches()) {
          bars.add(
              new PipelineChart.Bar(
                  rank,
                  a.kind().word(),
                  a.stage() / lines.size(),
                  String.valueOf(a.microbatch()),
                  (stretch.startPs() - firstPs) / 1e3,
                  (stretch.endPs() - firstPs) / 1e3));
        }
      }
    });
    return PipelineChart.of("pipeline", "Pipeline " + name, bars);
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f%%", 100 * share);
  }

  private static String kib(long bytes) {
    return String.format(Locale.ROOT, "%.1fKiB", bytes / 1024.0);
  }

  /** Every action of every rank, in order; two lines where it waited for its message within. */
  private String csv() {
    StringBuilder text = new StringBuilder("rank,stage,microbatch,kind,start_ns,end_ns\n");
    lines.forEach((rank, line) -> {
      for (Span span : line.spans) {
        Action a = span.action();
        for (Span.Stretch stretch : span.stretches()) {
          text.append(
              "%s,%s,%s,%s,%s,%s\n"
                  .formatted(
                      rank,
                      a.stage(),
                      a.microbatch(),
                      a.kind().word(),
                      Numbers.ns(stretch.startPs()),
                      Numbers.ns(stretch.endPs())));
        }
      }
    });
    return text.toString();
  }
}
