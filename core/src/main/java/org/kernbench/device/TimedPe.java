package org.kernbench.device;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.AccelSlot;
import org.kernbench.machine.CpuSpec;
import org.kernbench.machine.IssuePolicy;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.sim.Coroutine;

/**
 * One processing element in simulated time.
 *
 * <p>A command passes three gates. The <em>CPU</em> issues commands in program order, each {@code dispatch} after the last; it stalls for
 * room in TCM, at a fence, and, if the machine issues serially, until the command before is done. Each <em>engine</em> has an in-order
 * queue; its head <em>starts</em> when it is issued, its operands are ready, a channel is free, and what else it needs (a credit, a
 * message, earlier accesses to the same bytes) is there. The latest of these is remembered as the cause.
 *
 * <p>The program itself runs ahead of simulated time on a {@link Coroutine} and stops only to look at data or when its command window is
 * full.
 */
final class TimedPe implements PePort {
  /** Why the program is suspended. */
  private enum Suspension {
    NONE,
    WINDOW,
    LOOK,
    CLOCK
  }

  final TimedExecutor world;
  final int index;
  final Pe pe;

  /** Commands of this PE that can serve again: they find its other records in the same cache. */
  @Nullable Op freeOps;

  private final CpuSpec cpu;
  private final boolean serial;
  private final Engine[] engines;
  private final Engine read;
  private final Engine write;
  private final Engine math;
  private final Engine gemm;
  private final Engine[] channels;


  // queues of this PE
  private final Map<String, QueueEnd> queuesByDirection = new LinkedHashMap<>();

  // program
  final ArrayDeque<Launch> launches = new ArrayDeque<>();
  @Nullable Launch running;
  private @Nullable Coroutine program;
  private boolean programEnded;
  private Suspension suspension = Suspension.NONE;
  private Register lookedAt = Register.NONE;
  private int lookLine;
  private @Nullable Register unreleased;

  // CPU
  private @Nullable Op pendingHead;
  private @Nullable Op pendingTail;
  private @Nullable Op serialBlocker;
  private long cpuFreePs;
  private long barrierPs;
  private Cause issueCause = Cause.KERNEL_START;
  private int issueCauseOp = -1;
  private Cause barrierCause = Cause.KERNEL_START;
  private int barrierOp = -1;
  private CommandWindow window;
  private int live;
  private int issuedLive;

  // TCM
  private final TcmSpace tcm;
  private boolean tcmStalled;

  // memory order
  private final AccessList loads = new AccessList();
  private final AccessList stores = new AccessList();
  private int pathNode = -1;
  private @Nullable MemoryPath path;
  private final Map<Integer, MemoryPath> paths = new HashMap<>();

  private int lastOp = -1;
  private long lastEndPs;

  // the same, but a message counts when it is visible at its receiver, not when its channel is free
  private int lastDone = -1;
  private long lastDonePs;

  TimedPe(TimedExecutor world, int index, Pe pe) {
    this.world = world;
    this.index = index;
    this.pe = pe;
    var spec = world.machine.pe();
    this.cpu = spec.cpu();
    this.window = new CommandWindow(cpu.commandWindow());
    this.serial = cpu.issue() == IssuePolicy.SERIAL;
    this.tcm = new TcmSpace(spec.tcm().sizeBytes());
    this.read = new Engine(this, "DMA read", spec.dma().readQueues());
    this.write = new Engine(this, "DMA write", spec.dma().writeQueues());
    this.math = new Engine(this, "MATH", 1);
    this.gemm = spec.accelSlot() == AccelSlot.SHARED ? math : new Engine(this, "GEMM", 1);
    this.channels = new Engine[spec.dma().messageChannels()];
    this.engines = new Engine[4 + channels.length];
    engines[0] = read;
    engines[1] = write;
    engines[2] = math;
    engines[3] = gemm;
    for (int i = 0; i < channels.length; i++) {
      channels[i] = new Engine(this, "message channel " + i, 1);
      engines[4 + i] = channels[i];
    }
  }

  // ---- queues ----

