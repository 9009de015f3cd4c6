package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.fabric.Fabric;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.PageMap;
import org.kernbench.machine.Machine;
import org.kernbench.sim.Simulation;

/**
 * What came of launches, to be used again for launches that do the same (ADRs 0112, 0114, 0228,
 * 0306, 0334): a training step repeats each of its kernels in every layer.
 *
 * <p>What is noted and used again is a <em>stretch</em>: a launch that starts where nothing else is
 * under way, and all that start on its PEs before none of them is. Most are one launch alone; a
 * product with the copies that are made beside it for the next is one of two or more. A stretch is
 * {@link Noted noted} as it is simulated: its rows relative to its start, in which order its
 * launches started and ended on each PE, the links that it used, the pages that it looked up. That
 * stands for every stretch of the same keys if it met nobody: no chunk of it waited behind
 * another's.
 *
 * <p>A later launch with the {@link Key} of the first is {@link Replay replayed} if nobody else is
 * on its PEs and the links of the whole stretch are free. Nothing of it happens but that its
 * launches end when they did, which starts others; these must be the next of the stretch: of the
 * same keys, started by the same ends, with look-ups that hit and miss alike. If one is another, if
 * an expected one does not come, or if somebody else reaches one of its links, starts on one of its
 * PEs, or changes their translations, it is simulated after all, from its start up to that moment
 * ({@link Simulation#catchUp}); nobody can have noticed. Rows are written when the last launch has
 * ended.
 *
 * <p>What the end of a stretch leaves behind on its PEs, and anybody can notice: the numbers of
 * commands, the TLB, when each engine served each stream last, and of message queues the credits
 * that are under way. All else is past by then: room in TCM is given back, links are free, and what
 * waits only asks for the later of two times.
 */
public final class LaunchMemo implements Fabric.Meetings {
  /** Launches in a stretch; what goes on for longer is not noted. */
  private static final int MOST_LAUNCHES = 64;

  final MemoHost host;
  final Simulation sim;
  final Fabric fabric;
  final PackageTwins packages;
  final Agenda agenda;
  final Outcomes outcomes = new Outcomes();
  final List<Replay> replays = new ArrayList<>();
  final Counts counts = new Counts();

  /** Stretches that are noted at present. */
  int noting;

  /**
   * Nothing is remembered yet; hears of who meets whom on links.
   *
   * @param packages that are simulated, from the first on
   */
  public LaunchMemo(MemoHost host, Machine machine, int packages, Simulation sim, Fabric fabric) {
    this.host = host;
    this.packages = new PackageTwins(machine, packages);
    this.sim = sim;
    this.fabric = fabric;
    this.agenda = new Agenda(sim);
    fabric.tellMeetings(this);
  }

  // ---- what became of launches ----

  /** Launches that were not simulated. */
  public long reused() {
    return counts.reused;
  }

  /** Operations of these. */
  public long operations() {
    return counts.operations;
  }

  /** Launches that were simulated. */
  public long simulated() {
    return counts.simulated;
  }

  /** Why, and how many for each. */
  public Map<String, Long> reasons() {
    return counts.times();
  }

  /** Operations of the launches that were simulated, by reason. */
  public Map<String, Long> operationsByReason() {
    return counts.operationsOfThese();
  }

  // ---- launches ----

  /**
   * A launch is called on a stream that had none. Where several streams have any, engines choose
   * among their commands no earlier than they have to, and room in TCM is known later.
   */
  public void streamBegins(MemoPe p) {
    touch(p, "another launch called on its PEs");
  }

  /** Something is about to happen at a PE that a stretch that has it to itself would notice. */
  private static void touch(MemoPe p, String why) {
    Replay r = p.mark().replay;
    if (r != null) {
      r.simulate(why, false);
    }
    Noted n = p.mark().noted;
    if (n != null) {
      n.spoil(why);
    }
  }

  /** Something is about to happen that anybody may notice. */
  public void touchAll(String why) {
    for (Replay r : List.copyOf(replays)) {
      if (replays.contains(r)) {
        r.simulate(why, false);
      }
    }
    for (MemoPe p : host.pesInUse()) {
      touch(p, why);
    }
  }

  /** Queues are gone: what came of launches with them stands for none. */
  public void forgetQueues(Object set) {
    outcomes.forgetQueues(set);
  }

  /** A PE has ended its part again of a launch that is simulated after all. */
  public void endsAgain(MemoLaunch launch, MemoPe p) {
    Replay r = launch.mark().replayed;
    if (r == null) {
      throw new IllegalStateException("bug: nobody was told of the end of " + launch.name());
    }
    r.endsAgain(launch, p);
  }

