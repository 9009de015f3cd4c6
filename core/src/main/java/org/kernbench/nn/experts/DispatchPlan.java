package org.kernbench.nn.experts;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * How the tokens of one rank go to their experts and back, and which come from others.
 *
 * <p>Order: a rank sends copies by the number of the expert, and those for one expert by the row of
 * the token. Ranks of one {@code ep} group exchange them; ranks of one {@code etp} group then
 * gather what each of them has got, for all have a part of the same experts. There rows are ordered
 * by expert, within one by the sending rank ({@code etp}, then {@code ep} number), then by row. On
 * the way back all of that is undone.
 */
public final class DispatchPlan {
  private final int[] sent;
  private final int[] places;
  private final List<Integer> toPeers;
  private final List<Integer> fromPeers;
  private final List<Integer> gathered;
  private final int[] byExpert;
  private final int[] back;
  private final int[] perExpert;
  private final int dropped;

  private DispatchPlan(
      int[] sent,
      int[] places,
      List<Integer> toPeers,
      List<Integer> fromPeers,
      List<Integer> gathered,
      int[] byExpert,
      int[] perExpert) {
    this.sent = sent;
    this.places = places;
    this.toPeers = toPeers;
    this.fromPeers = fromPeers;
    this.gathered = gathered;
    this.byExpert = byExpert;
    this.back = new int[byExpert.length];
    for (int i = 0; i < byExpert.length; i++) {
      back[byExpert[i]] = i;
    }
    this.perExpert = perExpert;
    this.dropped = (int) Arrays.stream(places).filter(p -> p < 0).count();
  }

  /**
   * A rank's place among those that have all experts once.
   *
   * @param etp ranks that have parts of the same experts
   * @param etpRank number among them
   * @param ep ranks over which experts are divided
   * @param epRank number among them
   */
  public record Place(int etp, int etpRank, int ep, int epRank) {
    /** Alone with all experts. */
    public static final Place ALONE = new Place(1, 0, 1, 0);
  }

  /** What the members of a region send: for each row, the experts of its copies. */
  @FunctionalInterface
  public interface Senders {
    /** Of the member with these numbers; a negative expert stands for a copy that is dropped. */
    int[][] of(int etpRank, int epRank);
  }

  /**
   * The plan of a rank.
   *
   * @param experts how many there are; a multiple of {@code place.ep()}
   * @param senders what each member of the rank's region sends
   */
  public static DispatchPlan of(int experts, Place place, Senders senders) {
    int each = experts / place.ep;
    int first = place.epRank * each;
    int[][] own = senders.of(place.etpRank, place.epRank);
    int topK = own.length == 0 ? 0 : own[0].length;
    List<int[]> order = order(own);
    int[] sent = order.stream().mapToInt(copy -> copy[0]).toArray();
    int[] places = new int[own.length * topK];
    Arrays.fill(places, -1);
    for (int i = 0; i < sent.length; i++) {
      places[order.get(i)[0] * topK + order.get(i)[1]] = i;
    }
    List<Integer> toPeers =
        IntStream.range(0, place.ep)
            .map(q -> between(order, q * each, (q + 1) * each))
            .boxed()
            .toList();
    List<Integer> fromPeers = new ArrayList<>();
    List<Integer> gathered = new ArrayList<>();
    List<Integer> expertOf = new ArrayList<>(); // of each gathered row, in their order
    for (int m = 0; m < place.etp; m++) {
      int all = 0;
      for (int q = 0; q < place.ep; q++) {
        List<int[]> theirs = order(senders.of(m, q));
        int mine = between(theirs, first, first + each);
        all += mine;
        if (m == place.etpRank) {
          fromPeers.add(mine);
        }
        for (int[] copy : theirs) {
          if (copy[2] >= first && copy[2] < first + each) {
            expertOf.add(copy[2] - first);
          }
        }
      }
      gathered.add(all);
    }
    int[] byExpert =
        IntStream.range(0, expertOf.size())
            .boxed()
            .sorted(Comparator.comparing(expertOf::get)) // stable
            .mapToInt(Integer::intValue)
            .toArray();
    int[] perExpert = new int[each];
    expertOf.forEach(e -> perExpert[e]++);
    return new DispatchPlan(sent, places, toPeers, fromPeers, gathered, byExpert, perExpert);
  }

  /** Copies that are sent, as row, choice and expert: by expert, then by row, then by choice. */
  private static List<int[]> order(int[][] experts) {
    List<int[]> copies = new ArrayList<>();
    for (int row = 0; row < experts.length; row++) {
      for (int j = 0; j < experts[row].length; j++) {
        if (experts[row][j] >= 0) {
          copies.add(new int[] {row, j, experts[row][j]});
        }
      }
    }
    copies.sort(Comparator.comparingInt(copy -> copy[2])); // stable
    return copies;
  }

  private static int between(List<int[]> copies, int from, int to) {
    return (int) copies.stream().filter(c -> c[2] >= from && c[2] < to).count();
  }

  /**
   * Leaves out copies that an expert has no room for: of a sample it takes those at the earliest
   * positions.
   *
   * @param length of a sample
   */
  public static Choices within(Choices choices, ExpertsConfig config, int length) {
    int most = config.capacityOf(length);
    if (most >= length) {
      return choices;
    }
    Map<Integer, int[][]> bySample = new HashMap<>();
    return (sample, position) ->
        bySample
            .computeIfAbsent(sample, s -> limited(choices, s, config.experts(), most, length))[
            position];
  }

  private static int[][] limited(Choices choices, int sample, int experts, int most, int length) {
    int[] taken = new int[experts];
    int[][] kept = new int[length][];
    for (int position = 0; position < length; position++) {
      int[] own = choices.of(sample, position).clone();
      for (int j = 0; j < own.length; j++) {
        own[j] = taken[own[j]]++ < most ? own[j] : -1;
      }
      kept[position] = own;
    }
    return kept;
  }

  /** The row of each copy that this rank sends, in the order in which it does. */
  public int[] sent() {
    return sent.clone();
  }

  /** For each row and choice, which of the sent copies it is; negative if it is dropped. */
  public int[] places() {
    return places.clone();
  }

  /** Copies that go to each rank of the {@code ep} group. */
  public List<Integer> toPeers() {
    return toPeers;
  }

  /** Copies that come from each. */
  public List<Integer> fromPeers() {
    return fromPeers;
  }

  /** Copies that each rank of the {@code etp} group has got. */
  public List<Integer> gathered() {
    return gathered;
  }

  /** Which gathered row each row by expert is. */
  public int[] byExpert() {
    return byExpert.clone();
  }

  /** The inverse. */
  public int[] back() {
    return back.clone();
  }

  /** Copies that each of this rank's experts computes. */
  public int[] perExpert() {
    return perExpert.clone();
  }

  /** Copies of this rank's tokens that are dropped. */
  public int dropped() {
    return dropped;
  }

  /**
   * Copies that this rank sends to others, of its experts' copies to each that has parts of them.
   */
  public int sentAway(Place place) {
    return sent.length - toPeers.get(place.epRank) + (place.etp - 1) * gathered.get(place.etpRank);
  }

  /** Copies that this rank gets from others. */
  public int gotFromOthers(Place place) {
    return byExpert.length - fromPeers.get(place.epRank);
  }
}
