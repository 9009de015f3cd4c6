package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import org.kernbench.config.UsageException;
import org.kernbench.eval.figures.Figure;
import org.kernbench.eval.figures.NetworkDiagram;
import org.kernbench.eval.figures.Plots;
import org.kernbench.machine.Machines;

/** The figures of {@link MilestoneCclBench}, from its rows alone. */
final class MilestoneCclFigures {
  private static final String SIZE = "bytes per rank (log scale)";
  private static final String TIME = "time of one all-reduce (log scale)";
  private static final String CORNER = MilestoneCclBench.CORNER;
  private static final String CENTRE = "centre";
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
    figures.roots().ifPresent(all::add);
    all.add(NetworkDiagram.of("allreduce-networks", networksOf()));
    return all;
  }

  private static boolean isLatency(Map<String, String> row) {
    return of(row, "sweep").equals(MilestoneCclBench.LATENCY);
  }

  /** The corner stands beside the centre in a figure of its own; alone it stands everywhere. */
  private boolean isOtherRoot(Map<String, String> row) {
    return of(row, "root").equals(CORNER)
        && rows.stream()
            .anyMatch(r ->
                isLatency(r)
                    && of(r, "algorithm").equals(of(row, "algorithm"))
                    && !of(r, "root").equals(CORNER));
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

  /** What all rows of a figure were run on; a row that differs in it has no place there. */
  private static String conditions(List<Map<String, String>> drawn) {
    return String.format(
        Locale.ROOT,
        "%s, %s packages, %s, f16, %s; configuration %s, mode %s",
        only(drawn, "machine"),
        only(drawn, "sips"),
        ranks(drawn),
        checked(drawn),
        only(drawn, "point_machine"),
        only(drawn, "mode"));
  }

  private static String ranks(List<Map<String, String>> drawn) {
    return only(drawn, "ranks") + " ranks of level " + only(drawn, "rank_level");
  }

  private static String checked(List<Map<String, String>> drawn) {
    boolean all = drawn.stream().allMatch(r -> of(r, "correct").equals("true"));
    boolean none = drawn.stream().allMatch(r -> of(r, "correct").isEmpty());
    return all ? "values checked" : none ? "no values" : "some values wrong or not checked";
  }

  /**
   * The value that all rows have in a column.
   *
   * @throws UsageException if they differ: lines of one figure would show different things
   */
  private static String only(List<Map<String, String>> drawn, String column) {
    Set<String> values = new LinkedHashSet<>();
    drawn.forEach(r -> values.add(of(r, column)));
    if (values.size() > 1) {
      throw new UsageException(
          """
          the rows of one figure differ in %s: %s; run the bench again, or draw them apart\
          """
              .formatted(column, String.join(", ", values)));
    }
    return values.stream().findFirst().orElse("");
  }

  private static String line(Map<String, String> row) {
    return of(row, "algorithm") + (of(row, "root").equals(CORNER) ? ", corner root" : "");
  }

  private static List<Map<String, String>> with(
      List<Map<String, String>> drawn, String label, Function<Map<String, String>, String> by) {
    return drawn.stream().filter(r -> by.apply(r).equals(label)).toList();
  }

  private static Set<String> labels(
      List<Map<String, String>> drawn, Function<Map<String, String>, String> by) {
    Set<String> labels = new LinkedHashSet<>();
    drawn.forEach(r -> labels.add(by.apply(r)));
    return labels;
  }

  /** One line if it is the same for all curves, else one for each. */
  private static List<Plots.Curve> bounds(
      List<Map<String, String>> drawn, Function<Map<String, String>, String> by) {
    Map<List<String>, List<String>> sharing = new LinkedHashMap<>();
    for (String label : labels(drawn, by)) {
      List<String> values = with(drawn, label, by).stream().map(r -> of(r, "bound_ns")).toList();
      sharing.computeIfAbsent(values, v -> new ArrayList<>()).add(label);
    }
    List<Plots.Curve> curves = new ArrayList<>();
    for (List<String> lines : sharing.values()) {
      String label =
          sharing.size() == 1 ? "lower bound" : "lower bound, " + String.join(" and ", lines);
      List<Map<String, String>> first = with(drawn, lines.getFirst(), by);
      curves.add(curve(label, Plots.Style.BOUND, first, "bound_ns"));
    }
    return curves;
  }

  /** One network: simulated, bound, formula. */
  private Figure latency(String topology) {
    List<Map<String, String>> here =
        where(r -> isLatency(r) && of(r, "topology").equals(topology) && !isOtherRoot(r));
    List<Plots.Curve> curves = new ArrayList<>();
    for (String line : labels(here, MilestoneCclFigures::line)) {
      List<Map<String, String>> own = with(here, line, MilestoneCclFigures::line);
      curves.add(curve(line, Plots.Style.MEASURED, own, "crit_ns"));
      if (own.stream().anyMatch(r -> !of(r, "formula_ns").isEmpty())) {
        curves.add(curve(line + ", formula", Plots.Style.FORMULA, own, "formula_ns"));
      }
    }
    curves.addAll(bounds(here, MilestoneCclFigures::line));
    return Plots.timeOverBytes(
        "allreduce-" + topology.replace('_', '-'),
        new Plots.Words(
            "All-reduce on a " + words(topology) + " of six packages",
            """
            %s.
            Lower bound: what no program on this machine can beat (docs/results.md). \
            Formula: no waiting on the way.\
            """
                .formatted(conditions(here)),
            SIZE,
            TIME),
        curves);
  }

  /** The three networks side by side: all but them is the same. */
  private Figure networks() {
    String algorithm = of(where(MilestoneCclFigures::isLatency).getFirst(), "algorithm");
    List<Map<String, String>> drawn =
        where(r -> isLatency(r) && of(r, "algorithm").equals(algorithm) && !isOtherRoot(r));
    List<Plots.Curve> curves = new ArrayList<>();
    for (String topology : labels(drawn, r -> of(r, "topology"))) {
      List<Map<String, String>> own = with(drawn, topology, r -> of(r, "topology"));
      curves.add(curve(words(topology), Plots.Style.MEASURED, own, "crit_ns"));
    }
    return Plots.timeOverBytes(
        "allreduce-all-networks",
        new Plots.Words(
            "Three networks of six packages, algorithm " + algorithm,
            String.format(
                Locale.ROOT,
                "%s, %s, f16, %s; mode %s. Networks: figure allreduce-networks.",
                only(drawn, "machine"),
                ranks(drawn),
                checked(drawn),
                only(drawn, "mode")),
            SIZE,
            TIME),
        curves);
  }

  private Figure bufferKinds() {
    List<Map<String, String>> drawn = where(r -> of(r, "sweep").equals(MilestoneCclBench.BUFFERS));
    List<Plots.Curve> curves = new ArrayList<>();
    for (String kind : labels(drawn, r -> of(r, "buffer_kind"))) {
      curves.add(
          curve(
              "slots in " + kind.toUpperCase(Locale.ROOT),
              Plots.Style.MEASURED,
              with(drawn, kind, r -> of(r, "buffer_kind")),
              "crit_ns"));
    }
    curves.addAll(bounds(drawn, r -> of(r, "buffer_kind")));
    return Plots.timeOverBytes(
        "allreduce-buffer-kinds",
        new Plots.Words(
            "Where message slots lie: TCM, SRAM or HBM",
            """
            %s.
            Network %s, algorithm %s.\
            """
                .formatted(
                    conditions(drawn), words(only(drawn, "topology")), only(drawn, "algorithm")),
            SIZE,
            TIME),
        curves);
  }

  private List<Map<String, String>> compared() {
    String algorithm = of(where(MilestoneCclFigures::isLatency).getFirst(), "algorithm");
    return where(r ->
        isLatency(r)
            && of(r, "algorithm").equals(algorithm)
            && number(r, "n_elem") == COMPARED_ELEMENTS);
  }

  /** 96 KiB: ours beside numbers of others, which are no targets. */
  private Figure comparison() {
    List<Plots.Bar> bars = new ArrayList<>();
    List<Map<String, String>> drawn = compared().stream().filter(r -> !isOtherRoot(r)).toList();
    double highest = 0;
    for (Map<String, String> row : drawn) {
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
            """
            Blue: %s, six packages, %s, f16, algorithm %s, %s. Grey: published numbers, no \
            targets; the axis is broken.
            External simulator: %s.\
            """
                .formatted(
                    only(drawn, "machine"),
                    ranks(drawn),
                    only(drawn, "algorithm"),
                    checked(drawn),
                    external.status()),
            "",
            "time (µs)"),
        bars,
        new double[] {highest * 1.3, external.valueUs() - 18},
        external.valueUs() + 15,
        Plots::threeDigits);
  }

  /** 96 KiB with the root in the corner and in the centre, as the predecessor had it in turn. */
  private Optional<Figure> roots() {
    List<Map<String, String>> drawn =
        new ArrayList<>(where(r -> of(r, "sweep").equals(MilestoneCclBench.ROOTS)));
    if (drawn.isEmpty()) {
      return Optional.empty();
    }
    String ranks = only(drawn, "ranks"); // a smaller machine has no place beside the predecessor's
    drawn.addAll(compared().stream().filter(r -> of(r, "ranks").equals(ranks)).toList());
    List<Plots.Bar> bars = new ArrayList<>();
    Map<String, References.Reference> references = References.of("allreduce.csv");
    for (String place : List.of(CORNER, CENTRE)) {
      double us = reference(references, "predecessor-" + place + "-root").valueUs();
      bars.add(new Plots.Bar("predecessor's torus, published", place + " root", us));
    }
    for (Map<String, String> row : drawn) {
      String place = of(row, "root").equals(CORNER) ? CORNER : CENTRE;
      String where = of(row, "machine") + ", " + words(of(row, "topology"));
      bars.add(new Plots.Bar(where, place + " root", number(row, "crit_ns") / 1000));
    }
    bars.sort(Comparator.comparing((Plots.Bar b) -> !b.series().startsWith(CORNER)));
    double highest = bars.stream().mapToDouble(Plots.Bar::value).max().orElse(1);
    return Optional.of(
        Plots.bars(
            "allreduce-root-placement",
            new Plots.Words(
                "96 KiB per rank: the root in a corner of each package, and in its centre",
                String.format(
                    Locale.ROOT,
                    """
                    Six packages, %s, f16, algorithm %s, %s; mode %s. Machine and network: below \
                    the bars.
                    Published: the predecessor before and after the change; kb-compat is its \
                    machine, with four constants fitted to other times.\
                    """,
                    ranks(drawn),
                    only(drawn, "algorithm"),
                    checked(drawn),
                    only(drawn, "mode")),
                "",
                "time (µs)"),
            bars,
            highest * 1.15,
            Plots::threeDigits));
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
