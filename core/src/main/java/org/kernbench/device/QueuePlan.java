package org.kernbench.device;

import java.util.List;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;

/**
 * The message queues to install: pairs of directions that face each other.
 *
 * @param spec slots, sizes and costs that hold for every queue of the plan
 * @param connections each joins two queue ends, both ways; a direction name is used once per PE
 */
public record QueuePlan(IpcqSpec spec, List<Connection> connections) {
  /** Copies the list. */
  public QueuePlan {
    connections = List.copyOf(connections);
  }

  /**
   * Two ends of one duplex queue pair. What {@code a} sends to {@code aDirection} arrives at {@code
   * b} from {@code bDirection}, and the other way round. The pair is matched by identity, not by
   * name: with two ranks E and W lead to the same peer and both work.
   */
  public record Connection(Pe a, String aDirection, Pe b, String bDirection) {}
}
