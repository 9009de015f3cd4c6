package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.kernbench.nn.kernels.Activation;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.placements.Extents.Run;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Value;
import org.kernbench.torch.Torch;

/**
 * Operations on placed tensors with their gradients. A gradient is one of the whole tensor, and is
 * computed by {@linkplain PlacedOperations operations on placed tensors} as well: each follows the
 * cheapest of its own rules, and {@link #explain} says what the way back moved. So a gradient lies
 * as its last operation left it, perhaps in parts of a sum; {@link DistributedTensor#redistribute}
 * brings it where an optimizer wants it.
 *
 * <p>All ranks make the same calls. What operations make, and gradients, belong to the graph, which
 * frees them when it is closed.
 *
 * {@snippet :
 * try (PlacedGraph graph = new PlacedGraph(torch, mesh)) {
 *   DistributedTensor y = graph.matmul(graph.gelu(graph.matmul(x, up)), down);
 *   graph.backward(y, dy);
 *   DistributedTensor gradient = graph.gradient(up).orElseThrow();
 * }
 * }
 */
public final class PlacedGraph implements AutoCloseable {
  private final Torch torch;
  private final PlacedOperations forward;
  private final PlacedOperations back;
  private final List<Node> tape = new ArrayList<>();
  private final List<DistributedTensor> owned = new ArrayList<>();
  private final Map<DistributedTensor, DistributedTensor> gradients = new LinkedHashMap<>();

  /** From the gradient of a result to those of the operands, in their order. */
  private interface Back {
    List<Supplier<DistributedTensor>> of(DistributedTensor gradient);
  }

  private record Node(DistributedTensor result, List<DistributedTensor> operands, Back back) {}

  /** An empty graph on a mesh, of the rank that owns this view of the runtime. */
  public PlacedGraph(Torch torch, DeviceMesh mesh) {
    this.torch = torch;
    this.forward = new PlacedOperations(torch, mesh);
    this.back = new PlacedOperations(torch, mesh);
  }

  /** How the operations were computed, in their order, and then those of the way back. */
  public List<OperationPlan> plans() {
    List<OperationPlan> all = new ArrayList<>(forward.plans());
    all.addAll(back.plans());
    return Collections.unmodifiableList(all);
  }

  /** The plans as text, as {@link PlacedOperations#explain}; the way back has a title. */
  public String explain() {
    String way = back.explain();
    return forward.explain() + (way.isEmpty() ? "" : "gradients\n" + way);
  }

  // ---- operations ----

  /** As {@link PlacedOperations#matmul}. */
  public DistributedTensor matmul(DistributedTensor a, DistributedTensor b) {
    return record(
        forward.matmul(a, b),
        List.of(a, b),
        grad ->
            List.of(
                () -> own(back.matmul(grad, own(back.transpose(b)))),
                () -> own(back.matmul(own(back.transpose(rows(a))), rows(grad)))));
  }

  /** As {@link PlacedOperations#add}. */
  public DistributedTensor add(DistributedTensor a, DistributedTensor b) {
    return record(forward.add(a, b), List.of(a, b), grad -> List.of(() -> grad, () -> grad));
  }

  /** As {@link PlacedOperations#sub}. */
  public DistributedTensor sub(DistributedTensor a, DistributedTensor b) {
    return record(
        forward.sub(a, b),
        List.of(a, b),
        grad -> List.of(() -> grad, () -> own(back.scale(grad, -1))));
  }

  /** As {@link PlacedOperations#mul}. */
  public DistributedTensor mul(DistributedTensor a, DistributedTensor b) {
    return record(
        forward.mul(a, b),
        List.of(a, b),
        grad -> List.of(() -> own(back.mul(grad, b)), () -> own(back.mul(grad, a))));
  }

  /** As {@link PlacedOperations#addBias}. */
  public DistributedTensor addBias(DistributedTensor x, DistributedTensor bias) {
    return record(
        forward.addBias(x, bias),
        List.of(x, bias),
        grad -> List.of(() -> grad, () -> sumOfRows(grad)));
  }

  /** As {@link PlacedOperations#scale}. */
  public DistributedTensor scale(DistributedTensor a, double factor) {
    return record(
        forward.scale(a, factor), List.of(a), grad -> List.of(() -> own(back.scale(grad, factor))));
  }

  /** As {@link PlacedOperations#relu}; its derivative at 0 is 0. */
  public DistributedTensor relu(DistributedTensor a) {
    return function("relu", a, Activation.RELU::of, Activation.RELU::derivative);
  }

  /** As {@link PlacedOperations#gelu}. */
  public DistributedTensor gelu(DistributedTensor a) {
    return function("gelu", a, Activation.GELU::of, Activation.GELU::derivative);
  }

  /** As {@link PlacedOperations#silu}. */
  public DistributedTensor silu(DistributedTensor a) {
    return function("silu", a, Activation.SILU::of, Activation.SILU::derivative);
  }

