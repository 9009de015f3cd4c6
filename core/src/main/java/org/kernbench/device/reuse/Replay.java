package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.RowIds;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.Mmu;
import org.kernbench.device.memory.PageMap;

/**
 * A stretch that is replayed: nothing of it happens but its ends, as they came in another.
 *
 * <p>The other may still be under way, in another package that does the same at the same time or
 * began earlier: then this one follows it. Whatever comes of the other, a step, a link that it uses
 * for the first time, accesses that it looks up, this one takes up in the same picosecond, after
 * the event that brought it, and is simulated after all if it cannot do likewise, or if the other
 * turns out to stand for none.
 */
final class Replay extends Stretch implements Follower {
  /** What it does; null once it is over: launches may keep this for as long as tensors live. */
  private @Nullable StretchOutcome known;

  /** What is added to the numbers of the other's links. */
  private final int linksOn;

  /** How many of the other's links it has to itself, and which of its own these are. */
  private int linksTaken;

  private final BitSet taken = new BitSet();

  /** By PE, how many of the accesses of the other have been looked up. */
  private final List<Integer> looked = new ArrayList<>();

  /** As in {@link StretchOutcome#orders}. */
  private final List<Long> orders = new ArrayList<>();

  private final List<Mmu.State> translated = new ArrayList<>();
  private final List<Long> evictions = new ArrayList<>();
  private final List<Integer> streamsBefore = new ArrayList<>();

  /** By launch, its rows in the launch log on its PEs. */
  private final List<int[]> launchRows = new ArrayList<>();

  /** How each launch came to start: as in {@link Started}. */
  private final List<Integer> starters = new ArrayList<>();

  private final List<Integer> starterSlots = new ArrayList<>();

  /** The parts that have ended, as launch number and slot. */
  private final Set<Long> ended = new HashSet<>();

  /** Those of them whose end left its stream without a program. */
  private final Set<Long> emptied = new HashSet<>();

  private final RowIds ids = new RowIds();

  /** PEs and ranges of which has been said that these may hold translations of those. */
  private int pesTold;

  private int rangesTold;

  /** The next step of the other, and the one that is waited for. */
  private int at;

  private int awaited = -1;
  private int event = -1;
  private boolean forgotten;

  /** Whether it will look what has come of the other. */
  private boolean looks;

  /** Whether an access of it hits where the other's missed, or misses where it hit. */
  private boolean deviates;

  private boolean isOver;

  Replay(LaunchMemo memo, StretchOutcome outcome, int home, Lookups.Ranges ranges) {
    super(memo, home, ranges);
    this.known = outcome;
    this.linksOn = (home - outcome.home) * memo.packages.links;
  }

  private StretchOutcome outcome() {
    return Objects.requireNonNull(known);
  }

  boolean hasTaken(int link) {
    return taken.get(link);
  }

  /**
   * Whether a launch that starts now does what the one did that is the next step, which has its
   * key; if so it has been looked up in the TLBs.
   */
  private boolean fits(MemoLaunch launch) {
    for (MemoPe p : launch.pes()) {
      if (!has(p)) {
        if (!p.isAllFor(launch.stream()) || pes.size() == outcome().orders.size()) {
          return false;
        }
        orders.add(Served.order(p.computeEngines(), p.streams()));
        enters(p);
        translated.add(p.mmu().state());
        evictions.add(p.mmu().evictions());
        looked.add(0);
        streamsBefore.add(p.activeStreams());
      }
    }
    return servesInOrder() && looksUp(at);
  }

  /** Whether engines that streams share have served these in the order of the other's engines. */
  private boolean servesInOrder() {
    return !outcome().severalStreams || orders.equals(outcome().orders.subList(0, orders.size()));
  }

  /** Whether what the other has looked up, up to the start after a step, hits and misses alike. */
  private boolean looksUp(int step) {
    for (int slot = 0; slot < pes.size(); slot++) {
      if (!looksUp(step, slot)) {
        return false;
      }
    }
    return true;
  }

