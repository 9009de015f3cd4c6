package org.kernbench.device.simulator;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.memory.Mmu;
import org.kernbench.device.memory.PageMap;
import org.kernbench.device.reuse.MemoPe;
import org.kernbench.device.reuse.PeMark;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.AccelSlot;

/**
 * One processing element in simulated time.
 *
 * <p>A command passes three gates. The <em>CPU</em> ({@link IssueUnit}) issues commands in program
 * order, each {@code dispatch} after the last; it stalls for room in TCM, at a fence, and, if the
 * machine issues serially, until the command before is done. Each <em>engine</em> has an in-order
 * queue per stream; its head <em>starts</em> when it is issued, its operands are ready, a channel
 * is free, and what else it needs (a credit, a message, earlier accesses to the same bytes) is
 * there. The latest of these is remembered as the cause.
 *
 * <p>Here are the engines, start and completion, and the order of memory accesses. Commands come in
 * through the {@link TimedPort} of a {@link ProgramContext}, of which there are several: programs
 * of different streams run at the same time and meet at the engines.
 */
final class TimedPe extends ProcessingElement implements MemoPe {
  private static final int NEAR = 8;

  final CommandPool pool;
  final ProgramContext.Launches launcher;

  final Mmu mmu;
  final PageMap.View addresses;

  /** When a look for room in TCM is due; of several, the last that was asked for. */
  private long tcmTriedPs = -1;

  /** Commands so far, of all its programs. */
  int commands;

  private final @Nullable ProgramContext[] contexts;
  private @Nullable TileScheduler scheduler;

  /** Streams that have a program, or a launch that has not started. */
  private int activeStreams;

  private final Engine read;
  private final Engine write;
  private final Engine math;
  private final Engine gemm;
  private final Engine[] channels;

  private final MemoryOrder order = new MemoryOrder();
  private final Map<Integer, MachineParts.MemoryPath> paths = new HashMap<>();

  /** Of memories with the same last bits the one that was used last, and the way to it. */
  private final int[] nearMemories = new int[NEAR];

  private final MachineParts.@Nullable MemoryPath[] nearPaths =
      new MachineParts.@Nullable MemoryPath[NEAR];

  TimedPe(
      World world, int index, Pe pe, CommandTable allCommands, ProgramContext.Launches launcher) {
    super(world, index, pe);
    this.pool = new CommandPool(this, allCommands);
    this.launcher = launcher;
    var spec = world.machine.pe();
    this.mmu = new Mmu(spec.mmu(), index);
    this.addresses = world.parts.map.view(pe);
    this.contexts = new ProgramContext[spec.cpu().contexts() + 1];
    this.read = new Engine(this, "DMA read", spec.dma().readQueues());
    this.write = new Engine(this, "DMA write", spec.dma().writeQueues());
    this.math = new Engine(this, "MATH", 1);
    this.gemm = spec.accelSlot() == AccelSlot.SHARED ? math : new Engine(this, "GEMM", 1);
    this.channels = new Engine[spec.dma().messageChannels()];
    for (int i = 0; i < channels.length; i++) {
      channels[i] = new Engine(this, "message channel " + i, 1);
    }
  }

  // ---- programs ----

  /** The context that runs the programs of a stream; the last is that of the tile scheduler. */
  ProgramContext context(int stream) {
    ProgramContext c = contexts[stream];
    if (c == null && stream == contexts.length - 1) {
      return scheduler().context;
    }
    if (c == null) {
      c = new ProgramContext(this, stream, null);
      contexts[stream] = c;
    }
    return c;
  }

  /** What issues the commands of composite operations. */
  TileScheduler scheduler() {
    TileScheduler s = scheduler;
    if (s == null) {
      s = new TileScheduler(this, contexts.length - 1);
      scheduler = s;
      contexts[contexts.length - 1] = s.context;
    }
    return s;
  }

  @Override
  public int activeStreams() {
    return activeStreams;
  }

  @Override
  public void activeStreams(int count) {
    activeStreams = count;
  }

