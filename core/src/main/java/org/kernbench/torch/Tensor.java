package org.kernbench.torch;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.SimulationException;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Npy;
import org.kernbench.tensor.Numerics;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.DeviceTensor;
import org.kernbench.tl.Shard;

/**
 * A dense tensor in device memory, laid over the PEs of one device. {@link Torch} makes them;
 * {@link #close} gives their memory back.
 *
 * <p>Reads of the host (marked {@link HostRead}) first complete the kernels that could still change
 * the tensor. Of a replicated part they show the first copy in structural order. To read an element
 * that nobody has written is an error; as text it is {@code ?}.
 */
public final class Tensor implements DeviceTensor, AutoCloseable {
  private static final int SHOWN = 64;
  private static final int ENDS = 3;
  private static final int CHUNK_BYTES = 1 << 16;

  private final Session session;
  private final String name;
  private final Shape shape;
  private final DType dtype;
  private final List<ShardSpec> specs;
  private final List<Shard> shards;
  private final long[] offsets;
  private @Nullable Map<Pe, Integer> byPe;
  private List<Launch> users = List.of();
  private boolean closed;

  private Tensor(
      Session session,
      String name,
      Shape shape,
      DType dtype,
      List<ShardSpec> specs,
      List<Shard> shards,
      long[] offsets) {
    this.session = session;
    this.name = name;
    this.shape = shape;
    this.dtype = dtype;
    this.specs = specs;
    this.shards = shards;
    this.offsets = offsets;
  }

  static Tensor allocate(
      Session session, String name, Shape shape, DType dtype, DpPolicy policy, Device device) {
    List<ShardSpec> specs = Placement.resolve(name, shape, policy, device);
    long[] offsets = new long[specs.size()];
    List<Shard> shards = new ArrayList<>(specs.size());
    int done = 0;
    try {
      for (ShardSpec spec : specs) {
        long bytes = spec.shape().elements() * dtype.sizeBytes();
        offsets[done] = session.allocate(spec.place(), bytes, name);
        PhysicalAddress address = session.machine.addresses().hbm(spec.place(), offsets[done]);
        shards.add(new Shard(name, address, spec.shape(), dtype));
        done++;
      }
    } finally {
      if (done < specs.size()) {
        giveBack(session, specs, offsets, done, dtype);
      }
    }
    return new Tensor(session, name, shape, dtype, specs, List.copyOf(shards), offsets);
  }

  private static void giveBack(
      Session session, List<ShardSpec> specs, long[] offsets, int count, DType dtype) {
    for (int i = 0; i < count; i++) {
      ShardSpec spec = specs.get(i);
      session.hbm.free(spec.place(), offsets[i], spec.shape().elements() * dtype.sizeBytes());
    }
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

  /** Where its parts lie and which parts they are, in structural order. */
  public List<ShardSpec> shardSpecs() {
    return specs;
  }

  /** Its parts in memory, in the order of {@link #shardSpecs}. */
  public List<Shard> shards() {
    return shards;
  }

  /** The PEs that hold a part, in structural order. */
  Set<Pe> places() {
    Set<Pe> places = new LinkedHashSet<>();
    for (ShardSpec spec : specs) {
      places.add(spec.place());
    }
    return places;
  }

  @Override
  public Optional<Shard> shardOn(Pe pe) {
    session.checkUse(this, pe);
    if (shards.size() == 1) {
      return specs.getFirst().place().equals(pe)
          ? Optional.of(shards.getFirst())
          : Optional.empty();
    }
    Map<Pe, Integer> index = byPe;
    if (index == null) {
      index = new HashMap<>();
      for (int i = 0; i < specs.size(); i++) {
        index.put(specs.get(i).place(), i);
      }
      byPe = index;
    }
    Integer i = index.get(pe);
    return i == null ? Optional.empty() : Optional.of(shards.get(i));
  }

  // ---- lifetime ----

  /** Gives the memory back, once no kernel under way can use it. Does nothing the second time. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      session.release(this);
    }
  }

  /** Whether it has been closed. */
  public boolean isClosed() {
    return closed;
  }

  void giveBack() {
    giveBack(session, specs, offsets, specs.size(), dtype);
    for (Shard s : shards) {
      session.simulator.erase(s.address(), s.shape().elements() * dtype.sizeBytes());
    }
  }

  void usedBy(Launch launch) {
    if (users.isEmpty()) {
      users = new ArrayList<>(2);
    } else {
      users.removeIf(Launch::isDone);
    }
    users.add(launch);
  }

  /** Kernels under way that were launched with this tensor. */
  List<Launch> users() {
    if (!users.isEmpty()) {
      users.removeIf(Launch::isDone);
    }
    return List.copyOf(users);
  }

  void checkUsable(String what) {
    if (closed) {
      throw new SimulationException(
          what + " of tensor " + name + ", which is closed; use it before it is closed");
    }
  }

  boolean belongsTo(Session other) {
    return session == other;
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
          "copyInPlace: source "
              + source.name
              + " has shape "
              + source.shape
              + ", target "
              + name
              + " has "
              + shape
              + "; expected equal shapes");
    }
    source.settle();
    settle();
    if (session.hasValues()) {
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
    if (session.hasValues()) {
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
    if (session.hasValues()) {
      byte[] rounded = new byte[hostBytes(dtype.sizeBytes())];
      for (int i = 0; i < values.length; i++) {
        dtype.putDouble(rounded, i * dtype.sizeBytes(), values[i]);
      }
      writeAll(rounded);
    }
    return this;
  }

  /** Sets every element ({@code fill_} in PyTorch). */
  public Tensor fillInPlace(double value) {
    checkUsable("fillInPlace");
    settle();
    if (session.hasValues()) {
      int size = dtype.sizeBytes();
      byte[] chunk = new byte[CHUNK_BYTES];
      Numerics.fill(dtype, value, chunk, 0, CHUNK_BYTES / size);
      for (Shard s : shards) {
        long bytes = s.shape().elements() * size;
        for (long at = 0; at < bytes; at += CHUNK_BYTES) {
          int step = (int) Math.min(CHUNK_BYTES, bytes - at);
          session.simulator.write(s.address().plus(at), chunk, 0, step);
        }
      }
    }
    return this;
  }

  void writeAll(byte[] whole) {
    int size = dtype.sizeBytes();
    for (int i = 0; i < shards.size(); i++) {
      Shard s = shards.get(i);
      ShardCopy copy = new ShardCopy(shape, specs.get(i), size);
      int bytes = Math.toIntExact(s.shape().elements() * size);
      byte[] part = whole;
      if (!copy.isWhole()) {
        part = new byte[bytes];
        copy.gather(whole, part);
      }
      session.simulator.write(s.address(), part, 0, bytes);
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
    for (int i = 0; i < values.length; i++) {
      values[i] = dtype.getDouble(bytes, i * dtype.sizeBytes());
    }
    return values;
  }

  /** All elements, row-major and little-endian, as they lie in memory. */
  @HostRead
  public byte[] toBytes() {
    return settledBytes("toBytes");
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
          "tensor "
              + name
              + ": index "
              + Arrays.toString(index)
              + " is out of range for shape "
              + shape
              + "; expected "
              + shape.rank()
              + " indices, each from 0 to its extent less one");
    }
    settle();
    return element(index);
  }