  void clearQueues() {
    queuesByDirection.clear();
    tcm.reserveForSlots(0);
  }

  void addQueue(QueueEnd end, long tcmBytes) {
    if (queuesByDirection.put(end.direction, end) != null) {
      throw new SimulationException(
          pe + ": direction " + end.direction + " is connected twice; a direction name may be used once per PE");
    }
    end.receiver = new Engine(this, "queue " + end.direction, 1);
    end.channel = channels[end.ordinal % channels.length];
    tcm.reserveForSlots(tcm.slotBytes() + tcmBytes);
    if (tcm.capacity() < 0) {
      throw new SimulationException(
          pe + ": message slots need " + tcm.slotBytes() + " bytes of TCM, which has "
              + world.machine.pe().tcm().sizeBytes() + "; use fewer or smaller slots (ipcq.slots, ipcq.slot_size) or"
              + " another buffer_kind");
    }
  }

  int queueCount() {
    return queuesByDirection.size();
  }

  // ---- the program's side ----

  @Override
  public Pe pe() {
    return pe;
  }

  @Override
  public Mode mode() {
    return world.mode;
  }

  @Override
  public Machine machine() {
    return world.machine;
  }

  @Override
  public List<String> directions() {
    return List.copyOf(queuesByDirection.keySet());
  }

  @Override
  public int queue(String direction) {
    QueueEnd end = queuesByDirection.get(direction);
    return end == null ? -1 : end.id;
  }

  @Override
  public Register load(Region from) {
    Op op = command(OpKind.LOAD, from.bytes());
    op.region = from;
    op.out = newRegister(from.bytes(), true);
    return issue(op);
  }

  @Override
  public Register store(Register value, int offset, Region to) {
    Op op = command(OpKind.STORE, to.bytes());
    op.region = to;
    op.a = reading(value, op);
    op.aOffset = offset;
    op.out = new Register(0, true); // holds no storage, so nobody need give it up
    return issue(op);
  }

  @Override
  public Register compute(
      ComputeOp what, int outBytes, Register a, int aOffset, Register b, int bOffset, Register c, int cOffset) {
    Op op = command(what instanceof ComputeOp.Gemm ? OpKind.GEMM : OpKind.MATH, outBytes);
    op.compute = what;
    op.a = reading(a, op);
    op.b = reading(b, op);
    op.c = reading(c, op);
    op.aOffset = aOffset;
    op.bOffset = bOffset;
    op.cOffset = cOffset;
    op.out = newRegister(outBytes, true);
    return issue(op);
  }

  @Override
  public void send(int queue, Register value, int offset, int bytes) {
    Op op = command(OpKind.SEND, bytes);
    op.end = world.messages.queue(queue);
    op.a = reading(value, op);
    op.aOffset = offset;
    op.fragments = world.messages.fragments(bytes);
    issue(op);
  }

  @Override
  public Register receive(int queue, int bytes, boolean copy, boolean async) {
    boolean inPlace = !copy && world.messages.usableInPlace(bytes);
    Op op = command(OpKind.RECV, bytes);
    op.end = world.messages.queue(queue);
    op.inPlace = inPlace;
    op.async = async;
    op.fragments = world.messages.fragments(bytes);
    op.out = newRegister(bytes, !inPlace);
    return issue(op);
  }

  @Override
  public void fence(Register token) {
    Op op = command(null, 0);
    checkAlive(token);
    token.readers++;
    op.a = token;
    issue(op);
  }

  @Override
  public void fenceAll() {
    issue(command(null, 0));
  }

  @Override
  public void release(Register register) {
    if (register == Register.NONE) {
      return;
    }
    if (register.released) {
      throw new SimulationException(pe + ": a value was released twice");
    }
    unlink(register);
    register.released = true;
    freeIfDead(register);
  }

