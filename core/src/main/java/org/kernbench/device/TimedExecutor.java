package org.kernbench.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Backpressure;
import org.kernbench.machine.BufferKind;
import org.kernbench.machine.IpcqSpec;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SlotAccess;
import org.kernbench.machine.SlotCost;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/** All PEs of a machine on one clock: turns their commands into transfers and events, and events into progress. */
final class TimedExecutor implements Executor, EventHandler, Fabric.Sink {
  static final int DONE = 0;
  static final int START = 1;
  private static final int COPIED = 2;
  private static final int SLOT_WRITTEN = 3;
  private static final int CREDIT = 4;
  private static final int LAUNCH = 5;
  private static final int RESUME = 6;

  final Machine machine;
  final Mode mode;
  final Simulation sim = new Simulation();
  final OpLog log;
  private final Memories memories;
  private final SimulatorOptions options;
  private final KernelLines lines = new KernelLines();
  private final Fabric fabric;
  private final CostModel cost;
  private final int handler;
  private final boolean values;
  private final @Nullable TimedPe[] pes;
  private final Map<Long, Route> routes = new HashMap<>();

  private Op[] ops = new Op[256];
  private int opCount;
  private @Nullable Op freeOps;

  private IpcqSpec ipcq;
  private QueueEnd[] queues = new QueueEnd[0];
  private int slots = 1;
  private SlotCost slotCost;

  private final List<Launch> launches = new ArrayList<>();
  private final List<Launch> running = new ArrayList<>();

  TimedExecutor(Machine machine, Mode mode, Memories memories, SimulatorOptions options) {
    this.machine = machine;
    this.mode = mode;
    this.memories = memories;
    this.options = options;
    this.values = mode == Mode.FULL;
    this.log = new OpLog(machine, options.opLogLimit());
    this.fabric = Fabric.of(sim, machine);
    this.cost = new CostModel(machine.pe());
    this.handler = sim.register(this);
    this.pes = new TimedPe[machine.peCount()];
    this.ipcq = machine.ipcq();
    this.slotCost = slotCost(ipcq);
  }

  private static SlotCost slotCost(IpcqSpec ipcq) {
    return Objects.requireNonNull(ipcq.serialCost().get(ipcq.bufferKind()), "validated: every buffer kind has a slot cost");
  }

  private TimedPe pe(int index) {
    TimedPe p = pes[index];
    if (p == null) {
      p = new TimedPe(this, index, machine.peAt(index));
      pes[index] = p;
    }
    return p;
  }

  private TimedPe pe(Pe pe) {
    return pe(machine.peIndex(pe));
  }

  // ---- queues ----

  @Override
  public void install(QueuePlan plan) {
    if (!running.isEmpty()) {
      throw new SimulationException(
          "message queues cannot be replaced while kernel " + running.getFirst().name() + " is running; await it first");
    }
    while (sim.step()) {
      // credits still on their way belong to the old queues
    }
    for (TimedPe p : pes) {
      if (p != null) {
        p.clearQueues();
      }
    }
    ipcq = plan.spec();
    slotCost = slotCost(ipcq);
    slots = ipcq.slots();
    queues = new QueueEnd[plan.connections().size() * 2];
    long tcmBytes = ipcq.bufferKind() == BufferKind.TCM ? slots * ipcq.slotBytes() : 0;
    int id = 0;
    for (QueuePlan.Connection c : plan.connections()) {
      QueueEnd a = newQueue(id++, c.a(), c.aDirection(), tcmBytes);
      QueueEnd b = newQueue(id++, c.b(), c.bDirection(), tcmBytes);
      a.peer = b;
      b.peer = a;
    }
    for (QueueEnd q : queues) {
      connect(q);
    }
  }

  private QueueEnd newQueue(int id, Pe at, String direction, long tcmBytes) {
    TimedPe p = pe(at);
    QueueEnd q = new QueueEnd(id, p.index, at, direction, p.queueCount(), slots);
    p.addQueue(q, tcmBytes);
    queues[id] = q;
    return q;
  }

