package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueueSet;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.simulator.Fold;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.MmuSpec;
import org.kernbench.machine.spec.TlbFill;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.PureKernel;
import org.kernbench.tl.Tl;
import org.kernbench.torch.KernelRuns.Use;
import org.kernbench.torch.collective.BusyTimes;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.RankLevel;

/**
 * What all views of one {@link Torch} share of the devices: simulator, memory, launches under way.
 * Simulated time moves only in {@link #drive}, which ranks never call: they yield, and the
 * scheduler of ranks drives when none can run.
 */
final class Session implements TensorHost {
  private final Machine machine;
  private final Simulator simulator;
  private final RankLevel rankLevel;
  private final TorchOptions options;
  private final DeviceMemory memory;
  private final KernelRuns kernels = new KernelRuns();

  private static final int COMPUTE = 0;

  private final int communication;
  private final int beside;

  private final List<Launch> undeclared = new ArrayList<>();
  private int undeclaredLaunches;
  private final Pending pending = new Pending();
  private final Map<Integer, Pending> pendingOf = new HashMap<>();
  private boolean driving;
  private @Nullable Throwable stopped;

  /** Launches that may not be done yet, in order. */
  private static final class Pending {
    private static final int FEWEST = 64;

    private final List<Launch> launches = new ArrayList<>();
    private int tidyAt = FEWEST;

    void add(Launch launch) {
      if (launches.size() >= tidyAt) {
        launches.removeIf(Launch::isDone);
        tidyAt = Math.max(FEWEST, launches.size() * 2);
      }
      launches.add(launch);
    }

    List<Launch> launches() {
      launches.removeIf(Launch::isDone);
      return List.copyOf(launches);
    }

    List<Launch> beyond(int limit) {
      if (launches.size() > limit) {
        launches.removeIf(Launch::isDone);
      }
      int more = launches.size() > limit ? launches.size() - limit / 2 : 0;
      return List.copyOf(launches.subList(0, more));
    }
  }

  /** While there are ranks: which of them is running. */
  private @Nullable Supplier<@Nullable Rank> ranks;

  private final KernelState.Classes kernelClasses = new KernelState.Classes();
  private final BusyTimes busy;

  /** Tensors that operations write which their rank has not waited for. */
  private final Map<Tensor, Work> written = new IdentityHashMap<>();

  /** By tensor, the operations that use it and that their rank has not waited for. */
  private final Map<Tensor, Integer> held = new IdentityHashMap<>();

  private final Shortage shortage = new Shortage(this);

  /** How often kernels may have ended, or ranks have waited for operations. */
  private long endings;

  /** By which package 0 stands for all; null if every package is simulated. */
  private final @Nullable Fold fold;

  /** The package whose ranks have programs, if one stands for all. */
  private final int home;

  /**
   * A session.
   *
   * @param fold by which package 0 stands for all; null if every package is simulated
   * @param home the package whose ranks have programs then, which run in package 0
   */
  Session(
      Machine machine, Simulator simulator, TorchOptions options, @Nullable Fold fold, int home) {
    this.machine = machine;
    this.fold = fold;
    this.home = home;
    this.simulator = simulator;
    this.options = options;
    this.rankLevel = options.collectives().map(CollectiveBackend::rankLevel).orElse(RankLevel.SIP);
    this.memory = new DeviceMemory(machine, simulator, shortage);
    this.communication = machine.pe().cpu().contexts() - 1;
    this.beside = communication > COMPUTE + 1 ? communication - 1 : communication;
    this.busy = new BusyTimes(deviceCount());
  }

  // ---- devices and ranks ----

  int deviceCount() {
    return rankLevel.devices(machine);
  }

  Device device(int index) {
    boolean isHome = fold != null && isSimulated(index);
    return Device.of(machine, rankLevel, isHome ? index % devicesPerPackage() : index);
  }

  private int devicesPerPackage() {
    return deviceCount() / machine.sips();
  }

  // ---- one package for all (ADR 0332) ----

  /** Whether package 0 stands for all. */
  boolean isFolded() {
    return fold != null;
  }

  /** The rank whose program runs for one: at its place in package 0, or itself. */
  int standIn(int rank) {
    return fold == null ? rank : (home * devicesPerPackage()) + rank % devicesPerPackage();
  }

  /** Whether a rank has a program of its own. */
  boolean isSimulated(int rank) {
    return standIn(rank) == rank;
  }

