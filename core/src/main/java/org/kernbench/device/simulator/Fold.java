package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.LaneMask;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.Place;
import org.kernbench.machine.Symmetry;
import org.kernbench.machine.Turn;

/**
 * When one package may be simulated for all, and the proof of it (ADR 0109).
 *
 * <p>Packages meet at the heads of links, in each other's memories and through credits. If the
 * machine has shifts, if queues go where shifts take them, if each package runs the program of
 * package 0 with peers renamed, and if ties go by what shifts preserve ({@code Ties}), then by
 * induction over the times of events the rows of package 0 are those of every package. Package 0 is
 * simulated with itself as each of its neighbours: a queue that leads to the package {@code d}
 * further on comes back from the one {@code d} before, and what leaves by a link comes in by the
 * image of that link.
 *
 * <p>The machine and the queues are looked at whole. Of programs, those of some packages are run
 * without time and data and compared command by command with that of package 0.
 */
public final class Fold {
  /** Other packages whose programs are compared in any case, and at most. */
  private static final int FEWEST_COMPARED = 4;

  private static final int MOST_COMPARED = 67;

  /** Commands that are compared besides those of the fewest. */
  private static final long COMMANDS = 4_000_000;

  private final Machine machine;
  private final Symmetry symmetry;
  private int compared;
  private int hosts;
  private long commands;

  private Fold(Machine machine, Symmetry symmetry) {
    this.machine = machine;
    this.symmetry = symmetry;
  }

  /**
   * The fold of a machine to one package.
   *
   * @throws CannotFoldException if packages are not alike, or something in them is not preserved by
   *     shifts
   */
  public static Fold of(Machine machine) {
    Symmetry symmetry =
        machine
            .symmetry()
            .orElseThrow(() -> new CannotFoldException(Symmetry.obstacle(machine).orElseThrow()));
    if (machine.hbm().isBanked()) {
      throw new CannotFoldException(
          "banks of HBM are at other rows in each package; use cube.hbm.fidelity: flat to fold");
    }
    if (machine.fabric().isBuffered()) {
      throw new CannotFoldException(
          """
          routers with finite buffers serve their links by number; leave fabric.buffer out to \
          fold\
          """);
    }
    return new Fold(machine, symmetry);
  }

  /** The shifts. */
  public Symmetry symmetry() {
    return symmetry;
  }

  /** Package 0, at time 0, in mode {@code time}. */
  public Simulator open(SimulatorOptions options) {
    if (options.watch().isPresent()) {
      throw new CannotFoldException(
          "--check looks at the memories of all packages; leave one of the two out");
    }
    return Simulator.openFolded(machine, options, symmetry);
  }

  /** For example {@code folded 1,024 packages in 1 orbit (shifts of ring_1d); 68 programs ...}. */
  public String note() {
    return String.format(
        Locale.ROOT,
        "folded %,d packages in 1 orbit (%s); %,d programs%s compared; rows of package 0 stand for all",
        symmetry.order(),
        symmetry.name(),
        compared + 1,
        hosts == 0 ? "" : " and those of " + (hosts + 1) + " hosts");
  }

  // ---- host programs ----

  /**
   * Runs host programs of the first package, the second, the middle and the last, in which nothing
   * takes time, and compares which kernels they launch where, on what, and what these depend on as
   * far as they say it.
   *
   * @param host runs those of the ranks of a package as if they were in package 0
   * @throws CannotFoldException if one does something else than those of package 0
   */
  public void compareHosts(ObjIntConsumer<Simulator> host) {
    Simulator.HostTape first = hostTape(host, 0, null);
    int n = machine.sips();
    for (int sip : new TreeSet<>(List.of(1 % n, n / 2, n - 1))) {
      Simulator.HostTape.difference(first, hostTape(host, sip, first))
          .ifPresent(difference -> {
            throw new CannotFoldException(
                "of the host programs of packages 0 and %s %s; let all ranks do alike"
                    .formatted(sip, difference));
          });
      hosts++;
    }
  }

  private Simulator.HostTape hostTape(
      ObjIntConsumer<Simulator> host, int sip, Simulator.@Nullable HostTape expected) {
    Simulator.HostTape tape = new Simulator.HostTape(machine, expected);
    host.accept(Simulator.openFor(tape, machine), sip);
    return tape;
  }

  // ---- places ----

  /**
   * Of the PEs of a launch those in package 0.
   *
   * @throws CannotFoldException if another package takes part with other PEs
   */
  public List<Pe> representatives(List<Pe> pes) {
    List<Pe> first = pes.stream().filter(pe -> pe.sip() == 0).toList();
    Set<Pe> places = new LinkedHashSet<>(first);
    int[] count = new int[machine.sips()];
    for (Pe pe : pes) {
      if (!places.contains(symmetry.shifted(pe, symmetry.backFrom(pe.sip())))) {
        throw new CannotFoldException(
            """
            %s takes part, and the PE at its place in package 0 does not; let all packages take \
            part alike\
            """
                .formatted(pe));
      }
      count[pe.sip()]++;
    }
    for (int sip = 0; sip < count.length; sip++) {
      if (count[sip] != first.size()) {
        throw new CannotFoldException(
            "%s PEs of package %s take part, and %s of package 0; let all packages take part alike"
                .formatted(count[sip], sip, first.size()));
      }
    }
    return first;
  }

