package org.kernbench.machine;

import org.kernbench.machine.spec.IpcqSpec;

/**
 * What a queue between two PEs can carry: {@code min(B, slots x size / RTT)}, where a round trip is
 * the message, its way, the credit and the way back, and the slot is freed at once.
 *
 * @param roundTripPs message overhead, serialisation, latency, credit, ps
 * @param linkBytesPerSecond narrowest link of the way
 * @param queueBytesPerSecond slots x size per round trip, or less where buffers are finite
 */
public record QueueReach(long roundTripPs, long linkBytesPerSecond, double queueBytesPerSecond) {
  /**
   * Between two PEs. With finite buffers no link of the way passes more than a buffer in a round
   * trip of its own.
   */
  public static QueueReach of(Machine machine, Pe from, Pe to) {
    IpcqSpec ipcq = machine.ipcq();
    Route there = machine.route(from, to);
    long roundTrip =
        there.messagePs(ipcq.slotBytes())
            + machine.route(to, from).alonePs(ipcq.creditBytes())
            + ipcq.creditOverheadPs();
    double reach = (double) ipcq.slots() * ipcq.slotBytes() * 1e12 / roundTrip;
    if (machine.fabric().isBuffered()) {
      for (int link : there.links()) {
        long wayPs = 2 * machine.specOf(link).latencyPs();
        double room = (double) machine.fabric().bufferBytes() * 1e12;
        reach = wayPs == 0 ? reach : Math.min(reach, room / wayPs);
      }
    }
    return new QueueReach(roundTrip, there.narrowest().bytesPerSecond(), reach);
  }

  /** Bytes that fill the way for a whole round trip. */
  public double bytesInFlight() {
    return linkBytesPerSecond * 1e-12 * roundTripPs;
  }
}