  /**
   * A launch starts.
   *
   * @return whether that is done with; if not it is to be simulated, and may be noted
   */
  public boolean begins(MemoLaunch launch) {
    Set<Stretch> there = Collections.newSetFromMap(new IdentityHashMap<>());
    for (MemoPe p : launch.pes()) {
      PeMark mark = p.mark();
      if (mark.replay != null) {
        there.add(mark.replay);
      }
      if (mark.noted != null) {
        there.add(mark.noted);
      }
    }
    if (there.size() > 1) {
      launch.pes().forEach(p -> touch(p, "another launch on its PEs"));
      there.clear();
    }
    for (Stretch s : there) {
      if (s instanceof Replay r && r.starts(launch)) {
        return true;
      }
      if (s instanceof Noted n) {
        joins(n, launch);
      }
      return false;
    }
    return beginsStretch(launch);
  }

  /** Another launch starts on the PEs of a stretch that is noted. */
  private void joins(Noted n, MemoLaunch launch) {
    if (n.launches.size() == MOST_LAUNCHES
        || n.starter(launch) < -1
        || !launch.pes().stream().allMatch(p -> n.mayEnter(p, launch))) {
      isSimulated(launch, "another launch on its PEs");
      n.spoil("another launch on its PEs");
      return;
    }
    Key key = n.keyOf(launch);
    if (key == null) {
      String why = "kernels beside them that do not say what they depend on";
      isSimulated(launch, why);
      n.spoil(why);
      return;
    }
    isSimulated(launch, "first of their kind");
    n.add(launch, key, n.starter(launch), n.starterSlot(launch));
  }

  private boolean beginsStretch(MemoLaunch launch) {
    for (MemoPe p : launch.pes()) {
      if (!p.isAllFor(launch.stream())) {
        return isSimulated(launch, "another launch on its PEs");
      }
    }
    if (launch.dependsOn().isEmpty()) {
      return isSimulated(launch, "kernels that do not say what they depend on");
    }
    int home = packages.of(launch.pes().stream().mapToInt(MemoPe::index).toArray());
    Lookups.Ranges ranges = new Lookups.Ranges();
    Key key = KeyWriter.keyOf(launch, host, packages, home, ranges);
    if (key == null) {
      return isSimulated(launch, "memory that is not there any more");
    }
    List<StretchOutcome> likeliestFirst = outcomes.of(key, launch.pes().getFirst().index());
    for (StretchOutcome o : likeliestFirst) {
      Replay replay = new Replay(this, o, home, ranges);
      if (replay.fitsFirst(launch)) {
        return replay.beginsIfFree(launch) || isSimulated(launch, "links in use");
      }
    }
    StretchOutcome coming = outcomes.coming(key);
    if (coming != null && coming.isAhead(sim.nowPs())) {
      Replay replay = new Replay(this, coming, home, ranges);
      if (replay.fitsFirst(launch) && replay.beginsIfFree(launch)) {
        return true;
      }
    }
    boolean talks = Stretch.queuesOf(launch) != null;
    if (talks && likeliestFirst.isEmpty() && outcomes.isFirst(key)) {
      return isSimulated(launch, "first of their kind"); // most come once, and have many rows
    }
    if (outcomes.hasRoom()) {
      new Noted(this, home, key, ranges).add(launch, key, -1, -1);
    }
    return isSimulated(launch, likeliestFirst.isEmpty() ? "first of their kind" : "translations");
  }

  private boolean isSimulated(MemoLaunch launch, String why) {
    launch.mark().simulatedFor = counts.isSimulated(why);
    return false;
  }

  // ---- the host ----

  /** Translations of a PE are about to be taken over by a range. */
  public void fills(MemoPe p) {
    Replay r = p.mark().replay;
    if (r != null) {
      r.simulate("memory mapped", false);
    }
    Noted n = p.mark().noted;
    if (n != null) {
      n.touched();
    }
  }

  /** Translations of a range are about to be forgotten on a PE. */
  public void forgets(MemoPe p, PageMap.Range range) {
    Noted n = p.mark().noted;
    if (n != null) {
      n.unmapped(range);
    }
    Replay r = p.mark().replay;
    if (r != null) {
      r.forgets(p, range);
    }
  }

  // ---- links ----

  @Override
  public boolean areNoted() {
    return noting > 0;
  }

  @Override
  public void reachesTaken(int link) {
    for (Replay r : replays) {
      if (r.hasTaken(link)) {
        r.simulate("others on its links", false);
        return;
      }
    }
    throw new IllegalStateException("bug: nobody has taken link " + link);
  }

  @Override
  public void waitsBehind(int sip, int pe, int otherSip, int otherPe) {
    Noted n = noted(sip, pe);
    if (n != null && n != noted(otherSip, otherPe)) {
      n.spoil("waited for others on links");
    }
  }

  private @Nullable Noted noted(int sip, int pe) {
    int perPackage = host.pesPerPackage();
    return packages.has(sip) && pe < perPackage
        ? host.pe(sip * perPackage + pe).mark().noted
        : null; // the host's, or where packages are folded another's, which notes nothing
  }
}
