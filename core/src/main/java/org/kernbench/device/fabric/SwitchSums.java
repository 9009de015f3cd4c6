package org.kernbench.device.fabric;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What waits in a switch to be combined: message {@code k} of each member until message {@code k}
 * of the last is there, with nothing left of its bytes to come.
 *
 * <p>The switch needs room for {@code depth} messages of each member and no more: none sends
 * message {@code k + depth} before it has taken the sum of message {@code k} out of its slot.
 *
 * <p>A switch that is slower than its ports begins a sum no sooner than the one before has let it:
 * as long after as the bytes take at its rate. One that is not never waits, for messages cannot
 * come faster.
 *
 * @param <T> a message
 */
public final class SwitchSums<T> {
  private final int members;
  private final List<List<@Nullable T>> waiting = new ArrayList<>();
  private final int[] there;
  private final long[] lastPs;
  private final int[] last;
  private final Adder adder;

  /** What a switch adds up with; all sums that it makes take turns. */
  public static final class Adder {
    private long freePs;
  }

  /**
   * Sums of a number of members.
   *
   * @param depth messages of a member that may wait at once
   * @param adder of the switch
   */
  public SwitchSums(int members, int depth, Adder adder) {
    this.members = members;
    this.adder = adder;
    this.there = new int[depth];
    this.lastPs = new long[depth];
    this.last = new int[depth];
    for (int i = 0; i < depth; i++) {
      waiting.add(none());
    }
  }

  private List<@Nullable T> none() {
    List<@Nullable T> none = new ArrayList<>(members);
    for (int i = 0; i < members; i++) {
      none.add(null);
    }
    return none;
  }

  private int at(long number) {
    return (int) (number % there.length);
  }

  /**
   * A message will be there at a time. That is known ahead, so not in order of time; of several
   * that come last at one time the one of the later member counts as the last.
   *
   * @return whether those of all members are known now
   */
  public boolean arrives(int member, long number, T message, long timePs) {
    int at = at(number);
    if (waiting.get(at).set(member, message) != null) {
      throw new IllegalStateException("bug: message " + number + " of member " + member + " twice");
    }
    if (there[at] == 0 || timePs > lastPs[at] || (timePs == lastPs[at] && member > last[at])) {
      lastPs[at] = timePs;
      last[at] = member;
    }
    there[at]++;
    return there[at] == members;
  }

  /** The member whose message was the last of those with a number. */
  public int last(long number) {
    return last[at(number)];
  }

  /** The messages of that number, by member; the switch has done with them. */
  public List<T> take(long number) {
    int at = at(number);
    List<T> all = new ArrayList<>(members);
    for (T message : waiting.get(at)) {
      if (message == null) {
        throw new IllegalStateException("bug: a sum without all its parts");
      }
      all.add(message);
    }
    waiting.set(at, none());
    there[at] = 0;
    return all;
  }

  /**
   * When the sum of that number sets out.
   *
   * @param occupiedPs how long the switch is busy with it; 0 if it keeps up with its ports
   */
  public long beginsPs(long number, long occupiedPs) {
    long begins = Math.max(lastPs[at(number)], adder.freePs);
    adder.freePs = begins + occupiedPs;
    return begins;
  }

  /** Members whose message with a number is not known to come, of a sum that others wait for. */
  public List<Integer> missing(long number) {
    List<Integer> missing = new ArrayList<>();
    List<@Nullable T> here = waiting.get(at(number));
    for (int member = 0; member < members; member++) {
      if (here.get(member) == null) {
        missing.add(member);
      }
    }
    return missing;
  }

  @Override
  public String toString() {
    return "sums of " + members + " members, there " + Arrays.toString(there);
  }
}
