package org.kernbench.device;

import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;

/**
 * What a program on a PE in simulated time may say: each call makes a command and hands it to the
 * {@link IssueUnit}, or suspends the {@link ProgramThread} until there is an answer.
 */
final class TimedPort implements PePort {
  private final TimedExecutor world;
  private final ProgramContext context;
  private final Pe pe;
  private final IssueUnit cpu;
  private final ProgramThread program;
  private final RegisterFile registers;
  private final PageMap.View addresses;

  TimedPort(ProgramContext context) {
    this.world = context.world;
    this.context = context;
    this.pe = context.pe.pe;
    this.cpu = context.cpu;
    this.program = context.program;
    this.registers = context.registers;
    this.addresses = context.pe.addresses;
  }

  ProgramContext context() {
    return context;
  }

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

  private void masks(Op op, @Nullable LaneMask mask, int valueOffset) {
    if (mask != null) {
      op.mask = mask;
      op.firstLane = valueOffset / mask.elementBytes();
      op.b = operand(mask.register(), op);
    }
  }

  private Register loadLanes(Region from, @Nullable LaneMask mask) {
    if (addresses.isOneRange(from)) {
      Op op = command(OpKind.LOAD, from.bytes());
      accesses(op, from);
      masks(op, mask, 0);
      op.out = registers.create(from.bytes(), true);
      return issue(op);
    }
    List<PageMap.Piece> pieces = addresses.split(from);
    Register out = registers.create(from.bytes(), true);
    out.producers = pieces.size();
    for (PageMap.Piece piece : pieces) {
      Op op = command(OpKind.LOAD, piece.region().bytes());
      accesses(op, piece.region());
      masks(op, mask, piece.valueOffset());
      op.out = out;
      op.outOffset = piece.valueOffset();
      issue(op);
    }
    return out;
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
    Register done = new Register(0, true); // holds no storage, so nobody need give it up
    if (addresses.isOneRange(to)) {
      return store(value, offset, to, done, mask, 0);
    }
    List<PageMap.Piece> pieces = addresses.split(to);
    done.producers = pieces.size();
    for (PageMap.Piece piece : pieces) {
      store(value, offset + piece.valueOffset(), piece.region(), done, mask, piece.valueOffset());
    }
    return done;
  }

  private Register store(
      Register value, int offset, Region to, Register done, @Nullable LaneMask mask, int lane) {
    Op op = command(OpKind.STORE, to.bytes());
    accesses(op, to);
    masks(op, mask, lane);
    op.a = operand(value, op);
    op.aOffset = offset;
    op.out = done;
    return issue(op);
  }

  /** Says where the bytes of a load or store are, which one memory has. */
  private void accesses(Op op, Region region) {
    op.region = region;
    if (region.address() instanceof PhysicalAddress physical) {
      op.physical = physical.value();
      op.memory = world.node(physical);
    } else {
      PageMap.Range range = addresses.range(region);
      op.range = range;
      op.physical = addresses.physical(range, region.address().value());
      op.memory = addresses.node(range);
    }
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
    Op op = command(what.isProduct() ? OpKind.GEMM : OpKind.MATH, outBytes);
    op.compute = what;
    op.a = operand(a, op);
    op.b = operand(b, op);
    op.c = c;
    operand(c, op);
    op.aOffset = aOffset;
    op.bOffset = bOffset;
    op.cOffset = cOffset;
    op.out = registers.create(outBytes, true);
    return issue(op);
  }

  @Override
  public Register accumulate(
      ComputeOp what, Register a, int aOffset, Register b, int bOffset, Register sums) {
    boolean inPlace = sums.inTcm && sums.readers == 0 && !sums.released;
    Op op = command(OpKind.GEMM, sums.bytes);
    op.compute = what;
    op.a = operand(a, op);
    op.b = operand(b, op);
    op.c = sums;
    operand(sums, op);
    op.aOffset = aOffset;
    op.bOffset = bOffset;
    op.cOffset = 0;
    op.inPlaceSum = inPlace;
    op.out = registers.create(sums.bytes, true);
    sums.moved = inPlace;
    registers.release(sums);
    return issue(op);
  }

