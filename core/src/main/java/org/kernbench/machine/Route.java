package org.kernbench.machine;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.sim.Rate;

/**
 * The way of a transfer over a machine, and what it costs there when it meets nobody, by the
 * streaming rule of {@code docs/spec/machine-and-timing.md}: the latencies of its links, its bytes
 * at the rate of the narrowest of them, and for a message what its sender pays before the first
 * byte leaves.
 *
 * <p>Forecasts, bounds, benches, probe and simulator ask here, so a cost that a machine gets anew
 * for a way or a message is added here once. Answers are worked out when asked for; callers that
 * ask often keep them. Times in picoseconds.
 */
public final class Route {
  private final Machine machine;
  private final int[] links;

  /** A route over links of a machine, of which there is at least one. */
  Route(Machine machine, int[] links) {
    this.machine = machine;
    this.links = links;
  }

  /** The ids of the links, in order; a copy. */
  public int[] links() {
    return links.clone();
  }

  /** How many links there are, at least one. */
  public int length() {
    return links.length;
  }

  /** The link by which it leaves its source. */
  public int first() {
    return links[0];
  }

  /** The link by which it enters its target. */
  public int last() {
    return links[links.length - 1];
  }

  /**
   * The time of a transfer of no bytes: the sum of the latencies, and what a NIC does for a
   * message.
   */
  public long latencyPs() {
    long sum = nicPs();
    for (int link : links) {
      sum += machine.specOf(link).latencyPs();
    }
    return sum;
  }

  /** What the NIC that sends does for a message, while it does nothing else; 0 without one. */
  public long nicPs() {
    long sum = 0;
    for (int link : links) {
      sum += machine.messagePs(link);
    }
    return sum;
  }

  /**
   * The time of a request to the memory at the end: the latency without that of the last link, its
   * port, which the answer pays with its first.
   */
  public long requestPs() {
    return latencyPs() - machine.specOf(last()).latencyPs();
  }

  /**
   * The time of an acknowledgement by the memory at the beginning: the latency without that of the
   * first link, its port, which the access has paid.
   */
  public long replyPs() {
    return latencyPs() - machine.specOf(first()).latencyPs();
  }

  /** The link of the lowest rate, the first of them if there are several. */
  public int narrowestLink() {
    return narrowestLink(0);
  }

  /**
   * The narrowest link from the NIC on that prepares messages; of a route without one, of all its
   * links.
   */
  public int narrowestFromNic() {
    for (int i = 0; i < links.length; i++) {
      if (machine.messagePs(links[i]) > 0) {
        return narrowestLink(i);
      }
    }
    return narrowestLink();
  }

  private int narrowestLink(int first) {
    int narrowest = links[first];
    long least = Long.MAX_VALUE;
    for (int i = first; i < links.length; i++) {
      int link = links[i];
      long rate = machine.specOf(link).rate().bytesPerSecond();
      if (rate < least) {
        least = rate;
        narrowest = link;
      }
    }
    return narrowest;
  }

  /** The rate of the narrowest link. */
  public Rate narrowest() {
    return machine.specOf(narrowestLink()).rate();
  }

  /** The rate of the first link, which all messages of a PE share. */
  public Rate injection() {
    return machine.specOf(first()).rate();
  }

  /** What a message on it costs its sender's channel before its first byte leaves, by cause. */
  public List<Overhead> overheads() {
    Set<LinkKind> kinds = EnumSet.noneOf(LinkKind.class);
    for (int link : links) {
      kinds.add(machine.linkKind(link));
    }
    return Overhead.over(kinds);
  }

  /** The sum of its {@link #overheads}. */
  public long overheadPs() {
    long sum = 0;
    for (Overhead each : overheads()) {
      sum += each.ps(machine);
    }
    return sum;
  }

  /**
   * From the first byte's leaving until the last one's arrival, with nobody in the way.
   *
   * <p>While a NIC works on a message, bytes gather before it: what it sends and what has to reach
   * it count apart, and the later one decides.
   *
   * @param bytes at least 0
   */
  public long alonePs(long bytes) {
    long beyond = machine.specOf(narrowestFromNic()).rate().durationPs(bytes);
    long whole = narrowest().durationPs(bytes);
    return latencyPs() + Math.max(beyond, whole - nicPs()) + storedPs(bytes);
  }

  /** What switches add that pass on whole pieces: each gets one before it gives the first away. */
  public long storedPs(long bytes) {
    long sum = 0;
    for (int link : links) {
      if (machine.isStored(link)) {
        long piece = Math.min(bytes, machine.fabric().chunkBytes());
        sum += machine.specOf(link).rate().durationPs(piece);
      }
    }
    return sum;
  }

  /**
   * From the start of a message until it is whole at the far side, with nobody in the way.
   *
   * @param bytes at least 0
   */
  public long messagePs(long bytes) {
    return overheadPs() + alonePs(bytes);
  }
}
