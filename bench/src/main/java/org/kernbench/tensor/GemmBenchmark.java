package org.kernbench.tensor;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Products of square f32 matrices on one thread: our two back ends, which add in ascending k, and
 * OpenBLAS, which adds as it likes. Read the column {@code flops}, GFLOP/s.
 *
 * <p>OpenBLAS runs twice: with the kernels that it chooses itself, and with those for AVX-512,
 * which an OpenBLAS older than the processor does not find (skipped where vectors are shorter).
 *
 * <p>Run with {@code scripts/bench GemmBenchmark}; it needs OpenBLAS and says how to install it.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(
    value = 1,
    jvmArgsAppend = {"--add-modules", "jdk.incubator.vector"})
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class GemmBenchmark {
  /** Operands on the heap. */
  @State(Scope.Thread)
  public static class Matrices {
    /** Rows, columns and depth. */
    @Param({"256", "512", "1024", "2048"})
    public int n;

    float[] a;
    float[] b;
    float[] c;

    /** Fills the operands. */
    @Setup
    public void fill() {
      SplittableRandom random = new SplittableRandom(1);
      a = uniform(random);
      b = uniform(random);
      c = new float[n * n];
    }

    private float[] uniform(SplittableRandom random) {
      float[] values = new float[n * n];
      for (int i = 0; i < values.length; i++) {
        values[i] = (float) random.nextDouble(-1, 1);
      }
      return values;
    }
  }

  /** The same in native memory, and the library. */
  @State(Scope.Thread)
  public static class Native {
    /** Whose kernels: the library's choice, or those for AVX-512. */
    @Param({"auto", "avx512"})
    public String kernels;

    OpenBlas blas;
    MemorySegment a;
    MemorySegment b;
    MemorySegment c;

    /** Copies the operands and compares one product with ours. */
    @Setup
    public void copy(Matrices from) throws Throwable {
      boolean wide = kernels.equals("avx512");
      if (wide && VectorGemm.vectorBits() < 512) {
        throw new IllegalStateException("no AVX-512 here; leave this out: -p kernels=auto");
      }
      blas = OpenBlas.load(wide ? "SKYLAKEX" : "");
      System.out.println("OpenBLAS kernels: " + blas.kernels());
      a = segment(from.a);
      b = segment(from.b);
      c = segment(from.c);
      blas.multiply(a, b, c, from.n, from.n, from.n);
      float[] ours = new float[from.c.length];
      VectorGemm.multiply(from.a, from.b, ours, from.n, from.n, from.n);
      float[] theirs = c.toArray(ValueLayout.JAVA_FLOAT);
      for (int i = 0; i < ours.length; i++) {
        if (!(Math.abs(ours[i] - theirs[i]) <= 1e-3)) {
          throw new IllegalStateException("element " + i + ": " + ours[i] + ", " + theirs[i]);
        }
      }
    }

    private static MemorySegment segment(float[] values) {
      MemorySegment to = Arena.global().allocate(4L * values.length, 64);
      return to.copyFrom(MemorySegment.ofArray(values));
    }
  }

  private static long flops(int n) {
    return 2L * n * n * n;
  }

  /** By the Vector API. */
  @Benchmark
  public float[] vector(Matrices x, NumericsBenchmark.Flops counter) {
    VectorGemm.multiply(x.a, x.b, x.c, x.n, x.n, x.n);
    counter.flops += flops(x.n);
    return x.c;
  }

  /** By plain loops, as where the module is missing. */
  @Benchmark
  public float[] plain(Matrices x, NumericsBenchmark.Flops counter) {
    Gemm.plain(x.a, x.b, x.c, x.n, x.n, x.n);
    counter.flops += flops(x.n);
    return x.c;
  }

  /** By OpenBLAS. */
  @Benchmark
  public MemorySegment openBlas(Matrices x, Native y, NumericsBenchmark.Flops counter)
      throws Throwable {
    y.blas.multiply(y.a, y.b, y.c, x.n, x.n, x.n);
    counter.flops += flops(x.n);
    return y.c;
  }
}
