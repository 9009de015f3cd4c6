package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.nn.kernels.RowCollectives;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;

/**
 * Picks and gathers along any axis of a tensor: {@code [outer, n, inner]}, where {@code n} is the
 * extent of the axis. Collectives join first axes, so for another axis the tensor is turned before
 * and turned back afterwards.
 */
public final class AlongAxis {
  private final Graph graph;
  private final Shape shape;
  private final int axis;
  private final int outer;
  private final int n;

  /** An index is so many rows of {@link #width} elements once the axis is in front. */
  private final int unit;

  private final int width;

  public AlongAxis(Graph graph, Shape shape, int axis) {
    this.graph = graph;
    this.shape = shape;
    this.axis = axis;
    this.outer = Math.toIntExact(shape.outer(axis));
    this.n = shape.dim(axis);
    int inner = Math.toIntExact(shape.inner(axis));
    int last = axis == shape.rank() - 1 ? 1 : shape.dim(shape.rank() - 1);
    this.unit = outer == 1 ? (last == 0 ? 0 : inner / last) : outer;
    this.width = outer == 1 ? last : inner;
  }

  /** Indices {@code [start, start + size)} of the axis. */
  public static int[] range(int start, int size) {
    int[] indices = new int[size];
    for (int i = 0; i < size; i++) {
      indices[i] = start + i;
    }
    return indices;
  }

  /** The shape with another extent of the axis. */
  public Shape with(int extent) {
    return shape.with(axis, extent);
  }

  /** The indices given, in their order; shares memory with the tensor where they are neighbours. */
  public Tensor select(String name, Tensor x, int[] indices) {
    return copy(name, x, n, indices, range(0, indices.length), indices.length, false);
  }

  /** The adjoint of {@link #select}: puts what it gave to its place, and zeros elsewhere. */
  public Tensor place(String name, Tensor x, int[] indices) {
    return copy(name, x, indices.length, range(0, indices.length), indices, n, true);
  }

  /**
   * The tensors of all members, one after another along the axis.
   *
   * @param extents of the axis by member, if they differ; empty if they are alike
   * @param order where index {@code i} of them is to go; empty for in that order
   */
  public Tensor gather(Tensor x, ProcessGroup group, List<Integer> extents, int[] order) {
    Compute compute = graph.compute();
    int all =
        extents.isEmpty() ? n * group.size() : extents.stream().mapToInt(Integer::intValue).sum();
    Tensor front = x; // blocks of equal size may have any shape
    if (outer > 1) {
      front = turned("to-front", x, n, range(0, n), true);
    } else if (!extents.isEmpty()) {
      front = x.view(0, Shape.of(n * unit, width), x.name());
    }
    int[] dims = front.shape().toArray();
    dims[0] = extents.isEmpty() ? dims[0] * group.size() : all * unit;
    Tensor gathered = compute.empty(graph.name("gathered"), Shape.of(dims), x.dtype());
    List<Integer> rows = extents.stream().map(e -> e * unit).toList();
    new RowCollectives(compute, group).allGather(graph.name("gathered"), gathered, front, rows);
    if (order.length > 0) {
      return turned("to-place", gathered, all, order, false);
    }
    return outer == 1 ? gathered : turned("to-place", gathered, all, range(0, all), false);
  }

  /** Parts, one after another along the axis. */
  public Tensor join(String name, List<Tensor> parts, List<Integer> extents) {
    List<BlockCopy> blocks = new ArrayList<>();
    int at = 0;
    for (int i = 0; i < parts.size(); i++) {
      int extent = extents.get(i);
      blocks.add(
          outer == 1
              ? new BlockCopy(parts.get(i), width, 0, 0, extent * unit, width, at * unit, 0)
              : new BlockCopy(
                  parts.get(i), extent * width, 0, 0, outer, extent * width, 0, at * width));
      at += extent;
    }
    return graph
        .compute()
        .assemble(
            graph.name(name),
            outer == 1 ? at * unit : outer,
            outer == 1 ? width : at * width,
            parts.getFirst().dtype(),
            false,
            blocks);
  }

  /**
   * From {@code [outer, extent, inner]} to {@code [extent, outer, inner]}, or back: with several
   * outer ones, the rows of an index lie apart in the one and together in the other.
   *
   * @param to where each index goes
   */
  private Tensor turned(String name, Tensor x, int extent, int[] to, boolean toFront) {
    List<BlockCopy> blocks = new ArrayList<>();
    for (int i = 0; i < extent; i++) {
      blocks.add(
          outer == 1
              ? new BlockCopy(x, width, i * unit, 0, unit, width, to[i] * unit, 0)
              : toFront
                  ? new BlockCopy(x, extent * width, 0, i * width, unit, width, to[i] * unit, 0)
                  : new BlockCopy(x, width, i * unit, 0, unit, width, 0, to[i] * width));
    }
    boolean together = outer == 1 || toFront;
    return graph
        .compute()
        .assemble(
            graph.name(name),
            together ? extent * unit : outer,
            together ? width : extent * width,
            x.dtype(),
            false,
            blocks);
  }

  /** Runs of indices from one extent to another. */
  private Tensor copy(
      String name, Tensor x, int extent, int[] from, int[] to, int result, boolean zero) {
    List<BlockCopy> blocks = new ArrayList<>();
    for (int i = 0; i < from.length; ) {
      int run = 1;
      while (i + run < from.length
          && from[i + run] == from[i] + run
          && to[i + run] == to[i] + run) {
        run++;
      }
      blocks.add(
          outer == 1
              ? new BlockCopy(x, width, from[i] * unit, 0, run * unit, width, to[i] * unit, 0)
              : new BlockCopy(
                  x, extent * width, 0, from[i] * width, outer, run * width, 0, to[i] * width));
      i += run;
    }
    if (outer == 1 && !zero && blocks.size() <= 1) {
      long start = from.length == 0 ? 0 : (long) from[0] * unit * width;
      return x.view(start, Shape.of(result * unit, width), graph.name(name));
    }
    return graph
        .compute()
        .assemble(
            graph.name(name),
            outer == 1 ? result * unit : outer,
            outer == 1 ? width : result * width,
            x.dtype(),
            zero,
            blocks);
  }
}
