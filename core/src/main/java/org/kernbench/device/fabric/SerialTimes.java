package org.kernbench.device.fabric;

import org.jspecify.annotations.Nullable;
import org.kernbench.sim.Rate;

/** What the bytes of a transfer take that meets nobody: with latencies, when it arrives alone. */
final class SerialTimes {
  private final Wires wires;
  private @Nullable Rate lastRate;
  private long lastBytes;
  private long lastPs;

  SerialTimes(Wires wires) {
    this.wires = wires;
  }

  /** As {@link Interconnect#serialPs} says. */
  long of(FabricRoute route, long bytes) {
    if (route.isStored) {
      return stored(route, bytes);
    }
    long whole = of(route.narrowestServed, bytes);
    return route.nicPs == 0
        ? whole
        : Math.max(of(route.narrowestFromNic, bytes), whole - route.nicPs);
  }

  private long of(int link, long bytes) {
    long rest = bytes & (wires.chunkBytes - 1);
    long chunkPs = wires.records[(link << Wires.SHIFT) + Wires.CHUNK_PS];
    return (bytes >> wires.chunkBytesShift) * chunkPs
        + (rest == 0 ? 0 : rest(wires.rates[link], rest));
  }

  /** Where a switch passes on whole chunks: chunk by chunk and link by link. */
  private long stored(FabricRoute route, long bytes) {
    final int hops = route.links.length;
    long[] free = new long[hops];
    long offered = 0;
    long arrived = 0;
    for (long sent = 0; sent == 0 || sent < bytes; sent += wires.chunkBytes) {
      long size = Math.min(wires.chunkBytes, bytes - sent);
      long head = offered;
      long tail = offered;
      for (int hop = 0; hop < hops; hop++) {
        int id = route.way[hop];
        long start = Math.max(head, free[hop]) + wires.messagePs(id, sent);
        free[hop] = Math.max(start + wires.rates[id].durationPs(size), tail);
        offered = hop == 0 ? free[0] : offered;
        tail = free[hop];
        head = wires.stored[id] ? tail : start;
      }
      arrived = tail;
    }
    return arrived - route.nicPs;
  }

  /** What bytes take at a rate; remembers the last, for divisions take long. */
  private long rest(Rate rate, long bytes) {
    if (rate != lastRate || bytes != lastBytes) {
      lastRate = rate;
      lastBytes = bytes;
      lastPs = rate.durationPs(bytes);
    }
    return lastPs;
  }
}
