package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.kernbench.nn.placements.Placement.Partial;
import org.kernbench.nn.placements.Placement.Replicate;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;

/**
 * The {@linkplain ShardingRule rules} of each operation, a table each. Along each dimension of a
 * mesh any rule of the table may be followed, whichever the others follow. Of rules that cost
 * alike, the first is taken.
 */
public final class ShardingRules {
  private static final Placement WHOLE = new Replicate();
  private static final Placement SUM = new Partial(ReduceKind.SUM);

  private ShardingRules() {}

  /** {@code [..., m, k] [k, n]}, with so many axes of the first operand. */
  public static List<ShardingRule> matmul(int axes) {
    List<ShardingRule> rules = new ArrayList<>();
    rules.add(ShardingRule.of(WHOLE, WHOLE, WHOLE));
    for (int i = 0; i < axes - 1; i++) {
      rules.add(ShardingRule.of(new Shard(i), new Shard(i), WHOLE));
    }
    rules.add(ShardingRule.of(new Shard(axes - 1), WHOLE, new Shard(1)));
    rules.add(ShardingRule.of(SUM, new Shard(axes - 1), new Shard(0)));
    rules.add(ShardingRule.of(SUM, SUM, WHOLE));
    rules.add(ShardingRule.of(SUM, WHOLE, SUM));
    return rules;
  }

  /** A sum or difference of equal shapes: parts of sums may be added part by part. */
  public static List<ShardingRule> add(int axes) {
    List<ShardingRule> rules = together(axes, 2);
    rules.add(ShardingRule.of(SUM, SUM, SUM));
    return rules;
  }

  /** A row added to the last axis. */
  public static List<ShardingRule> addRow(int axes) {
    List<ShardingRule> rules = rowwise(axes, 2);
    rules.add(ShardingRule.of(new Shard(axes - 1), new Shard(axes - 1), new Shard(0)));
    rules.add(ShardingRule.of(SUM, SUM, SUM));
    return rules;
  }

  /** A product of equal shapes, element by element: linear in each operand. */
  public static List<ShardingRule> multiply(int axes) {
    List<ShardingRule> rules = together(axes, 2);
    rules.add(ShardingRule.of(SUM, SUM, WHOLE));
    rules.add(ShardingRule.of(SUM, WHOLE, SUM));
    return rules;
  }

  /** A number times each element. */
  public static List<ShardingRule> scale(int axes) {
    List<ShardingRule> rules = together(axes, 1);
    rules.add(ShardingRule.of(SUM, SUM));
    return rules;
  }

  /** Any function of each element by itself. */
  public static List<ShardingRule> elementWise(int axes) {
    return together(axes, 1);
  }

  /** A sum over an axis; what the ranks of a cut axis have are parts of the sum. */
  public static List<ShardingRule> sum(int axes, int axis) {
    return reduction(axes, axis, ReduceKind.SUM);
  }

  /** A maximum over an axis. */
  public static List<ShardingRule> max(int axes, int axis) {
    return reduction(axes, axis, ReduceKind.MAX);
  }

  /** What takes all of the last axis of the first operand, and all of each other: norms. */
  public static List<ShardingRule> rowwise(int axes, int operands) {
    List<ShardingRule> rules = new ArrayList<>();
    rules.add(new ShardingRule(repeat(WHOLE, operands), WHOLE));
    for (int i = 0; i < axes - 1; i++) {
      List<Placement> placed = repeat(WHOLE, operands);
      placed.set(0, new Shard(i));
      rules.add(new ShardingRule(placed, new Shard(i)));
    }
    return rules;
  }

  /**
   * Softmax over the last axis. Where that is cut, ranks find maximum and sum of its rows together
   * in between, which is counted with what the rule costs.
   */
  public static List<ShardingRule> softmax(int axes) {
    return together(axes, 1);
  }

  /** Rows of a table {@code [rows, columns]} by number: who has no such row adds zeros. */
  public static List<ShardingRule> embedding() {
    return List.of(
        ShardingRule.of(WHOLE, WHOLE),
        ShardingRule.of(new Shard(1), new Shard(1)),
        ShardingRule.of(SUM, new Shard(0)),
        ShardingRule.of(SUM, SUM));
  }

  /** The transpose of a matrix. */
  public static List<ShardingRule> transpose() {
    return moved(2, i -> 1 - i);
  }

