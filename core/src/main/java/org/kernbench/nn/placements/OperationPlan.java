package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;

/**
 * How an operation is computed on a mesh: a rule for each dimension, and what has to be sent so
 * that its operands lie as the rules want.
 *
 * @param operation its name
 * @param line of the program that asked for it
 * @param mesh names of the dimensions
 * @param rules one for each dimension
 * @param moves what is sent, in order; none if nothing needs to be
 * @param result how the result lies
 * @param later what the sums will take that the result is left in parts of: counted when rules are
 *     compared, for somebody has to form them, but not sent here
 */
public record OperationPlan(
    String operation,
    String line,
    List<String> mesh,
    List<ShardingRule> rules,
    List<Move> moves,
    List<Placement> result,
    Move later) {
  /**
   * A redistribution that nobody asked for.
   *
   * @param what is moved, for example {@code operand 1}
   * @param steps that it takes
   * @param predictedPs from the routes between the ranks alone
   */
  public record Move(String what, Redistribution steps, long predictedPs) {}

  /** Keeps copies. */
  public OperationPlan {
    mesh = List.copyOf(mesh);
    rules = List.copyOf(rules);
    moves = List.copyOf(moves);
    result = List.copyOf(result);
  }

  /** Bytes that all ranks together send. */
  public long bytes() {
    return moves.stream().mapToLong(move -> move.steps.bytes()).sum();
  }

  /** The time that takes, from the routes between the ranks alone. */
  public long predictedPs() {
    return moves.stream().mapToLong(Move::predictedPs).sum();
  }

  private int changes() {
    return moves.stream().mapToInt(move -> move.steps.steps().size()).sum();
  }

  private long allPs() {
    return predictedPs() + later.predictedPs;
  }

  private long allBytes() {
    return bytes() + later.steps.bytes();
  }

  /** Whether all takes less time than with another; else fewer bytes, else fewer steps now. */
  private boolean isBetterThan(OperationPlan other) {
    if (allPs() != other.allPs()) {
      return allPs() < other.allPs();
    }
    return allBytes() != other.allBytes()
        ? allBytes() < other.allBytes()
        : changes() < other.changes();
  }

  /**
   * The best of all ways to follow a rule along each dimension; of equally good ones the first.
   *
   * @param by the plan with a rule for each dimension
   */
  static OperationPlan best(
      List<ShardingRule> table, int dimensions, Function<List<ShardingRule>, OperationPlan> by) {
    List<List<ShardingRule>> ways = List.of(List.of());
    for (int i = 0; i < dimensions; i++) {
      List<List<ShardingRule>> longer = new ArrayList<>();
      for (List<ShardingRule> way : ways) {
        for (ShardingRule rule : table) {
          List<ShardingRule> next = new ArrayList<>(way);
          next.add(rule);
          longer.add(next);
        }
      }
      ways = longer;
    }
    OperationPlan best = by.apply(ways.getFirst());
    for (List<ShardingRule> way : ways) {
      OperationPlan plan = by.apply(way);
      best = plan.isBetterThan(best) ? plan : best;
    }
    return best;
  }

  /** The operation with its rules, then a line for each step that something is moved by. */
  public String text() {
    StringBuilder out = new StringBuilder();
    out.append(line + ": " + operation + ": ");
    for (int i = 0; i < rules.size(); i++) {
      out.append((i == 0 ? "" : "; ") + mesh.get(i) + ": " + rules.get(i));
    }
    out.append("\n");
    for (Move move : moves) {
      for (String step : move.steps.text(mesh).lines().toList()) {
        out.append("  " + move.what + ": " + step + "\n");
      }
    }
    if (!moves.isEmpty()) {
      out.append(
          String.format(
              Locale.ROOT, "  sent %d bytes, predicted %.3f ns\n", bytes(), predictedPs() / 1e3));
    }
    if (later.steps.bytes() > 0) {
      out.append(
          String.format(
              Locale.ROOT,
              "  left in parts: %d bytes, predicted %.3f ns, when it is needed\n",
              later.steps.bytes(),
              later.predictedPs / 1e3));
    }
    return out.toString();
  }

  /** Placements that the rules want of an operand. */
  List<Placement> wanted(int operand) {
    return rules.stream().map(rule -> rule.operands().get(operand)).toList();
  }
}