  /** Those of some ranks that are simulated. */
  List<Integer> simulated(List<Integer> ranks) {
    return fold == null ? ranks : ranks.stream().filter(this::isSimulated).toList();
  }

  /** How many groups one stands for: of ranks that are all simulated, one in each package. */
  int copies(List<Integer> ranks) {
    return fold != null && ranks.stream().allMatch(this::isSimulated) ? machine.sips() : 1;
  }

  /**
   * By member of a group the one that is simulated for it; empty if all are themselves.
   *
   * @param ranks global numbers, ascending
   * @throws CannotFoldException if packages do not take part alike
   */
  int[] standIns(int[] ranks) {
    if (fold == null) {
      return new int[0];
    }
    int[] standIns = new int[ranks.length];
    int[] count = new int[ranks.length];
    for (int member = 0; member < ranks.length; member++) {
      int first = Arrays.binarySearch(ranks, standIn(ranks[member]));
      if (first < 0) {
        throw notAlike(ranks[member], standIn(ranks[member]));
      }
      standIns[member] = first;
      count[first]++;
    }
    int packages = count[standIns[0]];
    for (int member = 0; member < ranks.length; member++) {
      boolean all = count[member] == packages && (packages == 1 || packages == machine.sips());
      if (standIns[member] == member && !all) {
        throw notAlike(ranks[member], ranks[member]);
      }
    }
    return standIns;
  }

  private static CannotFoldException notAlike(int rank, int first) {
    return new CannotFoldException(
        """
        rank %s takes part in a group in which not all ranks do that lie as rank %s in their \
        packages; let all packages take part alike\
        """
            .formatted(rank, first));
  }

  /**
   * Ranks take parts of their vectors in other orders, which takes the same time only if every
   * translation is there.
   *
   * @throws CannotFoldException if it may not have been
   */
  void checkTranslations() {
    MmuSpec mmu = machine.pe().mmu();
    if (fold == null || mmu.missPs() == 0) {
      return;
    }
    if (mmu.fill() != TlbFill.AT_MAP) {
      throw new CannotFoldException(
          """
          translations miss at first touch, at another step on each rank; use pe.mmu.fill: \
          at_map to fold\
          """);
    }
    if (simulator.hasEvicted()) {
      throw new CannotFoldException(
          """
          tensors take more pages than the %s entries of a TLB, so translations miss at another \
          step on each rank; use more pe.mmu.entries or a larger pe.mmu.page_size to fold\
          """
              .formatted(mmu.entries()));
    }
  }

  /** What was folded, and how that was checked; empty if every package is simulated. */
  Optional<String> foldNote() {
    return Optional.ofNullable(fold).map(Fold::note);
  }

  String rankLevelName() {
    return switch (rankLevel) {
      case PE -> "PE";
      case CUBE -> "cube";
      case SIP -> "package";
    };
  }

  @Override
  public boolean hasValues() {
    return simulator.mode() != Mode.TIME;
  }

  @Override
  public Machine machine() {
    return machine;
  }

  @Override
  public Simulator simulator() {
    return simulator;
  }

  @Override
  public DeviceMemory memory() {
    return memory;
  }

  /** How long each device has been busy with kernels of the program. */
  BusyTimes busy() {
    return busy;
  }

  TorchOptions options() {
    return options;
  }

  /** The rank whose body is running; null while the host program runs. */
  @Nullable Rank current() {
    Supplier<@Nullable Rank> running = ranks;
    return running == null ? null : running.get();
  }

  /**
   * Where the running rank is, for messages: the line of its program, and the part of its model.
   */
  String here() {
    String part = part();
    return CallSite.here() + (part.isEmpty() ? "" : ", in " + part);
  }

  /** The part of its model that the running rank computes; empty if it has said none. */
  String part() {
    Rank rank = current();
    return rank == null ? "" : rank.part();
  }

  /** Whether ranks have been spawned and not all have ended. */
  boolean hasRanks() {
    return ranks != null;
  }

  /** Ranks begin: from now on this says which of them is running. */
  void beginRanks(Supplier<@Nullable Rank> running) {
    ranks = running;
  }

  void endRanks() {
    ranks = null;
  }

  // ---- launches ----

  /** A kernel that may use exactly these tensors; it starts after all others that use them. */
  Launch launch(
      String name,
      Kernel kernel,
      List<Pe> pes,
      List<Tensor> tensors,
      Optional<QueueSet> userQueues) {
    Optional<QueueSet> ends = userQueues.or(simulator::latestQueues);
    return launch(name, kernel, pes, tensors, tensors, ends, COMPUTE, List.of());
  }

