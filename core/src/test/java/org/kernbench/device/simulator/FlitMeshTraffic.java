package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Packets offered to a mesh of side x side nodes, in the order in which they are offered. Nodes
 * count row by row.
 */
public record FlitMeshTraffic(int side, int packetFlits, long cycles, List<Packet> packets) {

  /** Offered to the injection link of {@code source} at the beginning of {@code cycle}. */
  public record Packet(long cycle, int source, int destination) {}

  /** Who sends to whom. */
  public enum Pattern {
    /** To every other node with the same probability. */
    UNIFORM {
      @Override
      int destination(int side, int source, SplittableRandom random) {
        int other = random.nextInt(side * side - 1);
        return other < source ? other : other + 1;
      }

      @Override
      double capacity(int side) {
        // The middle links of a row: side/2 sources, half of the side^2 - 1 destinations behind
        // them.
        return 4.0 * (side * side - 1) / (side * side * side);
      }
    },

    /** From column x, row y to column y, row x; the diagonal is silent. */
    TRANSPOSE {
      @Override
      int destination(int side, int source, SplittableRandom random) {
        return source % side * side + source / side;
      }

      @Override
      double capacity(int side) {
        // Row y turns at column y: the links there carry all other sources of the row on one side.
        return 1.0 / (side - 1);
      }
    };

    abstract int destination(int side, int source, SplittableRandom random);

    /**
     * Flits per node and cycle at which the busiest link is always busy, for XY routing. Even
     * sides.
     */
    abstract double capacity(int side);
  }

  /**
   * Independent Bernoulli arrivals at every node.
   *
   * @param load fraction of {@link Pattern#capacity}
   */
  public static FlitMeshTraffic bernoulli(
      Pattern pattern, int side, int packetFlits, double load, long cycles, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    double perCycle = load * pattern.capacity(side) / packetFlits;
    List<Packet> packets = new ArrayList<>();
    for (long cycle = 0; cycle < cycles; cycle++) {
      for (int node = 0; node < side * side; node++) {
        if (random.nextDouble() < perCycle) {
          int destination = pattern.destination(side, node, random);
          if (destination != node) {
            packets.add(new Packet(cycle, node, destination));
          }
        }
      }
    }
    return new FlitMeshTraffic(side, packetFlits, cycles, packets);
  }

  private long warmUp() {
    return cycles / 5;
  }

  /** Mean cycles from offered to delivered, of the packets offered after the warm-up. */
  public double meanLatency(long[] delivered) {
    long sum = 0;
    long count = 0;
    for (int i = 0; i < delivered.length; i++) {
      if (packets.get(i).cycle >= warmUp()) {
        sum += delivered[i] - packets.get(i).cycle;
        count++;
      }
    }
    return (double) sum / count;
  }

  /**
   * Flits per node and cycle that were delivered between the warm-up and the end of the offering.
   */
  double throughput(long[] delivered) {
    long packetsDelivered = 0;
    for (long cycle : delivered) {
      if (cycle >= warmUp() && cycle < cycles) {
        packetsDelivered++;
      }
    }
    return (double) packetsDelivered * packetFlits / (side * side * (cycles - warmUp()));
  }
}