  @Override
  public byte[] look(Register register, int offset, int bytes) {
    if (world.mode == Mode.TIME) {
      throw new SimulationException(
          pe + ": the kernel looks at data, which mode time does not compute; run it in mode full or values");
    }
    checkAlive(register);
    register.readers++;
    if (!register.ready || register.readyPs > world.sim.nowPs()) {
      lookedAt = register;
      if (register.ready) {
        world.wakeAt(register.readyPs, this);
      }
      lookLine = world.line();
      suspend(Suspension.LOOK);
      lookedAt = Register.NONE;
    }
    byte[] copy = new byte[bytes];
    System.arraycopy(register.data(), register.dataOffset() + offset, copy, 0, bytes);
    finishedReading(register, register.producer, world.sim.nowPs());
    raiseBarrier(Math.max(world.sim.nowPs(), register.readyPs), Cause.LOOK, register.producer);
    return copy;
  }

  @Override
  public long clockPs() {
    if (pendingHead != null || serialBlocker != null) {
      suspend(Suspension.CLOCK);
    }
    return Math.max(Math.max(cpuFreePs, barrierPs), world.sim.nowPs());
  }

  private Op command(@Nullable OpKind kind, int bytes) {
    if (window.isFull()) {
      suspend(Suspension.WINDOW);
    }
    Op op = world.newOp(this);
    op.kind = kind;
    op.bytes = bytes;
    op.line = world.line();
    if (kind != null) {
      op.id = world.log.reserve();
    }
    return op;
  }

  private Register issue(Op op) {
    live++;
    op.number = window.enter();
    Register out = op.out; // the command may complete, and its record serve another, before this returns
    if (out != Register.NONE) {
      out.line = op.line;
    }
    Op tail = pendingTail;
    if (tail == null) {
      pendingHead = op;
    } else {
      tail.next = op;
    }
    pendingTail = op;
    pump();
    return out;
  }

  private Register newRegister(int bytes, boolean inTcm) {
    Register r = new Register(bytes, inTcm);
    Register first = unreleased;
    r.next = first;
    if (first != null) {
      first.previous = r;
    }
    unreleased = r;
    return r;
  }

  private void unlink(Register r) {
    Register p = r.previous;
    Register n = r.next;
    if (p == null && r != unreleased) {
      return; // never linked: the token of a store
    }
    if (p == null) {
      unreleased = n;
    } else {
      p.next = n;
    }
    if (n != null) {
      n.previous = p;
    }
    r.previous = null;
    r.next = null;
  }

  private void checkAlive(Register r) {
    if (r.released) {
      throw new SimulationException(
          pe + ": the kernel reads a value" + world.atLine(r.line) + " that it has released; release it after its last use");
    }
  }

  /** Makes a register an operand of a command, which will wait for it. */
  private Register reading(Register r, Op op) {
    if (r == Register.NONE) {
      return r;
    }
    checkAlive(r);
    r.readers++;
    if (r.ready) {
      op.operandReady(r.readyPs, r.producer);
    } else {
      op.missingOperands++;
      r.addWaiter(op);
    }
    return r;
  }

  private void suspend(Suspension why) {
    suspension = why;
    program().suspend();
  }

  private Coroutine program() {
    return Objects.requireNonNull(program, "no program runs");
  }

  // ---- launches ----

  void start(Launch launch) {
    long now = world.sim.nowPs();
    running = launch;
    programEnded = false;
    window = new CommandWindow(cpu.commandWindow());
    cpuFreePs = now;
    barrierPs = now;
    issueCause = Cause.KERNEL_START;
    issueCauseOp = -1;
    lastOp = -1;
    lastEndPs = now;
    lastDone = -1;
    lastDonePs = now;
    Runnable body = launch.programOn(this);
    program =
        Coroutine.of(
            launch.name() + "@" + pe,
            () -> {
              body.run();
              programEnded = true;
            });
    resume();
  }

  private void resume() {
    suspension = Suspension.NONE;
    program().resume();
    if (programEnded) {
      while (unreleased != null) {
        release(unreleased);
      }
    }
    finishIfIdle();
  }

  private void finishIfIdle() {
    Launch launch = running;
    if (launch == null || !programEnded || live > 0) {
      return;
    }
    if (lastEndPs > world.sim.nowPs()) {
      world.wakeAt(lastEndPs, this);
    } else {
      running = null;
      program = null;
      launch.finished(index, lastEndPs, lastOp);
      world.peIsIdle(this);
    }
  }

