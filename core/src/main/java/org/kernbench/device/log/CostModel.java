package org.kernbench.device.log;

import org.jspecify.annotations.Nullable;
import org.kernbench.machine.spec.GemmMode;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.machine.spec.MathRate;
import org.kernbench.machine.spec.MathSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.machine.spec.WavesSpec;
import org.kernbench.sim.ClockRate;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.UnaryOp;

/**
 * What a compute command costs. A pure function of the command and the machine; no data.
 *
 * <p>MATH: {@code start-up + ceil(bytes / lane bytes) x cycles per vector} cycles, and not below
 * the time in which TCM can move the operands and the result. Bytes are those of the widest operand
 * or the result; a reduction takes in its operand at full rate. Cycles per vector:
 *
 * <table>
 * <caption>d, s, t: {@code pe.math.slowdown} of division, square root, transcendental functions</caption>
 * <tr><th>function</th><th>cycles</th></tr>
 * <tr><td>add, sub, mul, maximum, minimum, and, or, xor, shl, shr, not, comparisons, neg, abs, relu,
 *     floor, ceil, fma, where, cast, copy, concat, fill, arange, sum, product, max,
 *     min</td><td>1</td></tr>
 * <tr><td>clamp (two comparisons), argmax, argmin (value and index)</td><td>2</td></tr>
 * <tr><td>div, rem, reciprocal</td><td>d</td></tr>
 * <tr><td>sqrt, rsqrt</td><td>s</td></tr>
 * <tr><td>exp, exp2, log, log2, pow, sigmoid, silu, tanh, gelu, geluTanh, erf, sin,
 *     cos</td><td>t</td></tr>
 * <tr><td>softmax: max, subtract, exp, sum, divide in one command</td><td>3 + t + d</td></tr>
 * <tr><td>cumsum over vectors side by side</td><td>1</td></tr>
 * <tr><td>cumsum within a vector: a scan in steps of doubling distance, and the carry</td>
 *     <td>1 + ceil(log2(lanes or length))</td></tr>
 * <tr><td>rand: for four words ten rounds, each two products in two halves and four exclusive or;
 *     three more for each word</td><td>23</td></tr>
 * </table>
 *
 * <p>GEMM: the systolic formula of {@code docs/spec/gemm.md} 2.2, output stationary, one fold per
 * rows x columns of outputs: {@code folds (k + rows + columns - 2) - 1} cycles if each fold is
 * filled and drained by itself (D7, as SCALE-Sim counts), {@code folds k + rows + columns - 2} if
 * they are chained, of which only {@code folds k} keep the array from the next product; a product
 * that adds to the sums of the one before takes them on in the array. A fold is charged in full
 * even where the product does not fill the array, but in mode {@code flat}, which charges the peak
 * rate whatever the shape. In mode {@code waves} the array is as many multiprocessors, see {@link
 * #waveCycles}; steps of a composite product share the time of the whole.
 */
public final class CostModel {
  /** What a quotient that is whole may be above it, for a rate is no binary fraction. */
  private static final double WHOLE = 1 - 1e-12;

  /** Ten rounds of eight operations for four words, and three for each of these. */
  private static final int RANDOM = (10 * 8 + 4 * 3) / 4;

  /** Of the sums that parts of K leave, f32. */
  private static final int SUM_BYTES = 4;

  private final MathSpec math;
  private final GemmSpec gemm;
  private final ClockRate mathClock;
  private final ClockRate gemmClock;

  private final int divide;
  private final int squareRoot;
  private final int transcendental;

  /** Of any thread, each whole: what is lost is found again. */
  private volatile @Nullable WholeTime lastWhole;

  /** What a whole product takes in waves. */
  private record WholeTime(ComputeOp.Whole of, DType in, double ps) {}

