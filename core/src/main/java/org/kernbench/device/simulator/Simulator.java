package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.CopyDirection;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.Reused;
import org.kernbench.device.Watch;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.AddressMapping;
import org.kernbench.device.memory.Memories;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.device.memory.PageMap;
import org.kernbench.machine.Machine;
import org.kernbench.machine.MemoryAddress;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.Symmetry;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.Loan;

/**
 * The moving machine: memories with bytes, processing elements, queues and fabric of one {@link
 * Machine}, at one simulated time. The only door of this room for host programs. Not thread-safe;
 * one simulation belongs to one thread at a time.
 */
public final class Simulator implements AutoCloseable {
  private static final String HOST = "the host program";

  private final Machine machine;
  private final Mode mode;
  private final Memories memories;
  private final PageMap map;
  private final Executor executor;
  private final @Nullable Watch watch;
  private final Optional<Consumer<Reused>> told;
  private Optional<QueueSet> latest = Optional.empty();

  private Simulator(
      Machine machine,
      Mode mode,
      SimulatorOptions options,
      int tapeSize,
      ApartRun.Limits apart,
      @Nullable Symmetry folded) {
    this(
        machine,
        mode,
        options,
        (memories, map) ->
            mode == Mode.VALUES
                ? new ValuesExecutor(machine, memories, map, options)
                : new TimedExecutor(
                    new MachineParts(machine, mode, memories, map, options, tapeSize, folded),
                    options,
                    apart));
  }

  private Simulator(
      Machine machine,
      Mode mode,
      SimulatorOptions options,
      BiFunction<Memories, PageMap, Executor> maker) {
    this.machine = machine;
    this.mode = mode;
    this.memories = new Memories(machine);
    this.map = new PageMap(machine);
    this.executor = maker.apply(memories, map);
    this.watch = executor.watch();
    this.told = options.told();
  }

  /** A machine at time 0 with empty memories and no queues. */
  public static Simulator open(Machine machine, Mode mode, SimulatorOptions options) {
    return open(machine, mode, options, CommandTape.SIZE, ApartRun.Limits.usual(machine));
  }

  /**
   * For tests: the same; no result depends on the last two.
   *
   * @param tapeSize how many commands programs say at most before the first is taken
   * @param apart when packages run ahead of others as far as they let it
   */
  static Simulator open(
      Machine machine, Mode mode, SimulatorOptions options, int tapeSize, ApartRun.Limits apart) {
    return new Simulator(machine, mode, options, tapeSize, apart, null);
  }

  /**
   * Package 0 of a machine that stands for all of its packages, in mode {@code time}: what is
   * launched on its PEs is launched on those of all packages, and what it exchanges with package
   * {@code d} all exchange with the one that lies to them likewise. Only {@link Fold} knows when
   * that is true.
   */
  static Simulator openFolded(Machine machine, SimulatorOptions options, Symmetry symmetry) {
    return new Simulator(
        machine, Mode.TIME, options, CommandTape.SIZE, ApartRun.Limits.NEVER, symmetry);
  }

  /** One in which nothing takes time, and a tape keeps what the host does. */
  static Simulator openFor(HostTape tape, Machine machine) {
    return new Simulator(machine, Mode.TIME, SimulatorOptions.DEFAULT, (memories, map) -> tape);
  }

  /** The description that this machine was built from. */
  public Machine machine() {
    return machine;
  }

  /** What the run computes. */
  public Mode mode() {
    return mode;
  }

  // ---- memory, as the host sees it ----

  /**
   * Puts memory behind virtual addresses; takes no simulated time.
   *
   * @throws IllegalArgumentException if some of them are mapped already
   */
  public void map(AddressMapping mapping) {
    executor.mapped(map.map(mapping));
  }

  /**
   * Removes what {@link #map} made at this address; takes no simulated time. The memory keeps its
   * bytes.
   *
   * @return what was mapped
   */
  public AddressMapping unmap(VirtualAddress at) {
    executor.unmaps(map.startingAt(at));
    return map.unmap(at).mapping();
  }

  /**
   * Where a PE finds a virtual address; takes no simulated time.
   *
   * @throws SimulationException if nothing is mapped there
   */
  public PhysicalAddress translate(Pe pe, VirtualAddress address) {
    PageMap.Range range = map.require(address.value(), pe.toString());
    return range.physical(range.copyFor(machine.peIndex(pe)), address.value());
  }

  /**
   * Whether a translation has had to make room for another one in any TLB; false in mode {@code
   * values}.
   */
  public boolean hasEvicted() {
    return executor.hasEvicted();
  }

  /** What the MMUs did so far; nothing in mode {@code values}. */
  public MmuCounts mmuCounts() {
    return executor.mmuCounts();
  }

