package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.kernbench.eval.figures.Figure;
import org.kernbench.eval.figures.Gantt;
import org.kernbench.eval.figures.Plots;

/** The figures of {@link MilestoneGemmBench}, from its rows alone. */
final class MilestoneGemmFigures {
  private final List<Map<String, String>> rows;

  private MilestoneGemmFigures(List<Map<String, String>> rows) {
    this.rows = rows;
  }

  static List<Figure> of(List<Map<String, String>> rows) {
    MilestoneGemmFigures figures = new MilestoneGemmFigures(rows);
    List<Figure> all = new ArrayList<>();
    for (MilestoneGemmBench.Staging staging : MilestoneGemmBench.Staging.values()) {
      all.add(figures.utilisation(staging.word()));
    }
    all.add(figures.roofline());
    all.add(figures.theory());
    all.add(figures.timeline());
    all.add(figures.scaling());
    return all;
  }

  private static String of(Map<String, String> row, String column) {
    return row.getOrDefault(column, "");
  }

  private static double number(Map<String, String> row, String column) {
    return Double.parseDouble(of(row, column));
  }

  private List<Map<String, String>> where(String sweep, String staging) {
    return rows.stream()
        .filter(r -> of(r, "sweep").equals(sweep) && of(r, "staging").equals(staging))
        .toList();
  }

  private String conditions() {
    Map<String, String> first = rows.getFirst();
    return String.format(
        Locale.ROOT,
        "%s (configuration %s), f16, one PE: %s TFLOP/s, memory %s GB/s; values checked, mode %s",
        of(first, "machine"),
        of(first, "machine_hash"),
        Plots.plain(number(first, "peak_tflop_per_s")),
        Plots.plain(number(first, "memory_gb_per_s")),
        of(first, "mode"));
  }

  private static String brief(String cause) {
    return cause
        .replace("DMA-bound (reads)", "DMA reads")
        .replace("DMA-bound (writes)", "DMA writes")
        .replace("-bound", "");
  }

  private static String words(String staging) {
    return switch (staging) {
      case "ref_ref" -> "A and B streamed";
      case "load_ref" -> "A loaded first";
      default -> "A and B loaded first";
    };
  }

  private Figure utilisation(String staging) {
    List<Plots.Bar> bars = new ArrayList<>();
    for (Map<String, String> row : where(MilestoneGemmBench.SHAPES, staging)) {
      double window = number(row, "composite_window_ns");
      String group = of(row, "shape") + "\n" + brief(of(row, "cause"));
      for (String engine : MilestoneGemmBench.ENGINES) {
        String column = engine.toLowerCase(Locale.ROOT).replace(' ', '_') + "_busy_ns";
        bars.add(new Plots.Bar(group, engine, window > 0 ? 100 * number(row, column) / window : 0));
      }
    }
    return Plots.bars(
        "gemm-utilisation-" + staging.replace('_', '-'),
        new Plots.Words(
            "Busy engines during the product: " + words(staging),
            """
            %s.
            Shape M x K x N and what decides (fill: the pipeline never fills). Busy: share \
            of the time from the first operation of the product to its last.\
            """
                .formatted(conditions()),
            "",
            "busy (%)"),
        bars,
        115,
        v -> String.format(Locale.ROOT, "%.0f", v));
  }

  private Figure roofline() {
    List<Plots.Curve> curves = new ArrayList<>();
    double low = Double.MAX_VALUE;
    double high = 0;
    for (MilestoneGemmBench.Staging staging : MilestoneGemmBench.Staging.values()) {
      List<Map<String, String>> own = where(MilestoneGemmBench.SHAPES, staging.word());
      curves.add(
          new Plots.Curve(
              words(staging.word()),
              Plots.Style.POINTS,
              own.stream().mapToDouble(r -> number(r, "intensity")).toArray(),
              own.stream().mapToDouble(r -> number(r, "tflop_per_s")).toArray()));
      for (Map<String, String> r : own) {
        low = Math.min(low, number(r, "intensity"));
        high = Math.max(high, number(r, "intensity"));
      }
    }
    Map<String, String> first = rows.getFirst();
    double peak = number(first, "peak_tflop_per_s");
    double memory = number(first, "memory_gb_per_s") / 1000;
    double ridge = peak / memory;
    double left = low / 2;
    double right = Math.max(high, ridge) * 2;
    curves.add(
        new Plots.Curve(
            "roofline",
            Plots.Style.BOUND,
            new double[] {left, ridge, right},
            new double[] {left * memory, peak, peak}));
    return Plots.logLog(
        "gemm-roofline",
        new Plots.Words(
            "Roofline of one PE",
            conditions()
                + String.format(Locale.ROOT, ".\nThe ridge is at %s flop/B.", Plots.plain(ridge)),
            "flop per byte that must be moved (log scale)",
            "TFLOP/s (log scale)"),
        Plots::plain,
        curves,
        labels("intensity", "tflop_per_s"));
  }

