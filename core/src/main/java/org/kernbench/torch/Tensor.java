package org.kernbench.torch;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.ReusableProgram;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Loan;
import org.kernbench.tensor.Npy;
import org.kernbench.tensor.Numerics;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.DeviceTensor;
import org.kernbench.tl.Shard;
import org.kernbench.torch.TensorParts.Part;
import org.kernbench.torch.placement.RunSink;
import org.kernbench.torch.placement.ShardCopy;
import org.kernbench.torch.placement.ShardSpec;
import org.kernbench.torch.placement.Sizes;

/**
 * A dense tensor in device memory, laid over the PEs of one device. {@link Torch} makes them;
 * {@link #close} gives their memory back.
 *
 * <p>Reads of the host (marked {@link HostRead}) first complete the kernels that could still change
 * the tensor. Of a replicated part they show the first copy in structural order. To read an element
 * that nobody has written is an error; as text it is {@code ?}.
 */
public final class Tensor implements DeviceTensor, Dependent, AutoCloseable {
  private static final int SHOWN = 64;
  private static final int ENDS = 3;
  private static final int CHUNK_BYTES = 1 << 16;

  private final TensorHost host;

  private final String name;
  private final Shape shape;
  private final DType dtype;
  private final TensorParts parts;
  private final Shard all;
  private List<Launch> users = List.of();

  /** Those of them that may write. */
  private List<Launch> writers = List.of();

  private boolean closed;
  private int version;

  /** Launches that may have written to it. */
  private int written;

  private Purpose purpose = Purpose.OTHER;

  /** Whose memory this is a part of; this tensor itself, unless it is a view. */
  private final Tensor owner;

  /** What the memory of a tensor is for, in reports of memory. */
  public enum Purpose {
    /** Weights, and what belongs to a model like weights. */
    PARAMETER,
    /** Sums of gradients of parameters. */
    GRADIENT,
    /** Master copies and what else an optimizer keeps. */
    OPTIMIZER,
    /** Copies of operands, nearer to those who read them. */
    COPY,
    /** All else: inputs, activations and their gradients. */
    OTHER
  }

  private Tensor(TensorHost host, String name, DType dtype, Shape shape, TensorParts parts) {
    this(host, name, dtype, shape, parts, null);
  }

  private Tensor(
      TensorHost host,
      String name,
      DType dtype,
      Shape shape,
      TensorParts parts,
      @Nullable Tensor owner) {
    this.owner = owner == null ? this : owner;
    this.host = host;
    this.name = name;
    this.shape = shape;
    this.dtype = dtype;
    this.parts = parts;
    this.all = new Shard(name, parts.address(), shape, dtype);
  }

  static Tensor allocate(
      TensorHost host, String name, Shape shape, DType dtype, List<ShardSpec> specs) {
    Tensor made =
        new Tensor(
            host,
            name,
            dtype,
            shape,
            TensorParts.allocate(host.memory(), name, shape, dtype, specs));
    host.memory().count(made.purpose, made.parts.heldBytes());
    return made;
  }

  // ---- what it is ----

  @Override
  public String name() {
    return name;
  }

  /** Extents of the whole tensor. */
  public Shape shape() {
    return shape;
  }

  /** Type of the elements. */
  public DType dtype() {
    return dtype;
  }

  /** Bytes of the whole tensor, copies not counted. */
  public long sizeBytes() {
    return shape.elements() * dtype.sizeBytes();
  }

  /**
   * Its first virtual address. Its parts follow one another without gaps, each row-major: those of
   * a tensor divided by rows, or of a vector, so that it lies there as a whole in row-major order;
   * others in the order in which their first copies appear in {@link #shardSpecs}.
   */
  public VirtualAddress address() {
    return parts.address();
  }

  /** Where its parts lie and which parts they are, in structural order. */
  public List<ShardSpec> shardSpecs() {
    return parts.specs();
  }

  /** Its parts in memory, in the order of {@link #shardSpecs}; made when they are asked for. */
  public List<Shard> shards() {
    return parts.shards(name);
  }

  /**
   * Neighbouring elements under a shape of their own ({@code view} of a flat buffer in PyTorch). It
   * shares this tensor's memory: what is written to one is seen in the other, and kernels and
   * collectives on either are ordered as if they were on this one. Closing it frees nothing; it
   * cannot be used after this tensor is closed.
   *
   * @param start its first element, in row-major order
   * @throws SimulationException if this tensor's elements do not follow one another in memory, as
   *     those of one that is spread along its last axis
   * @throws ShapeException if there are not so many elements
   */
  public Tensor view(long start, Shape part, String partName) {
    checkUsable("view");
    checkInOrder("view of");
    if (start < 0 || start + part.elements() > shape.elements()) {
      throw new ShapeException(
          "view %s %s of tensor %s %s from element %s: expected at most %s elements"
              .formatted(partName, part, name, shape, start, shape.elements()));
    }
    TensorParts viewed = parts.view(host.memory(), host.machine(), start, part);
    return new Tensor(host, partName, dtype, part, viewed, owner);
  }

