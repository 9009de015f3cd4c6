package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.Mapping;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.SimulationException;
import org.kernbench.device.Simulator;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Tl;

/**
 * What all views of one {@link Torch} share: simulator, memory, launches under way, and the ranks
 * if a spawn is running. Simulated time moves only in {@link #drive}, which ranks never call: they
 * yield, and the {@link Scheduler} drives when no rank can run.
 */
final class Session {
  final Machine machine;
  final Simulator simulator;
  final RankLevel rankLevel;
  final TorchOptions options;
  private final HbmAllocator hbm;
  private final RangeAllocator virtual;
  final List<CollectiveRun> history = new ArrayList<>();

  private final @Nullable Use[] running;
  private final List<Launch> undeclared = new ArrayList<>();
  private final List<Tensor> leaving = new ArrayList<>();
  private List<Launch> pending = new ArrayList<>();
  private int tidyAt = 64;
  private boolean driving;
  private @Nullable Throwable stopped;
  private @Nullable Use failed;

  @Nullable Scheduler scheduler;
  @Nullable ProcessGroup group;

  /** The message queues of the machine. */
  private @Nullable QueueSet queues;

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
    this.running = new Use[machine.peCount()];
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
    return Device.count(machine, rankLevel);
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

  /** The rank whose body is running; null while the host program runs. */
  @Nullable Worker current() {
    Scheduler s = scheduler;
    return s == null ? null : s.current();
  }

  // ---- launches ----

  /** A kernel that may use exactly these tensors. */
  Launch launch(String name, Kernel kernel, List<Pe> pes, List<Tensor> tensors) {
    Launch launch = start(name, kernel, pes, tensors, true, rank());
    for (Tensor t : tensors) {
      t.usedBy(launch);
    }
    return launch;
  }

  /** A kernel that may use any tensor. */
  Launch launchUndeclared(String name, Kernel kernel, List<Pe> pes) {
    Launch launch = start(name, kernel, pes, List.of(), false, rank());
    undeclared.removeIf(Launch::isDone);
    undeclared.add(launch);
    return launch;
  }

  /** The kernel of a collective; no single rank owns it, and host reads do not wait for it. */
  Launch launchCollective(String name, Kernel kernel, List<Pe> pes) {
    return start(name, kernel, pes, List.of(), true, -1);
  }

  private int rank() {
    Worker worker = current();
    return worker == null ? -1 : worker.rank();
  }

  private Launch start(
      String name, Kernel kernel, List<Pe> pes, List<Tensor> tensors, boolean declared, int owner) {
    checkUsable("launch of kernel " + name);
    Use use = new Use(name, tensors, declared, owner);
    int first = Integer.MAX_VALUE;
    int last = -1;
    for (Pe pe : pes) {
      first = Math.min(first, pe.sip());
      last = Math.max(last, pe.sip());
    }
    LaunchGrid grid = new LaunchGrid(first, last - first + 1);
    Launch launch = simulator.launch(name, pes, port -> () -> run(use, kernel, port, grid));
    if (pending.size() >= tidyAt) {
      pending.removeIf(Launch::isDone);
      tidyAt = Math.max(64, pending.size() * 2);
    }
    pending.add(launch);
    return launch;
  }

  private void run(Use use, Kernel kernel, PePort port, LaunchGrid grid) {
    int pe = machine.peIndex(port.pe());
    running[pe] = use;
    try {
      kernel.run(new Tl(port, grid));
    } catch (RuntimeException | AssertionError e) {
      failed = use;
      throw e;
    } finally {
      running[pe] = null;
    }
  }

