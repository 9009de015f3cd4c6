package org.kernbench.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.TlbFill;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/**
 * All PEs of a machine on one clock: turns their commands into transfers and events, and events
 * into progress.
 */
final class TimedExecutor implements Executor, EventHandler, Interconnect.Sink {
  private static final int READ_MEMORY = 0;
  private static final int LAUNCH = 1;
  private static final int WAKE = 2;
  private static final int TCM_GIVEN = 3;
  private static final int ACCESSED = 4;
  private static final int CHOOSE = 5;

  /** Of the one copy that the host makes at a time, beyond the ids of operations. */
  private static final long HOST_COPY_ID = (1L << Fabric.ID_BITS) - 1;

  final Machine machine;
  final Mode mode;
  final Simulation sim = new Simulation();
  final OpLog log;
  final PageMap map;

  /** How much a program says before the CPU takes it. */
  final int tapeSize;

  private final Memories memories;
  private final SimulatorOptions options;
  private final KernelLines lines = new KernelLines();
  private final Interconnect fabric;

  /** By package; null for those with the usual engines, or if all have them. */
  private final @Nullable CostModel[] slowCosts;

  private final CostModel usualCost;
  private final int handler;
  private final boolean values;

  /** Per PE, the tile scheduler's included. */
  private final int contexts;

  /** Of the number of a command within its PE, in the id of a transfer. */
  private final int ordinalBits;

  private final ApartRun apart;

  /** The launch whose end the host waits for; null if it waits for none. */
  private @Nullable Launch driven;

  /** Launches that are not done. */
  private int openLaunches;

  private final boolean banked;

  private final @Nullable TimedPe[] pes;
  private final Map<Integer, Map<Integer, Route>> routes = new HashMap<>();

  private Op[] ops = new Op[256];
  private int opCount;

  private final EngineList toTry = new EngineList();
  private boolean trying;

  /** Engines that have had to choose between streams. */
  private final List<Engine> shared = new ArrayList<>();

  /** The latest end that is settled, which may lie ahead of the last event. */
  private long latestPs;

  /** Launches whose start is scheduled, by the argument of the event. */
  private final Map<Integer, Launch> starting = new HashMap<>();

  private int startCount;

  private final Map<QueueSet, MessageUnit> messages = new IdentityHashMap<>();

  /** Hears of every operation that ends; null if nothing is checked. */
  private final @Nullable Checker checker;

  TimedExecutor(
      Machine machine,
      Mode mode,
      Memories memories,
      PageMap map,
      SimulatorOptions options,
      int tapeSize,
      int packagesToRunApart) {
    this.tapeSize = tapeSize;
    this.machine = machine;
    this.mode = mode;
    this.map = map;
    this.memories = memories;
    this.options = options;
    this.values = mode == Mode.FULL;
    this.contexts = machine.pe().cpu().contexts() + 1;
    this.ordinalBits =
        Math.min(
            22, Fabric.ID_BITS - (Integer.SIZE - Integer.numberOfLeadingZeros(machine.peCount())));
    this.banked = machine.hbm().isBanked();
    this.log = new OpLog(machine, options.opLogLimit());
    this.fabric = Interconnect.of(sim, machine);
    if (options.opLogLimit() > 0) {
      fabric.recordIn(log.transfers());
    }
    this.apart = new ApartRun(machine, mode, options, sim, fabric, packagesToRunApart);
    this.usualCost = new CostModel(machine.pe());
    this.slowCosts = slowCosts(machine);
    this.handler = sim.register(this);
    this.pes = new TimedPe[machine.peCount()];
    this.checker =
        options.findings().map(f -> new Checker(machine, map, log, mode, f)).orElse(null);
  }

  @Override
  public @Nullable Checker checker() {
    return checker;
  }

  TimedPe pe(int index) {
    TimedPe p = pes[index];
    if (p == null) {
      p = new TimedPe(this, index, machine.peAt(index));
      pes[index] = p;
    }
    return p;
  }

  TimedPe pe(Pe pe) {
    return pe(machine.peIndex(pe));
  }

