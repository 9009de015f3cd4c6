package org.kernbench.tensor;

import java.nio.ShortBuffer;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The numeric kernels. An operand is little-endian elements in a {@code byte[]} from a byte offset,
 * dense and row-major; counts are in elements.
 *
 * <p>Floating-point types compute in f32 and round once on storing, but f64, which computes in
 * double everywhere; integers compute in their own width and wrap. NaN, infinities and signed zeros
 * are as in IEEE 754, and a NaN is stored as one code per type ({@link DType}), so results are the
 * same bytes on every machine. Where an order exists (reductions, gemm) it is ascending and part of
 * the contract. {@code ScalarNumerics} is the obvious twin of every function here, and shares no
 * loop with it; tests compare the two bit for bit.
 *
 * <p>An output may be exactly the same bytes as an input (in place) unless the function says
 * otherwise; a partial overlap gives undefined values. Nothing is kept between calls: any thread
 * may call, a call allocates a few blocks of scratch.
 *
 * <p>Every function throws {@link IndexOutOfBoundsException} if an operand does not fit its array,
 * and {@link IllegalArgumentException} if the function is not defined on the type.
 */
public final class Numerics {
  /** Elements per block of the f16 loops, which need no blocks of f32. */
  private static final int HALF_BLOCK = 2048;

  private Numerics() {}

  /**
   * What computes products of f32 and narrower types in this process: {@code plain} loops, or
   * {@code vector-512} (the bits of a vector). Both give the same bytes.
   */
  public static String backEnd() {
    return Gemm.backEnd();
  }

  /** {@code out[i] = a[i] op b[i]}. */
  public static void binary(
      BinaryOp op, DType t, byte[] a, int aOff, byte[] b, int bOff, byte[] out, int outOff, int n) {
    requireSupported(op.supports(t), op, t);
    check("a", t, a, aOff, n);
    check("b", t, b, bOff, n);
    check("out", t, out, outOff, n);
    if (t == DType.F16 && FloatKernels.hasHalf(op)) {
      halfBinary(op, a, aOff, b, bOff, out, outOff, n);
      return;
    }
    Lanes<?, ?> lanes = Lanes.of(t, n).operand(a, aOff).operand(b, bOff).result(out, outOff);
    lanes.each((start, length) -> lanes.binary(op, length));
  }

  private static void halfBinary(
      BinaryOp op, byte[] a, int aOff, byte[] b, int bOff, byte[] out, int outOff, int n) {
    int block = Math.min(n, HALF_BLOCK);
    final ShortBuffer left = FloatBlocks.littleEndian(a, aOff, 2 * n).asShortBuffer();
    final ShortBuffer right = FloatBlocks.littleEndian(b, bOff, 2 * n).asShortBuffer();
    final ShortBuffer target = FloatBlocks.littleEndian(out, outOff, 2 * n).asShortBuffer();
    final HalfNan nan = new HalfNan(block);
    short[] x = new short[block];
    short[] y = new short[block];
    short[] z = new short[block];
    for (int start = 0; start < n; start += block) {
      int length = Math.min(block, n - start);
      left.get(start, x, 0, length);
      right.get(start, y, 0, length);
      FloatKernels.binaryHalf(op, x, y, z, length);
      nan.canonicalize(z, length);
      target.put(start, z, 0, length);
    }
  }

  /** {@code out[i] = a[i] + b[i]}; the same as {@link #binary} with {@link BinaryOp#ADD}. */
  public static void add(
      DType t, byte[] a, int aOff, byte[] b, int bOff, byte[] out, int outOff, int n) {
    binary(BinaryOp.ADD, t, a, aOff, b, bOff, out, outOff, n);
  }

  /**
   * {@code into[i] = into[i] op more[i]}: takes one more contribution into a partial reduction, as
   * each step of an all-reduce does. Rounds to {@code t} at every step.
   */
  public static void combine(
      ReduceOp op, DType t, byte[] into, int intoOff, byte[] more, int moreOff, int n) {
    binary(op.combine(), t, into, intoOff, more, moreOff, into, intoOff, n);
  }

  /**
   * {@code out[i] = a[i] op scalar}. For floating-point types the scalar is rounded to f32 (for f64
   * it stays a double), not to {@code t}; for integers and bool it must be a value of the type.
   */
  public static void binaryScalar(
      BinaryOp op, DType t, byte[] a, int aOff, double scalar, byte[] out, int outOff, int n) {
    withScalar(op, t, a, aOff, scalar, false, out, outOff, n);
  }

