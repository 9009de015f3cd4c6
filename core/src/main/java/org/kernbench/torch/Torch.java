package org.kernbench.torch;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueueSet;
import org.kernbench.device.simulator.Fold;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Npy;
import org.kernbench.tensor.NpyArray;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.ToldCalls;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.placement.Layout;
import org.kernbench.torch.placement.MemoryUse;
import org.kernbench.torch.placement.Mesh;
import org.kernbench.torch.placement.PolicyPlacement;

/**
 * A host program's view of a simulated machine, shaped like {@code torch}. Open it in
 * try-with-resources; a rank gets its own view from {@link Worker#torch}.
 *
 * <p>Tensors lie on the device that {@link #ahbm} has chosen, on its first PE unless a {@link
 * DpPolicy} says else. Host actions take no simulated time; launches are enqueued and time runs
 * when somebody waits.
 *
 * {@snippet :
 * try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
 *   Tensor x = torch.full(Shape.of(64, 64), DType.F16, 1, DpPolicy.rowWise(), "x");
 *   torch.launch("twice", tl -> tl.store(x, tl.load(x).mul(2)), x);
 *   double two = x.get(0, 0); // waits for the kernel
 * }
 * }
 */
public final class Torch implements AutoCloseable {
  private final Session session;
  private final Ahbm ahbm;
  private final boolean root;
  private final Distributed distributed;
  private final Multiprocessing multiprocessing;

  Torch(Session session, Groups groups, int device, boolean root) {
    this.session = session;
    this.ahbm = new Ahbm(session, device);
    this.root = root;
    this.distributed = new Distributed(session, groups);
    this.multiprocessing = new Multiprocessing(session, groups);
  }

  /** A machine at time 0 with empty memories. */
  public static Torch open(Machine machine, TorchOptions options) {
    Simulator simulator = Simulator.open(machine, options.mode(), options.simulator());
    return opened(new Session(machine, simulator, options, null, 0));
  }

  /**
   * A machine of which package 0 is simulated for all, in mode {@code time} (ADR 0332). Of the
   * ranks that are spawned those in package 0 run, and each stands for those at its place in other
   * packages.
   *
   * @param options with collectives that can tell what their ranks do alike
   * @param program makes the program that is going to be spawned on all devices: first it is run
   *     without time for some other packages, and what they launch is compared
   * @throws CannotFoldException if packages are not alike or do not do alike, with the reason;
   *     later, if a program asks for what they do not do alike
   */
  public static Torch openFolded(
      Machine machine, TorchOptions options, Supplier<Consumer<Worker>> program) {
    if (options.mode() != Mode.TIME) {
      throw new CannotFoldException("one package has no values of others; use mode time to fold");
    }
    CollectiveBackend backend =
        options
            .collectives()
            .orElseThrow(() -> new CannotFoldException("without collectives ranks have no group"));
    Fold fold = Fold.of(machine);
    TorchOptions untimed = options.withCollectives(new ToldCalls(machine, backend));
    fold.compareHosts((simulator, sip) -> {
      try (Torch torch = opened(new Session(machine, simulator, untimed, fold, sip))) {
        torch.distributed().initProcessGroup(backend.name());
        torch.multiprocessing().spawn(program.get(), backend.worldSize());
      }
    });
    return opened(
        new Session(
            machine,
            fold.open(options.simulator()),
            options.withCollectives(backend.folded(fold)),
            fold,
            0));
  }

  private static Torch opened(Session session) {
    return new Torch(session, new Groups(session), 0, true);
  }

  /** What was folded, and how that was checked; empty if every package is simulated. */
  public Optional<String> foldNote() {
    return session.foldNote();
  }

  // ---- messages ----

  /**
   * Has messages about what this rank does say which part of its model it is at.
   *
   * @param part is asked when a message needs it; empty text while there is none
   */
  public void within(Supplier<String> part) {
    Rank rank = session.current();
    if (rank != null) {
      rank.within(part);
    }
  }

  // ---- tensors ----

  /** A tensor whose memory is not initialised: the host cannot read what nobody has written. */
  public Tensor empty(Shape shape, DType dtype, DpPolicy placement, String name) {
    Device device = session.device(ahbm.currentDevice());
    return Tensor.allocate(
        session, name, shape, dtype, PolicyPlacement.resolve(name, shape, placement, device));
  }

