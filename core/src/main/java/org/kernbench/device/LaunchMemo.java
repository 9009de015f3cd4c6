package org.kernbench.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.fabric.Fabric;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpRows;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.Mmu;
import org.kernbench.device.memory.PageMap;
import org.kernbench.machine.Pe;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/**
 * What came of launches, to be used again for launches that do the same (ADRs 0112, 0114): a
 * training step repeats each of its kernels in every layer.
 *
 * <p>What is noted and used again is a <em>stretch</em>: a launch that starts where nothing else is
 * under way, and all that start on its PEs before none of them is. Most are one launch alone; a
 * product with the copies that are made beside it for the next is one of two or more. A stretch is
 * noted as it is simulated: its rows relative to its start, in which order its launches started and
 * ended on each PE, the links that it used, the pages that it looked up. That stands for every
 * stretch of the same keys if it met nobody: no chunk of it waited behind another's.
 *
 * <p>A later launch with the key of the first is <em>replayed</em> if nobody else is on its PEs and
 * the links of the whole stretch are free. Nothing of it happens but that its launches end when
 * they did, which starts others; these must be the next of the stretch: of the same keys, started
 * by the same ends, with look-ups that hit and miss alike. If one is another, if an expected one
 * does not come, or if somebody else reaches one of its links, starts on one of its PEs, or changes
 * their translations, it is simulated after all, from its start up to that moment ({@link
 * Simulation#catchUp}); nobody can have noticed. Rows are written when the last launch has ended.
 *
 * <p>What the end of a stretch leaves behind on its PEs, and anybody can notice: the numbers of
 * commands, the TLB, and when each engine served each stream last. All else is past by then: room
 * in TCM is given back, links are free, and what waits only asks for the later of two times.
 */
final class LaunchMemo implements EventHandler, Fabric.Meetings {
  private static final int END = 0;
  private static final int CHECK = 1;
  private static final int START_AGAIN = 2;

  /** Different outcomes that are kept for one key. */
  private static final int MOST_OUTCOMES = 8;

  /** Launches in a stretch; what goes on for longer is not noted. */
  private static final int MOST_LAUNCHES = 64;

  /** Operations that are kept in all, with about 150 bytes each. */
  private static final long MOST_ROWS = 8_000_000;

  /** Of these, those of stretches that have not come again. */
  private static final long MOST_ROWS_UNPROVEN = 3_000_000;

  /** So many stretches say what comes next: some come twice in a layer, with others after them. */
  private static final int HISTORY = 6;

  private final TimedExecutor executor;
  private final World world;
  private final Simulation sim;
  private final Fabric fabric;
  private final int handler;
  private final Map<Key, List<Outcome>> known = new HashMap<>();

  private final List<Replay> replays = new ArrayList<>();

  /** By the index of its first PE, the latest outcomes of stretches, the last of them last. */
  private final Map<Integer, List<Outcome>> latest = new HashMap<>();

  /** What came after one of these, or after several, the last time. */
  private final Map<List<Outcome>, Outcome> next = new HashMap<>();

  /** Outcomes that have not been used again, and their keys, the oldest first. */
  private final SequencedMap<Outcome, Key> unproven = new LinkedHashMap<>();

  private long unprovenRows;

  /** What is scheduled, by the argument of the event. */
  private final Map<Integer, Runnable> scheduled = new HashMap<>();

  private int scheduledCount;

  /** Stretches that are noted at present. */
  private int noting;

  private long rows;
  private final Counts counts = new Counts();

  /** What became of launches. */
  static final class Counts {
    long reused;
    long operations;
    long simulated;
    long met;
    final Map<String, Integer> reasons = new HashMap<>();

    void because(String why) {
      reasons.merge(why, 1, Integer::sum);
    }
  }

  /** What an outcome depends on. */
  private static final class Key {
    private final List<Object> what;
    private final Optional<QueueSet> queues;
    private final long[] words;
    private final int hash;

    Key(List<Object> what, Optional<QueueSet> queues, long[] words) {
      this.what = what;
      this.queues = queues;
      this.words = words;
      this.hash = 31 * what.hashCode() + Arrays.hashCode(words);
    }

    @Override
    public boolean equals(@Nullable Object o) {
      return o instanceof Key k
          && hash == k.hash
          && Arrays.equals(words, k.words)
          && queues.equals(k.queues)
          && what.equals(k.what);
    }

