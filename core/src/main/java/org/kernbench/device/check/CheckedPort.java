package org.kernbench.device.check;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.LaneMask;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/** Hands the commands of a program on, and tells a {@link CheckedProgram} what each comes after. */
final class CheckedPort implements PePort {
  private final PePort port;
  private final CheckedProgram program;
  private final Checker checker;

  /** Issues the composites of this program; made with the first. */
  private @Nullable CheckedProgram scheduled;

  CheckedPort(PePort port, CheckedProgram program, Checker checker) {
    this.port = port;
    this.program = program;
    this.checker = checker;
  }

  @Override
  public Pe pe() {
    return port.pe();
  }

  @Override
  public Mode mode() {
    return port.mode();
  }

  @Override
  public Machine machine() {
    return port.machine();
  }

  @Override
  public List<String> directions() {
    return port.directions();
  }

  @Override
  public int queue(String direction) {
    return port.queue(direction);
  }

  // ---- memory ----

  @Override
  public Register load(Region from) {
    OrderPoint moment = program.command();
    return accesses(moment, port.load(from), from);
  }

  @Override
  public Register load(Region from, LaneMask mask) {
    OrderPoint moment = program.command(mask.register());
    return accesses(moment, port.load(from, mask), from);
  }

  @Override
  public Register store(Register value, int offset, Region to) {
    OrderPoint moment = program.command(value);
    return accesses(moment, port.store(value, offset, to), to);
  }

  @Override
  public Register store(Register value, int offset, Region to, LaneMask mask) {
    OrderPoint moment = program.command(value, mask.register());
    return accesses(moment, port.store(value, offset, to, mask), to);
  }

  private Register accesses(OrderPoint moment, Register out, Region region) {
    program.makes(out, moment, null);
    checker.watches(out, moment, region);
    return out;
  }

  // ---- computing ----

  @Override
  public Register compute(
      ComputeOp op,
      int outBytes,
      Register a,
      int aOffset,
      Register b,
      int bOffset,
      Register c,
      int cOffset) {
    Register out = port.compute(op, outBytes, a, aOffset, b, bOffset, c, cOffset);
    program.computes(out, a, b, c);
    return out;
  }

  @Override
  public Register accumulate(
      ComputeOp op, Register a, int aOffset, Register b, int bOffset, Register sums) {
    Register out = port.accumulate(op, a, aOffset, b, bOffset, sums);
    program.computes(out, a, b, sums);
    program.releases(sums);
    return out;
  }

  @Override
  public Register schedule(List<Register> reads, Consumer<PePort> work) {
    OrderPoint composite = program.schedules(reads);
    Map<Register, OrderPoint> made = program.made(reads);
    CheckedProgram scheduler = scheduler();
    Register token =
        port.schedule(
            reads,
            inner -> {
              checker.runs(inner, scheduler);
              scheduler.begins(composite, made);
              work.accept(new CheckedPort(inner, scheduler, checker));
            });
    program.makes(token, composite, null);
    return token;
  }

  private CheckedProgram scheduler() {
    CheckedProgram s = scheduled;
    if (s == null) {
      s = new CheckedProgram(checker, program.launch, program.pe, program);
      scheduled = s;
    }
    return s;
  }

  // ---- messages ----

  @Override
  public void send(int queue, Register value, int offset, int bytes) {
    CheckedQueues queues = program.launch.queues;
    if (queues != null) {
      queues.from(queue).sends(program.command(value), bytes);
    }
    port.send(queue, value, offset, bytes);
  }

  @Override
  public Register receive(int queue, int bytes, boolean copy, boolean async) {
    OrderPoint moment = program.command();
    Register out = port.receive(queue, bytes, copy, async);
    CheckedQueues queues = program.launch.queues;
    OrderPoint freed = null;
    if (queues != null) {
      CheckedQueues.Queue from = queues.to(queue);
      freed = from.receives(moment, bytes, !out.inTcm());
      from.lastReceiveLine = checker.line(out.line());
      from.lastReceiveKernel = program.launch.name;
    }
    program.makes(out, moment, freed);
    return out;
  }

  @Override
  public int select(List<Integer> from, int first) {
    int chosen = port.select(from, first);
    CheckedQueues queues = program.launch.queues;
    if (queues != null) {
      program.waitsFor(queues.to(from.get(chosen)).nextSend());
    }
    return chosen;
  }

  // ---- order ----

  @Override
  public void fence(Register token) {
    port.fence(token);
    program.waitsFor(token);
  }

  @Override
  public void fenceAll() {
    port.fenceAll();
    program.waitsForAll();
  }

  @Override
  public void fenceReaders(Register register) {
    port.fenceReaders(register);
    program.waitsForReaders(register);
  }

  @Override
  public void release(Register register) {
    port.release(register);
    program.releases(register);
  }

  @Override
  public byte[] look(Register register, int offset, int bytes) {
    byte[] data = port.look(register, offset, bytes);
    program.waitsFor(register);
    return data;
  }

  @Override
  public long clockPs() {
    return port.clockPs();
  }
}