  @Override
  public Register schedule(List<Register> reads, Consumer<PePort> work) {
    Op op = command(null, 0);
    for (Register r : reads) {
      registers.reads(r);
      r.keepers++;
    }
    op.out = new Register(0, true);
    op.task = new ScheduledTask(op, context, List.copyOf(reads), work, op.line);
    return issue(op);
  }

  @Override
  public void fenceReaders(Register register) {
    Op op = command(null, 0);
    op.readersOf = register;
    issue(op);
  }

  @Override
  public void send(int queue, Register value, int offset, int bytes) {
    MessageUnit queues = queues();
    Op op = command(OpKind.SEND, bytes);
    op.end = queues.queue(queue);
    op.a = operand(value, op);
    op.aOffset = offset;
    op.fragments = queues.fragments(bytes);
    issue(op);
  }

  @Override
  public Register receive(int queue, int bytes, boolean copy, boolean async) {
    MessageUnit queues = queues();
    boolean inPlace = !copy && queues.usableInPlace(bytes);
    Op op = command(OpKind.RECV, bytes);
    op.end = queues.queue(queue);
    op.inPlace = inPlace;
    op.async = async;
    op.fragments = queues.fragments(bytes);
    op.out = registers.create(bytes, !inPlace);
    return issue(op);
  }

  @Override
  public void fence(Register token) {
    Op op = command(null, 0);
    registers.reads(token);
    op.a = token;
    issue(op);
  }

  @Override
  public void fenceAll() {
    issue(command(null, 0));
  }

  @Override
  public void release(Register register) {
    if (register != Register.NONE) {
      registers.release(register);
    }
  }

  @Override
  public byte[] look(Register register, int offset, int bytes) {
    if (world.mode == Mode.TIME) {
      throw new SimulationException(
          pe
              + ": the kernel looks at data, which mode time does not compute; run it in mode full"
              + " or values");
    }
    registers.reads(register);
    program.awaitValue(register, world.line());
    byte[] copy = new byte[bytes];
    System.arraycopy(register.data(), register.dataOffset() + offset, copy, 0, bytes);
    long now = world.sim.nowPs();
    registers.finishedReading(register, register.producer, now);
    cpu.raiseBarrier(Math.max(now, register.readyPs), Cause.LOOK, register.producer);
    return copy;
  }

  @Override
  public long clockPs() {
    if (!cpu.isIdle()) {
      program.awaitClock();
    }
    return cpu.clockPs();
  }

  private MessageUnit queues() {
    MessageUnit queues = context.queues;
    if (queues == null) {
      throw new SimulationException(
          pe + ": the kernel was launched without message queues; call initProcessGroup first");
    }
    return queues;
  }

  private Op command(@Nullable OpKind kind, int bytes) {
    if (cpu.isFull()) {
      program.awaitWindow();
    }
    Op op = world.newOp(context);
    op.kind = kind;
    op.bytes = bytes;
    TileScheduler scheduler = context.scheduler;
    ScheduledTask task = scheduler == null ? null : scheduler.issuing();
    op.line = task == null ? world.line() : task.line;
    if (kind != null) {
      op.id = world.log.reserve();
      op.task = task;
      if (task != null) {
        task.live++;
      }
    }
    return op;
  }

  private Register issue(Op op) {
    Register out =
        op.out; // the command may complete, and its record serve another, before this returns
    if (out != Register.NONE) {
      out.line = op.line;
    }
    cpu.take(op);
    return out;
  }

  /** Makes a register an operand of a command, which will wait for it. */
  private Register operand(Register r, Op op) {
    if (r != Register.NONE) {
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
