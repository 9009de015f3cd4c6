package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.StreamCosts;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Illustrated;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.explain.Utilisation;
import org.kernbench.eval.figures.Figure;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.TileSearch;
import org.kernbench.tl.TileShape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.RankLevel;

/**
 * {@code milestone-1h-gemm}: the evaluation of matrix products on one PE. Eight shapes, each with
 * both operands streamed from HBM, with A loaded first, and with both loaded first; then one large
 * product split by columns over the PEs of a cube. Per point: engines' busy times, tiles, windows,
 * share of the roofline, cause. Every value is checked.
 */
public final class MilestoneGemmBench implements Illustrated {
  static final String SHAPES = "shapes";
  static final String ALL_PES = "all_pes";
  static final String TIMELINE = "timeline";
  static final String[] ENGINES = {"DMA read", "GEMM", "DMA write"};

  private static final DType DTYPE = DType.F16;
  private static final int[][] MKN = {
    {32, 32, 32},
    {32, 64, 32},
    {32, 128, 32},
    {32, 128, 128},
    {32, 3072, 32},
    {8, 128, 128},
    {128, 8, 128},
    {512, 512, 512}
  };
  private static final int[] DRAWN = {32, 128, 128};
  private static final double MOSTLY = 0.8;

  /** What lies in TCM before the product begins. */
  enum Staging {
    /** Nothing. */
    REF_REF(0),
    /** A. */
    LOAD_REF(1),
    /** A and B. */
    LOAD_LOAD(2);

    final int loaded;

    Staging(int loaded) {
      this.loaded = loaded;
    }

    String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @Override
  public String name() {
    return "milestone-1h-gemm";
  }

  @Override
  public String description() {
    return "GEMM evaluation: 8 shapes, 3 stagings, all PEs of a cube; table and figures";
  }

  @Override
  public List<Param<?>> params() {
    return List.of();
  }

  @Override
  public Outcome run(BenchContext context) {
    Machine machine = context.machine("kb-compat", List.of());
    Outcome outcome = Outcome.on(machine);
    PointSum sum = new PointSum(context);
    int total = MKN.length * Staging.values().length + machine.pesPerCube();
    int asked = 0;
    List<Map<String, Object>> timeline = new ArrayList<>();
    for (int[] s : MKN) {
      for (Staging staging : Staging.values()) {
        String point = s[0] + "x" + s[1] + "x" + s[2] + " " + staging.word();
        context.progress().at(asked++, total, point);
        if (!context.runs(point)) {
          continue;
        }
        Point p = new Point(context, machine, s[0], s[1], s[2], staging, 1);
        outcome.row(p.run(SHAPES));
        sum.add(point, p.outcome);
        if (java.util.Arrays.equals(s, DRAWN) && context.mode() != Mode.VALUES) {
          timeline.addAll(p.timeline());
        }
      }
    }
    for (int pes = 1; pes <= machine.pesPerCube(); pes *= 2) {
      String point = "512x512x512 on " + pes + " PEs";
      context.progress().at(asked++, total, point);
      if (!context.runs(point)) {
        continue;
      }
      Point p = new Point(context, machine, 512, 512, 512, Staging.REF_REF, pes);
      outcome.row(p.run(ALL_PES));
      sum.add(point, p.outcome);
    }
    int done = outcome.rows().size();
    timeline.forEach(outcome::row);
    context.progress().at(total, total, "");
    sum.into(outcome);
    return outcome.metric("points", done);
  }

  @Override
  public List<Figure> figures(List<Map<String, String>> rows) {
    return MilestoneGemmFigures.of(rows);
  }

  /** One product. */
  private static final class Point {
    private final BenchContext context;
    private final Machine machine;
    private final int m;
    private final int k;
    private final int n;
    private final Staging staging;
    private final int pes;
    private final Outcome outcome;
    private final Map<String, Object> row = new LinkedHashMap<>();
    private final List<Map<String, Object>> drawn = new ArrayList<>();

    Point(BenchContext context, Machine machine, int m, int k, int n, Staging staging, int pes) {
      this.context = context;
      this.machine = machine;
      this.m = m;
      this.k = k;
      this.n = n;
      this.staging = staging;
      this.pes = pes;
      this.outcome = Outcome.on(machine);
    }

    List<Map<String, Object>> timeline() {
      return drawn;
    }

    Map<String, Object> run(String sweep) {
      TorchOptions options =
          new TorchOptions(
              context.mode(),
              context.recording(),
              Optional.of(new NoGroups(machine, RankLevel.PE)));
      try (Torch torch = Torch.open(machine, options)) {
        Product product = new Product(torch);
        Launch launch = product.launch();
        OpLog log = torch.simulator().opLog();
        boolean timed = context.mode() != Mode.VALUES;
        outcome.simulated(torch.simulator().eventCount(), timed ? log.hash() : "");
        if (context.mode() != Mode.TIME) {
          product.check();
        }
        describe(sweep, launch, log, product.theoryPs);
      }
      return row;
    }

