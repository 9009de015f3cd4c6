package org.kernbench.ccl.algorithms;

import java.util.Collections;
import java.util.List;
import org.kernbench.ccl.Group;
import org.kernbench.device.log.StreamCosts;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.sim.Rate;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * The time of a collective in a switch (docs/spec/collectives.md O23, O26), piece by piece: up each
 * port one after the other, a sum when the last of its parts is there, down each port one after the
 * other. A load before the first and a store after the last; a piece that needs a slot again waits
 * until what is in it is taken.
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
  private final int ranks;
  private final int channels;

  /** What it takes to say that a slot is free, where another rank has to hear of it. */
  private final long creditPs;

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
    this.ranks = group.size();
    this.channels = machine.pe().dma().messageChannels();
    this.creditPs =
        machine.route(group.lead(0), group.lead(1)).alonePs(queues.creditBytes())
            + queues.creditOverheadPs();
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

  /**
   * Elements of a piece with which the whole is fastest.
   *
   * @param parts stations, each with so many elements
   */
  int bestPiece(CollectiveOp op, int parts, int elements, int most, int elementBytes) {
    int best = most;
    long bestPs = Long.MAX_VALUE;
    int m = Math.max(1, Math.ceilDiv(elements, most));
    while (true) {
      int piece = Math.max(1, Math.ceilDiv(elements, m));
      long ps = ps(op, Collections.nCopies(parts, new Pieces(0, elements, piece)), elementBytes);
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

  /** The time of all pieces of all stations, in picoseconds. */
  long ps(CollectiveOp op, List<Pieces> stations, int elementBytes) {
    boolean copies = op == CollectiveOp.ALL_GATHER || op == CollectiveOp.BROADCAST;
    return op == CollectiveOp.ALL_GATHER
        ? new Course(1, copies, ranks - 1).ps(stations.subList(0, 1), elementBytes)
        : new Course(stations.size(), copies, 1).ps(stations, elementBytes);
  }

  /**
   * The messages of one rank, one after the other.
   *
   * @param lanes stations that are gone through in turn
   * @param copies whether the switch adds nothing up
   * @param arrivals how many come down a port for one that goes up it
   */
  private final class Course {
    private final int lanes;
    private final boolean copies;
    private final int arrivals;
    private final long[] upFree = new long[ways.size()];
    private final long[][] channel = new long[channels][ways.size()];
    private final long[][] downFree;
    private final long[] taken;
    private long sumFree;
    private long end;

    Course(int lanes, boolean copies, int arrivals) {
      this.lanes = lanes;
      this.copies = copies;
      this.arrivals = arrivals;
      this.downFree = new long[lanes][ways.size()];
      this.taken = new long[slots * lanes];
    }

    long ps(List<Pieces> stations, int elementBytes) {
      int most = stations.stream().mapToInt(Pieces::pieces).max().orElse(0);
      int first = 0;
      int last = 0;
      for (int k = 0; k < most; k++) {
        for (int lane = 0; lane < lanes; lane++) {
          int bytes = stations.get(lane).count(k) * elementBytes;
          if (bytes > 0) {
            goes(k, lane, bytes);
            first = first == 0 ? bytes : first;
            last = bytes;
          }
        }
      }
      return end + 2 * accessPs + (long) ((first + last) / bytesPerPs);
    }

    private void goes(int k, int lane, int bytes) {
      int slot = lane * slots + k % slots;
      long[] free = channel[lane % channels]; // of the queue's message channel
      long there = 0;
      long occupied = 0;
      for (int w = 0; w < ways.size(); w++) {
        Way way = ways.get(w);
        long start = Math.max(free[w], taken[slot]);
        long offered = start + way.overheadPs;
        long injected = offered + way.injection.durationPs(bytes);
        long paced = start + Math.max(dispatchPs, (long) (2 * bytes / bytesPerPs));
        free[w] = Math.max(injected, paced);
        upFree[w] = Math.max(offered, upFree[w]) + way.up.durationPs(bytes);
        there = Math.max(there, upFree[w] + way.upPs);
        occupied = Math.max(occupied, copies ? 0 : (long) (way.sumPsPerByte * bytes));
      }
      long begins = Math.max(there, sumFree);
      sumFree = begins + occupied;
      long latest = 0;
      for (int w = 0; w < ways.size(); w++) {
        Way way = ways.get(w);
        downFree[lane][w] =
            Math.max(begins, downFree[lane][w]) + arrivals * way.down.durationPs(bytes);
        latest = Math.max(latest, downFree[lane][w] + way.downPs);
      }
      taken[slot] = latest + (copies || lanes > 1 ? creditPs : 0);
      end = Math.max(end, latest);
    }
  }
}