  // ---- queues ----

  private record Wire(Pe a, String aDirection, Pe b, String bDirection) {}

  /**
   * Of the queues of a plan those that begin in package 0, one for each orbit.
   *
   * @throws CannotFoldException if a shift takes some queue to where none is
   */
  public QueuePlan representatives(QueuePlan plan) {
    Map<Wire, BitSet> orbits = new LinkedHashMap<>();
    for (QueuePlan.Connection c : plan.connections()) {
      if (c.sums().isPresent()) {
        throw new CannotFoldException(
            """
            sums in a switch are made of what all packages send, and one stands for all here; \
            leave --fold out, or take another algorithm\
            """);
      }
      int by = symmetry.backFrom(c.a().sip());
      Wire first =
          new Wire(
              symmetry.shifted(c.a(), by),
              c.aDirection(),
              symmetry.shifted(c.b(), by),
              c.bDirection());
      BitSet sips = orbits.computeIfAbsent(first, w -> new BitSet(machine.sips()));
      sips.set(c.a().sip());
    }
    List<QueuePlan.Connection> kept = new ArrayList<>();
    orbits.forEach((w, sips) -> {
      int missing = sips.nextClearBit(0);
      if (missing < machine.sips()) {
        throw new CannotFoldException(notEverywhere(w, sips.nextSetBit(0), missing));
      }
      kept.add(new QueuePlan.Connection(w.a, w.aDirection, w.b, w.bDirection));
    });
    return new QueuePlan(plan.spec(), kept);
  }

  private String notEverywhere(Wire w, int there, int missing) {
    return """
    a queue leads from %s (%s) to %s (%s), and none likewise from package %s; use an \
    algorithm whose ranks all have the same neighbours\
    """
        .formatted(
            symmetry.shifted(w.a, there),
            w.aDirection,
            symmetry.shifted(w.b, there),
            w.bDirection,
            missing);
  }

  // ---- programs ----

  /**
   * Compares the programs of some packages with those of package 0: of the second, the middle and
   * the last, and of others by a hash of their number, as many as take a few seconds at most.
   *
   * @param pes of package 0 that run programs
   * @param plan the queues that begin in package 0
   * @param program makes the program of a PE
   * @param turns how packages name their bytes, in each vector; elsewhere all use the same ones
   * @throws CannotFoldException if one does something else than package 0
   */
  public void compare(
      List<Pe> pes, QueuePlan plan, Function<PePort, Runnable> program, List<Turn> turns) {
    long each = 0;
    Map<Pe, Long> expected = new HashMap<>();
    for (Pe pe : pes) {
      Tape tape = tape(pe, 0, plan, program, turns);
      each += tape.commands();
      expected.put(pe, tape.hash());
    }
    Set<Integer> others = chosen(each);
    commands += each * others.size();
    for (int sip : others) {
      for (Pe pe : pes) {
        if (tape(pe, sip, plan, program, turns).hash()
            != Objects.requireNonNull(expected.get(pe))) {
          throw new CannotFoldException(difference(pe, sip, plan, program, turns));
        }
      }
    }
    compared += others.size();
  }

  /** Others to compare with, given how many commands a package has: fewer with each call. */
  private Set<Integer> chosen(long each) {
    int n = machine.sips();
    long left = Math.max(0, COMMANDS - commands) / (each + 1);
    long many = Math.min(MOST_COMPARED, Math.max(FEWEST_COMPARED, left));
    Set<Integer> chosen = new LinkedHashSet<>(List.of(1 % n, n / 2, n - 1));
    SplittableRandom hash = new SplittableRandom(n);
    if (n <= many) {
      for (int sip = 1; sip < n; sip++) {
        chosen.add(sip);
      }
    }
    while (chosen.size() < Math.min(n - 1, many)) {
      chosen.add(1 + hash.nextInt(n - 1));
    }
    chosen.remove(0);
    return chosen;
  }

  private Tape tape(
      Pe pe, int sip, QueuePlan plan, Function<PePort, Runnable> program, List<Turn> turns) {
    Tape tape = new Tape(machine, symmetry.shifted(pe, sip), plan, turns);
    tape.run(program);
    return tape;
  }

