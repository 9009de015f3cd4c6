package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.nn.kernels.RowCollectives;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Performs the moves of {@link Mapping}s: collectives, and the copies that make blocks of columns
 * contiguous. Collectives join and cut the first axis, whatever the tensor's own shape.
 */
public final class Exchange {
  private final Graph graph;
  private final Compute compute;
  private final ProcessGroup group;
  private final RowCollectives collectives;

  public Exchange(Graph graph, ProcessGroup group) {
    this.graph = graph;
    this.compute = graph.compute();
    this.group = group;
    this.collectives = new RowCollectives(compute, group);
  }

  /** A mapping as an operation of the graph. */
  public static Variable apply(Graph graph, Mapping mapping, Variable x, ProcessGroup group) {
    if (group.size() == 1) {
      return x;
    }
    if (mapping.forward().dividesFirst()) {
      checkDivides(graph, mapping, x, group, 0);
    }
    if (mapping.forward().dividesLast()) {
      checkDivides(graph, mapping, x, group, x.shape().rank() - 1);
    }
    Exchange exchange = new Exchange(graph, group);
    Shape shape = mapping.forward().after(x.shape(), group.size());
    Tensor y = exchange.move(graph.recipe().forward(mapping, graph.place()), x.value(), x.shape());
    Variable result =
        graph.record(
            y,
            shape,
            List.of(x),
            (grad, into) -> {
              Move back = graph.recipe().backward(mapping, graph.place());
              Tensor dx = exchange.move(back, grad, shape);
              graph.runDeferred(); // beside the collective
              into.give(0, dx);
            });
    String place = graph.place();
    if (mapping == Mapping.GATHER_FROM_SEQUENCE) {
      Tensor own = x.value();
      result.remakeBy(() -> graph.at(place + ".grad", () -> exchange.gather(own)));
    }
    return result;
  }

  private static void checkDivides(
      Graph graph, Mapping mapping, Variable x, ProcessGroup group, int axis) {
    int ranks = group.size();
    if (x.dim(axis) % ranks != 0) {
      throw graph.wrong(
          """
          %s of %s over the %s ranks of %s: axis %s has %s elements, which is not divisible by %s\
          """
              .formatted(mapping, x, ranks, group, axis, x.dim(axis), ranks));
    }
  }

  /**
   * A mapping along the first axis whose ranks have different numbers of rows.
   *
   * @param rows of each rank, by its number in the group
   */
  static Variable apply(
      Graph graph, Mapping mapping, Variable x, ProcessGroup group, List<Integer> rows) {
    boolean gathers = mapping == Mapping.GATHER_FROM_SEQUENCE;
    if (!gathers && mapping != Mapping.REDUCE_SCATTER_TO_SEQUENCE) {
      throw new IllegalArgumentException(
          """
          %s with a number of rows for each rank; expected GATHER_FROM_SEQUENCE or \
          REDUCE_SCATTER_TO_SEQUENCE\
          """
              .formatted(mapping));
    }
    if (group.size() == 1) {
      return x;
    }
    Exchange exchange = new Exchange(graph, group);
    int all = rows.stream().mapToInt(Integer::intValue).sum();
    Shape whole = x.shape().with(0, all);
    Shape part = x.shape().with(0, rows.get(group.rank()));
    Tensor y =
        gathers ? exchange.gather(x.value(), whole, rows) : exchange.scatter(x.value(), part, rows);
    return graph.record(
        y,
        gathers ? whole : part,
        List.of(x),
        (grad, into) ->
            into.give(
                0,
                gathers ? exchange.scatter(grad, part, rows) : exchange.gather(grad, whole, rows)));
  }

  private Tensor gather(Tensor x, Shape whole, List<Integer> rows) {
    Tensor all = compute.empty(graph.name("gathered"), whole, x.dtype());
    collectives.allGather(graph.name("gathered"), all, x, rows);
    return all;
  }

  private Tensor scatter(Tensor x, Shape part, List<Integer> rows) {
    Tensor own = compute.empty(graph.name("scattered"), part, x.dtype());
    collectives.reduceScatter(graph.name("scattered"), own, x, rows);
    return own;
  }

  /**
   * Exchanges blocks of rows; backwards they return.
   *
   * @param out rows that come from each rank
   * @param in rows that go to each rank
   */
  static Variable allToAll(
      Graph graph, Variable x, ProcessGroup group, List<Integer> out, List<Integer> in) {
    if (group.size() == 1) {
      return x;
    }
    Exchange exchange = new Exchange(graph, group);
    Shape shape = x.shape().with(0, out.stream().mapToInt(Integer::intValue).sum());
    Tensor y = exchange.exchange(x.value(), shape, out, in);
    return graph.record(
        y,
        shape,
        List.of(x),
        (grad, into) -> into.give(0, exchange.exchange(grad, x.shape(), in, out)));
  }