  void abort() {
    if (program != null) {
      program.cancel();
    }
  }

  // ---- CPU: issue in program order ----

  private void pump() {
    while (pendingHead != null && serialBlocker == null) {
      Op op = pendingHead;
      if (op.kind == null) {
        if (!passFence(op)) {
          return;
        }
        continue;
      }
      if (!reserveTcm(op)) {
        return;
      }
      removePending();
      if (barrierPs > cpuFreePs) {
        cpuFreePs = barrierPs;
        issueCause = barrierCause;
        issueCauseOp = barrierOp;
      }
      cpuFreePs += cpu.dispatchPs();
      op.issuePs = cpuFreePs;
      op.issueCause = issueCause;
      op.issueCauseOp = issueCauseOp;
      issuedLive++;
      if (serial && !op.async) {
        serialBlocker = op;
      }
      Engine engine = engineFor(op);
      engine.add(op);
      if (op.kind == OpKind.LOAD) {
        loads.add(op);
      } else if (op.kind == OpKind.STORE) {
        stores.add(op);
      }
      world.tryStart(engine);
    }
    if (mayTellTime()) {
      world.wakeAt(world.sim.nowPs(), this);
    }
  }

  private void removePending() {
    Op op = pendingHead;
    if (op != null) {
      pendingHead = op.next;
      if (pendingHead == null) {
        pendingTail = null;
      }
    }
  }

  private boolean passFence(Op fence) {
    if (fence.a != Register.NONE) {
      if (!fence.a.ready) {
        return false;
      }
      raiseBarrier(fence.a.readyPs, Cause.FENCE, fence.a.producer);
      finishedReading(fence.a, fence.a.producer, fence.a.readyPs);
    } else {
      if (issuedLive > 0) {
        return false;
      }
      raiseBarrier(lastDonePs, Cause.FENCE, lastDone);
    }
    removePending();
    live--;
    window.complete(fence.number, barrierPs, barrierOp);
    world.recycle(fence);
    return true;
  }

  private boolean reserveTcm(Op op) {
    long bytes = op.out.inTcm ? op.out.bytes : 0;
    if (bytes == 0) {
      return true;
    }
    if (bytes > tcm.capacity()) {
      throw new SimulationException(
          pe + ": a value of " + bytes + " bytes" + world.atLine(op.line) + " does not fit TCM, which has " + tcm.capacity()
              + " bytes beside the message slots; work on smaller tiles");
    }
    long issuePs = Math.max(world.sim.nowPs(), Math.max(cpuFreePs, barrierPs));
    while (tcm.givesLater() && tcm.firstLaterPs() <= issuePs) {
      raiseBarrier(tcm.firstLaterPs(), Cause.TCM_SPACE, tcm.firstLaterOp());
      tcm.giveFirstLater();
    }
    tcmStalled = !tcm.fits(bytes);
    if (!tcmStalled) {
      tcm.take(bytes);
    } else if (tcm.givesLater()) {
      world.giveTcmAt(tcm.firstLaterPs(), this); // unless a reader that ends before makes room
    }
    return !tcmStalled;
  }

  private void raiseBarrier(long timePs, Cause cause, int op) {
    if (timePs > barrierPs) {
      barrierPs = timePs;
      barrierCause = cause;
      barrierOp = op;
    }
  }

  private Engine engineFor(Op op) {
    return switch (op.kind()) {
      case LOAD -> read;
      case STORE -> write;
      case MATH -> math;
      case GEMM -> gemm;
      case SEND -> op.end().channel();
      case RECV -> op.end().receiver();
    };
  }

  // ---- engines: start the head when everything it needs is there ----

  /** Starts the commands at the head of an engine that can start; to be called through {@link TimedExecutor#tryStart} only. */
  void startHeads(Engine engine) {
    while (engine.busy < engine.channels) {
      Op op = engine.head;
      if (op == null || op.missingOperands > 0 || !admitted(op)) {
        return;
      }
      engine.removeHead();
      engine.busy++;
      start(op);
    }
  }