    @Override
    public int hashCode() {
      return hash;
    }
  }

  /** A step of a stretch, in the order in which they come; times are relative to its start. */
  private sealed interface Step {}

  /**
   * A launch starts.
   *
   * @param by the launch whose end on a PE let it start at once; -1 if its start was decided before
   *     that of the stretch, which is at the same time
   * @param bySlot that PE
   * @param lookups by PE, how many accesses had been looked up before
   */
  private record Started(Key key, long atPs, int by, int bySlot, int[] lookups) implements Step {}

  /**
   * A PE ends its part of a launch: times relative to the start, operations of its own.
   *
   * @param shared whether, of several streams that have programs there, more than one still has
   */
  private record Ended(
      int member,
      int slot,
      long atPs,
      long endPs,
      int lastOp,
      long donePs,
      int lastSeen,
      boolean shared)
      implements Step {}

  /**
   * When an engine served last, relative to the start of a stretch; before it if negative.
   *
   * @param startedPs by stream
   */
  private record Served(
      long freedPs, int freedBy, long drainedPs, int lastProduct, long[] startedPs) {}

  /** What came of a stretch. */
  private static final class Outcome {
    final OpRows rows = new OpRows();
    final List<Step> steps = new ArrayList<>();
    final List<List<Served>> served = new ArrayList<>();
    final List<Lookups> lookups = new ArrayList<>();

    /**
     * By PE, in which order its engines had served its streams; not asked if one stream has all.
     */
    final List<Long> orders = new ArrayList<>();

    boolean severalStreams;
    int[] links = new int[0];
  }

  /** The launches of a stretch so far, and what they have in common. */
  private abstract class Stretch {
    final List<Launch> launches = new ArrayList<>();
    final List<TimedPe> pes = new ArrayList<>();
    final Lookups.Ranges ranges;
    final List<Integer> ordinals = new ArrayList<>();
    final long startPs = sim.nowPs();
    final int startsBefore = executor.startCount();

    /** Launches under way. */
    int running;

    Stretch(Lookups.Ranges ranges) {
      this.ranges = ranges;
    }

    boolean has(TimedPe p) {
      int slot = p.slot;
      return slot < pes.size() && pes.get(slot) == p;
    }

    /** Which launch's end let another start: its number; -1 for none that is not of the past. */
    int starter(Launch launch) {
      Launch by = launch.startedBy;
      int member = by == null ? -1 : launches.indexOf(by);
      return member >= 0 || wasDecidedBefore(launch) ? member : -2;
    }

    private boolean wasDecidedBefore(Launch launch) {
      return sim.nowPs() == startPs && launch.startNumber < startsBefore;
    }

    int starterSlot(Launch launch) {
      return starter(launch) < 0 ? -1 : executor.pe(launch.startedByPe).slot;
    }

    boolean hasRange(PageMap.Range range) {
      return ranges.number(range) >= 0;
    }
  }

  /** A stretch that is simulated and noted. */
  final class Noted extends Stretch {
    private final Key first;
    private final int firstMove = executor.log.transfers().services();
    private final Outcome outcome = new Outcome();
    private final Set<FabricRoute> routes = Collections.newSetFromMap(new IdentityHashMap<>());

    /** By PE, what its engines had served when the last of its launches ended there. */
    private final List<List<Served>> servedAtEnd = new ArrayList<>();

    /** Whether the host has changed translations of its PEs. */
    private boolean touched;

    private boolean isOver;

    Noted(Key first, Lookups.Ranges ranges) {
      super(ranges);
      this.first = first;
      noting++;
    }

    /** Whether a PE is in it, or can be: not one that left it and was in others since. */
    private boolean mayEnter(TimedPe p, Launch launch) {
      return has(p) || (!pes.contains(p) && p.isAllFor(launch.stream()));
    }

    /** A launch starts, which is or begins the stretch. */
    private void add(Launch launch, Key key, int starter, int starterSlot) {
      for (Pe pe : launch.pes()) {
        TimedPe p = executor.pe(pe);
        if (!has(p)) {
          enter(p);
        } else if (p.noted != this) {
          p.noted = this;
          p.mmu.noteIn(outcome.lookups.get(p.slot));
        }
      }
      int[] lookups = new int[pes.size()];
      for (int slot = 0; slot < lookups.length; slot++) {
        lookups[slot] = outcome.lookups.get(slot).size();
      }
      outcome.steps.add(new Started(key, sim.nowPs() - startPs, starter, starterSlot, lookups));
      outcome.severalStreams |=
          !launches.isEmpty() && launches.getFirst().stream() != launch.stream();
      launch.noted = this;
      launch.member = launches.size();
      launches.add(launch);
      running++;
    }

