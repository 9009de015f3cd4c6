package org.kernbench.nn.optim;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.kernbench.device.Mode;
import org.kernbench.machine.SimulationException;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.layers.Module;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Npy;
import org.kernbench.tensor.NpyArray;
import org.kernbench.tensor.Numerics;
import org.kernbench.tensor.SafeTensors;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Parameters of a model, and the state of its optimizer, in files that know nothing of a layout:
 * every tensor is whole, and a rank of any layout finds its part in it ({@code
 * docs/spec/megatron.md} 11).
 *
 * <p>A path that ends in {@code .safetensors} is one file of that format, in the types of the
 * tensors. Any other is a folder with a {@code .npy} file for each tensor; NumPy has no bf16 and no
 * 8-bit floats, which are kept as f32 there and come back the same.
 *
 * <p>Ranks of experts and stages of a pipeline have tensors that others do not know. Then each rank
 * that holds the first part of some brings these together, and the first of all ranks joins what
 * they wrote.
 *
 * <p>Tensors of an optimizer are {@code optimizer.PARAMETER.STATE}; {@code optimizer.steps} counts
 * steps. Such names in a file are passed over where no optimizer is asked for; any other difference
 * of names is an error.
 */
public final class Checkpoint {
  private static final String OPTIMIZER = "optimizer.";
  private static final String STEPS = OPTIMIZER + "steps";
  private static final String MASTER = ".master";
  private static final String SAFETENSORS = ".safetensors";

  private final Torch torch;
  private final Set<ParallelLayout> layouts = new LinkedHashSet<>();
  private ParallelLayout layout;
  private final Map<String, Entry> entries = new LinkedHashMap<>();
  private final List<Optimizer> optimizers = new ArrayList<>();
  private Optional<ProcessGroup> stages = Optional.empty();

  /**
   * A tensor to keep.
   *
   * @param layout of the module that it belongs to
   * @param shape of this tensor-parallel rank's part
   * @param tensor that part, or this rank's piece of it; empty if it has no piece
   * @param division of the part into pieces, if it is divided
   */
  private record Entry(
      ParallelLayout layout,
      DType dtype,
      Shape shape,
      Sharding sharding,
      Optional<Tensor> tensor,
      Optional<Division> division) {
    /** The ranks that have the same part. */
    ProcessGroup replicas() {
      return sharding.ofExpert() ? layout.experts().orElseThrow().edp() : layout.dpCp();
    }

    /** The ranks that have the parts of the whole. */
    ProcessGroup parts() {
      return sharding.over(layout);
    }

    /** Whether the parts come together on this rank. */
    boolean isRoot() {
      return replicas().rank() == 0 && parts().rank() == 0;
    }
  }

  /** Nothing yet, of a rank of a layout. */
  public Checkpoint(Torch torch, ParallelLayout layout) {
    this.torch = torch;
    this.layout = layout;
    layouts.add(layout);
  }

  /**
   * What is added from now on belongs to a module that divides these ranks in another way, so that
   * several modules are in one file. Both layouts begin with the same rank, which writes.
   *
   * @throws IllegalArgumentException if they do not
   */
  public Checkpoint in(ParallelLayout other) {
    if (isFirst(other) != isFirst(layout)) {
      throw new IllegalArgumentException(
          """
          a checkpoint of two layouts whose first ranks differ: rank %s is the first of one of \
          them only; expected layouts over the same ranks\
          """
              .formatted(other.dpCp().globalRank(other.dpCp().rank())));
    }
    layout = other;
    layouts.add(other);
    return this;
  }

  /**
   * What is added belongs to one stage of a model, of which the ranks of a pipeline have others.
   *
   * @param pipeline the ranks with the other stages, in their order
   */
  public Checkpoint across(ProcessGroup pipeline) {
    stages = Optional.of(pipeline);
    return this;
  }

  /** With the parameters of a model. */
  public Checkpoint with(Module model) {
    return with(model.parameters());
  }

  /** With parameters. */
  public Checkpoint with(List<Parameter> parameters) {
    parameters.forEach(p -> add(p.name(), p.value(), p.sharding()));
    return this;
  }

  /**
   * With the state of an optimizer, master copies included.
   *
   * @throws IllegalStateException if the optimizer is divided over ranks
   */
  public Checkpoint with(Optimizer optimizer) {
    for (Optimizer.Slot slot : optimizer.slots()) {
      Parameter p = slot.parameter();
      if (p.whole().isPresent()) {
        throw new IllegalStateException(
            """
            the optimizer of %s is divided over the data-parallel ranks; say \
            with(optimizer, data), with the DataParallel that divides it\
            """
                .formatted(p.name()));
      }
      add(optimizer, slot);
    }
    optimizers.add(optimizer);
    return this;
  }

