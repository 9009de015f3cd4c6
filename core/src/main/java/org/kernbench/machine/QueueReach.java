package org.kernbench.machine;

import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.LinkSpec;

/**
 * What a queue between two PEs can carry: {@code min(B, slots x size / RTT)}, where a round trip is
 * the message, its way, the credit and the way back, and the slot is freed at once.
 *
 * @param roundTripPs message overhead, serialisation, latency, credit, ps
 * @param linkBytesPerSecond narrowest link of the way
 * @param queueBytesPerSecond slots x size per round trip
 */
public record QueueReach(long roundTripPs, long linkBytesPerSecond, double queueBytesPerSecond) {
  public static QueueReach of(Machine machine, Pe from, Pe to) {
    IpcqSpec ipcq = machine.ipcq();
    int[] there = machine.route(machine.peNode(from), machine.peNode(to));
    int[] back = machine.route(machine.peNode(to), machine.peNode(from));
    LinkSpec narrowest = narrowest(machine, there);
    LinkSpec narrowestBack = narrowest(machine, back);
    long roundTrip =
        machine.pe().dma().messageOverheadPs()
            + narrowest.rate().durationPs(ipcq.slotBytes())
            + machine.latencyPs(there)
            + ipcq.creditOverheadPs()
            + narrowestBack.rate().durationPs(ipcq.creditBytes())
            + machine.latencyPs(back);
    double reach = (double) ipcq.slots() * ipcq.slotBytes() * 1e12 / roundTrip;
    return new QueueReach(roundTrip, narrowest.rate().bytesPerSecond(), reach);
  }

  /** Bytes that fill the way for a whole round trip. */
  public double bytesInFlight() {
    return linkBytesPerSecond * 1e-12 * roundTripPs;
  }

  private static LinkSpec narrowest(Machine machine, int[] links) {
    LinkSpec narrowest = machine.specOf(links[0]);
    for (int link : links) {
      LinkSpec spec = machine.specOf(link);
      if (spec.rate().bytesPerSecond() < narrowest.rate().bytesPerSecond()) {
        narrowest = spec;
      }
    }
    return narrowest;
  }
}
