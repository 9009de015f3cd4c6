package org.kernbench.device;

import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.fabric.Fabric;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.fabric.Interconnect;
import org.kernbench.device.fabric.MemorySpan;
import org.kernbench.device.fabric.Ties;
import org.kernbench.device.log.CostModel;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.OpTally;
import org.kernbench.device.log.TransferLog;
import org.kernbench.device.memory.Memories;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.device.memory.PageMap;
import org.kernbench.device.reuse.LaunchMemo;
import org.kernbench.device.reuse.MemoHost;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.Symmetry;
import org.kernbench.machine.spec.TlbFill;
import org.kernbench.sim.ApartSimulation;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/**
 * A machine in simulated time: its PEs, the queues between them, and the launches that the host
 * asks for. What its PEs do is the business of the {@link World} that they are in.
 */
final class TimedExecutor implements Executor, EventHandler, MemoHost {
  private static final int LAUNCH = 0;

  /** Machines of more packages run launches apart, which pays more. */
  private static final int MOST_PACKAGES_REUSED = 256;

  /**
   * The ways between a PE and a memory.
   *
   * @param there for written data, ending with the memory's port
   * @param back for read data, beginning with the memory's port
   * @param requestPs latency of a command to the memory, without the memory's own access time
   * @param replyPs latency of an acknowledgement from the memory
   */
  record MemoryPath(FabricRoute there, FabricRoute back, long requestPs, long replyPs) {}

  final Machine machine;
  final Mode mode;
  final OpLog log;

  /** The shifts by which packages are folded, so that package 0 stands for all; null if not. */
  final @Nullable Symmetry folded;

  final PageMap map;
  final Memories memories;
  final CommandTable commands = new CommandTable();

  /** How much a program says before the CPU takes it. */
  final int tapeSize;

  private final SimulatorOptions options;

  /** Is told which kernel has control; null if nobody asks. */
  final @Nullable RunWatch shown;

  private final KernelLines lines = new KernelLines();

  /** All PEs are in it, unless packages run apart. */
  private final World world;

  final Ties ties;
  private final Simulation sim = new Simulation();
  private final Interconnect fabric;
  private final ApartRun apart;
  private final int handler;

  /** By package; null for those with the usual engines, or if all have them. */
  private final @Nullable CostModel[] slowCosts;

  private final CostModel usualCost;

  /** Per PE, the tile scheduler's included. */
  private final int contexts;

  /** The launch whose end the host waits for; null if it waits for none. */
  private @Nullable Launch driven;

  /** Launches that are not done. */
  private int openLaunches;

  private final @Nullable TimedPe[] pes;
  private final Map<Integer, Map<Long, FabricRoute>> routes = new HashMap<>();

  /** Launches whose start is scheduled, by the argument of the event. */
  private final Map<Integer, Launch> starting = new HashMap<>();

  private int startCount;

  /** The launch that has just ended on a PE, while others are told; null at other times. */
  private @Nullable Launch ending;

  private int endingPe = -1;

  private final Map<QueueSet, MessageUnit> messages = new IdentityHashMap<>();

  /** What came of earlier launches; null if each is simulated. */
  private final @Nullable LaunchMemo memo;

  /** Hears of every operation that ends; null if nothing is checked. */
  private final @Nullable Watch watch;

  TimedExecutor(
      Machine machine,
      Mode mode,
      Memories memories,
      PageMap map,
      SimulatorOptions options,
      int tapeSize,
      ApartRun.Limits apart,
      @Nullable Symmetry folded) {
    this.folded = folded;
    this.tapeSize = tapeSize;
    this.machine = machine;
    this.mode = mode;
    this.map = map;
    this.memories = memories;
    this.options = options;
    this.shown = options.shown().orElse(null);
    follow(null);
    this.contexts = machine.pe().cpu().contexts() + 1;
    this.log = new OpLog(machine, options.opLogLimit());
    this.ties = Ties.of(machine);
    if (folded != null) {
      log.foldedBy(folded);
    }
    this.fabric = Interconnect.of(sim, machine, folded);
    if (options.opLogLimit() > 0) {
      fabric.recordIn(log.transfers());
    }
    this.usualCost = new CostModel(machine.pe());
    this.slowCosts = slowCosts(machine);
    this.handler = sim.register(this);
    this.pes = new TimedPe[machine.peCount() / (folded == null ? 1 : folded.order())];
    this.watch = options.watch().map(source -> source.of(machine, map, log, mode)).orElse(null);
    this.world = new World(this, sim, fabric, log.tally());
    this.apart = new ApartRun(this, options, world, apart);
    this.memo = memo();
  }