  /** A kernel that may use these tensors and writes to some of them only. */
  Launch launch(
      String name, Kernel kernel, List<Pe> pes, List<Tensor> written, List<Tensor> tensors) {
    Optional<QueueSet> ends = simulator.latestQueues();
    return launch(name, kernel, pes, written, tensors, ends, COMPUTE, List.of());
  }

  /**
   * A kernel without queues on a stream beside: one of its own if PEs have three contexts, else
   * that of collectives, where it waits for all that were launched before.
   */
  Launch launchBeside(
      String name,
      Kernel kernel,
      List<Pe> pes,
      List<Tensor> written,
      List<Tensor> tensors,
      List<Launch> others) {
    return launch(name, kernel, pes, written, tensors, Optional.empty(), beside, others);
  }

  private Launch launch(
      String name,
      Kernel kernel,
      List<Pe> pes,
      List<Tensor> written,
      List<Tensor> tensors,
      Optional<QueueSet> ends,
      int stream,
      List<Launch> others) {
    checkNotWritten(tensors, "launch of kernel " + name);
    List<Launch> after = new ArrayList<>();
    addUnlessOrdered(after, others, stream, pes);
    for (Tensor t : tensors) {
      addUnlessOrdered(after, owned(written, t) ? t.users() : t.writers(), stream, pes);
    }
    addUnlessOrdered(after, undeclared, stream, pes);
    Use use = new Use(name, tensors, true, rank());
    Launch launch = start(use, kernel, pes, stream, ends, after);
    for (Tensor t : tensors) {
      if (owned(written, t)) {
        t.usedBy(launch);
      } else {
        t.readBy(launch);
      }
    }
    return launch;
  }

  /** Whether some of the memory of a tensor is that of one of these. */
  private static boolean owned(List<Tensor> written, Tensor tensor) {
    return written.stream().anyMatch(w -> w.owner() == tensor.owner());
  }

  /** A kernel that uses no tensor; it starts after these launches. */
  Launch launchAfter(String name, Kernel kernel, List<Pe> pes, List<Launch> after) {
    return start(
        new Use(name, List.of(), true, rank()), kernel, pes, COMPUTE, Optional.empty(), after);
  }

  /** A kernel that may use any tensor; it starts after all others. */
  Launch launchUndeclared(String name, Kernel kernel, List<Pe> pes) {
    List<Launch> after = new ArrayList<>();
    addUnlessOrdered(after, pendingLaunches(), COMPUTE, pes);
    Use use = new Use(name, List.of(), false, rank());
    Launch launch = start(use, kernel, pes, COMPUTE, simulator.latestQueues(), after);
    undeclared.removeIf(Launch::isDone);
    undeclared.add(launch);
    undeclaredLaunches++;
    return launch;
  }

  /**
   * PEs run the launches of a stream in order, so only those on other streams, or on other PEs as
   * well, need a word.
   */
  private static void addUnlessOrdered(
      List<Launch> after, Collection<Launch> launches, int stream, List<Pe> pes) {
    for (Launch launch : launches) {
      boolean ordered =
          launch.stream() == stream
              && (launch.pes() == pes || new HashSet<>(pes).containsAll(launch.pes()));
      if (!launch.isDone() && !ordered) {
        after.add(launch);
      }
    }
  }

  private int rank() {
    Rank rank = current();
    return rank == null ? -1 : rank.number();
  }

  private Launch start(
      Use use,
      Kernel kernel,
      List<Pe> pes,
      int stream,
      Optional<QueueSet> queueSet,
      List<Launch> after) {
    Function<PePort, Runnable> program = program(use, kernel, pes);
    if (kernel instanceof PureKernel pure) {
      program = reusable(program, () -> KernelState.of(pure, kernelClasses));
    }
    return start(use, program, pes, stream, queueSet, after);
  }

  private Function<PePort, Runnable> program(Use use, Kernel kernel, List<Pe> pes) {
    int first = Integer.MAX_VALUE;
    int last = -1;
    for (Pe pe : pes) {
      first = Math.min(first, pe.sip());
      last = Math.max(last, pe.sip());
    }
    LaunchGrid grid = new LaunchGrid(first, last - first + 1);
    return port -> kernels.program(use, kernel, new Tl(port, grid));
  }

