package org.kernbench.tl;

import java.util.Locale;
import org.kernbench.machine.MemoryAddress;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/**
 * The part of a tensor that lies at one PE, row-major and dense; or any dense elements in memory.
 *
 * @param name of the tensor, for messages
 * @param address of the first element; that of a tensor's shard is virtual
 * @param shape of this part
 * @param dtype of the elements
 */
public record Shard(String name, MemoryAddress address, Shape shape, DType dtype) {
  /** All of it, in its own shape. */
  public Slice whole() {
    int n = elements();
    return new Slice(this, 0, 1, n, n, shape);
  }

  /** All of it, as a vector. */
  public Slice all() {
    return range(0, elements());
  }

  private int elements() {
    if (shape.elements() > Integer.MAX_VALUE) {
      throw new RangeException(
          String.format(
              Locale.ROOT,
              "the part of %s at a PE is %s, %,d elements; expected at most %,d: use more PEs",
              name,
              shape,
              shape.elements(),
              Integer.MAX_VALUE));
    }
    return (int) shape.elements();
  }

  /**
   * Its elements as a matrix.
   *
   * @throws RangeException if there are not as many
   */
  public Shard as(int rows, int columns) {
    if ((long) rows * columns != shape.elements()) {
      throw new RangeException(
          "tensor %s: the shard %s cannot be seen as [%s, %s]; expected as many elements"
              .formatted(name, shape, rows, columns));
    }
    return new Shard(name, address, Shape.of(rows, columns), dtype);
  }

  /**
   * {@code count} consecutive elements of the flattened shard, from element {@code start} on, as a
   * vector.
   */
  public Slice range(int start, int count) {
    long elements = shape.elements();
    if (start < 0 || count < 0 || (long) start + count > elements) {
      throw new RangeException(
          """
          tensor %s: elements [%s, %s) are out of range; the shard %s has %s elements\
          """
              .formatted(name, start, (long) start + count, shape, elements));
    }
    return new Slice(this, start, 1, count, count, Shape.of(count));
  }

  /**
   * A block of a matrix shard: rows {@code [row, row + rows)}, columns {@code [column, column +
   * columns)}.
   *
   * @throws RangeException naming tensor, index and extent
   */
  public Slice block(int row, int rows, int column, int columns) {
    if (shape.rank() != 2) {
      throw new RangeException(
          "tensor " + name + ": a block needs a matrix, the shard has shape " + shape);
    }
    checkAxis("row", row, rows, shape.dim(0));
    checkAxis("column", column, columns, shape.dim(1));
    int width = shape.dim(1);
    return new Slice(
        this,
        Math.addExact(Math.multiplyExact(row, width), column),
        rows,
        columns,
        width,
        Shape.of(rows, columns));
  }

  void checkAxis(String axis, int start, int count, int extent) {
    if (start < 0 || count < 0 || (long) start + count > extent) {
      throw new RangeException(
          "tensor %s: %ss [%s, %s) are out of range; the shard %s has %s"
              .formatted(name, axis, start, (long) start + count, shape, extent));
    }
  }
}