  private void checkInOrder(String what) {
    if (!parts.isInOrder()) {
      ShardSpec last = parts.specs().getLast();
      throw new SimulationException(
          """
          %s tensor %s, whose elements do not follow one another in memory: the shard at %s \
          is %s at %s; expected a tensor on one PE or one spread by rows\
          """
              .formatted(what, name, last.place(), last.shape(), last.offset()));
    }
  }

  /** Its shape and type, where its parts lie, and the memory of each; not its name. */
  @Override
  public List<Object> dependsOn() {
    List<Object> all = new ArrayList<>(List.of(dtype, shape, parts.specs()));
    for (Part part : parts.inMemory()) {
      if (part.bytes() > 0) {
        all.add(new ReusableProgram.Memory(part.at(), part.bytes()));
      }
    }
    return all;
  }

  @Override
  public Shard whole(Pe pe) {
    host.checkUse(this, pe);
    checkInOrder("access by address to");
    return all;
  }

  /**
   * Lets kernels and collectives that are given this tensor from now on wait for a launch that need
   * not use it: an edge of a graph of launches (events to wait for, in PyTorch).
   */
  public void orderAfter(Launch launch) {
    usedBy(launch);
  }

  /**
   * How often the host has written to it, or to what it is a view of ({@code _version} in PyTorch).
   * What kernels write does not count.
   */
  public int version() {
    return owner.version;
  }

  /**
   * How often it, or what it is a view of, may have been written to so far: by the host, and by
   * launches that named it as theirs to write or that did not say what they write.
   */
  public int changes() {
    return owner.version + owner.written + host.undeclaredLaunches();
  }

  /**
   * Whether no launch so far can have written to it: its elements are those that the host wrote.
   */
  public boolean isOfHost() {
    return owner.written == 0 && host.undeclaredLaunches() == 0;
  }

  /** The tensor that the memory belongs to, by which uses are ordered. */
  Tensor owner() {
    return owner;
  }

  /** The PEs that hold a part, in structural order. */
  Set<Pe> places() {
    Set<Pe> places = new LinkedHashSet<>();
    for (ShardSpec spec : parts.specs()) {
      places.add(spec.place());
    }
    return places;
  }

  @Override
  public Optional<Shard> shardOn(Pe pe) {
    host.checkUse(this, pe);
    return parts.shardOn(pe, name);
  }

  /**
   * Which elements each PE holds, copies included, in structural order; PEs that hold none are left
   * out.
   *
   * @throws SimulationException if its elements do not follow one another in memory
   */
  public Map<Pe, List<ElementRun>> runs() {
    checkInOrder("runs of");
    return parts.runs();
  }

  // ---- lifetime ----

  /** Gives the memory back, once no kernel under way can use it. Does nothing the second time. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      if (owner == this) {
        host.release(this);
      }
    }
  }

  /** Whether it has been closed. */
  public boolean isClosed() {
    return closed || owner.closed;
  }

  void giveBack() {
    host.memory().count(purpose, -parts.heldBytes());
    parts.giveBack(host.memory());
  }

  /**
   * Says what its memory is for, for {@link Torch#memoryByPurpose}; of a view, that of which it is
   * a part. Changes nothing else.
   *
   * @return this tensor
   */
  public Tensor heldAs(Purpose given) {
    if (!owner.closed) {
      long bytes = owner.parts.heldBytes();
      host.memory().count(owner.purpose, -bytes);
      host.memory().count(given, bytes);
      owner.purpose = given;
    }
    return this;
  }

  void usedBy(Launch launch) {
    owner.written++;
    owner.users = with(owner.users, launch);
    owner.writers = with(owner.writers, launch);
  }

  /** Notes a launch that reads this tensor and does not write to it. */
  void readBy(Launch launch) {
    owner.users = with(owner.users, launch);
  }

  private static List<Launch> with(List<Launch> under, Launch way) {
    List<Launch> all = under.isEmpty() ? new ArrayList<>(2) : under;
    all.removeIf(Launch::isDone);
    all.add(way);
    return all;
  }