  /**
   * The host writes bytes into a memory, or into all copies of what is mapped at a virtual address;
   * takes no simulated time. Does nothing in mode {@code time}.
   */
  public void write(MemoryAddress to, byte[] data, int offset, int bytes) {
    if (mode == Mode.TIME) {
      return;
    }
    if (to instanceof PhysicalAddress physical) {
      memories.write(physical, data, offset, bytes);
      checked(true, physical, bytes, null);
      return;
    }
    for (long done = 0; done < bytes; ) {
      PageMap.Range range = map.require(to.value() + done, HOST);
      int step = (int) range.atMost(to.value() + done, bytes - done);
      for (int copy = 0; copy < range.copies(); copy++) {
        PhysicalAddress at = range.physical(copy, to.value() + done);
        memories.write(at, data, Math.toIntExact(offset + done), step);
        checked(true, at, step, range);
      }
      done += step;
    }
  }

  /**
   * The host writes bytes of a loan as {@link #write} does, but memory reads whole pages of them
   * where they are until something else is written there.
   */
  public void lend(VirtualAddress to, Loan loan, long from, long bytes) {
    if (mode == Mode.TIME) {
      return;
    }
    for (long done = 0; done < bytes; ) {
      PageMap.Range range = map.require(to.value() + done, HOST);
      long step = range.atMost(to.value() + done, bytes - done);
      for (int copy = 0; copy < range.copies(); copy++) {
        PhysicalAddress at = range.physical(copy, to.value() + done);
        memories.lend(at, loan, from + done, step);
        checked(true, at, step, range);
      }
      done += step;
    }
  }

  /**
   * The host reads bytes out of a memory, or out of the first copy of what is mapped at a virtual
   * address; takes no simulated time. The caller has driven what could still change them.
   *
   * @throws SimulationException in mode {@code time}, which has no bytes
   */
  public void read(MemoryAddress from, byte[] to, int offset, int bytes) {
    if (mode == Mode.TIME) {
      throw new SimulationException(
          "mode time computes no values, so there is nothing to read; use mode full or values");
    }
    if (from instanceof PhysicalAddress physical) {
      memories.read(physical, to, offset, bytes);
      checked(false, physical, bytes, null);
      return;
    }
    for (long done = 0; done < bytes; ) {
      PageMap.Range range = map.require(from.value() + done, HOST);
      int step = (int) range.atMost(from.value() + done, bytes - done);
      PhysicalAddress at = range.physical(0, from.value() + done);
      memories.read(at, to, Math.toIntExact(offset + done), step);
      checked(false, at, step, range);
      done += step;
    }
  }

  private void checked(
      boolean writes, PhysicalAddress at, long bytes, PageMap.@Nullable Range range) {
    if (watch != null) {
      watch.hostAccess(writes, at, bytes, range, nowPs());
    }
  }

  /**
   * Finds memory that neither host nor kernel has written, at a virtual address in the first copy;
   * takes no simulated time.
   *
   * @return position of the first such byte among {@code bytes} from {@code from} on, -1 if there
   *     is none
   */
  public long firstUnwritten(MemoryAddress from, long bytes) {
    if (from instanceof PhysicalAddress physical) {
      return memories.firstUnwritten(physical, bytes);
    }
    for (long done = 0; done < bytes; ) {
      PageMap.Range range = map.require(from.value() + done, HOST);
      long step = range.atMost(from.value() + done, bytes - done);
      long found = memories.firstUnwritten(range.physical(0, from.value() + done), step);
      if (found >= 0) {
        return done + found;
      }
      done += step;
    }
    return -1;
  }

  /**
   * Lets simulated time run until the host has copied bytes from or to a memory over its link and
   * the fabric, like the copy engine of a host link would; moves no values. Host programs do not
   * wait for their copies (ADR 0030), this measures what they would take.
   *
   * @param bytes at least 1
   * @return picoseconds from the first byte offered to the last one there, or acknowledged; 0 in
   *     mode {@code values}
   */
  public long hostCopyPs(PhysicalAddress at, long bytes, CopyDirection direction) {
    return executor.hostCopy(at, bytes, direction);
  }

  /**
   * The host forgets bytes of a memory: they count as never written and take no room. Takes no
   * simulated time.
   */
  public void erase(PhysicalAddress at, long bytes) {
    memories.erase(at, bytes);
    if (watch != null) {
      watch.erased(at, bytes);
    }
  }

  // ---- kernels ----