  @Override
  public boolean isAllFor(int stream) {
    for (ProgramContext c : contexts) {
      if (c != null && c.stream != stream && !c.isIdle()) {
        return false;
      }
    }
    return true;
  }

  @Override
  public List<Engine> computeEngines() {
    return gemm == math ? List.of(read, write, math) : List.of(read, write, math, gemm);
  }

  /** A stream that had no program has one to run. */
  void streamBegins() {
    activeStreams++;
  }

  /** A stream has no program any more. */
  void streamEnds() {
    activeStreams--;
  }

  /** By stream, the tile scheduler's last; null where none has run yet. */
  @Nullable ProgramContext[] contexts() {
    return contexts;
  }

  @Override
  public PeMark mark() {
    return mark;
  }

  @Override
  public int index() {
    return index;
  }

  @Override
  public int place() {
    return place;
  }

  @Override
  public long tcmCapacity() {
    return tcm.capacity();
  }

  @Override
  public Mmu mmu() {
    return mmu;
  }

  @Override
  public int streams() {
    return contexts.length;
  }

  @Override
  public int commands() {
    return commands;
  }

  @Override
  public void addCommands(int count) {
    commands += count;
  }

  // ---- queues ----

  @Override
  Engine channel(int ordinal) {
    return channels[ordinal % channels.length];
  }

  Engine[] messageChannels() {
    return channels;
  }

  // ---- TCM ----

  /** Room in TCM is free at {@code timePs}, now or later, because {@code op} is done with it. */
  void giveTcm(long timePs, long bytes, int op) {
    long now = world.sim.nowPs();
    if (timePs > now) {
      tcm.giveLater(timePs, bytes, op);
    } else {
      tcm.give(bytes, op);
      if (tcm.isWaitedFor()) {
        for (ProgramContext c : contexts) {
          if (c != null) {
            c.cpu.roomIsFree(now, op);
          }
        }
      }
    }
    tcmGiven();
  }

  /** Looks for room in TCM again at a time. */
  void tryTcmAt(long timePs) {
    if (tcmTriedPs != timePs) {
      tcmTriedPs = timePs;
      world.giveTcmAt(timePs, this);
    }
  }

  @Override
  void tcmGiven() {
    if (!tcm.isWaitedFor()) {
      return;
    }
    for (ProgramContext c : contexts) {
      if (c != null) {
        c.cpu.tcmGiven();
      }
    }
  }

  private static ProgramContext context(Op op) {
    return (ProgramContext) op.issuer();
  }

  // ---- engines: start the head when everything it needs is there ----

  /** A command is issued: it goes to its engine. */
  void enqueue(Op op) {
    Engine engine = engineFor(op);
    engine.add(op);
    if (op instanceof AccessOp access) {
      access.translatePs = mmu.translatePs(access.region(), access.range);
      order.add(access);
    }
    world.tryStart(engine);
  }

  private Engine engineFor(Op op) {
    return switch (op.kind()) {
      case LOAD -> read;
      case STORE -> write;
      case MATH -> math;
      case GEMM -> gemm;
      case SEND -> ((MessageOp) op).end().channel();
      case RECV -> ((MessageOp) op).end().receiver();
    };
  }

  @Override
  void startHeads(Engine engine) {
    while (engine.busy < engine.channels) {
      Op op = activeStreams > 1 ? chooseHead(engine) : onlyHead(engine);
      if (op == null) {
        return;
      }
      op.queue().removeHead();
      engine.busy++;
      start(op);
    }
  }

  private boolean canStart(Op head) {
    return head.missingOperands == 0 && admitted(head);
  }

  /** The head that can start where one stream has commands: nothing can come before it. */
  private @Nullable Op onlyHead(Engine engine) {
    for (CommandQueue queue = engine.first; queue != null; queue = queue.after) {
      Op op = queue.head;
      if (op != null && canStart(op)) {
        return op;
      }
    }
    return null;
  }

