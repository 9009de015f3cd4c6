package org.kernbench.tensor;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
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
 * Numeric kernels beside their scalar twins. Read the columns {@code bytes} (GB/s; operands and
 * result) and {@code flops} (GFLOP/s; a multiply-add counts two): both are per nanosecond.
 *
 * <p>Run with {@code scripts/bench NumericsBenchmark}.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
public class NumericsBenchmark {
  /** Bytes moved per operation, shown per nanosecond. */
  @AuxCounters(AuxCounters.Type.OPERATIONS)
  @State(Scope.Thread)
  public static class Bytes {
    /** Operands and result. */
    public long bytes;
  }

  /** Floating-point operations, shown per nanosecond. */
  @AuxCounters(AuxCounters.Type.OPERATIONS)
  @State(Scope.Thread)
  public static class Flops {
    /** Two per multiply-add. */
    public long flops;
  }

  /** Operands of an element-wise function. */
  @State(Scope.Thread)
  public static class Vectors {
    /** The element type. */
    @Param({"F32", "F16", "BF16", "F8E4M3", "I32"})
    public DType type;

    /** Elements; 49152 is a shard of a usual all-reduce. */
    @Param({"256", "49152"})
    public int n;

    byte[] a;
    byte[] b;
    byte[] out;

    /** Fills the operands. */
    @Setup
    public void fill() {
      a = uniform(type, n, 1);
      b = uniform(type, n, 2);
      out = new byte[a.length];
    }
  }

  /** Operands of a product. */
  @State(Scope.Thread)
  public static class Matrices {
    /** The element type of the inputs. */
    @Param({"F32", "F16", "BF16"})
    public DType type;

    /** Rows, columns and depth. */
    @Param({"64", "256"})
    public int n;

    byte[] a;
    byte[] b;
    byte[] c;

    /** Fills the operands. */
    @Setup
    public void fill() {
      a = uniform(type, n * n, 1);
      b = uniform(type, n * n, 2);
      c = new byte[4 * n * n];
    }
  }

  private static byte[] uniform(DType t, int n, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    byte[] bytes = new byte[n * t.sizeBytes()];
    for (int i = 0; i < n; i++) {
      t.putDouble(bytes, i * t.sizeBytes(), random.nextDouble(-8, 8));
    }
    return bytes;
  }

  /** Element-wise sum. */
  @Benchmark
  public byte[] add(Vectors v, Bytes counter) {
    Numerics.add(v.type, v.a, 0, v.b, 0, v.out, 0, v.n);
    counter.bytes += 3L * v.out.length;
    return v.out;
  }

  /** Element-wise sum by the scalar twin. */
  @Benchmark
  public byte[] addBaseline(Vectors v, Bytes counter) {
    ScalarNumerics.binary(BinaryOp.ADD, v.type, v.a, 0, v.b, 0, v.out, 0, v.n);
    counter.bytes += 3L * v.out.length;
    return v.out;
  }

  /** Element-wise largest, which has to propagate NaN. */
  @Benchmark
  public byte[] maximum(Vectors v, Bytes counter) {
    Numerics.combine(ReduceOp.MAX, v.type, v.a, 0, v.b, 0, v.n);
    counter.bytes += 3L * v.out.length;
    return v.a;
  }

  /** Sum of all elements, in order. */
  @Benchmark
  public byte[] sumRows(Vectors v, Bytes counter) {
    Numerics.reduce(ReduceOp.SUM, v.type, 64, v.n / 64, 1, v.a, 0, v.out, 0);
    counter.bytes += v.a.length;
    return v.out;
  }

  /** An exponential per element. */
  @Benchmark
  public byte[] exp(Matrices v, Bytes counter) {
    Numerics.unary(UnaryOp.EXP, v.type, v.a, 0, v.c, 0, v.n * v.n);
    counter.bytes += 2L * v.a.length;
    return v.c;
  }

  /** Matrix product with f32 accumulation. */
  @Benchmark
  public byte[] gemm(Matrices v, Flops counter) {
    Numerics.gemm(v.type, v.type, DType.F32, v.n, v.n, v.n, v.a, 0, v.b, 0, null, 0, v.c, 0);
    counter.flops += 2L * v.n * v.n * v.n;
    return v.c;
  }

  /** Matrix product by the scalar twin. */
  @Benchmark
  public byte[] gemmBaseline(Matrices v, Flops counter) {
    ScalarNumerics.gemm(v.type, v.type, DType.F32, v.n, v.n, v.n, v.a, 0, v.b, 0, null, 0, v.c, 0);
    counter.flops += 2L * v.n * v.n * v.n;
    return v.c;
  }
}