  private boolean admitted(Op op) {
    return switch (op.kind()) {
      case LOAD -> inOrder(op, false);
      case STORE -> inOrder(op, true);
      case SEND -> op.end().hasCredit();
      case RECV -> op.end().hasMessage();
      case MATH, GEMM -> true;
    };
  }

  /** Whether no earlier access to the same bytes is under way; looks again only after the one that was found has ended. */
  private boolean inOrder(Op op, boolean alsoLoads) {
    if (op.memoryBlocker >= 0 && op.memoryReadyPs < 0) {
      return false;
    }
    Op conflict = stores.conflictWith(op);
    if (conflict == null && alsoLoads) {
      conflict = loads.conflictWith(op);
    }
    if (conflict != null) {
      op.memoryBlocker = conflict.id;
      op.memoryReadyPs = -1;
    }
    return conflict == null;
  }

  private void start(Op op) {
    long start = op.operandsPs;
    op.cause = Cause.OPERAND;
    op.causeOp = op.operandsOp;
    final OpKind kind = op.kind();
    switch (kind) {
      case RECV -> start = later(op, start, op.end().visiblePs(), Cause.MESSAGE, op.end().visibleOp());
      case LOAD, STORE -> start = later(op, start, op.memoryReadyPs, Cause.MEMORY_ORDER, op.memoryBlocker);
      case MATH, GEMM, SEND -> {}
    }
    start = later(op, start, op.engine().freedPs, Cause.ENGINE, op.engine().freedBy);
    start = later(op, start, op.issuePs, op.issueCause, op.issueCauseOp);
    if (kind == OpKind.SEND) {
      QueueEnd q = op.end();
      start = later(op, start, world.messages.creditFoundPs(q, start), Cause.CREDIT, q.creditOp());
    }
    start = op.engine().inOrder(op, start);
    if (start < world.sim.nowPs()) {
      throw new IllegalStateException(
          "bug: operation " + op.id + " (" + kind + ") could have started at " + start + " ps, now is " + world.sim.nowPs());
    }
    op.startPs = start;
    switch (kind) {
      case MATH, GEMM -> world.compute(op);
      case LOAD -> world.beginLoad(op);
      case STORE -> world.beginStore(op);
      case SEND -> {
        world.messages.startSend(op, start);
        if (serialBlocker == op) {
          unblockCpu(op, start);
          pump();
        }
      }
      case RECV -> world.messages.startReceive(op, start);
    }
  }

  private static long later(Op op, long bestPs, long timePs, Cause cause, int causeOp) {
    if (timePs > bestPs) {
      op.cause = cause;
      op.causeOp = causeOp;
      return timePs;
    }
    return bestPs;
  }

  private void unblockCpu(Op op, long timePs) {
    serialBlocker = null;
    raiseBarrier(timePs, Cause.SERIAL_ISSUE, op.id);
  }

  /** The last byte of a message leaves its channel at {@code timePs}, now or later. */
  void sendLeft(Op op, long timePs) {
    Engine engine = op.engine();
    engine.free(timePs, op.id);
    ended(op.id, timePs);
    finishedReading(op.a, op.id, timePs);
    world.tryStart(engine);
  }

  // ---- completion ----