  /**
   * The head that is ready now and whose stream was served longest ago. What another stream will do
   * until a head is ready is not known, so the choice is made at that time, after all else that
   * happens then.
   */
  private @Nullable Op chooseHead(Engine engine) {
    final long now = world.sim.nowPs();
    Op chosen = null;
    long earliest = Engine.NEVER;
    for (CommandQueue queue = engine.first; queue != null; queue = queue.after) {
      Op op = queue.head;
      if (op != null && canStart(op)) {
        long ready = Math.max(readyPs(op), op.queue().startedPs());
        earliest = Math.min(earliest, ready);
        if (ready <= now && (chosen == null || op.goesBefore(chosen))) {
          chosen = op;
        }
      }
    }
    if (earliest == Engine.NEVER) {
      return null;
    }
    long startPs = Math.max(Math.max(earliest, engine.freedPs), now);
    if (startPs == now && engine.chosePs == now) {
      return chosen;
    }
    world.chooseAt(startPs, engine);
    return null;
  }

  /** When a head that can start has all that it needs but a channel. */
  private long readyPs(Op op) {
    long ready = Math.max(op.operandsPs, op.issuePs);
    return switch (op.kind()) {
      case RECV -> Math.max(ready, ((MessageOp) op).end().visiblePs());
      case SEND -> { // a sender that polls begins when the channel is free
        QueueEnd q = ((MessageOp) op).end();
        yield q.unit().creditFoundPs(q, Math.max(ready, op.engine().freedPs));
      }
      case LOAD, STORE -> Math.max(ready, ((AccessOp) op).unblockedPs);
      case MATH -> ready;
      case GEMM -> op.c == TimedRegister.NONE ? ready : Math.max(ready, sumsReadyPs(op));
    };
  }

  /** When a product can take on its sums: those that have not left the array are there already. */
  private static long sumsReadyPs(Op op) {
    TimedRegister sums = op.c;
    boolean inArray = sums.producer == op.engine().lastProduct;
    return inArray ? sums.occupiedUntilPs : sums.readyPs;
  }

  private boolean admitted(Op op) {
    return switch (op.kind()) {
      case LOAD, STORE -> order.admits((AccessOp) op);
      case SEND -> ((MessageOp) op).end().findsCredit();
      case RECV -> ((MessageOp) op).end().hasMessage();
      case MATH, GEMM -> true;
    };
  }

