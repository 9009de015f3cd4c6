package org.kernbench.device;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;

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
   * By queue end (twice the number of its connection, and one more at {@code b}) its place among
   * those of its PE: in the order in which the plan first says their directions, whichever of the
   * PE's connections comes first. Ends take message channels by their places, so that PEs with
   * equal directions share theirs alike.
   */
  public int[] places() {
    return places(pe -> pe);
  }

  /**
   * Places where the ends of some PEs are on others.
   *
   * @param home the PE that has the ends of a PE
   */
  public int[] places(UnaryOperator<Pe> home) {
    Map<String, Integer> said = new HashMap<>();
    Map<Pe, List<Integer>> ends = new HashMap<>();
    int[] order = new int[2 * connections.size()];
    for (int end = 0; end < order.length; end++) {
      Connection c = connections.get(end / 2);
      order[end] =
          said.computeIfAbsent(end % 2 == 0 ? c.aDirection : c.bDirection, d -> said.size());
      ends.computeIfAbsent(home.apply(end % 2 == 0 ? c.a : c.b), pe -> new ArrayList<>()).add(end);
    }
    int[] places = new int[order.length];
    for (List<Integer> own : ends.values()) {
      own.sort(Comparator.comparingInt(end -> order[end]));
      for (int i = 0; i < own.size(); i++) {
        places[own.get(i)] = i;
      }
    }
    return places;
  }

  /**
   * Two ends of one duplex queue pair. What {@code a} sends to {@code aDirection} arrives at {@code
   * b} from {@code bDirection}, and the other way round. The pair is matched by identity, not by
   * name: with two ranks E and W lead to the same peer and both work.
   *
   * @param sums if a switch adds up on the way: then {@code a} and {@code b} are one PE, what it
   *     sends to {@code aDirection} goes up to the switch, and what arrives from {@code bDirection}
   *     are the sums; nothing goes the other way
   */
  public record Connection(
      Pe a, String aDirection, Pe b, String bDirection, Optional<SwitchSum> sums) {
    /** Two ends with nothing but links between them. */
    public Connection(Pe a, String aDirection, Pe b, String bDirection) {
      this(a, aDirection, b, bDirection, Optional.empty());
    }

    /** Whose slots messages come into: both ends, and of a switch's sums the one that gets them. */
    public List<Pe> receivers() {
      return sums.isPresent() ? List.of(b) : List.of(a, b);
    }

    /** A PE that gives to the sums of a switch and gets them. */
    public static Connection ofSums(Pe pe, String up, String down, SwitchSum sums) {
      return new Connection(pe, up, pe, down, Optional.of(sums));
    }
  }

  /**
   * Sums that a switch makes: message {@code k} of each member, which fits a slot, waits there for
   * message {@code k} of all others; then they are combined in the order of the members, and the
   * result goes down to each.
   *
   * @param switchNode of the machine
   * @param members the PEs that give and get, in the order in which is combined; each has one
   *     connection with these sums
   * @param op how two are combined
   * @param type of the elements
   */
  public record SwitchSum(int switchNode, List<Pe> members, BinaryOp op, DType type) {
    /** Copies the list. */
    public SwitchSum {
      members = List.copyOf(members);
    }
  }
}