  /** The costs on a PE. */
  public CostModel(PeSpec pe) {
    this.math = pe.math();
    this.gemm = pe.gemm();
    this.mathClock = ClockRate.ofHz(math.clockHz());
    this.divide = math.slowdown().getOrDefault(MathRate.DIVIDE, 1);
    this.squareRoot = math.slowdown().getOrDefault(MathRate.SQUARE_ROOT, 1);
    this.transcendental = math.slowdown().getOrDefault(MathRate.TRANSCENDENTAL, 1);
    this.gemmClock = ClockRate.ofHz(gemm.sustainedHz());
  }

  /** Time on its engine, in picoseconds; above 0. */
  public long durationPs(ComputeOp op) {
    return switch (op) {
      case ComputeOp.Binary b -> mathPs(bytes(b.type(), b.n()), 3, slowdown(b.op()));
      case ComputeOp.BinaryScalar b -> mathPs(bytes(b.type(), b.n()), 2, slowdown(b.op()));
      case ComputeOp.ScalarBinary b -> mathPs(bytes(b.type(), b.n()), 2, slowdown(b.op()));
      case ComputeOp.Unary u -> mathPs(bytes(u.type(), u.n()), 2, slowdown(u.op()));
      case ComputeOp.Fma f -> mathPs(bytes(f.type(), f.n()), 4, 1);
      case ComputeOp.Clamp c -> mathPs(bytes(c.type(), c.n()), 2, 2);
      case ComputeOp.Compare c -> mathPs(bytes(c.type(), c.n()), 2, c.n(), 1);
      case ComputeOp.CompareScalar c -> mathPs(bytes(c.type(), c.n()), 1, c.n(), 1);
      case ComputeOp.Where w -> mathPs(bytes(w.type(), w.n()), 3, w.n(), 1);
      case ComputeOp.WhereScalar w -> mathPs(bytes(w.type(), w.n()), 2, w.n(), 1);
      case ComputeOp.Reduce r ->
          mathPs(bytes(r.type(), (long) r.outer() * r.length() * r.inner()), 1, 1);
      case ComputeOp.ArgReduce r ->
          mathPs(bytes(r.type(), (long) r.outer() * r.length() * r.inner()), 1, 2);
      case ComputeOp.CumulativeSum c -> scanPs(c);
      case ComputeOp.Softmax x ->
          mathPs(
              bytes(x.type(), (long) x.outer() * x.length() * x.inner()),
              5,
              3 + transcendental + divide);
      case ComputeOp.Cast c ->
          mathPs((long) c.n() * Math.max(c.from().sizeBytes(), c.to().sizeBytes()), 2, 1);
      case ComputeOp.Fill f -> mathPs(bytes(f.type(), f.n()), 1, 1);
      case ComputeOp.Arange f -> mathPs(bytes(f.type(), f.n()), 1, 1);
      case ComputeOp.Random r ->
          mathPs(bytes(DType.F32, r.n()), 1, bytes(r.offsets(), r.n()), RANDOM);
      case ComputeOp.Copy c -> mathPs(bytes(c.type(), c.n()), 2, 1);
      case ComputeOp.Concat c ->
          mathPs(bytes(c.type(), (long) c.outer() * (c.aRun() + c.bRun())), 2, 1);
      case ComputeOp.Gemm g -> gemmPs(g);
      case ComputeOp.Elapsed e -> e.ps();
      case ComputeOp.Strided s -> durationPs(s.what());
    };
  }

  /**
   * Time for which the command keeps its engine from the next; less than {@link #durationPs} where
   * the drain of a product overlaps the fill of the next.
   */
  public long occupancyPs(ComputeOp op) {
    return switch (op) {
      case ComputeOp.Strided s -> occupancyPs(s.what());
      case ComputeOp.Gemm g when gemm.mode() == GemmMode.CHAINED ->
          gemmClock.durationPs(Math.max(1, folds(g) * depth(g)));
      case ComputeOp.Elapsed e -> 1;
      default -> durationPs(op);
    };
  }

