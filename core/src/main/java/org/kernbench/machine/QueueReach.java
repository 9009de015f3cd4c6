package org.kernbench.machine;

import org.kernbench.machine.spec.IpcqSpec;

/**
 * What a queue between two PEs can carry: {@code min(B, slots x size / RTT)}, where a round trip is
 * the message, its way, the credit and the way back, and the slot is freed at once.
 *
 * @param roundTripPs message overhead, serialisation, latency, credit, ps
 * @param linkBytesPerSecond narrowest link of the way
 * @param queueBytesPerSecond slots x size per round trip
 * @param roomBytesPerSecond with finite buffers, a buffer per round trip of the link where that is
 *     least; infinite without
 */
public record QueueReach(
    long roundTripPs,
    long linkBytesPerSecond,
    double queueBytesPerSecond,
    double roomBytesPerSecond) {
  public static QueueReach of(Machine machine, Pe from, Pe to) {
    IpcqSpec ipcq = machine.ipcq();
    Route there = machine.route(from, to);
    long roundTrip =
        there.messagePs(ipcq.slotBytes())
            + machine.route(to, from).alonePs(ipcq.creditBytes())
            + ipcq.creditOverheadPs();
    double reach = (double) ipcq.slots() * ipcq.slotBytes() * 1e12 / roundTrip;
    return new QueueReach(
        roundTrip, there.narrowest().bytesPerSecond(), reach, room(machine, there));
  }

  private static double room(Machine machine, Route way) {
    double least = Double.POSITIVE_INFINITY;
    if (machine.fabric().isBuffered()) {
      for (int link : way.links()) {
        long bothWaysPs = 2 * machine.specOf(link).latencyPs();
        least = Math.min(least, machine.fabric().bufferBytes() * 1e12 / bothWaysPs);
      }
    }
    return least;
  }

  /** The least of the three. */
  public double bytesPerSecond() {
    return Math.min(Math.min(linkBytesPerSecond, queueBytesPerSecond), roomBytesPerSecond);
  }

  /** Bytes that fill the way for a whole round trip. */
  public double bytesInFlight() {
    return linkBytesPerSecond * 1e-12 * roundTripPs;
  }
}
