package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.fabric.Fabric;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.log.OpRows;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.PageMap;

/** A stretch that is simulated and noted. */
final class Noted extends Stretch {
  private final Key first;
  private final int firstMove;
  private final StretchOutcome outcome;
  private final Set<FabricRoute> routes = Collections.newSetFromMap(new IdentityHashMap<>());

  /** Some of them, by hash. */
  private final @Nullable FabricRoute[] last = new @Nullable FabricRoute[256];

  /** By PE, what its engines had served when the last of its launches ended there. */
  private final List<List<Served>> servedAtEnd = new ArrayList<>();

  /** For each of its {@link #queues} what had passed at their ends before. */
  private final List<Passed> passed = new ArrayList<>();

  /** Whether the host has changed translations of its PEs. */
  private boolean touched;

  private boolean isOver;

  Noted(LaunchMemo memo, int home, Key first, Lookups.Ranges ranges) {
    super(memo, home, ranges);
    this.first = first;
    this.outcome = new StretchOutcome(home, startPs);
    this.firstMove = memo.host.log().transfers().services();
    memo.noting++;
    memo.outcomes.isComing(first, outcome);
  }

  boolean isOver() {
    return isOver;
  }

  OpRows rows() {
    return outcome.rows;
  }

  /** Whether another operation can be kept; if not, it cannot stand for others. */
  boolean hasRoom() {
    if (outcome.rows.size() < Outcomes.MOST_ROWS_UNPROVEN) {
      return true;
    }
    spoil("more operations than are kept");
    return false;
  }

  /** Whether a PE is in it, or can be: not one that left it and was in others since. */
  boolean mayEnter(MemoPe p, MemoLaunch launch) {
    return has(p) || (!pes.contains(p) && p.isAllFor(launch.stream()));
  }

  /** A launch starts, which is or begins the stretch. */
  void add(MemoLaunch launch, Key key, int starter, int starterSlot) {
    for (MemoPe p : launch.pes()) {
      if (!has(p)) {
        enter(p);
      } else if (p.mark().noted != this) {
        p.mark().noteIn(this);
        p.mmu().noteIn(outcome.lookups.get(p.mark().slot));
      }
    }
    int[] lookups = new int[pes.size()];
    for (int slot = 0; slot < lookups.length; slot++) {
      lookups[slot] = outcome.lookups.get(slot).size();
    }
    outcome.starts(new Started(key, memo.sim.nowPs() - startPs, starter, starterSlot, lookups));
    outcome.severalStreams |=
        !launches.isEmpty() && launches.getFirst().stream() != launch.stream();
    launch.mark().noted = this;
    launch.mark().member = launches.size();
    launches.add(launch);
    running++;
    MemoQueues theirs = queuesOf(launch);
    launch.mark().mayTalk = theirs != null;
    if (theirs != null) {
      takes(theirs);
      passed.add(Passed.sofar(theirs));
    }
    if (outcome.severalStreams && !queues.isEmpty()) {
      spoil("messages beside another stream");
    }
    outcome.grows();
  }

  private void enter(MemoPe p) {
    enters(p);
    outcome.orders.add(Served.order(p.computeEngines(), p.streams()));
    int slot = p.mark().slot;
    // not this, which keeps launches: what came of it is kept for long
    StretchOutcome told = outcome;
    Lookups lookups = new Lookups(ranges, () -> told.accessed(slot));
    outcome.lookups.add(lookups);
    servedAtEnd.add(List.of());
    p.mmu().noteIn(lookups);
    p.mark().noteIn(this);
  }

  /** It cannot stand for others. */
  void spoil(String why) {
    if (!isOver) {
      memo.counts.because(why);
      leave();
      outcome.ends(false);
    }
  }

  private void leave() {
    isOver = true;
    memo.noting--;
    memo.outcomes.hasCome(first, outcome);
    pes.forEach(this::leave);
    for (MemoLaunch launch : launches) {
      launch.mark().noted = null;
    }
  }

  /** Nothing of it is under way on a PE; another launch of it may start there later. */
  private void leave(MemoPe p) {
    if (p.mark().noted == this) {
      p.mmu().notesNoMore();
      p.mark().noted = null;
    }
  }

  /** The host changes translations of its PEs. */
  void touched() {
    touched = true;
  }