  private Launch start(
      Use use,
      Function<PePort, Runnable> program,
      List<Pe> pes,
      int stream,
      Optional<QueueSet> queueSet,
      List<Launch> after) {
    checkUsable("launch of kernel " + use.kernel());
    LaunchRequest spec = new LaunchRequest(use.kernel(), pes, stream, queueSet, after);
    Launch launch = simulator.launch(spec, program);
    pending.add(launch);
    if (use.owner() >= 0) {
      launchedBy(use.owner(), launch);
    }
    if (use.owner() != KernelRuns.COLLECTIVE && options.collectives().isPresent()) {
      recordBusy(pes, launch);
    }
    return launch;
  }

  private static ReusableProgram reusable(
      Function<PePort, Runnable> program, Supplier<Optional<ReusableProgram.Key>> key) {
    return new ReusableProgram() {
      @Override
      public Runnable apply(PePort port) {
        return program.apply(port);
      }

      @Override
      public Optional<Key> key() {
        return key.get();
      }
    };
  }

  private void recordBusy(List<Pe> pes, Launch launch) {
    int previous = -1;
    for (Pe pe : pes) {
      int device = deviceOf(pe);
      if (device != previous) {
        busy.add(device, launch);
        previous = device;
      }
    }
  }

  /** Says in the log which rank owns each PE. */
  void logRanks(int ranks) {
    int[] byPe = new int[machine.peCount()];
    for (int i = 0; i < byPe.length; i++) {
      int device = deviceOf(machine.peAt(i));
      byPe[i] = device < ranks ? device : -1;
    }
    simulator.opLog().launches().ranks(byPe);
  }

  private int deviceOf(Pe pe) {
    return rankLevel.deviceOf(machine, pe);
  }

  @Override
  public void checkUse(Tensor tensor, Pe pe) {
    if (driving) {
      kernels.checkUse(tensor, pe);
    }
  }

  @Override
  public int undeclaredLaunches() {
    return undeclaredLaunches;
  }

  /** Returns when the launch is done: a rank yields, the host program lets time run. */
  void await(Launch launch) {
    if (launch.isDone()) {
      return;
    }
    checkUsable("waiting for kernel " + launch.name());
    Rank rank = current();
    if (rank == null) {
      drive(launch);
    } else {
      rank.block(new Wait.ForKernel(launch));
    }
  }

  void drive(Launch launch) {
    if (!launch.isDone()) {
      driveToFirst(List.of(launch));
    }
  }

  /** Lets time run until the first of these launches is done. */
  void driveToFirst(List<Launch> launches) {
    checkUsable("kernel " + launches.getFirst().name());
    driving = true;
    endings++;
    try {
      simulator.driveToFirst(launches);
    } catch (RuntimeException | Error e) {
      stopped = e;
      throw e;
    } finally {
      driving = false;
    }
  }

  /** The rank that launched the kernel that threw this; -1 if none did or it is not known. */
  int owner(Throwable thrown) {
    return kernels.owner(thrown);
  }

  @Override
  public boolean isDriving() {
    return driving;
  }

  @Override
  public boolean isStopped() {
    return stopped != null;
  }

  private void checkUsable(String what) {
    if (driving) {
      throw new SimulationException(
          """
          %s from inside a kernel; a kernel looks at values with tl.item and launches \
          nothing\
          """
              .formatted(what));
    }
    Throwable cause = stopped;
    if (cause != null) {
      String text = String.valueOf(cause.getMessage());
      throw new SimulationException(
          """
          %s: the simulation has stopped after an error (%s); open a new Torch to go on\
          """
              .formatted(what, text.lines().findFirst().orElse("")));
    }
  }

  /** Launches that are not done yet. */
  List<Launch> pendingLaunches() {
    return pending.launches();
  }

  /** A launch of a rank, which takes room in its queue until it is done. */
  void launchedBy(int rank, Launch launch) {
    pendingOf.computeIfAbsent(rank, r -> new Pending()).add(launch);
  }

  /**
   * The first launches of a rank, which must be done so that half of a number are under way; none
   * if there are no more than that number.
   */
  List<Launch> beyond(int rank, int limit) {
    Pending own = pendingOf.get(rank);
    return own == null ? List.of() : own.beyond(limit);
  }

  /** Returns when everything launched so far is done. */
  void synchronize() {
    for (Launch launch : pendingLaunches()) {
      await(launch);
    }
  }

  /** Returns when everything launched so far on a rank's device is done. */
  void synchronizeDevice(int rank) {
    for (Launch launch : pendingLaunches()) {
      if (usesDevice(launch, rank)) {
        await(launch);
      }
    }
  }

