package org.kernbench.tl;

import org.kernbench.device.Region;
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
        shard.address().plus((long) start * size),
        rows,
        columns * size,
        (long) stride * size);
  }
}
