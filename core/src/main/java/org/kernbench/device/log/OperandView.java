package org.kernbench.device.log;

import java.util.Arrays;
import org.kernbench.tensor.Shape;

/**
 * How a command reads an operand that is not dense: a transposed, sliced or broadcast view of a
 * register. The engines read operands through address generators, so a view costs nothing; what is
 * charged is the command that reads it.
 */
public final class OperandView {
  /** Dense, row-major: the elements in the order of their addresses. */
  public static final OperandView DENSE = new OperandView(0, Shape.of(), new long[0]);

  private final int elementBytes;
  private final Shape extents;
  private final long[] strides;

  private OperandView(int elementBytes, Shape extents, long[] strides) {
    this.elementBytes = elementBytes;
    this.extents = extents;
    this.strides = strides;
  }

  /**
   * A view.
   *
   * @param elementBytes size of an element
   * @param extents what the command sees, row-major
   * @param strides elements between neighbours along each axis; 0 repeats (broadcasts) an element
   */
  public static OperandView of(int elementBytes, Shape extents, long... strides) {
    if (strides.length != extents.rank()) {
      throw new IllegalArgumentException(
          "view of " + extents + " with " + strides.length + " strides; expected one per axis");
    }
    return new OperandView(elementBytes, extents, strides.clone());
  }

  /** Whether this is {@link #DENSE}. */
  public boolean isDense() {
    return this == DENSE;
  }

  public int elementBytes() {
    return elementBytes;
  }

  public Shape extents() {
    return extents;
  }

  public long[] strides() {
    return strides;
  }

  /** For example {@code [4, 3] by [1, 4]}. */
  @Override
  public String toString() {
    return isDense() ? "dense" : extents + " by " + Arrays.toString(strides);
  }
}
