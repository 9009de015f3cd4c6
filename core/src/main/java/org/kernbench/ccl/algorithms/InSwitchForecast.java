package org.kernbench.ccl.algorithms;

import java.util.List;
import org.kernbench.ccl.Group;
import org.kernbench.device.log.StreamCosts;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.sim.Rate;

/**
 * The time of an all-reduce in a switch (docs/spec/collectives.md O23), piece by piece: up each
 * port one after the other, a sum when the last of its parts is there, down each port one after the
 * other. A load before the first and a store after the last; a piece that needs a slot again waits
 * until the sum in it is taken.
 */
final class InSwitchForecast {
  /** Up to so many, each number of pieces is tried; of more, every fourth part more. */
  private static final int EACH = 16;

  private static final int SMALLEST_BYTES = 256;
  private static final int COMMANDS = 4; // load, send, receive, store

  private final List<Way> ways;
  private final int slots;
  private final long dispatchPs;
  private final long accessPs;
  private final double bytesPerPs;

  /** The way of a rank to the switch and back. */
  private record Way(
      long overheadPs,
      long upPs,
      Rate injection,
      Rate up,
      long downPs,
      Rate down,
      double sumPsPerByte) {}

  InSwitchForecast(Group group, IpcqSpec queues, int node) {
    Machine machine = group.machine();
    this.ways = group.leads().stream().map(pe -> way(machine, pe, node)).distinct().toList();
    this.slots = queues.slots();
    this.dispatchPs = COMMANDS * machine.pe().cpu().dispatchPs();
    StreamCosts memory = StreamCosts.of(machine, group.lead(0));
    this.accessPs = memory.latencyPs();
    this.bytesPerPs = memory.bytesPerPs();
  }

  private static Way way(Machine machine, Pe pe, int node) {
    Route up = machine.route(machine.peNode(pe), node);
    Route down = machine.route(node, machine.peNode(pe));
    double port = machine.specOf(up.last()).rate().bytesPerSecond();
    double sums =
        machine.sumRate(up.last()).map(rate -> (double) rate.bytesPerSecond()).orElse(port);
    return new Way(
        up.overheadPs(),
        up.latencyPs(),
        up.injection(),
        up.narrowest(),
        down.latencyPs(),
        down.narrowest(),
        1e12 / sums);
  }

  /** Elements of a piece with which the whole is fastest. */
  int bestPiece(int elements, int most, int elementBytes) {
    int best = most;
    long bestPs = Long.MAX_VALUE;
    int m = Math.ceilDiv(elements, most);
    while (true) {
      int piece = Math.ceilDiv(elements, m);
      long ps = ps(new Pieces(0, elements, piece), elementBytes);
      if (ps < bestPs) {
        bestPs = ps;
        best = piece;
      }
      if ((long) piece * elementBytes <= SMALLEST_BYTES) {
        return best;
      }
      m += m < EACH ? 1 : m / 4;
    }
  }

  /** The time of all pieces, in picoseconds. */
  long ps(Pieces pieces, int elementBytes) {
    int n = pieces.pieces();
    int[] bytes = new int[n];
    for (int k = 0; k < n; k++) {
      bytes[k] = pieces.count(k) * elementBytes;
    }
    long[] upFree = new long[ways.size()];
    long[] downFree = new long[ways.size()];
    long[] channel = new long[ways.size()];
    long[] taken = new long[slots];
    long sumFree = 0;
    long end = 0;
    for (int k = 0; k < n; k++) {
      long there = 0;
      long occupied = 0;
      for (int w = 0; w < ways.size(); w++) {
        Way way = ways.get(w);
        long start = Math.max(channel[w], taken[k % slots]);
        long offered = start + way.overheadPs;
        long injected = offered + way.injection.durationPs(bytes[k]);
        long paced = start + Math.max(dispatchPs, (long) (2 * bytes[k] / bytesPerPs));
        channel[w] = Math.max(injected, paced);
        upFree[w] = Math.max(offered, upFree[w]) + way.up.durationPs(bytes[k]);
        there = Math.max(there, upFree[w] + way.upPs);
        occupied = Math.max(occupied, (long) (way.sumPsPerByte * bytes[k]));
      }
      long begins = Math.max(there, sumFree);
      sumFree = begins + occupied;
      long last = 0;
      for (int w = 0; w < ways.size(); w++) {
        Way way = ways.get(w);
        downFree[w] = Math.max(begins, downFree[w]) + way.down.durationPs(bytes[k]);
        last = Math.max(last, downFree[w] + way.downPs);
      }
      taken[k % slots] = last;
      end = Math.max(end, last);
    }
    return end + 2 * accessPs + (long) ((bytes[0] + bytes[n - 1]) / bytesPerPs);
  }
}
