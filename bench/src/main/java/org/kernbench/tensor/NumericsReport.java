package org.kernbench.tensor;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * The two tables of docs/validation/numerics.md: products beside OpenBLAS, and element-wise
 * functions beside a copy of the same bytes. Competitors take turns in one process, processor time
 * counts, and the best of all turns is shown: ratios then hold on a machine that others use too.
 *
 * <p>{@code scripts/bench --numerics [KERNELS]}, where KERNELS is OpenBLAS's name of a processor
 * (default: SKYLAKEX where vectors have 512 bits, else its own choice).
 */
public final class NumericsReport {
  private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
  private static final int TURNS = 12;
  private static final double TURN_NS = 3e7;

  private NumericsReport() {}

  /** Something to be measured. */
  private interface Work {
    void run() throws Throwable;
  }

  /** Prints both tables. */
  public static void main(String[] args) throws Throwable {
    boolean wide = VectorGemm.vectorBits() == 512;
    products(OpenBlas.load(args.length > 0 ? args[0] : wide ? "SKYLAKEX" : ""));
    elementWise();
  }

  /** The least processor time of each, in ns per call. */
  private static double[] least(Work... works) throws Throwable {
    double[] best = new double[works.length];
    long[] calls = new long[works.length];
    for (int turn = -1; turn < TURNS; turn++) { // the first one warms up
      for (int w = 0; w < works.length; w++) {
        long count = Math.max(1, calls[w]);
        long begin = CLOCK.getCurrentThreadCpuTime();
        for (long i = 0; i < count; i++) {
          works[w].run();
        }
        double ns = (double) (CLOCK.getCurrentThreadCpuTime() - begin) / count;
        calls[w] = Math.round(TURN_NS / Math.max(ns, 1));
        best[w] = turn <= 0 ? ns : Math.min(best[w], ns);
      }
    }
    return best;
  }

  private static void products(OpenBlas blas) throws Throwable {
    System.out.printf("GFLOP/s of one thread; OpenBLAS with kernels for %s%n%n", blas.kernels());
    System.out.println("| m x n x k | OpenBLAS | vector | of OpenBLAS | plain |");
    System.out.println("| --- | --: | --: | --: | --: |");
    int[][] shapes = {
      {32, 32, 64},
      {256, 256, 256},
      {512, 512, 512},
      {1024, 1024, 1024},
      {2048, 2048, 2048},
      {97, 211, 301}
    };
    for (int[] s : shapes) {
      int m = s[0];
      int n = s[1];
      int k = s[2];
      float[] a = uniform(m * k, 1);
      float[] b = uniform(k * n, 2);
      float[] c = new float[m * n];
      MemorySegment x = segment(a);
      MemorySegment y = segment(b);
      MemorySegment z = segment(c);
      double[] ns =
          least(
              () -> blas.multiply(x, y, z, m, n, k),
              () -> VectorGemm.multiply(a, b, c, m, n, k),
              () -> Gemm.plain(a, b, c, m, n, k));
      double flops = 2.0 * m * n * k;
      System.out.printf(
          Locale.ROOT,
          "| %d x %d x %d | %.0f | %.0f | %.0f %% | %.0f |%n",
          m,
          n,
          k,
          flops / ns[0],
          flops / ns[1],
          100 * ns[0] / ns[1],
          flops / ns[2]);
    }
  }

  private static float[] uniform(int n, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    float[] values = new float[n];
    for (int i = 0; i < n; i++) {
      values[i] = (float) random.nextDouble(-1, 1);
    }
    return values;
  }

  private static MemorySegment segment(float[] values) {
    MemorySegment to = Arena.global().allocate(4L * values.length, 64);
    return to.copyFrom(MemorySegment.ofArray(values));
  }

  /** Functions over 1 Mi elements: what they read and write, per time, beside a plain copy. */
  private static void elementWise() throws Throwable {
    int n = 1 << 20;
    System.out.printf("%nGB/s over %,d elements (read and written), and share of a copy%n%n", n);
    System.out.println("| | f32 | f16 | bf16 | f8e4m3 |");
    System.out.println("| --- | --: | --: | --: | --: |");
    DType[] types = {DType.F32, DType.F16, DType.BF16, DType.F8E4M3};
    String[] names = {
      "copy",
      "to f32",
      "from f32",
      "add",
      "mul",
      "maximum",
      "relu",
      "sum of rows",
      "exp",
      "sigmoid",
      "tanh",
      "erf",
      "gelu"
    };
    String[][] cells = new String[names.length][types.length];
    for (int t = 0; t < types.length; t++) {
      DType type = types[t];
      int size = type.sizeBytes();
      byte[] a = new byte[n * size];
      byte[] b = new byte[n * size];
      byte[] out = new byte[n * size];
      byte[] wide = new byte[n * 4];
      Numerics.cast(DType.F32, bytes(uniform(n, 3)), 0, type, a, 0, n);
      Numerics.cast(DType.F32, bytes(uniform(n, 4)), 0, type, b, 0, n);
      double[] ns =
          least(
              () -> System.arraycopy(a, 0, out, 0, out.length),
              () -> Numerics.cast(type, a, 0, DType.F32, wide, 0, n),
              () -> Numerics.cast(DType.F32, wide, 0, type, out, 0, n),
              () -> Numerics.add(type, a, 0, b, 0, out, 0, n),
              () -> Numerics.binary(BinaryOp.MUL, type, a, 0, b, 0, out, 0, n),
              () -> Numerics.binary(BinaryOp.MAXIMUM, type, a, 0, b, 0, out, 0, n),
              () -> Numerics.unary(UnaryOp.RELU, type, a, 0, out, 0, n),
              () -> Numerics.reduce(ReduceOp.SUM, type, 1024, n / 1024, 1, a, 0, out, 0),
              () -> Numerics.unary(UnaryOp.EXP, type, a, 0, out, 0, n),
              () -> Numerics.unary(UnaryOp.SIGMOID, type, a, 0, out, 0, n),
              () -> Numerics.unary(UnaryOp.TANH, type, a, 0, out, 0, n),
              () -> Numerics.unary(UnaryOp.ERF, type, a, 0, out, 0, n),
              () -> Numerics.unary(UnaryOp.GELU, type, a, 0, out, 0, n));
      int[] perElement = {
        2 * size, size + 4, size + 4, 3 * size, 3 * size, 3 * size, 2 * size, size, 2 * size,
        2 * size, 2 * size, 2 * size, 2 * size
      };
      for (int i = 0; i < names.length; i++) {
        double rate = (double) perElement[i] * n / ns[i];
        double copy = 2.0 * size * n / ns[0];
        cells[i][t] = String.format(Locale.ROOT, "%.1f (%.0f %%)", rate, 100 * rate / copy);
      }
    }
    for (int i = 0; i < names.length; i++) {
      System.out.println("| " + names[i] + " | " + String.join(" | ", cells[i]) + " |");
    }
  }

  private static byte[] bytes(float[] values) {
    byte[] bytes = new byte[4 * values.length];
    FloatBlocks.littleEndian(bytes, 0, bytes.length).asFloatBuffer().put(values);
    return bytes;
  }
}