  private double element(int[] index) {
    int size = dtype.sizeBytes();
    int i = holder(index);
    PhysicalAddress at = address(i, index);
    byte[] one = new byte[size];
    session.simulator.read(at, one, 0, size);
    if (session.simulator.firstUnwritten(at, size) >= 0) {
      throw unwritten(index, specs.get(i));
    }
    return dtype.getDouble(one, 0);
  }

  private String elementText(int[] index) {
    PhysicalAddress at = address(holder(index), index);
    boolean known = session.simulator.firstUnwritten(at, dtype.sizeBytes()) < 0;
    return known ? String.valueOf(element(index)) : "?";
  }

  /** The first shard with an element. */
  private int holder(int[] index) {
    for (int i = 0; i < specs.size(); i++) {
      if (position(i, index) >= 0) {
        return i;
      }
    }
    throw new IllegalStateException("no shard of " + name + " holds " + Arrays.toString(index));
  }

  private long position(int shard, int[] index) {
    return new ShardCopy(shape, specs.get(shard), dtype.sizeBytes()).position(index);
  }

  private PhysicalAddress address(int shard, int[] index) {
    return shards.get(shard).address().plus(position(shard, index) * dtype.sizeBytes());
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
          "tensor "
              + name
              + " cannot be saved to "
              + file
              + ": "
              + Torch.reason(e)
              + "; expected a file that can be written, in a folder that exists");
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
    if (!session.hasValues() || session.isDriving() || session.isStopped()) {
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
    Set<List<Integer>> seen = new HashSet<>(); // of several copies the first one shows
    for (int i = 0; i < shards.size(); i++) {
      ShardSpec spec = specs.get(i);
      if (spec.shape().elements() == 0 || !seen.add(spec.offset())) {
        continue;
      }
      ShardCopy copy = new ShardCopy(shape, spec, size);
      byte[] part =
          copy.isWhole() ? whole : new byte[Math.toIntExact(spec.shape().elements() * size)];
      session.simulator.read(shards.get(i).address(), part, 0, part.length);
      checkWritten(i, part.length);
      if (!copy.isWhole()) {
        copy.scatter(part, whole);
      }
    }
    return whole;
  }

  /** Refuses contents that nobody has produced. */
  private void checkWritten(int shard, long bytes) {
    long at = session.simulator.firstUnwritten(shards.get(shard).address(), bytes);
    if (at >= 0) {
      ShardSpec spec = specs.get(shard);
      int[] index = index(at / dtype.sizeBytes(), spec.shape());
      for (int axis = 0; axis < index.length; axis++) {
        index[axis] += spec.offset().get(axis);
      }
      throw unwritten(index, spec);
    }
  }

  private SimulationException unwritten(int[] index, ShardSpec spec) {
    return new SimulationException(
        "tensor "
            + name
            + ": element "
            + Arrays.toString(index)
            + " at "
            + spec.place()
            + " is read before anything was written to it; make the tensor with zeros or full, or"
            + " let a kernel store all of it");
  }

  /** The host-read barrier. */
  private void settle() {
    session.settle(this);
  }

  private int count() {
    return Math.toIntExact(shape.elements());
  }

  private int hostBytes(int elementBytes) {
    long bytes = shape.elements() * elementBytes;
    if (bytes > Integer.MAX_VALUE) {
      throw new SimulationException(
          "tensor "
              + name
              + " has "
              + HbmAllocator.size(bytes)
              + ", more than the host moves at once (2 GiB); use several tensors, or get and"
              + " fillInPlace");
    }
    return (int) bytes;
  }

  private void checkCount(long values) {
    if (values != shape.elements()) {
      throw new ShapeException(
          "tensor "
              + name
              + " of shape "
              + shape
              + " has "
              + shape.elements()
              + " elements, got "
              + values
              + " values; expected as many");
    }
  }
}