  /** A function of each element by itself. */
  @FunctionalInterface
  public interface Function {
    Value of(Value x);
  }

  /**
   * As {@link PlacedOperations#elementWise}.
   *
   * @param derivative of the function
   */
  public DistributedTensor function(
      String name, DistributedTensor a, Function function, Function derivative) {
    return record(
        forward.elementWise(name, a, function::of),
        List.of(a),
        grad ->
            List.of(() -> both(name + " gradient", a, grad, (x, dy) -> derivative.of(x).mul(dy))));
  }

  /** As {@link PlacedOperations#sum}. */
  public DistributedTensor sum(DistributedTensor a, int axis) {
    int at = a.shape().axis(axis);
    return record(
        forward.sum(a, at), List.of(a), grad -> List.of(() -> expand(grad, at, a.shape().dim(at))));
  }

  /** As {@link PlacedOperations#maxOfRows}; equal maxima of a row have equal parts. */
  public DistributedTensor maxOfRows(DistributedTensor a) {
    DistributedTensor most = forward.maxOfRows(a);
    int last = a.shape().rank() - 1;
    int columns = a.shape().dim(last);
    return record(
        most,
        List.of(a),
        grad ->
            List.of(() -> {
              DistributedTensor top = expand(most, last, columns);
              DistributedTensor is = both("is max", a, top, (x, m) -> x.eq(m).cast(x.dtype()));
              DistributedTensor each =
                  both("share", grad, own(back.sum(is, last)), (dy, count) -> dy.div(count));
              return own(back.mul(is, expand(each, last, columns)));
            }));
  }

  /** As {@link PlacedOperations#layerNorm}. */
  public DistributedTensor layerNorm(
      DistributedTensor x, DistributedTensor weight, DistributedTensor bias, double epsilon) {
    return record(
        forward.layerNorm(x, weight, bias, epsilon),
        List.of(x, weight, bias),
        grad ->
            List.of(
                () -> normGradient(x, weight, grad, epsilon),
                () -> sumOfRows(unitTimes(x, weight, grad, epsilon)),
                () -> sumOfRows(grad)));
  }

  /** As {@link PlacedOperations#softmax}. */
  public DistributedTensor softmax(DistributedTensor x) {
    DistributedTensor y = forward.softmax(x);
    int last = x.shape().rank() - 1;
    return record(
        y,
        List.of(x),
        grad ->
            List.of(() -> {
              DistributedTensor mean = own(back.sum(own(back.mul(y, grad)), last));
              DistributedTensor each = expand(mean, last, x.shape().dim(last));
              return own(back.mul(y, own(back.sub(grad, each))));
            }));
  }

  /** As {@link PlacedOperations#embedding}. */
  public DistributedTensor embedding(DistributedTensor table, int[] ids) {
    int[] kept = ids.clone();
    return record(
        forward.embedding(table, kept),
        List.of(table),
        grad -> List.of(() -> scatter(grad, kept, table.shape())));
  }

  /** As {@link PlacedOperations#transpose}. */
  public DistributedTensor transpose(DistributedTensor a) {
    return record(
        forward.transpose(a), List.of(a), grad -> List.of(() -> own(back.transpose(grad))));
  }

  /** As {@link PlacedOperations#reshape}. */
  public DistributedTensor reshape(DistributedTensor a, Shape to) {
    return record(
        forward.reshape(a, to),
        List.of(a),
        grad -> List.of(() -> own(back.reshape(grad, a.shape()))));
  }

  /** As {@link DistributedTensor#redistribute}: the gradient is that of the same whole. */
  public DistributedTensor redistribute(DistributedTensor a, List<Placement> to) {
    return record(a.redistribute(to), List.of(a), grad -> List.of(() -> grad));
  }

  private DistributedTensor record(
      DistributedTensor result, List<DistributedTensor> operands, Back how) {
    tape.add(new Node(own(result), operands, how));
    return result;
  }

  private DistributedTensor own(DistributedTensor made) {
    owned.add(made);
    return made;
  }

  // ---- the way back ----

  /**
   * Finds gradients of all that the operations so far were given. It may be called again: gradients
   * add up.
   *
   * @param result of an operation of this graph
   * @param gradient of it, of its shape and type; it stays the caller's
   */
  public void backward(DistributedTensor result, DistributedTensor gradient) {
    if (!result.shape().equals(gradient.shape()) || result.dtype() != gradient.dtype()) {
      throw new ShapeException(
          "gradient %s %s of %s %s; expected equal shapes and types"
              .formatted(gradient.dtype(), gradient.shape(), result.dtype(), result.shape()));
    }
    Map<DistributedTensor, DistributedTensor> now = new LinkedHashMap<>();
    now.put(result, gradient);
    for (Node node : tape.reversed()) {
      DistributedTensor grad = now.get(node.result);
      if (grad != null) {
        List<Supplier<DistributedTensor>> of = node.back.of(grad);
        for (int i = 0; i < of.size(); i++) {
          add(now, node.operands.get(i), of.get(i).get());
        }
      }
    }
    now.forEach((tensor, grad) -> add(gradients, tensor, grad));
  }