  /**
   * With the state of an optimizer that is divided over the data-parallel ranks, or not. The file
   * is the same either way, so that a run can go on with other ranks, other buckets, or a whole
   * optimizer.
   *
   * @param data of whose {@linkplain DataParallel#owned parameters} the optimizer was made
   * @throws IllegalArgumentException if it was made of others
   */
  public Checkpoint with(Optimizer optimizer, DataParallel data) {
    Map<Parameter, Optimizer.Slot> own = new IdentityHashMap<>();
    for (Optimizer.Slot slot : optimizer.slots()) {
      slot.parameter()
          .whole()
          .ifPresentOrElse(whole -> own.put(whole, slot), () -> add(optimizer, slot));
    }
    for (Division division : data.divisions()) {
      add(optimizer, division, Optional.ofNullable(own.remove(division.parameter())));
    }
    if (!own.isEmpty()) {
      throw isOfOthers(own.keySet().iterator().next());
    }
    optimizers.add(optimizer);
    return this;
  }

  private static IllegalArgumentException isOfOthers(Parameter p) {
    return new IllegalArgumentException(
        """
        the optimizer and the DataParallel do not belong together: only one of them has \
        a piece of %s; expected an optimizer of data.owned()\
        """
            .formatted(p.name()));
  }

  private void add(Optimizer optimizer, Optimizer.Slot slot) {
    Parameter p = slot.parameter();
    if (slot.master() != p.value()) {
      add(OPTIMIZER + p.name() + MASTER, slot.master(), p.sharding());
    }
    for (int i = 0; i < slot.state().size(); i++) {
      add(nameOf(p, optimizer, i), slot.state().get(i), p.sharding());
    }
  }

  private static String nameOf(Parameter p, Optimizer optimizer, int state) {
    return OPTIMIZER + p.name() + "." + optimizer.states().get(state);
  }

  private void add(Optimizer optimizer, Division division, Optional<Optimizer.Slot> slot) {
    Parameter p = division.parameter();
    int rank = division.group().rank();
    if (slot.isPresent() != division.from(rank) < division.to(rank)) {
      throw isOfOthers(p);
    }
    if (p.dtype() != p.masterType()) {
      add(OPTIMIZER + p.name() + MASTER, division, slot.map(Optimizer.Slot::master));
    }
    for (int i = 0; i < optimizer.states().size(); i++) {
      int state = i;
      add(nameOf(p, optimizer, i), division, slot.map(s -> s.state().get(state)));
    }
  }

  private void add(String name, Division division, Optional<Tensor> piece) {
    Parameter p = division.parameter();
    add(
        name,
        new Entry(layout, p.masterType(), p.shape(), p.sharding(), piece, Optional.of(division)));
  }

  private void add(String name, Tensor tensor, Sharding sharding) {
    Optional<Tensor> own = Optional.of(tensor);
    add(name, new Entry(layout, tensor.dtype(), tensor.shape(), sharding, own, Optional.empty()));
  }

  private void add(String name, Entry entry) {
    if (entries.put(name, entry) != null) {
      throw new IllegalArgumentException(
          "two tensors are named " + name + "; expected one of each name");
    }
  }

  // ---- out ----

  /**
   * Writes everything. All ranks call it; the parts are gathered on the first, which writes. The
   * file is there when it returns.
   *
   * @throws SimulationException if the mode has no values, or the file cannot be written
   */
  public void save(Path to) {
    if (torch.simulator().mode() == Mode.TIME) {
      throw new SimulationException(
          "save to " + to + ": mode time has no values; use mode full or values");
    }
    boolean inParts = isShared() && isFile(to);
    if (inParts && isFirst()) {
      removeParts(to);
    }
    Map<String, NpyArray> whole = new TreeMap<>();
    entries.forEach((name, entry) -> whole(entry).ifPresent(array -> whole.put(name, array)));
    if (isFirst()) {
      for (Optimizer o : optimizers) {
        byte[] steps = new byte[Long.BYTES];
        DType.I64.putDouble(steps, 0, o.steps());
        whole.put(STEPS, new NpyArray(DType.I64, Shape.of(1), steps));
      }
    }
    if (isShared()) {
      barrier(); // old parts are gone
      if (!isFirst() && !whole.isEmpty()) {
        write(isFile(to) ? partOf(to, layout.tp()) : to, whole);
      }
      barrier();
    }
    if (isFirst()) {
      if (inParts) {
        join(to, whole);
      }
      write(to, whole);
    }
    barrier();
  }

