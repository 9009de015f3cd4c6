package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.Mmu;
import org.kernbench.device.memory.PageMap;

/** A stretch that is replayed. */
final class Replay extends Stretch {
  private final StretchOutcome outcome;
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

  private int[] firstIds = new int[0];

  /** PEs and ranges of which has been said that these may hold translations of those. */
  private int pesTold;

  private int rangesTold;

  private int at;
  private int event = -1;
  private boolean forgotten;

  Replay(LaunchMemo memo, StretchOutcome outcome, Lookups.Ranges ranges) {
    super(memo, ranges);
    this.outcome = outcome;
  }

  int[] links() {
    return outcome.links;
  }

  /**
   * Whether a launch that starts now does what the one did that is the next step, which has its
   * key; if so it has been looked up in the TLBs.
   */
  private boolean fits(MemoLaunch launch, Started step) {
    for (MemoPe p : launch.pes()) {
      if (!has(p)) {
        if (!p.isAllFor(launch.stream())
            || (outcome.severalStreams
                && outcome.orders.get(pes.size())
                    != Served.order(p.computeEngines(), p.streams()))) {
          return false;
        }
        p.mark().slot = pes.size();
        pes.add(p);
        translated.add(p.mmu().state());
        evictions.add(p.mmu().evictions());
        ordinals.add(p.commands());
        streamsBefore.add(p.activeStreams());
      }
    }
    for (int slot = 0; slot < pes.size(); slot++) {
      int from = slot < step.lookups().length ? step.lookups()[slot] : 0;
      Mmu.State state = translated.get(slot);
      int to = outcome.lookupsAfter(at, slot);
      if (!Mmu.goesOn(state, outcome.lookups.get(slot), from, to, ranges)
          || (forgotten && state.evictions() > evictions.get(slot))) {
        return false;
      }
    }
    return true;
  }

  /** Whether the first launch does what the first of the stretch did. */
  boolean fitsFirst(MemoLaunch launch) {
    return fits(launch, (Started) outcome.steps.getFirst());
  }

  /** The first launch begins, and its links are free. */
  void begin(MemoLaunch launch) {
    memo.fabric.takeAll(outcome.links);
    memo.replays.add(this);
    add(launch, -1, -1);
    for (MemoPe p : pes) {
      p.mark().replay = this;
    }
    runs(launch);
    at++;
    goOn();
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
    for (int slot = 0; slot < pes.size(); slot++) {
      pes.get(slot).mmu().mayHold(slot < pesTold ? added : all);
    }
    rangesTold = all.size();
    pesTold = pes.size();
  }

  /** Lets the launch begin, of which is known what comes. */
  private void runs(MemoLaunch launch) {
    running++;
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
    Key key = KeyWriter.keyOf(launch, memo.host.map(), ranges);
    if (key != null
        && at < outcome.steps.size()
        && outcome.steps.get(at) instanceof Started s
        && s.atPs() == memo.sim.nowPs() - startPs
        && s.by() == starter
        && s.bySlot() == starterSlot
        && s.key().equals(key)
        && fits(launch, s)) {
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
    }
    ranges.truncate(rangesBefore);
    add(launch, starter, starterSlot);
    simulate("another launch than before beside them", true);
    return true;
  }

  /** Waits for the next step. */
  private void goOn() {
    if (at == outcome.steps.size()) {
      return;
    }
    Step step = outcome.steps.get(at);
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
    if (firstIds.length == 0) {
      firstIds = new int[outcome.lookups.size()];
      for (int slot = 0; slot < firstIds.length; slot++) {
        firstIds[slot] = memo.host.log().reserve(outcome.rows.size(slot));
      }
    }
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
        p, startPs + e.endPs(), id(e.slot(), e.lastOp()), donePs, id(e.slot(), e.lastSeen()));
  }

  /** Whether the end of a part, of which others have been told, left its stream without any. */
  boolean isEmptied(LaunchMark launch, MemoPe p) {
    return emptied.contains(part(launch.member, p.mark().slot));
  }

  private static long part(int member, int slot) {
    return (long) member << 32 | slot;
  }

  private int id(int slot, int row) {
    return row < 0 ? row : firstIds[slot] + row;
  }

  /** The last launch has ended: what came of them stands in the log and on the PEs. */
  private void write() {
    int[] ids = launches.stream().mapToInt(MemoLaunch::id).toArray();
    for (int slot = 0; slot < pes.size(); slot++) {
      MemoPe p = pes.get(slot);
      outcome.rows.write(
          memo.host.log(),
          memo.host.tally(),
          slot,
          firstIds[slot],
          ordinals.get(slot),
          p.index(),
          ids,
          startPs);
      p.addCommands(outcome.rows.size(slot));
      p.mmu().becomes(translated.get(slot));
      List<? extends MemoEngine> engines = p.computeEngines();
      for (int k = 0; k < engines.size(); k++) {
        outcome.served.get(slot).get(k).leave(engines.get(k), startPs, firstIds[slot]);
      }
    }
    outcome.rows.writeMoves(memo.host.log(), firstIds, startPs);
    giveUp();
    memo.outcomes.isProven(outcome);
    launches.forEach(l -> l.mark().replayed = null);
    memo.counts.reused += launches.size();
    memo.counts.operations += outcome.rows.size();
    memo.outcomes.follows(pes.getFirst().index(), outcome);
  }

  private void giveUp() {
    memo.fabric.giveBack(outcome.links);
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
    memo.counts.met++;
    memo.counts.simulated += launches.size();
    memo.counts.because(why);
    giveUp();
    memo.agenda.cancel(event);
    for (int slot = 0; slot < pes.size(); slot++) {
      pes.get(slot).activeStreams(streamsBefore.get(slot));
    }
    for (MemoLaunch launch : launches) {
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
    Key key = KeyWriter.keyOf(launches.getFirst(), memo.host.map(), new Lookups.Ranges());
    return key == null ? null : new Noted(memo, key, new Lookups.Ranges());
  }

  private void startAgain(int member, @Nullable Noted n) {
    MemoLaunch launch = launches.get(member);
    if (n != null && !n.isOver()) {
      Key key = KeyWriter.keyOf(launch, memo.host.map(), n.ranges);
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
        memo.agenda.at(p.place(), memo.sim.nowPs(), () -> startAgain(number, mark.noted));
      }
    }
  }
}
