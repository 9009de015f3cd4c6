package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.CostModel;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/**
 * Composite products against the closed forms D1 to D6 of {@code docs/spec/gemm.md}, to the
 * picosecond, on a machine that fulfils their assumptions: one load queue, one store queue, outputs
 * in another memory than the operands, and commands that cost nothing to issue.
 *
 * <p>Each case takes the times of one load, one product and one store by itself from a run of its
 * own, and puts them into the formula. A few hundred cases run here, thousands with {@code
 * -Dkernbench.tests.excluded=none}.
 */
final class GemmClosedFormTest {
  private static final String[] ASSUMPTIONS = {
    "pe.cpu.dispatch=0 ns",
    "pe.cpu.scheduler_dispatch=0 ns",
    "pe.dma.read_queues=1",
    "pe.dma.write_queues=1",
    "pe.cpu.command_window=4096"
  };

  /** A product of equal tiles. */
  private record Case(int m, int k, int n, int rows, int columns, int steps) {
    int outputs() {
      return rows * columns;
    }

    static Case random(SplittableRandom random) {
      return new Case(
          random.nextInt(1, 65),
          random.nextInt(1, 129),
          random.nextInt(1, 65),
          random.nextInt(1, 5),
          random.nextInt(1, 5),
          random.nextInt(1, 7));
    }
  }

  private static KernelRig rig(SplittableRandom random) {
    String[] modes = {"flat", "filled"};
    String[] all = Arrays.copyOf(ASSUMPTIONS, ASSUMPTIONS.length + 5);
    int rows = 1 << random.nextInt(0, 7);
    all[ASSUMPTIONS.length] = "pe.gemm.mode=" + modes[random.nextInt(2)];
    all[ASSUMPTIONS.length + 1] = "pe.gemm.rows=" + rows;
    all[ASSUMPTIONS.length + 2] = "pe.gemm.columns=" + rows;
    all[ASSUMPTIONS.length + 3] = "pe.gemm.clock=" + (1 + random.nextInt(3)) + " GHz";
    all[ASSUMPTIONS.length + 4] = "pe.dma.setup=" + random.nextInt(1, 2000) + " ns";
    return new KernelRig(Mode.TIME, all);
  }

  /** Operations of the last run: the first id and the log. */
  private record Run(OpLog log, int from) {
    long first(OpKind kind) {
      for (int i = from; i < log.size(); i++) {
        if (log.kind(i) == kind) {
          return log.endPs(i) - log.startPs(i);
        }
      }
      throw new AssertionError("no " + kind);
    }

    long windowPs() {
      long start = Long.MAX_VALUE;
      long end = 0;
      for (int i = from; i < log.size(); i++) {
        start = Math.min(start, log.startPs(i));
        end = Math.max(end, log.endPs(i));
      }
      return end - start;
    }

    long bytes(OpKind kind) {
      long sum = 0;
      for (int i = from; i < log.size(); i++) {
        sum += log.kind(i) == kind ? log.bytes(i) : 0;
      }
      return sum;
    }
  }

  private static Run run(KernelRig rig, Kernel kernel) {
    int from = rig.sim.opLog().size();
    rig.run(kernel);
    return new Run(rig.sim.opLog(), from);
  }

  /** What the formulas need: times of a stage alone. */
  private record Stages(long loadA, long loadB, long allOfA, long product, long store) {
    long load() {
      return loadA + loadB;
    }
  }

  private static final class Bed {
    final KernelRig rig;
    final Shard a;
    final Shard b;
    final Shard y;

    /**
     * @param outputAt PE whose memory holds the output
     */
    Bed(KernelRig rig, int m, int k, int n, int outputAt) {
      this.rig = rig;
      this.a = shard(rig, "a", 0, 0, m, k);
      this.b = shard(rig, "b", 0, 1L << 27, k, n);
      this.y = shard(rig, "y", outputAt, 1L << 28, m, n);
    }

    private static Shard shard(KernelRig rig, String name, int pe, long at, int rows, int columns) {
      return new Shard(
          name, rig.machine.addresses().hbm(rig.pe(pe), at), Shape.of(rows, columns), DType.F16);
    }

