package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.LaneMask;
import org.kernbench.device.Mode;
import org.kernbench.device.Watch;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.fabric.Interconnect;
import org.kernbench.device.fabric.MemorySpan;
import org.kernbench.device.fabric.Ties;
import org.kernbench.device.log.ComputeKernels;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.CostModel;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.OpTally;
import org.kernbench.device.log.TransferLog;
import org.kernbench.device.memory.Memories;
import org.kernbench.device.reuse.MemoLaunch;
import org.kernbench.device.reuse.PeMark;
import org.kernbench.machine.Machine;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.SimulationException;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;
import org.kernbench.tensor.ShapeException;

/**
 * What PEs that are simulated together share: their clock, the transfers between them, the engines
 * to be tried; here their commands become transfers and events, and events progress. All PEs of a
 * machine are in one world, but while packages run apart (ADR 0065): then each partition of them
 * has one, one thread at a time works in it, and what one does to another goes through {@link
 * Simulation#post}.
 */
final class World implements EventHandler, Interconnect.Sink {
  private static final int READ_MEMORY = 0;
  private static final int WAKE = 1;
  private static final int TCM_GIVEN = 2;
  private static final int ACCESSED = 3;
  private static final int CHOOSE = 4;

  final MachineParts parts;
  final Machine machine;
  final Mode mode;
  final Simulation sim;
  final Interconnect fabric;

  /** What has been done here. */
  final OpTally tally;

  private final OpLog log;
  private final TransferLog transfers;
  private final Memories memories;
  private final CommandTable commands;
  private final int handler;
  private final boolean values;
  private final boolean banked;
  private final @Nullable Watch watch;
  private final Ties ties;
  private final Directory directory;

  private final Engine.Line toTry = new Engine.Line();
  private boolean trying;

  /** Engines that have had to choose between streams. */
  private final List<Engine> shared = new ArrayList<>();

  /** The latest end that is settled, which may lie ahead of the last event. */
  private long latestPs;

  /** The PEs and programs of all worlds, by the numbers that events carry. */
  interface Directory {
    ProcessingElement pe(int index);

    Issuer issuer(int index);
  }

  World(
      MachineParts parts,
      CommandTable commands,
      Directory directory,
      Simulation sim,
      Interconnect fabric,
      OpTally tally) {
    this.parts = parts;
    this.directory = directory;
    this.machine = parts.machine;
    this.mode = parts.mode;
    this.sim = sim;
    this.fabric = fabric;
    this.tally = tally;
    this.log = parts.log;
    this.transfers = log.transfers();
    this.memories = parts.memories;
    this.commands = commands;
    this.watch = parts.watch;
    this.values = mode == Mode.FULL;
    this.banked = machine.hbm().isBanked();
    this.ties = parts.ties;
    this.handler = sim.register(this);
  }

  /** When the last operation ends of those that are settled. */
  long latestPs() {
    return latestPs;
  }

