package org.kernbench.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
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
 * What came of launches, to be used again for launches that do the same (ADR 0112): a training step
 * repeats each of its kernels in every layer.
 *
 * <p>A launch that is the only one on its PEs is noted as it is simulated: its rows relative to its
 * start, the links that it used, the pages that it looked up. That stands for every launch of the
 * same key if it met nobody: no chunk of it waited behind another's. A later launch with that key
 * is <em>replayed</em> if nobody else is on its PEs, its links are free, and its look-ups hit and
 * miss alike. From then on its links are taken: whoever reaches one of them before its end, or
 * starts on one of its PEs, or changes their translations, has it simulated after all, from its
 * start up to that moment ({@link Simulation#catchUp}); nobody can have noticed.
 *
 * <p>What the end of a launch leaves behind on its PEs, and anybody can notice: the numbers of
 * commands, the TLB, and when each engine served each stream last. All else is past by then: room
 * in TCM is given back, links are free, and what waits only asks for the later of two times.
 */
final class LaunchMemo implements EventHandler, Fabric.Meetings {
  private static final int END = 0;

  /** Different outcomes that are kept for one key. */
  private static final int MOST_OUTCOMES = 8;

  /** Operations that are kept in all, with about 150 bytes each. */
  private static final long MOST_ROWS = 3_000_000;

  private final TimedExecutor executor;
  private final World world;
  private final Simulation sim;
  private final Fabric fabric;
  private final int handler;
  private final Map<Key, List<Outcome>> known = new HashMap<>();
  private final List<Replay> replays = new ArrayList<>();

  /** Ends that are scheduled, by the argument of the event. */
  private final Map<Integer, End> ends = new HashMap<>();

  private int endCount;

  /** Launches that are noted at present. */
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

  /** How a PE ends its part of a launch: times relative to its start, operations of its own. */
  private record Finish(long atPs, long endPs, int lastOp, long donePs, int lastSeen) {}

  /** When an engine served last, relative to the start of a launch; before it if negative. */
  private record Served(
      long freedPs, int freedBy, long drainedPs, int lastProduct, long startedPs) {}

  /** What came of a launch. */
  private static final class Outcome {
    final OpRows rows = new OpRows();
    final List<Finish> finishes = new ArrayList<>();
    final List<List<Served>> served = new ArrayList<>();
    final List<Lookups> lookups = new ArrayList<>();
    int[] links = new int[0];
  }

  /** A launch that is simulated and noted. */
  final class Noted {
    private final Launch launch;
    private final Key key;
    private final List<Lookups.Anchor> ranges;
    private final long startPs = sim.nowPs();
    private final int firstMove = executor.log.transfers().services();
    private final Outcome outcome = new Outcome();
    private final int[] ordinals;
    private final @Nullable Finish[] finishes;
    private final @Nullable List<Served>[] servedAtEnd;
    private final Set<FabricRoute> routes = Collections.newSetFromMap(new IdentityHashMap<>());
    private String spoiled = "";

    Noted(Launch launch, Key key, List<Lookups.Anchor> ranges) {
      this.launch = launch;
      this.key = key;
      this.ranges = ranges;
      this.ordinals = new int[launch.pes().size()];
      this.finishes = new Finish[ordinals.length];
      this.servedAtEnd = newEngines(ordinals.length);
      for (int slot = 0; slot < ordinals.length; slot++) {
        TimedPe p = executor.pe(launch.pes().get(slot));
        ordinals[slot] = p.commands;
        Lookups lookups = new Lookups(ranges);
        outcome.lookups.add(lookups);
        p.mmu.noteIn(lookups);
        p.noted = this;
      }
    }

    /** It cannot stand for others. */
    void spoil(String why) {
      if (spoiled.isEmpty()) {
        spoiled = why;
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
      if (!spoiled.isEmpty()) {
        return;
      }
      if (op.kind() == OpKind.SEND || op.kind() == OpKind.RECV) {
        spoil("messages");
      } else if (op.context().scheduler != null) {
        spoil("composite operations");
      }
      outcome.rows.add(
          op.id,
          op.ordinal,
          op.pe.index,
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

    /** A PE has ended its part. */
    void finished(
        ProgramContext c, long endPs, int lastOp, long donePs, int lastSeen, boolean isLast) {
      TimedPe p = c.pe;
      p.mmu.notesNoMore();
      p.noted = null;
      int slot = launch.pes().indexOf(p.pe);
      servedAtEnd[slot] = served(p, launch.stream());
      finishes[slot] = new Finish(sim.nowPs(), endPs, lastOp, donePs, lastSeen);
      if (isLast) {
        noting--;
        keep();
      }
    }

    private void keep() {
      for (Lookups l : outcome.lookups) {
        if (l.hasOthers()) {
          spoil("memory of others");
        }
        if (l.evicted()) {
          spoil(touched ? "translations changed" : "");
        }
      }
      if (spoiled.isEmpty() && !finish()) {
        spoil("causes elsewhere");
      }
      if (spoiled.isEmpty()) {
        known.computeIfAbsent(key, k -> new ArrayList<>(1)).add(outcome);
        rows += outcome.rows.size();
      } else {
        counts.reasons.merge(spoiled, 1, Integer::sum);
      }
    }

    /** Whether the host has changed translations of its PEs. */
    private boolean touched;

    private boolean finish() {
      List<Integer> slots = launch.pes().stream().map(executor.machine::peIndex).toList();
      if (!outcome.rows.finish(slots, ordinals, startPs, executor.log, firstMove)) {
        return false;
      }
      for (int slot = 0; slot < ordinals.length; slot++) {
        Finish f = Objects.requireNonNull(finishes[slot]);
        outcome.finishes.add(
            new Finish(
                f.atPs - startPs,
                f.endPs - startPs,
                outcome.rows.indexIn(slot, f.lastOp),
                f.donePs - startPs,
                outcome.rows.indexIn(slot, f.lastSeen)));
        List<Served> engines = new ArrayList<>();
        for (Served s : Objects.requireNonNull(servedAtEnd[slot])) {
          engines.add(
              new Served(
                  s.freedPs - startPs,
                  s.freedPs < startPs ? -1 : outcome.rows.indexIn(slot, s.freedBy),
                  s.drainedPs - startPs,
                  s.drainedPs < startPs ? -1 : outcome.rows.indexIn(slot, s.lastProduct),
                  s.startedPs - startPs));
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
      return true;
    }
  }

  /** A launch that is replayed. */
  final class Replay {
    private final Launch launch;
    private final Outcome outcome;
    private final long startPs = sim.nowPs();
    private final List<TimedPe> pes;
    private final Mmu.@Nullable State[] before;
    private final @Nullable List<Served>[] engines;
    private final List<Mmu.State> after;
    private final List<Lookups.Anchor> ranges;
    private final @Nullable MessageUnit queues;
    private final List<Integer> events = new ArrayList<>();
    private final boolean[] ended;
    private final int[] firstIds;
    private final int[] ordinals;
    private final long[] evictions;
    private int left;

    Replay(
        Launch launch,
        Outcome outcome,
        List<TimedPe> pes,
        List<Mmu.State> after,
        List<Lookups.Anchor> ranges,
        @Nullable MessageUnit queues) {
      this.launch = launch;
      this.outcome = outcome;
      this.pes = pes;
      this.after = after;
      this.ranges = ranges;
      this.queues = queues;
      this.left = pes.size();
      this.before = new Mmu.State[left];
      this.engines = newEngines(left);
      this.ended = new boolean[left];
      this.firstIds = new int[left];
      this.evictions = new long[left];
      this.ordinals = new int[left];
    }

    private void begin() {
      fabric.takeAll(outcome.links);
      for (int slot = 0; slot < pes.size(); slot++) {
        TimedPe p = pes.get(slot);
        p.replay = this;
        p.context(launch.stream()).replays(launch);
        ordinals[slot] = p.commands;
        evictions[slot] = p.mmu.evictions();
        int event = endCount++;
        events.add(event);
        ends.put(event, new End(this, slot));
        sim.schedule(p.place, startPs + outcome.finishes.get(slot).atPs, handler, END, event);
      }
      replays.add(this);
    }

    private void end(int slot) {
      TimedPe p = pes.get(slot);
      ended[slot] = true;
      left--;
      firstIds[slot] = executor.log.reserve(outcome.rows.size(slot));
      write(slot, false);
      p.commands += outcome.rows.size(slot);
      before[slot] = p.mmu.state();
      p.mmu.becomes(after.get(slot), ranges);
      engines[slot] = served(p, launch.stream());
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
        if (s.startedPs >= 0) {
          e.served(launch.stream(), startPs + s.startedPs);
        }
      }
      if (left == 0) {
        outcome.rows.writeMoves(executor.log, firstIds, startPs);
        giveUp();
        counts.reused++;
        counts.operations += outcome.rows.size();
      }
      Finish f = outcome.finishes.get(slot);
      world.isLater(startPs + f.donePs);
      p.context(launch.stream())
          .hasReplayed(
              startPs + f.endPs, id(slot, f.lastOp), startPs + f.donePs, id(slot, f.lastSeen));
    }

    private void giveUp() {
      fabric.giveBack(outcome.links);
      replays.remove(this);
      for (TimedPe p : pes) {
        p.replay = null;
      }
    }

    private int id(int slot, int row) {
      return row < 0 ? row : firstIds[slot] + row;
    }

    private void write(int slot, boolean back) {
      TimedPe p = pes.get(slot);
      outcome.rows.write(
          executor.log,
          world.tally,
          slot,
          firstIds[slot],
          ordinals[slot],
          p.index,
          launch.id,
          startPs,
          back);
    }

    /** A PE has ended its part, which now has to be simulated. */
    private void takeBack(int slot) {
      TimedPe p = pes.get(slot);
      write(slot, true);
      p.commands = ordinals[slot];
      p.mmu.becomes(Objects.requireNonNull(before[slot]), List.of());
      int k = 0;
      for (Engine e : p.computeEngines()) {
        Served s = Objects.requireNonNull(engines[slot]).get(k++);
        e.freedPs = s.freedPs;
        e.freedBy = s.freedBy;
        e.drainedPs = s.drainedPs;
        e.lastProduct = s.lastProduct;
        e.served(launch.stream(), s.startedPs);
      }
    }

    /** Somebody comes in its way: it is simulated after all. */
    private void simulate(String why) {
      counts.met++;
      counts.simulated++;
      counts.reasons.merge(why, 1, Integer::sum);
      giveUp();
      events.forEach(ends::remove);
      for (int slot = 0; slot < pes.size(); slot++) {
        if (ended[slot]) {
          takeBack(slot);
        }
      }
      launch.startsAgain();
      sim.catchUp(
          startPs,
          () -> {
            for (int slot = 0; slot < pes.size(); slot++) {
              pes.get(slot).context(launch.stream()).startAfterAll(launch, queues, ended[slot]);
            }
          });
    }
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // arrays have no parameters
  private static @Nullable List<Served>[] newEngines(int count) {
    return new List[count];
  }

  /** When the engines of a PE served last. */
  private static List<Served> served(TimedPe p, int stream) {
    List<Served> served = new ArrayList<>();
    for (Engine e : p.computeEngines()) {
      served.add(new Served(e.freedPs, e.freedBy, e.drainedPs, e.lastProduct, e.startedPs(stream)));
    }
    return served;
  }

  private record End(Replay replay, int slot) {}

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

  // ---- launches ----

  /** A launch is about to start: who else is on its PEs does not have them to itself. */
  void meets(Launch launch) {
    for (Pe pe : launch.pes()) {
      touch(executor.pe(pe), "another launch on its PEs");
    }
  }

  /**
   * A launch is called on a stream that had none. Where several streams have any, engines choose
   * among their commands no earlier than they have to, and room in TCM is known later.
   */
  void streamBegins(TimedPe p) {
    touch(p, "another launch called on its PEs");
  }

  /** Something is about to happen at a PE that a launch that has it to itself would notice. */
  private void touch(TimedPe p, String why) {
    Replay r = p.replay;
    if (r != null) {
      r.simulate(why);
    }
    Noted n = p.noted;
    if (n != null) {
      n.spoil(why);
    }
  }

  /** Something is about to happen that anybody may notice. */
  void touchAll(String why) {
    for (Replay r : List.copyOf(replays)) {
      r.simulate(why);
    }
    for (TimedPe p : executor.pesInUse()) {
      touch(p, why);
    }
  }

  /**
   * A launch starts.
   *
   * @return whether it is replayed; if not it is to be simulated, and may be noted
   */
  boolean begins(Launch launch, @Nullable MessageUnit queues) {
    Optional<ReusableProgram.Key> program =
        launch.program() instanceof ReusableProgram p ? p.key() : Optional.empty();
    if (program.isEmpty()) {
      counts.simulated++;
      counts.reasons.merge("kernels that do not say what they depend on", 1, Integer::sum);
      return false;
    }
    List<TimedPe> pes = new ArrayList<>();
    for (Pe pe : launch.pes()) {
      TimedPe p = executor.pe(pe);
      if (!p.isAllFor(launch.stream())) {
        counts.simulated++;
        counts.reasons.merge("another launch on its PEs", 1, Integer::sum);
        return false;
      }
      pes.add(p);
    }
    List<Lookups.Anchor> ranges = new ArrayList<>();
    Key key = key(launch, program.get(), pes, ranges);
    if (key == null) {
      counts.simulated++;
      counts.reasons.merge("memory that is not there any more", 1, Integer::sum);
      return false;
    }
    List<Outcome> outcomes = known.getOrDefault(key, List.of());
    for (Outcome o : outcomes) {
      List<Mmu.State> after = afterwards(o, pes, ranges);
      if (after != null) {
        if (!fabric.areFree(o.links)) {
          counts.simulated++;
          counts.reasons.merge("links in use", 1, Integer::sum);
          return false;
        }
        new Replay(launch, o, pes, after, ranges, queues).begin();
        return true;
      }
    }
    counts.simulated++;
    if (outcomes.size() < MOST_OUTCOMES && rows < MOST_ROWS) {
      noting++;
      launch.noted = new Noted(launch, key, ranges);
      counts.reasons.merge(
          outcomes.isEmpty() ? "first of their kind" : "translations", 1, Integer::sum);
    }
    return false;
  }

  private static @Nullable List<Mmu.State> afterwards(
      Outcome o, List<TimedPe> pes, List<Lookups.Anchor> ranges) {
    List<Mmu.State> after = new ArrayList<>();
    for (int slot = 0; slot < pes.size(); slot++) {
      Mmu.State state = pes.get(slot).mmu.afterwards(o.lookups.get(slot), ranges);
      if (state == null) {
        return null;
      }
      after.add(state);
    }
    return after;
  }

  private @Nullable Key key(
      Launch launch, ReusableProgram.Key program, List<TimedPe> pes, List<Lookups.Anchor> ranges) {
    Words words = new Words();
    words.add(launch.stream());
    for (TimedPe p : pes) {
      words.add(p.index);
      words.add(p.tcm.capacity());
      words.add(p.isShared() ? 1 : 0);
    }
    Map<PageMap.Range, Integer> numbers = new IdentityHashMap<>();
    for (ReusableProgram.Memory memory : program.memories()) {
      long address = memory.at().value();
      PageMap.Range r = executor.map.find(address);
      if (r == null) {
        return null;
      }
      Integer number = numbers.get(r);
      if (number == null) {
        number = ranges.size();
        numbers.put(r, number);
        ranges.add(new Lookups.Anchor(r, address));
        words.add(-1 - r.copies());
        for (int copy = 0; copy < r.copies(); copy++) {
          words.add(r.holders[copy]);
          words.add(r.node(copy));
        }
      }
      words.add(number);
      words.add(address - ranges.get(number).address());
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
      r.simulate("memory mapped");
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
      if (has(n.ranges, range)) {
        n.spoil("memory unmapped");
      }
    }
    Replay r = p.replay;
    if (r != null) {
      int slot = r.pes.indexOf(p);
      if (has(r.ranges, range) || r.after.get(slot).evictions() > r.evictions[slot]) {
        r.simulate("memory unmapped");
      } else {
        Mmu.forgetIn(
            range, r.ended[slot] ? Objects.requireNonNull(r.before[slot]) : r.after.get(slot));
      }
    }
  }

  private static boolean has(List<Lookups.Anchor> ranges, PageMap.Range range) {
    return ranges.stream().anyMatch(a -> a.range() == range);
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
        r.simulate("others on its links");
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
    End end = ends.remove(arg);
    if (end != null) {
      end.replay.end(end.slot);
    }
  }
}