  private boolean looksUp(int step, int slot) {
    int to = outcome().lookupsAfter(step, slot);
    Mmu.State state = translated.get(slot);
    Lookups accesses = outcome().lookups.get(slot);
    if (accesses.hasOthers()
        || !Mmu.goesOn(state, accesses, looked.get(slot), to, ranges)
        || (forgotten && state.evictions() > evictions.get(slot))) {
      return false;
    }
    looked.set(slot, to);
    return true;
  }

  /** That an access misses elsewhere is known when it is looked up, not only at the next step. */
  @Override
  public void accessed(int slot) {
    if (slot < pes.size() && !deviates && !looksUp(at - 1, slot)) {
      deviates = true;
      lookLater();
    }
  }

  /** Whether the first launch does what the first of the stretch did. */
  boolean fitsFirst(MemoLaunch launch) {
    return outcome().standsFor(home) && fits(launch);
  }

  /**
   * The first launch begins, if its links are free.
   *
   * @return whether they are
   */
  boolean beginsIfFree(MemoLaunch launch) {
    if (!takesLinks()) {
      return false;
    }
    if (outcome().goesOn()) {
      outcome().isFollowedBy(this);
    }
    memo.replays.add(this);
    add(launch, -1, -1);
    for (MemoPe p : pes) {
      p.mark().replay = this;
    }
    runs(launch);
    at++;
    goOn();
    return true;
  }

  /** Has the links to itself that the other has used since, if they are free. */
  private boolean takesLinks() {
    int[] links = outcome().linksFrom(linksTaken, linksOn);
    if (!outcome().standsFor(home) || !memo.fabric.areFree(links)) {
      return false;
    }
    memo.fabric.takeAll(links);
    for (int link : links) {
      taken.set(link);
    }
    linksTaken += links.length;
    return true;
  }

  /** More has come of the other: when what happens now has happened, it is looked at. */
  @Override
  public void lookLater() {
    if (!looks) {
      looks = true;
      memo.agenda.at(
          pes.getFirst().place(),
          memo.sim.nowPs(),
          () -> {
            looks = false;
            if (!isOver) {
              look();
            }
          });
    }
  }

  private void look() {
    if (outcome().isNotKept()) {
      simulate("followed one that stands for none", false);
    } else if (!takesLinks()) {
      simulate("links in use", false);
    } else if (!servesInOrder()) {
      simulate("engines have served streams in another order", false);
    } else if (deviates || !looksUp(at - 1)) {
      simulate("translations", false);
    } else {
      goOn();
    }
  }

  private void add(MemoLaunch launch, int starter, int starterSlot) {
    launch.mark().member = launches.size();
    launch.mark().replayed = this;
    launches.add(launch);
    starters.add(starter);
    starterSlots.add(starterSlot);
    launchRows.add(launch.pes().stream().mapToInt(launch::rowOn).toArray());
    mayTranslate();
  }

  /** Its PEs may hold translations of its ranges; those of before have been told. */
  private void mayTranslate() {
    List<Lookups.Anchor> all = ranges.anchors();
    List<Lookups.Anchor> added = all.subList(Math.min(rangesTold, all.size()), all.size());
    Mmu.mayHold(added, indices(0, Math.min(pesTold, pes.size())));
    Mmu.mayHold(all, indices(Math.min(pesTold, pes.size()), pes.size()));
    rangesTold = all.size();
    pesTold = pes.size();
  }

  private BitSet indices(int from, int to) {
    BitSet indices = new BitSet();
    pes.subList(from, to).forEach(p -> indices.set(p.index()));
    return indices;
  }

  /** Lets the launch begin, of which is known what comes. */
  private void runs(MemoLaunch launch) {
    running++;
    MemoQueues theirs = queuesOf(launch);
    if (theirs != null) {
      takes(theirs);
    }
    launch.pes().forEach(launch::replaysOn);
  }

