package org.kernbench.device.fabric;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** A virtual channel of a link, with the buffer at its end. */
final class BufferedChannel extends FlitQueue {
  /** A packet that wants to cross a link. */
  record Visit(BufferedPacket packet, int hop) {
    /** The link over which it came, -1 if it begins here. */
    int input() {
      return hop == 0 ? -1 : packet.transfer.route[hop - 1];
    }
  }

  final int link;
  int credits;
  @Nullable Visit owner;
  final ArrayDeque<Visit> waiting = new ArrayDeque<>();

  /** {@link Visit#input} of the last owner. */
  private int lastInput = -1;

  /** Whether the packet at the head of the buffer has asked for its next link. */
  boolean asked;

  /** Until then the tail of the packet before is leaving. */
  long leavingPs;

  /** The links of the machine, and sources: as many turns there are. */
  private final int inputs;

  /**
   * A channel with an empty buffer.
   *
   * @param credits flits that its buffer holds
   * @param links how many there are in all
   */
  BufferedChannel(int link, int credits, int links) {
    this.link = link;
    this.credits = credits;
    this.inputs = links + 1;
  }

  /** Gives a free channel to a packet that waits for it: the links that lead here in turn. */
  void grant() {
    if (owner != null || waiting.isEmpty()) {
      return;
    }
    Visit next = waiting.getFirst();
    for (Visit v : waiting) {
      if (turnsUntil(v) < turnsUntil(next)) {
        next = v;
      }
    }
    waiting.remove(next);
    lastInput = next.input();
    owner = next;
  }

  private int turnsUntil(Visit v) {
    return Math.floorMod(v.input() - lastInput - 1, inputs);
  }
}
