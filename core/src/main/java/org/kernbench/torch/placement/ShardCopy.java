package org.kernbench.torch.placement;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
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
    runs((inWhole, inPart, bytes) ->
        System.arraycopy(from, exact(inWhole), to, exact(inPart), exact(bytes)));
  }

  /** Part to whole. */
  public void scatter(byte[] from, byte[] to) {
    runs((inWhole, inPart, bytes) ->
        System.arraycopy(from, exact(inPart), to, exact(inWhole), exact(bytes)));
  }

  private static int exact(long bytes) {
    return Math.toIntExact(bytes);
  }

  /** What is done with some neighbouring bytes of the part, which lie at the start of a piece. */
  public interface Piece {
    void at(long inPart, int bytes);
  }

  /**
   * Whole, in any memory, to part, a piece at a time, in the order of the part: so a tensor may be
   * larger than an array, and what is copied twice is still in the cache the second time.
   */
  public void gather(MemorySegment from, byte[] piece, Piece use) {
    long all = part.shape().elements() * elementBytes;
    runs((inWhole, inPart, bytes) -> {
      for (long done = 0; done < bytes; ) {
        long at = inPart + done;
        int inPiece = (int) (at % piece.length);
        int step = (int) Math.min(piece.length - inPiece, bytes - done);
        MemorySegment.copy(from, JAVA_BYTE, inWhole + done, piece, inPiece, step);
        done += step;
        if (inPiece + step == piece.length || at + step == all) {
          use.at(at - inPiece, inPiece + step);
        }
      }
    });
  }

  /** Part to whole, a piece at a time; {@code fill} brings the bytes of the next one. */
  public void scatter(byte[] piece, Piece fill, MemorySegment to) {
    long all = part.shape().elements() * elementBytes;
    long[] ready = {0};
    runs((inWhole, inPart, bytes) -> {
      for (long done = 0; done < bytes; ) {
        long at = inPart + done;
        if (at == ready[0]) {
          int n = (int) Math.min(piece.length, all - at);
          fill.at(at, n);
          ready[0] += n;
        }
        int step = (int) Math.min(ready[0] - at, bytes - done);
        int inPiece = (int) (at % piece.length);
        MemorySegment.copy(piece, inPiece, to, JAVA_BYTE, inWhole + done, step);
        done += step;
      }
    });
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
    void at(long inWhole, long inPart, long bytes);
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
    long length = shape.dim(axis) * shape.inner(axis) * elementBytes;
    int[] index = new int[axis];
    long inPart = 0;
    while (true) {
      long inWhole = part.offset().get(axis) * strides[axis];
      for (int i = 0; i < axis; i++) {
        inWhole += (part.offset().get(i) + index[i]) * strides[i];
      }
      run.at(inWhole * elementBytes, inPart, length);
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