  @Override
  public @Nullable Watch watch() {
    return watch;
  }

  private @Nullable LaunchMemo memo() {
    return options.reuse()
            && mode == Mode.TIME
            && folded == null
            && watch == null
            && machine.sips() < MOST_PACKAGES_REUSED
            && machine.pe().cpu().dispatchPs() > 0
            && fabric instanceof Fabric f
            && !f.isBanked()
        ? new LaunchMemo(this, sim, f)
        : null;
  }

  @Override
  public Optional<Reused> reused() {
    return Optional.ofNullable(memo)
        .map(m -> new Reused(m.reused(), m.operations(), m.simulated(), m.reasons()));
  }

  @Override
  public TimedPe pe(int index) {
    TimedPe p = pes[index];
    if (p == null) {
      p = new TimedPe(world, index, machine.peAt(index));
      pes[index] = p;
    }
    return p;
  }

  TimedPe pe(Pe pe) {
    return pe(machine.peIndex(pe));
  }

  /** Where packages are folded, what a PE is when {@code of} is moved to package 0; else the PE. */
  Pe representative(Pe pe, Pe of) {
    return folded == null ? pe : folded.shifted(pe, folded.backFrom(of.sip()));
  }

  @Override
  public QueueSet install(QueuePlan plan) {
    touchAll("queues installed");
    QueueSet set = new QueueSet(plan);
    messages.put(set, new MessageUnit(this, plan));
    return set;
  }

  @Override
  public void uninstall(QueueSet set) {
    touchAll("queues uninstalled");
    set.removed();
    MessageUnit unit = unit(set);
    while (unit.isUnderWay()) {
      if (!sim.step()) {
        throw new IllegalStateException("bug: a message is under way and no event is queued");
      }
    }
    unit.uninstall();
    messages.remove(set);
  }

  @Override
  public List<TimedPe> pesInUse() {
    return Arrays.stream(pes).filter(Objects::nonNull).toList();
  }