  private void add(
      Map<DistributedTensor, DistributedTensor> to, DistributedTensor of, DistributedTensor more) {
    DistributedTensor before = to.get(of);
    to.put(of, before == null ? more : own(back.add(before, more)));
  }

  /** The sum of the gradients of a tensor; empty if no result depended on it. */
  public Optional<DistributedTensor> gradient(DistributedTensor of) {
    return Optional.ofNullable(gradients.get(of));
  }

  // ---- parts of gradients ----

  /** All axes but the last as one. */
  private DistributedTensor rows(DistributedTensor a) {
    int axes = a.shape().rank();
    if (axes == 2) {
      return a;
    }
    int columns = a.shape().dim(axes - 1);
    long rows = 1;
    for (int i = 0; i < axes - 1; i++) {
      rows *= a.shape().dim(i);
    }
    return own(back.reshape(a, Shape.of(Math.toIntExact(rows), columns)));
  }

  private DistributedTensor sumOfRows(DistributedTensor a) {
    DistributedTensor sum = a;
    while (sum.shape().rank() > 1) {
      sum = own(back.sum(sum, 0));
    }
    return sum;
  }

  /** What is computed of two elements at the same place. */
  private interface OfBoth {
    Value of(Value a, Value b);
  }

  private DistributedTensor both(
      String name, DistributedTensor a, DistributedTensor b, OfBoth formula) {
    return own(
        back.run(
            name,
            ShardingRules.elementWise(a.shape().rank(), 2),
            List.of(a, b),
            a.shape(),
            (local, x, result) -> local.map(name, x, v -> formula.of(v.get(0), v.get(1)))));
  }

  private DistributedTensor expand(DistributedTensor a, int axis, int copies) {
    Shape whole = LocalKernels.inserted(a.shape(), axis, copies);
    return own(
        back.run(
            "expand",
            ShardingRules.expand(a.shape().rank(), axis),
            List.of(a),
            whole,
            (local, x, result) -> local.expand(x.getFirst(), axis, result.dim(axis))));
  }

  /** Rows less their mean, divided by the root of their mean square. */
  private record Unit(Value rows, Value factor) {
    static Unit of(Value x, double epsilon) {
      Value shifted = x.sub(PlacedOperations.mean(x));
      Value factor = PlacedOperations.mean(shifted.mul(shifted)).add(epsilon).rsqrt();
      return new Unit(shifted.mul(factor), factor);
    }
  }

  /** {@code (g - mean g - u mean(g u)) / s} with {@code g = dy w}, the unit rows u, and s. */
  private DistributedTensor normGradient(
      DistributedTensor x, DistributedTensor weight, DistributedTensor dy, double epsilon) {
    return ofRows(
        "layerNorm gradient",
        List.of(x, dy, weight),
        (tl, v) -> {
          Unit unit = Unit.of(v.get(0), epsilon);
          Value g = v.get(1).mul(v.get(2));
          Value along = unit.rows.mul(PlacedOperations.mean(g.mul(unit.rows)));
          return List.of(g.sub(PlacedOperations.mean(g)).sub(along).mul(unit.factor));
        });
  }

  private DistributedTensor unitTimes(
      DistributedTensor x, DistributedTensor weight, DistributedTensor dy, double epsilon) {
    return ofRows(
        "layerNorm factors",
        List.of(x, dy, weight),
        (tl, v) -> List.of(Unit.of(v.get(0), epsilon).rows.mul(v.get(1))));
  }

  /** Rows of two tensors together, with a vector for all. */
  private DistributedTensor ofRows(
      String name, List<DistributedTensor> of, Compute.RowFormula formula) {
    Shape whole = of.getFirst().shape();
    return own(
        back.run(
            name,
            ShardingRules.twoRows(whole.rank()),
            of,
            whole,
            (local, in, result) ->
                local.twoRows(name.replace(' ', '-'), in.get(0), in.get(1), in.get(2), formula)));
  }

  private DistributedTensor scatter(DistributedTensor grad, int[] ids, Shape table) {
    return own(
        back.run(
            "embedding gradient",
            ShardingRules.embeddingGradient(),
            List.of(grad),
            table,
            (local, x, result) -> {
              OperationPlan plan = back.latest();
              Extents from = back.own(grad.shape(), plan.wanted(0));
              Extents to = back.own(table, plan.result());
              Run rows = new Run(to.starts().getFirst(), to.counts().getFirst());
              return local.scatter(torch, x.getFirst(), ids, from.starts().getFirst(), rows);
            }));
  }

  @Override
  public void close() {
    owned.forEach(DistributedTensor::close);
    owned.clear();
    tape.clear();
    gradients.clear();
  }
}
