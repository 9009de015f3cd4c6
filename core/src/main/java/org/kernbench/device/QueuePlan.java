package org.kernbench.device;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
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
      if (end % 2 == 1 && c.isOneEnd(home)) {
        continue;
      }
      String direction = end % 2 == 0 ? c.aDirection : c.bDirection;
      order[end] =
          direction.equals(Connection.NONE)
              ? Integer.MAX_VALUE
              : said.computeIfAbsent(direction, d -> said.size());
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
   * Whose slots a message takes that is sent at an end: of a peer those of its own connection; of a
   * giver to sums those in which it gets them itself, or else those of all that get them. Ends by
   * their numbers, as {@link #places} counts.
   */
  public int[] slotsOf(int end) {
    SwitchSum sums = connections.get(end / 2).sums.orElse(null);
    if (sums == null || sums.takers.contains(connections.get(end / 2).b)) {
      return new int[] {end ^ 1};
    }
    return ends(sums, sums.takers, 1);
  }

  /** Where what arrives at an end was sent: at one other end, or at those of all that give. */
  public int[] sentAt(int end) {
    return connections
        .get(end / 2)
        .sums
        .map(sums -> ends(sums, sums.givers, 0))
        .orElse(new int[] {end ^ 1});
  }

  private int[] ends(SwitchSum sums, List<Pe> of, int side) {
    return IntStream.range(0, connections.size())
        .filter(i -> connections.get(i).sums.filter(sums::equals).isPresent())
        .filter(i -> of.contains(connections.get(i).a))
        .map(i -> 2 * i + side)
        .toArray();
  }

  /**
   * Two ends of one duplex queue pair. What {@code a} sends to {@code aDirection} arrives at {@code
   * b} from {@code bDirection}, and the other way round. The pair is matched by identity, not by
   * name: with two ranks E and W lead to the same peer and both work.
   *
   * @param sums if a switch adds up or copies on the way: then {@code a} and {@code b} are one PE,
   *     what it sends to {@code aDirection} goes up to the switch, and what the switch makes of it
   *     arrives from {@code bDirection}; nothing goes the other way
   */
  public record Connection(
      Pe a, String aDirection, Pe b, String bDirection, Optional<SwitchSum> sums) {
    /** The direction of an end through which nothing goes; programs do not know it. */
    public static final String NONE = "";

    /** Two ends with nothing but links between them. */
    public Connection(Pe a, String aDirection, Pe b, String bDirection) {
      this(a, aDirection, b, bDirection, Optional.empty());
    }

    /**
     * Whether both ends are one: where packages are folded, those of a queue that leads half way
     * round, under the same direction from either side.
     *
     * @param home the PE that has the ends of a PE
     */
    public boolean isOneEnd(UnaryOperator<Pe> home) {
      return !a.equals(b) && aDirection.equals(bDirection) && home.apply(a).equals(home.apply(b));
    }

    /** Whose slots messages come into: both ends, and of a switch's sums the one that gets them. */
    public List<Pe> receivers() {
      return sums.map(s -> s.takers.contains(b) ? List.of(b) : List.<Pe>of()).orElse(List.of(a, b));
    }

    /** A PE that gives to what a switch makes by one direction and gets it by the other, or one. */
    public static Connection ofSums(Pe pe, String up, String down, SwitchSum sums) {
      String gives = sums.givers.contains(pe) ? up : NONE;
      String takes = sums.takers.contains(pe) ? down : NONE;
      return new Connection(pe, gives, pe, takes, Optional.of(sums));
    }
  }

  /**
   * What a switch makes of messages: number {@code k} of each giver, which fits a slot, waits there
   * for number {@code k} of all others; then they are combined in the order of the givers, and the
   * result goes down to each taker. With one giver, that is a copy for each taker.
   *
   * @param switchNode of the machine
   * @param givers the PEs that give, in the order in which is combined; each has one connection
   *     with these sums
   * @param takers the PEs that get the result: givers too, or, of one giver, others
   * @param op how two are combined
   * @param type of the elements
   */
  public record SwitchSum(
      int switchNode, List<Pe> givers, List<Pe> takers, BinaryOp op, DType type) {
    /** Checks who takes, and copies the lists. */
    public SwitchSum {
      givers = List.copyOf(givers);
      takers = List.copyOf(takers);
      boolean copies = givers.size() == 1 && !takers.contains(givers.getFirst());
      if (takers.isEmpty() || !(copies || givers.containsAll(takers))) {
        throw new IllegalArgumentException(
            "sums of %s for %s; expected takers that give too, or one giver and others that take"
                .formatted(givers, takers));
      }
    }

    /** Sums of which all that give get each. */
    public SwitchSum(int switchNode, List<Pe> members, BinaryOp op, DType type) {
      this(switchNode, members, members, op, type);
    }

    /** One that copies: the giver's bytes go to several, and nothing is combined. */
    public static SwitchSum copies(int switchNode, Pe giver, List<Pe> takers, DType type) {
      return new SwitchSum(switchNode, List.of(giver), takers, BinaryOp.ADD, type);
    }

    /** Whether what one PE gives is handed out to others. */
    public boolean isCopy() {
      return !givers.containsAll(takers);
    }
  }
}
