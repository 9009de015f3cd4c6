package org.kernbench.ccl.algorithms;

import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.ccl.RingOrder;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.tensor.DType;

/**
 * How a ring goes about a vector, chosen by the time that following one rank's messages gives.
 *
 * @param block elements handled in one pass round the ring
 * @param pieces messages per segment
 * @param copy whether results are copied out of their slots before they are passed on. In place
 *     saves the copy, but a slot is then taken until its message has left again: with less than
 *     three slots for each piece in a segment, everyone waits for credits
 * @param ps the time that this should take
 */
record RingPlan(int block, int pieces, boolean copy, double ps) {

  static RingPlan choose(
      Group group,
      RingOrder order,
      IpcqSpec queues,
      AlgorithmConfig config,
      int elements,
      DType dtype) {
    Model model = Model.of(group, order, queues);
    int slot = (int) Math.max(1, queues.slotBytes() / dtype.sizeBytes());
    int fixed = config.subChunks().orElse(0);
    RingPlan best = new RingPlan(elements, 1, true, Double.POSITIVE_INFINITY);
    double bestPs = Double.POSITIVE_INFINITY;
    int last = fixed > 0 ? fixed : Math.max(1, queues.slots() - 1);
    for (int c = Math.max(1, fixed); c <= last; c++) {
      // A segment is sent before anything is received, so it must fit the slots.
      int slotsPerPiece = fixed > 0 ? queues.slots() / c : 1;
      long most = (long) group.size() * c * slotsPerPiece * slot;
      int block =
          (int) Math.min(Math.min(elements, most), config.elementsPerBlock().orElse(elements));
      int piece = Math.ceilDiv(Math.ceilDiv(block, group.size()), c);
      long bytes = (long) piece * dtype.sizeBytes();
      for (boolean copy : c < queues.slots() ? new boolean[] {false, true} : new boolean[] {true}) {
        double ps = (double) Math.ceilDiv(elements, block) * model.allReducePs(bytes, c, copy);
        if (ps < bestPs) {
          bestPs = ps;
          best = new RingPlan(block, c, copy, ps);
        }
      }
      if (piece == 1) {
        break; // no more to divide
      }
    }
    return best;
  }

  /**
   * Formula O2 of {@code docs/spec/collectives.md} with slots: all ranks do alike, so one is
   * followed. Channel, wire and adder each take messages one after the other, and a message needs
   * the slot of the one {@code slots} before it.
   *
   * @param hop the worst hop of the ring
   */
  private record Model(
      Machine machine, PeSpec adder, int ranks, LinkCosts hop, int slots, long creditPs) {
    /** Load, receive, add, send: commands that a PE issues for each piece and step. */
    private static final int COMMANDS = 4;

    static Model of(Group group, RingOrder order, IpcqSpec queues) {
      LinkCosts worst = between(group, order, 0);
      boolean alike = group.isOfPackages() && isAlike(group.machine());
      for (int i = 1; i < group.size() && !alike; i++) {
        worst = worst.worse(between(group, order, i));
      }
      long credit =
          worst.latencyPs()
              + worst.narrowest().durationPs(queues.creditBytes())
              + queues.creditOverheadPs();
      return new Model(
          group.machine(), LinkCosts.slowestPe(group), group.size(), worst, queues.slots(), credit);
    }

    /** Whether a shift takes each hop of a ring by number to any other. */
    private static boolean isAlike(Machine machine) {
      return machine.dimensions().size() == 1 && machine.symmetry().isPresent();
    }

    private static LinkCosts between(Group group, RingOrder order, int position) {
      int next = (position + 1) % group.size();
      return LinkCosts.between(
          group.machine(), group.lead(order.rankAt(position)), group.lead(order.rankAt(next)));
    }

    long allReducePs(long bytes, int pieces, boolean copy) {
      long wire = hop.narrowest().durationPs(bytes);
      long injection =
          Math.max(
              hop.overheadPs() + hop.injection().durationPs(bytes),
              COMMANDS * machine.pe().cpu().dispatchPs());
      long addition = LinkCosts.additionPs(adder, bytes);
      long copying = copy ? machine.pe().tcm().rate().durationPs(2 * bytes) : 0;
      long[] ready = new long[pieces];
      long[] freed = new long[slots]; // when the last message in a slot made room, at the receiver
      long channel = 0;
      long link = 0;
      long adder = 0;
      for (int i = 0; i < 2 * (ranks - 1) * pieces; i++) {
        int piece = i % pieces;
        int slot = i % slots;
        long start = Math.max(ready[piece], channel);
        if (i >= slots) {
          start = Math.max(start, freed[slot] + creditPs);
        }
        channel = start + injection;
        link = Math.max(start + hop.overheadPs(), link) + wire;
        long arrived = link + hop.latencyPs();
        if (i < (ranks - 1) * pieces) {
          adder = Math.max(arrived, adder) + addition;
          ready[piece] = adder;
          freed[slot] = adder;
          continue;
        }
        ready[piece] = arrived + copying;
        if (copy) {
          freed[slot] = ready[piece];
        } else if (i >= ranks * pieces) {
          freed[(i - pieces) % slots] = channel; // what this message passed on
        }
      }
      long end = 0;
      for (long each : ready) {
        end = Math.max(end, each);
      }
      return end;
    }
  }
}
