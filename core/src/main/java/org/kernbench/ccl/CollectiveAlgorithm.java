package org.kernbench.ccl;

import java.util.OptionalInt;
import java.util.Set;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * A way to perform a collective, before it is bound to a group of ranks.
 *
 * <p>An algorithm of your own implements this with a public constructor without arguments, and
 * {@code ccl.yaml} names it: {@code algorithms.<name>.class: my.package.MyAlgorithm}. A complete
 * one is {@code examples/star/StarAllReduce.java}.
 */
public interface CollectiveAlgorithm {
  /** The name used in {@code ccl.yaml} and in reports. */
  String name();

  /** What it does, in one line, for {@code kernbench list}. */
  default String description() {
    return "";
  }

  /** What it can do. */
  default Set<CollectiveOp> operations() {
    return Set.of(CollectiveOp.ALL_REDUCE);
  }

  /** What one rank owns unless {@code rank_level} says otherwise. */
  RankLevel defaultRankLevel();

  /**
   * Number of ranks unless {@code world_size} says otherwise; empty for all devices there are, of
   * PEs those of one cube.
   */
  default OptionalInt defaultWorldSize() {
    return OptionalInt.empty();
  }

  /**
   * Whether it can serve any group of a machine at all: if not, {@code auto} does not speak of it.
   */
  default boolean isFor(Machine machine) {
    return true;
  }

  /**
   * Binds the algorithm to a group.
   *
   * @param group at least two ranks
   * @param queues the message queues it will have
   * @param config what {@code ccl.yaml} says about it
   * @throws CollectiveException if it cannot serve this group, with the reason and a remedy
   */
  Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config);
}