  /** Kernels under way that were launched with this tensor and may write to it. */
  List<Launch> writers() {
    if (!owner.writers.isEmpty()) {
      owner.writers.removeIf(Launch::isDone);
    }
    return List.copyOf(owner.writers);
  }

  /** Whether there may be any {@link #users}. */
  boolean isUsed() {
    return !owner.users.isEmpty();
  }

  /** Kernels under way that were launched with this tensor. */
  List<Launch> users() {
    if (owner != this) {
      return owner.users();
    }
    if (!users.isEmpty()) {
      users.removeIf(Launch::isDone);
    }
    return List.copyOf(users);
  }

  void checkUsable(String what) {
    if (closed || owner.closed) {
      throw new SimulationException(
          what + " of tensor " + name + ", which is closed; use it before it is closed");
    }
  }

  boolean belongsTo(TensorHost other) {
    return host == other;
  }

  // ---- the host writes ----

  /**
   * Overwrites the contents with those of another tensor of the same shape, rounded to this dtype
   * ({@code copy_} in PyTorch). Kernels under way that use either tensor complete first.
   */
  @HostRead
  public Tensor copyInPlace(Tensor source) {
    checkUsable("copyInPlace");
    source.checkUsable("copyInPlace from");
    if (!source.shape.equals(shape)) {
      throw new ShapeException(
          """
          copyInPlace: source %s has shape %s, target %s has %s; expected equal shapes\
          """
              .formatted(source.name, source.shape, name, shape));
    }
    source.settle();
    settle();
    if (host.hasValues()) {
      byte[] bytes = source.readAll();
      int n = count();
      byte[] rounded = new byte[hostBytes(dtype.sizeBytes())];
      Numerics.cast(source.dtype, bytes, 0, dtype, rounded, 0, n);
      writeAll(rounded);
    }
    return this;
  }

  /** Overwrites the contents with host values, row-major, rounded to this dtype. */
  public Tensor copyInPlace(float[] values) {
    checkUsable("copyInPlace");
    checkCount(values.length);
    settle();
    if (host.hasValues()) {
      byte[] f32 = new byte[hostBytes(Float.BYTES)];
      ByteBuffer.wrap(f32).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().put(values);
      byte[] rounded = new byte[hostBytes(dtype.sizeBytes())];
      Numerics.cast(DType.F32, f32, 0, dtype, rounded, 0, values.length);
      writeAll(rounded);
    }
    return this;
  }

  /** Overwrites the contents with host values, row-major, each rounded once to this dtype. */
  public Tensor copyInPlace(double[] values) {
    checkUsable("copyInPlace");
    checkCount(values.length);
    settle();
    if (host.hasValues()) {
      byte[] rounded = new byte[hostBytes(dtype.sizeBytes())];
      Numerics.fromDoubles(dtype, values, rounded, 0);
      writeAll(rounded);
    }
    return this;
  }

  /**
   * Overwrites the contents with elements of this dtype, row-major and little-endian, as {@link
   * #toBytes} gives them.
   *
   * @throws SimulationException if there are not as many bytes as the tensor has
   */
  public Tensor copyInPlace(byte[] elements) {
    checkUsable("copyInPlace");
    checkSize(elements.length);
    settle();
    if (host.hasValues()) {
      writeAll(elements);
    }
    return this;
  }

  /**
   * Overwrites the contents with elements of this dtype, row-major and little-endian, from any
   * memory, for example a file that is mapped; a tensor may have more than 2 GiB.
   *
   * @throws SimulationException if there are not as many bytes as the tensor has
   */
  public Tensor copyInPlace(MemorySegment elements) {
    checkUsable("copyInPlace");
    checkSize(elements.byteSize());
    settle();
    if (host.hasValues()) {
      owner.version++;
      bulk().write(elements);
    }
    return this;
  }

  /**
   * What {@link #copyInPlace(MemorySegment)} does, without a copy of what lies in the tensor as it
   * does in the loan: device memory reads it there until a kernel or the host writes over it.
   *
   * @throws SimulationException if there are not as many bytes as the tensor has
   */
  public Tensor lendInPlace(Loan elements) {
    checkUsable("lendInPlace");
    checkSize(elements.bytes().byteSize());
    settle();
    if (host.hasValues()) {
      owner.version++;
      bulk().lend(elements);
    }
    return this;
  }

  private TensorParts.Bulk bulk() {
    return new TensorParts.Bulk(host.simulator(), shape, dtype.sizeBytes(), parts.inMemory());
  }

  private void checkSize(long bytes) {
    if (bytes != sizeBytes()) {
      throw new SimulationException(
          "tensor %s of shape %s and dtype %s has %s bytes, got %s; expected as many"
              .formatted(name, shape, dtype, sizeBytes(), bytes));
    }
  }