  /** The context of that index. */
  ProgramContext context(int index) {
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
  public void unmapped(PageMap.Range range) {
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

  int node(PhysicalAddress address) {
    return memories.node(address);
  }

  // ---- routes ----

  /**
   * A route between two nodes.
   *
   * @param owner package of the PE that moves bytes on it, {@link Machine#sips} for the host
   */
  synchronized FabricRoute route(int from, int to, int owner) {
    return routes
        .computeIfAbsent(from, f -> new HashMap<>())
        .computeIfAbsent(
            ((long) owner << 32) | to,
            t -> FabricRoute.of(machine, machine.route(from, to), owner, folded));
  }

  /** How a PE of a package, or the host, reaches a memory. */
  MemoryPath path(int node, int memory, int owner) {
    long request = machine.route(node, memory).requestPs();
    long reply = machine.route(memory, node).replyPs();
    return new MemoryPath(route(node, memory, owner), route(memory, node, owner), request, reply);
  }

  // ---- commands ----

  int line() {
    return options.captureLines() ? log.lineId(lines.current()) : 0;
  }

  /** Where the program is, for a message that ends the run. */
  String currentLine() {
    return lines.current();
  }

  String atLine(int line) {
    return line == 0 ? "" : " at " + log.lineAt(line);
  }

  private static @Nullable CostModel[] slowCosts(Machine machine) {
    CostModel[] costs = new CostModel[machine.slowPackages().isEmpty() ? 0 : machine.sips()];
    for (int sip = 0; sip < costs.length; sip++) {
      if (!machine.pe(sip).equals(machine.pe())) {
        costs[sip] = new CostModel(machine.pe(sip));
      }
    }
    return costs;
  }

  CostModel cost(TimedPe pe) {
    CostModel slow = slowCosts.length == 0 ? null : slowCosts[pe.pe.sip()];
    return slow == null ? usualCost : slow;
  }

  // ---- launches ----

  @Override
  public Launch launch(LaunchRequest spec, Function<PePort, Runnable> program) {
    Launch launch = new Launch(spec, program, sim.nowPs());
    openLaunches++;
    long arrival = 0;
    launch.notReady = spec.pes().size();
    launch.follow(spec.after());
    spec.queues().ifPresent(set -> set.users++);
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
    List<Integer> after = spec.after().stream().filter(Launch::isUnderWay).map(l -> l.id).toList();
    launch.id = log.launches().called(spec.name(), sim.nowPs(), launch.arrivalPs, after);
    startIfReady(launch);
    return launch;
  }

  private void startIfReady(Launch launch) {
    if (launch.notReady == 0) {
      launch.startNumber = startCount;
      launch.startedBy = launch.arrivalPs <= sim.nowPs() ? ending : null;
      launch.startedByPe = endingPe;
      starting.put(startCount, launch);
      sim.schedule(Math.max(sim.nowPs(), launch.arrivalPs), handler, LAUNCH, startCount++);
    }
  }

  private void start(Launch launch) {
    launch.started(sim.nowPs());
    log.launches().started(launch.id, sim.nowPs());
    int stream = launch.stream();
    MessageUnit queues = launch.spec().queues().map(this::unit).orElse(null);
    for (Pe p : launch.pes()) {
      ProgramContext c = pe(p).context(stream);
      c.launches.remove();
      c.launchRow = log.launches().startedOn(launch.id, c.pe.index, c.launchRow);
    }
    if (memo != null && memo.begins(new RememberedLaunch(this, launch, queues))) {
      return;
    }
    if (launch == driven && openLaunches == 1) {
      apart.beginIfAllowed(launch);
    }
    for (Pe p : launch.pes()) {
      pe(p).context(stream).start(launch, queues);
    }
  }

  /**
   * A context has ended its part of a launch and may start the next.
   *
   * @param isDone whether that was the last part
   */
  synchronized void isIdle(ProgramContext context, Launch ended, boolean isDone) {
    ending = ended;
    endingPe = context.pe.index;
    if (isDone) {
      openLaunches--;
      log.launches().done(ended.id, ended.donePs());
      ended.spec().queues().ifPresent(set -> set.users--);
      for (Launch follower : ended.takeFollowers()) {
        follower.notReady--;
        startIfReady(follower);
      }
    }
    Launch next = context.launches.peek();
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

  /** A PE has ended its part of a launch again, of which all others have been told before. */
  void wasTold(Launch ended, TimedPe p) {
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
    return map;
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
    MemoryPath path = path(machine.hostNode(), memories.node(at), machine.sips());
    boolean read = direction == CopyDirection.DEVICE_TO_HOST;
    FabricRoute route = read ? path.back() : path.there();
    long offered = start + (read ? path.requestPs() : 0);
    HostCopy copy = new HostCopy();
    MemorySpan span =
        new MemorySpan(memories.place(at).offset(), Integer.MAX_VALUE, Integer.MAX_VALUE);
    int t = fabric.begin(ties.hostId(), route, bytes, offered, copy, 0, false, span);
    log.transfers().travels(TransferLog.NONE, t);
    while (copy.endPs < 0) {
      if (!sim.step()) {
        throw new IllegalStateException("bug: a copy is under way and no event is queued");
      }
    }
    return copy.endPs + (read ? 0 : path.replyPs()) - start;
  }

  @Override
  public void drive(Launch launch) {
    if (launch.isDone()) {
      return;
    }
    driven = launch;
    try {
      while (!launch.isDone()) {
        if (!sim.step() && !apart.run(launch)) {
          throw new DeadlockException(deadlock(launch));
        }
      }
    } finally { // a kernel may have failed
      driven = null;
      apart.giveUp();
    }
    log.launches().hostHasWaitedFor(launch.id);
  }

  private String deadlock(Launch launch) {
    DeadlockReport.Builder report = new DeadlockReport.Builder();
    TimedWaits waits = new TimedWaits(this, report);
    for (TimedPe p : pes) {
      if (p != null) {
        waits.describe(p);
      }
    }
    return report.build(latestPs(), "kernel " + launch.name());
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
