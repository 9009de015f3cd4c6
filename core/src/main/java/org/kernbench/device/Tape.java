package org.kernbench.device;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.Place;
import org.kernbench.machine.Symmetry;

/**
 * What one program does, in words that mean the same in every package: found by running it once,
 * without time and data. Values go by when they were made, peers by how they lie to the PE, queues
 * by direction, bytes by the names that a {@link Fold.Turn} gives them.
 */
final class Tape implements PePort {
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
  private static final String LOAD =
      "a load of %s bytes from byte %s on of the package %s further on, value %s";
  private static final String STORE =
      "a store of %s bytes from byte %s on of the package %s further on, of value %s";
  private static final String COMPUTE = "a computation (%s) that makes %s bytes of %s and %s";
  private static final String ACCUMULATE = "an accumulation (%s) on value %s of %s and %s";

  private final Machine machine;
  private final Symmetry symmetry;
  private final Pe pe;
  private final Fold.Turn turn;
  private final List<String> directions = new ArrayList<>();
  private long hash;
  private long commands;
  private int values;
  private @Nullable List<String> words;
  private @Nullable ComputeOp lastWork;
  private int lastWorkHash;

  /**
   * A tape of a PE.
   *
   * @param plan the queues that begin in package 0
   */
  Tape(Machine machine, Symmetry symmetry, Pe pe, QueuePlan plan, Fold.Turn turn) {
    this.machine = machine;
    this.symmetry = symmetry;
    this.pe = pe;
    this.turn = turn;
    for (QueuePlan.Connection c : plan.connections()) {
      add(c.a(), c.aDirection());
      add(c.b(), c.bDirection());
    }
  }

  private void add(Pe at, String direction) {
    if (at.cube() == pe.cube() && at.pe() == pe.pe() && !directions.contains(direction)) {
      directions.add(direction);
    }
  }

  /** Also keeps every command in words, for a message. */
  void inWords() {
    words = new ArrayList<>();
  }

  void run(Function<PePort, Runnable> program) {
    program.apply(this).run();
  }

  long hash() {
    return hash + commands * MULTIPLIER;
  }

  long commands() {
    return commands;
  }

  List<String> words() {
    List<String> kept = words;
    return kept == null ? List.of() : kept;
  }

  // ---- commands ----

  /**
   * A command.
   *
   * @param form its words, a format of the four numbers
   */
  private void say(String form, long a, long b, long c, long d) {
    commands++;
    mix(form.hashCode());
    mix(a);
    mix(b);
    mix(c);
    mix(d);
    if (words != null) {
      words.add(form.formatted(a, b, c, d));
    }
  }

  private void mix(long v) {
    hash = (hash ^ v) * MULTIPLIER;
    hash ^= hash >>> 29;
  }

  private Register made(int bytes) {
    Register value = new Register(bytes, true);
    value.producer = values++;
    return value;
  }

  /** The number of a value; -1 of none. */
  private static int number(Register value) {
    return value.producer;
  }

  private void region(String form, Region r, long value, long offset) {
    if (!(r.address() instanceof PhysicalAddress physical)) {
      throw new CannotFoldException(
          pe + " reads or writes by virtual addresses, whose translation may differ between packages");
    }
    Place place = machine.addresses().decode(physical);
    int sip = machine.packageOf(place.nodeId());
    int local = machine.displacement(pe.sip(), sip);
    int node = place.nodeId() - machine.peNode(new Pe(sip, 0, 0));
    long name = name(place.offset(), r.extent());
    mix(local);
    mix(node);
    mix(r.rows());
    mix(r.rows() > 1 ? r.strideBytes() : 0);
    mix(offset);
    say(form, r.bytes(), name, local, value);
  }

  private long name(long offset, long extent) {
    long name = turn.name(pe.sip(), offset, extent);
    if (name < 0) {
      throw new CannotFoldException(
          "%s reads or writes %s bytes at once that lie apart in the order of package 0"
              .formatted(pe, extent));
    }
    return name;
  }

  private int work(ComputeOp op) {
    if (!op.equals(lastWork)) { // records are compared, so equal work has one number on all tapes
      lastWork = op;
      lastWorkHash = op.toString().hashCode();
    }
    return lastWorkHash;
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
    Register out = made(from.bytes());
    region(LOAD, from, number(out), 0);
    return out;
  }

  @Override
  public Register load(Region from, LaneMask mask) {
    throw masked();
  }

  @Override
  public Register store(Register value, int offset, Region to) {
    Register done = made(0);
    region(STORE, to, number(value), offset);
    return done;
  }

  @Override
  public Register store(Register value, int offset, Region to, LaneMask mask) {
    throw masked();
  }

  private CannotFoldException masked() {
    return new CannotFoldException(
        pe + " loads or stores with a mask, whose lanes may differ between packages; run with"
            + " --fold off");
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
    say(COMPUTE, work(op), outBytes, pair(a, aOffset), pair(b, bOffset));
    mix(pair(c, cOffset));
    return made(outBytes);
  }

  private static long pair(Register value, int offset) {
    return ((long) number(value) << 32) | (offset & 0xFFFF_FFFFL);
  }

  @Override
  public Register accumulate(
      ComputeOp op, Register a, int aOffset, Register b, int bOffset, Register sums) {
    say(ACCUMULATE, work(op), number(sums), pair(a, aOffset), pair(b, bOffset));
    return made(sums.bytes);
  }

  @Override
  public Register schedule(List<Register> reads, Consumer<PePort> body) {
    say("a task of the tile scheduler that reads %s values", reads.size(), 0, 0, 0);
    reads.forEach(r -> mix(number(r)));
    body.accept(this);
    return made(0);
  }

  @Override
  public void fenceReaders(Register register) {
    say("a fence for the readers of value %s", number(register), 0, 0, 0);
  }

  @Override
  public void send(int queue, Register value, int offset, int bytes) {
    say("a send on queue %s of %s bytes of value %s from byte %s on", queue, bytes, number(value), offset);
  }

  @Override
  public Register receive(int queue, int bytes, boolean copy, boolean async) {
    say("a receive on queue %s of %s bytes (copy %s, async %s)", queue, bytes, copy ? 1 : 0, async ? 1 : 0);
    return made(bytes);
  }

  @Override
  public List<String> directions() {
    return List.copyOf(directions);
  }

  @Override
  public int queue(String direction) {
    return directions.indexOf(direction);
  }

  @Override
  public void fence(Register token) {
    say("a fence for value %s", number(token), 0, 0, 0);
  }

  @Override
  public void fenceAll() {
    say("a fence for all", 0, 0, 0, 0);
  }

  @Override
  public void release(Register register) {
    if (register != Register.NONE) {
      say("a release of value %s", number(register), 0, 0, 0);
    }
  }

  @Override
  public byte[] look(Register register, int offset, int bytes) {
    throw looks("at data");
  }

  @Override
  public int select(List<Integer> queues, int first) {
    throw looks("which message comes first");
  }

  @Override
  public long clockPs() {
    throw looks("at the clock");
  }

  private CannotFoldException looks(String at) {
    return new CannotFoldException(
        "the kernel looks " + at + ", so what it does is not known before it runs; run with --fold"
            + " off");
  }
}
