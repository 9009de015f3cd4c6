package org.kernbench.device.simulator;

import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.CopyDirection;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Reused;
import org.kernbench.device.Watch;
import org.kernbench.device.fabric.Fabric;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.fabric.Fabrics;
import org.kernbench.device.fabric.Interconnect;
import org.kernbench.device.fabric.MemorySpan;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.OpTally;
import org.kernbench.device.log.TransferLog;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.device.memory.PageMap;
import org.kernbench.device.reuse.LaunchMemo;
import org.kernbench.device.reuse.MemoHost;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.spec.TlbFill;
import org.kernbench.sim.ApartSimulation;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/**
 * A machine in simulated time: its PEs, the queues between them, and the launches that the host
 * asks for. What its PEs do is the business of the {@link World} that they are in.
 */
final class TimedExecutor
    implements Executor, EventHandler, MemoHost, World.Directory, ProgramContext.Launches {
  private static final int LAUNCH = 0;

  /** Machines of more packages run launches apart, which pays more. */
  private static final int MOST_PACKAGES_REUSED = 256;

  private final MachineParts parts;
  private final Machine machine;
  private final OpLog log;
  private final CommandTable commands = new CommandTable();

  /** All PEs are in it, unless packages run apart. */
  private final World world;

  private final Simulation sim = new Simulation();
  private final Interconnect fabric;
  private final ApartRun apart;
  private final int handler;

  /** Per PE, the tile scheduler's included. */
  private final int contexts;

  /** Launches of which the host waits for the first that is done; empty if it waits for none. */
  private List<Launch> driven = List.of();

  /** Launches that have been called. */
  private int called;

  /** Launches that are not done. */
  private int openLaunches;

  /** Launches that are done. */
  private int ends;

  private final @Nullable TimedPe[] pes;

  /** Launches whose start is scheduled, by the argument of the event. */
  private final Map<Integer, LaunchState> starting = new HashMap<>();

  private int startCount;

  /** The launch that has just ended on a PE, while others are told; null at other times. */
  private @Nullable LaunchState ending;

  private int endingPe = -1;

  private final Map<QueueSet, MessageUnit> messages = new IdentityHashMap<>();

  /** What came of earlier launches; null if each is simulated. */
  private final @Nullable LaunchMemo memo;

  TimedExecutor(MachineParts parts, SimulatorOptions options, ApartRun.Limits apart) {
    this.parts = parts;
    this.machine = parts.machine;
    this.log = parts.log;
    follow(null);
    this.contexts = machine.pe().cpu().contexts() + 1;
    this.fabric = Fabrics.of(sim, machine, parts.folded);
    if (options.opLogLimit() > 0) {
      fabric.recordIn(log.transfers());
    }
    this.handler = sim.register(this);
    int packages = parts.folded == null ? 1 : parts.folded.order();
    this.pes = new TimedPe[machine.peCount() / packages];
    this.world = new World(parts, commands, this, sim, fabric, log.tally());
    this.apart = new ApartRun(this, parts, commands, options, world, apart);
    this.memo = memo(options.reuse());
  }

  @Override
  public @Nullable Watch watch() {
    return parts.watch;
  }

  private @Nullable LaunchMemo memo(boolean reuse) {
    return reuse
            && parts.mode == Mode.TIME
            && parts.watch == null
            && (parts.folded != null || machine.sips() < MOST_PACKAGES_REUSED)
            && machine.pe().cpu().dispatchPs() > 0
            && fabric instanceof Fabric f
            && !f.isBanked()
        ? new LaunchMemo(this, machine, parts.folded == null ? machine.sips() : 1, sim, f)
        : null;
  }

  @Override
  public Optional<Reused> reused() {
    return Optional.ofNullable(memo)
        .map(m ->
            new Reused(
                m.reused(), m.operations(), m.simulated(), m.reasons(), m.operationsByReason()));
  }

  @Override
  public TimedPe pe(int index) {
    if (index >= pes.length) {
      throw new CannotFoldException(
          "%s is used beside package 0, which stands for all; let all packages do alike"
              .formatted(machine.peAt(index)));
    }
    TimedPe p = pes[index];
    if (p == null) {
      p = new TimedPe(world, index, machine.peAt(index), commands, this);
      pes[index] = p;
    }
    return p;
  }

  TimedPe pe(Pe pe) {
    return pe(machine.peIndex(pe));
  }

  @Override
  public QueueSet install(QueuePlan plan) {
    touchAll("queues installed");
    QueueSet set = new InstalledQueues(plan);
    messages.put(set, new MessageUnit(parts, this::pe, plan));
    return set;
  }

  @Override
  public void uninstall(QueueSet set) {
    touchAll("queues uninstalled");
    InstalledQueues.of(set).removed();
    MessageUnit unit = unit(set);
    while (unit.isUnderWay()) {
      if (!sim.step()) {
        throw new IllegalStateException("bug: a message is under way and no event is queued");
      }
    }
    sim.finishPicosecond();
    unit.uninstall();
    messages.remove(set);
    if (memo != null) {
      memo.forgetQueues(unit);
    }
  }

  @Override
  public List<TimedPe> pesInUse() {
    return Arrays.stream(pes).filter(Objects::nonNull).toList();
  }

  @Override
  public ProgramContext issuer(int index) {
    return pe(index / contexts).context(index % contexts);
  }

  private MessageUnit unit(QueueSet set) {
    return Objects.requireNonNull(messages.get(set), "queues of another machine");
  }

  // ---- addresses ----

  @Override
  public void mapped(PageMap.Range range) {
    if (machine.pe().mmu().fill() == TlbFill.AT_MAP) {
      for (int holder : range.holders) {
        TimedPe p = pe(holder);
        if (memo != null) {
          memo.fills(p);
        }
        p.mmu.fill(range);
      }
    }
  }

  @Override
  public void unmaps(PageMap.Range range) {
    range
        .translatedAt()
        .forEach(i -> {
          TimedPe p = pe(i);
          if (memo != null) {
            memo.forgets(p, range);
          }
          p.mmu.forget(range);
        });
  }

  private void touchAll(String why) {
    if (memo != null) {
      memo.touchAll(why);
    }
  }

  @Override
  public boolean hasEvicted() {
    return Arrays.stream(pes).anyMatch(p -> p != null && p.mmu.evictions() > 0);
  }

  @Override
  public MmuCounts mmuCounts() {
    long lookups = 0;
    long misses = 0;
    for (TimedPe p : pes) {
      if (p != null) {
        lookups += p.mmu.lookups();
        misses += p.mmu.misses();
      }
    }
    return new MmuCounts(lookups, misses);
  }

  // ---- launches ----

  @Override
  public Launch launch(LaunchRequest spec, Function<PePort, Runnable> program) {
    LaunchState launch = new LaunchState(spec, program, called++, sim.nowPs());
    openLaunches++;
    long arrival = 0;
    launch.notReady = spec.pes().size();
    launch.follow(spec.after());
    spec.queues().ifPresent(set -> InstalledQueues.of(set).users++);
    for (Pe p : spec.pes()) {
      arrival = Math.max(arrival, machine.controlLatencyPs(p));
      ProgramContext c = pe(p).context(spec.stream());
      if (c.launches.isEmpty() && c.isIdle()) {
        if (memo != null) {
          memo.streamBegins(c.pe);
        }
        c.pe.streamBegins();
      }
      c.launches.add(launch);
      if (c.launches.size() == 1 && c.isIdle()) {
        launch.notReady--;
      }
    }
    launch.arrivalPs = sim.nowPs() + arrival;
    List<Integer> after =
        spec.after().stream()
            .map(l -> (LaunchState) l)
            .filter(LaunchState::isUnderWay)
            .map(l -> l.id)
            .toList();
    launch.id = log.launches().called(spec.name(), sim.nowPs(), launch.arrivalPs, after);
    startIfReady(launch);
    return launch;
  }

  /**
   * Starts a launch that waits for none any more: when all else of the picosecond has happened, in
   * the order of calls, so that it does not matter which of two ends of one picosecond comes first.
   */
  private void startIfReady(LaunchState launch) {
    if (launch.notReady == 0) {
      launch.startNumber = startCount;
      launch.startedBy = launch.arrivalPs <= sim.nowPs() ? ending : null;
      launch.startedByPe = endingPe;
      starting.put(startCount, launch);
      long atPs = Math.max(sim.nowPs(), launch.arrivalPs);
      sim.scheduleAfterAll(atPs, launch.callNumber, handler, LAUNCH, startCount++);
    }
  }

  private void start(LaunchState launch) {
    launch.started(sim.nowPs());
    log.launches().started(launch.id, sim.nowPs());
    int stream = launch.stream();
    MessageUnit queues = launch.spec().queues().map(this::unit).orElse(null);
    int[] rows = new int[launch.pes().size()];
    for (int i = 0; i < rows.length; i++) {
      ProgramContext c = pe(launch.pes().get(i)).context(stream);
      c.launches.remove();
      rows[i] = log.launches().startedOn(launch.id, c.pe.index, c.launchRow);
      c.launchRow = rows[i];
    }
    boolean isKnown = memo != null && memo.begins(new RememberedLaunch(this, launch, queues));
    launch.startedBy = null; // asked for as it starts; would keep all launches before
    if (isKnown) {
      return;
    }
    if (openLaunches == 1 && driven.contains(launch)) {
      apart.beginIfAllowed(launch);
    }
    for (int i = 0; i < rows.length; i++) {
      ProgramContext c = pe(launch.pes().get(i)).context(stream);
      c.launchRow = rows[i]; // an earlier launch may have been simulated here after all
      c.start(launch, queues);
    }
  }

  @Override
  public synchronized void isIdle(ProgramContext context, LaunchState ended, boolean isDone) {
    ending = ended;
    endingPe = context.pe.index;
    if (isDone) {
      openLaunches--;
      ends++;
      log.launches().done(ended.id, ended.donePs());
      ended.spec().queues().ifPresent(set -> InstalledQueues.of(set).users--);
      for (LaunchState follower : ended.takeFollowers()) {
        follower.notReady--;
        startIfReady(follower);
      }
    }
    LaunchState next = context.launches.peek();
    if (next == null) {
      context.pe.streamEnds();
    }
    if (next != null && next.startPs() < 0) {
      next.notReady--;
      startIfReady(next);
    }
    ending = null;
    endingPe = -1;
  }

  @Override
  public void wasTold(LaunchState ended, TimedPe p) {
    if (memo != null) {
      memo.endsAgain(Objects.requireNonNull(ended.remembered), p);
    }
  }

  @Override
  public int startCount() {
    return startCount;
  }

  @Override
  public int pesPerPackage() {
    return machine.cubesPerSip() * machine.pesPerCube();
  }

  @Override
  public OpTally tally() {
    return world.tally;
  }

  @Override
  public PageMap map() {
    return parts.map;
  }

  @Override
  public void isLater(long timePs) {
    world.isLater(timePs);
  }

  /** A transfer of the host's own, which is no operation of a program. */
  private static final class HostCopy implements Interconnect.Sink {
    private long endPs = -1;

    @Override
    public void onInjected(int arg, long timePs) {
      throw new IllegalStateException("bug: nobody asked");
    }

    @Override
    public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {
      endPs = timePs;
    }
  }

  @Override
  public long hostCopy(PhysicalAddress at, long bytes, CopyDirection direction) {
    touchAll("copies by the host");
    long start = sim.nowPs();
    MachineParts.MemoryPath path = parts.path(machine.hostNode(), parts.node(at), machine.sips());
    boolean read = direction == CopyDirection.DEVICE_TO_HOST;
    FabricRoute route = read ? path.back() : path.there();
    long offered = start + (read ? path.requestPs() : 0);
    HostCopy copy = new HostCopy();
    MemorySpan span =
        new MemorySpan(parts.memories.place(at).offset(), Integer.MAX_VALUE, Integer.MAX_VALUE);
    int t = fabric.begin(parts.ties.hostId(), route, bytes, offered, copy, 0, false, span);
    log.transfers().travels(TransferLog.NONE, t);
    while (copy.endPs < 0) {
      if (!sim.step()) {
        throw new IllegalStateException("bug: a copy is under way and no event is queued");
      }
    }
    sim.finishPicosecond();
    return copy.endPs + (read ? 0 : path.replyPs()) - start;
  }

  @Override
  public void driveToFirst(List<Launch> launches) {
    Launch done = doneOf(launches);
    if (done != null) {
      return;
    }
    driven = launches;
    try {
      int seen = ends;
      while (done == null) {
        if (!sim.step() && !apart.run()) {
          throw deadlock(launches.getFirst());
        }
        if (ends != seen) {
          seen = ends;
          done = doneOf(launches);
        }
      }
      sim.finishPicosecond();
    } finally { // a kernel may have failed
      driven = List.of();
      apart.giveUp();
    }
    log.launches().hostHasWaitedFor(done.id());
  }

  private static @Nullable Launch doneOf(List<Launch> launches) {
    for (Launch each : launches) {
      if (each.isDone()) {
        return each;
      }
    }
    return null;
  }

  private DeadlockException deadlock(Launch launch) {
    DeadlockReport.Builder report = new DeadlockReport.Builder();
    TimedWaits waits = new TimedWaits(parts, latestPs(), report);
    for (TimedPe p : pes) {
      if (p != null) {
        waits.describe(p);
      }
    }
    return report.build(latestPs(), launch.name());
  }

  /** Now, or when the last operation ends that is settled. */
  long latestPs() {
    return Math.max(sim.nowPs(), world.latestPs());
  }

  @Override
  public void onEvent(int kind, int arg) {
    if (kind != LAUNCH) {
      throw new IllegalStateException("executor event " + kind);
    }
    start(Objects.requireNonNull(starting.remove(arg)));
  }

  // ---- results ----

  @Override
  public long nowPs() {
    return sim.nowPs();
  }

  /**
   * Who looks from another thread sees how far the run is.
   *
   * @param apart what runs now; null: all packages on one clock
   */
  void follow(@Nullable ApartSimulation apart) {
    RunWatch shown = parts.shown;
    if (shown == null) {
      return;
    }
    if (apart == null) {
      shown.follows(sim::nowPs, sim::eventCount);
    } else {
      long before = sim.eventCount();
      shown.follows(apart::latestPs, () -> before + apart.eventCount());
    }
  }

  @Override
  public long eventCount() {
    return sim.eventCount();
  }

  @Override
  public OpLog log() {
    return log;
  }

  @Override
  public int peakSlots(QueueSet set) {
    return unit(set).peakSlots();
  }

  @Override
  public void close() {
    for (TimedPe p : pes) {
      if (p != null) {
        for (ProgramContext c : p.contexts()) {
          if (c != null) {
            c.program.cancel();
          }
        }
      }
    }
  }
}
