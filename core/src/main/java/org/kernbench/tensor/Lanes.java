package org.kernbench.tensor;

import java.nio.DoubleBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The operands of an element-wise function, a block at a time, in the type in which they compute:
 * f32 for floating-point types but f64, double, {@code int} or {@code long}. One loop ({@link
 * #each}) serves all functions: load a block of every operand, work on it in place of the first,
 * store that. Work is one call per thousand elements, so it may be a lambda.
 *
 * @param <X> a block: an array of what they compute in
 * @param <V> a view of the bytes as elements
 */
abstract sealed class Lanes<X, V> {
  /** What happens to a block of {@code n} elements, the first of which is {@code start}. */
  interface Work {
    void run(int start, int n);
  }

  private final int elements;
  private int operands;
  private @Nullable X first;
  private @Nullable X second;
  private @Nullable X third;
  private @Nullable V firstView;
  private @Nullable V secondView;
  private @Nullable V thirdView;
  private @Nullable V result;
  private double constant; // of the operand without a view, if there is one

  private Lanes(int elements) {
    this.elements = elements;
  }

  /** For {@code n} elements of a type; operands and result are to be named. */
  static Lanes<?, ?> of(DType t, int n) {
    return switch (t) {
      case F64 -> new Doubles(n);
      case F32, F16, BF16, F8E4M3, F8E5M2 -> new Floats(t, n);
      case I64 -> new Longs(n);
      case I8, I32, BOOL -> new Ints(t, n);
    };
  }

  /** One more operand. */
  final Lanes<X, V> operand(byte[] bytes, int offset) {
    return operand(view(bytes, offset, elements));
  }

  /** One more operand, the same value everywhere; of integers a value of the type. */
  final Lanes<X, V> operand(double value) {
    constant = value;
    return operand(null);
  }

  private Lanes<X, V> operand(@Nullable V view) {
    X block = block(Math.min(elements, FloatBlocks.BLOCK));
    switch (operands++) {
      case 0 -> {
        first = block;
        firstView = view;
      }
      case 1 -> {
        second = block;
        secondView = view;
      }
      default -> {
        third = block;
        thirdView = view;
      }
    }
    return this;
  }

  /** Where the first operand goes after the work; without it, the work keeps what it wants. */
  final Lanes<X, V> result(byte[] bytes, int offset) {
    result = view(bytes, offset, elements);
    return this;
  }

  /** All blocks in ascending order. */
  @SuppressWarnings("NullAway") // as many blocks as operands
  final void each(Work work) {
    for (int start = 0; start < elements; start += FloatBlocks.BLOCK) {
      int n = Math.min(FloatBlocks.BLOCK, elements - start);
      load(firstView, start, first, n);
      if (operands > 1) {
        load(secondView, start, second, n);
      }
      if (operands > 2) {
        load(thirdView, start, third, n);
      }
      work.run(start, n);
      if (result != null) {
        store(first, n, result, start);
      }
    }
  }

  private void load(@Nullable V view, int start, X x, int n) {
    if (view == null) {
      fill(x, n, constant);
    } else {
      load(view, start, x, n, result != null);
    }
  }

  /** The block of the first operand. */
  @SuppressWarnings("NullAway") // functions have as many operands as they use
  final X x() {
    return first;
  }

  /** The block of the second operand. */
  @SuppressWarnings("NullAway") // functions have as many operands as they use
  final X y() {
    return second;
  }

  /** The block of the third operand. */
  @SuppressWarnings("NullAway") // functions have as many operands as they use
  final X z() {
    return third;
  }

  /** {@code x = x op y}, x and y being the first two operands. */
  abstract void binary(BinaryOp op, int n);

  /** {@code x = op(x)}. */
  abstract void unary(UnaryOp op, int n);

  /** {@code out[at + i] = x[i] op y[i]} as bool. */
  abstract void compare(CompareOp op, byte[] out, int at, int n);

  /** {@code x = x * y + z}, fused; floating-point types only. */
  void fma(int n) {
    throw new AssertionError(getClass());
  }

  abstract X block(int n);

  abstract V view(byte[] bytes, int offset, int n);

  abstract void fill(X x, int n, double value);

  /**
   * @param anyOrder whether elements may change places within the block, as {@link #store} puts
   *     them back
   */
  abstract void load(V from, int start, X x, int n, boolean anyOrder);

  abstract void store(X x, int n, V to, int start);

  private static final class Floats extends Lanes<float[], FloatBlocks> {
    private final DType type;

    Floats(DType type, int n) {
      super(n);
      this.type = type;
    }

    @Override
    float[] block(int n) {
      return new float[n];
    }

    @Override
    FloatBlocks view(byte[] bytes, int offset, int n) {
      return new FloatBlocks(type, bytes, offset, n);
    }

    @Override
    void fill(float[] x, int n, double value) {
      Arrays.fill(x, 0, n, (float) value);
    }

    @Override
    void load(FloatBlocks from, int start, float[] x, int n, boolean anyOrder) {
      if (anyOrder) {
        from.loadPlanar(start, x, n);
      } else {
        from.load(start, x, n);
      }
    }

    @Override
    void store(float[] x, int n, FloatBlocks to, int start) {
      to.storePlanar(start, x, n);
    }

    @Override
    void binary(BinaryOp op, int n) {
      FloatKernels.binary(op, x(), y(), n);
    }

    @Override
    void unary(UnaryOp op, int n) {
      FloatKernels.unary(op, x(), n);
    }

    @Override
    void compare(CompareOp op, byte[] out, int at, int n) {
      FloatKernels.compare(op, x(), y(), out, at, n);
    }

    @Override
    void fma(int n) {
      FloatKernels.fma(x(), y(), z(), n);
    }
  }

  private static final class Doubles extends Lanes<double[], DoubleBuffer> {
    Doubles(int n) {
      super(n);
    }

    @Override
    double[] block(int n) {
      return new double[n];
    }

    @Override
    DoubleBuffer view(byte[] bytes, int offset, int n) {
      return FloatBlocks.littleEndian(bytes, offset, 8 * n).asDoubleBuffer();
    }

    @Override
    void fill(double[] x, int n, double value) {
      Arrays.fill(x, 0, n, value);
    }

    @Override
    void load(DoubleBuffer from, int start, double[] x, int n, boolean anyOrder) {
      from.get(start, x, 0, n);
    }

    @Override
    void store(double[] x, int n, DoubleBuffer to, int start) {
      DoubleKernels.canonicalNan(x, n);
      to.put(start, x, 0, n);
    }

    @Override
    void binary(BinaryOp op, int n) {
      DoubleKernels.binary(op, x(), y(), n);
    }

    @Override
    void unary(UnaryOp op, int n) {
      DoubleKernels.unary(op, x(), n);
    }

    @Override
    void compare(CompareOp op, byte[] out, int at, int n) {
      DoubleKernels.compare(op, x(), y(), out, at, n);
    }

    @Override
    void fma(int n) {
      DoubleKernels.fma(x(), y(), z(), n);
    }
  }

  private static final class Longs extends Lanes<long[], LongBuffer> {
    Longs(int n) {
      super(n);
    }

    @Override
    long[] block(int n) {
      return new long[n];
    }

    @Override
    LongBuffer view(byte[] bytes, int offset, int n) {
      return FloatBlocks.littleEndian(bytes, offset, 8 * n).asLongBuffer();
    }

    @Override
    void fill(long[] x, int n, double value) {
      Arrays.fill(x, 0, n, (long) value);
    }

    @Override
    void load(LongBuffer from, int start, long[] x, int n, boolean anyOrder) {
      from.get(start, x, 0, n);
    }

    @Override
    void store(long[] x, int n, LongBuffer to, int start) {
      to.put(start, x, 0, n);
    }

    @Override
    void binary(BinaryOp op, int n) {
      LongKernels.binary(op, x(), y(), n);
    }

    @Override
    void unary(UnaryOp op, int n) {
      LongKernels.unary(op, x(), n);
    }

    @Override
    void compare(CompareOp op, byte[] out, int at, int n) {
      LongKernels.compare(op, x(), y(), out, at, n);
    }
  }

  /** i8, i32 and bool. */
  private static final class Ints extends Lanes<int[], IntBlocks> {
    private final DType type;

    Ints(DType type, int n) {
      super(n);
      this.type = type;
    }

    @Override
    int[] block(int n) {
      return new int[n];
    }

    @Override
    IntBlocks view(byte[] bytes, int offset, int n) {
      return new IntBlocks(type, bytes, offset, n);
    }

    @Override
    void fill(int[] x, int n, double value) {
      Arrays.fill(x, 0, n, (int) value);
    }

    @Override
    void load(IntBlocks from, int start, int[] x, int n, boolean anyOrder) {
      from.load(start, x, n);
    }

    @Override
    void store(int[] x, int n, IntBlocks to, int start) {
      to.store(start, x, n);
    }

    @Override
    void binary(BinaryOp op, int n) {
      IntKernels.binary(op, x(), y(), n);
    }

    /** Of bool there is NOT only. */
    @Override
    void unary(UnaryOp op, int n) {
      if (type == DType.BOOL) {
        IntKernels.complement(x(), n);
      } else {
        IntKernels.unary(op, x(), n);
      }
    }

    @Override
    void compare(CompareOp op, byte[] out, int at, int n) {
      IntKernels.compare(op, x(), y(), out, at, n);
    }
  }
}
