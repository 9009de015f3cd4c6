package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Illustrated;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.figures.Figure;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.ReduceKind;

/**
 * {@code milestone-1h-ccl}: the all-reduce evaluation. Time against size on three networks of six
 * packages, with the algorithm of {@code ccl.yaml}, with its root in the corner if it has one, and
 * with another algorithm beside it, all on the same ranks; then the memory of the message slots.
 * Every value is checked; {@code summary.csv} holds every row and the figures are drawn from it.
 */
public final class MilestoneCclBench implements Illustrated {
  static final String LATENCY = "latency";
  static final String BUFFERS = "buffer_kind";
  static final String ROOTS = "root";
  static final String CORNER = "corner";
  private static final Param<String> AGAINST =
      Param.word("against", "hierarchical", "a name in ccl.yaml", "algorithm to compare with");
  private static final List<String> KINDS = List.of("tcm", "sram", "hbm");
  private static final List<Integer> KIND_ELEMENTS = List.of(128, 1024, 8192, 32768);
  private static final LatencySweepBench.Network TORUS_3X2 =
      new LatencySweepBench.Network(
          "torus_2d",
          List.of(
              "system.sips.count=6",
              "system.sips.topology=torus_2d",
              "system.sips.w=3",
              "system.sips.h=2"));

  @Override
  public String name() {
    return "milestone-1h-ccl";
  }

  @Override
  public String description() {
    return "all-reduce evaluation: sizes, networks, buffer kinds; table and figures";
  }

  @Override
  public List<Param<?>> params() {
    List<Param<?>> params = new ArrayList<>(CollectiveParams.OF_ALGORITHM);
    params.add(AGAINST);
    return params;
  }

  /** One simulation. */
  private record Point(String sweep, String network, Machine machine, CclConfig ccl, int elements) {
    String algorithm() {
      return ccl.algorithm();
    }

    String root() {
      return rootOf(ccl);
    }

    String name() {
      return "%s %s %s%s n_elem=%s"
          .formatted(
              sweep, network, algorithm(), root().isEmpty() ? "" : " root=" + root(), elements);
    }
  }

  @Override
  public Outcome run(BenchContext context) {
    CclConfig own = CollectiveParams.config(context);
    List<Point> points = new ArrayList<>();
    for (LatencySweepBench.Network network : LatencySweepBench.NETWORKS) {
      Machine machine = network.on(context);
      for (CclConfig ccl : compared(context, own, CollectiveLibrary.open(machine, own))) {
        for (int elements : LatencySweepBench.ELEMENTS) {
          points.add(new Point(LATENCY, network.name(), machine, ccl, elements));
        }
      }
    }
    addRoots(context, own, points);
    Machine torus = TORUS_3X2.on(context);
    for (String kind : KINDS) {
      CclConfig ccl =
          context.ccl(
              ranksOf(
                  CollectiveLibrary.open(torus, own),
                  own,
                  own.algorithm(),
                  List.of("buffer_kind=" + kind)));
      for (int elements : KIND_ELEMENTS) {
        points.add(new Point(BUFFERS, TORUS_3X2.name(), torus, ccl, elements));
      }
    }
    return run(context, points);
  }

  /** Where the predecessor moved its root: its longest vector, on its machine, before and after. */
  private static void addRoots(BenchContext context, CclConfig own, List<Point> points) {
    Machine machine = Machines.load("kb-compat", List.of());
    List<CclConfig> compared = compared(context, own, CollectiveLibrary.open(machine, own));
    if (compared.stream().anyMatch(ccl -> rootOf(ccl).equals(CORNER))) {
      for (CclConfig ccl : compared) {
        if (ccl.algorithm().equals(own.algorithm())) {
          int elements = LatencySweepBench.ELEMENTS.getLast();
          points.add(new Point(ROOTS, "torus_2d", machine, ccl, elements));
        }
      }
    }
  }

  private static String rootOf(CclConfig ccl) {
    return ccl.chosen().root().map(r -> r.name().toLowerCase(Locale.ROOT)).orElse("");
  }

  /** The configuration itself, with the root in the corner, and with the other algorithm. */
  private static List<CclConfig> compared(
      BenchContext context, CclConfig own, CollectiveLibrary library) {
    List<CclConfig> all = new ArrayList<>(List.of(own));
    String algorithm = own.algorithm();
    AlgorithmConfig config = own.of(algorithm);
    if (config.className().equals("root_center")
        && !rootOf(own).equals(CORNER)
        && config.rootCube().isEmpty()) {
      all.add(context.ccl(ranksOf(library, own, algorithm, List.of("root=" + CORNER))));
    }
    String other = CollectiveParams.known("against", context.param(AGAINST), own);
    if (!other.equals(algorithm)) {
      all.add(context.ccl(ranksOf(library, own, other, List.of())));
    }
    return all;
  }

