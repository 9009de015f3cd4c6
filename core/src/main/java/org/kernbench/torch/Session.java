package org.kernbench.torch;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.Simulator;
import org.kernbench.device.Steps;
import org.kernbench.device.memory.AddressMapping;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.PureKernel;
import org.kernbench.tl.RangeException;
import org.kernbench.tl.SteppedKernel;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.BusyTimes;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.LanePlan;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.HbmAllocator;
import org.kernbench.torch.placement.OutOfHbmException;
import org.kernbench.torch.placement.RangeAllocator;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.ShardSpec;

/**
 * What all views of one {@link Torch} share: simulator, memory, launches under way, and the ranks
 * if a spawn is running. Simulated time moves only in {@link #drive}, which ranks never call: they
 * yield, and the {@link Scheduler} drives when no rank can run.
 */
final class Session implements Parts.Memory {
  final Machine machine;
  final Simulator simulator;
  final RankLevel rankLevel;
  final TorchOptions options;
  private final HbmAllocator hbm;
  private final RangeAllocator virtual;
  final List<CollectiveRun> history = new ArrayList<>();

  private static final int COMPUTE = 0;

  /** Owner of launches that no single rank has made, and that are no kernels of the program. */
  private static final int COLLECTIVE = -2;

  private final int communication;

  /** What the kernel that says its commands on this thread may use. */
  private final ThreadLocal<Use> running = new ThreadLocal<>();

  private final List<Launch> undeclared = new ArrayList<>();
  private int undeclaredLaunches;
  private final List<Tensor> leaving = new ArrayList<>();
  private List<Launch> pending = new ArrayList<>();
  private int tidyAt = 64;
  private boolean driving;
  private @Nullable Throwable stopped;

  /** What kernels have thrown, on whichever thread, and which launch is to blame. */
  private final Map<Throwable, Use> blamed = Collections.synchronizedMap(new IdentityHashMap<>());

  @Nullable Scheduler scheduler;
  private final KernelState.Classes kernelClasses = new KernelState.Classes();
  final Messages messages = new Messages(this);
  final Groups groups = new Groups(this);
  private final QueueSets queues;
  private final BusyTimes busy;

  /** Tensors that operations write which their rank has not waited for. */
  private final Map<Tensor, Work> written = new IdentityHashMap<>();

  /** By tensor, the operations that use it and that their rank has not waited for. */
  private final Map<Tensor, Integer> held = new IdentityHashMap<>();

  /** The ranks that have called initProcessGroup while others have not yet. */
  @Nullable Rendezvous opening;

  Session(Machine machine, Simulator simulator, TorchOptions options) {
    this.machine = machine;
    this.simulator = simulator;
    this.options = options;
    this.rankLevel = options.collectives().map(CollectiveBackend::rankLevel).orElse(RankLevel.SIP);
    this.hbm = new HbmAllocator(machine.hbm().sizeBytes());
    this.virtual =
        new RangeAllocator(
            VirtualAddress.BASE, VirtualAddress.SPACE_BYTES, machine.pe().mmu().pageBytes());
    this.communication = machine.pe().cpu().contexts() - 1;
    this.queues = new QueueSets(simulator);
    this.busy = new BusyTimes(deviceCount());
  }

  /** A launch as the host knows it: who launched what on which tensors. */
  private static final class Use {
    final String kernel;
    final List<Tensor> tensors;
    final boolean declared;
    final int owner;

    Use(String kernel, List<Tensor> tensors, boolean declared, int owner) {
      this.kernel = kernel;
      this.tensors = tensors;
      this.declared = declared;
      this.owner = owner;
    }
  }

  // ---- devices and ranks ----

  int deviceCount() {
    return rankLevel.devices(machine);
  }

  Device device(int index) {
    return Device.of(machine, rankLevel, index);
  }

  String rankLevelName() {
    return switch (rankLevel) {
      case PE -> "PE";
      case CUBE -> "cube";
      case SIP -> "package";
    };
  }

  boolean hasValues() {
    return simulator.mode() != Mode.TIME;
  }

  MemoryUse memory() {
    return new MemoryUse(hbm.mostUsed(), machine.hbm().sizeBytes(), hbm.byTensor());
  }