    CompositeGemm gemm(Case c) {
      return CompositeGemm.of(a.whole(), b.whole()).tile(c.m, c.k, c.n).into(y.whole());
    }

    Stages stages(Case c) {
      long loadA = run(rig, tl -> tl.load(a.block(0, c.m, 0, c.k))).windowPs();
      long loadB = run(rig, tl -> tl.load(b.block(0, c.k, 0, c.n))).windowPs();
      long all = run(rig, tl -> tl.load(a.whole())).windowPs();
      Run one =
          run(
              rig,
              tl ->
                  tl.store(
                      y.block(0, c.m, 0, c.n),
                      tl.dot(tl.load(a.block(0, c.m, 0, c.k)), tl.load(b.block(0, c.k, 0, c.n)))));
      return new Stages(loadA, loadB, all, one.first(OpKind.GEMM), one.first(OpKind.STORE));
    }
  }

  private static Bed bed(KernelRig rig, Case c, int outputAt) {
    return new Bed(rig, c.m * c.rows, c.k * c.steps, c.n * c.columns, outputAt);
  }

  private interface Check {
    void on(KernelRig rig, SplittableRandom random);
  }

  private static void cases(int machines, int perMachine, long seed, Check check) {
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < machines; i++) {
      try (KernelRig rig = rig(random)) {
        for (int j = 0; j < perMachine; j++) {
          check.on(rig, random);
        }
      }
    }
  }

  private static void d1(KernelRig rig, SplittableRandom random) {
    Case c = Case.random(random);
    Bed bed = bed(rig, c, 1);
    Stages t = bed.stages(c);
    if (t.store > c.steps * (t.load() + t.product)) {
      return; // D1 is for stores that hide under the next tile
    }
    Run run = run(rig, tl -> tl.composite(bed.gemm(c).buffers(1)));
    long expected = (long) c.outputs() * c.steps * (t.load() + t.product) + t.store;
    assertThat(run.windowPs()).as("D1 of %s with %s", c, t).isEqualTo(expected);
  }

  private static long d2(Case c, long load, long product, long store) {
    long step = Math.max(load, product);
    return load
        + (c.outputs() - 1) * Math.max(c.steps * step, store)
        + (c.steps - 1) * step
        + product
        + store;
  }

  private static void d2(KernelRig rig, SplittableRandom random) {
    Case c = Case.random(random);
    Bed bed = bed(rig, c, 1);
    Stages t = bed.stages(c);
    Run run = run(rig, tl -> tl.composite(bed.gemm(c).buffers(2)));
    assertThat(run.windowPs())
        .as("D2 of %s with %s", c, t)
        .isEqualTo(d2(c, t.load(), t.product, t.store));
  }

  private static void d4(KernelRig rig, SplittableRandom random) {
    Case c = Case.random(random);
    Bed bed = bed(rig, c, 1);
    Stages t = bed.stages(c);
    Run run =
        run(
            rig,
            tl ->
                tl.composite(
                    CompositeGemm.of(tl.load(bed.a.whole()), bed.b.whole())
                        .tile(c.m, c.k, c.n)
                        .buffers(2)
                        .into(bed.y.whole())));
    assertThat(run.windowPs())
        .as("D4 of %s with %s", c, t)
        .isEqualTo(t.allOfA + d2(c, t.loadB, t.product, t.store));
  }

  private static void d5(KernelRig rig, SplittableRandom random) {
    int m = random.nextInt(1, 200);
    int k = random.nextInt(1, 200);
    int n = random.nextInt(1, 200);
    TileShape t =
        new TileShape(random.nextInt(8, 65), random.nextInt(8, 129), random.nextInt(8, 65));
    Bed bed = new Bed(rig, m, k, n, 0);
    Run run =
        run(
            rig,
            tl ->
                tl.composite(
                    CompositeGemm.of(bed.a.whole(), bed.b.whole()).tile(t).into(bed.y.whole())));
    long w = 2;
    assertThat(run.bytes(OpKind.LOAD))
        .as("D5 of %dx%dx%d, tile %s", m, k, n, t)
        .isEqualTo(
            w * ((long) m * k * Math.ceilDiv(n, t.n()) + (long) k * n * Math.ceilDiv(m, t.m())));
    assertThat(run.bytes(OpKind.STORE)).isEqualTo(w * m * n);
  }

  @Test
  void d1_singleBuffer_isExact() {
    cases(6, 25, 1, GemmClosedFormTest::d1);
  }

  @Test
  void d2_doubleBuffer_isExact() {
    cases(6, 40, 2, GemmClosedFormTest::d2);
  }

  @Test
  void d4_residentA_isExact() {
    cases(6, 25, 4, GemmClosedFormTest::d4);
  }

  @Test
  void d5_traffic_isExactForRaggedTilesToo() {
    cases(4, 25, 5, GemmClosedFormTest::d5);
  }

  @Test
  @Tag("slow")
  void thousandsOfCases_areExact() {
    cases(40, 50, 11, GemmClosedFormTest::d1);
    cases(80, 50, 12, GemmClosedFormTest::d2);
    cases(40, 50, 14, GemmClosedFormTest::d4);
    cases(40, 50, 15, GemmClosedFormTest::d5);
    cases(60, 50, 13, GemmClosedFormTest::bounds);
  }

  /** D3, one port for loads and stores, and the roofline D6: never beaten, whatever the queues. */
  @Test
  void d3AndRoofline_anyProduct_areNeverBeaten() {
    cases(6, 25, 3, GemmClosedFormTest::bounds);
  }

  private static void bounds(KernelRig rig, SplittableRandom random) {
    Case c = Case.random(random);
    Bed bed = bed(rig, c, 0); // one slice of HBM for all
    Machine machine = rig.machine;
    int[] port = machine.route(machine.hbmNode(rig.pe(0)), machine.peNode(rig.pe(0))).links();
    Function<Long, Long> transfer =
        bytes -> {
          long slowest = 0;
          for (int link : port) {
            slowest = Math.max(slowest, machine.link(link).rate().durationPs(bytes));
          }
          return slowest;
        };
    int buffers = random.nextInt(1, 5);
    Run run = run(rig, tl -> tl.composite(bed.gemm(c).buffers(buffers)));
    long w = 2;
    long load = transfer.apply(w * ((long) c.m * c.k + (long) c.k * c.n)) - 1;
    long store = transfer.apply(w * c.m * c.n) - 1;
    long product =
        new CostModel(machine.pe())
            .durationPs(new ComputeOp.Gemm(DType.F16, DType.F16, c.m, c.n, c.k, false));
    long d3 =
        Math.max(
            c.outputs() * (c.steps * load + store), c.outputs() * c.steps * product + load + store);
    assertThat(run.windowPs()).as("D3 of %s", c).isGreaterThanOrEqualTo(d3);
    double flops = 2.0 * c.m * c.rows * c.n * c.columns * c.k * c.steps;
    double bytes =
        w
            * ((double) c.m * c.rows * c.k * c.steps
                + (double) c.k * c.steps * c.n * c.columns
                + (double) c.m * c.rows * c.n * c.columns);
    double roofline =
        Math.max(
            flops / machine.pe().gemm().peakFlops() * 1e12, transfer.apply((long) bytes) - 1.0);
    assertThat((double) run.windowPs()).as("D6 of %s", c).isGreaterThanOrEqualTo(roofline);
  }

  // ---- D7: the array ----

  /** A cell-by-cell model of an output-stationary array: operands move one cell per cycle. */
  private static long steppedCycles(int rows, int columns, int m, int n, int k) {
    long cycles = 0;
    for (int i = 0; i < m; i += rows) {
      for (int j = 0; j < n; j += columns) {
        cycles += fold(rows, columns, k);
      }
    }
    return cycles - 1; // the last cycle of the last fold is counted as the first of the next
  }

  /** Cycles until the last cell has made its last product and its sum has moved on. */
  private static long fold(int rows, int columns, int k) {
    int[][] fromLeft = new int[rows][columns];
    int[][] fromAbove = new int[rows][columns];
    long products = 0;
    long cycle = 0;
    while (products < (long) rows * columns * k) {
      for (int r = rows - 1; r >= 0; r--) {
        for (int c = columns - 1; c >= 0; c--) {
          int enterA = cycle - r >= 0 && cycle - r < k ? 1 : 0; // row r is skewed by r cycles
          int enterB = cycle - c >= 0 && cycle - c < k ? 1 : 0;
          int a = c == 0 ? enterA : fromLeft[r][c - 1];
          int b = r == 0 ? enterB : fromAbove[r - 1][c];
          fromLeft[r][c] = a;
          fromAbove[r][c] = b;
          products += a == 1 && b == 1 ? 1 : 0;
        }
      }
      cycle++;
    }
    return cycle;
  }

  @ParameterizedTest
  @CsvSource({"8, 8", "16, 16", "8, 32", "32, 16", "64, 64", "24, 40", "128, 128"})
  void d7_arrayOfCells_takesAsLongAsTheFormula(int rows, int columns) {
    cells(rows, columns, new SplittableRandom(rows * 131L + columns));
  }

  @Test
  void d7_anyArrayOf8To128_takesAsLongAsTheFormula() {
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < 40; i++) {
      cells(random.nextInt(8, 129), random.nextInt(8, 129), random);
    }
  }

  private static void cells(int rows, int columns, SplittableRandom random) {
    Machine filled = machine("filled", rows, columns);
    Machine chained = machine("chained", rows, columns);
    for (int i = 0; i < 8; i++) {
      int m = random.nextInt(1, 2 * rows + 1);
      int n = random.nextInt(1, 2 * columns + 1);
      int k = random.nextInt(1, 60);
      var op = new ComputeOp.Gemm(DType.F16, DType.F16, m, n, k, false);
      assertThat(new CostModel(filled.pe()).durationPs(op))
          .as("%dx%dx%d on %dx%d", m, n, k, rows, columns)
          .isEqualTo(1000 * steppedCycles(rows, columns, m, n, k));
      long folds = (long) Math.ceilDiv(m, rows) * Math.ceilDiv(n, columns);
      assertThat(new CostModel(chained.pe()).durationPs(op))
          .isEqualTo(1000 * (folds * k + rows + columns - 2));
      assertThat(CostModel.utilisation(op, filled.pe().gemm(), 1000 * folds * k))
          .isBetween(0.0, 1.0);
    }
  }

  private static Machine machine(String mode, int rows, int columns) {
    return Machines.load(
        "tiny",
        List.of(
            "pe.gemm.mode=" + mode,
            "pe.gemm.rows=" + rows,
            "pe.gemm.columns=" + columns,
            "pe.gemm.clock=1 GHz"));
  }

  // ---- the search ----

  /** The tile that the search finds, simulated, against the predecessor's default tile. */
  @ParameterizedTest
  @CsvSource({
    "32,32,32",
    "32,64,32",
    "32,128,32",
    "32,128,128",
    "32,3072,32",
    "8,128,128",
    "128,8,128",
    "512,512,512"
  })
  void search_everyShapeAndStaging_isNotWorseThanTheDefault(int m, int k, int n) {
    for (int array : new int[] {64, 128}) {
      for (int staging = 0; staging < 3; staging++) {
        long found = timed(array, m, k, n, staging, false);
        long byDefault = timed(array, m, k, n, staging, true);
        assertThat((double) found)
            .as("array of %d, staging %d", array, staging)
            .isLessThanOrEqualTo(byDefault * 1.01);
      }
    }
  }

  private static long timed(int array, int m, int k, int n, int staging, boolean byDefault) {
    try (KernelRig rig =
        new KernelRig(Mode.TIME, "pe.gemm.rows=" + array, "pe.gemm.columns=" + array)) {
      var a = rig.zeros("a", 0, DType.F16, m, k);
      var b = rig.zeros("b", 0, DType.F16, k, n);
      var y = rig.zeros("y", 0, DType.F16, m, n);
      Launch launch =
          rig.run(tl -> {
            CompositeGemm gemm =
                switch (staging) {
                  case 0 -> CompositeGemm.of(tl.ref(a), tl.ref(b));
                  case 1 -> CompositeGemm.of(tl.load(a), tl.ref(b));
                  default -> CompositeGemm.of(tl.load(a), tl.load(b));
                };
            CompositeGemm into = gemm.into(tl.ref(y));
            tl.composite(byDefault ? into.tile(32, 64, 32).buffers(2) : into);
          });
      return launch.criticalPs();
    }
  }
}