  private Tensor exchange(Tensor x, Shape shape, List<Integer> out, List<Integer> in) {
    Tensor y = compute.empty(graph.name("exchanged"), shape, x.dtype());
    collectives.allToAll(graph.name("exchanged"), y, x, out, in);
    return y;
  }

  private Tensor exchange(Tensor x) {
    Tensor y = compute.empty(graph.name("exchanged"), x.shape(), x.dtype());
    collectives.allToAll(graph.name("exchanged"), y, x, List.of(), List.of());
    return y;
  }

  /**
   * What the rank has after a move; never the same tensor changed.
   *
   * @param shape of the tensor's elements, whatever the tensor's own shape
   */
  public Tensor move(Move move, Tensor x, Shape shape) {
    int ranks = group.size();
    // as a matrix: along the first axis its rows are cut, along the last its columns
    int rows = move.isOnLastAxis() ? Math.toIntExact(shape.outer(shape.rank() - 1)) : shape.dim(0);
    int columns = rows == 0 ? 0 : Math.toIntExact(shape.elements() / rows);
    return switch (move) {
      case KEEP -> x;
      case ALL_REDUCE -> {
        Tensor sum = copy(x);
        group.allReduce(RowCollectives.asRows(sum), ReduceKind.SUM);
        yield sum;
      }
      case SPLIT_FIRST ->
          block(x, columns, group.rank() * (rows / ranks), rows / ranks, 0, columns);
      case SPLIT_LAST ->
          block(x, columns, 0, rows, group.rank() * (columns / ranks), columns / ranks);
      case GATHER_FIRST -> gather(x);
      case GATHER_LAST -> rowsToColumns(gather(x), rows, columns);
      case REDUCE_SCATTER_FIRST -> reduceScatter(x);
      case REDUCE_SCATTER_LAST -> reduceScatter(columnsToRows(x, rows, columns));
      case ROWS_TO_COLUMNS -> exchange(columnsToRows(x, rows, columns));
      case COLUMNS_TO_ROWS -> rowsToColumns(exchange(x), rows / ranks, columns);
    };
  }

  private Tensor copy(Tensor x) {
    return compute.map(graph.name("copy"), x.shape(), x.dtype(), List.of(x), v -> v.get(0));
  }

  private Tensor block(Tensor x, int columns, int row, int height, int column, int width) {
    return compute.assemble(
        graph.name("split"),
        height,
        width,
        x.dtype(),
        false,
        List.of(new BlockCopy(x, columns, row, column, height, width, 0, 0)));
  }

  private Tensor gather(Tensor x) {
    int[] dims = x.shape().toArray();
    dims[0] *= group.size();
    Tensor all = compute.empty(graph.name("gathered"), Shape.of(dims), x.dtype());
    collectives.allGather(graph.name("gathered"), all, x, List.of());
    return all;
  }

  private Tensor reduceScatter(Tensor x) {
    int[] dims = x.shape().toArray();
    dims[0] /= group.size();
    Tensor part = compute.empty(graph.name("scattered"), Shape.of(dims), x.dtype());
    collectives.reduceScatter(graph.name("scattered"), part, x, List.of());
    return part;
  }

  /** Blocks that follow each other by rank, put side by side. */
  private Tensor rowsToColumns(Tensor x, int rows, int columns) {
    int ranks = group.size();
    List<BlockCopy> blocks = new ArrayList<>();
    for (int r = 0; r < ranks; r++) {
      blocks.add(new BlockCopy(x, columns, r * rows, 0, rows, columns, 0, r * columns));
    }
    return compute.assemble(graph.name("join"), rows, columns * ranks, x.dtype(), false, blocks);
  }

  /** The inverse: each rank's block of columns, one after the other. */
  private Tensor columnsToRows(Tensor x, int rows, int columns) {
    int ranks = group.size();
    int width = columns / ranks;
    List<BlockCopy> blocks = new ArrayList<>();
    for (int r = 0; r < ranks; r++) {
      blocks.add(new BlockCopy(x, columns, 0, r * width, rows, width, r * rows, 0));
    }
    return compute.assemble(graph.name("cut"), rows * ranks, width, x.dtype(), false, blocks);
  }
}
