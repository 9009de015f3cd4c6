package org.kernbench.ccl.algorithms;

import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Wiring;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;

/**
 * The pace of algorithms that send their whole vector in one message: all of it, or, if it is
 * longer than {@code n_elem} or than what TCM holds beside the message slots, block after block.
 */
final class FullVector {
  /**
   * Vectors that a rank holds at once: the sum, what came, their sum, and the next block's load.
   */
  private static final int HELD = 4;

  private FullVector() {}

  static TreeSchedule schedule(
      Group group,
      IpcqSpec queues,
      AlgorithmConfig config,
      Tree tree,
      Tree.Order order,
      RootExchange exchange) {
    Wiring wiring = new Wiring(group);
    tree.wire(wiring);
    exchange.wire(wiring);
    int perPe = Wiring.mostPerPe(group, wiring.connections());
    long tcm = group.machine().pe().tcm().sizeBytes();
    long slots =
        queues.bufferKind() == BufferKind.TCM
            ? (long) perPe * queues.slots() * queues.slotBytes()
            : 0;
    long blockBytes = (tcm - slots) / (HELD + exchange.held());
    int[] lag = new int[group.size()];
    return new TreeSchedule(
        group,
        tree,
        order,
        exchange,
        (elements, dtype) ->
            new TreeSchedule.Pace(block(elements, dtype, blockBytes, config), lag, false));
  }

  private static int block(int elements, DType dtype, long blockBytes, AlgorithmConfig config) {
    long fits = Math.max(1, blockBytes / dtype.sizeBytes());
    return (int)
        Math.min(elements, config.elementsPerBlock().orElse((int) Math.min(fits, elements)));
  }
}