  /**
   * The operation is complete, and its effects are visible from {@code endPs} on: now, or later if that is certain. What only this PE
   * can see (its engines, its registers) is settled ahead as far as it is certain, in one go; that costs no event and finds the records
   * of the PE at hand.
   */
  void complete(Op op, long endPs) {
    final OpKind kind = op.kind();
    final Engine engine = op.engine();
    world.record(op, endPs);
    Register out = op.out;
    if (out != Register.NONE) {
      out.ready = true;
      out.readyPs = endPs;
      out.producer = op.id;
      out.lastReader = op.id; // until somebody reads it: what frees a value that nobody reads
    }
    live--;
    issuedLive--;
    window.complete(op.number, endPs, op.id);
    if (endPs >= lastDonePs) {
      lastDone = op.id;
      lastDonePs = endPs;
    }
    if (kind != OpKind.SEND) {
      engine.free(endPs, op.id);
      ended(op.id, endPs);
      finishedReading(op.a, op.id, endPs);
      finishedReading(op.b, op.id, endPs);
      finishedReading(op.c, op.id, endPs);
    }
    freeIfDead(out);
    if (kind == OpKind.LOAD || kind == OpKind.STORE) {
      (kind == OpKind.LOAD ? loads : stores).remove(op);
      unblockMemory(read, op, endPs);
      unblockMemory(write, op, endPs);
    }
    if (serialBlocker == op) {
      unblockCpu(op, endPs);
    }
    world.recycle(op);
    if (pendingHead != null || suspension == Suspension.CLOCK) {
      pump();
    }
    if (kind != OpKind.SEND) {
      world.tryStart(engine);
      tellWaiters(out);
    }
    wake(out);
  }

  /** Tells the commands that wait for a register; those at the head of their engine may start. */
  private void tellWaiters(Register ready) {
    if (ready.waiter == null) {
      return;
    }
    Op first = ready.waiter;
    Op[] more = ready.moreWaiters;
    ready.waiter = null;
    ready.moreWaiters = Register.NO_OPS;
    tellWaiter(first, ready);
    for (Op op : more) {
      tellWaiter(op, ready);
    }
  }

  private void tellWaiter(Op op, Register ready) {
    op.operandReady(ready.readyPs, ready.producer);
    op.missingOperands--;
    Engine engine = op.engine;
    if (op.missingOperands == 0 && engine != null && engine.head == op) {
      world.tryStart(engine);
    }
  }

  private void wake(Register out) {
    switch (suspension) {
      case NONE -> finishIfIdle();
      case WINDOW -> {
        if (window.isHalfFree()) {
          raiseBarrier(window.halfFreePs(), Cause.WINDOW, window.halfFreeOp());
          resume();
        } else if (tcmStalled) {
          resume(); // what it issues next may say that values are dead
        }
      }
      case LOOK -> {
        if (lookedAt == out) {
          world.wakeAt(out.readyPs, this);
        }
      }
      case CLOCK -> {}
    }
  }

  void tcmGiven() {
    if (tcmStalled) {
      pump();
    }
  }

  /** The time that the suspended program, or the end of the kernel, waits for has come. */
  void timeHasCome() {
    switch (suspension) {
      case LOOK -> {
        if (lookedAt.ready && lookedAt.readyPs <= world.sim.nowPs()) {
          resume();
        }
      }
      case CLOCK -> resumeForClock();
      case NONE -> finishIfIdle();
      case WINDOW -> {}
    }
  }

  private void resumeForClock() {
    if (mayTellTime()) {
      resume();
    }
  }

  private boolean mayTellTime() {
    return suspension == Suspension.CLOCK && pendingHead == null && serialBlocker == null;
  }

  private void ended(int op, long timePs) {
    if (timePs >= lastEndPs) {
      lastOp = op;
      lastEndPs = timePs;
    }
  }

  private void finishedReading(Register r, int op, long timePs) {
    if (r != Register.NONE) {
      r.readers--;
      if (timePs >= r.lastReadPs) {
        r.lastReadPs = timePs;
        r.lastReader = op;
      }
      freeIfDead(r);
    }
  }

  /** Gives back the storage of a value that nobody will read again, at the end of its last read. */
  private void freeIfDead(Register r) {
    if (!r.released || r.readers > 0 || !r.ready || r == Register.NONE) {
      return;
    }
    long now = world.sim.nowPs();
    long deadPs = Math.max(now, Math.max(r.readyPs, r.lastReadPs));
    QueueEnd queue = r.slotQueue;
    if (queue != null) {
      r.slotQueue = null;
      world.messages.freeSlot(queue, r.slot, r.lastReader, deadPs);
    } else if (r.inTcm && r.bytes > 0) {
      if (deadPs > now) {
        tcm.giveLater(deadPs, r.bytes, r.lastReader);
      } else {
        tcm.give(r.bytes);
        if (tcmStalled) {
          raiseBarrier(now, Cause.TCM_SPACE, r.lastReader);
        }
      }
      if (tcmStalled) {
        pump();
      }
    }
  }