  /** Whether other ranks have tensors that this one does not know. */
  private boolean isShared() {
    return stages.isPresent() || entries.values().stream().anyMatch(e -> e.sharding.ofExpert());
  }

  private void barrier() {
    for (ParallelLayout each : layouts) {
      each.tp().barrier();
      each.dpCp().barrier();
    }
    stages.ifPresent(ProcessGroup::barrier);
  }

  private static boolean isFile(Path path) {
    return path.toString().endsWith(SAFETENSORS);
  }

  private static final String PART = ".part-";

  /** Where a rank leaves what it has. */
  private static Path partOf(Path to, ProcessGroup own) {
    return to.resolveSibling(to.getFileName() + PART + own.globalRank(own.rank()));
  }

  private static List<Path> partsOf(Path to) throws IOException {
    List<Path> parts = new ArrayList<>();
    Path folder = Objects.requireNonNullElse(to.toAbsolutePath().getParent(), to);
    try (var all = Files.newDirectoryStream(folder)) {
      for (Path each : all) {
        if (each.getFileName().toString().startsWith(to.getFileName() + PART)) {
          parts.add(each);
        }
      }
    }
    parts.sort(null);
    return parts;
  }

  private static void removeParts(Path to) {
    try {
      for (Path part : partsOf(to)) {
        Files.delete(part);
      }
    } catch (IOException e) {
      throw notSaved(to, e);
    }
  }

  /** Adds what other ranks have left beside the file. */
  private static void join(Path to, Map<String, NpyArray> whole) {
    try {
      for (Path part : partsOf(to)) {
        SafeTensors file = SafeTensors.open(part);
        for (String name : file.names()) {
          if (!whole.containsKey(name)) { // a stage may have a copy of another one's
            whole.put(name, file.read(name));
          }
        }
      }
    } catch (IOException e) {
      throw notSaved(to, e);
    }
    removeParts(to);
  }

  private static SimulationException notSaved(Path to, IOException e) {
    return new SimulationException(
        "the checkpoint cannot be saved to " + to + ": " + e + "; expected a place to write to");
  }

  /** Whether this rank writes. */
  private boolean isFirst() {
    return isFirst(layout) && stages.map(ProcessGroup::rank).orElse(0) == 0;
  }

  private static boolean isFirst(ParallelLayout layout) {
    return layout.dpCp().rank() == 0 && layout.tp().rank() == 0;
  }

  /** The whole tensor, on the first rank that has a part of it. */
  private Optional<NpyArray> whole(Entry entry) {
    if (entry.division.isEmpty()) {
      return entry.replicas().rank() == 0
          ? whole(entry, entry.tensor.orElseThrow())
          : Optional.empty();
    }
    Optional<Tensor> joined = entry.division.get().join(torch, entry.dtype, entry.tensor);
    if (joined.isEmpty()) {
      return Optional.empty();
    }
    try (Tensor part = joined.get()) {
      return whole(entry, part);
    }
  }

  /** The whole of what the ranks have parts of, on the first of them. */
  private Optional<NpyArray> whole(Entry entry, Tensor t) {
    Sharding sharding = entry.sharding;
    ProcessGroup group = entry.parts();
    int ranks = group.size();
    if (sharding.axis().isEmpty() || ranks == 1) {
      return entry.isRoot()
          ? Optional.of(new NpyArray(t.dtype(), t.shape(), t.toBytes()))
          : Optional.empty();
    }
    int axis = sharding.axis().getAsInt();
    Shape shape = t.shape().with(axis, t.shape().dim(axis) * ranks);
    try (Tensor own = torch.empty(t.shape(), t.dtype(), "own " + t.name())) {
      own.copyInPlace(t); // on one PE, as a gather cuts tensors along their first axis
      if (group.rank() != 0) {
        group.gather(own, group.globalRank(0));
        return Optional.empty();
      }
      return Optional.of(gathered(own, shape, sharding, group));
    }
  }