  /** Refuses a tensor to a kernel that did not name it: reads of the host could not wait for it. */
  void checkUse(Tensor tensor, Pe pe) {
    if (!driving) {
      return;
    }
    Use use = running[machine.peIndex(pe)];
    if (use != null && use.declared && !use.tensors.contains(tensor)) {
      throw new SimulationException(
          "kernel "
              + use.kernel
              + " at "
              + pe
              + " uses tensor "
              + tensor.name()
              + ", which it was not launched with; pass it to launch, so that reads of the host"
              + " wait for the kernel");
    }
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

  /** The rank that launched the kernel that has failed; -1 if none did or it is not known. */
  int failedOwner() {
    Use use = failed;
    return use == null ? -1 : use.owner;
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
          what
              + " from inside a kernel; a kernel looks at values with tl.item and launches"
              + " nothing");
    }
    Throwable cause = stopped;
    if (cause != null) {
      String text = String.valueOf(cause.getMessage());
      throw new SimulationException(
          what
              + ": the simulation has stopped after an error ("
              + text.lines().findFirst().orElse("")
              + "); open a new Torch to go on");
    }
  }

  /** Launches that are not done yet. */
  List<Launch> pendingLaunches() {
    pending.removeIf(Launch::isDone);
    return List.copyOf(pending);
  }

  /** Returns when everything launched so far is done. */
  void synchronize() {
    for (Launch launch : pendingLaunches()) {
      await(launch);
    }
  }

  /**
   * Makes what is launched on {@code pes} next start after every kernel that uses one of the
   * tensors. PEs start kernels in order, so only kernels on other PEs as well need a wait.
   */
  void order(List<Tensor> tensors, Collection<Pe> pes) {
    for (Tensor t : tensors) {
      awaitUnlessWithin(t.users(), pes);
    }
    if (!undeclared.isEmpty()) {
      awaitUnlessWithin(List.copyOf(undeclared), pes);
    }
  }

  private void awaitUnlessWithin(List<Launch> launches, Collection<Pe> pes) {
    for (Launch launch : launches) {
      if (!pes.containsAll(launch.pes())) {
        await(launch);
      }
    }
  }

  /** {@link #order} for a kernel that may use any tensor. */
  void orderAll(Collection<Pe> pes) {
    awaitUnlessWithin(pendingLaunches(), pes);
  }

  /**
   * Completes the kernels that could still read or change a tensor; collectives are not among them.
   */
  void settle(Tensor tensor) {
    for (Launch launch : tensor.users()) {
      await(launch);
    }
    if (!undeclared.isEmpty()) {
      for (Launch launch : List.copyOf(undeclared)) {
        await(launch);
      }
    }
  }

  // ---- queues ----

  /** Replaces the message queues, unless they are what is wanted already. */
  void install(QueuePlan plan) {
    QueueSet old = queues;
    if (old != null) {
      if (old.plan().equals(plan)) {
        return;
      }
      synchronize();
      simulator.uninstall(old);
    }
    queues = simulator.install(plan);
  }

  // ---- memory ----

  /** Takes a contiguous range of virtual addresses. */
  VirtualAddress reserve(long bytes, String owner) {
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
  void unreserve(VirtualAddress at, long bytes) {
    if (bytes > 0) {
      virtual.free(at.value());
    }
  }

  /**
   * Puts memory of each of these PEs behind virtual addresses.
   *
   * @throws OutOfHbmException naming what fills the slice of one of them; then none is taken
   */
  void allocate(String name, VirtualAddress at, long bytes, List<ShardSpec> copies) {
    if (bytes == 0) {
      return;
    }
    List<Mapping.Copy> places = new ArrayList<>(copies.size());
    try {
      for (ShardSpec copy : copies) {
        long offset = hbm.allocate(copy.place(), bytes, name);
        places.add(new Mapping.Copy(copy.place(), machine.addresses().hbm(copy.place(), offset)));
      }
    } catch (OutOfHbmException e) {
      freeAll(places, bytes);
      throw e;
    }
    simulator.map(new Mapping(name, at, bytes, places));
  }

  /** Gives back what {@link #allocate} took. */
  void free(VirtualAddress at, long bytes) {
    if (bytes > 0) {
      freeAll(simulator.unmap(at).copies(), bytes);
    }
  }

  private void freeAll(List<Mapping.Copy> copies, long bytes) {
    for (Mapping.Copy copy : copies) {
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
    if (!undeclared.isEmpty() || !tensor.users().isEmpty()) {
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
