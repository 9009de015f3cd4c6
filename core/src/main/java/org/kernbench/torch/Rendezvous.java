package org.kernbench.torch;

import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;

/**
 * A meeting of all members of a group. A rank that waits here goes on when all have arrived and
 * what they do together has been enqueued; the device's part of it may still be under way.
 */
final class Rendezvous implements Wait {
  /**
   * What all members of a group must agree on when they meet.
   *
   * @param op the method called
   * @param group the process group as messages show it
   * @param sequence how many meetings of this group the rank has had before
   * @param operands what was given: a value that tells itself as text; empty text if nothing was
   */
  record Fingerprint(String op, String group, int sequence, Object operands) {
    /** For example {@code allReduce #2 of group tp [0, 1]: f32[8], SUM}. */
    @Override
    public String toString() {
      String what = operands.toString();
      return op + " #" + sequence + " of " + group + (what.isEmpty() ? "" : ": " + what);
    }
  }

  private final Fingerprint fingerprint;
  private final int[] ranks;

  /** By member the one that comes for it; empty if each comes itself. */
  private final int[] standIns;

  private final int expected;
  private final int firstRank;
  private final String firstPlace;
  private final BitSet arrived = new BitSet();
  private final @Nullable Contribution[] contributions;
  private int count;
  private @Nullable Launch launch;
  private @Nullable List<Launch> first;
  private Runnable completion = () -> {};
  private List<Members> made = List.of();
  private boolean over;

  /**
   * A meeting.
   *
   * @param fingerprint of the rank that comes first
   * @param ranks global numbers of the members, ascending
   * @param standIns by member the one that comes for it as well; empty if each comes itself
   * @param firstRank global number of the rank that comes first
   * @param firstPlace where it is in its program
   */
  Rendezvous(
      Fingerprint fingerprint, int[] ranks, int[] standIns, int firstRank, String firstPlace) {
    this.fingerprint = fingerprint;
    this.ranks = ranks;
    this.standIns = standIns;
    this.expected =
        (int) IntStream.range(0, ranks.length).filter(member -> standIn(member) == member).count();
    this.firstRank = firstRank;
    this.firstPlace = firstPlace;
    this.contributions = new Contribution[ranks.length];
  }

  /**
   * A member arrives.
   *
   * @param member its number in the group
   * @param place says where the member is in its program
   * @return whether all have now arrived
   * @throws CollectiveMismatchException if it came for something else than the first did
   */
  boolean arrive(
      int member, Fingerprint mine, @Nullable Contribution contribution, Supplier<String> place) {
    if (!mine.equals(fingerprint)) {
      throw mismatch(firstRank, fingerprint, firstPlace, ranks[member], mine, place.get());
    }
    if (arrived.get(member)) {
      throw new IllegalStateException("rank " + ranks[member] + " arrives twice at " + fingerprint);
    }
    arrived.set(member);
    contributions[member] = contribution;
    return ++count == expected;
  }

  private int standIn(int member) {
    return standIns.length == 0 ? member : standIns[member];
  }

  /** The members that have come. */
  int[] arrived() {
    return arrived.stream().toArray();
  }

  static CollectiveMismatchException mismatch(
      int one, Object first, String firstPlace, int other, Object second, String secondPlace) {
    return new CollectiveMismatchException(
        """
        ranks disagree on what they do together:
          rank %s: %s, at %s
          rank %s: %s, at %s
          expected the same operation, shape, dtype and reduction on every rank of the \
        group, in the same order\
        """
            .formatted(one, first, firstPlace, other, second, secondPlace));
  }

  boolean isFull() {
    return count == expected;
  }

  /** Groups that the meeting made. */
  List<Members> made() {
    return made;
  }

  void make(List<Members> groups) {
    made = groups;
  }

  Fingerprint fingerprint() {
    return fingerprint;
  }

  String firstPlace() {
    return firstPlace;
  }

  int size() {
    return ranks.length;
  }

  int globalRank(int member) {
    return ranks[member];
  }

  /** What a member brought, or who came for it. */
  Contribution contribution(int member) {
    Contribution c = contributions[standIn(member)];
    if (c == null) {
      throw new IllegalStateException("rank " + ranks[member] + " brought nothing");
    }
    return c;
  }

  /** All have arrived: the meeting is over, its device work, if any, enqueued. */
  void end(@Nullable Launch started) {
    launch = started;
    over = true;
  }

  /** All have arrived: the meeting is over when these are done and then {@code last} has run. */
  void endAfter(List<Launch> launches, Runnable last) {
    first = launches;
    completion = last;
  }

  @Override
  public Optional<Launch> launch() {
    return Optional.ofNullable(launch);
  }

  @Override
  public boolean isOver() {
    return over;
  }

  @Override
  public Optional<Launch> awaits() {
    return first == null
        ? Optional.empty()
        : first.stream().filter(launch -> !launch.isDone()).findFirst();
  }

  @Override
  public boolean endIfDone() {
    if (!over && first != null && first.stream().allMatch(Launch::isDone)) {
      over = true;
      completion.run();
    }
    return over;
  }

  @Override
  public BitSet missing() {
    BitSet missing = new BitSet();
    for (int member = arrived.nextClearBit(0);
        member < ranks.length;
        member = arrived.nextClearBit(member + 1)) {
      if (standIn(member) == member) {
        missing.set(ranks[member]);
      }
    }
    return missing;
  }

  @Override
  public String describe() {
    BitSet missing = missing();
    String what = missing.isEmpty() ? "its kernel" : Rank.named(missing);
    return fingerprint + ", which waits for " + what;
  }
}