  /** A tensor laid out over the PEs of a mesh, whose memory is not initialised. */
  public Tensor empty(Shape shape, DType dtype, Layout layout, String name) {
    return Tensor.allocate(session, name, shape, dtype, layout.resolve(name, shape));
  }

  /** A tensor that lies as another, in another type ({@code empty_like} of PyTorch). */
  public Tensor emptyLike(Tensor other, DType dtype, String name) {
    return Tensor.allocate(session, name, other.shape(), dtype, other.shardSpecs());
  }

  /** The PEs of the current device that compute: of all of it, unless {@link TorchOptions} say. */
  public Mesh mesh() {
    Device device = session.device(ahbm.currentDevice());
    return Mesh.of(session.machine(), session.options().spread().of(device));
  }

  /** A tensor on one PE whose memory is not initialised. */
  public Tensor empty(Shape shape, DType dtype, String name) {
    return empty(shape, dtype, DpPolicy.single(), name);
  }

  /** A tensor with every element {@code value}. */
  public Tensor full(Shape shape, DType dtype, double value, DpPolicy placement, String name) {
    return empty(shape, dtype, placement, name).fillInPlace(value);
  }

  /** A tensor on one PE with every element {@code value}. */
  public Tensor full(Shape shape, DType dtype, double value, String name) {
    return full(shape, dtype, value, DpPolicy.single(), name);
  }

  /** A tensor of zeros, which are written to device memory. */
  public Tensor zeros(Shape shape, DType dtype, DpPolicy placement, String name) {
    return full(shape, dtype, 0, placement, name);
  }

  /** A tensor of zeros on one PE, which are written to device memory. */
  public Tensor zeros(Shape shape, DType dtype, String name) {
    return zeros(shape, dtype, DpPolicy.single(), name);
  }

  /** A tensor with host values, row-major, rounded to {@code dtype}. */
  public Tensor from(float[] values, Shape shape, DType dtype, DpPolicy placement, String name) {
    checkCount(values.length, shape, name);
    return empty(shape, dtype, placement, name).copyInPlace(values);
  }

  /** A tensor on one PE with host values, row-major, rounded to {@code dtype}. */
  public Tensor from(float[] values, Shape shape, DType dtype, String name) {
    return from(values, shape, dtype, DpPolicy.single(), name);
  }

  /** A tensor with host values, row-major, each rounded once to {@code dtype}. */
  public Tensor from(double[] values, Shape shape, DType dtype, DpPolicy placement, String name) {
    checkCount(values.length, shape, name);
    return empty(shape, dtype, placement, name).copyInPlace(values);
  }

  /** A tensor on one PE with host values, row-major, each rounded once to {@code dtype}. */
  public Tensor from(double[] values, Shape shape, DType dtype, String name) {
    return from(values, shape, dtype, DpPolicy.single(), name);
  }

  /**
   * A tensor with host values that are computed only where there are any: in mode {@code time} the
   * supplier is not asked, so large inputs cost nothing there.
   */
  public Tensor from(
      Supplier<double[]> values, Shape shape, DType dtype, DpPolicy placement, String name) {
    return session.hasValues()
        ? from(values.get(), shape, dtype, placement, name)
        : empty(shape, dtype, placement, name);
  }

  /** A tensor on one PE with host values that are computed only where there are any. */
  public Tensor from(Supplier<double[]> values, Shape shape, DType dtype, String name) {
    return from(values, shape, dtype, DpPolicy.single(), name);
  }

  /** A tensor with dtype, shape and contents of a {@code .npy} file. */
  public Tensor load(Path file, DpPolicy placement, String name) {
    return tensor(name, read(file, "a .npy file as numpy.save writes it", Npy::read), placement);
  }

  /** A tensor on one PE with dtype, shape and contents of a {@code .npy} file. */
  public Tensor load(Path file, String name) {
    return load(file, DpPolicy.single(), name);
  }

  /**
   * The arrays of a {@code .npz} file as tensors, by name and in the order of the file.
   *
   * @param placement of all of them
   */
  public Map<String, Tensor> loadAll(Path file, DpPolicy placement) {
    Map<String, NpyArray> arrays =
        read(file, "an .npz file as numpy.savez writes it", Npy::readArchive);
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    arrays.forEach((name, array) -> tensors.put(name, tensor(name, array, placement)));
    return Collections.unmodifiableMap(tensors);
  }