  /** {@code out[i] = scalar op b[i]}; the scalar as in {@link #binaryScalar}. */
  public static void scalarBinary(
      BinaryOp op, DType t, double scalar, byte[] b, int bOff, byte[] out, int outOff, int n) {
    withScalar(op, t, b, bOff, scalar, true, out, outOff, n);
  }

  private static void withScalar(
      BinaryOp op,
      DType t,
      byte[] a,
      int aOff,
      double scalar,
      boolean scalarFirst,
      byte[] out,
      int outOff,
      int n) {
    requireSupported(op.supports(t), op, t);
    check("operand", t, a, aOff, n);
    check("out", t, out, outOff, n);
    double value = t.isFloatingPoint() ? scalar : requireInteger(t, scalar);
    Lanes<?, ?> lanes = Lanes.of(t, n).result(out, outOff);
    if (scalarFirst) {
      lanes.operand(value).operand(a, aOff);
    } else {
      lanes.operand(a, aOff).operand(value);
    }
    lanes.each((start, length) -> lanes.binary(op, length));
  }

  /** {@code out[i] = op(a[i])}. */
  public static void unary(UnaryOp op, DType t, byte[] a, int aOff, byte[] out, int outOff, int n) {
    requireSupported(op.supports(t), op, t);
    check("a", t, a, aOff, n);
    check("out", t, out, outOff, n);
    if (CodeTable.pays(op, t)) {
      CodeTable.of(op, t).apply(a, aOff, out, outOff, n);
      return;
    }
    Lanes<?, ?> lanes = Lanes.of(t, n).operand(a, aOff).result(out, outOff);
    lanes.each((start, length) -> lanes.unary(op, length));
  }

  /**
   * {@code out[i] = a[i] * b[i] + c[i]}, fused in f32 (f64 in double); floating-point types only.
   */
  public static void fma(
      DType t,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte[] c,
      int cOff,
      byte[] out,
      int outOff,
      int n) {
    requireSupported(t.isFloatingPoint(), "fma", t);
    check("a", t, a, aOff, n);
    check("b", t, b, bOff, n);
    check("c", t, c, cOff, n);
    check("out", t, out, outOff, n);
    Lanes<?, ?> lanes = Lanes.of(t, n).operand(a, aOff).operand(b, bOff).operand(c, cOff);
    lanes.result(out, outOff).each((start, length) -> lanes.fma(length));
  }

  /** {@code out[i] = a[i] op b[i]} as bool; {@code out} must not overlap an operand. */
  public static void compare(
      CompareOp op,
      DType t,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte[] out,
      int outOff,
      int n) {
    check("a", t, a, aOff, n);
    check("b", t, b, bOff, n);
    check("out", DType.BOOL, out, outOff, n);
    Lanes<?, ?> lanes = Lanes.of(t, n).operand(a, aOff).operand(b, bOff);
    lanes.each((start, length) -> lanes.compare(op, out, outOff + start, length));
  }

  /** {@code out[i] = a[i] op scalar} as bool; the scalar as in {@link #binaryScalar}. */
  public static void compareScalar(
      CompareOp op, DType t, byte[] a, int aOff, double scalar, byte[] out, int outOff, int n) {
    check("a", t, a, aOff, n);
    check("out", DType.BOOL, out, outOff, n);
    double value = t.isFloatingPoint() ? scalar : requireInteger(t, scalar);
    Lanes<?, ?> lanes = Lanes.of(t, n).operand(a, aOff).operand(value);
    lanes.each((start, length) -> lanes.compare(op, out, outOff + start, length));
  }

  /** {@code out[i] = condition[i] ? a[i] : b[i]}, the bytes as they are; the condition is bool. */
  public static void where(
      DType t,
      byte[] condition,
      int conditionOff,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte[] out,
      int outOff,
      int n) {
    check("condition", DType.BOOL, condition, conditionOff, n);
    check("a", t, a, aOff, n);
    check("b", t, b, bOff, n);
    check("out", t, out, outOff, n);
    int size = t.sizeBytes();
    for (int i = 0; i < n; i++) {
      boolean first = condition[conditionOff + i] != 0;
      byte[] from = first ? a : b;
      int at = (first ? aOff : bOff) + i * size;
      for (int j = 0; j < size; j++) {
        out[outOff + i * size + j] = from[at + j];
      }
    }
  }

