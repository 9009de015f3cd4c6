package org.kernbench.ccl;

import org.kernbench.machine.IpcqSpec;
import org.kernbench.machine.Machine;
import org.kernbench.tensor.DType;

/**
 * The time of a ring all-reduce by formula O2, to choose the number of sub-chunks.
 *
 * @param hop the worst hop of the ring
 */
record RingCosts(Machine machine, int ranks, LinkCosts hop) {
  /** Load, receive, add, send: commands that a PE issues for each sub-chunk and step. */
  private static final int COMMANDS = 4;

  static RingCosts of(Group group, RingOrder order) {
    Machine machine = group.machine();
    int p = group.size();
    LinkCosts worst = between(group, order, 0);
    for (int i = 1; i < p; i++) {
      worst = worst.worse(between(group, order, i));
    }
    return new RingCosts(machine, p, worst);
  }

  private static LinkCosts between(Group group, RingOrder order, int position) {
    int next = (position + 1) % group.size();
    return LinkCosts.between(
        group.machine(), group.lead(order.rankAt(position)), group.lead(order.rankAt(next)));
  }

  /** The best number of sub-chunks for a segment that fits the slots. */
  int pieces(int segmentElements, int slotElements, IpcqSpec queues, DType dtype) {
    int best = Math.max(1, Math.ceilDiv(segmentElements, slotElements));
    long bestPs = Long.MAX_VALUE;
    int most = Math.min(Math.max(1, queues.slots() - 1), Math.max(best, segmentElements));
    for (int c = best; c <= most; c++) {
      long ps = allReducePs((long) Math.ceilDiv(segmentElements, c) * dtype.sizeBytes(), c);
      if (ps < bestPs) {
        bestPs = ps;
        best = c;
      }
    }
    return best;
  }

  /** O2: {@code sum over steps of max(c occ, occ + L + r) + c occ + L}. */
  private long allReducePs(long bytes, int c) {
    long dispatch = COMMANDS * machine.pe().cpu().dispatchPs();
    long occupancy = Math.max(hop.occupancyPs(bytes), dispatch);
    long addition = LinkCosts.additionPs(machine, bytes);
    long gather = Math.max(c * occupancy, hop.messagePs(bytes) + dispatch);
    long reduce = Math.max(c * occupancy, hop.messagePs(bytes) + dispatch + addition);
    return (ranks - 1) * reduce + (ranks - 2) * gather + c * occupancy + hop.latencyPs();
  }
}
