package org.kernbench.device.simulator;

import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.LaneMask;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.memory.PageMap;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.SimulationException;

/**
 * What a program on a PE in simulated time may say, and how the CPU takes it: a call puts an entry
 * on the {@link CommandTape}, or suspends the {@link ProgramThread} until there is an answer;
 * {@link #take} makes a command of the next entry and hands it to the {@link IssueUnit}.
 */
final class TimedPort implements PePort {
  // numbers on the tape
  private static final int UNDECIDED = -1;
  private static final int IN_PLACE = 1;
  private static final int ASYNC = 2;

  private final ProgramContext context;
  private final Pe pe;
  private final IssueUnit cpu;
  private final ProgramThread program;
  private final CommandTape tape;
  private final RegisterFile registers;
  private final PageMap.View addresses;

  TimedPort(ProgramContext context) {
    this.context = context;
    this.pe = context.pe.pe;
    this.cpu = context.cpu;
    this.program = context.program;
    this.tape = program.tape;
    this.registers = context.registers;
    this.addresses = context.pe.addresses;
  }

  private World world() {
    return context.world();
  }

  @Override
  public Pe pe() {
    return pe;
  }

  @Override
  public Mode mode() {
    return world().mode;
  }

  @Override
  public Machine machine() {
    return world().machine;
  }

  @Override
  public List<String> directions() {
    MessageUnit queues = context.queues;
    return queues == null ? List.of() : queues.directions(context.pe.index);
  }

  @Override
  public int queue(String direction) {
    MessageUnit queues = context.queues;
    return queues == null ? -1 : queues.id(context.pe.index, direction);
  }

  @Override
  public Register load(Region from) {
    return loadLanes(from, null);
  }

  @Override
  public Register load(Region from, LaneMask mask) {
    return loadLanes(from, mask);
  }

  private Register loadLanes(Region from, @Nullable LaneMask mask) {
    TimedRegister out = new TimedRegister(from.bytes(), true);
    if (addresses.isOneRange(from)) {
      load(from, out, mask, 0);
      return out;
    }
    List<PageMap.Piece> pieces = addresses.split(from);
    out.producers = pieces.size();
    for (PageMap.Piece piece : pieces) {
      load(piece.region(), out, mask, piece.valueOffset());
    }
    return out;
  }

  private void load(Region from, TimedRegister out, @Nullable LaneMask mask, int outOffset) {
    say(CommandTape.Entry.LOAD, from.bytes(), out);
    masks(mask);
    tape.number(outOffset);
    tape.what(from);
  }

  /** The bools of a mask are operand b. */
  private void masks(@Nullable LaneMask mask) {
    if (mask != null) {
      operand(1, mask.register(), 0);
      tape.also(mask);
    }
  }

  @Override
  public Register store(Register value, int offset, Region to) {
    return storeLanes(value, offset, to, null);
  }

  @Override
  public Register store(Register value, int offset, Region to, LaneMask mask) {
    return storeLanes(value, offset, to, mask);
  }

  private Register storeLanes(Register value, int offset, Region to, @Nullable LaneMask mask) {
    TimedRegister done = new TimedRegister(0, true); // holds no storage, so nobody need give it up
    if (addresses.isOneRange(to)) {
      store(value, offset, to, done, mask, 0);
      return done;
    }
    List<PageMap.Piece> pieces = addresses.split(to);
    done.producers = pieces.size();
    for (PageMap.Piece piece : pieces) {
      store(value, offset + piece.valueOffset(), piece.region(), done, mask, piece.valueOffset());
    }
    return done;
  }

  private void store(
      Register value,
      int offset,
      Region to,
      TimedRegister done,
      @Nullable LaneMask mask,
      int lane) {
    say(CommandTape.Entry.STORE, to.bytes(), done);
    masks(mask);
    operand(0, value, offset);
    tape.number(lane);
    tape.what(to);
  }