  /** An operation is known to end then. */
  void isLater(long timePs) {
    latestPs = Math.max(latestPs, timePs);
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
    try {
      Engine next = toTry.poll();
      while (next != null) {
        next.pe.startHeads(next);
        next = toTry.poll();
      }
    } finally { // where places run apart, others go on after an error, without what it was about
      trying = false;
      toTry.clear();
    }
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

  // ---- transfers ----

  /** Notes the way that the bytes of an operation take. */
  void moves(TransferOp op, FabricRoute route) {
    op.moves(route, fabric.serialPs(route, op.bytes));
    op.pe.mark.uses(route);
  }

  /**
   * @param part of the log of transfers
   */
  void transfer(int part, FabricRoute route, int bytes, long timePs, Op op, boolean tellInjected) {
    int t = fabric.begin(transferId(op), route, bytes, timePs, this, op.index, tellInjected, null);
    transfers.travels(part, t);
  }

  /**
   * The sum that an operation has given to sets out from its switch.
   *
   * @param by the operation that gave last
   */
  void comesDown(TransferOp op, FabricRoute route, long timePs, int by) {
    op.serialisationPs += fabric.serialPs(route, op.bytes);
    int part = transfers.beginFromSwitch(op.id, op.bytes, timePs, by);
    transfer(part, route, op.bytes, timePs, op, false);
  }

  /** A copy of what an operation has sent sets out from a switch; {@code sink} hears of it. */
  void copyGoesDown(
      TransferOp op, FabricRoute route, long timePs, Interconnect.Sink sink, int sinkArg) {
    int part = transfers.beginCopy(op.id, op.bytes, timePs);
    transfers.travels(
        part, fabric.begin(transferId(op), route, op.bytes, timePs, sink, sinkArg, false, null));
  }

  /** Who goes first at a link does not depend on which PE the simulator looks at first. */
  private long transferId(Op op) {
    return ties.id(op.pe.indexInPackage, op.ordinal);
  }

  /** A part of an operation that moves bytes begins. */
  int part(Op op, int bytes, long startPs, int by) {
    return transfers.begin(op.id, bytes, startPs, by);
  }

  @Override
  public void onInjected(int arg, long timePs) {
    ((TransferOp) commands.get(arg)).injected(timePs);
  }

  @Override
  public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {
    TransferOp op = (TransferOp) commands.get(arg);
    op.contentionPs += waitPs;
    if (waitPs > 0 && worstLink >= 0) {
      op.link = worstLink;
    }
    op.delivered(this, timePs);
  }

  // ---- computations ----

  /** Nothing can change the end of a computation that has started, so it is settled at once. */
  void compute(ComputationOp op) {
    ComputeOp c = op.what();
    op.work = log.workId(op.id, c);
    if (values) {
      op.out.hold(computed(op));
    }
    CostModel cost = parts.cost(op.pe.place);
    op.engineFreePs = op.startPs + cost.occupancyPs(c);
    op.pe.complete(op, op.startPs + cost.durationPs(c));
  }

  private static byte[] computed(ComputationOp op) {
    byte[] out = new byte[op.bytes];
    try {
      ComputeKernels.run(
          op.what(),
          op.a.data(),
          op.a.dataOffset() + op.aOffset,
          op.b.data(),
          op.b.dataOffset() + op.bOffset,
          op.c.data(),
          op.c.dataOffset() + op.cOffset,
          out,
          0);
    } catch (ShapeException e) { // values that an operation is not defined on
      throw new SimulationException(told(op, e));
    }
    return out;
  }

  private static String told(ComputationOp op, ShapeException e) {
    LaunchState launch = op.owner().running;
    String line = op.pe.world.log.lineAt(op.line);
    return "%sat %s: %s%s"
        .formatted(
            launch == null ? "" : "kernel " + launch.name() + " ",
            op.pe.pe,
            e.getMessage(),
            line.isEmpty() ? "" : " (" + line + ")");
  }

  // ---- loads and stores ----

  void beginLoad(AccessOp op) {
    if (values) {
      if (op.startPs > sim.nowPs()) {
        sim.schedule(op.pe.place, op.startPs, handler, READ_MEMORY, op.index);
      } else {
        readMemory(op);
      }
    }
    MachineParts.MemoryPath path = op.pe.path(op.memory);
    moves(op, path.back());
    access(path.back(), beginPs(op) + path.requestPs(), op);
  }

  void beginStore(AccessOp op) {
    MachineParts.MemoryPath path = op.pe.path(op.memory);
    op.replyPs = path.replyPs();
    moves(op, path.there());
    access(path.there(), beginPs(op), op);
  }

  private void access(FabricRoute route, long timePs, AccessOp op) {
    int part = part(op, op.bytes, op.startPs, -1);
    MemorySpan span = banked ? span(op) : null;
    int t = fabric.begin(transferId(op), route, op.bytes, timePs, this, op.index, false, span);
    transfers.travels(part, t);
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
      memories.read(
          op.physical, op.region(), op.lanes(mask), op.firstLane, op.out.data(), op.outOffset);
    }
  }