  private void unblockMemory(Engine engine, Op ended, long now) {
    Op head = engine.head;
    if (head != null && head.memoryBlocker == ended.id) {
      head.memoryReadyPs = now;
      world.tryStart(engine);
    }
  }

  // ---- memories ----

  MemoryPath path(int memory) {
    MemoryPath p = path;
    if (memory != pathNode || p == null) {
      p = paths.computeIfAbsent(memory, m -> world.path(world.machine.peNode(pe), m));
      path = p;
      pathNode = memory;
    }
    return p;
  }

  // ---- reports ----

  void describeWait(DeadlockReport.Builder report) {
    if (running == null) {
      return;
    }
    if (suspension == Suspension.LOOK) {
      report.waits(pe, "looks at a value" + world.atLine(lookLine), null);
    }
    for (QueueEnd end : queuesByDirection.values()) {
      Engine receiver = end.receiver();
      if (receiver.head != null && receiver.busy == 0) {
        describeReceive(report, receiver.head);
      }
      if (end.receiving != null) {
        describeReceive(report, end.receiving);
      }
    }
    for (Engine e : channels) {
      Op head = e.head;
      if (head != null && e.busy == 0 && head.missingOperands == 0 && !head.end().hasCredit()) {
        describeSend(report, head, e);
      }
    }
    for (QueueEnd end : queuesByDirection.values()) {
      Op sending = end.sending;
      if (sending != null && sending.waitsForCredit) {
        describeSend(report, sending, sending.engine());
      }
    }
    if (tcmStalled && pendingHead != null) {
      report.waits(
          pe,
          "needs " + pendingHead.out.bytes + " bytes of TCM" + world.atLine(pendingHead.line) + "; "
              + tcm.free() + " are free beside live values " + liveValues(),
          null);
      report.tcmIsFull();
    }
  }

  private String liveValues() {
    StringBuilder s = new StringBuilder();
    int shown = 0;
    for (Register r = unreleased; r != null && shown < 5; r = r.next) {
      if (r.inTcm && r.bytes > 0) {
        s.append(shown++ == 0 ? "" : ", ").append(r.bytes).append(" bytes").append(world.atLine(r.line));
      }
    }
    return s.toString();
  }

  /** Slots of an end of this PE that unreleased values keep. */
  private int slotsHeld(QueueEnd end) {
    int held = 0;
    for (Register r = unreleased; r != null; r = r.next) {
      if (r.slotQueue == end) {
        held++;
      }
    }
    return held;
  }

  private void describeReceive(DeadlockReport.Builder report, Op op) {
    QueueEnd end = op.end();
    report.waits(
        pe,
        "recv " + end.direction + " of " + op.bytes + " B" + world.atLine(op.line) + ": no message from " + end.peer().pe + " ("
            + end.peer().direction + ")",
        end.peer().pe);
  }

  private void describeSend(DeadlockReport.Builder report, Op op, Engine channel) {
    QueueEnd end = op.end();
    int waiting = op.fragments - op.fragmentsStarted;
    for (Op o = channel.head; o != null; o = o.next) {
      if (o != op && o.end == end) {
        waiting += o.fragments;
      }
    }
    QueueEnd peer = end.peer();
    int held = world.pe(peer.peIndex).slotsHeld(peer);
    report.waits(
        pe,
        "send " + end.direction + " of " + op.bytes + " B" + world.atLine(op.line) + ": " + end.slotsInUse(world.sim.nowPs()) + " of "
            + end.slots + " slots in use at " + peer.pe + " (" + peer.direction + ")"
            + (held > 0 ? ", " + held + " of them held by received values" : ""),
        peer.pe);
    if (held > 0) {
      report.valuesHoldSlots();
    }
    report.needsSlots(end.slots + waiting, end.slots);
  }
}
