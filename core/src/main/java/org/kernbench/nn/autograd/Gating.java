package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * What a router makes of its logits: scores of all experts, the experts with the highest ones, and
 * how much each chosen expert's output counts.
 *
 * @param experts how many there are
 * @param topK experts of each token
 * @param softmax whether scores are shares of all experts; otherwise each is a sigmoid of its own
 * @param normalised whether the scores of a token's experts are divided by their sum
 * @param scale a further factor
 * @param groups of neighbouring experts
 * @param taken groups that a token may choose from: those with the best two experts
 */
public record Gating(
    int experts, int topK, boolean softmax, boolean normalised, double scale, int groups, int taken)
    implements Dependent {
  /** Where a token may go to any expert. */
  public Gating(int experts, int topK, boolean softmax, boolean normalised, double scale) {
    this(experts, topK, softmax, normalised, scale, 1, 1);
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(experts, topK, softmax, normalised, scale, groups, taken);
  }

  /**
   * The experts with the highest logits of each row, the highest first; of equal ones the lower
   * number. Where experts are in groups, those of the groups that the row takes.
   *
   * @param logits {@code [..., experts]}
   * @param bias {@code [experts]}, added to scores, of which then the highest are taken; empty for
   *     none
   * @return {@code [rows, topK]}, whole numbers
   */
  public Tensor choose(Graph graph, Variable logits, Optional<Parameter> bias) {
    Compute compute = graph.compute();
    int rows = logits.rows();
    Tensor chosen = compute.empty(graph.name("top-k"), Shape.of(rows, topK), DType.I32);
    List<RowArg> in = new ArrayList<>(List.of(RowArg.rows(logits.value(), experts)));
    bias.ifPresent(b -> in.add(RowArg.once(graph.near(b), experts)));
    compute.rows(
        graph.name("top-k"),
        rows,
        in,
        List.of(RowArg.rows(chosen, topK)),
        (tl, x) -> {
          boolean isBiased = x.size() > 1;
          Value by = isBiased ? scores(x.get(0)).add(x.get(1)) : x.get(0);
          Value rest = taken == groups ? by : ofBestGroups(tl, by, isBiased ? by : scores(by));
          List<Value> found = new ArrayList<>();
          for (int j = 0; j < topK; j++) {
            Value best = rest.argmax(1).expandDims(1);
            found.add(best);
            rest = tl.where(is(tl, best), Double.NEGATIVE_INFINITY, rest);
          }
          return List.of(beside(tl, found));
        });
    return chosen;
  }

  /** What belongs to the experts in the groups whose two best scores have the largest sums. */
  private Value ofBestGroups(Tl tl, Value of, Value scored) {
    int rows = of.shape().dim(0);
    int each = experts / groups;
    Value scores = scored.reshape(rows, groups, each);
    Value sums = scores.max(2);
    if (each > 1) {
      Value best = tl.arange(0, each).reshape(1, 1, each).eq(scores.argmax(2).expandDims(2));
      sums = sums.add(tl.where(best, Double.NEGATIVE_INFINITY, scores).max(2));
    }
    Value numbers = tl.arange(0, groups).reshape(1, groups);
    for (int g = 0; g < taken; g++) {
      Value best = numbers.eq(sums.argmax(1).expandDims(1));
      sums = tl.where(best, Double.NEGATIVE_INFINITY, sums);
    }
    Value may = sums.eq(Double.NEGATIVE_INFINITY).expandDims(2);
    Value in = of.reshape(rows, groups, each);
    return tl.where(may, in, Double.NEGATIVE_INFINITY).reshape(rows, experts);
  }

  private Value is(Tl tl, Value expert) {
    return tl.arange(0, experts).reshape(1, experts).eq(expert);
  }

  private static Value beside(Tl tl, List<Value> columns) {
    return columns.size() == 1
        ? columns.getFirst()
        : tl.concat(
            1, columns.getFirst(), columns.subList(1, columns.size()).toArray(Value[]::new));
  }

  /**
   * How much the output of each of a token's experts counts.
   *
   * @param logits {@code [..., experts]}
   * @param chosen experts of each row
   * @param auxiliary what is added to the gradient of each score, row by row; empty for nothing
   * @param taught is run when a gradient comes back
   * @return {@code [rows, topK]}
   */
  public Variable weights(
      Graph graph,
      Variable logits,
      int[][] chosen,
      Optional<Supplier<double[]>> auxiliary,
      Runnable taught) {
    Compute compute = graph.compute();
    int rows = logits.rows();
    List<RowArg> in = new ArrayList<>(List.of(RowArg.rows(logits.value(), experts)));
    for (int j = 0; j < topK; j++) {
      int choice = j;
      in.add(RowArg.rows(column(graph, rows, i -> chosen[i][choice]), 1));
    }
    Shape shape = Shape.of(rows, topK);
    Tensor weights = compute.empty(graph.name("gate"), shape, logits.dtype());
    compute.rows(
        graph.name("gate"),
        rows,
        in,
        List.of(RowArg.rows(weights, topK)),
        (tl, x) -> List.of(beside(tl, weighed(selected(tl, x)))));
    return graph.record(
        weights,
        shape,
        List.of(logits),
        (grad, into) -> {
          taught.run();
          into.give(0, backward(graph, logits, in, grad, auxiliary));
        });
  }

  private interface Column {
    double at(int row);
  }

  private static Tensor column(Graph graph, int rows, Column of) {
    return graph.own(
        Compute.spread(
            graph.torch(),
            graph.name("chosen"),
            Shape.of(rows),
            DType.I32,
            () -> {
              double[] values = new double[rows];
              java.util.Arrays.setAll(values, of::at);
              return values;
            }));
  }

  private Value scores(Value logits) {
    return softmax ? logits.softmax(1) : logits.sigmoid();
  }

  /** The scores of a token's experts, one column each. */
  private List<Value> selected(Tl tl, List<Value> x) {
    Value scores = scores(x.get(0));
    List<Value> own = new ArrayList<>();
    for (int j = 0; j < topK; j++) {
      own.add(tl.where(is(tl, x.get(1 + j)), scores, 0).sum(1).expandDims(1));
    }
    return own;
  }

  private List<Value> weighed(List<Value> selected) {
    if (!normalised) {
      return selected.stream().map(s -> s.mul(scale)).toList();
    }
    Value factor = sum(selected).rdiv(scale);
    return selected.stream().map(s -> s.mul(factor)).toList();
  }

  private static Value sum(List<Value> of) {
    return of.stream().reduce(Value::add).orElseThrow();
  }

  private Tensor backward(
      Graph graph,
      Variable logits,
      List<RowArg> in,
      Tensor grad,
      Optional<Supplier<double[]>> auxiliary) {
    int rows = logits.rows();
    Compute compute = graph.compute();
    List<RowArg> operands = new ArrayList<>(in);
    boolean teaches = graph.recipe().teachesRouter(graph.place());
    operands.add(RowArg.rows(grad, topK));
    auxiliary.ifPresent(more -> {
      Tensor own =
          Compute.spread(
              graph.torch(),
              graph.name("auxiliary"),
              Shape.of(rows, experts),
              Compute.working(logits.dtype()),
              () -> Arrays.stream(more.get()).map(a -> a * graph.lossScale()).toArray());
      operands.add(RowArg.rows(graph.own(own), experts));
    });
    Tensor d = compute.empty(graph.name("gate"), logits.shape(), logits.dtype());
    compute.rows(
        graph.name("gate"),
        rows,
        operands,
        List.of(RowArg.rows(d, experts)),
        (tl, x) -> List.of(ofLogits(tl, x, teaches)));
    return d;
  }

  /** The gradient of the logits; operands are logits, choices, gradient, and what is added. */
  private Value ofLogits(Tl tl, List<Value> x, boolean teaches) {
    Value scores = scores(x.get(0));
    Value toScores = x.size() > topK + 2 ? x.get(topK + 2) : scores.mul(0);
    if (teaches) {
      List<Value> own = selected(tl, x);
      List<Value> dy = x.get(topK + 1).split(1, ones());
      List<Value> back = normalised ? ofNormalised(own, dy) : times(dy, scale);
      for (int j = 0; j < topK; j++) {
        toScores = toScores.add(tl.where(is(tl, x.get(1 + j)), back.get(j), 0));
      }
    }
    Value weighted = toScores.mul(scores);
    return softmax
        ? weighted.sub(scores.mul(weighted.sum(1).expandDims(1)))
        : weighted.mul(scores.rsub(1));
  }

  private static List<Value> times(List<Value> of, double factor) {
    return of.stream().map(v -> v.mul(factor)).toList();
  }

  /** Of {@code scale s_j / sum s}. */
  private List<Value> ofNormalised(List<Value> own, List<Value> dy) {
    Value sum = sum(own);
    List<Value> products = new ArrayList<>();
    for (int j = 0; j < topK; j++) {
      products.add(own.get(j).mul(dy.get(j)));
    }
    Value mean = sum(products).div(sum);
    return dy.stream().map(v -> v.sub(mean).div(sum).mul(scale)).toList();
  }

  private int[] ones() {
    int[] ones = new int[topK];
    java.util.Arrays.fill(ones, 1);
    return ones;
  }
}