  private static long bytes(DType type, long n) {
    return n * type.sizeBytes();
  }

  private long mathPs(long bytes, int streams, int cyclesPerVector) {
    return mathPs(bytes, streams, 0, cyclesPerVector);
  }

  /**
   * @param streams how many times {@code bytes} cross the TCM port
   * @param moreBytes that cross it beside them
   */
  private long mathPs(long bytes, int streams, long moreBytes, int cyclesPerVector) {
    long vectors = Math.ceilDiv(bytes, math.lanesBytesPerCycle());
    return mathPs(vectors * cyclesPerVector, streams * bytes + moreBytes);
  }

  private long mathPs(long cycles, long portBytes) {
    long compute = mathClock.durationPs(math.startupCycles() + cycles);
    return math.operandRate().isPresent()
        ? Math.max(compute, math.operandRate().get().durationPs(portBytes))
        : compute;
  }

  /**
   * Each vector by a scan within it, or the rows that lie side by side each in a cycle, which need
   * not fill a vector: what is less.
   */
  private long scanPs(ComputeOp.CumulativeSum c) {
    long bytes = bytes(c.type(), (long) c.outer() * c.length() * c.inner());
    int lanes = math.lanesBytesPerCycle() / c.type().sizeBytes();
    int along = Math.min(c.length(), lanes);
    long vectors = Math.ceilDiv(bytes, math.lanesBytesPerCycle());
    long rows = c.inner() >= lanes ? vectors : (long) c.outer() * c.length();
    long within = vectors * (along < 2 ? 1 : 33 - Integer.numberOfLeadingZeros(along - 1));
    return mathPs(Math.min(rows, within), 2 * bytes);
  }

  private int slowdown(BinaryOp op) {
    return switch (op) {
      case ADD, SUB, MUL, MAXIMUM, MINIMUM, AND, OR, XOR, SHL, SHR -> 1;
      case DIV, REM -> divide;
      case POW -> transcendental;
    };
  }

  private int slowdown(UnaryOp op) {
    return switch (op) {
      case NEG, ABS, RELU, FLOOR, CEIL, NOT -> 1;
      case RECIPROCAL -> divide;
      case SQRT, RSQRT -> squareRoot;
      case EXP, EXP2, LOG, LOG2, SIGMOID, SILU, TANH, GELU, GELU_TANH, ERF, SIN, COS ->
          transcendental;
    };
  }

  private long gemmPs(ComputeOp.Gemm g) {
    if (gemm.mode() == GemmMode.WAVES) {
      return wavesPs(g);
    }
    long folds = folds(g);
    long fill = gemm.rows() + gemm.columns() - 2L;
    long cycles =
        switch (gemm.mode()) {
          case FILLED -> folds * (depth(g) + fill) - 1;
          case CHAINED -> folds * depth(g) + fill;
          case FLAT ->
              over(
                  Math.multiplyFull(g.m(), g.n()) * g.k(),
                  Math.multiplyFull(gemm.rows(), gemm.columns()),
                  rate(g.in()));
          case WAVES -> throw new IllegalStateException("waves have no folds");
        };
    return gemmClock.durationPs(Math.max(1, cycles));
  }

  /** Cycles in which operands stream through the array: it takes several f8 elements in each. */
  private long depth(ComputeOp.Gemm g) {
    return over(g.k(), 1, rate(g.in()));
  }

  /** Cycles in which so many cells do so many multiply-adds, each at a rate. */
  private static long over(long macs, long cells, double rate) {
    return rate == Math.rint(rate)
        ? Math.ceilDiv(macs, cells * (long) rate)
        : (long) Math.ceil(macs / (cells * rate) * WHOLE);
  }