  private void connect(QueueEnd q) {
    Pe peer = q.peer().pe;
    boolean streamedMemory = ipcq.slotAccess() == SlotAccess.STREAMED && ipcq.bufferKind() != BufferKind.TCM;
    q.out = route(machine.peNode(q.pe), streamedMemory ? slotNode(peer) : machine.peNode(peer));
    Route credit = route(machine.peNode(q.pe), machine.peNode(peer));
    q.creditLatencyPs =
        credit.latencyPs + credit.narrowest.durationPs(ipcq.creditBytes()) + ipcq.creditOverheadPs();
    if (streamedMemory) {
      q.slotRead = route(slotNode(q.pe), machine.peNode(q.pe));
      q.slotReadRequestPs = path(machine.peNode(q.pe), slotNode(q.pe)).requestPs();
    }
  }

  private int slotNode(Pe pe) {
    return switch (ipcq.bufferKind()) {
      case TCM -> machine.tcmNode(pe);
      case SRAM -> machine.sramNode(pe.sip(), pe.cube());
      case HBM -> machine.hbmNode(pe);
    };
  }

  QueueEnd queue(int id) {
    if (id < 0 || id >= queues.length) {
      throw new SimulationException("no message queue " + id + " is installed");
    }
    return queues[id];
  }

  int fragments(int bytes) {
    return Math.toIntExact(Math.max(1, Math.ceilDiv(bytes, ipcq.slotBytes())));
  }

  boolean receivesInPlace(int bytes) {
    return ipcq.slotAccess() == SlotAccess.STREAMED && ipcq.bufferKind() == BufferKind.TCM && bytes <= ipcq.slotBytes();
  }

  // ---- routes ----

  private Route route(int from, int to) {
    return routes.computeIfAbsent(((long) from << 32) | to, k -> Route.of(machine, machine.route(from, to)));
  }

  MemoryPath path(int pe, int memory) {
    Route there = route(pe, memory);
    Route back = route(memory, pe);
    long access = portLatencyPs(back.links[0]);
    return new MemoryPath(there, back, there.latencyPs - access, back.latencyPs - access);
  }

  private long portLatencyPs(int link) {
    return machine.spec(machine.linkKind(link)).latencyPs();
  }

  // ---- commands ----

  Op newOp(TimedPe pe) {
    Op op = freeOps;
    if (op != null) {
      freeOps = op.next;
      op.pe = pe;
    } else {
      if (opCount == ops.length) {
        ops = Arrays.copyOf(ops, opCount * 2);
      }
      op = new Op(opCount, pe);
      ops[opCount++] = op;
    }
    op.clear();
    return op;
  }

  void recycle(Op op) {
    op.a = Register.NONE;
    op.b = Register.NONE;
    op.c = Register.NONE;
    op.out = Register.NONE;
    op.next = freeOps;
    freeOps = op;
  }

  int line() {
    return options.captureLines() ? log.lineId(lines.current()) : 0;
  }

  String atLine(int line) {
    return line == 0 ? "" : " at " + log.lineAt(line);
  }

  void at(long timePs, int kind, Op op) {
    sim.schedule(timePs, handler, kind, op.index);
  }

  long durationPs(Op op) {
    ComputeOp c = op.compute;
    if (c == null) {
      throw new IllegalStateException("operation " + op.id + " computes nothing");
    }
    return cost.durationPs(c);
  }

  void beginLoad(Op op) {
    Region region = op.region();
    if (values) {
      op.out.data = new byte[op.bytes];
      memories.read(region, op.out.data, 0);
    }
    MemoryPath path = op.pe.path(memories.node(region.address()));
    note(op, path.back());
    fabric.begin(
        path.back(), op.bytes, op.startPs + machine.pe().dma().setupPs() + path.requestPs(), this, op.index, false);
  }

  void beginStore(Op op) {
    MemoryPath path = op.pe.path(memories.node(op.region().address()));
    op.replyPs = path.replyPs();
    note(op, path.there());
    fabric.begin(path.there(), op.bytes, op.startPs + machine.pe().dma().setupPs(), this, op.index, false);
  }

  void beginMessage(Op op, long timePs) {
    int bytes = op.fragmentBytes(op.fragmentsStarted - 1, ipcq.slotBytes());
    note(op, op.end().out);
    fabric.begin(op.end().out, bytes, timePs + machine.pe().dma().messageOverheadPs(), this, op.index, true);
  }

  private static void note(Op op, Route route) {
    op.serialisationPs = route.narrowest.durationPs(op.bytes);
    if (op.link < 0) {
      op.link = route.narrowestLink;
    }
  }

  @Override
  public void onInjected(int arg) {
    ops[arg].pe.injected(ops[arg]);
  }

