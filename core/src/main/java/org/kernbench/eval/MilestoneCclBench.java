package org.kernbench.eval;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.kernbench.ccl.CclConfig;
import org.kernbench.ccl.CollectiveLibrary;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.ReduceKind;

/**
 * {@code milestone-1h-ccl}: the all-reduce evaluation. Time against size on three networks of six
 * packages, with the algorithm of {@code ccl.yaml} and with the one that is chosen for each size;
 * then the memory of the message slots. Every value is checked; {@code summary.csv} holds every row
 * and the figures are drawn from it.
 */
final class MilestoneCclBench implements Illustrated {
  static final String LATENCY = "latency";
  static final String BUFFERS = "buffer_kind";
  private static final String AUTO = "auto";
  private static final List<String> KINDS = List.of("tcm", "sram", "hbm");
  private static final List<Integer> KIND_ELEMENTS = List.of(128, 1024, 8192, 32768);
  private static final List<String> TORUS_3X2 =
      List.of(
          "system.sips.count=6",
          "system.sips.topology=torus_2d",
          "system.sips.w=3",
          "system.sips.h=2");

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
    return List.of(
        CollectiveParams.ALGORITHM,
        CollectiveParams.BUFFER_KIND,
        CollectiveParams.SLOTS,
        CollectiveParams.SLOT_SIZE);
  }

  /** One simulation. */
  private record Point(
      String sweep,
      String network,
      Machine machine,
      CclConfig ccl,
      String algorithm,
      int elements) {}

  @Override
  public Outcome run(BenchContext context) {
    CclConfig own = CollectiveParams.config(context);
    List<Point> points = new ArrayList<>();
    for (LatencySweepBench.Network network : LatencySweepBench.NETWORKS) {
      Machine machine = context.machine("sip-2026", network.overrides());
      for (String algorithm : algorithms(own)) {
        for (int elements : LatencySweepBench.ELEMENTS) {
          points.add(new Point(LATENCY, network.name(), machine, own, algorithm, elements));
        }
      }
    }
    Machine torus = context.machine("sip-2026", TORUS_3X2);
    for (String kind : KINDS) {
      CclConfig ccl =
          context.ccl(
              List.of(
                  "defaults.algorithm=" + own.algorithm(),
                  "algorithms." + own.algorithm() + ".buffer_kind=" + kind));
      for (int elements : KIND_ELEMENTS) {
        points.add(new Point(BUFFERS, "torus_2d", torus, ccl, own.algorithm(), elements));
      }
    }
    return run(context, points);
  }

  private static List<String> algorithms(CclConfig ccl) {
    return ccl.names().contains(AUTO) && !ccl.algorithm().equals(AUTO)
        ? List.of(ccl.algorithm(), AUTO)
        : List.of(ccl.algorithm());
  }

  private static Outcome run(BenchContext context, List<Point> points) {
    Outcome outcome = Outcome.on(points.getFirst().machine());
    PointSum sum = new PointSum(context);
    Map<List<String>, CollectiveTrial> formulas = new HashMap<>();
    for (int i = 0; i < points.size(); i++) {
      Point p = points.get(i);
      String name = p.sweep() + " " + p.network() + " " + p.algorithm() + " n_elem=" + p.elements();
      context.progress().at(i, points.size(), name);
      if (!context.runs(name)) {
        continue;
      }
      CollectiveLibrary library = CollectiveLibrary.open(p.machine(), p.ccl(), p.algorithm());
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
            formulas.computeIfAbsent(List.of(p.network(), p.algorithm()), key -> trial(p, library));
        one.formula(
            formula.predictPs(
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
    row.put("sips", p.machine().sipGridWidth() + "x" + p.machine().sipGridHeight());
    row.put("point_machine", p.machine().hash());
    row.put("algorithm", p.algorithm());
    row.put("ran", point.conditions().getOrDefault("algorithm", ""));
    row.put("ranks", point.conditions().getOrDefault("ranks", ""));
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