  private NpyArray gathered(Tensor own, Shape whole, Sharding sharding, ProcessGroup tp) {
    int ranks = tp.size();
    Shape parts = own.shape().with(0, own.shape().dim(0) * ranks);
    try (Tensor all = torch.empty(parts, own.dtype(), "gathered " + own.name())) {
      tp.gather(all, own, tp.globalRank(0));
      byte[] from = all.toBytes();
      byte[] to = new byte[from.length];
      for (int r = 0; r < ranks; r++) {
        int start = r * Math.toIntExact(own.sizeBytes());
        part(whole, sharding, ranks, r, own.dtype())
            .copy((inWhole, inPart, n) -> System.arraycopy(from, start + inPart, to, inWhole, n));
      }
      return new NpyArray(own.dtype(), whole, to);
    }
  }

  private static void write(Path to, Map<String, NpyArray> tensors) {
    try {
      if (isFile(to) || to.toString().contains(SAFETENSORS + PART)) {
        SafeTensors.write(to, tensors, Map.of());
        return;
      }
      Files.createDirectories(to);
      for (Map.Entry<String, NpyArray> e : tensors.entrySet()) {
        NpyArray a = known(e.getValue());
        Npy.write(to.resolve(e.getKey() + ".npy"), a.dtype(), a.shape(), a.bytes());
      }
    } catch (IOException e) {
      throw notSaved(to, e);
    }
  }

  /** In a type that NumPy has, exactly. */
  private static NpyArray known(NpyArray a) {
    return switch (a.dtype()) {
      case BF16, F8E4M3, F8E5M2 -> converted(a, DType.F32);
      case F64, F32, F16, I8, I32, I64, BOOL -> a;
    };
  }

  private static NpyArray converted(NpyArray a, DType to) {
    int n = Math.toIntExact(a.shape().elements());
    byte[] bytes = new byte[n * to.sizeBytes()];
    Numerics.cast(a.dtype(), a.bytes(), 0, to, bytes, 0, n);
    return new NpyArray(to, a.shape(), bytes);
  }

  // ---- in ----

  /**
   * Overwrites everything with what a file or folder has, each rank with its part, rounded to the
   * types that are here; nothing if anything in it is refused. Load weights before an optimizer is
   * made, or load the optimizer as well.
   *
   * @throws SimulationException if names or shapes differ, or the file cannot be read
   */
  public void load(Path from) {
    try {
      Source source = Source.of(from);
      checkNames(from, source.names());
      Map<Entry, double[]> parts = new IdentityHashMap<>();
      for (Map.Entry<String, Entry> e : entries.entrySet()) {
        parts.put(e.getValue(), part(from, e.getKey(), e.getValue(), source.read(e.getKey())));
      }
      long steps = optimizers.isEmpty() ? 0 : steps(from, source.read(STEPS));
      parts.forEach(Checkpoint::overwrite); // all of them, or none if one is wrong
      optimizers.forEach(o -> o.continueFrom(steps));
    } catch (IOException e) {
      throw new SimulationException(
          """
          the checkpoint %s cannot be loaded: %s; expected a .safetensors file, or a \
          folder of .npy files\
          """
              .formatted(from, e.getMessage() == null ? e : e.getMessage()));
    }
  }

  private void checkNames(Path from, Set<String> found) {
    Set<String> missing = new TreeSet<>(entries.keySet());
    if (!optimizers.isEmpty()) {
      missing.add(STEPS);
    }
    Set<String> surplus = new TreeSet<>(found);
    surplus.removeAll(missing);
    missing.removeAll(found);
    if (optimizers.isEmpty()) {
      surplus.removeIf(name -> name.startsWith(OPTIMIZER));
    }
    if (isShared() && missing.isEmpty()) {
      surplus.retainAll(unknownToAll(found, surplus));
    }
    if (!missing.isEmpty() || !surplus.isEmpty()) {
      throw new SimulationException(
          """
          the checkpoint %s is of another model: missing %s, not known here %s; expected \
          the names of this model's parameters\
          """
              .formatted(from, missing, surplus));
    }
  }

  /** Names that no rank knows; all ranks call it with the same names. */
  private Set<String> unknownToAll(Set<String> found, Set<String> unknownHere) {
    List<String> names = List.copyOf(new TreeSet<>(found));
    double[] known = new double[names.size()];
    Arrays.setAll(known, i -> unknownHere.contains(names.get(i)) ? 0 : 1);
    Shape shape = Shape.of(known.length);
    try (Tensor anywhere = torch.from(known, shape, DType.F32, "known names")) {
      for (ParallelLayout each : layouts) {
        each.tp().allReduce(anywhere, ReduceKind.MAX);
        each.dpCp().allReduce(anywhere, ReduceKind.MAX);
      }
      stages.ifPresent(all -> all.allReduce(anywhere, ReduceKind.MAX));
      double[] all = anywhere.toDoubles();
      Set<String> unknown = new TreeSet<>();
      for (int i = 0; i < all.length; i++) {
        if (all[i] == 0) {
          unknown.add(names.get(i));
        }
      }
      return unknown;
    }
  }

