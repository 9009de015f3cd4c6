package org.kernbench.torch.placement;

import org.kernbench.tensor.Shape;

/** Moves the elements of a part between its own dense bytes and those of the whole tensor. */
public final class ShardCopy {
  private final Shape whole;
  private final ShardSpec part;
  private final int elementBytes;

  public ShardCopy(Shape whole, ShardSpec part, int elementBytes) {
    this.whole = whole;
    this.part = part;
    this.elementBytes = elementBytes;
  }

  /** Whether part and whole are the same bytes. */
  public boolean isWhole() {
    return part.shape().equals(whole);
  }

  /** Whole to part. */
  public void gather(byte[] from, byte[] to) {
    runs((inWhole, inPart, bytes) -> System.arraycopy(from, inWhole, to, inPart, bytes));
  }

  /** Part to whole. */
  public void scatter(byte[] from, byte[] to) {
    runs((inWhole, inPart, bytes) -> System.arraycopy(from, inPart, to, inWhole, bytes));
  }

  /** Position in the part of an element of the whole; -1 if it is elsewhere. */
  public long position(int[] index) {
    long at = 0;
    for (int axis = 0; axis < index.length; axis++) {
      int i = index[axis] - part.offset().get(axis);
      int extent = part.shape().dim(axis);
      if (i < 0 || i >= extent) {
        return -1;
      }
      at = at * extent + i;
    }
    return at;
  }

  private interface Run {
    void at(int inWhole, int inPart, int bytes);
  }

  /** Visits the longest runs of bytes that are consecutive in both. */
  private void runs(Run run) {
    Shape shape = part.shape();
    if (shape.elements() == 0) {
      return;
    }
    int rank = shape.rank();
    int axis = rank - 1;
    while (axis > 0 && shape.dim(axis) == whole.dim(axis)) {
      axis--;
    }
    if (rank == 0) {
      run.at(0, 0, elementBytes);
      return;
    }
    long[] strides = whole.strides();
    int length = Math.toIntExact(shape.dim(axis) * shape.inner(axis) * elementBytes);
    int[] index = new int[axis];
    int inPart = 0;
    while (true) {
      long inWhole = part.offset().get(axis) * strides[axis];
      for (int i = 0; i < axis; i++) {
        inWhole += (part.offset().get(i) + index[i]) * strides[i];
      }
      run.at(Math.toIntExact(inWhole * elementBytes), inPart, length);
      inPart += length;
      int i = axis - 1;
      while (i >= 0 && ++index[i] == shape.dim(i)) {
        index[i--] = 0;
      }
      if (i < 0) {
        return;
      }
    }
  }
}