  /** The last byte, or its acknowledgement, reaches the PE at a time. */
  void accessedAt(long timePs, Op op) {
    World there = op.pe.world;
    if (there == this) {
      long key = ties.keyAfter(transferId(op), op.pe.pe.sip());
      sim.scheduleKeyed(op.pe.place, timePs, key, handler, ACCESSED, op.index);
    } else {
      sim.post(op.pe.place, () -> there.accessedAt(timePs, op));
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
        memories.write(op.physical, op.region(), op.lanes(mask), op.firstLane, op.a.data(), from);
      }
    }
    op.pe.complete(op, sim.nowPs());
  }

  // ---- later ----

  void wakeAt(long timePs, Issuer issuer) {
    sim.schedule(issuer.place, timePs, handler, WAKE, issuer.index);
  }

  /** Room in TCM comes free at a time that is already known. */
  void giveTcmAt(long timePs, ProcessingElement p) {
    sim.schedule(p.place, timePs, handler, TCM_GIVEN, p.index);
  }

  @Override
  public void onEvent(int kind, int arg) {
    switch (kind) {
      case READ_MEMORY -> readMemory((AccessOp) commands.get(arg));
      case ACCESSED -> accessed((AccessOp) commands.get(arg));
      case WAKE -> directory.issuer(arg).timeHasCome();
      case TCM_GIVEN -> directory.pe(arg).tcmGiven();
      case CHOOSE -> choose(shared.get(arg));
      default -> throw new IllegalStateException("event " + kind);
    }
  }

  // ---- the log ----

  /** Takes over what another world has counted. */
  void add(World other) {
    tally.add(other.tally);
    latestPs = Math.max(latestPs, other.latestPs);
  }

  /** The number of a new operation. */
  int newId() {
    return sim.isApart() ? tally.newId() : log.reserve();
  }

  void record(Op op, long endPs) {
    latestPs = Math.max(latestPs, endPs);
    TransferOp moved = op instanceof TransferOp transfer ? transfer : null;
    log.complete(
        tally,
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
        op.issuer().isScheduler,
        op.issuePs,
        op.startPs,
        endPs,
        moved == null ? 0 : moved.contentionPs,
        moved == null ? 0 : moved.serialisationPs,
        op instanceof AccessOp access ? access.translatePs : 0);
    if (op.pe.mark.isNoted()) {
      remember(op, moved, endPs);
    }
    did(op);
    if (watch != null) {
      op.tells(watch, endPs);
    }
  }

  private static void did(Op op) {
    LaunchState launch = op.owner().running;
    MemoLaunch remembered = launch == null ? null : launch.remembered;
    if (remembered != null) {
      remembered.mark().did();
    }
  }

  private static void remember(Op op, @Nullable TransferOp moved, long endPs) {
    PeMark mark = op.pe.mark;
    if (op.issuer().isScheduler) {
      mark.spoil("composite operations");
      return;
    }
    LaunchState launch = Objects.requireNonNull(op.issuer().running);
    mark.ended(
        Objects.requireNonNull(launch.remembered).mark(),
        op.id,
        op.ordinal,
        op.kind(),
        op.cause,
        op.causeOp,
        op.bytes,
        moved == null ? -1 : moved.link,
        op.line,
        op instanceof ComputationOp computation ? computation.work : 0,
        op.issuePs,
        op.startPs,
        endPs,
        moved == null ? 0 : moved.contentionPs,
        moved == null ? 0 : moved.serialisationPs,
        op instanceof AccessOp access ? access.translatePs : 0);
  }

  private static int launchOf(Op op) {
    LaunchState launch = op.owner().running;
    return launch == null ? LaunchLog.NONE : launch.id;
  }
}
