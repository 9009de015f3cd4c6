package org.kernbench.nn.autograd;

import java.util.List;
import java.util.function.DoubleUnaryOperator;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Rotary position embedding (Su et al. 2021): each pair of elements of a head is turned by an angle
 * that grows with the position. The gradient is turned back. Of heads that are turned in part, the
 * first elements stay as they are.
 */
final class Rotary {
  private final Graph graph;
  private final Variable x;
  private final int size;
  private final int turned;
  private final Tensor cos;
  private final Tensor sin;

  Rotary(Graph graph, Variable x, int size, int turned, int[] at, RotaryAngles angles) {
    this.graph = graph;
    this.x = x;
    this.size = size;
    this.turned = turned;
    if (x.shape().rank() != 3
        || x.columns() % size != 0
        || turned % 2 != 0
        || turned > size
        || x.dim(0) != at.length) {
      throw graph.wrong(
          "rotary of %s, %s elements of heads of %s, at %s positions"
              .formatted(x, turned, size, at.length));
    }
    DType working = Compute.working(x.dtype());
    Shape each = Shape.of(x.rows(), turned / 2);
    this.cos =
        graph
            .constant(() -> table(at, angles, StrictMath::cos), each, working, graph.name("cos"))
            .value();
    this.sin =
        graph
            .constant(() -> table(at, angles, StrictMath::sin), each, working, graph.name("sin"))
            .value();
  }

  /** A function of the angle of each pair, by row; nobody asks for it in mode time. */
  private double[] table(int[] at, RotaryAngles angles, DoubleUnaryOperator function) {
    int half = turned / 2;
    double[] frequencies = angles.frequencies(turned);
    double[] all = new double[x.rows() * half];
    for (int row = 0; row < x.rows(); row++) {
      for (int i = 0; i < half; i++) {
        double angle = at[row / x.dim(1)] * frequencies[i];
        all[row * half + i] = angles.length() * function.applyAsDouble(angle);
      }
    }
    return all;
  }

  Variable apply() {
    return graph.record(
        turned(x.value(), 1),
        x.shape(),
        List.of(x),
        (grad, into) -> into.give(0, turned(grad, -1)));
  }

  private Tensor turned(Tensor from, int direction) {
    int columns = x.columns();
    int heads = columns / size;
    int half = turned / 2;
    int still = size - turned;
    Tensor y = graph.compute().empty(graph.name("rotary"), x.shape(), x.dtype());
    graph
        .compute()
        .rows(
            graph.name("rotary"),
            x.rows(),
            List.of(RowArg.rows(from, columns), RowArg.rows(cos, half), RowArg.rows(sin, half)),
            List.of(RowArg.rows(y, columns)),
            (tl, v) -> {
              int rows = v.get(0).shape().dim(0);
              Value all = v.get(0).reshape(rows, heads, still + 2 * half);
              Value a = all.narrow(2, still, half);
              Value b = all.narrow(2, still + half, half);
              Value c = v.get(1).reshape(rows, 1, half);
              Value s = v.get(2).mul(direction).reshape(rows, 1, half);
              Value first = a.mul(c).sub(b.mul(s));
              Value second = a.mul(s).add(b.mul(c));
              Value pairs = tl.concat(2, first, second);
              Value joined = still == 0 ? pairs : tl.concat(2, all.narrow(2, 0, still), pairs);
              return List.of(joined.reshape(rows, columns));
            });
    return y;
  }
}
