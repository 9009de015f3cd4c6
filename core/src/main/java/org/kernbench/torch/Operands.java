package org.kernbench.torch;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;

/**
 * What all members bring to a collective alike.
 *
 * @param dtype of the elements
 * @param shape of what every member brings; of an all-to-all with splits, of one row
 * @param reduce if elements combine
 * @param root global rank, -1 if there is none
 * @param rows by member, the rows of its part, if they were given; else empty
 * @param places where the parts of the tensors lie on the device, if on more than one PE
 */
record Operands(
    DType dtype,
    Shape shape,
    Optional<ReduceKind> reduce,
    int root,
    List<Long> rows,
    List<Place> places) {

  /** A shard, seen from its device: the same on all members, wherever they are. */
  record Place(int cube, int pe, List<Integer> offset, Shape shape) {}

  /** For example {@code f32[8], SUM} or {@code f16[4, 2], root 3}. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder(dtype.toString()).append(shape);
    reduce.ifPresent(r -> s.append(", ").append(r));
    if (root >= 0) {
      s.append(", root ").append(root);
    }
    if (!rows.isEmpty()) {
      s.append(", rows ").append(rows);
    }
    if (!places.isEmpty()) {
      Place last = places.getLast();
      s.append(
          String.format(
              Locale.ROOT,
              ", on %d PEs, the last %s at %s",
              places.size(),
              last.shape(),
              last.offset()));
    }
    return s.toString();
  }
}