  /**
   * {@code out[i] = in[i]} as another type, rounded once from the exact value. A real number
   * becomes an integer by truncation toward zero, saturated, NaN giving 0; an integer wraps to a
   * narrower integer; non-zero is true. The same type copies the bytes. Not in place unless the
   * sizes are equal.
   */
  public static void cast(
      DType from, byte[] in, int inOff, DType to, byte[] out, int outOff, int n) {
    check("in", from, in, inOff, n);
    check("out", to, out, outOff, n);
    if (from == to) {
      System.arraycopy(in, inOff, out, outOff, n * from.sizeBytes());
    } else if (from.isFloatingPoint()
        && to.isFloatingPoint()
        && from != DType.F64
        && to != DType.F64) {
      FloatBlocks source = new FloatBlocks(from, in, inOff, n);
      FloatBlocks target = new FloatBlocks(to, out, outOff, n);
      float[] x = floats(n);
      for (int start = 0; start < n; start += x.length) {
        int length = Math.min(x.length, n - start);
        source.load(start, x, length);
        target.store(start, x, length);
      }
    } else if (from.isFloatingPoint()) {
      for (int i = 0; i < n; i++) {
        double value = from.getDouble(in, inOff + i * from.sizeBytes());
        to.putDouble(out, outOff + i * to.sizeBytes(), value);
      }
    } else {
      for (int i = 0; i < n; i++) {
        long value = from.getLong(in, inOff + i * from.sizeBytes());
        to.putLong(out, outOff + i * to.sizeBytes(), value);
      }
    }
  }

  /** {@code out[i] = values[i]}, as by {@link DType#putDouble}: host numbers, each rounded once. */
  public static void fromDoubles(DType t, double[] values, byte[] out, int outOff) {
    check("out", t, out, outOff, values.length);
    if (!t.isFloatingPoint() || t == DType.F64) {
      for (int i = 0; i < values.length; i++) {
        t.putDouble(out, outOff + i * t.sizeBytes(), values[i]);
      }
      return;
    }
    FloatBlocks target = new FloatBlocks(t, out, outOff, values.length);
    float[] x = floats(values.length);
    for (int start = 0; start < values.length; start += x.length) {
      int length = Math.min(x.length, values.length - start);
      if (t == DType.F32) {
        for (int i = 0; i < length; i++) {
          x[i] = (float) values[start + i];
        }
      } else {
        FloatKernels.roundToOdd(values, start, x, length);
      }
      target.store(start, x, length);
    }
  }

  /** {@code values[i] = in[i]}, as by {@link DType#getDouble}. */
  public static void toDoubles(DType t, byte[] in, int inOff, double[] values) {
    check("in", t, in, inOff, values.length);
    if (!t.isFloatingPoint() || t == DType.F64) {
      for (int i = 0; i < values.length; i++) {
        values[i] = t.getDouble(in, inOff + i * t.sizeBytes());
      }
      return;
    }
    FloatBlocks source = new FloatBlocks(t, in, inOff, values.length);
    float[] x = floats(values.length);
    for (int start = 0; start < values.length; start += x.length) {
      int length = Math.min(x.length, values.length - start);
      source.load(start, x, length);
      for (int i = 0; i < length; i++) {
        values[start + i] = x[i];
      }
    }
  }

  /** {@code out[i] = value}, rounded as by {@link DType#putDouble}. */
  public static void fill(DType t, double value, byte[] out, int outOff, int n) {
    check("out", t, out, outOff, n);
    if (n == 0) {
      return;
    }
    t.putDouble(out, outOff, value);
    int total = n * t.sizeBytes();
    for (long done = t.sizeBytes(); done < total; done *= 2) {
      int at = (int) done;
      System.arraycopy(out, outOff, out, outOff + at, Math.min(at, total - at));
    }
  }

  /** {@code out[i] = start + i * step}, in double (exact below 2^53), rounded once. */
  public static void arange(DType t, double start, double step, byte[] out, int outOff, int n) {
    check("out", t, out, outOff, n);
    for (int i = 0; i < n; i++) {
      t.putDouble(out, outOff + i * t.sizeBytes(), start + i * step);
    }
  }