  /**
   * Products of a type in the time of one in 16 bits. Integers have that of 16 bits, whatever their
   * width.
   */
  public static double rate(GemmSpec gemm, DType in) {
    return switch (in) {
      case F8E4M3, F8E5M2 -> gemm.rate(8);
      case F32 -> gemm.rate(32);
      case F64 -> gemm.rate(64);
      case F16, BF16, I8, I32, I64, BOOL -> 1;
    };
  }

  private double rate(DType in) {
    return rate(gemm, in);
  }

  private WavesSpec waves() {
    return gemm.waves().orElseThrow();
  }

  /** Whether products are those of multiprocessors, in waves. */
  public boolean isInWaves() {
    return gemm.mode() == GemmMode.WAVES;
  }

  /** A step of a larger product takes its share of the whole, rounded up. */
  private long wavesPs(ComputeOp.Gemm g) {
    int width = g.in().sizeBytes();
    if (g.partOf().isEmpty()) {
      return gemmClock.durationPs(waveCycles(waves(), rate(g.in()), g.m(), g.n(), g.k(), 1, width));
    }
    ComputeOp.Whole all = g.partOf().get();
    double whole = wholePs(all, g.in());
    double share = (double) g.m() / all.m() * g.n() / all.n() * g.k() / all.k() / all.batch();
    return Math.max(1, (long) Math.ceil(whole * share));
  }

  /** A search for a tile asks for the same product some ten thousand times in a row. */
  private double wholePs(ComputeOp.Whole all, DType in) {
    WholeTime known = lastWhole;
    if (known == null || known.in != in || !known.of.equals(all)) {
      long cycles =
          waveCycles(waves(), rate(in), all.m(), all.n(), all.k(), all.batch(), in.sizeBytes());
      known = new WholeTime(all, in, gemmClock.durationPs(cycles));
      lastWhole = known;
    }
    return known.ps;
  }

  /**
   * Cycles in which multiprocessors make {@code batch} equal products: with tiles of {@code a x b}
   * outputs and K cut in s parts, {@code ceil(m/a) ceil(n/b) s} tiles each in waves of {@code
   * units}, each of the longer of {@code a b (k/s) / (macs rate)} and {@code (a + b) (k/s) width /
   * (l2 / units)} cycles; the sums of parts are written to the cache and read again. The quickest
   * tile is taken.
   */
  static long waveCycles(WavesSpec waves, double rate, int m, int n, int k, int batch, int width) {
    double least = Double.POSITIVE_INFINITY;
    double l2PerUnit = (double) waves.l2BytesPerCycle() / waves.units();
    for (WavesSpec.Block tile : waves.tiles()) {
      for (int parts : waves.splits()) {
        long depth = Math.ceilDiv(k, parts);
        long tiles = (long) Math.ceilDiv(m, tile.m()) * Math.ceilDiv(n, tile.n()) * parts * batch;
        double products = (double) tile.m() * tile.n() * depth / (waves.macs() * rate);
        double operands = (double) (tile.m() + tile.n()) * depth * width / l2PerUnit;
        double cycles = Math.ceilDiv(tiles, (long) waves.units()) * Math.max(products, operands);
        if (parts > 1) {
          cycles += 2.0 * batch * parts * m * n * SUM_BYTES / waves.l2BytesPerCycle();
        }
        least = Math.min(least, cycles);
      }
    }
    return Math.max(1, (long) Math.ceil(least));
  }

  private long folds(ComputeOp.Gemm g) {
    return Math.ceilDiv((long) g.m(), gemm.rows()) * Math.ceilDiv((long) g.n(), gemm.columns());
  }

  /** Useful multiply-accumulates over those the array could have done in the time, 0 to 1. */
  public static double utilisation(ComputeOp.Gemm g, GemmSpec spec, long durationPs) {
    double macs = (double) g.m() * g.n() * g.k();
    double cycles = ClockRate.ofHz(spec.clockHz()).cyclesIn(durationPs);
    return macs / (cycles * spec.macsPerCycle() * rate(spec, g.in()));
  }
}
