package org.kernbench.tensor;

/** Copies between two strided views of the same extents, in runs where both are contiguous. */
final class StridedCopy {
  private final int elementBytes;
  private final int[] dims;
  private final byte[] src;
  private final long[] srcStrides;
  private final byte[] dst;
  private final long[] dstStrides;

  StridedCopy(
      int elementBytes, int[] dims, byte[] src, long[] srcStrides, byte[] dst, long[] dstStrides) {
    this.elementBytes = elementBytes;
    this.dims = dims;
    this.src = src;
    this.srcStrides = srcStrides;
    this.dst = dst;
    this.dstStrides = dstStrides;
  }

  void run(long srcAt, long dstAt) {
    run(0, srcAt, dstAt);
  }

  private void run(int axis, long srcAt, long dstAt) {
    if (axis == dims.length) {
      System.arraycopy(src, (int) srcAt, dst, (int) dstAt, elementBytes);
      return;
    }
    long srcStep = srcStrides[axis] * elementBytes;
    long dstStep = dstStrides[axis] * elementBytes;
    if (axis == dims.length - 1) {
      innermost(dims[axis], srcAt, srcStep, dstAt, dstStep);
      return;
    }
    for (int i = 0; i < dims[axis]; i++) {
      run(axis + 1, srcAt + i * srcStep, dstAt + i * dstStep);
    }
  }

  private void innermost(int n, long srcAt, long srcStep, long dstAt, long dstStep) {
    if (srcStep == elementBytes && dstStep == elementBytes) {
      System.arraycopy(src, (int) srcAt, dst, (int) dstAt, n * elementBytes);
      return;
    }
    for (int i = 0; i < n; i++) {
      int from = (int) (srcAt + i * srcStep);
      int to = (int) (dstAt + i * dstStep);
      for (int b = 0; b < elementBytes; b++) {
        dst[to + b] = src[from + b];
      }
    }
  }
}
