package org.kernbench.torch.placement;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.Shape;

/**
 * Where a part of a tensor lies and which part it is.
 *
 * @param sip package
 * @param cube cube in the package
 * @param pe PE in the cube, whose HBM slice holds the part
 * @param offset index of the part's first element in the tensor, one number per axis
 * @param shape of the part; may be empty
 */
public record ShardSpec(int sip, int cube, int pe, List<Integer> offset, Shape shape) {
  /** Copies the list. */
  public ShardSpec {
    offset = List.copyOf(offset);
  }

  /** The place as one coordinate. */
  public Pe place() {
    return new Pe(sip, cube, pe);
  }

  /** This part at another place. */
  public ShardSpec movedTo(Pe other) {
    return new ShardSpec(other.sip(), other.cube(), other.pe(), offset, shape);
  }

  /**
   * Parts of a tensor, one after another, that have consecutive elements of it, at one place.
   *
   * @param whole shape of the tensor
   * @param start first element, in row-major order
   * @param end behind the last one
   */
  public static List<ShardSpec> ofRun(Shape whole, long start, long end, Pe at) {
    List<ShardSpec> specs = new ArrayList<>();
    for (Box box : Box.ofRun(whole, start, end)) {
      specs.add(box.at(at.sip(), at.cube(), at.pe()));
    }
    return specs;
  }

  /** Whether its elements follow one another in the tensor too. */
  public boolean isRunOf(Shape whole) {
    boolean behind = false; // an axis of which the part has more than one index
    for (int axis = 0; axis < shape.rank(); axis++) {
      if (behind && shape.dim(axis) != whole.dim(axis)) {
        return false;
      }
      behind |= shape.dim(axis) > 1;
    }
    return true;
  }

  /** Position in the tensor, in row-major order, of its first element. */
  public long firstIn(Shape whole) {
    long[] strides = whole.strides();
    long first = 0;
    for (int axis = 0; axis < strides.length; axis++) {
      first += offset.get(axis) * strides[axis];
    }
    return first;
  }
}
