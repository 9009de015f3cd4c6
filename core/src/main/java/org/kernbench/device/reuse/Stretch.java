package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.PageMap;

/** The launches of a stretch so far, and what they have in common. */
abstract class Stretch {
  final LaunchMemo memo;
  final List<MemoLaunch> launches = new ArrayList<>();
  final List<MemoPe> pes = new ArrayList<>();
  final Lookups.Ranges ranges;
  final List<Integer> ordinals = new ArrayList<>();

  /** By PE, the engines whose work the next launches notice: of messages those that it uses. */
  final List<List<MemoEngine>> engines = new ArrayList<>();

  /** The queues of its launches, in their order. */
  final List<MemoQueues> queues = new ArrayList<>();

  final long startPs;

  /** The package that its first launch is in; {@link PackageTwins#NONE} if that is in several. */
  final int home;

  private final int startsBefore;

  /** Launches under way. */
  int running;

  Stretch(LaunchMemo memo, int home, Lookups.Ranges ranges) {
    this.memo = memo;
    this.home = home;
    this.ranges = ranges;
    this.startPs = memo.sim.nowPs();
    this.startsBefore = memo.host.startCount();
  }

  /** What comes of a launch of it depends on this; null if that is not known. */
  @Nullable Key keyOf(MemoLaunch launch) {
    MemoQueues theirs = queuesOf(launch);
    if (theirs != null && uses(theirs)) {
      return null; // how they are left by the launch before, a replay does not know
    }
    return KeyWriter.keyOf(launch, memo.host, memo.packages, home, ranges);
  }

  /**
   * The queues of a launch if it is known what its messages depend on; null if it has none, or
   * others may come in their way: then it stands for others only if it sends and receives nothing.
   */
  static @Nullable MemoQueues queuesOf(MemoLaunch launch) {
    MemoQueues queues = launch.queues();
    return queues != null && queues.areAtRest() ? queues : null;
  }

  private boolean uses(MemoQueues other) {
    for (MemoQueues q : queues) {
      if (q.set().equals(other.set())) {
        return true;
      }
    }
    return false;
  }

  /** A PE is in it from now on, as its last. */
  void enters(MemoPe p) {
    p.mark().slot = pes.size();
    pes.add(p);
    ordinals.add(p.commands());
    engines.add(new ArrayList<>(p.computeEngines()));
  }

  /** A launch, whose PEs are in it, uses these queues. */
  void takes(MemoQueues theirs) {
    queues.add(theirs);
    for (MemoQueues.End end : theirs.ends()) {
      List<MemoEngine> there = engines.get(memo.host.pe(end.peIndex()).mark().slot);
      for (MemoEngine e : List.of(end.channel(), end.receiver())) {
        if (!there.contains(e)) {
          there.add(e);
        }
      }
    }
  }

  boolean has(MemoPe p) {
    int slot = p.mark().slot;
    return slot < pes.size() && pes.get(slot) == p;
  }

  /** Which launch's end let another start: its number; -1 for none that is not of the past. */
  int starter(MemoLaunch launch) {
    MemoLaunch by = launch.startedBy();
    int member = by == null ? -1 : launches.indexOf(by);
    return member >= 0 || wasDecidedBefore(launch) ? member : -2;
  }

  private boolean wasDecidedBefore(MemoLaunch launch) {
    return memo.sim.nowPs() == startPs && launch.startNumber() < startsBefore;
  }

  int starterSlot(MemoLaunch launch) {
    return starter(launch) < 0 ? -1 : launch.startedByPe().mark().slot;
  }

  boolean hasRange(PageMap.Range range) {
    return ranges.number(range) >= 0;
  }

  /**
   * Whether a PE that ends its part of a launch, while it has one of another stream, still has
   * several streams with programs, or launches that wait.
   *
   * @param leavesNothing whether the stream of the one that ends has no other
   */
  static boolean staysShared(MemoPe p, int stream, boolean leavesNothing) {
    return !p.isAllFor(stream) && p.activeStreams() - (leavesNothing ? 1 : 0) > 1;
  }
}