  /**
   * Adds message queues beside those that there are; takes no simulated time. Messages of one set
   * never meet another.
   *
   * @throws SimulationException if the slots do not fit the TCM of a PE
   */
  public QueueSet install(QueuePlan plan) {
    QueueSet set = installApart(plan);
    latest = Optional.of(set);
    return set;
  }

  /** Adds message queues that no launch has unless it names them; otherwise as {@link #install}. */
  public QueueSet installApart(QueuePlan plan) {
    QueueSet set = executor.install(plan);
    if (watch != null) {
      watch.installed(set);
    }
    return set;
  }

  /**
   * Removes message queues and gives the room of their slots back; takes no simulated time, but
   * lets messages that are still under way arrive. What was never received is gone.
   *
   * @throws SimulationException if a kernel that was launched with them is not done
   */
  public void uninstall(QueueSet set) {
    executor.uninstall(set);
    if (watch != null) {
      watch.uninstalled(set);
    }
    if (latest.isPresent() && latest.get() == set) {
      latest = Optional.empty();
    }
  }

  /** The queues that {@link #install} added last and that are still there. */
  public Optional<QueueSet> latestQueues() {
    return latest;
  }

  /** Launches on stream 0 with the queues that were installed last, if there are any. */
  public Launch launch(String name, List<Pe> pes, Function<PePort, Runnable> program) {
    LaunchRequest spec = LaunchRequest.of(name, pes);
    return launch(latest.map(spec::with).orElse(spec), program);
  }

  /**
   * Enqueues a kernel. It starts on all its PEs at one common time, when the host's launch has
   * reached the last of them, all have finished what was launched on the same stream before, and
   * the launches that it comes after are done.
   *
   * @param program makes the program of one PE; called when that PE starts
   */
  public Launch launch(LaunchRequest spec, Function<PePort, Runnable> program) {
    String name = spec.name();
    List<Pe> pes = spec.pes();
    int contexts = machine.pe().cpu().contexts();
    if (spec.stream() < 0 || spec.stream() >= contexts) {
      throw new SimulationException(
          """
          kernel %s is launched on stream %s; expected 0 to %s (pe.cpu.contexts of \
          machine %s)\
          """
              .formatted(name, spec.stream(), contexts - 1, machine.name()));
    }
    if (pes.isEmpty()) {
      throw new SimulationException(
          "kernel " + name + " is launched on no PE; expected at least one");
    }
    Set<Pe> distinct = new HashSet<>();
    for (Pe pe : pes) {
      if (!distinct.add(pe)) {
        throw new SimulationException(
            "kernel " + name + " is launched twice on " + pe + "; name each PE once");
      }
    }
    spec.queues().ifPresent(q -> InstalledQueues.of(q).checkUsable(name));
    if (watch == null) {
      return executor.launch(spec, program);
    }
    Watch.OfLaunch watched = watch.launches(spec);
    Launch launch = executor.launch(spec, watched.watched(program));
    watched.launched(launch);
    return launch;
  }

  /**
   * Lets simulated time run until the launch is done.
   *
   * @throws DeadlockException if nothing can move before that
   */
  public void drive(Launch launch) {
    driveToFirst(List.of(launch));
  }

  /**
   * Lets simulated time run until one of the launches is done, and no picosecond further; not at
   * all if one is. In mode {@code values} all are done afterwards that can be.
   *
   * @param launches one or more
   * @throws DeadlockException if nothing can move before that
   */
  public void driveToFirst(List<Launch> launches) {
    try {
      executor.driveToFirst(launches);
    } catch (RuntimeException | Error e) {
      if (watch != null) {
        watch.failed(e instanceof DeadlockException);
      }
      throw e;
    }
  }

  /** Simulated time in picoseconds; stays 0 in mode {@code values}. */
  public long nowPs() {
    return executor.nowPs();
  }

  /** Events handled so far (in mode {@code values}: commands executed). */
  public long eventCount() {
    return executor.eventCount();
  }

  /** What became of launches so far; empty if each is simulated whatever came of others. */
  public Optional<Reused> reused() {
    return executor.reused();
  }

  /** What happened so far; empty in mode {@code values}. */
  public OpLog opLog() {
    return executor.log();
  }

  /**
   * The most message slots that any queue of a set had in use at once, from the oldest in use to
   * the newest; 0 in mode values.
   */
  public int peakSlots(QueueSet set) {
    return executor.peakSlots(set);
  }

  /**
   * As {@link #peakSlots(QueueSet)}, of the queues that were installed last; 0 if there are none.
   */
  public int peakSlots() {
    return latest.map(executor::peakSlots).orElse(0);
  }

  /** Ends programs that are still suspended. */
  @Override
  public void close() {
    told.ifPresent(whom -> executor.reused().ifPresent(whom));
    executor.close();
    if (watch != null) {
      watch.closed();
    }
  }

