package org.kernbench.eval.traffic;

import java.util.SplittableRandom;
import org.kernbench.config.UsageException;

/** Who sends to whom: the patterns of Dally and Towles, 2004, chapter 3. */
enum TrafficPattern {
  /** To every node, itself included, with the same probability. */
  UNIFORM {
    @Override
    int destination(TrafficNodes nodes, int source, Hot hot, SplittableRandom random) {
      return random.nextInt(nodes.count());
    }
  },
  /** From column x, row y to column y, row x. */
  TRANSPOSE {
    @Override
    void check(TrafficNodes nodes) {
      if (nodes.axes() != 2 || nodes.size(0) != nodes.size(1)) {
        throw unfit("transpose", "a square of nodes", nodes);
      }
    }

    @Override
    int destination(TrafficNodes nodes, int source, Hot hot, SplittableRandom random) {
      return nodes.at(new int[] {nodes.place(source, 1), nodes.place(source, 0)});
    }
  },
  /** Every bit of the place turned over: to the far corner. */
  BIT_COMPLEMENT {
    @Override
    void check(TrafficNodes nodes) {
      for (int axis = 0; axis < nodes.axes(); axis++) {
        if (Integer.bitCount(nodes.size(axis)) != 1) {
          throw unfit("bit_complement", "a power of two of nodes along every axis", nodes);
        }
      }
    }

    @Override
    int destination(TrafficNodes nodes, int source, Hot hot, SplittableRandom random) {
      return nodes.moved(source, (place, size) -> size - 1 - place);
    }
  },
  /** Nearly half the way round every axis: the worst for rings. */
  TORNADO {
    @Override
    int destination(TrafficNodes nodes, int source, Hot hot, SplittableRandom random) {
      return nodes.moved(source, (place, size) -> (place + (size + 1) / 2 - 1) % size);
    }
  },
  /** One on along every axis, from the last to the first. */
  NEIGHBOUR {
    @Override
    int destination(TrafficNodes nodes, int source, Hot hot, SplittableRandom random) {
      return nodes.moved(source, (place, size) -> (place + 1) % size);
    }
  },
  /** Some of all packets to one node, the others as in {@link #UNIFORM}. */
  HOTSPOT {
    @Override
    int destination(TrafficNodes nodes, int source, Hot hot, SplittableRandom random) {
      boolean toTheHot = random.nextInt(100) < hot.percent();
      return toTheHot ? hot.node() : random.nextInt(nodes.count());
    }
  };

  /**
   * The node that some packets go to.
   *
   * @param percent of all packets, 0 to 100
   */
  record Hot(int node, int percent) {}

  /**
   * Refuses nodes for which the pattern has no meaning.
   *
   * @throws UsageException that says what it needs
   */
  void check(TrafficNodes nodes) {}

  /** Where the next packet of a node goes. */
  abstract int destination(TrafficNodes nodes, int source, Hot hot, SplittableRandom random);

  private static UsageException unfit(String pattern, String needed, TrafficNodes nodes) {
    return new UsageException(
        "pattern=%s needs %s; this machine has %s; choose another machine, or pattern=uniform"
            .formatted(pattern, needed, nodes.text()));
  }
}
