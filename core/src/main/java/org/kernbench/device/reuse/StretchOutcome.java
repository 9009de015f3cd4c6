package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.kernbench.device.log.OpRows;
import org.kernbench.device.memory.Lookups;

/** What came of a stretch, or what has come of it so far, while it is noted. */
final class StretchOutcome {
  /** The package that it was in, see {@link Stretch#home}. */
  final int home;

  final OpRows rows = new OpRows();
  final List<Step> steps = new ArrayList<>();

  /** Which of these are starts. */
  private int[] starts = new int[1];

  private int startCount;

  /** By PE, what its engines served last. */
  final List<List<Served>> served = new ArrayList<>();

  /** For the queues of each launch that has some, what messages have left at each end. */
  final List<List<MemoQueues.Passage>> passages = new ArrayList<>();

  final List<Lookups> lookups = new ArrayList<>();

  /** By PE, in which order its engines had served its streams; not asked if one stream has all. */
  final List<Long> orders = new ArrayList<>();

  boolean severalStreams;

  /** In the order in which they were used first. */
  private int[] links = new int[8];

  private int linkCount;
  private final BitSet linksKnown = new BitSet();
  private boolean isWithinPackage = true;

  private Progress progress = Progress.GOES_ON;

  /** Stretches elsewhere that do the same meanwhile, as far as can be seen. */
  private final List<Follower> followers = new ArrayList<>();

  private enum Progress {
    GOES_ON,
    IS_KNOWN,
    IS_NOT_KEPT
  }

  /** When it began. */
  private final long startPs;

  StretchOutcome(int home, long startPs) {
    this.home = home;
    this.startPs = startPs;
  }

  /** How many accesses of a PE have been looked up when the step after one begins. */
  int lookupsAfter(int step, int slot) {
    int next = Arrays.binarySearch(starts, 0, startCount, step + 1);
    int start = next < 0 ? -next - 1 : next;
    if (start == startCount) {
      return slot < lookups.size() ? lookups.get(slot).size() : 0;
    }
    int[] before = ((Started) steps.get(starts[start])).lookups();
    return slot < before.length ? before[slot] : 0;
  }

  /** A launch of it starts. */
  void starts(Started step) {
    if (startCount == starts.length) {
      starts = Arrays.copyOf(starts, 2 * startCount);
    }
    starts[startCount++] = steps.size();
    steps.add(step);
  }

  // ---- links ----

  /** Bytes enter a link. */
  void uses(int link, PackageTwins packages) {
    if (!linksKnown.get(link)) {
      linksKnown.set(link);
      if (linkCount == links.length) {
        links = Arrays.copyOf(links, linkCount * 2);
      }
      links[linkCount++] = link;
      isWithinPackage &= home != PackageTwins.NONE && packages.hasLink(home, link);
    }
  }

  /** Links so far. */
  int linkCount() {
    return linkCount;
  }

  /** Those from one on, as a package has them; only if it {@link #standsFor} that. */
  int[] linksFrom(int first, int linksOn) {
    int[] moved = Arrays.copyOfRange(links, first, linkCount);
    for (int i = 0; i < moved.length; i++) {
      moved[i] += linksOn;
    }
    return moved;
  }

  /** Whether it may stand for a stretch in a package, whose key is equal. */
  boolean standsFor(int sip) {
    return sip == home || isWithinPackage;
  }

  // ---- while it is noted ----

  boolean goesOn() {
    return progress == Progress.GOES_ON;
  }

  /** Whether it goes on and began no later than a stretch that would follow it. */
  boolean isAhead(long othersStartPs) {
    return goesOn() && startPs <= othersStartPs;
  }

  /** Whether it stands for no others after all. */
  boolean isNotKept() {
    return progress == Progress.IS_NOT_KEPT;
  }

  void isFollowedBy(Follower other) {
    followers.add(other);
  }

  void isLeftBy(Follower other) {
    followers.remove(other);
  }

  /** More has come of it. */
  void grows() {
    followers.forEach(Follower::lookLater);
  }

  /** An access of a PE has been looked up. */
  void accessed(int slot) {
    for (int i = 0; i < followers.size(); i++) {
      followers.get(i).accessed(slot);
    }
  }

  /** All has come of it. */
  void ends(boolean isKept) {
    progress = isKept ? Progress.IS_KNOWN : Progress.IS_NOT_KEPT;
    grows();
    followers.clear();
  }
}