  @Override
  public Register compute(
      ComputeOp what,
      int outBytes,
      Register a,
      int aOffset,
      Register b,
      int bOffset,
      Register c,
      int cOffset) {
    TimedRegister out = new TimedRegister(outBytes, true);
    say(CommandTape.Entry.COMPUTE, outBytes, out);
    operand(0, a, aOffset);
    operand(1, b, bOffset);
    operand(2, c, cOffset);
    tape.what(what);
    return out;
  }

  @Override
  public Register accumulate(
      ComputeOp what, Register a, int aOffset, Register b, int bOffset, Register sums) {
    TimedRegister out = new TimedRegister(sums.bytes(), true);
    say(CommandTape.Entry.ACCUMULATE, sums.bytes(), out);
    operand(0, a, aOffset);
    operand(1, b, bOffset);
    operand(2, sums, 0);
    tape.number(UNDECIDED);
    tape.what(what);
    registers.giveUp(TimedRegister.of(sums));
    return out;
  }

  @Override
  public Register schedule(List<Register> reads, Consumer<PePort> work) {
    TimedRegister out = new TimedRegister(0, true);
    List<TimedRegister> kept = reads.stream().map(TimedRegister::of).toList();
    for (TimedRegister r : kept) {
      registers.mayRead(r);
    }
    say(CommandTape.Entry.SCHEDULE, 0, out);
    tape.what(new Work(kept, work));
    for (TimedRegister r : kept) {
      r.keepers++;
    }
    return out;
  }

  /** What a program hands over to the tile scheduler. */
  private record Work(List<TimedRegister> reads, Consumer<PePort> body) {}

  @Override
  public void fenceReaders(Register register) {
    say(CommandTape.Entry.FENCE_READERS, 0, TimedRegister.NONE);
    tape.operand(0, TimedRegister.of(register), 0);
  }

  @Override
  public void send(int queue, Register value, int offset, int bytes) {
    QueueEnd end = queues().queue(queue);
    say(CommandTape.Entry.SEND, bytes, TimedRegister.NONE);
    operand(0, value, offset);
    tape.what(end);
  }

  @Override
  public Register receive(int queue, int bytes, boolean copy, boolean async) {
    MessageUnit queues = queues();
    QueueEnd end = queues.queue(queue);
    end.ask(queues.fragments(bytes));
    boolean inPlace = !copy && queues.usableInPlace(bytes);
    TimedRegister out = new TimedRegister(bytes, !inPlace);
    say(CommandTape.Entry.RECEIVE, bytes, out);
    tape.number((inPlace ? IN_PLACE : 0) | (async ? ASYNC : 0));
    tape.what(end);
    return out;
  }

  @Override
  public int select(List<Integer> from, int first) {
    spoil("messages");
    MessageUnit queues = queues();
    List<QueueEnd> ends = from.stream().map(queues::queue).toList();
    long atPs = clockPs();
    program.awaitMessage(ends, atPs, world().parts.line());
    long now = world().sim.nowPs();
    for (int i = 0; i < ends.size(); i++) {
      int k = (first + i) % ends.size();
      QueueEnd end = ends.get(k);
      if (end.unaskedPs() <= now) {
        cpu.raiseBarrier(now, Cause.LOOK, end.unaskedOp());
        return k;
      }
    }
    throw new IllegalStateException("bug: no message for " + ends);
  }

  @Override
  public void fence(Register token) {
    say(CommandTape.Entry.FENCE, 0, TimedRegister.NONE);
    operand(0, token, 0);
  }

  @Override
  public void fenceAll() {
    say(CommandTape.Entry.FENCE_ALL, 0, TimedRegister.NONE);
  }

  @Override
  public void release(Register register) {
    if (register != Register.NONE) {
      TimedRegister given = TimedRegister.of(register);
      registers.giveUp(given);
      program.makeRoomOnTape();
      tape.put(CommandTape.Entry.RELEASE, 0, 0, TimedRegister.NONE);
      tape.operand(0, given, 0);
    }
  }

  private void say(CommandTape.Entry entry, int bytes, TimedRegister out) {
    program.makeRoomOnTape();
    TileScheduler scheduler = context.scheduler;
    ScheduledTask task = scheduler == null ? null : scheduler.issuing();
    int line = task == null ? world().parts.line() : task.line;
    tape.put(entry, bytes, line, out);
    if (out != TimedRegister.NONE) {
      out.line = line;
    }
  }

