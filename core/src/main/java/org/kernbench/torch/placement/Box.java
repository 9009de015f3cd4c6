package org.kernbench.torch.placement;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.kernbench.tensor.Shape;

/** Indices of a tensor that lie together: first index and extent along each axis. */
record Box(int[] offset, int[] extent) {
  static Box all(Shape shape) {
    return new Box(new int[shape.rank()], shape.toArray());
  }

  /**
   * Part {@code index} of {@code parts} along an axis; the first {@code extent mod parts} parts
   * have one index more than the others.
   */
  Box cut(int axis, int index, int parts) {
    int each = extent[axis] / parts;
    int more = extent[axis] % parts;
    int[] start = offset.clone();
    int[] length = extent.clone();
    start[axis] += index * each + Math.min(index, more);
    length[axis] = each + (index < more ? 1 : 0);
    return new Box(start, length);
  }

  ShardSpec at(int sip, int cube, int pe) {
    return new ShardSpec(sip, cube, pe, Arrays.stream(offset).boxed().toList(), Shape.of(extent));
  }

  /**
   * The boxes, in order, whose elements are those from {@code start} to before {@code end} of a
   * row-major tensor: at most one for its beginning, its middle and its end along each axis.
   */
  static List<Box> ofRun(Shape shape, long start, long end) {
    List<Box> boxes = new ArrayList<>();
    addRun(boxes, shape, new int[shape.rank()], 0, start, end);
    return boxes;
  }

  /** Of the part of the shape with the indices before {@code axis} fixed. */
  private static void addRun(
      List<Box> boxes, Shape shape, int[] fixed, int axis, long start, long end) {
    if (start >= end) {
      return;
    }
    long inner = shape.inner(axis);
    long first = Math.ceilDiv(start, inner);
    long last = end / inner;
    if (first > last) { // within one index
      addRun(boxes, shape, with(fixed, axis, last), axis + 1, start % inner, end - last * inner);
      return;
    }
    if (first * inner > start) {
      addRun(boxes, shape, with(fixed, axis, first - 1), axis + 1, start % inner, inner);
    }
    if (last > first) {
      boxes.add(of(shape, fixed, axis, (int) first, (int) (last - first)));
    }
    addRun(boxes, shape, with(fixed, axis, last), axis + 1, 0, end - last * inner);
  }

  private static int[] with(int[] fixed, int axis, long index) {
    int[] more = fixed.clone();
    more[axis] = (int) index;
    return more;
  }

  private static Box of(Shape shape, int[] fixed, int axis, int first, int count) {
    int[] offset = fixed.clone();
    int[] extent = shape.toArray();
    Arrays.fill(extent, 0, axis, 1);
    Arrays.fill(offset, axis, offset.length, 0);
    offset[axis] = first;
    extent[axis] = count;
    return new Box(offset, extent);
  }
}