    /** The tensors and the kernel. */
    private final class Product {
      private final Torch torch;
      private final HostValues a = HostValues.of(() -> random(1, m * k));
      private final HostValues b = HostValues.of(() -> random(2, k * n));
      private final List<Tensor> all = new ArrayList<>();
      private final Map<Pe, Tensor[]> of = new HashMap<>();
      double theoryPs;

      Product(Torch torch) {
        this.torch = torch;
        int columns = n / pes;
        for (int i = 0; i < pes; i++) {
          Pe pe = new Pe(0, 0, i);
          torch.ahbm().setDevice(machine.peIndex(pe));
          Tensor x = tensor("a" + i, a, m, k);
          Tensor y = tensor("b" + i, b.block(n, 0, k, i * columns, (i + 1) * columns), k, columns);
          Tensor z = torch.empty(Shape.of(m, columns), DTYPE, "c" + i);
          of.put(pe, new Tensor[] {x, y, z});
          all.addAll(List.of(x, y, z));
        }
      }

      private Tensor tensor(String name, HostValues values, int rows, int columns) {
        return torch.from(values::get, Shape.of(rows, columns), DTYPE, name);
      }

      Launch launch() {
        Tensor[] more = all.subList(1, all.size()).toArray(Tensor[]::new);
        Launch launch = torch.launch("gemm", this::kernel, all.getFirst(), more);
        torch.await(launch);
        return launch;
      }

      private void kernel(Tl tl) {
        Tensor[] t = of.get(tl.pe());
        if (t == null) {
          throw new IllegalStateException("no operands at " + tl.pe());
        }
        CompositeGemm gemm = gemm(tl, t[0], t[1]).into(tl.ref(t[2]));
        theoryPs = Math.max(theoryPs, theory(new TileSearch(machine, tl.pe()), gemm));
        tl.await(tl.composite(gemm));
      }

      /** Of the tile that the scheduler takes. */
      private double theory(TileSearch search, CompositeGemm gemm) {
        GemmSpec spec = machine.pe().gemm();
        return spec.hasDefaultTile() && spec.buffers() > 0
            ? search
                .predict(
                    gemm, new TileShape(spec.tileM(), spec.tileK(), spec.tileN()), spec.buffers())
                .ps()
            : search.choose(gemm).ps();
      }

      private CompositeGemm gemm(Tl tl, Tensor x, Tensor y) {
        return switch (staging) {
          case REF_REF -> CompositeGemm.of(tl.ref(x), tl.ref(y));
          case LOAD_REF -> CompositeGemm.of(tl.load(x), tl.ref(y));
          case LOAD_LOAD -> {
            Value inTcm = tl.load(x);
            yield CompositeGemm.of(inTcm, tl.load(y));
          }
        };
      }

      /** k fused steps in the accumulator and one rounding, relative to the sum of magnitudes. */
      void check() {
        double[] got = new double[m * n];
        double[] expected = new double[m * n];
        int columns = n / pes;
        for (int i = 0; i < pes; i++) {
          Tensor[] t = of.get(new Pe(0, 0, i));
          double[] own = t == null ? new double[0] : t[2].toDoubles();
          for (int r = 0; r < m; r++) {
            System.arraycopy(own, r * columns, got, r * n + i * columns, columns);
          }
        }
        double[] right = b.get();
        for (int r = 0; r < m; r++) {
          for (int p = 0; p < k; p++) {
            double v = a.get()[r * k + p];
            for (int c = 0; c < n; c++) {
              expected[r * n + c] += v * right[p * n + c];
            }
          }
        }
        double unit = DTYPE.unitRoundoff();
        double accumulated = (k + 1) * DType.F32.unitRoundoff();
        outcome.values(got, expected, k * (accumulated + 1.01 * unit));
      }
    }

    private static double[] random(long seed, int count) {
      SplittableRandom random = new SplittableRandom(seed);
      double[] values = new double[count];
      for (int i = 0; i < count; i++) {
        values[i] = DTYPE.round(random.nextDouble(-1, 1));
      }
      return values;
    }

    // ---- the row ----