  @Override
  public void onDelivered(int arg, long waitPs, int worstLink) {
    Op op = ops[arg];
    op.contentionPs += waitPs;
    if (waitPs > 0 && worstLink >= 0) {
      op.link = worstLink;
    }
    switch (op.kind()) {
      case LOAD -> done(op);
      case STORE -> at(sim.nowPs() + op.replyPs, DONE, op);
      case SEND -> arrived(op);
      case RECV -> copied(op);
      case MATH, GEMM -> throw new IllegalStateException("compute command " + op.id + " on the fabric");
    }
  }

  /** A fragment has crossed the fabric; with serial access its slot is still to be written. */
  private void arrived(Op op) {
    if (ipcq.slotAccess() == SlotAccess.STREAMED) {
      slotWritten(op);
      return;
    }
    QueueEnd to = op.end().peer();
    to.writeFreePs =
        Math.max(sim.nowPs(), to.writeFreePs) + slotCostPs(op.fragmentBytes(op.fragmentsDone, ipcq.slotBytes()));
    at(to.writeFreePs, SLOT_WRITTEN, op);
  }

  private long slotCostPs(int bytes) {
    return slotCost.durationPs(bytes);
  }

  /** Data and metadata of a fragment become visible in one step. */
  private void slotWritten(Op op) {
    QueueEnd to = op.end().peer();
    int k = op.fragmentsDone++;
    int slot = (int) ((op.firstFragment + k) % slots);
    int bytes = op.fragmentBytes(k, ipcq.slotBytes());
    if (values) {
      to.put(slot, op.a.data, op.a.dataOffset + op.aOffset + k * (int) ipcq.slotBytes());
    }
    boolean last = op.fragmentsDone == op.fragments;
    to.deliver(slot, sim.nowPs(), op.id, bytes, last);
    if (last) {
      op.pe.complete(op);
    }
    pe(to.peIndex).messageArrived(to);
  }

  void checkFragment(Op op) {
    QueueEnd q = op.end();
    int slot = (int) (q.taken % slots);
    int expected = op.fragmentBytes(op.fragmentsStarted, ipcq.slotBytes());
    boolean last = op.fragmentsStarted + 1 == op.fragments;
    if (q.visibleBytes[slot] != expected || q.lastFragment[slot] != last) {
      throw new SimulationException(
          "recv " + q.direction + " at " + q.pe + atLine(op.line) + " expects a message of " + op.bytes + " bytes, but " + q.peer().pe
              + " sent another size (a fragment of " + q.visibleBytes[slot] + " bytes where " + expected
              + " were expected); let both sides agree on shape and dtype");
    }
  }

  /** Copies a fragment from its slot to TCM, from {@code timePs} on. */
  void readSlot(Op op, long timePs) {
    QueueEnd q = op.end();
    int bytes = op.fragmentBytes(op.fragmentsStarted - 1, ipcq.slotBytes());
    if (ipcq.slotAccess() == SlotAccess.SERIAL) {
      at(timePs + slotCostPs(bytes), COPIED, op);
    } else if (ipcq.bufferKind() == BufferKind.TCM) {
      at(timePs + machine.pe().tcm().rate().durationPs(2L * bytes), COPIED, op);
    } else {
      note(op, q.slotRead);
      fabric.begin(q.slotRead, bytes, timePs + q.slotReadRequestPs, this, op.index, false);
    }
  }

  private void copied(Op op) {
    if (values) {
      int k = op.fragmentsStarted - 1;
      int bytes = op.fragmentBytes(k, ipcq.slotBytes());
      if (op.out.data.length == 0) {
        op.out.data = new byte[op.bytes];
      }
      System.arraycopy(
          op.end().data(op.slot), op.end().dataOffset(op.slot), op.out.data, k * (int) ipcq.slotBytes(), bytes);
    }
    op.pe.fragmentCopied(op);
  }

  void freeSlot(QueueEnd q, int slot, int byOp) {
    QueueEnd sender = q.peer();
    sender.creditOp[slot] = byOp;
    sim.schedule(sim.nowPs() + q.creditLatencyPs, handler, CREDIT, sender.id * slots + slot);
  }

  void done(Op op) {
    switch (op.kind()) {
      case MATH, GEMM -> compute(op);
      case STORE -> {
        if (values) {
          memories.write(op.region(), op.a.data, op.a.dataOffset + op.aOffset);
        }
      }
      case RECV -> {
        if (op.inPlace) {
          op.out.slotQueue = op.end();
          op.out.slot = op.slot;
          if (values) {
            op.out.data = op.end().data(op.slot);
            op.out.dataOffset = op.end().dataOffset(op.slot);
          }
        }
      }
      case LOAD, SEND -> {}
    }
    op.pe.complete(op);
  }