  /**
   * Writes tensors to a {@code .npz} file, by their names. bf16 and the 8-bit floats do not exist
   * there: copy to f32 tensors first.
   */
  @HostRead
  public void saveAll(Path file, List<Tensor> tensors) {
    Map<String, NpyArray> arrays = new LinkedHashMap<>();
    for (Tensor t : tensors) {
      if (arrays.put(t.name(), new NpyArray(t.dtype(), t.shape(), t.toBytes())) != null) {
        throw new SimulationException(
            "saveAll to " + file + ": two tensors are named " + t.name() + "; expected one each");
      }
    }
    try {
      Npy.writeArchive(file, arrays);
    } catch (IOException e) {
      throw new SimulationException(
          """
          tensors cannot be saved to %s: %s; expected a file that can be written, in a \
          folder that exists\
          """
              .formatted(file, Tensor.reason(e)));
    }
  }

  private interface Reader<T> {
    T read(Path file) throws IOException;
  }

  private static <T> T read(Path file, String expected, Reader<T> reader) {
    try {
      return reader.read(file);
    } catch (IOException e) {
      throw new SimulationException(
          file + " cannot be loaded: " + Tensor.reason(e) + "; expected " + expected);
    }
  }

  private Tensor tensor(String name, NpyArray array, DpPolicy placement) {
    Tensor tensor = empty(array.shape(), array.dtype(), placement, name);
    if (session.hasValues()) {
      tensor.writeAll(array.bytes());
    }
    return tensor;
  }

  private static void checkCount(int values, Shape shape, String name) {
    if (values != shape.elements()) {
      throw new SimulationException(
          "tensor %s of shape %s has %s elements, got %s values; expected as many"
              .formatted(name, shape, shape.elements(), values));
    }
  }

  // ---- kernels ----

  /**
   * Enqueues a kernel on every PE that holds a part of one of these tensors, which must be all that
   * it uses. It starts on all of them at once, when they have finished what they were given before
   * and every kernel launched earlier on one of the tensors is done.
   *
   * @return to be given to {@link #await}; reads of the tensors wait for it by themselves
   */
  public Launch launch(String name, Kernel kernel, Tensor first, Tensor... more) {
    return launch(name, kernel, Optional.empty(), first, more);
  }

  /** Enqueues a kernel that sends messages: with the queues whose directions it names. */
  public Launch launch(String name, Kernel kernel, QueueSet queues, Tensor first, Tensor... more) {
    return launch(name, kernel, Optional.of(queues), first, more);
  }

  /**
   * Enqueues a kernel on these PEs, which need not hold any of the tensors: it reaches them by
   * {@link org.kernbench.tl.Tl#whole}. It may use no other tensors.
   *
   * @param pes at least one
   */
  public Launch launch(String name, Kernel kernel, List<Pe> pes, List<Tensor> tensors) {
    Set<Tensor> all = new LinkedHashSet<>(tensors);
    check(name, all);
    return session.launch(
        name, kernel, inOrder(new LinkedHashSet<>(pes)), List.copyOf(all), Optional.empty());
  }

  /**
   * Enqueues a kernel that says what it writes: other kernels that only read the rest may run at
   * the same time.
   *
   * @param written it may write to these, and read them
   * @param read it only reads these; one that is also {@code written} counts as that
   */
  public Launch launch(
      String name, Kernel kernel, List<Pe> pes, List<Tensor> written, List<Tensor> read) {
    Set<Tensor> all = new LinkedHashSet<>(written);
    all.addAll(read);
    check(name, all);
    return session.launch(
        name, kernel, inOrder(new LinkedHashSet<>(pes)), List.copyOf(written), List.copyOf(all));
  }

  /**
   * Enqueues a kernel that goes on beside others: on the PEs' groups context, after what writes to
   * the tensors, or uses those that are written, and after the collectives of these PEs.
   *
   * @param after other launches that it starts after
   */
  public Launch launchBeside(
      String name,
      Kernel kernel,
      List<Pe> pes,
      List<Tensor> written,
      List<Tensor> read,
      List<Launch> after) {
    Set<Tensor> all = new LinkedHashSet<>(written);
    all.addAll(read);
    check(name, all);
    return session.launchBeside(
        name,
        kernel,
        inOrder(new LinkedHashSet<>(pes)),
        List.copyOf(written),
        List.copyOf(all),
        after);
  }