  /** Runs both again, with every command in words. */
  private String difference(
      Pe pe, int sip, QueuePlan plan, Function<PePort, Runnable> program, List<Turn> turns) {
    List<List<String>> words = new ArrayList<>();
    for (int which : new int[] {0, sip}) {
      Tape tape = new Tape(machine, symmetry.shifted(pe, which), plan, turns);
      tape.inWords();
      tape.run(program);
      words.add(tape.words());
    }
    List<String> first = words.get(0);
    List<String> second = words.get(1);
    int at = 0;
    while (at < Math.min(first.size(), second.size()) && first.get(at).equals(second.get(at))) {
      at++;
    }
    return "command %s of %s is %s, that of %s is %s; expected the same with peers renamed"
        .formatted(at, pe, wordAt(first, at), symmetry.shifted(pe, sip), wordAt(second, at));
  }

  private static String wordAt(List<String> words, int at) {
    return at < words.size() ? words.get(at) : "none";
  }

  /**
   * What one program does, in words that mean the same in every package: found by running it once,
   * without time and data. Values go by when they were made, peers by how they lie to the PE,
   * queues by direction, bytes by the names that a {@link Turn} gives them. From which byte of a
   * value on a command reads is left out: it decides data, and no time.
   */
  private static final class Tape implements PePort {
    private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
    private static final String LOAD =
        "a load of %s bytes from byte %s on of the package %s further on, value %s";
    private static final String STORE =
        "a store of %s bytes from byte %s on of the package %s further on, of value %s";
    private static final String COMPUTE = "a computation (%s) that makes %s bytes of %s and %s";
    private static final String ACCUMULATE = "an accumulation (%s) on value %s of %s and %s";

    private final Machine machine;
    private final Pe pe;
    private final List<Turn> turns;
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
    Tape(Machine machine, Pe pe, QueuePlan plan, List<Turn> turns) {
      this.machine = machine;
      this.pe = pe;
      this.turns = turns;
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
      return new Numbered(bytes, values++);
    }

    /** A value and which of its program it is; no two are equal. */
    private static final class Numbered implements Register {
      private final int bytes;
      private final int number;

      Numbered(int bytes, int number) {
        this.bytes = bytes;
        this.number = number;
      }

      @Override
      public int bytes() {
        return bytes;
      }

      @Override
      public boolean inTcm() {
        return true;
      }

      @Override
      public int line() {
        return 0;
      }

      @Override
      public boolean isReleased() {
        return false;
      }
    }

    /** The number of a value; -1 of none. */
    private static int number(Register value) {
      return value instanceof Numbered made ? made.number : -1;
    }

    private void region(String form, Region r, long value) {
      if (!(r.address() instanceof PhysicalAddress physical)) {
        virtual(form, r, value);
        return;
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
      say(form, r.bytes(), name, local, value);
    }

    /** What is mapped in package 0 counts as mapped in all, at the same places in each. */
    private void virtual(String form, Region r, long value) {
      int which = 0;
      while (which < turns.size() && !turns.get(which).holds(r.address().value())) {
        which++;
      }
      if (which == turns.size()) {
        throw new CannotFoldException(
            """
            %s reads or writes by virtual addresses outside of the vectors of its call, whose \
            translation may differ between packages\
            """
                .formatted(pe));
      }
      mix(which);
      mix(r.rows());
      mix(r.rows() > 1 ? r.strideBytes() : 0);
      long name = name(r.address().value(), r.extent()) - turns.get(which).start();
      say(form, r.bytes(), name, 0, value);
    }

    private long name(long offset, long extent) {
      for (Turn turn : turns) {
        if (turn.holds(offset)) {
          long name = turn.name(pe.sip(), offset, extent);
          if (name < 0) {
            throw new CannotFoldException(
                "%s reads or writes %s bytes at once that lie apart in the order of package 0"
                    .formatted(pe, extent));
          }
          return name;
        }
      }
      return offset;
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
      region(LOAD, from, number(out));
      return out;
    }

    @Override
    public Register load(Region from, LaneMask mask) {
      throw masked();
    }

    @Override
    public Register store(Register value, int offset, Region to) {
      Register done = made(0);
      region(STORE, to, number(value));
      return done;
    }

    @Override
    public Register store(Register value, int offset, Region to, LaneMask mask) {
      throw masked();
    }

    private CannotFoldException masked() {
      return new CannotFoldException(
          """
          %s loads or stores with a mask, whose lanes may differ between packages; run with \
          --fold off\
          """
              .formatted(pe));
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
      say(COMPUTE, work(op), outBytes, number(a), number(b));
      mix(number(c));
      return made(outBytes);
    }

    @Override
    public Register accumulate(
        ComputeOp op, Register a, int aOffset, Register b, int bOffset, Register sums) {
      say(ACCUMULATE, work(op), number(sums), number(a), number(b));
      return made(sums.bytes());
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
      say("a send on queue %s of %s bytes of value %s", queue, bytes, number(value), 0);
    }

    @Override
    public Register receive(int queue, int bytes, boolean copy, boolean async) {
      say(
          "a receive on queue %s of %s bytes (copy %s, async %s)",
          queue, bytes, copy ? 1 : 0, async ? 1 : 0);
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
          """
          the kernel looks %s, so what it does is not known before it runs; run with --fold off\
          """
              .formatted(at));
    }
  }
}