  /** The rank whose body is running; null while the host program runs. */
  @Nullable Worker current() {
    Scheduler s = scheduler;
    return s == null ? null : s.current();
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

  /** The same of a kernel that writes to some of them only. */
  Launch launch(
      String name, Kernel kernel, List<Pe> pes, List<Tensor> written, List<Tensor> tensors) {
    Optional<QueueSet> ends = simulator.latestQueues();
    return launch(name, kernel, pes, written, tensors, ends, COMPUTE, List.of());
  }

  /** The same on the communication stream, without queues. */
  Launch launchBeside(
      String name,
      Kernel kernel,
      List<Pe> pes,
      List<Tensor> written,
      List<Tensor> tensors,
      List<Launch> others) {
    return launch(name, kernel, pes, written, tensors, Optional.empty(), communication, others);
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
    Worker worker = current();
    return worker == null ? -1 : worker.rank();
  }

  private Launch start(
      Use use,
      Kernel kernel,
      List<Pe> pes,
      int stream,
      Optional<QueueSet> queueSet,
      List<Launch> after) {
    checkUsable("launch of kernel " + use.kernel);
    int first = Integer.MAX_VALUE;
    int last = -1;
    for (Pe pe : pes) {
      first = Math.min(first, pe.sip());
      last = Math.max(last, pe.sip());
    }
    LaunchGrid grid = new LaunchGrid(first, last - first + 1);
    Function<PePort, Runnable> program = port -> program(use, kernel, new Tl(port, grid));
    if (kernel instanceof PureKernel pure) {
      program = reusable(program, pure);
    }
    LaunchRequest spec = new LaunchRequest(use.kernel, pes, stream, queueSet, after);
    Launch launch = simulator.launch(spec, program);
    if (pending.size() >= tidyAt) {
      pending.removeIf(Launch::isDone);
      tidyAt = Math.max(64, pending.size() * 2);
    }
    pending.add(launch);
    if (use.owner != COLLECTIVE && options.collectives().isPresent()) {
      recordBusy(pes, launch);
    }
    return launch;
  }

  private ReusableProgram reusable(Function<PePort, Runnable> program, PureKernel kernel) {
    return new ReusableProgram() {
      @Override
      public Runnable apply(PePort port) {
        return program.apply(port);
      }

      @Override
      public Optional<Key> key() {
        return KernelState.of(kernel, kernelClasses);
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

  /** Each PE runs its own kernel; in steps if all of them are. */
  private static Kernel byPe(Map<Pe, Kernel> kernels) {
    if (kernels.values().stream().allMatch(SteppedKernel.class::isInstance)) {
      return (SteppedKernel) tl -> ((SteppedKernel) at(tl.pe(), kernels)).begin(tl);
    }
    return tl -> at(tl.pe(), kernels).run(tl);
  }

  private static Kernel at(Pe pe, Map<Pe, Kernel> kernels) {
    return Objects.requireNonNull(kernels.get(pe), "launched where it has a kernel");
  }

  private Runnable program(Use use, Kernel kernel, Tl tl) {
    if (kernel instanceof SteppedKernel stepped) {
      return new GuardedSteps(use, stepped, tl);
    }
    return () ->
        guard(
            use,
            tl.pe(),
            () -> {
              kernel.run(tl);
              return false;
            });
  }

  /** A kernel in steps, begun with the first. */
  private final class GuardedSteps implements Steps {
    private final Use use;
    private final Tl tl;
    private Steps steps;

    GuardedSteps(Use use, SteppedKernel kernel, Tl tl) {
      this.use = use;
      this.tl = tl;
      this.steps =
          () -> {
            steps = begin(kernel);
            return steps.next();
          };
    }

    private Steps begin(SteppedKernel kernel) {
      Steps begun = kernel.begin(tl);
      if (begun == null) {
        throw new SimulationException(
            "kernel " + use.kernel + " at " + tl.pe() + ": begin gave null; expected its steps");
      }
      return begun;
    }

    @Override
    public boolean next() {
      return guard(use, tl.pe(), steps);
    }
  }

  /** Lets a kernel say commands; what it throws becomes a message, and the launch is to blame. */
  private boolean guard(Use use, Pe at, Steps body) {
    // Collectives run beside other kernels of a PE, but use no tensor: they know its shards.
    boolean mayUseTensors = use.owner != COLLECTIVE;
    if (mayUseTensors) {
      running.set(use);
    }
    try {
      return body.next();
    } catch (RangeException e) {
      SimulationException thrown = new SimulationException(told(use, at, e));
      blamed.put(thrown, use);
      throw thrown;
    } catch (ShapeException e) {
      ShapeException thrown = new ShapeException(told(use, at, e));
      blamed.put(thrown, use);
      throw thrown;
    } catch (RuntimeException | AssertionError e) {
      blamed.put(e, use);
      throw e;
    } finally {
      if (mayUseTensors) {
        running.remove();
      }
    }
  }

  private static String told(Use use, Pe at, RuntimeException e) {
    return "kernel " + use.kernel + " at " + at + ": " + e.getMessage() + userLine(e);
  }

  /** Where a kernel has called the language; what it calls lies in two packages. */
  private static String userLine(RuntimeException e) {
    String language = Tl.class.getPackageName() + ".";
    String values = Shape.class.getPackageName() + ".";
    for (StackTraceElement frame : e.getStackTrace()) {
      String type = frame.getClassName();
      if (!type.startsWith(language) && !type.startsWith(values)) {
        return " (" + frame.getFileName() + ":" + frame.getLineNumber() + ")";
      }
    }
    return "";
  }

  /** Refuses a tensor to a kernel that did not name it: reads of the host could not wait for it. */
  void checkUse(Tensor tensor, Pe pe) {
    if (!driving) {
      return;
    }
    Use use = running.get();
    if (use != null && use.declared && !use.tensors.contains(tensor)) {
      throw new SimulationException(
          """
          kernel %s at %s uses tensor %s, which it was not launched with; pass it to \
          launch, so that reads of the host wait for the kernel\
          """
              .formatted(use.kernel, pe, tensor.name()));
    }
  }

  /** How many launches so far have not said what they use. */
  int undeclaredLaunches() {
    return undeclaredLaunches;
  }

  /** Returns when the launch is done: a rank yields, the host program lets time run. */
  void await(Launch launch) {
    if (launch.isDone()) {
      return;
    }
    checkUsable("waiting for kernel " + launch.name());
    Worker worker = current();
    if (worker == null) {
      drive(launch);
    } else {
      worker.block(new LaunchWait(launch));
    }
  }

  void drive(Launch launch) {
    if (launch.isDone()) {
      return;
    }
    checkUsable("kernel " + launch.name());
    driving = true;
    try {
      simulator.drive(launch);
    } catch (RuntimeException | Error e) {
      stopped = e;
      throw e;
    } finally {
      driving = false;
    }
  }

  /** The rank that launched the kernel that threw this; -1 if none did or it is not known. */
  int owner(Throwable thrown) {
    Use use = blamed.get(thrown);
    return use == null || use.owner == COLLECTIVE ? -1 : use.owner;
  }

  boolean isDriving() {
    return driving;
  }

  boolean isStopped() {
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
    pending.removeIf(Launch::isDone);
    return List.copyOf(pending);
  }

  /** Lets time run until half as many launches are under way, if there are more. */
  void keepPendingBelow(int limit) {
    if (pending.size() > limit) {
      pending.removeIf(Launch::isDone);
      for (int i = 0; pending.size() - i > limit / 2; i++) {
        drive(pending.get(i));
      }
      pending.removeIf(Launch::isDone);
    }
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

  /**
   * Completes the kernels that could still read or change a tensor; collectives are not among them.
   */
  void settle(Tensor tensor) {
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

  // ---- collectives ----

  /** Opens queues of the collectives ahead of their first use. */
  void install(QueuePlan plan) {
    queues.of(plan, 1, this::synchronize);
  }

  /** Removes the queues of collectives that are not under way. */
  void uninstallIdle() {
    queues.clear();
  }

  /** A lane of ranks that only send each other messages. */
  Members.Connected pairs(List<Integer> ranks, Lane lane) {
    return groups.pairs(ranks, lane);
  }

  /**
   * Hands a collective to the device: it starts when the kernels that use its tensors are done.
   *
   * @param ranks global numbers of the members
   * @param plans of its lanes, at least one
   * @param tensors that it reads or writes, of all members
   * @param result name of what it writes, for reports
   */
  Launch perform(
      CollectiveOp op,
      String group,
      List<Integer> ranks,
      List<LanePlan> plans,
      List<Tensor> tensors,
      String result) {
    QueuePlan plan = queues.union(plans.stream().map(p -> p.plan().queues()).toList());
    QueueSet set = queues.of(plan, plans.size(), this::synchronize);
    List<Pe> pes = plans.getFirst().pes();
    Kernel kernel = plans.getFirst().plan().kernel();
    if (plans.size() > 1) {
      pes = new ArrayList<>();
      Map<Pe, Kernel> kernels = new HashMap<>();
      for (LanePlan lane : plans) {
        for (Pe pe : lane.pes()) {
          pes.add(pe);
          kernels.put(pe, lane.plan().kernel());
        }
      }
      kernel = byPe(kernels);
    }
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
    if (op == CollectiveOp.BARRIER) {
      addOnDevices(after, ranks);
    }
    String name = op.method() + " (" + plans.getFirst().plan().algorithm() + ")";
    Use use = new Use(name, List.of(), true, COLLECTIVE);
    Launch launch = start(use, kernel, pes, communication, Optional.of(set), after);
    history.add(new CollectiveRun(group, ranks, plans, result, set, launch, busy));
    simulator.opLog().launches().exchanges(launch.id(), RankExchanges.of(op, ranks, plans));
    return launch;
  }

  private void addOnDevices(List<Launch> after, List<Integer> ranks) {
    BitSet devices = new BitSet();
    ranks.forEach(devices::set);
    for (Launch launch : pendingLaunches()) {
      if (launch.pes().stream().anyMatch(pe -> devices.get(deviceOf(pe)))) {
        after.add(launch);
      }
    }
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

  /** Forgets what ranks have left behind. */
  void endOfSpawn() {
    messages.reset();
    written.clear();
    held.clear();
    opening = null;
    groups.endOfSpawn();
  }

  // ---- memory ----

  /** Takes a contiguous range of virtual addresses. */
  @Override
  public VirtualAddress reserve(long bytes, String owner) {
    if (!leaving.isEmpty()) {
      leaving.removeIf(this::releaseIfUnused);
    }
    if (bytes == 0) {
      return new VirtualAddress(VirtualAddress.BASE);
    }
    return new VirtualAddress(
        virtual
            .allocate(bytes, owner)
            .orElseThrow(() ->
                new SimulationException(
                    "out of virtual addresses for tensor " + owner + ": " + virtual.describe())));
  }

  /** Gives back what {@link #reserve} returned. */
  @Override
  public void unreserve(VirtualAddress at, long bytes) {
    if (bytes > 0) {
      virtual.free(at.value());
    }
  }

  /**
   * Puts memory of each of these PEs behind virtual addresses.
   *
   * @throws OutOfHbmException naming what fills the slice of one of them; then none is taken
   */
  @Override
  public void allocate(String name, VirtualAddress at, long bytes, List<ShardSpec> copies) {
    if (bytes == 0) {
      return;
    }
    List<AddressMapping.Copy> places = new ArrayList<>(copies.size());
    try {
      for (ShardSpec copy : copies) {
        long offset = hbm.allocate(copy.place(), bytes, name);
        places.add(
            new AddressMapping.Copy(copy.place(), machine.addresses().hbm(copy.place(), offset)));
      }
    } catch (OutOfHbmException e) {
      freeAll(places, bytes);
      throw e;
    }
    simulator.map(new AddressMapping(name, at, bytes, places));
  }

  /** Gives back what {@link #allocate} took. */
  @Override
  public void free(VirtualAddress at, long bytes) {
    if (bytes > 0) {
      freeAll(simulator.unmap(at).copies(), bytes);
    }
  }

  private void freeAll(List<AddressMapping.Copy> copies, long bytes) {
    for (AddressMapping.Copy copy : copies) {
      simulator.erase(copy.address(), bytes);
      hbm.free(copy.pe(), machine.addresses().decode(copy.address()).offset(), bytes);
    }
  }

  /** Gives a tensor's memory back, as soon as no kernel under way can use it. */
  void release(Tensor tensor) {
    if (!releaseIfUnused(tensor)) {
      leaving.add(tensor);
    }
  }

  private boolean releaseIfUnused(Tensor tensor) {
    undeclared.removeIf(Launch::isDone);
    if (!undeclared.isEmpty() || !tensor.users().isEmpty() || held.containsKey(tensor)) {
      return false;
    }
    tensor.giveBack();
    return true;
  }

  /** A time as reports print it. */
  String now() {
    return String.format(Locale.ROOT, "t=%.3f ns", simulator.nowPs() / 1e3);
  }
}
