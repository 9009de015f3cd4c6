package org.kernbench.nn.placements;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A way to compute an operation along one dimension of a mesh in which no rank needs what another
 * has: where the operands lie so, each rank computes with its parts, and the result lies as said.
 *
 * @param operands a placement each
 * @param result of the result
 */
public record ShardingRule(List<Placement> operands, Placement result) {
  /** Keeps a copy. */
  public ShardingRule {
    operands = List.copyOf(operands);
  }

  static ShardingRule of(Placement result, Placement... operands) {
    return new ShardingRule(List.of(operands), result);
  }

  @Override
  public String toString() {
    String from = operands.stream().map(Object::toString).collect(Collectors.joining(", "));
    return "%s -> %s".formatted(from, result);
  }
}
