package org.kernbench.nn.autograd;

import java.util.Arrays;
import java.util.List;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.nn.kernels.WideRows;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.collective.ReduceKind;

/**
 * The loss of each token, {@code log(sum of exp(logits)) - logit of the target}, over a vocabulary
 * that is divided over the tensor-parallel group. Three all-reduces of one number per token: the
 * maximum, the target's logit, the sum of exponentials; one more with label smoothing.
 *
 * <p>Computed in f32 or better; logits are never changed. A target that no rank owns, for example
 * -100, adds no target term: the caller's loss mask must leave it out. A row of logits that is too
 * wide for the TCM is taken in pieces ({@link WideRows}). Source: {@code docs/spec/megatron.md}
 * 8.5.
 */
final class CrossEntropy implements Dependent {
  private final Graph graph;
  private final Compute compute;
  private final Exchange exchange;
  private final ProcessGroup tp;
  private final int vocabulary;
  private final double smoothing;

  CrossEntropy(Graph graph, ProcessGroup tp, int vocabulary, double smoothing) {
    if (!(smoothing >= 0 && smoothing < 1)) {
      throw new IllegalArgumentException(
          "label smoothing " + smoothing + "; expected 0 up to, but not including, 1");
    }
    this.graph = graph;
    this.compute = graph.compute();
    this.exchange = new Exchange(graph, tp);
    this.tp = tp;
    this.vocabulary = vocabulary;
    this.smoothing = smoothing * vocabulary / (vocabulary - 1.0);
  }

  Variable apply(Variable logits, int[] targets) {
    int rows = logits.rows();
    int columns = logits.columns();
    if (columns * tp.size() != vocabulary || targets.length != rows) {
      throw graph.wrong(
          """
          cross entropy of %s with %s targets over %s ranks: expected %s / %s logits for \
          each target; do not gather them before\
          """
              .formatted(logits, targets.length, tp.size(), vocabulary, tp.size()));
    }
    DType working = Compute.working(logits.dtype());
    Tensor target = targets(targets);
    Tensor most = perRow("max", rows, working);
    new WideRows(
            compute,
            rows,
            columns,
            List.of(RowArg.rows(logits.value(), columns)),
            List.of(RowArg.rows(most, 1)),
            Value::maximum,
            (tl, x, first, width) -> List.of(x.get(0).max(1).expandDims(1)))
        .launch(graph.name("max"));
    if (tp.size() > 1) {
      tp.allReduce(most, ReduceKind.MAX);
    }
    Tensor ownTarget = perRow("target", rows, working);
    Tensor ownSum = perRow("sum", rows, working);
    Tensor ownTotal = perRow("total", rows, working);
    new WideRows(
            compute,
            rows,
            columns,
            List.of(
                RowArg.rows(logits.value(), columns), RowArg.rows(most, 1), RowArg.rows(target, 1)),
            List.of(RowArg.rows(ownTarget, 1), RowArg.rows(ownSum, 1), RowArg.rows(ownTotal, 1)),
            Value::add,
            (tl, x, first, width) -> {
              Value shifted = x.get(0).sub(x.get(1));
              Value hit = isTarget(tl, x.get(2), first, width);
              return List.of(
                  rowSum(tl.where(hit, shifted, 0)), rowSum(shifted.exp()), rowSum(shifted));
            })
        .launch(graph.name("exp-sum"));
    Tensor targetLogit = summed(ownTarget, rows, "target");
    Tensor sum = summed(ownSum, rows, "sum");
    Tensor total = smoothing > 0 ? summed(ownTotal, rows, "total") : ownTotal;
    Tensor loss =
        compute.map(
            graph.name("loss"),
            Shape.of(rows),
            working,
            List.of(sum, targetLogit, total),
            x -> {
              Value log = x.get(0).log();
              Value nll = log.sub(x.get(1));
              return smoothing == 0
                  ? nll
                  : nll.mul(1 - smoothing)
                      .add(log.sub(x.get(2).mul(1.0 / vocabulary)).mul(smoothing));
            });
    int[] dims = logits.shape().toArray();
    Shape perToken = Shape.of(java.util.Arrays.copyOf(dims, dims.length - 1));
    return graph.record(
        loss,
        perToken,
        List.of(logits),
        (grad, into) -> into.give(0, backward(logits, target, most, sum, grad)));
  }

  private Tensor backward(Variable logits, Tensor target, Tensor most, Tensor sum, Tensor grad) {
    int columns = logits.columns();
    Tensor d = compute.empty(graph.name("softmax-grad"), logits.shape(), logits.dtype());
    new WideRows(
            compute,
            logits.rows(),
            columns,
            List.of(
                RowArg.rows(logits.value(), columns),
                RowArg.rows(most, 1),
                RowArg.rows(sum, 1),
                RowArg.rows(target, 1),
                RowArg.rows(grad, 1)),
            List.of(RowArg.rows(d, columns)),
            Value::add,
            (tl, x, first, width) -> {
              Value p = x.get(0).sub(x.get(1)).exp().div(x.get(2));
              Value hit = isTarget(tl, x.get(3), first, width);
              Value less = tl.where(hit, p.sub(1 - smoothing), p);
              return List.of(less.sub(smoothing / vocabulary).mul(x.get(4)));
            })
        .launch(graph.name("softmax-grad"));
    return d;
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(vocabulary, smoothing);
  }

  /** Targets relative to the rank's first id; those of other ranks match no column. */
  private Tensor targets(int[] targets) {
    int first = tp.rank() * (vocabulary / tp.size());
    for (int i = 0; i < targets.length; i++) {
      if (targets[i] >= vocabulary) {
        throw new ShapeException(
            """
            %s: target %s at %s; expected 0 to %s, or a negative number for a token whose \
            loss is masked\
            """
                .formatted(graph.place(), targets[i], i, vocabulary - 1));
      }
    }
    return graph.own(
        Compute.spread(
            graph.torch(),
            graph.name("targets"),
            Shape.of(targets.length),
            DType.I32,
            () -> Arrays.stream(targets).mapToDouble(t -> t < 0 ? -1 : t - first).toArray()));
  }

  private static Value isTarget(Tl tl, Value target, int first, int width) {
    return tl.arange(first, first + width).reshape(1, width).eq(target);
  }

  private static Value rowSum(Value x) {
    return x.sum(1).expandDims(1);
  }

  private Tensor perRow(String what, int rows, DType dtype) {
    return compute.empty(graph.name(what), Shape.of(rows), dtype);
  }

  private Tensor summed(Tensor own, int rows, String what) {
    Move move = graph.recipe().forward(Mapping.REDUCE_FROM, graph.name(what));
    return tp.size() == 1 ? own : exchange.move(move, own, Shape.of(rows));
  }
}
