package org.kernbench.tl;

import org.kernbench.device.memory.Region;
import org.kernbench.tensor.Shape;

/**
 * Elements of a shard that one load or store moves; make it with {@link Shard#range} or {@link
 * Shard#block}.
 *
 * @param shard what it is a part of
 * @param start first element, counted in the flattened shard
 * @param rows how many runs of consecutive elements
 * @param columns elements in a run
 * @param stride elements between the starts of two runs
 * @param shape of the value it loads into
 */
public record Slice(Shard shard, int start, int rows, int columns, int stride, Shape shape) {
  Region region() {
    int size = shard.dtype().sizeBytes();
    return new Region(
        shard.address().plus((long) start * size), rows, columns * size, (long) stride * size);
  }

  /** Whether its elements are consecutive in memory. */
  public boolean isDense() {
    return rows <= 1 || stride == columns;
  }

  /** Its consecutive elements in another shape. */
  public Slice reshape(int... dims) {
    Shape to = Shape.of(dims);
    if (!isDense() || to.elements() != shape.elements()) {
      throw new RangeException(
          """
          tensor %s: a slice %s%s cannot be seen as %s; expected as many consecutive \
          elements\
          """
              .formatted(
                  shard.name(), shape, isDense() ? "" : " of rows that are not consecutive", to));
    }
    return new Slice(shard, start, rows, columns, stride, to);
  }

  /**
   * A block of a matrix slice: rows {@code [row, row + blockRows)}, columns {@code [column, column
   * + blockColumns)}.
   *
   * @throws RangeException naming tensor, index and extent
   */
  public Slice block(int row, int blockRows, int column, int blockColumns) {
    if (shape.rank() != 2) {
      throw new RangeException(
          "tensor " + shard.name() + ": a block needs a matrix, the slice has shape " + shape);
    }
    shard.checkAxis("row", row, blockRows, shape.dim(0));
    shard.checkAxis("column", column, blockColumns, shape.dim(1));
    int width = isDense() ? shape.dim(1) : stride;
    return new Slice(
        shard,
        Math.addExact(start, Math.addExact(Math.multiplyExact(row, width), column)),
        blockRows,
        blockColumns,
        width,
        Shape.of(blockRows, blockColumns));
  }
}
