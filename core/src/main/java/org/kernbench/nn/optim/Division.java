package org.kernbench.nn.optim;

import java.util.Arrays;
import java.util.Optional;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Which elements of a parameter the divided optimizer of each rank changes. Parameters of a bucket
 * lie one behind the other, and each rank of a group has an equal part of the bucket; so a rank has
 * a run of the parameter's elements, or none.
 *
 * @param parameter this tensor-parallel rank's, in the bucket
 * @param start of the parameter's first element in the bucket
 * @param each elements of the bucket that one rank has
 * @param group the ranks
 */
public record Division(Parameter parameter, long start, long each, ProcessGroup group) {
  /** First element of the parameter that a rank has; {@link #to} if it has none. */
  public int from(int rank) {
    return within(rank * each - start);
  }

  /** Behind the last one. */
  int to(int rank) {
    return within((rank + 1) * each - start);
  }

  private int within(long element) {
    return (int) Math.clamp(element, 0, parameter.shape().elements());
  }

  /** This rank's elements, of all of them in order. */
  double[] own(double[] all) {
    return Arrays.copyOfRange(all, from(group.rank()), to(group.rank()));
  }

  /**
   * Joins tensors of the sizes of the ranks' pieces. All ranks call it.
   *
   * @param own this rank's; empty if it has no element
   * @return a tensor of the parameter's shape, on the first rank of the group; empty on others
   */
  Optional<Tensor> join(Torch torch, DType dtype, Optional<Tensor> own) {
    int most = Math.toIntExact(Math.min(each, parameter.shape().elements()));
    String name = "piece of " + parameter.name();
    try (Tensor padded = torch.zeros(Shape.of(most), dtype, name)) {
      own.ifPresent(piece -> padded.view(0, piece.shape(), name).copyInPlace(piece));
      int root = group.globalRank(0);
      if (group.rank() != 0) {
        group.gather(padded, root);
        return Optional.empty();
      }
      try (Tensor all = torch.empty(Shape.of(most * group.size()), dtype, "gathered " + name)) {
        group.gather(all, padded, root);
        double[] joined = joined(all.toDoubles(), most);
        return Optional.of(torch.from(joined, parameter.shape(), dtype, "joined"));
      }
    }
  }

  private double[] joined(double[] padded, int most) {
    double[] joined = new double[Math.toIntExact(parameter.shape().elements())];
    for (int r = 0; r < group.size(); r++) {
      System.arraycopy(padded, r * most, joined, from(r), to(r) - from(r));
    }
    return joined;
  }
}