  private void operand(int k, Register named, int offset) {
    TimedRegister register = TimedRegister.of(named);
    if (register != TimedRegister.NONE) {
      registers.mayRead(register);
    }
    tape.operand(k, register, offset);
  }

  @Override
  public byte[] look(Register named, int offset, int bytes) {
    refuseInSteps();
    if (world().mode == Mode.TIME) {
      throw new SimulationException(
          """
          %s: the kernel looks at data, which mode time does not compute; run it in mode \
          full or values\
          """
              .formatted(pe));
    }
    TimedRegister register = TimedRegister.of(named);
    registers.mayRead(register);
    waitForCpu();
    registers.reads(register);
    program.awaitValue(register, world().parts.line());
    byte[] copy = new byte[bytes];
    System.arraycopy(register.data(), register.dataOffset() + offset, copy, 0, bytes);
    long now = world().sim.nowPs();
    registers.finishedReading(register, register.producer, now);
    cpu.raiseBarrier(Math.max(now, register.readyPs), Cause.LOOK, register.producer);
    return copy;
  }

  @Override
  public long clockPs() {
    spoil("kernels that ask for the time");
    waitForCpu();
    if (!cpu.isIdle()) {
      program.awaitClock();
    }
    return cpu.clockPs();
  }

  private void spoil(String why) {
    context.pe.mark.spoil(why);
  }

  private void refuseInSteps() {
    if (program.isInSteps()) {
      throw SimulationException.ofStepThatWaits(pe, world().parts.currentLine());
    }
  }

  /** Waits until the CPU has taken all that was said so far, as do all that wait for more. */
  private void waitForCpu() {
    refuseInSteps();
    program.emptyTape();
  }

  private MessageUnit queues() {
    MessageUnit queues = context.queues;
    if (queues == null) {
      throw new SimulationException(
          """
          %s: the kernel was launched without message queues; call initProcessGroup, and launch it \
          with its queues\
          """
              .formatted(pe));
    }
    return queues;
  }

  // ---- the CPU takes what was said ----

  /** Whether the next entry is a command for which the window has no room. */
  boolean isHeldUpByWindow() {
    CommandTape.Entry entry = tape.entry();
    if (entry == CommandTape.Entry.ACCUMULATE && tape.number() == UNDECIDED) {
      TimedRegister sums = tape.operand(2);
      boolean inPlace = sums.inTcm && sums.readers == 0 && !sums.dropped;
      tape.decide(inPlace ? IN_PLACE : 0);
    }
    return entry != CommandTape.Entry.RELEASE && cpu.isFull();
  }

  /** Takes the next entry. */
  void take() {
    CommandTape.Entry entry = tape.entry();
    if (entry == CommandTape.Entry.RELEASE) {
      TimedRegister r = tape.operand(0);
      tape.taken();
      registers.release(r);
      return;
    }
    Op op =
        switch (entry) {
          case LOAD, STORE -> takeAccess(entry);
          case COMPUTE, ACCUMULATE -> takeComputation(entry);
          case SEND, RECEIVE -> takeMessage(entry);
          case SCHEDULE, FENCE, FENCE_READERS, FENCE_ALL -> takeFence(entry);
          case RELEASE -> throw new IllegalStateException("bug: a release is no command");
        };
    tape.taken();
    cpu.take(op);
  }

  /** What all commands have in common. */
  private void begin(Op op, @Nullable OpKind kind) {
    op.kind = kind;
    op.bytes = tape.bytes();
    op.line = tape.line();
    op.out = tape.out();
    if (kind != null) {
      TileScheduler scheduler = context.scheduler;
      ScheduledTask task = scheduler == null ? null : scheduler.issuing();
      op.id = world().newId();
      op.ordinal = context.pe.commands++;
      op.task = task;
      if (task != null) {
        task.live++;
      }
    }
  }