  private static long steps(Path from, NpyArray steps) {
    boolean isCount = steps.dtype() == DType.I64 && steps.shape().equals(Shape.of(1));
    long taken = isCount ? (long) DType.I64.getDouble(steps.bytes(), 0) : -1;
    if (taken < 0) {
      throw new SimulationException(
          "the checkpoint %s: %s is %s; expected one number in i64, 0 or more"
              .formatted(from, STEPS, isCount ? taken : steps.dtype() + " " + steps.shape()));
    }
    return taken;
  }

  /** This rank's part of a whole tensor. */
  private static double[] part(Path from, String name, Entry entry, NpyArray whole) {
    Shape shape = entry.shape;
    ProcessGroup group = entry.parts();
    int ranks = entry.sharding.axis().isEmpty() ? 1 : group.size();
    int axis = entry.sharding.axis().orElse(0);
    Shape expected = ranks == 1 ? shape : shape.with(axis, shape.dim(axis) * ranks);
    if (!whole.shape().equals(expected)) {
      throw new SimulationException(
          "the checkpoint %s: tensor %s has shape %s; expected %s%s"
              .formatted(
                  from,
                  name,
                  whole.shape(),
                  expected,
                  ranks == 1 ? "" : ", of which each of " + ranks + " ranks takes " + shape));
    }
    byte[] own = new byte[Math.toIntExact(shape.elements() * whole.dtype().sizeBytes())];
    if (ranks == 1) {
      System.arraycopy(whole.bytes(), 0, own, 0, own.length);
    } else {
      part(expected, entry.sharding, ranks, group.rank(), whole.dtype())
          .copy((inWhole, inPart, n) -> System.arraycopy(whole.bytes(), inWhole, own, inPart, n));
    }
    double[] values = new double[Math.toIntExact(shape.elements())];
    for (int i = 0; i < values.length; i++) {
      values[i] = whole.dtype().getDouble(own, i * whole.dtype().sizeBytes());
    }
    return values;
  }

  private static void overwrite(Entry entry, double[] values) {
    entry.tensor.ifPresent(
        t -> t.copyInPlace(entry.division.map(d -> d.own(values)).orElse(values)));
  }

  /** Tensors by name, wherever they are kept. */
  private interface Source {
    Set<String> names();

    NpyArray read(String name) throws IOException;

    static Source of(Path from) throws IOException {
      if (isFile(from)) {
        SafeTensors file = SafeTensors.open(from);
        return new Source() {
          @Override
          public Set<String> names() {
            return file.names();
          }

          @Override
          public NpyArray read(String name) throws IOException {
            return file.read(name);
          }
        };
      }
      Map<String, Path> files = new TreeMap<>();
      try (var all = Files.newDirectoryStream(from, "*.npy")) {
        all.forEach(f -> files.put(f.getFileName().toString().replaceFirst("\\.npy$", ""), f));
      }
      return new Source() {
        @Override
        public Set<String> names() {
          return files.keySet();
        }

        @Override
        public NpyArray read(String name) throws IOException {
          Path file = files.get(name);
          if (file == null) {
            throw new IOException("no file " + name + ".npy");
          }
          return Npy.read(file);
        }
      };
    }
  }

  // ---- parts ----

  /** Runs of bytes that the ranks have in turn in the whole, and that one rank has in its part. */
  private record Runs(int count, int bytes, int ranks, int rank) {
    void copy(Copy copy) {
      for (int i = 0; i < count; i++) {
        copy.run((i * ranks + rank) * bytes, i * bytes, bytes);
      }
    }
  }

  private interface Copy {
    void run(int inWhole, int inPart, int bytes);
  }

  private static Runs part(Shape whole, Sharding sharding, int ranks, int rank, DType dtype) {
    int axis = sharding.axis().orElseThrow();
    int cuts = ranks * sharding.stride();
    long run = whole.dim(axis) / cuts * whole.inner(axis) * dtype.sizeBytes();
    int count = Math.toIntExact(whole.outer(axis) * sharding.stride());
    return new Runs(count, Math.toIntExact(run), ranks, rank);
  }
}
