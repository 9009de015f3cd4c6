package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.output.Numbers;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.pipeline.PipelineLayout;
import org.kernbench.nn.pipeline.PipelineModel;
import org.kernbench.nn.pipeline.PipelineStep;
import org.kernbench.nn.pipeline.PipelineStep.Span;

/** What the ranks of a pipeline did when, and what they held. */
final class PipelineReport {
  private final Pipe pipe;
  private final Map<Integer, Line> lines = new TreeMap<>();

  /** A rank of the first replica's pipeline, its first tensor- and context-parallel rank. */
  private record Line(List<Span> spans, long mostHeld, long parameters) {}

  PipelineReport(Pipe pipe) {
    this.pipe = pipe;
  }

  /** Takes what a rank has done; one for each place in the pipeline is kept. */
  void add(PipelineLayout layout, PipelineStep step, PipelineModel model) {
    long bytes = 0;
    for (Parameter p : model.parameters()) {
      bytes += p.shape().elements() * p.dtype().sizeBytes();
    }
    lines.putIfAbsent(
        layout.pp().rank(), new Line(step.spans(), step.mostBytesHeld(), bytes));
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
      long own = line.spans.stream().mapToLong(s -> s.endPs() - s.startPs()).sum();
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
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f%%", 100 * share);
  }

  private static String kib(long bytes) {
    return String.format(Locale.ROOT, "%.1fKiB", bytes / 1024.0);
  }

  /** Every action of every rank, in order. */
  List<Map<String, Object>> table() {
    List<Map<String, Object>> rows = new ArrayList<>();
    lines.forEach((rank, line) -> {
      for (Span span : line.spans) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("rank", rank);
        row.put("stage", span.action().stage());
        row.put("microbatch", span.action().microbatch());
        row.put("kind", span.action().kind().word());
        row.put("start_ns", Numbers.ns(span.startPs()));
        row.put("end_ns", Numbers.ns(span.endPs()));
        rows.add(row);
      }
    });
    return rows;
  }
}