  private boolean usesDevice(Launch launch, int device) {
    for (Pe pe : launch.pes()) {
      if (deviceOf(pe) == device) {
        return true;
      }
    }
    return false;
  }

  /** Collectives are not among what is completed. */
  @Override
  public void settle(Tensor tensor) {
    checkNotWritten(List.of(tensor), "use");
    for (Launch launch : tensor.users()) {
      await(launch);
    }
    if (!undeclared.isEmpty()) {
      for (Launch launch : List.copyOf(undeclared)) {
        await(launch);
      }
    }
  }

  // ---- operations of ranks together ----

  /**
   * A kernel of ranks together, on the communication stream: it starts when the kernels that use
   * its tensors are done.
   *
   * @param key what its commands depend on; null if that is not known
   * @param alsoAfter other launches that it starts after
   */
  Launch launchCollective(
      String name,
      Kernel kernel,
      @Nullable Supplier<ReusableProgram.Key> key,
      List<Pe> pes,
      QueueSet queues,
      List<Tensor> tensors,
      List<Launch> alsoAfter) {
    Set<Launch> before = Collections.newSetFromMap(new IdentityHashMap<>());
    List<Launch> after = new ArrayList<>();
    for (Tensor t : tensors) {
      if (t.isUsed()) {
        for (Launch launch : t.users()) {
          boolean ordered = launch.stream() == communication && launch.pes() == pes;
          if (before.add(launch) && !ordered) {
            after.add(launch);
          }
        }
      }
    }
    addUnlessOrdered(after, undeclared, communication, List.of());
    after.addAll(alsoAfter);
    Use use = new Use(name, List.of(), true, KernelRuns.COLLECTIVE);
    Function<PePort, Runnable> program = program(use, kernel, pes);
    return start(
        use,
        key == null ? program : reusable(program, () -> Optional.of(key.get())),
        pes,
        communication,
        Optional.of(queues),
        after);
  }

  /** Launches that are not done yet on the devices of some ranks. */
  List<Launch> pendingOn(List<Integer> ranks) {
    BitSet devices = new BitSet();
    ranks.forEach(devices::set);
    List<Launch> on = new ArrayList<>();
    for (Launch launch : pendingLaunches()) {
      if (launch.pes().stream().anyMatch(pe -> devices.get(deviceOf(pe)))) {
        on.add(launch);
      }
    }
    return on;
  }

  /** The rank goes on while an operation is under way. */
  void begin(Work work) {
    for (Tensor t : work.held()) {
      held.merge(t.owner(), 1, Integer::sum);
    }
    if (work.result() != null) {
      written.put(work.result().owner(), work);
    }
  }

  /** The rank has waited for the operation. */
  void end(Work work) {
    endings++;
    for (Tensor t : work.held()) {
      held.computeIfPresent(t.owner(), (tensor, count) -> count == 1 ? null : count - 1);
      work.launch().ifPresent(t::usedBy);
    }
    if (work.result() != null) {
      written.remove(work.result().owner());
    }
  }

  /** Refuses tensors that an operation may be writing. */
  void checkNotWritten(List<Tensor> tensors, String what) {
    if (written.isEmpty()) {
      return;
    }
    for (Tensor t : tensors) {
      Work work = written.get(t.owner());
      if (work != null) {
        throw new SimulationException(
            "%s of tensor %s, which is being written by %s; await() that work first"
                .formatted(what, t.name(), work));
      }
    }
  }

  /** Forgets operations that ranks have not waited for. */
  void forgetWorks() {
    endings++;
    written.clear();
    held.clear();
  }

  @Override
  public void release(Tensor tensor) {
    shortage.release(tensor);
  }

  /** Another number than before if a tensor that was in use may be so no more. */
  long progress() {
    return endings + simulator.eventCount();
  }

  /** Whether nobody uses a tensor that its owner has closed; then its memory is given back. */
  boolean releaseIfUnused(Tensor tensor) {
    undeclared.removeIf(Launch::isDone);
    if (!undeclared.isEmpty() || !tensor.users().isEmpty() || held.containsKey(tensor)) {
      return false;
    }
    tensor.giveBack();
    return true;
  }

  Shortage shortage() {
    return shortage;
  }

  /** A time as reports print it. */
  String now() {
    return String.format(Locale.ROOT, "t=%.3f ns", simulator.nowPs() / 1e3);
  }
}
