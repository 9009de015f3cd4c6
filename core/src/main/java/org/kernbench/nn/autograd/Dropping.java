package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Sets values of a {@link Graph} to zero as its {@link Dropout} says. What a mask depends on is
 * given to kernels as data, so that those of all layers are alike; masks are drawn again on the way
 * back.
 */
public final class Dropping {
  private final Graph graph;
  private final Map<Rows, Tensor> numbers = new HashMap<>();
  private Dropout dropout = Dropout.NONE;
  private boolean again;

  Dropping(Graph graph) {
    this.graph = graph;
  }

  void becomes(Dropout which) {
    dropout = which;
  }

  /** As in another graph, of which this one does a part. */
  void becomes(Dropping other) {
    dropout = other.dropout;
    again = other.again;
  }

  /** Values are made here that another graph had before. */
  void drawsAgain() {
    again = true;
  }

  /** Which values are set to zero. */
  Dropout dropout() {
    return dropout;
  }

  /**
   * Which rows of the whole batch a value has: rows go position by position, then sample by sample.
   *
   * @param part the positions and samples of which the rank has rows
   * @param first of these rows, all of which a rank has without sequence parallelism, that is the
   *     value's first
   * @param batch samples
   */
  public record Rows(SequencePart part, int first, int batch) {
    /** The numbers of some rows in the whole batch, sample by sample. */
    private double[] numbers(Recipe recipe, int count) {
      int[] at = recipe.positions(part);
      double[] all = new double[count];
      for (int i = 0; i < count; i++) {
        int row = first + i;
        all[i] = recipe.maskRow(part, part.firstSample() + row % batch, at[row / batch], i);
      }
      return all;
    }
  }

  /**
   * {@code x + dropout(y)}.
   *
   * @param place of the mask in the model
   * @param rows which rows of the whole batch {@code y} has
   */
  public static Variable add(Graph graph, Variable x, Variable y, String place, Rows rows) {
    Dropping masks = graph.dropping();
    double rate = masks.dropout.hidden();
    return rate == 0 ? graph.add(x, y) : masks.dropped(Optional.of(x), y, rate, place, rows);
  }

  /**
   * Embeddings, some of whose values are set to zero.
   *
   * @param place of the mask in the model
   */
  public static Variable embedding(Graph graph, Variable x, String place, Rows rows) {
    Dropping masks = graph.dropping();
    double rate = masks.dropout.embedding();
    return rate == 0 ? x : masks.dropped(Optional.empty(), x, rate, place, rows);
  }

  private Variable dropped(
      Optional<Variable> beside, Variable y, double rate, String place, Rows rows) {
    Tensor key = key(place);
    Tensor at = numbers(y.shape(), rows);
    Mask mask = new Mask(rate, y.columns());
    List<Variable> operands = beside.map(x -> List.of(x, y)).orElse(List.of(y));
    Tensor sum =
        rows(
            y,
            beside.map(x -> List.of(x.value(), y.value())).orElse(List.of(y.value())),
            at,
            key,
            (tl, x) -> {
              int last = x.size() - 3;
              Value kept = mask.apply(tl, x.get(last), x.get(last + 1), x.get(last + 2));
              return List.of(last == 0 ? kept : x.getFirst().add(kept));
            });
    return graph.record(
        sum,
        y.shape(),
        operands,
        (grad, into) -> {
          int of = operands.size() - 1;
          if (of == 1) {
            into.give(0, grad);
          }
          if (into.wants(of)) {
            into.give(
                of,
                rows(
                    y,
                    List.of(grad),
                    at,
                    key,
                    (tl, x) -> List.of(mask.apply(tl, x.get(0), x.get(1), x.get(2)))));
          }
        });
  }

  private Tensor rows(
      Variable like, List<Tensor> of, Tensor at, Tensor key, Compute.RowFormula formula) {
    int columns = like.columns();
    Tensor out = graph.compute().empty(graph.name("dropout"), like.shape(), like.dtype());
    List<RowArg> in = new ArrayList<>();
    of.forEach(t -> in.add(RowArg.rows(t, columns)));
    in.add(RowArg.rows(at, 1));
    in.add(RowArg.once(key, 1));
    graph
        .compute()
        .rows(graph.name("dropout"), like.rows(), in, List.of(RowArg.rows(out, columns)), formula);
    return out;
  }

  /** The mask of rows so wide. */
  private record Mask(double rate, int columns) {
    /** Rows with their numbers, after the mask. */
    Value apply(Tl tl, Value rows, Value numbers, Value key) {
      Value column = tl.arange(0, 1, columns, DType.I64).reshape(1, columns);
      Value offsets = numbers.mul(columns).add(column);
      Value kept = tl.where(HeadMasks.keeps(tl, key, offsets, rate), rows.mul(1 / (1 - rate)), 0);
      tl.release(offsets);
      return kept;
    }
  }

  /** The key of a place's masks, on all PEs. */
  Tensor key(String place) {
    long key = graph.recipe().maskKey(dropout.key(place), again);
    return everywhere("mask-key", Shape.of(1), () -> new double[] {key});
  }

  /** Whole numbers, on all PEs. */
  Tensor everywhere(String name, Shape shape, Supplier<double[]> values) {
    return graph.own(Compute.everywhere(graph.torch(), graph.name(name), shape, DType.I64, values));
  }

  /** The numbers of a value's rows, which lie where these do. */
  private Tensor numbers(Shape of, Rows rows) {
    Shape each = of.with(of.rank() - 1, 1);
    return numbers.computeIfAbsent(
        rows,
        r ->
            graph.own(
                Compute.spread(
                    graph.torch(),
                    graph.name("mask-rows"),
                    each,
                    DType.I64,
                    () -> r.numbers(graph.recipe(), Math.toIntExact(each.elements())))));
  }
}
