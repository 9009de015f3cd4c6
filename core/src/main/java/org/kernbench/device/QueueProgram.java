package org.kernbench.device;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * What the program of one PE does with its message queues, in its order: found by running it once,
 * without time and data. For those who ask how many slots programs need ({@code kernbench
 * conformance}).
 */
public final class QueueProgram {
  /** What a step does. */
  public enum Verb {
    /** Sends a message. */
    SEND,
    /** Takes a message, and waits for it where commands are issued one by one. */
    RECEIVE,
    /** Takes a message beside what follows. */
    RECEIVE_ASYNC,
    /** Reads the value of an earlier receive. */
    READ,
    /** Gives the value of an earlier receive up. */
    RELEASE
  }

  /**
   * One step.
   *
   * @param queue of a message: twice the number of its connection in the plan, and one more at the
   *     end {@code b}
   * @param bytes of a message
   * @param copy of a receive: whether the program wants a copy, which leaves the slot at once
   * @param value number of the receive that a read or release is about; of a receive its own
   */
  public record Step(Verb verb, int queue, int bytes, boolean copy, int value) {}

  /** The program looks at data or at the clock, which are not there. */
  private static final class LooksException extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private QueueProgram() {}

  /**
   * The steps of a program; empty if it looks at data or at the clock, so that what it does depends
   * on them.
   *
   * @param plan the queues that it finds
   */
  public static Optional<List<Step>> of(
      Machine machine, Pe pe, QueuePlan plan, Function<PePort, Runnable> program) {
    Recorder recorder = new Recorder(machine, pe, plan);
    try {
      program.apply(recorder).run();
    } catch (LooksException e) {
      return Optional.empty();
    }
    recorder.end();
    return Optional.of(List.copyOf(recorder.steps));
  }

  /** Notes what concerns queues; everything else takes effect nowhere. */
  private static final class Recorder implements PePort {
    final List<Step> steps = new ArrayList<>();
    private final Machine machine;
    private final Pe pe;
    private final List<String> directions = new ArrayList<>();
    private final Map<String, Integer> queues = new HashMap<>();
    private final Map<Register, Integer> received = new IdentityHashMap<>();
    private int receives;

    Recorder(Machine machine, Pe pe, QueuePlan plan) {
      this.machine = machine;
      this.pe = pe;
      int id = 0;
      for (QueuePlan.Connection c : plan.connections()) {
        add(c.a(), c.aDirection(), id++);
        add(c.b(), c.bDirection(), id++);
      }
    }

    private void add(Pe at, String direction, int id) {
      if (at.equals(pe)) {
        directions.add(direction);
        queues.put(direction, id);
      }
    }

    private static Register made(int bytes) {
      return new NamedRegister(bytes);
    }

    private void reads(Register value) {
      Integer number = received.get(value);
      if (number != null) {
        steps.add(new Step(Verb.READ, -1, 0, false, number));
      }
    }

    void end() {
      received.values().stream()
          .sorted()
          .forEach(number -> steps.add(new Step(Verb.RELEASE, -1, 0, false, number)));
    }

    @Override
    public Pe pe() {
      return pe;
    }

    @Override
    public Mode mode() {
      return Mode.TIME;
    }

    @Override
    public Machine machine() {
      return machine;
    }

    @Override
    public Register load(Region from) {
      return made(from.bytes());
    }

    @Override
    public Register load(Region from, LaneMask mask) {
      reads(mask.register());
      return made(from.bytes());
    }

    @Override
    public Register store(Register value, int offset, Region to) {
      reads(value);
      return made(0);
    }

    @Override
    public Register store(Register value, int offset, Region to, LaneMask mask) {
      reads(mask.register());
      return store(value, offset, to);
    }

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
      reads(a);
      reads(b);
      reads(c);
      return made(outBytes);
    }

    @Override
    public Register accumulate(
        ComputeOp op, Register a, int aOffset, Register b, int bOffset, Register sums) {
      reads(a);
      reads(b);
      reads(sums);
      release(sums);
      return made(sums.bytes());
    }

    @Override
    public Register schedule(List<Register> reads, Consumer<PePort> work) {
      reads.forEach(this::reads);
      return made(0);
    }

    @Override
    public void fenceReaders(Register register) {}

    @Override
    public void send(int queue, Register value, int offset, int bytes) {
      reads(value);
      steps.add(new Step(Verb.SEND, queue, bytes, false, -1));
    }

    @Override
    public Register receive(int queue, int bytes, boolean copy, boolean async) {
      Register value = made(bytes);
      received.put(value, receives);
      Verb verb = async ? Verb.RECEIVE_ASYNC : Verb.RECEIVE;
      steps.add(new Step(verb, queue, bytes, copy, receives++));
      return value;
    }

    @Override
    public List<String> directions() {
      return List.copyOf(directions);
    }

    @Override
    public int queue(String direction) {
      return queues.getOrDefault(direction, -1);
    }

    @Override
    public void fence(Register token) {
      reads(token);
    }

    @Override
    public void fenceAll() {
      received.keySet().forEach(this::reads);
    }

    @Override
    public void release(Register register) {
      Integer number = received.remove(register);
      if (number != null) {
        steps.add(new Step(Verb.RELEASE, -1, 0, false, number));
      }
    }

    @Override
    public byte[] look(Register register, int offset, int bytes) {
      throw new LooksException();
    }

    @Override
    public int select(List<Integer> from, int first) {
      throw new LooksException();
    }

    @Override
    public long clockPs() {
      throw new LooksException();
    }
  }
}
