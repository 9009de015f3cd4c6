package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.device.QueuePlan;

/** Collects the queues of a schedule, by rank. */
public final class Wiring {
  private final Group group;
  private final List<QueuePlan.Connection> connections = new ArrayList<>();

  public Wiring(Group group) {
    this.group = group;
  }

  /** What {@code a} sends to {@code aDirection} arrives at {@code b} from {@code bDirection}. */
  public void join(int a, String aDirection, int b, String bDirection) {
    connections.add(new QueuePlan.Connection(group.lead(a), aDirection, group.lead(b), bDirection));
  }

  /** A rank gives to the sums of a switch by one direction and gets them by another. */
  public void joinSums(int rank, String up, String down, QueuePlan.SwitchSum sums) {
    connections.add(QueuePlan.Connection.ofSums(group.lead(rank), up, down, sums));
  }

  public List<QueuePlan.Connection> connections() {
    return List.copyOf(connections);
  }

  /** The most queues that one PE has. */
  public static int mostPerPe(Group group, List<QueuePlan.Connection> connections) {
    int[] count = new int[group.size()];
    int most = 0;
    for (QueuePlan.Connection c : connections) {
      most = Math.max(most, ++count[group.rankOf(c.a())]);
      most = Math.max(most, ++count[group.rankOf(c.b())]);
    }
    return most;
  }
}