    private void enter(TimedPe p) {
      p.slot = pes.size();
      pes.add(p);
      ordinals.add(p.commands);
      outcome.orders.add(order(p));
      Lookups lookups = new Lookups(ranges);
      outcome.lookups.add(lookups);
      servedAtEnd.add(List.of());
      p.mmu.noteIn(lookups);
      p.noted = this;
    }

    /** It cannot stand for others. */
    void spoil(String why) {
      if (!isOver) {
        counts.because(why);
        leave();
      }
    }

    private void leave() {
      isOver = true;
      noting--;
      pes.forEach(this::leave);
      for (Launch launch : launches) {
        launch.noted = null;
      }
    }

    /** Nothing of it is under way on a PE; another launch of it may start there later. */
    private void leave(TimedPe p) {
      if (p.noted == this) {
        p.mmu.notesNoMore();
        p.noted = null;
      }
    }

    /** An operation has ended. */
    void ended(
        Op op,
        int link,
        int work,
        long endPs,
        long contentionPs,
        long serialisationPs,
        long translationPs) {
      if (op.kind() == OpKind.SEND || op.kind() == OpKind.RECV) {
        spoil("messages");
        return;
      }
      if (op.context().scheduler != null) {
        spoil("composite operations");
        return;
      }
      if (outcome.rows.size() == MOST_ROWS_UNPROVEN) {
        spoil("more operations than are kept");
        return;
      }
      outcome.rows.add(
          op.id,
          op.ordinal,
          op.pe.slot,
          Objects.requireNonNull(op.context().running).member,
          op.kind(),
          op.cause,
          op.causeOp,
          op.bytes,
          link,
          op.line,
          work,
          op.issuePs,
          op.startPs,
          endPs,
          contentionPs,
          serialisationPs,
          translationPs);
    }

    void uses(FabricRoute route) {
      routes.add(route);
    }

    /** A PE has ended its part of a launch. */
    void finished(
        ProgramContext c,
        Launch launch,
        long endPs,
        int lastOp,
        long donePs,
        int lastSeen,
        boolean isLast) {
      outcome.steps.add(
          new Ended(
              launch.member,
              c.pe.slot,
              sim.nowPs() - startPs,
              endPs - startPs,
              lastOp,
              donePs - startPs,
              lastSeen,
              staysShared(c, c.leavesNothing(launch))));
      if (c.pe.isAllFor(c.stream)) {
        servedAtEnd.set(c.pe.slot, served(c.pe));
        leave(c.pe);
      }
      if (isLast) {
        running--;
        if (running == 0) {
          keep();
        }
      }
    }

    private void keep() {
      leave();
      for (Lookups l : outcome.lookups) {
        l.close();
        if (l.hasOthers()) {
          counts.because("memory of others");
          return;
        }
        if (l.evicted() && touched) {
          counts.because("translations changed");
          return;
        }
      }
      int[] firsts = ordinals.stream().mapToInt(Integer::intValue).toArray();
      if (!outcome.rows.finish(firsts, startPs, executor.log, firstMove)) {
        counts.because("causes elsewhere");
        return;
      }
      finish();
      LaunchMemo.this.keep(first, outcome);
      follows(pes.getFirst(), outcome);
    }

    private void finish() {
      outcome.steps.replaceAll(step ->
          step instanceof Ended e
              ? new Ended(
                  e.member,
                  e.slot,
                  e.atPs,
                  e.endPs,
                  outcome.rows.indexIn(e.slot, e.lastOp),
                  e.donePs,
                  outcome.rows.indexIn(e.slot, e.lastSeen),
                  e.shared)
              : step);
      for (int slot = 0; slot < servedAtEnd.size(); slot++) {
        List<Served> engines = new ArrayList<>();
        for (Served s : servedAtEnd.get(slot)) {
          engines.add(
              new Served(
                  s.freedPs - startPs,
                  s.freedPs < startPs ? -1 : outcome.rows.indexIn(slot, s.freedBy),
                  s.drainedPs - startPs,
                  s.drainedPs < startPs ? -1 : outcome.rows.indexIn(slot, s.lastProduct),
                  Arrays.stream(s.startedPs).map(t -> t - startPs).toArray()));
        }
        outcome.served.add(engines);
      }
      TreeSet<Integer> links = new TreeSet<>();
      for (FabricRoute route : routes) {
        for (int link : Fabric.linksOf(route)) {
          links.add(link);
        }
      }
      outcome.links = links.stream().mapToInt(Integer::intValue).toArray();
    }
  }