  @Override
  public QueueSet install(QueuePlan plan) {
    QueueSet set = new QueueSet(plan);
    messages.put(set, new MessageUnit(this, plan));
    return set;
  }

  @Override
  public void uninstall(QueueSet set) {
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

  private MessageUnit unit(QueueSet set) {
    return Objects.requireNonNull(messages.get(set), "queues of another machine");
  }

  // ---- addresses ----

  @Override
  public void mapped(PageMap.Range range) {
    if (machine.pe().mmu().fill() == TlbFill.AT_MAP) {
      for (int holder : range.holders) {
        pe(holder).mmu.fill(range);
      }
    }
  }

  @Override
  public void unmapped(PageMap.Range range) {
    range.translatedAt.stream().forEach(i -> pe(i).mmu.forget(range));
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

  Route route(int from, int to) {
    return routes
        .computeIfAbsent(from, f -> new HashMap<>())
        .computeIfAbsent(to, t -> Route.of(machine, machine.route(from, to)));
  }

  MemoryPath path(int pe, int memory) {
    Route there = route(pe, memory);
    Route back = route(memory, pe);
    int port = there.links[there.links.length - 1];
    long access = machine.specOf(port).latencyPs();
    long reply = back.latencyPs - (back.readPort < 0 ? access : 0);
    return new MemoryPath(there, back, there.latencyPs - access, reply);
  }

  // ---- engines ----

  /**
   * Starts what can start on an engine, and everything that follows from it. A list instead of
   * recursion: a chain of dependent commands may be as long as the command window.
   */
  void tryStart(Engine engine) {
    toTry.add(engine);
    if (trying) {
      return;
    }
    trying = true;
    Engine next = toTry.poll();
    while (next != null) {
      next.pe.startHeads(next);
      next = toTry.poll();
    }
    trying = false;
  }

  /** An engine chooses between streams at a time, after all that happens then. */
  void chooseAt(long timePs, Engine engine) {
    if (timePs >= engine.choosesPs) {
      return;
    }
    if (engine.index < 0) {
      engine.index = shared.size();
      shared.add(engine);
    }
    engine.choosesPs = timePs;
    sim.scheduleLast(timePs, handler, CHOOSE, engine.index);
  }

  private void choose(Engine engine) {
    long now = sim.nowPs();
    engine.chosePs = now;
    if (engine.choosesPs <= now) {
      engine.choosesPs = Engine.NEVER;
    }
    tryStart(engine);
  }

  // ---- commands ----

  /** A new command, which events find by its index. */
  <T extends Op> T numbered(IntFunction<T> make) {
    if (opCount == ops.length) {
      ops = Arrays.copyOf(ops, opCount * 2);
    }
    T op = make.apply(opCount);
    ops[opCount++] = op;
    return op;
  }

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

  /** Notes the way that the bytes of an operation take. */
  void moves(TransferOp op, Route route) {
    op.moves(route, fabric.serialPs(route, op.bytes));
  }

  /**
   * @param part of the log of transfers
   */
  void transfer(int part, Route route, int bytes, long timePs, Op op, boolean tellInjected) {
    int t = fabric.begin(transferId(op), route, bytes, timePs, this, op.index, tellInjected, null);
    log.transfers().travels(part, t);
  }

  /**
   * Of transfers that reach a link at one time that of the lower PE goes first, then the older. So
   * who goes first does not depend on which PE the simulator looks at first. Ordinals begin again
   * after a few million commands, of which never so many are under way.
   */
  private long transferId(Op op) {
    return ((long) op.pe.index << ordinalBits) | (op.ordinal & ((1 << ordinalBits) - 1));
  }

  /** A part of an operation that moves bytes begins. */
  int part(Op op, int bytes, long startPs, int by) {
    return log.transfers().begin(op.id, bytes, startPs, by);
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

  private CostModel cost(TimedPe pe) {
    CostModel slow = slowCosts.length == 0 ? null : slowCosts[pe.pe.sip()];
    return slow == null ? usualCost : slow;
  }

  /** Nothing can change the end of a computation that has started, so it is settled at once. */
  void compute(ComputationOp op) {
    ComputeOp c = op.what();
    op.work = log.workId(op.id, c);
    if (values) {
      byte[] out = new byte[op.bytes];
      ComputeKernels.run(
          c,
          op.a.data(),
          op.a.dataOffset() + op.aOffset,
          op.b.data(),
          op.b.dataOffset() + op.bOffset,
          op.c.data(),
          op.c.dataOffset() + op.cOffset,
          out,
          0);
      op.out.hold(out);
    }
    CostModel cost = cost(op.pe);
    op.engineFreePs = op.startPs + cost.occupancyPs(c);
    op.pe.complete(op, op.startPs + cost.durationPs(c));
  }

  void beginLoad(AccessOp op) {
    if (values) {
      if (op.startPs > sim.nowPs()) {
        sim.schedule(op.pe.place, op.startPs, handler, READ_MEMORY, op.index);
      } else {
        readMemory(op);
      }
    }
    MemoryPath path = op.pe.path(op.memory);
    moves(op, path.back());
    access(path.back(), beginPs(op) + path.requestPs(), op);
  }

  private void access(Route route, long timePs, AccessOp op) {
    int part = part(op, op.bytes, op.startPs, -1);
    MemorySpan span = banked ? span(op) : null;
    int t = fabric.begin(transferId(op), route, op.bytes, timePs, this, op.index, false, span);
    log.transfers().travels(part, t);
  }

  /** When a load or store leaves the DMA engine. */
  private long beginPs(AccessOp op) {
    return op.startPs + machine.pe().dma().setupPs() + op.translatePs;
  }

  private MemorySpan span(AccessOp op) {
    return MemorySpan.of(memories.place(new PhysicalAddress(op.physical)).offset(), op.region());
  }

  /** A load begins: it reads memory as it is now. */
  private void readMemory(AccessOp op) {
    if (op.outOffset == 0) {
      op.out.hold(new byte[op.out.bytes]);
    }
    LaneMask mask = op.mask;
    if (mask == null) {
      memories.read(op.physical, op.region(), op.out.data(), op.outOffset);
    } else {
      memories.read(op.physical, op.region(), mask, op.firstLane, op.out.data(), op.outOffset);
    }
  }

  void beginStore(AccessOp op) {
    MemoryPath path = op.pe.path(op.memory);
    op.replyPs = path.replyPs();
    moves(op, path.there());
    access(path.there(), beginPs(op), op);
  }

  @Override
  public void onInjected(int arg, long timePs) {
    MessageOp op = (MessageOp) ops[arg];
    op.end().unit().injected(op, timePs);
  }

  @Override
  public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {
    TransferOp op = (TransferOp) ops[arg];
    op.contentionPs += waitPs;
    if (waitPs > 0 && worstLink >= 0) {
      op.link = worstLink;
    }
    switch (op.kind()) {
      case LOAD -> sim.schedule(op.pe.place, timePs, handler, ACCESSED, arg);
      case STORE -> {
        long endPs = timePs + ((AccessOp) op).replyPs;
        sim.schedule(op.pe.place, endPs, handler, ACCESSED, arg);
      }
      case SEND -> {
        MessageOp message = (MessageOp) op;
        message.end().unit().arrived(message, timePs);
      }
      case RECV -> {
        MessageOp message = (MessageOp) op;
        message.end().unit().copied(message, timePs);
      }
      case MATH, GEMM ->
          throw new IllegalStateException("bug: compute command " + op.id + " on the fabric");
    }
  }

  /**
   * A load or store is complete now. These are not settled ahead: a DMA engine has several
   * channels, of which the first to be free takes the next command, and later accesses to the same
   * bytes look for those under way.
   */
  private void accessed(AccessOp op) {
    if (values && op.kind() == OpKind.STORE) {
      int from = op.a.dataOffset() + op.aOffset;
      LaneMask mask = op.mask;
      if (mask == null) {
        memories.write(op.physical, op.region(), op.a.data(), from);
      } else {
        memories.write(op.physical, op.region(), mask, op.firstLane, op.a.data(), from);
      }
    }
    op.pe.complete(op, sim.nowPs());
  }

  void record(Op op, long endPs) {
    latestPs = Math.max(latestPs, endPs);
    TransferOp moved = op instanceof TransferOp transfer ? transfer : null;
    log.complete(
        op.id,
        op.ordinal,
        op.pe.index,
        op.kind(),
        op.cause,
        op.causeOp,
        op.bytes,
        moved == null ? -1 : moved.link,
        op.line,
        op instanceof ComputationOp computation ? computation.work : 0,
        launchOf(op),
        op.context().scheduler != null,
        op.issuePs,
        op.startPs,
        endPs,
        moved == null ? 0 : moved.contentionPs,
        moved == null ? 0 : moved.serialisationPs,
        op instanceof AccessOp access ? access.translatePs : 0);
    if (checker != null) {
      checker.ended(op, endPs);
    }
  }

  private static int launchOf(Op op) {
    ScheduledTask task = op.task;
    Launch launch = (task == null ? op.context() : task.owner).running;
    return launch == null ? LaunchLog.NONE : launch.id;
  }

  // ---- launches ----

  @Override
  public Launch launch(LaunchSpec spec, Function<PePort, Runnable> program) {
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
        c.pe.streamBegins();
      }
      c.launches.add(launch);
      if (c.launches.size() == 1 && c.isIdle()) {
        launch.notReady--;
      }
    }
    launch.arrivalPs = sim.nowPs() + arrival;
    launch.id = log.launches().called(spec.name(), sim.nowPs(), launch.arrivalPs, spec.after());
    startIfReady(launch);
    return launch;
  }

  private void startIfReady(Launch launch) {
    if (launch.notReady == 0) {
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
    if (launch == driven && openLaunches == 1) {
      apart.beginIfAllowed(launch);
    }
    for (Pe p : launch.pes()) {
      pe(p).context(stream).start(launch, queues);
    }
  }

  /** A context has ended its part of a launch and may start the next. */
  void isIdle(ProgramContext context, Launch ended) {
    if (ended.isDone()) {
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
  }

  void wakeAt(long timePs, ProgramContext context) {
    sim.schedule(context.pe.place, timePs, handler, WAKE, context.index);
  }

  /** Room in TCM comes free at a time that is already known. */
  void giveTcmAt(long timePs, TimedPe p) {
    sim.schedule(p.place, timePs, handler, TCM_GIVEN, p.index);
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
    long start = sim.nowPs();
    MemoryPath path = path(machine.hostNode(), memories.node(at));
    boolean read = direction == CopyDirection.DEVICE_TO_HOST;
    Route route = read ? path.back() : path.there();
    long offered = start + (read ? path.requestPs() : 0);
    HostCopy copy = new HostCopy();
    MemorySpan span =
        new MemorySpan(memories.place(at).offset(), Integer.MAX_VALUE, Integer.MAX_VALUE);
    int t = fabric.begin(HOST_COPY_ID, route, bytes, offered, copy, 0, false, span);
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
        if (!sim.step()) {
          apart.end(latestPs);
          throw new DeadlockException(deadlock(launch));
        }
      }
      apart.end(launch.donePs());
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
    return report.build(Math.max(sim.nowPs(), latestPs), "kernel " + launch.name());
  }

  @Override
  public void onEvent(int kind, int arg) {
    switch (kind) {
      case READ_MEMORY -> readMemory((AccessOp) ops[arg]);
      case ACCESSED -> accessed((AccessOp) ops[arg]);
      case LAUNCH -> start(Objects.requireNonNull(starting.remove(arg)));
      case WAKE -> pe(arg / contexts).context(arg % contexts).program.timeHasCome();
      case TCM_GIVEN -> pe(arg).tcmGiven();
      case CHOOSE -> choose(shared.get(arg));
      default -> throw new IllegalStateException("executor event " + kind);
    }
  }

  // ---- results ----

  @Override
  public long nowPs() {
    return sim.nowPs();
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