  /**
   * A view of the elements in another shape. An axis can stay cut if one of the new shape begins
   * where it does, and either is as long, or all ranks together divide both.
   *
   * @param ranks of the whole mesh
   */
  public static List<ShardingRule> reshape(Shape from, Shape to, int ranks) {
    return moved(
        from.rank(),
        i -> {
          for (int j = 0; j < to.rank(); j++) {
            boolean even = from.dim(i) % ranks == 0 && to.dim(j) % ranks == 0;
            if (from.outer(i) == to.outer(j) && (from.dim(i) == to.dim(j) || even)) {
              return j;
            }
          }
          return -1;
        });
  }

  /** Several tensors of equal shape, element by element. */
  public static List<ShardingRule> elementWise(int axes, int operands) {
    return together(axes, operands);
  }

  /**
   * Copies along a new axis of the result, the inverse of {@link #sum}: ranks that have all may
   * make a part of it each.
   *
   * @param axes of the operand
   */
  public static List<ShardingRule> expand(int axes, int axis) {
    List<ShardingRule> rules = new ArrayList<>();
    rules.add(ShardingRule.of(WHOLE, WHOLE));
    for (int i = 0; i < axes; i++) {
      rules.add(ShardingRule.of(new Shard(i < axis ? i : i + 1), new Shard(i)));
    }
    rules.add(ShardingRule.of(new Shard(axis), WHOLE));
    rules.add(ShardingRule.of(SUM, SUM));
    return rules;
  }

  /** Rows of two tensors together, with a vector that is whole: gradients of norms. */
  public static List<ShardingRule> twoRows(int axes) {
    List<ShardingRule> rules = new ArrayList<>();
    rules.add(ShardingRule.of(WHOLE, WHOLE, WHOLE, WHOLE));
    for (int i = 0; i < axes - 1; i++) {
      rules.add(ShardingRule.of(new Shard(i), new Shard(i), new Shard(i), WHOLE));
    }
    return rules;
  }

  /** The gradient of {@link #embedding}: ranks that have some of the ids have parts of a sum. */
  public static List<ShardingRule> embeddingGradient() {
    return List.of(
        ShardingRule.of(WHOLE, WHOLE),
        ShardingRule.of(new Shard(0), WHOLE),
        ShardingRule.of(new Shard(1), new Shard(1)),
        ShardingRule.of(SUM, new Shard(0)),
        ShardingRule.of(SUM, SUM));
  }

  private static List<ShardingRule> together(int axes, int operands) {
    List<ShardingRule> rules = new ArrayList<>();
    rules.add(new ShardingRule(repeat(WHOLE, operands), WHOLE));
    for (int i = 0; i < axes; i++) {
      rules.add(new ShardingRule(repeat(new Shard(i), operands), new Shard(i)));
    }
    return rules;
  }

  private static List<ShardingRule> reduction(int axes, int axis, ReduceKind op) {
    Placement part = new Partial(op);
    List<ShardingRule> rules = new ArrayList<>();
    rules.add(ShardingRule.of(WHOLE, WHOLE));
    for (int i = 0; i < axes; i++) {
      Placement result = i == axis ? part : new Shard(i < axis ? i : i - 1);
      rules.add(ShardingRule.of(result, new Shard(i)));
    }
    rules.add(ShardingRule.of(part, part));
    return rules;
  }

  /** Of what only moves elements: {@code to} says where an axis goes, below 0 if it cannot. */
  private static List<ShardingRule> moved(int axes, IntUnaryOperator to) {
    List<ShardingRule> rules = new ArrayList<>();
    rules.add(ShardingRule.of(WHOLE, WHOLE));
    for (int i = 0; i < axes; i++) {
      int axis = to.applyAsInt(i);
      if (axis >= 0) {
        rules.add(ShardingRule.of(new Shard(axis), new Shard(i)));
      }
    }
    for (ReduceKind op : List.of(ReduceKind.SUM, ReduceKind.MAX, ReduceKind.MIN)) {
      rules.add(ShardingRule.of(new Partial(op), new Partial(op)));
    }
    return rules;
  }

  private static List<Placement> repeat(Placement placement, int times) {
    List<Placement> all = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      all.add(placement);
    }
    return all;
  }
}