  /** A stretch that is replayed. */
  final class Replay extends Stretch {
    private final Outcome outcome;
    private final List<Mmu.State> translated = new ArrayList<>();
    private final List<Long> evictions = new ArrayList<>();
    private final List<Integer> streamsBefore = new ArrayList<>();
    private final List<@Nullable MessageUnit> queues = new ArrayList<>();

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
    private int at;
    private int event = -1;
    private boolean forgotten;

    Replay(Outcome outcome, Lookups.Ranges ranges) {
      super(ranges);
      this.outcome = outcome;
    }

    private int nextLookups(int slot) {
      for (int i = at + 1; i < outcome.steps.size(); i++) {
        if (outcome.steps.get(i) instanceof Started s) {
          return slot < s.lookups.length ? s.lookups[slot] : 0;
        }
      }
      return outcome.lookups.get(slot).size();
    }

    /**
     * Whether a launch that starts now does what the one did that is the next step, which has its
     * key; if so it has been looked up in the TLBs.
     */
    private boolean fits(Launch launch, Started step) {
      for (Pe pe : launch.pes()) {
        TimedPe p = executor.pe(pe);
        if (!has(p)) {
          if (!p.isAllFor(launch.stream())
              || (outcome.severalStreams && outcome.orders.get(pes.size()) != order(p))) {
            return false;
          }
          p.slot = pes.size();
          pes.add(p);
          translated.add(p.mmu.state());
          evictions.add(p.mmu.evictions());
          ordinals.add(p.commands);
          streamsBefore.add(p.activeStreams());
        }
      }
      for (int slot = 0; slot < pes.size(); slot++) {
        int from = slot < step.lookups.length ? step.lookups[slot] : 0;
        Mmu.State state = translated.get(slot);
        if (!Mmu.goesOn(state, outcome.lookups.get(slot), from, nextLookups(slot), ranges)
            || (forgotten && state.evictions() > evictions.get(slot))) {
          return false;
        }
      }
      return true;
    }

    private void begin(Launch launch, @Nullable MessageUnit queuesOfLaunch) {
      fabric.takeAll(outcome.links);
      replays.add(this);
      add(launch, queuesOfLaunch, -1, -1);
      for (TimedPe p : pes) {
        p.replay = this;
      }
      runs(launch);
      at++;
      goOn();
    }

    private void add(
        Launch launch, @Nullable MessageUnit queuesOfLaunch, int starter, int starterSlot) {
      launch.member = launches.size();
      launch.replayed = this;
      launches.add(launch);
      queues.add(queuesOfLaunch);
      starters.add(starter);
      starterSlots.add(starterSlot);
      int[] theirs = new int[launch.pes().size()];
      for (int i = 0; i < theirs.length; i++) {
        theirs[i] = executor.pe(launch.pes().get(i)).context(launch.stream()).launchRow;
      }
      launchRows.add(theirs);
      for (TimedPe p : pes) {
        p.mmu.mayHold(ranges.anchors());
      }
    }

    /** Lets the launch begin, of which is known what comes. */
    private void runs(Launch launch) {
      running++;
      for (Pe pe : launch.pes()) {
        executor.pe(pe).context(launch.stream()).replays(launch);
      }
    }