  /** What makes an algorithm run on the ranks and with the slots of another. */
  private static List<String> ranksOf(
      CollectiveLibrary library, CclConfig own, String algorithm, List<String> more) {
    AlgorithmConfig config = own.of(own.algorithm());
    String entry = "algorithms." + algorithm + ".";
    List<String> overrides = new ArrayList<>();
    overrides.add("defaults.algorithm=" + algorithm);
    overrides.add(entry + "rank_level=" + library.rankLevel().name().toLowerCase(Locale.ROOT));
    overrides.add(entry + "world_size=" + library.worldSize());
    config
        .bufferKind()
        .ifPresent(k -> overrides.add(entry + "buffer_kind=" + k.name().toLowerCase(Locale.ROOT)));
    config.slots().ifPresent(n -> overrides.add(entry + "slots=" + n));
    config.slotBytes().ifPresent(n -> overrides.add(entry + "slot_size=" + n + " B"));
    more.forEach(each -> overrides.add(entry + each));
    return overrides;
  }

  private static Outcome run(BenchContext context, List<Point> points) {
    Outcome outcome =
        Outcome.on(points.getFirst().machine()).condition("packages", LatencySweepBench.PACKAGES);
    PointSum sum = new PointSum(context);
    Map<List<String>, CollectiveTrial> formulas = new HashMap<>();
    for (int i = 0; i < points.size(); i++) {
      Point p = points.get(i);
      String name = p.name();
      context.progress().at(i, points.size(), name);
      if (!context.runs(name)) {
        continue;
      }
      CollectiveLibrary library = CollectiveLibrary.open(p.machine(), p.ccl());
      Outcome one =
          new AllReduceRun(
                  p.machine(),
                  p.elements(),
                  DType.F16,
                  Pattern.exactIn(DType.F16, library.worldSize()),
                  context.mode(),
                  context.recordingOfPoint())
              .run(library);
      if (p.sweep().equals(LATENCY) && context.mode() != Mode.VALUES) {
        CollectiveTrial formula =
            formulas.computeIfAbsent(
                List.of(p.network(), p.algorithm(), p.root()), key -> trial(p, library));
        one.formula(
            formula.formulaPs(
                CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F16, p.elements())));
      }
      outcome.row(row(p, one));
      sum.add(name, one);
    }
    context.progress().at(points.size(), points.size(), "");
    sum.into(outcome);
    return outcome.metric("points", outcome.rows().size());
  }

  /** The algorithm bound to the same ranks, for its closed form. */
  private static CollectiveTrial trial(Point p, CollectiveLibrary library) {
    List<Pe> leads = new ArrayList<>();
    for (int rank = 0; rank < library.worldSize(); rank++) {
      int cubes = p.machine().cubesPerSip();
      int pes = p.machine().pesPerCube();
      leads.add(
          switch (library.rankLevel()) {
            case SIP -> new Pe(rank, 0, 0);
            case CUBE -> new Pe(rank / cubes, rank % cubes, 0);
            case PE -> new Pe(rank / pes / cubes, rank / pes % cubes, rank % pes);
          });
    }
    return CollectiveTrial.of(
        p.machine(),
        CollectiveLibrary.algorithm(p.ccl(), p.algorithm()),
        p.ccl().of(p.algorithm()),
        library.rankLevel(),
        leads);
  }

  private static Map<String, Object> row(Point p, Outcome point) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("sweep", p.sweep());
    row.put("topology", p.network());
    row.put("machine", p.machine().name());
    row.put("sips", p.machine().sipGridWidth() + "x" + p.machine().sipGridHeight());
    row.put("point_machine", p.machine().hash());
    row.put("algorithm", p.algorithm());
    row.put("root", p.root());
    row.put("ran", point.conditions().getOrDefault("algorithm", ""));
    row.put("ranks", point.conditions().getOrDefault("ranks", ""));
    row.put("rank_level", point.conditions().getOrDefault("rank_level", ""));
    row.put("buffer_kind", point.conditions().getOrDefault("buffer_kind", ""));
    row.put("n_elem", p.elements());
    row.put("bytes", (long) p.elements() * DType.F16.sizeBytes());
    row.put("crit_ns", point.critPs() > 0 ? Numbers.ns(point.critPs()) : "");
    row.put("bound_ns", point.critPs() > 0 ? Numbers.ns(point.boundPs()) : "");
    row.put("bound_kind", point.boundKind());
    row.put("efficiency", point.critPs() > 0 ? Numbers.ratio(point.boundPs(), point.critPs()) : "");
    OptionalLong formula = point.formulaPs();
    row.put("formula_ns", formula.isPresent() ? Numbers.ns(formula.getAsLong()) : "");
    row.put("correct", point.values().<Object>map(ValueCheck::isCorrect).orElse(""));
    row.put("op_log_hash", point.opLogHash());
    return row;
  }

  @Override
  public List<Figure> figures(List<Map<String, String>> rows) {
    return MilestoneCclFigures.of(rows);
  }
}
