package org.kernbench.eval;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.kernbench.machine.Machines;

/** The figures of {@link MilestoneCclBench}, from its rows alone. */
final class MilestoneCclFigures {
  private static final String SIZE = "bytes per rank (log scale)";
  private static final String TIME = "time of one all-reduce (log scale)";
  private static final int COMPARED_ELEMENTS = 49152;

  private final List<Map<String, String>> rows;

  private MilestoneCclFigures(List<Map<String, String>> rows) {
    this.rows = rows;
  }

  static List<Figure> of(List<Map<String, String>> rows) {
    MilestoneCclFigures figures = new MilestoneCclFigures(rows);
    List<Figure> all = new ArrayList<>();
    for (String topology : figures.values("topology", r -> isLatency(r))) {
      all.add(figures.latency(topology));
    }
    all.add(figures.networks());
    all.add(figures.bufferKinds());
    all.add(figures.comparison());
    all.add(NetworkDiagram.of("allreduce-networks", networksOf()));
    return all;
  }

  private static boolean isLatency(Map<String, String> row) {
    return of(row, "sweep").equals(MilestoneCclBench.LATENCY);
  }

  private static String of(Map<String, String> row, String column) {
    return row.getOrDefault(column, "");
  }

  private static double number(Map<String, String> row, String column) {
    return Double.parseDouble(of(row, column));
  }

  private Set<String> values(String column, Predicate<Map<String, String>> which) {
    Set<String> values = new LinkedHashSet<>();
    rows.stream().filter(which).forEach(r -> values.add(of(r, column)));
    return values;
  }

  private List<Map<String, String>> where(Predicate<Map<String, String>> which) {
    return rows.stream().filter(which).toList();
  }

  private static Plots.Curve curve(
      String label, Plots.Style style, List<Map<String, String>> rows, String column) {
    List<Map<String, String>> with = rows.stream().filter(r -> !of(r, column).isEmpty()).toList();
    return new Plots.Curve(
        label,
        style,
        with.stream().mapToDouble(r -> number(r, "bytes")).toArray(),
        with.stream().mapToDouble(r -> number(r, column)).toArray());
  }

  private String conditions(Map<String, String> row) {
    return String.format(
        Locale.ROOT,
        "%s, %s packages, %s ranks, f16, values checked; configuration %s, mode %s",
        of(row, "machine"),
        of(row, "sips"),
        of(row, "ranks"),
        of(row, "point_machine"),
        of(row, "mode"));
  }

  /** One network: simulated, bound, formula. */
  private Figure latency(String topology) {
    List<Plots.Curve> curves = new ArrayList<>();
    List<Map<String, String>> here = where(r -> isLatency(r) && of(r, "topology").equals(topology));
    for (String algorithm : values("algorithm", r -> here.contains(r))) {
      List<Map<String, String>> own =
          here.stream().filter(r -> of(r, "algorithm").equals(algorithm)).toList();
      curves.add(curve(algorithm, Plots.Style.MEASURED, own, "crit_ns"));
      if (own.stream().anyMatch(r -> !of(r, "formula_ns").isEmpty())) {
        curves.add(curve(algorithm + ", formula", Plots.Style.FORMULA, own, "formula_ns"));
      }
    }
    List<Map<String, String>> first =
        here.stream()
            .filter(r -> of(r, "algorithm").equals(of(here.getFirst(), "algorithm")))
            .toList();
    curves.add(curve("lower bound", Plots.Style.BOUND, first, "bound_ns"));
    return Plots.timeOverBytes(
        "allreduce-" + topology.replace('_', '-'),
        new Plots.Words(
            "All-reduce on a " + words(topology) + " of six packages",
            conditions(here.getFirst())
                + ".\nLower bound: what no program on this machine can beat (docs/results.md). Formula:"
                + " the forecast for what auto runs; root_center has none.",
            SIZE,
            TIME),
        curves);
  }