  private Launch launch(
      String name, Kernel kernel, Optional<QueueSet> queues, Tensor first, Tensor... more) {
    Set<Tensor> tensors = new LinkedHashSet<>(List.of(first));
    tensors.addAll(Arrays.asList(more));
    check(name, tensors);
    Set<Pe> places = new LinkedHashSet<>();
    tensors.forEach(t -> places.addAll(t.places()));
    return session.launch(name, kernel, inOrder(places), List.copyOf(tensors), queues);
  }

  private void check(String name, Set<Tensor> tensors) {
    for (Tensor t : tensors) {
      t.checkUsable("launch of kernel " + name + " with a shard");
      if (!t.belongsTo(session)) {
        throw new SimulationException(
            "launch of kernel " + name + ": tensor " + t.name() + " belongs to another Torch");
      }
    }
  }

  /**
   * Enqueues a kernel on these PEs. It may use any tensor, so it starts after all kernels launched
   * before, and every read of the host waits for it.
   */
  public Launch launch(String name, Kernel kernel, List<Pe> pes) {
    Set<Pe> places = new LinkedHashSet<>(pes);
    return session.launchUndeclared(name, kernel, inOrder(places));
  }

  /**
   * Enqueues a kernel that uses no tensor on these PEs: a node of a graph of launches. It starts
   * when they have finished what they were given before and all of {@code after} is done.
   */
  public Launch launchAfter(String name, Kernel kernel, List<Pe> pes, List<Launch> after) {
    return session.launchAfter(name, kernel, inOrder(new LinkedHashSet<>(pes)), after);
  }

  private List<Pe> inOrder(Set<Pe> pes) {
    return pes.stream()
        .map(session.machine()::peIndex)
        .sorted()
        .map(session.machine()::peAt)
        .toList();
  }

  /** Returns when a kernel is done ({@code wait} in PyTorch): a rank gives way to the others. */
  public void await(Launch launch) {
    session.await(launch);
  }

  /**
   * Returns when all that was launched on a tensor so far is done, also after it was closed: then
   * its memory can be taken again.
   */
  public void await(Tensor tensor) {
    tensor.users().forEach(session::await);
  }

  /** Returns when all kernels launched so far, by anyone, are done. */
  public void synchronize() {
    session.synchronize();
  }

  // ---- the rest ----

  /** The devices. */
  public Ahbm ahbm() {
    return ahbm;
  }

  /** What ranks do together. */
  public Distributed distributed() {
    return distributed;
  }

  /** Starts ranks. */
  public Multiprocessing multiprocessing() {
    return multiprocessing;
  }

  /** What tensors hold of HBM, and have held at most. */
  public MemoryUse memory() {
    return session.memory().use();
  }

  /**
   * Bytes of HBM that tensors hold now, with all copies, by what they are for ({@link
   * Tensor#heldAs}); every purpose is there. What aligns blocks is not counted.
   */
  public Map<Tensor.Purpose, Long> memoryByPurpose() {
    Map<Tensor.Purpose, Long> bytes = session.memory().byPurpose();
    int packages = session.isFolded() ? machine().sips() : 1;
    return bytes.entrySet().stream()
        .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, e -> e.getValue() * packages));
  }

  /** The moving machine, for time, op log and counts. */
  public Simulator simulator() {
    return session.simulator();
  }

  /** The machine. */
  public Machine machine() {
    return session.machine();
  }

  /**
   * Says how to give back memory that can be done without, once, when a slice of HBM is full: by
   * closing tensors. Whoever asks for memory then waits for kernels that still use them.
   */
  public void givesBack(Runnable spare) {
    session.shortage().givesBack(spare);
  }

  /** Whether memory has been short, so that all was given back that could be. */
  public boolean hasGivenBack() {
    return session.shortage().hasBeen();
  }

  /** What kernels may use of each TCM, whatever collectives have queues of messages there. */
  public long roomBesideQueues() {
    return QueueSets.roomBeside(machine());
  }

  /** Ends kernels that are still under way. A rank's view closes nothing. */
  @Override
  public void close() {
    if (root) {
      session.simulator().close();
    }
  }
}