    private void describe(String sweep, Launch launch, OpLog log, double theoryPs) {
      row.put("sweep", sweep);
      row.put("shape", m + "x" + k + "x" + n);
      row.put("staging", staging.word());
      row.put("pes", pes);
      double flops = 2.0 * m * k * n / pes;
      long bytes =
          (long) DTYPE.sizeBytes() * ((long) m * k + (long) k * n / pes + (long) m * n / pes);
      row.put("intensity", Numbers.rounded(flops / bytes));
      long crit = context.mode() == Mode.VALUES ? 0 : launch.criticalPs();
      Pe first = launch.pes().getFirst(); // all are of one package
      double peak = machine.pe(first.sip()).gemm().peakFlops() / 1e12; // per picosecond
      double memory = StreamCosts.bothWaysBytesPerPs(machine, first);
      long bound = (long) Math.floor(Math.max(flops / peak, bytes / memory) * (1 - 1e-9));
      if (crit > 0) {
        outcome.time(crit, bound, flops / peak > bytes / memory ? "compute" : "memory");
        if (context.choosesPoint()) {
          outcome.explained(log, launch, machine.ipcq());
        }
      }
      row.put("tiles", log.completed(OpKind.GEMM) / pes);
      row.put("pe_window_ns", Numbers.ns(crit));
      if (!log.isComplete()) {
        throw new IllegalStateException("bug: the op log of a tile study " + log.lack());
      }
      Window composite = crit > 0 ? composite(log) : new Window(0, 0);
      row.put("composite_window_ns", Numbers.ns(composite.toPs - composite.fromPs));
      Map<String, Long> busy = crit > 0 ? busy(log, composite) : Map.of();
      for (String engine : ENGINES) {
        row.put(
            engine.toLowerCase(Locale.ROOT).replace(' ', '_') + "_busy_ns",
            Numbers.ns(busy.getOrDefault(engine, 0L)));
      }
      row.put("tflop_per_s", Numbers.rounded(crit > 0 ? 2.0 * m * k * n / crit : 0));
      row.put("peak_tflop_per_s", Numbers.rounded(peak * pes));
      row.put("memory_gb_per_s", Numbers.rounded(memory * pes * 1000));
      row.put("bound_ns", Numbers.ns(bound));
      row.put("roofline_share", Numbers.share(crit > 0 ? (double) bound / crit : 0));
      row.put("theory_ns", Numbers.rounded(theoryPs / 1000));
      row.put("cause", crit > 0 ? cause(busy, composite) : "");
      row.put("correct", outcome.values().<Object>map(ValueCheck::isCorrect).orElse(""));
      row.put("op_log_hash", outcome.opLogHash());
      row.put("engine", "");
      row.put("start_ns", "");
      row.put("end_ns", "");
      if (crit > 0) {
        draw(log);
      }
    }

    /** A stretch of simulated time. */
    private record Window(long fromPs, long toPs) {}

    /** From the first operation of the product itself, after the loads before it, to the last. */
    private Window composite(OpLog log) {
      long from = Long.MAX_VALUE;
      long to = 0;
      Map<Pe, Integer> loads = new HashMap<>();
      for (int id = 0; id < log.size(); id++) {
        if (!log.has(id)) {
          continue;
        }
        boolean before =
            log.kind(id) == OpKind.LOAD
                && loads.merge(log.pe(id), 1, Integer::sum) <= staging.loaded;
        if (!before) {
          from = Math.min(from, log.startPs(id));
          to = Math.max(to, log.endPs(id));
        }
      }
      return new Window(from, to);
    }

    /** Of the first PE: time in which an engine worked on something, in the window. */
    private Map<String, Long> busy(OpLog log, Window window) {
      Map<String, Long> busy = new HashMap<>();
      for (Utilisation.EngineUse use :
          Utilisation.of(machine, log, window.fromPs, window.toPs).engines()) {
        if (use.pe().equals(new Pe(0, 0, 0))) {
          busy.put(use.engine(), use.busyPs());
        }
      }
      return busy;
    }

    /** The engine that decides, or that none does: the pipeline never fills. */
    private String cause(Map<String, Long> busy, Window window) {
      double all = Math.max(1, window.toPs - window.fromPs);
      double read = busy.getOrDefault("DMA read", 0L) / all;
      double gemm = busy.getOrDefault("GEMM", 0L) / all;
      double write = busy.getOrDefault("DMA write", 0L) / all;
      int rows = machine.pe().gemm().tileM();
      int depth = machine.pe().gemm().tileK();
      if (gemm >= MOSTLY && gemm >= read) {
        return m < rows ? "M under-fed" : k < depth ? "K under-fed" : "compute-bound";
      }
      if (read >= MOSTLY || write >= MOSTLY) {
        return read >= write ? "DMA-bound (reads)" : "DMA-bound (writes)";
      }
      return "fill-bound";
    }

    private void draw(OpLog log) {
      for (int id = 0; id < log.size(); id++) {
        String engine =
            switch (log.kind(id)) {
              case LOAD -> "DMA read";
              case GEMM -> "GEMM";
              case STORE -> "DMA write";
              case MATH, SEND, RECV -> "";
            };
        if (log.has(id) && !engine.isEmpty()) {
          Map<String, Object> slice = new LinkedHashMap<>(row);
          slice.replaceAll((name, value) -> KEPT.contains(name) ? value : "");
          slice.put("sweep", TIMELINE);
          slice.put("engine", engine);
          slice.put("start_ns", Numbers.ns(log.startPs(id)));
          slice.put("end_ns", Numbers.ns(log.endPs(id)));
          drawn.add(slice);
        }
      }
    }

    private static final List<String> KEPT = List.of("shape", "staging", "pes");
  }
}