  /**
   * What a host program does, to be compared with what another does: every launch is over as soon
   * as it is called, and nothing takes time. Kept are the launches and what their kernels depend
   * on, as far as they say it, and which memory was mapped where.
   */
  static final class HostTape implements Executor {
    /**
     * A step of the program.
     *
     * @param what in words, which the name follows
     * @param name of a kernel or tensor
     * @param pes where
     * @param stream of a launch
     * @param on what it depends on
     */
    record Step(String what, String name, List<Pe> pes, int stream, Object on) {}

    private final Machine machine;
    private final OpLog log;
    private final List<Step> expected;

    /** The PEs of the memory that was mapped last: most of it lies on the same. */
    private int[] lastHolders = {};

    private List<Pe> lastPes = List.of();
    private final List<Step> steps = new ArrayList<>();

    /**
     * @param expected the tape of a program that probably does the same; a step that is equal to
     *     the one there is kept once
     */
    HostTape(Machine machine, @Nullable HostTape expected) {
      this.machine = machine;
      this.log = new OpLog(machine, 0);
      this.expected = expected == null ? List.of() : expected.steps;
    }

    private void add(Step step) {
      int at = steps.size();
      Step theirs = at < expected.size() ? expected.get(at) : step;
      steps.add(theirs.equals(step) ? theirs : step);
    }

    /** In words, the first step in which two programs differ; empty if they are the same. */
    static Optional<String> difference(HostTape one, HostTape other) {
      int both = Math.min(one.steps.size(), other.steps.size());
      int at = 0;
      while (at < both && one.steps.get(at).equals(other.steps.get(at))) {
        at++;
      }
      if (at == one.steps.size() && at == other.steps.size()) {
        return Optional.empty();
      }
      String first = one.told(at);
      String second = other.told(at);
      return Optional.of(
          first.equals(second)
              ? "step %s is %s, which depends on something else in each; expected the same"
                  .formatted(at, first)
              : "step %s is %s in one, %s in the other; expected the same"
                  .formatted(at, first, second));
    }

    private String told(int at) {
      if (at == steps.size()) {
        return "the end";
      }
      Step step = steps.get(at);
      String more = step.pes.size() > 1 ? " and %s more".formatted(step.pes.size() - 1) : "";
      String what = step.what + step.name;
      return step.pes.isEmpty() ? what : what + " on " + step.pes.getFirst() + more;
    }

    @Override
    public QueueSet install(QueuePlan plan) {
      return new InstalledQueues(plan);
    }

    @Override
    public void uninstall(QueueSet set) {
      InstalledQueues.of(set).removed();
    }

    @Override
    public Launch launch(LaunchRequest spec, Function<PePort, Runnable> program) {
      LaunchState launch = new LaunchState(spec, program, steps.size(), 0);
      launch.started(0);
      for (Pe pe : spec.pes()) {
        launch.finished(machine.peIndex(pe), 0, -1, 0);
      }
      add(new Step("launch of ", spec.name(), spec.pes(), spec.stream(), key(program)));
      return launch;
    }

    private static Object key(Function<PePort, Runnable> program) {
      return program instanceof ReusableProgram known
          ? known.key().<Object>map(key -> key).orElse(ReusableProgram.class)
          : program.getClass();
    }

    @Override
    public void mapped(PageMap.Range range) {
      if (!Arrays.equals(range.holders, lastHolders)) {
        lastHolders = range.holders.clone();
        lastPes = Arrays.stream(lastHolders).mapToObj(machine::peAt).toList();
      }
      add(new Step("memory of ", range.name, lastPes, 0, List.of(range.start, range.end)));
    }

    @Override
    public void unmaps(PageMap.Range range) {}

    @Override
    public MmuCounts mmuCounts() {
      return new MmuCounts(0, 0);
    }

    @Override
    public boolean hasEvicted() {
      return false;
    }

    @Override
    public long hostCopy(PhysicalAddress at, long bytes, CopyDirection direction) {
      add(new Step("copy by the host", "", List.of(), 0, List.of(at, bytes, direction)));
      return 0;
    }

    @Override
    public void driveToFirst(List<Launch> launches) {}

    @Override
    public long nowPs() {
      return 0;
    }

    @Override
    public long eventCount() {
      return steps.size();
    }

    @Override
    public OpLog log() {
      return log;
    }

    @Override
    public int peakSlots(QueueSet set) {
      return 0;
    }

    @Override
    public Optional<Reused> reused() {
      return Optional.empty();
    }

    @Override
    public @Nullable Watch watch() {
      return null;
    }

    @Override
    public void close() {}
  }
}
