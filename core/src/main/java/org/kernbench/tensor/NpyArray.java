package org.kernbench.tensor;

/** A dense row-major array as read from a file. */
public final class NpyArray {
  private final DType dtype;
  private final Shape shape;
  private final byte[] bytes;

  /**
   * An array over these little-endian elements; {@code bytes} is shared, not copied.
   *
   * @throws ShapeException if the number of bytes is not that of the shape
   */
  public NpyArray(DType dtype, Shape shape, byte[] bytes) {
    if (shape.elements() * dtype.sizeBytes() != bytes.length) {
      throw new ShapeException(
          "%s %s needs %s bytes; got %s"
              .formatted(dtype, shape, shape.elements() * dtype.sizeBytes(), bytes.length));
    }
    this.dtype = dtype;
    this.shape = shape;
    this.bytes = bytes;
  }

  /** The element type. */
  public DType dtype() {
    return dtype;
  }

  /** The extents. */
  public Shape shape() {
    return shape;
  }

  /** The little-endian elements, last axis contiguous; shared, not copied. */
  public byte[] bytes() {
    return bytes;
  }

  /** For example {@code f16 [2, 3]}. */
  @Override
  public String toString() {
    return dtype + " " + shape;
  }
}