  private void start(Op op) {
    long start = op.operandsPs;
    op.cause = Cause.OPERAND;
    op.causeOp = op.operandsOp;
    final OpKind kind = op.kind();
    switch (kind) {
      case RECV -> {
        QueueEnd q = ((MessageOp) op).end();
        start = later(op, start, q.visiblePs(), Cause.MESSAGE, q.visibleOp());
      }
      case LOAD, STORE -> {
        AccessOp access = (AccessOp) op;
        start = later(op, start, access.unblockedPs, Cause.MEMORY_ORDER, access.blocker);
      }
      case MATH, GEMM, SEND -> {}
    }
    if (kind == OpKind.GEMM && op.c != TimedRegister.NONE) {
      start = later(op, start, sumsReadyPs(op), Cause.OPERAND, op.c.producer);
    }
    start = later(op, start, op.engine().freedPs, Cause.ENGINE, op.engine().freedBy);
    if (kind == OpKind.MATH) {
      start = later(op, start, op.engine().drainedPs, Cause.ENGINE, op.engine().lastProduct);
    }
    start = later(op, start, op.issuePs, op.issueCause, op.issueCauseOp);
    if (kind == OpKind.SEND) {
      QueueEnd q = ((MessageOp) op).end();
      start = later(op, start, q.unit().creditFoundPs(q, start), Cause.CREDIT, q.creditOp());
    }
    start = op.queue().inOrder(op, start);
    if (start < world.sim.nowPs()) {
      throw new IllegalStateException(
          "bug: operation %s (%s) could have started at %s ps, now is %s"
              .formatted(op.id, kind, start, world.sim.nowPs()));
    }
    op.startPs = start;
    switch (kind) {
      case MATH, GEMM -> world.compute((ComputationOp) op);
      case LOAD -> world.beginLoad((AccessOp) op);
      case STORE -> world.beginStore((AccessOp) op);
      case SEND -> {
        MessageOp message = (MessageOp) op;
        message.end().unit().startSend(message, start);
        context(op).cpu.sendStarted(op, start);
      }
      case RECV -> {
        MessageOp message = (MessageOp) op;
        message.end().unit().startReceive(message, start);
      }
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

  @Override
  void sendLeft(Op op, long timePs) {
    Engine engine = op.engine();
    ProgramContext context = context(op);
    context.cpu.sendLeft(op, timePs);
    engine.free(timePs, op.id);
    context.ended(op.id, timePs);
    context.registers.finishedReading(op.a, op.id, timePs);
    context.cpu.pump();
    world.tryStart(engine);
    ScheduledTask task = op.task;
    if (task != null) {
      scheduler().ended(task, op.id, timePs);
    }
    context.program.completed(TimedRegister.NONE);
  }

  @Override
  void sendSeen(Op op, long timePs) {
    ProgramContext context = context(op);
    world.record(op, timePs);
    context.cpu.sendSeen(op, timePs);
    pool.recycle(op);
    context.finishIfIdle();
  }

  // ---- completion ----

  /**
   * {@inheritDoc}
   *
   * <p>What only this PE can see (its engines, its registers) is settled ahead as far as it is
   * certain, in one go; that costs no event and finds the records of the PE at hand.
   */
  @Override
  void complete(Op op, long endPs) {
    final OpKind kind = op.kind();
    final Engine engine = op.engine();
    final ProgramContext context = context(op);
    final RegisterFile registers = context.registers;
    world.record(op, endPs);
    TimedRegister out = op.out;
    if (out != TimedRegister.NONE) {
      out.produced(op.id, endPs);
      if (!out.ready) {
        out = TimedRegister.NONE; // others have still to produce parts of it
      }
    }
    context.cpu.retire(op, endPs);
    long freePs = op instanceof ComputationOp computation ? computation.engineFreePs : endPs;
    if (kind == OpKind.GEMM) {
      engine.lastProduct = op.id;
      engine.drainedPs = endPs;
      out.occupiedUntilPs = freePs;
    }
    engine.free(freePs, op.id);
    context.ended(op.id, endPs);
    registers.finishedReading(op.a, op.id, freePs);
    registers.finishedReading(op.b, op.id, freePs);
    registers.finishedReading(op.c, op.id, freePs);
    registers.freeIfDead(out);
    if (op instanceof AccessOp access) {
      order.ended(access);
      unblock(read, access, endPs);
      unblock(write, access, endPs);
    }
    context.cpu.unblock(op, endPs);
    ScheduledTask task = op.task;
    int id = op.id;
    pool.recycle(op);
    context.cpu.pump();
    world.tryStart(engine);
    out.tellWaiters();
    if (task != null) {
      scheduler().ended(task, id, endPs);
    }
    context.program.completed(out);
  }

  @Override
  void isThere(TimedRegister ready, Op op) {
    if (!op.takesSumsFrom(ready)) {
      op.operandReady(ready.readyPs, ready.producer);
    }
    op.missingOperands--;
    if (op.missingOperands == 0 && op.engine != null && op.queue().head == op) {
      world.tryStart(op.engine);
    }
  }

  private void unblock(Engine engine, AccessOp ended, long now) {
    for (CommandQueue queue = engine.first; queue != null; queue = queue.after) {
      if (queue.head instanceof AccessOp head && head.blocker == ended.id) {
        head.unblockedPs = now;
        world.tryStart(engine);
      }
    }
  }

  // ---- memories ----

  @Override
  MachineParts.MemoryPath path(int memory) {
    int at = memory & (NEAR - 1);
    MachineParts.MemoryPath p = nearPaths[at];
    if (p == null || nearMemories[at] != memory) {
      p =
          paths.computeIfAbsent(
              memory, m -> world.parts.path(world.machine.peNode(pe), m, pe.sip()));
      nearPaths[at] = p;
      nearMemories[at] = memory;
    }
    return p;
  }
}