  /** The host takes memory away. */
  void unmapped(PageMap.Range range) {
    touched = true;
    if (hasRange(range)) {
      spoil("memory unmapped");
    }
  }

  void uses(FabricRoute route) {
    int at = route.hashCode() & (last.length - 1);
    if (last[at] == route) {
      return; // most use a way that was used just before
    }
    last[at] = route;
    if (routes.add(route)) {
      int before = outcome.linkCount();
      for (int link : Fabric.linksOf(route)) {
        outcome.uses(link, memo.packages);
      }
      if (outcome.linkCount() > before) {
        outcome.grows();
      }
    }
  }

  /** A PE has ended its part of a launch. */
  void finished(
      MemoLaunch launch,
      MemoPe p,
      boolean leavesNothing,
      long endPs,
      int lastOp,
      long donePs,
      int lastSeen,
      boolean isLast) {
    int slot = p.mark().slot;
    outcome.steps.add(
        new Ended(
            launch.mark().member,
            slot,
            memo.sim.nowPs() - startPs,
            endPs - startPs,
            outcome.rows.rowToBe(slot, lastOp, ordinals.get(slot)),
            donePs - startPs,
            outcome.rows.rowToBe(slot, lastSeen, ordinals.get(slot)),
            staysShared(p, launch.stream(), leavesNothing)));
    if (p.isAllFor(launch.stream())) {
      servedAtEnd.set(slot, Served.of(engines.get(slot), p.streams()));
      leave(p);
    }
    if (isLast) {
      running--;
    }
    if (running == 0) {
      keep();
    } else {
      outcome.grows();
    }
  }

  private void keep() {
    leave();
    String obstacle = obstacle();
    if (obstacle == null) {
      finish();
      memo.outcomes.keep(first, outcome);
      if (!memo.host.log().transfers().isComplete()) {
        memo.outcomes.forgetMoves();
      }
      memo.outcomes.follows(pes.getFirst().index(), outcome);
    } else {
      memo.counts.because(obstacle);
    }
    outcome.ends(obstacle == null);
  }

  /** Why it cannot stand for others; null if it can. */
  private @Nullable String obstacle() {
    for (Lookups l : outcome.lookups) {
      l.close();
      if (l.hasOthers()) {
        return "memory of others";
      }
      if (l.evicted() && touched) {
        return "translations changed";
      }
    }
    for (MemoQueues q : queues) {
      if (!q.areAtRest()) {
        return "messages under way";
      }
    }
    int[] firsts = ordinals.stream().mapToInt(Integer::intValue).toArray();
    return outcome.rows.finish(firsts, startPs, memo.host.log(), firstMove) && passes()
        ? null
        : "causes elsewhere";
  }

  /** Says what its messages leave behind; false if an operation of others gave credits back. */
  private boolean passes() {
    for (int i = 0; i < queues.size(); i++) {
      List<? extends MemoQueues.End> ends = queues.get(i).ends();
      List<MemoQueues.Passage> passages = new ArrayList<>();
      for (int k = 0; k < ends.size(); k++) {
        MemoQueues.End end = ends.get(k);
        MemoQueues.Passage passage =
            end.passage(
                (int) (end.fragmentsSent() - passed.get(i).sent[k]),
                (int) (end.fragmentsDelivered() - passed.get(i).delivered[k]),
                startPs,
                outcome.rows::indexOf);
        if (passage == null) {
          return false;
        }
        passages.add(passage);
      }
      outcome.passages.add(passages);
    }
    return true;
  }

  /** Fragments that have passed at each end. */
  private record Passed(long[] sent, long[] delivered) {
    static Passed sofar(MemoQueues queues) {
      return new Passed(
          queues.ends().stream().mapToLong(MemoQueues.End::fragmentsSent).toArray(),
          queues.ends().stream().mapToLong(MemoQueues.End::fragmentsDelivered).toArray());
    }
  }

  private void finish() {
    for (int slot = 0; slot < servedAtEnd.size(); slot++) {
      List<Served> engines = new ArrayList<>();
      for (Served s : servedAtEnd.get(slot)) {
        engines.add(s.relative(outcome.rows, slot, startPs));
      }
      outcome.served.add(engines);
    }
    outcome.rows.forgetIds();
  }
}
