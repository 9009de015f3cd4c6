package org.kernbench.tensor;

/**
 * Reductions of {@code [outer, axis, inner]} to {@code [outer, inner]}: from the first element,
 * taking in the next in ascending order, in f32 and rounded once; integers wrap in their width.
 *
 * <p>The order is part of the contract, so a single sum cannot be vectorised. Speed comes from
 * independent sums: neighbours along {@code inner}, or four rows at a time if there are none.
 */
final class Reductions {
  private static final int ROWS = 4;

  private Reductions() {}

  static void floats(
      ReduceOp op, DType t, int outer, int axis, int inner, byte[] in, int inOff, Out out) {
    FloatBlocks source = new FloatBlocks(t, in, inOff, outer * axis * inner);
    FloatBlocks target = new FloatBlocks(t, out.bytes(), out.offset(), outer * inner);
    if (inner == 1) {
      rows(op, outer, axis, source, target);
    } else if (inner <= FloatBlocks.BLOCK) {
      narrow(op, outer, axis, inner, source, target);
    } else {
      wide(op, outer, axis, inner, source, target);
    }
  }

  /** Where a result goes. */
  record Out(byte[] bytes, int offset) {}

  private static void rows(
      ReduceOp op, int outer, int axis, FloatBlocks source, FloatBlocks target) {
    int block = Math.min(axis, FloatBlocks.BLOCK);
    float[][] row = new float[ROWS][block];
    float[] result = new float[Math.min(outer, FloatBlocks.BLOCK)];
    int held = 0;
    for (int o = 0; o < outer; o += ROWS) {
      int count = Math.min(ROWS, outer - o);
      for (int start = 0; start < axis; start += block) {
        int n = Math.min(block, axis - start);
        for (int r = 0; r < count; r++) {
          source.load((o + r) * axis + start, row[r], n);
        }
        accumulateRows(op, row, result, held, count, n, start == 0);
      }
      held += count;
      if (held + ROWS > result.length || o + count == outer) {
        target.store(o + count - held, result, held);
        held = 0;
      }
    }
  }

  private static void accumulateRows(
      ReduceOp op, float[][] row, float[] acc, int at, int count, int n, boolean first) {
    if (first) {
      for (int r = 0; r < count; r++) {
        acc[at + r] = row[r][0];
      }
    }
    int from = first ? 1 : 0;
    if (count < ROWS || op == ReduceOp.MAX || op == ReduceOp.MIN) {
      for (int r = 0; r < count; r++) {
        acc[at + r] = accumulate(op, row[r], acc[at + r], from, n);
      }
    } else if (op == ReduceOp.SUM) {
      sumFour(row, acc, at, from, n);
    } else {
      productFour(row, acc, at, from, n);
    }
  }

  private static float accumulate(ReduceOp op, float[] row, float start, int from, int n) {
    float acc = start;
    switch (op) {
      case SUM -> {
        for (int i = from; i < n; i++) {
          acc += row[i];
        }
      }
      case PRODUCT -> {
        for (int i = from; i < n; i++) {
          acc *= row[i];
        }
      }
      case MAX -> {
        for (int i = from; i < n; i++) {
          acc = Math.max(acc, row[i]);
        }
      }
      case MIN -> {
        for (int i = from; i < n; i++) {
          acc = Math.min(acc, row[i]);
        }
      }
    }
    return acc;
  }

  private static void sumFour(float[][] row, float[] acc, int at, int from, int n) {
    final float[] r0 = row[0];
    final float[] r1 = row[1];
    final float[] r2 = row[2];
    final float[] r3 = row[3];
    float s0 = acc[at];
    float s1 = acc[at + 1];
    float s2 = acc[at + 2];
    float s3 = acc[at + 3];
    for (int i = from; i < n; i++) {
      s0 += r0[i];
      s1 += r1[i];
      s2 += r2[i];
      s3 += r3[i];
    }
    acc[at] = s0;
    acc[at + 1] = s1;
    acc[at + 2] = s2;
    acc[at + 3] = s3;
  }

  private static void productFour(float[][] row, float[] acc, int at, int from, int n) {
    final float[] r0 = row[0];
    final float[] r1 = row[1];
    final float[] r2 = row[2];
    final float[] r3 = row[3];
    float s0 = acc[at];
    float s1 = acc[at + 1];
    float s2 = acc[at + 2];
    float s3 = acc[at + 3];
    for (int i = from; i < n; i++) {
      s0 *= r0[i];
      s1 *= r1[i];
      s2 *= r2[i];
      s3 *= r3[i];
    }
    acc[at] = s0;
    acc[at + 1] = s1;
    acc[at + 2] = s2;
    acc[at + 3] = s3;
  }

  /** Several whole rows of {@code inner} fit a block: one load, then row after row. */
  private static void narrow(
      ReduceOp op, int outer, int axis, int inner, FloatBlocks source, FloatBlocks target) {
    int perLoad = FloatBlocks.BLOCK / inner;
    float[] block = new float[Math.min(perLoad, axis) * inner];
    float[] acc = new float[inner];
    float[] row = new float[inner];
    for (int o = 0; o < outer; o++) {
      for (int a = 0; a < axis; a += perLoad) {
        int rows = Math.min(perLoad, axis - a);
        source.load((o * axis + a) * inner, block, rows * inner);
        for (int r = 0; r < rows; r++) {
          System.arraycopy(block, r * inner, a + r == 0 ? acc : row, 0, inner);
          if (a + r > 0) {
            FloatKernels.binary(op.combine(), acc, row, inner);
          }
        }
      }
      target.store(o * inner, acc, inner);
    }
  }

  private static void wide(
      ReduceOp op, int outer, int axis, int inner, FloatBlocks source, FloatBlocks target) {
    float[] acc = new float[FloatBlocks.BLOCK];
    float[] row = new float[FloatBlocks.BLOCK];
    for (int o = 0; o < outer; o++) {
      for (int start = 0; start < inner; start += FloatBlocks.BLOCK) {
        int n = Math.min(FloatBlocks.BLOCK, inner - start);
        source.load(o * axis * inner + start, acc, n);
        for (int a = 1; a < axis; a++) {
          source.load((o * axis + a) * inner + start, row, n);
          FloatKernels.binary(op.combine(), acc, row, n);
        }
        target.store(o * inner + start, acc, n);
      }
    }
  }
}