  /**
   * Another launch starts on its PEs.
   *
   * @return whether that is done with
   */
  boolean starts(MemoLaunch launch) {
    int starter = starter(launch);
    int starterSlot = starterSlot(launch);
    if (starter < -1) {
      simulate("another launch on its PEs", false);
      return false;
    }
    int pesBefore = pes.size();
    int rangesBefore = ranges.size();
    Key key = keyOf(launch);
    if (key != null
        && !outcome().isNotKept()
        && !deviates
        && at < outcome().steps.size()
        && outcome().steps.get(at) instanceof Started s
        && s.atPs() == memo.sim.nowPs() - startPs
        && s.by() == starter
        && s.bySlot() == starterSlot
        && s.key().equals(key)
        && fits(launch)) {
      add(launch, starter, starterSlot);
      for (int slot = pesBefore; slot < pes.size(); slot++) {
        pes.get(slot).mark().replay = this;
      }
      runs(launch);
      at++;
      goOn();
      return true;
    }
    while (pes.size() > pesBefore) {
      pes.removeLast();
      ordinals.removeLast();
      engines.removeLast();
      looked.removeLast();
      orders.removeLast();
    }
    ranges.truncate(rangesBefore);
    add(launch, starter, starterSlot);
    simulate("another launch than before beside them", true);
    return true;
  }

  /** Waits for the next step. */
  private void goOn() {
    if (at == outcome().steps.size() || awaited == at) {
      return;
    }
    awaited = at;
    Step step = outcome().steps.get(at);
    int expected = at;
    event =
        switch (step) {
          case Started s ->
              memo.agenda.lastAt(
                  startPs + s.atPs(),
                  () -> {
                    if (at == expected) {
                      simulate("no launch beside them as before", true);
                    }
                  });
          case Ended e -> memo.agenda.at(pes.get(e.slot()).place(), startPs + e.atPs(), this::end);
        };
  }

  /** All that end now do so, up to the next start. */
  private void end() {
    StretchOutcome outcome = outcome();
    if (outcome.isNotKept() || deviates || !servesInOrder() || !looksUp(at - 1)) {
      simulate("followed one that stands for none", false);
      return;
    }
    while (at < outcome.steps.size()
        && outcome.steps.get(at) instanceof Ended e
        && startPs + e.atPs() == memo.sim.nowPs()) {
      MemoPe p = pes.get(e.slot());
      MemoLaunch launch = launches.get(e.member());
      if (staysShared(p, launch.stream(), launch.isLastCalledOn(p)) != e.shared()) {
        simulate("another launch called on its PEs", true);
        return;
      }
      at++;
      end(e, launch, p);
    }
    if (at < outcome.steps.size()) {
      goOn();
    }
  }

  private void end(Ended e, MemoLaunch launch, MemoPe p) {
    reserveIds(e);
    long part = part(e.member(), e.slot());
    ended.add(part);
    if (launch.isLastCalledOn(p)) {
      emptied.add(part);
    }
    if (launch.isLastPart()) {
      running--;
    }
    if (running == 0) {
      write();
    }
    long donePs = startPs + e.donePs();
    memo.host.isLater(donePs);
    launch.hasReplayedOn(
        p,
        startPs + e.endPs(),
        ids.id(e.slot(), e.lastOp()),
        donePs,
        ids.id(e.slot(), e.lastSeen()));
  }

  /** Rows get their ids: all of them, or if not all are known those that an end speaks of. */
  private void reserveIds(Ended e) {
    if (outcome().goesOn()) {
      ids.reserve(memo.host.log(), e.slot(), 1 + Math.max(e.lastOp(), e.lastSeen()));
      return;
    }
    for (int slot = 0; slot < outcome().lookups.size(); slot++) {
      ids.reserve(memo.host.log(), slot, outcome().rows.size(slot));
    }
  }

  /** Whether the end of a part, of which others have been told, left its stream without any. */
  boolean isEmptied(LaunchMark launch, MemoPe p) {
    return emptied.contains(part(launch.member, p.mark().slot));
  }

  private static long part(int member, int slot) {
    return (long) member << 32 | slot;
  }