    /**
     * Another launch starts on its PEs.
     *
     * @return whether that is done with
     */
    private boolean starts(Launch launch, @Nullable MessageUnit queuesOfLaunch) {
      int starter = starter(launch);
      int starterSlot = starterSlot(launch);
      if (starter < -1) {
        simulate("another launch on its PEs", false);
        return false;
      }
      int pesBefore = pes.size();
      int rangesBefore = ranges.size();
      Key key = key(launch, ranges);
      if (key != null
          && at < outcome.steps.size()
          && outcome.steps.get(at) instanceof Started s
          && s.atPs == sim.nowPs() - startPs
          && s.by == starter
          && s.bySlot == starterSlot
          && s.key.equals(key)
          && fits(launch, s)) {
        add(launch, queuesOfLaunch, starter, starterSlot);
        for (int slot = pesBefore; slot < pes.size(); slot++) {
          pes.get(slot).replay = this;
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
      add(launch, queuesOfLaunch, starter, starterSlot);
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
      switch (step) {
        case Started s -> {
          event = scheduledCount++;
          scheduled.put(
              event,
              () -> {
                if (at == expected) {
                  simulate("no launch beside them as before", true);
                }
              });
          sim.scheduleLast(startPs + s.atPs, handler, CHECK, event);
        }
        case Ended e -> {
          event = scheduledCount++;
          scheduled.put(event, this::end);
          sim.schedule(pes.get(e.slot).place, startPs + e.atPs, handler, END, event);
        }
      }
    }

    /** All that end now do so, up to the next start. */
    private void end() {
      while (at < outcome.steps.size()
          && outcome.steps.get(at) instanceof Ended e
          && startPs + e.atPs == sim.nowPs()) {
        ProgramContext c = pes.get(e.slot).context(launches.get(e.member).stream());
        if (staysShared(c, c.launches.isEmpty()) != e.shared) {
          simulate("another launch called on its PEs", true);
          return;
        }
        at++;
        end(e, c);
      }
      if (at < outcome.steps.size()) {
        goOn();
      }
    }

    private void end(Ended e, ProgramContext c) {
      if (firstIds.length == 0) {
        firstIds = new int[outcome.lookups.size()];
        for (int slot = 0; slot < firstIds.length; slot++) {
          firstIds[slot] = executor.log.reserve(outcome.rows.size(slot));
        }
      }
      long part = part(e.member, e.slot);
      ended.add(part);
      if (c.launches.isEmpty()) {
        emptied.add(part);
      }
      Launch launch = launches.get(e.member);
      boolean isLastOfLaunch = launch.isLastPart();
      if (isLastOfLaunch) {
        running--;
      }
      if (running == 0) {
        write();
      }
      world.isLater(startPs + e.donePs);
      c.hasReplayed(
          startPs + e.endPs, id(e.slot, e.lastOp), startPs + e.donePs, id(e.slot, e.lastSeen));
    }

    /** Whether the end of a part, of which others have been told, left its stream without any. */
    boolean isEmptied(Launch launch, TimedPe p) {
      return emptied.contains(part(launch.member, p.slot));
    }

    private static long part(int member, int slot) {
      return (long) member << 32 | slot;
    }

    private int id(int slot, int row) {
      return row < 0 ? row : firstIds[slot] + row;
    }

    /** The last launch has ended: what came of them stands in the log and on the PEs. */
    private void write() {
      int[] ids = launches.stream().mapToInt(l -> l.id).toArray();
      for (int slot = 0; slot < pes.size(); slot++) {
        TimedPe p = pes.get(slot);
        outcome.rows.write(
            executor.log,
            world.tally,
            slot,
            firstIds[slot],
            ordinals.get(slot),
            p.index,
            ids,
            startPs);
        p.commands += outcome.rows.size(slot);
        p.mmu.becomes(translated.get(slot));
        leave(slot, p);
      }
      outcome.rows.writeMoves(executor.log, firstIds, startPs);
      giveUp();
      isProven(outcome);
      launches.forEach(l -> l.replayed = null);
      counts.reused += launches.size();
      counts.operations += outcome.rows.size();
      follows(pes.getFirst(), outcome);
    }

    private void leave(int slot, TimedPe p) {
      int k = 0;
      for (Engine e : p.computeEngines()) {
        Served s = outcome.served.get(slot).get(k++);
        if (s.freedPs >= 0) {
          e.freedPs = startPs + s.freedPs;
          e.freedBy = id(slot, s.freedBy);
        }
        if (s.drainedPs >= 0) {
          e.drainedPs = startPs + s.drainedPs;
          e.lastProduct = id(slot, s.lastProduct);
        }
        for (int stream = 0; stream < s.startedPs.length; stream++) {
          if (s.startedPs[stream] >= 0) {
            e.served(stream, startPs + s.startedPs[stream]);
          }
        }
      }
    }

    private void giveUp() {
      fabric.giveBack(outcome.links);
      replays.remove(this);
      for (TimedPe p : pes) {
        p.replay = null;
      }
    }

    /**
     * It did not go on as it did, or somebody comes in its way: it is simulated after all.
     *
     * @param note whether what comes of it may stand for others
     */
    private void simulate(String why, boolean note) {
      counts.met++;
      counts.simulated += launches.size();
      counts.because(why);
      giveUp();
      scheduled.remove(event);
      for (int slot = 0; slot < pes.size(); slot++) {
        TimedPe p = pes.get(slot);
        p.activeStreams(streamsBefore.get(slot));
      }
      for (Launch launch : launches) {
        launch.startsAgain();
      }
      sim.catchUp(
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
      Key key = key(launches.getFirst(), new Lookups.Ranges());
      return key == null ? null : new Noted(key, new Lookups.Ranges());
    }

    private void startAgain(int member, @Nullable Noted n) {
      Launch launch = launches.get(member);
      if (n != null && !n.isOver) {
        Key key = key(launch, n.ranges);
        if (key == null) {
          n.spoil("kernels beside them that do not say what they depend on");
        } else {
          n.add(launch, key, starters.get(member), starterSlots.get(member));
        }
      }
      int[] theirs = launchRows.get(member);
      for (int i = 0; i < theirs.length; i++) {
        TimedPe p = executor.pe(launch.pes().get(i));
        boolean told = has(p) && ended.contains(part(member, p.slot));
        p.context(launch.stream()).startAfterAll(launch, queues.get(member), theirs[i], told);
      }
    }

    /** A PE has ended its part again: what it let start starts again. */
    private void endsAgain(Launch launch, TimedPe p) {
      if (isEmptied(launch, p)) {
        p.streamEnds();
      }
      for (int member = 0; member < launches.size(); member++) {
        if (starters.get(member) == launch.member && starterSlots.get(member) == p.slot) {
          int again = scheduledCount++;
          int number = member;
          scheduled.put(again, () -> startAgain(number, launch.noted));
          sim.schedule(p.place, sim.nowPs(), handler, START_AGAIN, again);
        }
      }
    }
  }

  /** When the engines of a PE served last. */
  private static List<Served> served(TimedPe p) {
    List<Served> served = new ArrayList<>();
    for (Engine e : p.computeEngines()) {
      long[] started = new long[p.contexts().length];
      for (int stream = 0; stream < started.length; stream++) {
        started[stream] = e.startedPs(stream);
      }
      served.add(new Served(e.freedPs, e.freedBy, e.drainedPs, e.lastProduct, started));
    }
    return served;
  }

  /** For each engine of a PE and each two streams, which it served first. */
  private static long order(TimedPe p) {
    long order = 0;
    int streams = p.contexts().length;
    for (Engine e : p.computeEngines()) {
      for (int a = 0; a < streams; a++) {
        for (int b = a + 1; b < streams; b++) {
          order = order * 3 + 1 + Long.compare(e.startedPs(a), e.startedPs(b));
        }
      }
    }
    return order;
  }

  /**
   * Whether a PE that ends its part of a launch, while it has one of another stream, still has
   * several streams with programs, or launches that wait.
   *
   * @param leavesNothing whether the stream of the one that ends has no other
   */
  private static boolean staysShared(ProgramContext c, boolean leavesNothing) {
    return !c.pe.isAllFor(c.stream) && c.pe.activeStreams() - (leavesNothing ? 1 : 0) > 1;
  }

  LaunchMemo(TimedExecutor executor, World world, Simulation sim, Fabric fabric) {
    this.executor = executor;
    this.world = world;
    this.sim = sim;
    this.fabric = fabric;
    this.handler = sim.register(this);
    fabric.tellMeetings(this);
  }

  Reused counts() {
    return new Reused(counts.reused, counts.operations, counts.simulated, counts.reasons);
  }

  /** What came after what, on a PE, for the next time. */
  private void follows(TimedPe p, Outcome outcome) {
    List<Outcome> before = latest.getOrDefault(p.index, List.of());
    for (int first = 0; first < before.size(); first += Math.max(1, before.size() - 1)) {
      next.put(before.subList(first, before.size()), outcome);
    }
    List<Outcome> now =
        new ArrayList<>(before.size() < HISTORY ? before : before.subList(1, HISTORY));
    now.add(outcome);
    latest.put(p.index, List.copyOf(now));
  }

  /** An outcome is new: it may stand for others. */
  private void keep(Key key, Outcome outcome) {
    known.computeIfAbsent(key, k -> new ArrayList<>(1)).addFirst(outcome);
    rows += outcome.rows.size();
    unproven.put(outcome, key);
    unprovenRows += outcome.rows.size();
    while (unprovenRows > MOST_ROWS_UNPROVEN || (rows > MOST_ROWS && !unproven.isEmpty())) {
      Map.Entry<Outcome, Key> oldest = unproven.firstEntry();
      isProven(oldest.getKey());
      forget(oldest.getValue(), oldest.getKey());
    }
    List<Outcome> alike = known.getOrDefault(key, List.of());
    if (alike.size() > MOST_OUTCOMES) {
      Outcome last = alike.getLast();
      isProven(last);
      forget(key, last);
    }
  }

  private void isProven(Outcome outcome) {
    if (unproven.remove(outcome) != null) {
      unprovenRows -= outcome.rows.size();
    }
  }

  private void forget(Key key, Outcome outcome) {
    known.getOrDefault(key, List.of()).remove(outcome);
    rows -= outcome.rows.size();
    next.values().removeIf(o -> o == outcome);
    next.keySet().removeIf(before -> before.contains(outcome));
    latest.replaceAll((pe, before) -> before.contains(outcome) ? List.of() : before);
  }

  // ---- launches ----

  /**
   * A launch is called on a stream that had none. Where several streams have any, engines choose
   * among their commands no earlier than they have to, and room in TCM is known later.
   */
  void streamBegins(TimedPe p) {
    touch(p, "another launch called on its PEs");
  }

  /** Something is about to happen at a PE that a stretch that has it to itself would notice. */
  private void touch(TimedPe p, String why) {
    Replay r = p.replay;
    if (r != null) {
      r.simulate(why, false);
    }
    Noted n = p.noted;
    if (n != null) {
      n.spoil(why);
    }
  }

  /** Something is about to happen that anybody may notice. */
  void touchAll(String why) {
    for (Replay r : List.copyOf(replays)) {
      if (replays.contains(r)) {
        r.simulate(why, false);
      }
    }
    for (TimedPe p : executor.pesInUse()) {
      touch(p, why);
    }
  }

  /** A PE has ended its part again of a launch that is simulated after all. */
  void endsAgain(Launch launch, TimedPe p) {
    Replay r = launch.replayed;
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
  boolean begins(Launch launch, @Nullable MessageUnit queues) {
    Set<Stretch> there = Collections.newSetFromMap(new IdentityHashMap<>());
    for (Pe pe : launch.pes()) {
      TimedPe p = executor.pe(pe);
      if (p.replay != null) {
        there.add(p.replay);
      }
      if (p.noted != null) {
        there.add(p.noted);
      }
    }
    if (there.size() > 1) {
      launch.pes().forEach(pe -> touch(executor.pe(pe), "another launch on its PEs"));
      there.clear();
    }
    for (Stretch s : there) {
      if (s instanceof Replay r && r.starts(launch, queues)) {
        return true;
      }
      counts.simulated++;
      if (s instanceof Noted n) {
        joins(n, launch);
      }
      return false;
    }
    return beginsStretch(launch, queues);
  }

  /** Another launch starts on the PEs of a stretch that is noted. */
  private void joins(Noted n, Launch launch) {
    if (n.launches.size() == MOST_LAUNCHES
        || n.starter(launch) < -1
        || !launch.pes().stream().allMatch(pe -> n.mayEnter(executor.pe(pe), launch))) {
      n.spoil("another launch on its PEs");
      return;
    }
    Key key = key(launch, n.ranges);
    if (key == null) {
      n.spoil("kernels beside them that do not say what they depend on");
      return;
    }
    counts.because("first of their kind");
    n.add(launch, key, n.starter(launch), n.starterSlot(launch));
  }

  private boolean beginsStretch(Launch launch, @Nullable MessageUnit queues) {
    for (Pe pe : launch.pes()) {
      if (!executor.pe(pe).isAllFor(launch.stream())) {
        return isSimulated("another launch on its PEs");
      }
    }
    if (!(launch.program() instanceof ReusableProgram p) || p.key().isEmpty()) {
      return isSimulated("kernels that do not say what they depend on");
    }
    Lookups.Ranges ranges = new Lookups.Ranges();
    Key key = key(launch, ranges);
    if (key == null) {
      return isSimulated("memory that is not there any more");
    }
    List<Outcome> outcomes = known.getOrDefault(key, List.of());
    for (Outcome o : likeliestFirst(outcomes, executor.pe(launch.pes().getFirst()))) {
      Replay replay = new Replay(o, ranges);
      if (replay.fits(launch, (Started) o.steps.getFirst())) {
        if (!fabric.areFree(o.links)) {
          return isSimulated("links in use");
        }
        replay.begin(launch, queues);
        return true;
      }
    }
    if (rows - unprovenRows < MOST_ROWS) {
      new Noted(key, ranges).add(launch, key, -1, -1);
    }
    return isSimulated(outcomes.isEmpty() ? "first of their kind" : "translations");
  }

  private boolean isSimulated(String why) {
    counts.simulated++;
    counts.because(why);
    return false;
  }

  private List<Outcome> likeliestFirst(List<Outcome> outcomes, TimedPe p) {
    List<Outcome> before = latest.getOrDefault(p.index, List.of());
    if (outcomes.size() < 2 || before.isEmpty()) {
      return outcomes;
    }
    Outcome likeliest =
        next.getOrDefault(before, next.get(before.subList(before.size() - 1, before.size())));
    if (likeliest == null || !outcomes.contains(likeliest)) {
      return outcomes;
    }
    List<Outcome> ordered = new ArrayList<>(outcomes);
    ordered.remove(likeliest);
    ordered.addFirst(likeliest);
    return ordered;
  }

  /** What comes of a launch depends on this; null if that is not known. Adds to the ranges. */
  private @Nullable Key key(Launch launch, Lookups.Ranges ranges) {
    ReusableProgram.Key program =
        launch.program() instanceof ReusableProgram p ? p.key().orElse(null) : null;
    if (program == null) {
      return null;
    }
    Words words = new Words();
    words.add(launch.stream());
    for (Pe pe : launch.pes()) {
      TimedPe p = executor.pe(pe);
      words.add(p.index);
      words.add(p.tcm.capacity());
      words.add(p.isShared() ? 1 : 0);
    }
    for (ReusableProgram.Memory memory : program.memories()) {
      long address = memory.at().value();
      PageMap.Range r = executor.map.find(address);
      if (r == null) {
        return null;
      }
      int number = ranges.number(r);
      if (number < 0) {
        number = ranges.add(new Lookups.Anchor(r, address));
        words.add(-1 - r.copies());
        for (int copy = 0; copy < r.copies(); copy++) {
          words.add(r.holders[copy]);
          words.add(r.node(copy));
        }
      }
      words.add(number);
      words.add(address - ranges.anchor(number).address());
      words.add(memory.bytes() <= r.end - address ? -1 : r.end - address);
    }
    return new Key(program.what(), launch.spec().queues(), words.all());
  }

  private static final class Words {
    private long[] words = new long[64];
    private int size;

    void add(long word) {
      if (size == words.length) {
        words = Arrays.copyOf(words, size * 2);
      }
      words[size++] = word;
    }

    long[] all() {
      return Arrays.copyOf(words, size);
    }
  }

  // ---- the host ----

  /** Translations of PEs are about to be taken over by a range. */
  void fills(TimedPe p) {
    Replay r = p.replay;
    if (r != null) {
      r.simulate("memory mapped", false);
    }
    Noted n = p.noted;
    if (n != null) {
      n.touched = true;
    }
  }

  /** Translations of a range are about to be forgotten. */
  void forgets(TimedPe p, PageMap.Range range) {
    Noted n = p.noted;
    if (n != null) {
      n.touched = true;
      if (n.hasRange(range)) {
        n.spoil("memory unmapped");
      }
    }
    Replay r = p.replay;
    if (r != null) {
      Mmu.State state = r.translated.get(p.slot);
      if (r.hasRange(range) || state.evictions() > r.evictions.get(p.slot)) {
        r.simulate("memory unmapped", false);
      } else {
        Mmu.forgetIn(range, state);
        r.forgotten = true;
      }
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
      if (Arrays.binarySearch(r.outcome.links, link) >= 0) {
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
    int perPackage = executor.machine.cubesPerSip() * executor.machine.pesPerCube();
    return sip < 0 || pe >= perPackage ? null : executor.pe(sip * perPackage + pe).noted;
  }

  @Override
  public void onEvent(int kind, int arg) {
    Runnable what = scheduled.remove(arg);
    if (what != null) {
      what.run();
    }
  }
}
