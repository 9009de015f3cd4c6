package org.kernbench.torch.placement;

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
}
