package org.kernbench.nn.kernels;

import java.util.Map;
import org.kernbench.machine.Machine;

/**
 * What launches of one name had to do at least, whichever PEs did it.
 *
 * @param launches how many
 * @param flops of products, a multiply-add counting twice
 * @param bytes that memory must have read and written: each operand and each result once
 * @param operandsPs in which operands come to the PEs that multiply them, as often as blocks of
 *     sums need them ({@link OperandBound})
 * @param linksPs in which copies come through the links between cubes ({@link CopyBound})
 */
public record WorkCount(long launches, double flops, long bytes, long operandsPs, long linksPs) {
  /** Nothing. */
  public static final WorkCount NONE = new WorkCount(0, 0, 0, 0, 0);

  /** Whether PEs of a machine multiply nothing while they load operands. */
  public static boolean isInTurn(Machine machine) {
    return OperandBound.isSerial(machine);
  }

  /** Adds what some launches had to do, by name, to what is known of others. */
  public static void add(Map<String, WorkCount> more, Map<String, WorkCount> to) {
    more.forEach((name, one) -> to.merge(name, one, WorkCount::plus));
  }

  /** Both together. */
  public WorkCount plus(WorkCount other) {
    return new WorkCount(
        launches + other.launches,
        flops + other.flops,
        bytes + other.bytes,
        operandsPs + other.operandsPs,
        linksPs + other.linksPs);
  }
}