  /** The three networks side by side. */
  private Figure networks() {
    List<Plots.Curve> curves = new ArrayList<>();
    String algorithm = of(where(MilestoneCclFigures::isLatency).getFirst(), "algorithm");
    for (String topology : values("topology", MilestoneCclFigures::isLatency)) {
      curves.add(
          curve(
              words(topology),
              Plots.Style.MEASURED,
              where(r ->
                  isLatency(r)
                      && of(r, "topology").equals(topology)
                      && of(r, "algorithm").equals(algorithm)),
              "crit_ns"));
    }
    Map<String, String> any = rows.getFirst();
    return Plots.timeOverBytes(
        "allreduce-all-networks",
        new Plots.Words(
            "Three networks of six packages, algorithm " + algorithm,
            String.format(
                Locale.ROOT,
                "%s, %s ranks, f16, values checked; mode %s. Networks: figure allreduce-networks.",
                of(any, "machine"),
                of(any, "ranks"),
                of(any, "mode")),
            SIZE,
            TIME),
        curves);
  }

  private Figure bufferKinds() {
    List<Plots.Curve> curves = new ArrayList<>();
    List<Map<String, String>> all = where(r -> of(r, "sweep").equals(MilestoneCclBench.BUFFERS));
    for (String kind : values("buffer_kind", all::contains)) {
      curves.add(
          curve(
              "slots in " + kind.toUpperCase(Locale.ROOT),
              Plots.Style.MEASURED,
              all.stream().filter(r -> of(r, "buffer_kind").equals(kind)).toList(),
              "crit_ns"));
    }
    curves.add(
        curve(
            "lower bound",
            Plots.Style.BOUND,
            all.stream().filter(r -> of(r, "buffer_kind").equals("tcm")).toList(),
            "bound_ns"));
    return Plots.timeOverBytes(
        "allreduce-buffer-kinds",
        new Plots.Words(
            "Where message slots lie: TCM, SRAM or HBM",
            conditions(all.getFirst())
                + ".\nNetwork torus_2d, algorithm "
                + of(all.getFirst(), "ran")
                + ".",
            SIZE,
            TIME),
        curves);
  }

  /** 96 KiB: ours beside numbers of others, which are no targets. */
  private Figure comparison() {
    List<Plots.Bar> bars = new ArrayList<>();
    String algorithm = of(where(MilestoneCclFigures::isLatency).getFirst(), "algorithm");
    double highest = 0;
    for (Map<String, String> row :
        where(r ->
            isLatency(r)
                && of(r, "algorithm").equals(algorithm)
                && number(r, "n_elem") == COMPARED_ELEMENTS)) {
      double us = number(row, "crit_ns") / 1000;
      highest = Math.max(highest, us);
      bars.add(new Plots.Bar(words(of(row, "topology")) + ", simulated", "ours", us));
    }
    Map<String, References.Reference> references = References.of("allreduce.csv");
    References.Reference external = reference(references, "external-single-device");
    for (String id : List.of("predecessor-centre-root", "external-single-device")) {
      References.Reference r = reference(references, id);
      bars.add(new Plots.Bar(r.what(), Plots.OF_OTHERS, r.valueUs()));
      highest = r == external ? highest : Math.max(highest, r.valueUs());
    }
    return Plots.brokenBars(
        "allreduce-against-references",
        new Plots.Words(
            "96 KiB per rank, beside published numbers",
            "Blue: "
                + of(rows.getFirst(), "machine")
                + ", six packages, 96 ranks, f16, algorithm "
                + algorithm
                + ", values checked. Grey: published numbers, no targets; the axis is broken.\n"
                + "External simulator: "
                + external.status()
                + ".",
            "",
            "time (µs)"),
        bars,
        new double[] {highest * 1.3, external.valueUs() - 18},
        external.valueUs() + 15,
        Plots::threeDigits);
  }

  private static References.Reference reference(Map<String, References.Reference> all, String id) {
    References.Reference found = all.get(id);
    if (found == null) {
      throw new AssertionError("no reference " + id);
    }
    return found;
  }

  private static List<NetworkDiagram.Network> networksOf() {
    return LatencySweepBench.NETWORKS.stream()
        .map(n ->
            new NetworkDiagram.Network(words(n.name()), Machines.load("sip-2026", n.overrides())))
        .toList();
  }

  private static String words(String topology) {
    return switch (topology) {
      case "ring_1d" -> "ring";
      case "torus_2d" -> "torus";
      case "mesh_2d_no_wrap" -> "mesh";
      default -> topology;
    };
  }
}