  /** Sets every element ({@code fill_} in PyTorch). */
  public Tensor fillInPlace(double value) {
    checkUsable("fillInPlace");
    settle();
    if (host.hasValues()) {
      int size = dtype.sizeBytes();
      owner.version++;
      byte[] chunk = new byte[CHUNK_BYTES];
      Numerics.fill(dtype, value, chunk, 0, CHUNK_BYTES / size);
      for (Part part : parts.inMemory()) {
        for (long at = 0; at < part.bytes(); at += CHUNK_BYTES) {
          int step = (int) Math.min(CHUNK_BYTES, part.bytes() - at);
          host.simulator().write(part.at().plus(at), chunk, 0, step);
        }
      }
    }
    return this;
  }

  void writeAll(byte[] whole) {
    owner.version++;
    int size = dtype.sizeBytes();
    for (Part part : parts.inMemory()) {
      ShardCopy copy = new ShardCopy(shape, part.spec(), size);
      int bytes = Math.toIntExact(part.bytes());
      byte[] data = whole;
      if (!copy.isWhole()) {
        data = new byte[bytes];
        copy.gather(whole, data);
      }
      host.simulator().write(part.at(), data, 0, bytes);
    }
  }

  // ---- the host reads ----

  /** All elements, row-major, as f32 ({@code numpy()} in PyTorch). */
  @HostRead
  public float[] toFloats() {
    byte[] bytes = settledBytes("toFloats");
    int n = count();
    byte[] f32 = new byte[hostBytes(Float.BYTES)];
    Numerics.cast(dtype, bytes, 0, DType.F32, f32, 0, n);
    float[] values = new float[n];
    ByteBuffer.wrap(f32).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(values);
    return values;
  }

  /** All elements, row-major, as f64: exact for every dtype but i64. */
  @HostRead
  public double[] toDoubles() {
    byte[] bytes = settledBytes("toDoubles");
    double[] values = new double[count()];
    Numerics.toDoubles(dtype, bytes, 0, values);
    return values;
  }

  /** All elements, row-major and little-endian, as they lie in memory. */
  @HostRead
  public byte[] toBytes() {
    return settledBytes("toBytes");
  }

  /**
   * What {@link #toBytes} gives, into memory of the caller; a tensor may have more than 2 GiB.
   *
   * @throws SimulationException if there are not as many bytes as the tensor has
   */
  @HostRead
  public void toMemory(MemorySegment to) {
    checkUsable("toMemory");
    checkSize(to.byteSize());
    settle();
    parts.inMemory().forEach(this::checkWritten);
    bulk().read(to);
  }

  /** Whether each part is one run of neighbouring elements, as {@link #toRuns} wants it. */
  public boolean isInRuns() {
    return parts.inMemory().stream().allMatch(part -> part.spec().isRunOf(shape));
  }

  /** What {@link #toBytes} gives, in runs of many bytes; their order is that of the parts. */
  @HostRead
  public void toRuns(RunSink to) {
    checkUsable("toRuns");
    settle();
    parts.inMemory().forEach(this::checkWritten);
    bulk().read(to);
  }

  /** One element. */
  @HostRead
  public double get(int... index) {
    checkUsable("get");
    boolean inside = index.length == shape.rank();
    for (int axis = 0; inside && axis < index.length; axis++) {
      inside = index[axis] >= 0 && index[axis] < shape.dim(axis);
    }
    if (!inside) {
      throw new ShapeException(
          """
          tensor %s: index %s is out of range for shape %s; expected %s indices, each \
          from 0 to its extent less one\
          """
              .formatted(name, Arrays.toString(index), shape, shape.rank()));
    }
    settle();
    return element(index);
  }

  private double element(int[] index) {
    int size = dtype.sizeBytes();
    Part part = partWith(index);
    VirtualAddress at = address(part, index);
    byte[] one = new byte[size];
    host.simulator().read(at, one, 0, size);
    if (host.simulator().firstUnwritten(at, size) >= 0) {
      throw unwritten(index, part.spec());
    }
    return dtype.getDouble(one, 0);
  }

  private String elementText(int[] index) {
    VirtualAddress at = address(partWith(index), index);
    boolean known = host.simulator().firstUnwritten(at, dtype.sizeBytes()) < 0;
    return known ? String.valueOf(element(index)) : "?";
  }

  /** The part that has an element. */
  private Part partWith(int[] index) {
    for (Part part : parts.inMemory()) {
      if (position(part, index) >= 0) {
        return part;
      }
    }
    throw new IllegalStateException("no part of " + name + " has " + Arrays.toString(index));
  }