  private void compute(Op op) {
    ComputeOp c = op.compute;
    if (values && c != null) {
      op.out.data = new byte[op.bytes];
      ComputeKernels.run(
          c,
          op.a.data,
          op.a.dataOffset + op.aOffset,
          op.b.data,
          op.b.dataOffset + op.bOffset,
          op.c.data,
          op.c.dataOffset + op.cOffset,
          op.out.data,
          0);
    }
  }

  void record(Op op, long endPs) {
    log.complete(
        op.id,
        op.pe.index,
        op.kind(),
        op.cause,
        op.causeOp,
        op.bytes,
        op.link,
        op.line,
        op.issuePs,
        op.startPs,
        endPs,
        op.contentionPs,
        op.serialisationPs);
  }

  // ---- launches ----

  @Override
  public Launch launch(String name, List<Pe> on, Function<PePort, Runnable> program) {
    Launch launch = new Launch(name, on, program, sim.nowPs());
    long arrival = 0;
    launch.notReady = on.size();
    running.add(launch);
    for (Pe p : on) {
      arrival = Math.max(arrival, machine.controlLatencyPs(p));
      TimedPe t = pe(p);
      t.launches.add(launch);
      if (t.launches.size() == 1 && t.running == null) {
        launch.notReady--;
      }
    }
    launch.arrivalPs = sim.nowPs() + arrival;
    startIfReady(launch);
    return launch;
  }

  private void startIfReady(Launch launch) {
    if (launch.notReady == 0) {
      launches.add(launch);
      sim.schedule(Math.max(sim.nowPs(), launch.arrivalPs), handler, LAUNCH, launches.size() - 1);
    }
  }

  private void start(Launch launch) {
    launch.started(sim.nowPs());
    for (Pe p : launch.pes()) {
      pe(p).launches.remove();
    }
    for (Pe p : launch.pes()) {
      pe(p).start(launch);
    }
  }

  void peIsIdle(TimedPe p) {
    Launch next = p.launches.peek();
    if (next != null && next.startPs() < 0) {
      next.notReady--;
      startIfReady(next);
    }
  }

  void resumeLater(TimedPe p) {
    sim.schedule(sim.nowPs(), handler, RESUME, p.index);
  }

  @Override
  public void drive(Launch launch) {
    while (!launch.isDone()) {
      if (!sim.step()) {
        throw new DeadlockException(deadlock(launch));
      }
    }
    running.remove(launch);
  }

  private String deadlock(Launch launch) {
    DeadlockReport.Builder report = new DeadlockReport.Builder();
    for (TimedPe p : pes) {
      if (p != null) {
        p.describeWait(report);
      }
    }
    return report.build(sim.nowPs(), "kernel " + launch.name());
  }

  @Override
  public void onEvent(int kind, int arg) {
    switch (kind) {
      case DONE -> done(ops[arg]);
      case START -> ops[arg].pe.started(ops[arg]);
      case COPIED -> copied(ops[arg]);
      case SLOT_WRITTEN -> slotWritten(ops[arg]);
      case CREDIT -> credit(queues[arg / slots], arg % slots, arg);
      case LAUNCH -> start(launches.get(arg));
      case RESUME -> pe(arg).resumeForClock();
      default -> throw new IllegalStateException("executor event " + kind);
    }
  }

  private void credit(QueueEnd q, int slot, int arg) {
    TimedPe p = pe(q.peIndex);
    long now = sim.nowPs();
    if (ipcq.backpressure() == Backpressure.POLL && now % ipcq.pollIntervalPs() != 0 && p.waitsForCredit(q)) {
      long poll = Math.ceilDiv(now, ipcq.pollIntervalPs()) * ipcq.pollIntervalPs();
      sim.schedule(poll, handler, CREDIT, arg);
      return;
    }
    q.returnCredit(slot, now);
    p.creditArrived(q);
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
  public int peakSlots() {
    int peak = 0;
    for (QueueEnd q : queues) {
      peak = Math.max(peak, q.slotsInUsePeak);
    }
    return peak;
  }

  @Override
  public void close() {
    for (TimedPe p : pes) {
      if (p != null) {
        p.abort();
      }
    }
  }
}