  private Op takeFence(CommandTape.Entry entry) {
    Op op = context.pe.pool.newFence(context);
    begin(op, null);
    switch (entry) {
      case SCHEDULE -> {
        Work work = tape.what(Work.class);
        for (TimedRegister r : work.reads()) {
          registers.reads(r);
        }
        op.task = new ScheduledTask(op, context, work.reads(), work.body(), op.line);
      }
      case FENCE -> {
        op.a = tape.operand(0);
        registers.reads(op.a);
      }
      case FENCE_READERS -> op.readersOf = tape.operand(0);
      case FENCE_ALL -> {} // the plain fence
      case LOAD, STORE, COMPUTE, ACCUMULATE, SEND, RECEIVE, RELEASE ->
          throw new IllegalStateException("bug: " + entry + " is no fence");
    }
    return op;
  }

  private MessageOp takeMessage(CommandTape.Entry entry) {
    MessageOp op = context.pe.pool.newMessage(context);
    boolean sends = entry == CommandTape.Entry.SEND;
    begin(op, sends ? OpKind.SEND : OpKind.RECV);
    op.goesThrough(tape.what(QueueEnd.class));
    if (sends) {
      op.aOffset = tape.offset(0);
      op.a = operand(tape.operand(0), op);
    } else {
      op.inPlace = (tape.number() & IN_PLACE) != 0;
      op.async = (tape.number() & ASYNC) != 0;
      registers.add(op.out);
    }
    return op;
  }

  private AccessOp takeAccess(CommandTape.Entry entry) {
    AccessOp op = context.pe.pool.newAccess(context);
    boolean loads = entry == CommandTape.Entry.LOAD;
    begin(op, loads ? OpKind.LOAD : OpKind.STORE);
    accesses(op, tape.what(Region.class));
    masks(op, tape.number());
    if (loads) {
      op.outOffset = tape.number();
      op.hasRoom = op.outOffset > 0;
      if (op.outOffset == 0) {
        registers.add(op.out);
      }
    } else {
      op.aOffset = tape.offset(0);
      op.a = operand(tape.operand(0), op);
    }
    return op;
  }

  private void masks(AccessOp op, int valueOffset) {
    if (tape.also() instanceof LaneMask mask) {
      op.mask = mask;
      op.firstLane = valueOffset / mask.elementBytes();
      op.b = operand(TimedRegister.of(mask.register()), op);
    }
  }

  private ComputationOp takeComputation(CommandTape.Entry entry) {
    ComputationOp op = context.pe.pool.newComputation(context);
    ComputeOp what = tape.what(ComputeOp.class);
    boolean accumulates = entry == CommandTape.Entry.ACCUMULATE;
    begin(op, accumulates || what.isProduct() ? OpKind.GEMM : OpKind.MATH);
    op.computes(what);
    op.aOffset = tape.offset(0);
    op.bOffset = tape.offset(1);
    op.cOffset = tape.offset(2);
    op.a = operand(tape.operand(0), op);
    op.b = operand(tape.operand(1), op);
    op.c = tape.operand(2);
    operand(op.c, op);
    registers.add(op.out);
    if (accumulates) {
      op.hasRoom = tape.number() == IN_PLACE;
      op.c.moved = op.hasRoom;
      registers.release(op.c);
    }
    return op;
  }

  /** Says where the bytes of a load or store are, which one memory has. */
  private void accesses(AccessOp op, Region region) {
    op.accesses(region);
    if (region.address() instanceof PhysicalAddress physical) {
      op.physical = physical.value();
      op.memory = world().parts.node(physical);
    } else {
      PageMap.Range range = addresses.range(region);
      op.range = range;
      op.physical = addresses.physical(range, region.address().value());
      op.memory = addresses.node(range);
    }
  }

  /** Makes a register an operand of a command, which will wait for it. */
  private TimedRegister operand(TimedRegister r, Op op) {
    if (r != TimedRegister.NONE) {
      registers.reads(r);
      if (r.ready && op.takesSumsFrom(r)) {
        return r; // when it can be taken on is known at the start
      }
      if (r.ready) {
        op.operandReady(r.readyPs, r.producer);
      } else {
        op.missingOperands++;
        r.addWaiter(op);
      }
    }
    return r;
  }
}