  /**
   * {@code out[o, i] = op over x of in[o, x, i]}, from {@code x = 0} upwards; rounded once.
   *
   * <p>An empty axis gives 0 for a sum and 1 for a product. Not in place.
   *
   * @throws IllegalArgumentException for the largest or smallest of an empty axis
   */
  public static void reduce(
      ReduceOp op,
      DType t,
      int outer,
      int axisLen,
      int inner,
      byte[] in,
      int inOff,
      byte[] out,
      int outOff) {
    check("in", t, in, inOff, elements(outer, axisLen, inner));
    int results = elements(outer, 1, inner);
    check("out", t, out, outOff, results);
    if (results == 0) {
      return;
    }
    if (axisLen == 0) {
      if (op == ReduceOp.MAX || op == ReduceOp.MIN) {
        throw new IllegalArgumentException(op + " of an empty axis; expected 1 element or more");
      }
      fill(t, op == ReduceOp.SUM ? 0 : 1, out, outOff, results);
    } else if (t == DType.F64) {
      double[] sums =
          DoubleKernels.reduce(
              op, outer, axisLen, inner, doubles(in, inOff, outer * axisLen * inner));
      put(sums, out, outOff);
    } else if (t.isFloatingPoint()) {
      Reductions.Out to = new Reductions.Out(out, outOff);
      Reductions.floats(op, t, outer, axisLen, inner, in, inOff, to);
    } else {
      long[] values = longs(t, in, inOff, outer * axisLen * inner);
      put(t, AxisKernels.reduce(op, outer, axisLen, inner, values), out, outOff);
    }
  }

  /**
   * {@code out[o, i]} = the position along the axis of the largest or smallest {@code in[o, x, i]},
   * as i32; the first of equals (-0 equals +0), the first NaN if there is one. Not in place.
   *
   * @throws IllegalArgumentException if the axis is empty
   */
  public static void argReduce(
      ArgReduceOp op,
      DType t,
      int outer,
      int axisLen,
      int inner,
      byte[] in,
      int inOff,
      byte[] out,
      int outOff) {
    check("in", t, in, inOff, elements(outer, axisLen, inner));
    check("out", DType.I32, out, outOff, elements(outer, 1, inner));
    if (axisLen == 0) {
      throw new IllegalArgumentException(op + " of an empty axis; expected 1 element or more");
    }
    int n = outer * axisLen * inner;
    int[] best;
    if (t.isFloatingPoint()) {
      double[] values = new double[n];
      toDoubles(t, in, inOff, values);
      best = AxisKernels.argReduce(op, outer, axisLen, inner, values);
    } else {
      best = AxisKernels.argReduce(op, outer, axisLen, inner, longs(t, in, inOff, n));
    }
    new IntBlocks(DType.I32, out, outOff, best.length).store(0, best, best.length);
  }

  /**
   * {@code out[o, x, i] = in[o, 0, i] + … + in[o, x, i]}: the sum so far, kept in f32 (f64 in
   * double) and rounded for each element stored; integers wrap. In place is fine.
   */
  public static void cumulativeSum(
      DType t, int outer, int axisLen, int inner, byte[] in, int inOff, byte[] out, int outOff) {
    int n = elements(outer, axisLen, inner);
    requireSupported(t != DType.BOOL, "cumulative sum", t);
    check("in", t, in, inOff, n);
    check("out", t, out, outOff, n);
    if (t == DType.F64) {
      double[] values = doubles(in, inOff, n);
      AxisKernels.cumulativeSum(outer, axisLen, inner, values);
      put(values, out, outOff);
    } else if (t.isFloatingPoint()) {
      float[] values = floatArray(t, in, inOff, n);
      AxisKernels.cumulativeSum(outer, axisLen, inner, values);
      store(values, t, out, outOff);
    } else {
      long[] values = longs(t, in, inOff, n);
      AxisKernels.cumulativeSum(outer, axisLen, inner, values);
      put(t, values, out, outOff);
    }
  }

  /**
   * {@code out[o, x, i] = exp(in[o, x, i] - m) / s} with {@code m} the largest along the axis and
   * {@code s} the ascending sum of the exponentials, all in f32 (f64 in double), rounded once. In
   * place is fine.
   */
  public static void softmax(
      DType t, int outer, int axisLen, int inner, byte[] in, int inOff, byte[] out, int outOff) {
    int n = elements(outer, axisLen, inner);
    requireSupported(t.isFloatingPoint(), "softmax", t);
    check("in", t, in, inOff, n);
    check("out", t, out, outOff, n);
    if (t == DType.F64) {
      double[] values = doubles(in, inOff, n);
      AxisKernels.softmax(outer, axisLen, inner, values);
      put(values, out, outOff);
    } else {
      float[] values = floatArray(t, in, inOff, n);
      AxisKernels.softmax(outer, axisLen, inner, values);
      store(values, t, out, outOff);
    }
  }

