package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.Formula;
import org.kernbench.nn.placements.Extents.Run;
import org.kernbench.nn.placements.OperationPlan.Move;
import org.kernbench.nn.placements.Placement.Partial;
import org.kernbench.nn.placements.Placement.Replicate;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Operations on tensors over the ranks of a mesh: each follows the {@linkplain ShardingRules rule}
 * of its table whose operands are quickest to get where it wants them, and brings them there. What
 * it brought is {@linkplain #explain explained}. All ranks make the same calls.
 *
 * <p>Results are the caller's to close. {@link PlacedGraph} has the same operations with gradients.
 */
public final class PlacedOperations {
  private final Torch torch;
  private final DeviceMesh mesh;
  private final MeshPace pace;
  private final List<OperationPlan> plans = new ArrayList<>();

  /** Operations on a mesh, of the rank that owns this view of the runtime. */
  public PlacedOperations(Torch torch, DeviceMesh mesh) {
    this.torch = torch;
    this.mesh = mesh;
    this.pace = new MeshPace(torch.machine(), mesh);
  }

  /** How the operations so far were computed, in their order. */
  public List<OperationPlan> plans() {
    return Collections.unmodifiableList(plans);
  }

  /** The plans as text: lines of the program, rules, what was moved without being asked for. */
  public String explain() {
    StringBuilder out = new StringBuilder();
    plans.forEach(plan -> out.append(plan.text()));
    return out.toString();
  }

  /** The plan of the operation under way, or of the latest one. */
  OperationPlan latest() {
    return plans.getLast();
  }

  /** What this rank has of a tensor that lies so. */
  Extents own(Shape whole, List<Placement> at) {
    return Extents.of(whole, at, mesh.sizes(), mesh.coordinates());
  }

  // ---- operations ----

  /** {@code a b}: {@code [..., m, k] [k, n]}. */
  public DistributedTensor matmul(DistributedTensor a, DistributedTensor b) {
    int axes = a.shape().rank();
    if (axes < 2 || b.shape().rank() != 2 || a.shape().dim(axes - 1) != b.shape().dim(0)) {
      throw new ShapeException(
          "matmul of " + a.shape() + " and " + b.shape() + "; expected [..., m, k] and [k, n]");
    }
    Shape whole = a.shape().with(axes - 1, b.shape().dim(1));
    return run(
        "matmul",
        ShardingRules.matmul(axes),
        List.of(a, b),
        whole,
        (local, x, result) -> local.matmul(x.get(0), x.get(1), result));
  }

  /** {@code a + b} of equal shapes. */
  public DistributedTensor add(DistributedTensor a, DistributedTensor b) {
    List<ShardingRule> rules = ShardingRules.add(a.shape().rank());
    return together("add", rules, a, b, x -> x.get(0).add(x.get(1)));
  }

  /** {@code a - b} of equal shapes. */
  public DistributedTensor sub(DistributedTensor a, DistributedTensor b) {
    List<ShardingRule> rules = ShardingRules.add(a.shape().rank());
    return together("sub", rules, a, b, x -> x.get(0).sub(x.get(1)));
  }

  /** {@code a b} of equal shapes, element by element. */
  public DistributedTensor mul(DistributedTensor a, DistributedTensor b) {
    List<ShardingRule> rules = ShardingRules.multiply(a.shape().rank());
    return together("mul", rules, a, b, x -> x.get(0).mul(x.get(1)));
  }

  private DistributedTensor together(
      String name,
      List<ShardingRule> rules,
      DistributedTensor a,
      DistributedTensor b,
      Formula formula) {
    if (!a.shape().equals(b.shape()) || a.dtype() != b.dtype()) {
      throw new ShapeException(
          "%s of %s %s and %s %s; expected equal shapes and types"
              .formatted(name, a.dtype(), a.shape(), b.dtype(), b.shape()));
    }
    List<DistributedTensor> in = List.of(a, b);
    return run(name, rules, in, a.shape(), (local, x, result) -> local.map(name, x, formula));
  }

  /** Adds a vector to every row of the last axis. */
  public DistributedTensor addBias(DistributedTensor x, DistributedTensor bias) {
    checkRow("addBias", x, bias);
    return run(
        "addBias",
        ShardingRules.addRow(x.shape().rank()),
        List.of(x, bias),
        x.shape(),
        (local, in, result) ->
            local.rows("addBias", in, (tl, v) -> List.of(v.get(0).add(v.get(1)))));
  }

  /** {@code factor a}. */
  public DistributedTensor scale(DistributedTensor a, double factor) {
    List<ShardingRule> rules = ShardingRules.scale(a.shape().rank());
    Formula formula = x -> x.getFirst().mul(factor);
    return run("scale", rules, List.of(a), a.shape(), (l, x, r) -> l.map("scale", x, formula));
  }

  /** {@code max(a, 0)}. */
  public DistributedTensor relu(DistributedTensor a) {
    return elementWise("relu", a, Value::relu);
  }

  /** {@code a Phi(a)}, with the error function. */
  public DistributedTensor gelu(DistributedTensor a) {
    return elementWise("gelu", a, Value::gelu);
  }

  /** {@code a sigmoid(a)}. */
  public DistributedTensor silu(DistributedTensor a) {
    return elementWise("silu", a, Value::silu);
  }

  /**
   * Any function of each element by itself.
   *
   * @param name for reports
   */
  public DistributedTensor elementWise(
      String name, DistributedTensor a, UnaryOperator<Value> function) {
    List<ShardingRule> rules = ShardingRules.elementWise(a.shape().rank());
    Formula formula = x -> function.apply(x.getFirst());
    return run(name, rules, List.of(a), a.shape(), (local, x, r) -> local.map(name, x, formula));
  }

  /** The sum over an axis, which the result does not have. */
  public DistributedTensor sum(DistributedTensor a, int axis) {
    Shape whole = a.shape().without(a.shape().axis(axis));
    int at = a.shape().axis(axis);
    List<ShardingRule> rules = ShardingRules.sum(a.shape().rank(), at);
    return run("sum", rules, List.of(a), whole, (local, x, r) -> local.sum(x.getFirst(), at));
  }

  /** The maximum over the last axis, which the result does not have. */
  public DistributedTensor maxOfRows(DistributedTensor a) {
    int last = a.shape().rank() - 1;
    Shape whole = a.shape().without(last);
    List<ShardingRule> rules = ShardingRules.max(last + 1, last);
    return run("max", rules, List.of(a), whole, (local, x, r) -> local.rowMax(x.getFirst()));
  }

  /** Layer norm over the last axis, with a factor and an addend for each of its elements. */
  public DistributedTensor layerNorm(
      DistributedTensor x, DistributedTensor weight, DistributedTensor bias, double epsilon) {
    checkRow("layerNorm", x, weight);
    checkRow("layerNorm", x, bias);
    return run(
        "layerNorm",
        ShardingRules.rowwise(x.shape().rank(), 3),
        List.of(x, weight, bias),
        x.shape(),
        (local, in, result) ->
            local.rows(
                "layerNorm",
                in,
                (tl, v) -> {
                  Value row = v.get(0);
                  Value shifted = row.sub(mean(row));
                  Value unit = shifted.mul(mean(shifted.mul(shifted)).add(epsilon).rsqrt());
                  return List.of(unit.mul(v.get(1)).add(v.get(2)));
                }));
  }

  static Value mean(Value rows) {
    return rows.sum(1).expandDims(1).mul(1.0 / rows.shape().dim(1));
  }

  /**
   * Softmax over the last axis. Ranks that have parts of it find the maxima and sums of its rows
   * together, unless to bring whole rows to each is quicker.
   */
  public DistributedTensor softmax(DistributedTensor x) {
    int axes = x.shape().rank();
    OperationPlan plan = softmaxPlan(x);
    plans.add(plan);
    try (Operand in = operand(x, plan.wanted(0))) {
      Shape rows = x.shape().without(axes - 1);
      try (Operand most = stat(in.tensor, rows, ReduceKind.MAX, plan)) {
        DistributedTensor powers =
            made(
                x.shape(),
                plan.result(),
                local ->
                    local.rowsWith(
                        "exp",
                        in.tensor.local(),
                        List.of(most.tensor.local()),
                        (tl, v) -> List.of(v.get(0).sub(v.get(1)).exp())),
                x);
        try (powers;
            Operand sum = stat(powers, rows, ReduceKind.SUM, plan)) {
          return made(
              x.shape(),
              plan.result(),
              local ->
                  local.rowsWith(
                      "softmax",
                      powers.local(),
                      List.of(sum.tensor.local()),
                      (tl, v) -> List.of(v.get(0).div(v.get(1)))),
              x);
        }
      }
    }
  }

  private OperationPlan softmaxPlan(DistributedTensor x) {
    Shape rows = x.shape().without(x.shape().rank() - 1);
    String line = line();
    return OperationPlan.best(
        ShardingRules.softmax(x.shape().rank()),
        mesh.sizes().size(),
        rules -> {
          List<Placement> at = rules.stream().map(ShardingRule::result).toList();
          List<Move> moves = new ArrayList<>(moves(List.of(x), rules));
          for (ReduceKind op : List.of(ReduceKind.MAX, ReduceKind.SUM)) {
            List<Placement> parts = statAt(at, rows, op);
            add(moves, op == ReduceKind.MAX ? "maxima" : "sums", rows, x, parts, met(parts));
          }
          return plan("softmax", line, rules, moves, x.shape(), x);
        });
  }

  /** How what is found of rows lies: where these are cut across, in parts. */
  private static List<Placement> statAt(List<Placement> x, Shape rows, ReduceKind op) {
    return x.stream()
        .map(p -> p instanceof Shard(int dim) && dim == rows.rank() ? new Partial(op) : p)
        .toList();
  }

  private static List<Placement> met(List<Placement> parts) {
    return parts.stream().map(p -> p instanceof Partial ? new Replicate() : p).toList();
  }

  private Operand stat(DistributedTensor x, Shape rows, ReduceKind op, OperationPlan plan) {
    List<Placement> parts = statAt(plan.result(), rows, op);
    DistributedTensor own =
        made(
            rows,
            parts,
            local ->
                op == ReduceKind.MAX ? local.rowMax(x.local()) : local.sum(x.local(), rows.rank()),
            x);
    if (met(parts).equals(parts)) {
      return new Operand(own, true);
    }
    try (own) {
      return new Operand(own.redistribute(met(parts)), true);
    }
  }

  /**
   * Rows of a table by number; the numbers are the host's, and every rank's the same.
   *
   * @param table {@code [rows, columns]}
   * @return {@code [ids.length, columns]}
   */
  public DistributedTensor embedding(DistributedTensor table, int[] ids) {
    int rows = table.shape().dim(0);
    for (int id : ids) {
      if (id < 0 || id >= rows) {
        throw new ShapeException(
            "row " + id + " of " + table.shape() + "; expected 0 to below " + rows);
      }
    }
    Shape whole = Shape.of(ids.length, table.shape().dim(1));
    int[] kept = ids.clone();
    return run(
        "embedding",
        ShardingRules.embedding(),
        List.of(table),
        whole,
        (local, x, result) -> {
          List<Placement> at = plans.getLast().wanted(0);
          Extents has = Extents.of(table.shape(), at, mesh.sizes(), mesh.coordinates());
          Run own = new Run(has.starts().getFirst(), has.counts().getFirst());
          return local.look(x.getFirst(), kept, own);
        });
  }

  /** The transpose of a matrix. */
  public DistributedTensor transpose(DistributedTensor a) {
    if (a.shape().rank() != 2) {
      throw new ShapeException("transpose of " + a.shape() + "; expected a matrix");
    }
    Shape whole = Shape.of(a.shape().dim(1), a.shape().dim(0));
    List<ShardingRule> rules = ShardingRules.transpose();
    return run("transpose", rules, List.of(a), whole, (l, x, r) -> l.transpose(x.getFirst()));
  }

  /** A copy of the elements, row-major, in another shape. */
  public DistributedTensor reshape(DistributedTensor a, Shape to) {
    if (a.shape().elements() != to.elements()) {
      throw new ShapeException("reshape of " + a.shape() + " to " + to + ": other elements");
    }
    int ranks = mesh.sizes().stream().reduce(1, (x, y) -> x * y);
    List<ShardingRule> rules = ShardingRules.reshape(a.shape(), to, ranks);
    return run(
        "reshape",
        rules,
        List.of(a),
        to,
        (local, x, result) -> {
          Tensor copy = local.map("reshape", x, v -> v.getFirst());
          return copy.shape().equals(result) ? copy : copy.view(0, result, "reshape");
        });
  }

  private static void checkRow(String name, DistributedTensor x, DistributedTensor row) {
    int last = x.shape().dim(x.shape().rank() - 1);
    if (!row.shape().equals(Shape.of(last))) {
      throw new ShapeException(
          "%s of %s with %s; expected a vector of %s"
              .formatted(name, x.shape(), row.shape(), last));
    }
  }

  // ---- how ----

  /** What a rank computes with its parts. */
  interface Local {
    Tensor run(LocalKernels local, List<Tensor> x, Shape result);
  }

  /** Where a result is made. */
  private interface Making {
    Tensor make(LocalKernels local);
  }

  /** An operand as a rule wants it, which is closed afterwards if it was made for that. */
  private record Operand(DistributedTensor tensor, boolean ours) implements AutoCloseable {
    @Override
    public void close() {
      if (ours) {
        tensor.close();
      }
    }
  }

  private Operand operand(DistributedTensor x, List<Placement> at) {
    return x.placements().equals(at)
        ? new Operand(x, false)
        : new Operand(x.redistribute(at), true);
  }

  /** An operation: the best of its rules, operands as that wants them, and what ranks compute. */
  DistributedTensor run(
      String name, List<ShardingRule> table, List<DistributedTensor> in, Shape whole, Local local) {
    String line = line();
    OperationPlan plan =
        OperationPlan.best(
            table,
            mesh.sizes().size(),
            rules -> plan(name, line, rules, moves(in, rules), whole, in.getFirst()));
    plans.add(plan);
    List<Operand> operands =
        IntStream.range(0, in.size()).mapToObj(i -> operand(in.get(i), plan.wanted(i))).toList();
    List<Tensor> parts = operands.stream().map(operand -> operand.tensor.local()).toList();
    Shape own = Extents.of(whole, plan.result(), mesh.sizes(), mesh.coordinates()).shape();
    DistributedTensor result =
        made(whole, plan.result(), kernels -> local.run(kernels, parts, own), in.getFirst());
    operands.forEach(Operand::close);
    return result;
  }

  private DistributedTensor made(
      Shape whole, List<Placement> at, Making making, DistributedTensor like) {
    List<Tensor> made = new ArrayList<>();
    Compute compute =
        new Compute(
            torch,
            t -> {
              made.add(t);
              return t;
            });
    Tensor local = making.make(new LocalKernels(compute));
    return new DistributedTensor(torch, mesh, whole, like.dtype(), at, made, local);
  }

  private OperationPlan plan(
      String name,
      String line,
      List<ShardingRule> rules,
      List<Move> moves,
      Shape whole,
      DistributedTensor like) {
    List<Placement> result = rules.stream().map(ShardingRule::result).toList();
    List<Placement> summed = summed(result, whole);
    int width = like.dtype().sizeBytes();
    Redistribution steps = Redistribution.plan(mesh.sizes(), whole, width, result, summed);
    Move later = new Move("result", steps, pace.ps(steps));
    return new OperationPlan(name, line, mesh.names(), rules, moves, result, later);
  }

  /** The cheapest way to lie that is not in parts: an axis that nobody cuts is, if there is one. */
  private static List<Placement> summed(List<Placement> result, Shape whole) {
    List<Placement> summed = new ArrayList<>(result);
    for (int i = 0; i < summed.size(); i++) {
      if (summed.get(i) instanceof Partial) {
        Placement free = new Replicate();
        for (int axis = whole.rank() - 1; axis >= 0; axis--) {
          free = summed.contains(new Shard(axis)) ? free : new Shard(axis);
        }
        summed.set(i, free);
      }
    }
    return summed;
  }

  private List<Move> moves(List<DistributedTensor> in, List<ShardingRule> rules) {
    List<Move> moves = new ArrayList<>();
    for (int i = 0; i < in.size(); i++) {
      int operand = i;
      List<Placement> to = rules.stream().map(rule -> rule.operands().get(operand)).toList();
      add(moves, "operand " + i, in.get(i).shape(), in.get(i), in.get(i).placements(), to);
    }
    return moves;
  }

  private void add(
      List<Move> moves,
      String what,
      Shape shape,
      DistributedTensor like,
      List<Placement> from,
      List<Placement> to) {
    if (!from.equals(to)) {
      int width = like.dtype().sizeBytes();
      Redistribution steps = Redistribution.plan(mesh.sizes(), shape, width, from, to);
      moves.add(new Move(what, steps, pace.ps(steps)));
    }
  }

  /** The line of the program that called into this room. */
  private static String line() {
    String own = PlacedOperations.class.getPackageName() + ".";
    return StackWalker.getInstance()
        .walk(frames ->
            frames
                .filter(
                    f -> !f.getClassName().startsWith(own) && !f.getClassName().startsWith("java."))
                .findFirst()
                .map(f -> f.toStackTraceElement().getFileName() + ":" + f.getLineNumber())
                .orElse("an unknown line"));
  }
}
