package org.kernbench.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/**
 * All PEs of a machine on one clock: turns their commands into transfers and events, and events into
 * progress.
 */
final class TimedExecutor implements Executor, EventHandler, Fabric.Sink {
  static final int DONE = 0;
  static final int COPIED = 1;
  static final int SLOT_WRITTEN = 2;
  private static final int READ_MEMORY = 3;
  private static final int LAUNCH = 4;
  private static final int RESUME = 5;
  private static final int TCM_GIVEN = 6;

  final Machine machine;
  final Mode mode;
  final Simulation sim = new Simulation();
  final OpLog log;
  final MessageUnit messages;
  private final Memories memories;
  private final SimulatorOptions options;
  private final KernelLines lines = new KernelLines();
  private final Fabric fabric;
  private final CostModel cost;
  private final int handler;
  private final boolean values;
  private final @Nullable TimedPe[] pes;
  private final Map<Integer, Map<Integer, Route>> routes = new HashMap<>();

  private Op[] ops = new Op[256];
  private int opCount;
  private @Nullable Op freeOps;

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
    this.messages = new MessageUnit(this, machine, values);
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
  public void install(QueuePlan plan) {
    running.removeIf(Launch::isDone);
    if (!running.isEmpty()) {
      throw new SimulationException(
          "message queues cannot be replaced while kernel " + running.getFirst().name() + " is running; await it first");
    }
    while (sim.step()) {
      // what is still on its way belongs to the old queues
    }
    for (TimedPe p : pes) {
      if (p != null) {
        p.clearQueues();
      }
    }
    messages.install(plan);
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
    long access = machine.spec(machine.linkKind(back.links[0])).latencyPs();
    return new MemoryPath(there, back, there.latencyPs - access, back.latencyPs - access);
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

  /** Completes an operation at a time, without an event if that is now. */
  void doneAt(long timePs, Op op) {
    if (timePs > sim.nowPs()) {
      at(timePs, DONE, op);
    } else {
      done(op);
    }
  }

  void transfer(Route route, int bytes, long timePs, Op op, boolean tellInjected) {
    fabric.begin(route, bytes, timePs, this, op.index, tellInjected);
  }

  void beginCompute(Op op) {
    at(op.startPs + cost.durationPs(op.compute()), DONE, op);
  }

  void beginLoad(Op op) {
    if (values) {
      if (op.startPs > sim.nowPs()) {
        at(op.startPs, READ_MEMORY, op);
      } else {
        readMemory(op);
      }
    }
    MemoryPath path = op.pe.path(memories.node(op.region().address()));
    op.moves(path.back());
    transfer(path.back(), op.bytes, op.startPs + machine.pe().dma().setupPs() + path.requestPs(), op, false);
  }

  /** A load begins: it reads memory as it is now. */
  private void readMemory(Op op) {
    byte[] bytes = new byte[op.bytes];
    memories.read(op.region(), bytes, 0);
    op.out.hold(bytes);
  }

  void beginStore(Op op) {
    MemoryPath path = op.pe.path(memories.node(op.region().address()));
    op.replyPs = path.replyPs();
    op.moves(path.there());
    transfer(path.there(), op.bytes, op.startPs + machine.pe().dma().setupPs(), op, false);
  }

  @Override
  public void onInjected(int arg, long timePs) {
    messages.injected(ops[arg], timePs);
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
      case SEND -> messages.arrived(op);
      case RECV -> messages.copied(op);
      case MATH, GEMM -> throw new IllegalStateException("bug: compute command " + op.id + " on the fabric");
    }
  }

  /** Applies the effects of an operation and completes it. */
  private void done(Op op) {
    switch (op.kind()) {
      case MATH, GEMM -> compute(op);
      case STORE -> {
        if (values) {
          memories.write(op.region(), op.a.data(), op.a.dataOffset() + op.aOffset);
        }
      }
      case RECV -> {
        if (op.inPlace) {
          messages.useInPlace(op);
        }
      }
      case LOAD, SEND -> {}
    }
    op.pe.complete(op);
  }

  private void compute(Op op) {
    if (values) {
      byte[] out = new byte[op.bytes];
      ComputeKernels.run(
          op.compute(),
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

  /** Room in TCM comes free at a time that is already known. */
  void giveTcmAt(long timePs, TimedPe p) {
    sim.schedule(timePs, handler, TCM_GIVEN, p.index);
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
      case COPIED -> messages.copied(ops[arg]);
      case SLOT_WRITTEN -> messages.slotWritten(ops[arg]);
      case READ_MEMORY -> readMemory(ops[arg]);
      case LAUNCH -> start(launches.get(arg));
      case RESUME -> pe(arg).resumeForClock();
      case TCM_GIVEN -> pe(arg).tcmGiven();
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
  public int peakSlots() {
    return messages.peakSlots();
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