  private long position(Part part, int[] index) {
    return new ShardCopy(shape, part.spec(), dtype.sizeBytes()).position(index);
  }

  private VirtualAddress address(Part part, int[] index) {
    return part.at().plus(position(part, index) * dtype.sizeBytes());
  }

  /**
   * Writes a {@code .npy} file that NumPy reads back. bf16 and the 8-bit floats do not exist there:
   * copy to an f32 tensor first.
   */
  @HostRead
  public void save(Path file) {
    byte[] bytes = settledBytes("save");
    try {
      Npy.write(file, dtype, shape, bytes);
    } catch (IOException e) {
      throw new SimulationException(
          """
          tensor %s cannot be saved to %s: %s; expected a file that can be written, in a \
          folder that exists\
          """
              .formatted(name, file, reason(e)));
    }
  }

  /**
   * For example {@code Tensor(x, f32[2], [1.0, 2.0])}. Shows the first and last elements of large
   * ones, {@code ?} for elements that were never written, and no values where there are none.
   */
  @Override
  @HostRead
  public String toString() {
    String what = "Tensor(" + name + ", " + dtype + shape;
    if (closed) {
      return what + ", closed)";
    }
    if (!host.hasValues() || host.isDriving() || host.isStopped()) {
      return what + ")";
    }
    settle();
    long n = shape.elements();
    StringBuilder s = new StringBuilder(what).append(", [");
    for (long i = 0; i < n; i++) {
      if (n > SHOWN && i == ENDS) {
        s.append("…, ");
        i = n - ENDS;
      }
      s.append(elementText(index(i, shape))).append(i == n - 1 ? "" : ", ");
    }
    return s.append("])").toString();
  }

  private static int[] index(long position, Shape of) {
    int[] index = new int[of.rank()];
    long rest = position;
    for (int axis = index.length - 1; axis >= 0; axis--) {
      index[axis] = (int) (rest % of.dim(axis));
      rest /= of.dim(axis);
    }
    return index;
  }

  private byte[] settledBytes(String what) {
    checkUsable(what);
    settle();
    return readAll();
  }

  private byte[] readAll() {
    int size = dtype.sizeBytes();
    byte[] whole = new byte[hostBytes(size)];
    for (Part part : parts.inMemory()) {
      if (part.bytes() == 0) {
        continue;
      }
      ShardCopy copy = new ShardCopy(shape, part.spec(), size);
      byte[] data = copy.isWhole() ? whole : new byte[Math.toIntExact(part.bytes())];
      host.simulator().read(part.at(), data, 0, data.length);
      checkWritten(part);
      if (!copy.isWhole()) {
        copy.scatter(data, whole);
      }
    }
    return whole;
  }

  /** Refuses contents that nobody has produced. */
  private void checkWritten(Part part) {
    long at = host.simulator().firstUnwritten(part.at(), part.bytes());
    if (at >= 0) {
      int[] index = index(at / dtype.sizeBytes(), part.spec().shape());
      for (int axis = 0; axis < index.length; axis++) {
        index[axis] += part.spec().offset().get(axis);
      }
      throw unwritten(index, part.spec());
    }
  }

  private SimulationException unwritten(int[] index, ShardSpec spec) {
    String why =
        host.hasValues()
            ? """
            is read before anything was written to it; make the tensor with zeros or full, or \
            let a kernel store all of it\
            """
            : "is read, and mode time computes no values; use mode full or values";
    return new SimulationException(
        "tensor %s: element %s at %s %s"
            .formatted(name, Arrays.toString(index), spec.place(), why));
  }

  /** The host-read barrier. */
  private void settle() {
    host.settle(this);
  }

  private int count() {
    return Math.toIntExact(shape.elements());
  }

  private int hostBytes(int elementBytes) {
    long bytes = shape.elements() * elementBytes;
    if (bytes > Integer.MAX_VALUE) {
      throw new SimulationException(
          """
          tensor %s has %s, more than the host moves at once (2 GiB); use several \
          tensors, or get and fillInPlace\
          """
              .formatted(name, Sizes.of(bytes)));
    }
    return (int) bytes;
  }

  private void checkCount(long values) {
    if (values != shape.elements()) {
      throw new ShapeException(
          "tensor %s of shape %s has %s elements, got %s values; expected as many"
              .formatted(name, shape, shape.elements(), values));
    }
  }

  /** Why a file could not be read or written. */
  static String reason(IOException e) {
    return e instanceof NoSuchFileException ? "no such file" : String.valueOf(e.getMessage());
  }
}