  /**
   * {@code C = A B + acc}, A {@code [m, k]}, B {@code [k, n]}, C {@code [m, n]}.
   *
   * <p>{@code c = fma(a[i, p], b[p, j], c)} in f32 for p ascending, from {@code acc[i, j]} or +0;
   * rounded once to {@code out}; f64 inputs in double throughout. With i8 inputs and i32 output,
   * wrapping integer arithmetic. C may be acc in place if {@code out} is the {@linkplain
   * DType#accumulator accumulator's} type; it must not overlap A or B.
   *
   * @param in type of A: a floating-point type, or i8
   * @param right type of B: that of A, or another of 8-bit floating-point numbers
   * @param out type of C: a floating-point type, or i32 for i8 inputs
   * @param acc {@code [m, n]} in the {@linkplain DType#accumulator accumulator's} type, or null for
   *     zero
   */
  public static void gemm(
      DType in,
      DType right,
      DType out,
      int m,
      int n,
      int k,
      byte[] a,
      int aOff,
      byte[] b,
      int bOff,
      byte @Nullable [] acc,
      int accOff,
      byte[] c,
      int cOff) {
    boolean integers = in == DType.I8 && out == DType.I32;
    if (!integers && !(in.isFloatingPoint() && out.isFloatingPoint())) {
      throw new IllegalArgumentException(
          "gemm of " + in + " to " + out + "; expected floating-point types, or i8 to i32");
    }
    if (right != in && !(in.isF8() && right.isF8())) {
      throw new IllegalArgumentException(
          "gemm of %s and %s; expected one type, or two of 8-bit floating-point numbers"
              .formatted(in, right));
    }
    int results = elements(m, 1, n);
    check("a", in, a, aOff, elements(m, 1, k));
    check("b", right, b, bOff, elements(k, 1, n));
    check("c", out, c, cOff, results);
    if (acc != null) {
      check("acc", in.accumulator(), acc, accOff, results);
    }
    if (integers) {
      int[] product = acc == null ? new int[results] : intArray(DType.I32, acc, accOff, results);
      Gemm.multiply(intArray(in, a, aOff, m * k), intArray(in, b, bOff, k * n), product, m, n, k);
      new IntBlocks(DType.I32, c, cOff, results).store(0, product, results);
    } else if (in == DType.F64) {
      double[] sum = acc == null ? new double[results] : doubles(acc, accOff, results);
      DoubleKernels.gemm(doubles(a, aOff, m * k), doubles(b, bOff, k * n), sum, m, n, k);
      store(sum, out, c, cOff);
    } else {
      float[] sum = acc == null ? new float[results] : floatArray(DType.F32, acc, accOff, results);
      Gemm.multiply(
          floatArray(in, a, aOff, m * k), floatArray(right, b, bOff, k * n), sum, m, n, k);
      store(sum, out, c, cOff);
    }
  }

  /**
   * Copies the elements of one strided view to another of the same extents: slices, transposes,
   * broadcasts (a source stride of 0), concatenation. Offsets in bytes, strides in elements.
   *
   * @throws ShapeException if a stride array has another rank
   */
  public static void copyStrided(
      int elementBytes,
      Shape extents,
      byte[] src,
      int srcOff,
      long[] srcStrides,
      byte[] dst,
      int dstOff,
      long[] dstStrides) {
    if (srcStrides.length != extents.rank() || dstStrides.length != extents.rank()) {
      throw new ShapeException(
          """
          strided copy of %s with %s source and %s destination strides; expected one per \
          axis\
          """
              .formatted(extents, srcStrides.length, dstStrides.length));
    }
    if (extents.elements() == 0) {
      return;
    }
    checkStrided("src", elementBytes, extents, src, srcOff, srcStrides);
    checkStrided("dst", elementBytes, extents, dst, dstOff, dstStrides);
    new StridedCopy(elementBytes, extents.toArray(), src, srcStrides, dst, dstStrides)
        .run(srcOff, dstOff);
  }