  /** The shapes, each at one of its points, rather the streamed one. */
  private List<Plots.Label> labels(String x, String y) {
    Map<String, List<Map<String, String>>> shapes = new LinkedHashMap<>();
    for (MilestoneGemmBench.Staging staging : MilestoneGemmBench.Staging.values()) {
      for (Map<String, String> r : where(MilestoneGemmBench.SHAPES, staging.word())) {
        shapes.computeIfAbsent(of(r, "shape"), key -> new ArrayList<>()).add(r);
      }
    }
    List<Plots.Label> labels = new ArrayList<>();
    shapes.forEach((shape, own) ->
        labels.add(
            new Plots.Label(
                shape,
                own.stream().mapToDouble(r -> number(r, x)).toArray(),
                own.stream().mapToDouble(r -> number(r, y)).toArray())));
    return labels;
  }

  private Figure theory() {
    List<Plots.Curve> curves = new ArrayList<>();
    double low = Double.MAX_VALUE;
    double high = 0;
    for (MilestoneGemmBench.Staging staging : MilestoneGemmBench.Staging.values()) {
      List<Map<String, String>> own = where(MilestoneGemmBench.SHAPES, staging.word());
      double[] theory = own.stream().mapToDouble(r -> number(r, "theory_ns")).toArray();
      double[] simulated =
          own.stream().mapToDouble(r -> number(r, "composite_window_ns")).toArray();
      curves.add(new Plots.Curve(words(staging.word()), Plots.Style.POINTS, theory, simulated));
      for (int i = 0; i < own.size(); i++) {
        low = Math.min(low, Math.min(theory[i], simulated[i]));
        high = Math.max(high, Math.max(theory[i], simulated[i]));
      }
    }
    curves.add(
        new Plots.Curve(
            "equal",
            Plots.Style.BOUND,
            new double[] {low / 1.5, high * 1.5},
            new double[] {low / 1.5, high * 1.5}));
    return Plots.logLog(
        "gemm-theory-simulated",
        new Plots.Words(
            "Pipeline formula and simulation",
            """
            %s.
            Formula: the prediction that tiles are chosen by (tl.TileSearch), without \
            simulating. Simulated: the product alone.\
            """
                .formatted(conditions()),
            "formula (log scale)",
            "simulated (log scale)"),
        Plots::time,
        curves,
        labels("theory_ns", "composite_window_ns"));
  }

  private Figure timeline() {
    List<Gantt.Bar> bars = new ArrayList<>();
    Set<String> shapes = new LinkedHashSet<>();
    for (MilestoneGemmBench.Staging staging : MilestoneGemmBench.Staging.values()) {
      double begin = Double.MAX_VALUE;
      List<Map<String, String>> own = where(MilestoneGemmBench.TIMELINE, staging.word());
      for (Map<String, String> r : own) {
        begin = Math.min(begin, number(r, "start_ns"));
        shapes.add(of(r, "shape"));
      }
      for (Map<String, String> r : own) {
        bars.add(
            new Gantt.Bar(
                words(staging.word()),
                of(r, "engine"),
                number(r, "start_ns") - begin,
                number(r, "end_ns") - begin));
      }
    }
    return Gantt.of(
        "gemm-timeline",
        "What the engines do during " + String.join(", ", shapes),
        conditions() + ".\nEach bar is one operation: a tile read, multiplied or written.",
        bars);
  }

  private Figure scaling() {
    List<Plots.Bar> bars = new ArrayList<>();
    double top = 0;
    List<Map<String, String>> own = where(MilestoneGemmBench.ALL_PES, "ref_ref");
    for (Map<String, String> r : own) {
      double pes = number(r, "pes");
      String group = Plots.plain(pes) + (pes == 1 ? " PE" : " PEs");
      bars.add(new Plots.Bar(group, "simulated", number(r, "tflop_per_s")));
      double ideal = number(own.getFirst(), "tflop_per_s") * pes;
      bars.add(new Plots.Bar(group, "one PE x number of PEs", ideal));
      top = Math.max(top, Math.max(ideal, number(r, "tflop_per_s")));
    }
    return Plots.bars(
        "gemm-all-pes",
        new Plots.Words(
            "512x512x512 over the PEs of a cube, B split by columns",
            """
            %s.
            A lies with every PE, each has its own columns of B and of the result.\
            """
                .formatted(conditions()),
            "",
            "TFLOP/s"),
        bars,
        top * 1.15,
        Plots::threeDigits);
  }
}