  /** The last launch has ended: what came of them stands in the log and on the PEs. */
  private void write() {
    StretchOutcome outcome = outcome();
    int[] launchIds = launches.stream().mapToInt(MemoLaunch::id).toArray();
    for (int slot = 0; slot < pes.size(); slot++) {
      MemoPe p = pes.get(slot);
      outcome.rows.write(
          memo.host.log(),
          memo.host.tally(),
          slot,
          ids,
          ordinals.get(slot),
          p.index(),
          launchIds,
          linksOn,
          startPs);
      p.addCommands(outcome.rows.size(slot));
      p.mmu().becomes(translated.get(slot));
      List<MemoEngine> theirs = engines.get(slot);
      for (int k = 0; k < theirs.size(); k++) {
        outcome.served.get(slot).get(k).leave(theirs.get(k), startPs, ids, slot);
      }
    }
    for (int i = 0; i < queues.size(); i++) {
      List<? extends MemoQueues.End> ends = queues.get(i).ends();
      for (int k = 0; k < ends.size(); k++) {
        ends.get(k)
            .passes(outcome.passages.get(i).get(k), startPs, row -> outcome.rows.id(row, ids));
      }
    }
    outcome.rows.writeMoves(memo.host.log(), ids, linksOn, startPs);
    giveUp();
    memo.outcomes.isProven(outcome);
    launches.forEach(l -> l.mark().replayed = null);
    memo.counts.reused += launches.size();
    memo.counts.operations += outcome.rows.size();
    memo.outcomes.follows(pes.getFirst().index(), outcome);
  }

  private void giveUp() {
    isOver = true;
    translated.clear(); // a TLB for each PE, and launches may keep this for as long as tensors live
    outcome().isLeftBy(this);
    known = null;
    memo.fabric.giveBack(taken.stream().toArray());
    memo.replays.remove(this);
    for (MemoPe p : pes) {
      p.mark().replay = null;
    }
  }

  /** Translations of a range are about to be forgotten on one of its PEs. */
  void forgets(MemoPe p, PageMap.Range range) {
    int slot = p.mark().slot;
    Mmu.State state = translated.get(slot);
    if (hasRange(range) || state.evictions() > evictions.get(slot)) {
      simulate("memory unmapped", false);
    } else {
      Mmu.forgetIn(range, state);
      forgotten = true;
    }
  }

  /**
   * It did not go on as it did, or somebody comes in its way: it is simulated after all.
   *
   * @param note whether what comes of it may stand for others
   */
  void simulate(String why, boolean note) {
    giveUp();
    memo.agenda.cancel(event);
    for (int slot = 0; slot < pes.size(); slot++) {
      pes.get(slot).activeStreams(streamsBefore.get(slot));
    }
    for (MemoLaunch launch : launches) {
      launch.mark().simulatedFor = memo.counts.isSimulated(why);
      launch.startsAgain();
    }
    memo.sim.catchUp(
        startPs,
        () -> {
          Noted n = note ? noted() : null;
          for (int member = 0; member < launches.size(); member++) {
            if (starters.get(member) < 0) {
              startAgain(member, n);
            }
          }
        });
  }

  private @Nullable Noted noted() {
    Lookups.Ranges none = new Lookups.Ranges();
    Key key = KeyWriter.keyOf(launches.getFirst(), memo.host, memo.packages, home, none);
    return key == null ? null : new Noted(memo, home, key, new Lookups.Ranges());
  }

  private void startAgain(int member, @Nullable Noted n) {
    MemoLaunch launch = launches.get(member);
    if (n != null && !n.isOver()) {
      Key key = n.keyOf(launch);
      if (key == null) {
        n.spoil("kernels beside them that do not say what they depend on");
      } else {
        n.add(launch, key, starters.get(member), starterSlots.get(member));
      }
    }
    int[] theirs = launchRows.get(member);
    for (int i = 0; i < theirs.length; i++) {
      MemoPe p = launch.pes().get(i);
      boolean told = has(p) && ended.contains(part(member, p.mark().slot));
      launch.startsAfterAllOn(p, theirs[i], told);
    }
  }

  /** A PE has ended its part again: what it let start starts again. */
  void endsAgain(MemoLaunch launch, MemoPe p) {
    LaunchMark mark = launch.mark();
    if (isEmptied(mark, p)) {
      p.activeStreams(p.activeStreams() - 1);
    }
    for (int member = 0; member < launches.size(); member++) {
      if (starters.get(member) == mark.member && starterSlots.get(member) == p.mark().slot) {
        int number = member;
        memo.agenda.startAt(
            memo.sim.nowPs(), launches.get(number), () -> startAgain(number, mark.noted));
      }
    }
  }
}