  private static void checkStrided(
      String what, int elementBytes, Shape extents, byte[] bytes, int offset, long[] strides) {
    long low = offset;
    long high = offset + (long) elementBytes;
    for (int axis = 0; axis < strides.length; axis++) {
      long reach = (extents.dim(axis) - 1) * strides[axis] * elementBytes;
      low += Math.min(reach, 0);
      high += Math.max(reach, 0);
    }
    if (low < 0 || high > bytes.length) {
      throw new IndexOutOfBoundsException(
          "strided copy: %s reaches bytes %s to %s; the array has %s"
              .formatted(what, low, high, bytes.length));
    }
  }

  private static void check(String what, DType t, byte[] bytes, int offset, int n) {
    if (offset < 0 || n < 0 || offset + (long) n * t.sizeBytes() > bytes.length) {
      throw new IndexOutOfBoundsException(
          "operand %s: %s x %s at byte %s; the array has %s bytes"
              .formatted(what, n, t, offset, bytes.length));
    }
  }

  private static int elements(int a, int b, int c) {
    if (a < 0 || b < 0 || c < 0 || (long) a * b > Integer.MAX_VALUE) {
      throw new ShapeException("extents " + a + ", " + b + ", " + c + ": expected 0 to 2^31 - 1");
    }
    return Math.multiplyExact(a * b, c);
  }

  private static void requireSupported(boolean supported, Object function, DType t) {
    if (!supported) {
      throw new IllegalArgumentException(
          "%s is not defined on %s; cast the operands first"
              .formatted(function.toString().toLowerCase(Locale.ROOT), t));
    }
  }

  private static double requireInteger(DType t, double scalar) {
    if (!t.holds(scalar)) {
      throw new IllegalArgumentException(
          "scalar " + scalar + " is not a value of " + t + "; cast the tensor or the scalar");
    }
    return scalar;
  }

  private static float[] floats(int n) {
    return new float[Math.min(n, FloatBlocks.BLOCK)];
  }

  private static double[] doubles(byte[] src, int off, int n) {
    double[] values = new double[n];
    FloatBlocks.littleEndian(src, off, n * 8).asDoubleBuffer().get(values);
    return values;
  }

  private static long[] longs(DType t, byte[] src, int off, int n) {
    long[] values = new long[n];
    for (int i = 0; i < n; i++) {
      values[i] = t.getLong(src, off + i * t.sizeBytes());
    }
    return values;
  }

  private static void put(DType t, long[] values, byte[] dst, int off) {
    for (int i = 0; i < values.length; i++) {
      t.putLong(dst, off + i * t.sizeBytes(), values[i]);
    }
  }

  /** Stores doubles, any NaN as the one code. */
  private static void put(double[] values, byte[] dst, int off) {
    DoubleKernels.canonicalNan(values, values.length);
    FloatBlocks.littleEndian(dst, off, values.length * 8).asDoubleBuffer().put(values);
  }

  private static void store(double[] values, DType t, byte[] dst, int off) {
    if (t == DType.F64) {
      put(values, dst, off);
      return;
    }
    for (int i = 0; i < values.length; i++) {
      t.putDouble(dst, off + i * t.sizeBytes(), values[i]);
    }
  }

  private static int[] intArray(DType t, byte[] src, int off, int n) {
    int[] values = new int[n];
    new IntBlocks(t, src, off, n).load(0, values, n);
    return values;
  }

  private static float[] floatArray(DType t, byte[] src, int off, int n) {
    FloatBlocks source = new FloatBlocks(t, src, off, n);
    float[] values = new float[n];
    float[] block = floats(n);
    for (int start = 0; start < n; start += block.length) {
      int length = Math.min(block.length, n - start);
      source.load(start, block, length);
      System.arraycopy(block, 0, values, start, length);
    }
    return values;
  }

  private static void store(float[] values, DType t, byte[] dst, int off) {
    if (t == DType.F64) {
      for (int i = 0; i < values.length; i++) {
        t.putDouble(dst, off + i * 8, values[i]);
      }
      return;
    }
    FloatBlocks target = new FloatBlocks(t, dst, off, values.length);
    float[] block = floats(values.length);
    for (int start = 0; start < values.length; start += block.length) {
      int length = Math.min(block.length, values.length - start);
      System.arraycopy(values, start, block, 0, length);
      target.store(start, block, length);
    }
  }
}
