package org.kernbench.ccl.algorithms;

import java.util.List;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.device.log.StreamCosts;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.PeSpec;

/**
 * The time of whole vectors up a tree and down again (docs/spec/collectives.md O11), hop by hop
 * with the machine's own numbers: {@code o + s/B + L} for a message, {@code gamma s} for each
 * addition, children taken in their order, one send after the other where a PE has one channel, a
 * load before and a store after, which shares the port with what is sent. No message waits for
 * another on the way, and commands cost nothing to issue.
 */
final class TreeFormula {
  private final Group group;
  private final Tree tree;
  private final Tree.Order order;
  private final RootExchange exchange;
  private final PeSpec adder;

  TreeFormula(Group group, Tree tree, Tree.Order order, RootExchange exchange) {
    this.group = group;
    this.tree = tree;
    this.order = order;
    this.exchange = exchange;
    this.adder = LinkCosts.slowestPe(group);
  }

  /** Time for vectors of some bytes, in picoseconds. */
  long ps(long bytes) {
    long reduced = 0;
    for (int rank = 0; rank < tree.size(); rank++) {
      reduced = tree.isRoot(rank) ? Math.max(reduced, upPs(rank, bytes)) : reduced;
    }
    long whole = reduced + exchange.formulaPs(group, bytes, additionPs(bytes));
    long last = 0;
    for (int rank = 0; rank < tree.size(); rank++) {
      last = tree.isRoot(rank) ? Math.max(last, downPs(rank, whole, bytes)) : last;
    }
    return last;
  }

  private long additionPs(long bytes) {
    return LinkCosts.additionPs(adder, bytes);
  }

  /** When a rank has added what comes from below. */
  private long upPs(int rank, long bytes) {
    long sum = accessPs(rank, bytes);
    for (Tree.Edge child : tree.children(rank, order)) {
      long arrived = upPs(child.child(), bytes) + hop(child.child(), rank).messagePs(bytes);
      sum = Math.max(sum, arrived) + additionPs(bytes);
    }
    return sum;
  }

  /** When all below a rank have stored a result that it has at a time. */
  private long downPs(int rank, long atPs, long bytes) {
    long last = atPs + accessPs(rank, bytes);
    int channels = group.machine().pe().dma().messageChannels();
    List<Tree.Edge> children = tree.children(rank, Tree.Order.LATEST_FIRST);
    for (int i = 0; i < children.size(); i++) {
      int child = children.get(i).child();
      LinkCosts hop = hop(rank, child);
      long injection = hop.injection().durationPs(bytes);
      long before = i / channels * (hop.overheadPs() + injection) + storePs(hop, injection);
      last = Math.max(last, downPs(child, atPs + before + hop.messagePs(bytes), bytes));
    }
    return last;
  }

  /** The store leaves by the same port, from when its set-up is done. */
  private long storePs(LinkCosts hop, long injectionPs) {
    long later = group.machine().pe().dma().setupPs() - hop.overheadPs();
    return Math.max(0, injectionPs - Math.max(0, later));
  }

  private LinkCosts hop(int from, int to) {
    return LinkCosts.between(group.machine(), group.lead(from), group.lead(to));
  }

  /** A load or a store. */
  private long accessPs(int rank, long bytes) {
    Machine machine = group.machine();
    StreamCosts memory = StreamCosts.of(machine, group.lead(rank));
    return memory.latencyPs() + (long) (bytes / memory.bytesPerPs());
  }
}
