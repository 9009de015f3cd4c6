package org.kernbench.tl;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.LaneMask;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OperandView;
import org.kernbench.device.log.ProtocolTime;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.ArgReduceOp;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.CompareOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tensor.UnaryOp;

/**
 * What a kernel sees of the PE it runs on. Every call issues a command and returns at once; values
 * appear when simulated time has produced them. Only {@link #item}, {@link #clock} and {@link
 * #recvAny} look at the result of that time and therefore suspend the kernel.
 */
public final class Tl {
  private final PePort port;
  private final LaunchGrid grid;
  private final Optional<ComputeOp.Whole> whole;
  private @Nullable Scope scope;
  private @Nullable LongConsumer beforeSend;

  // the directions used so far, so that a message costs no map look-up
  private final String[] directions = new String[8];
  private final int[] queues = new int[8];
  private int knownDirections;

  /** The direction that recvAny has taken a message from last. */
  private String lastServed = "";

  /** What was put and not yet waited for. */
  private final List<Handle> puts = new ArrayList<>();

  /** How often flags are known to have been raised. */
  private final Map<String, Integer> raised = new HashMap<>();

  /** The shape asked for last by {@link #vector}: kernels cut vectors into equal parts. */
  private Shape vector = Shape.of(0);

  /** The view of one program instance; kernels are handed theirs. */
  public Tl(PePort port, LaunchGrid grid) {
    this(port, grid, Optional.empty());
  }

  /**
   * The view of the tile scheduler.
   *
   * @param whole the product of which all products are steps
   */
  Tl(PePort port, LaunchGrid grid, Optional<ComputeOp.Whole> whole) {
    this.port = port;
    this.grid = grid;
    this.whole = whole;
  }

  // ---- identity ----

  /**
   * Where the program runs: axis 0 the PE in its cube, 1 the cube in its SIP, 2 the SIP in the
   * launch.
   */
  public int programId(int axis) {
    Pe pe = port.pe();
    return switch (axis) {
      case 0 -> pe.pe();
      case 1 -> pe.cube();
      case 2 -> pe.sip() - grid.firstSip();
      default ->
          throw new IllegalArgumentException(
              "programId axis " + axis + "; expected 0 (PE), 1 (cube) or 2 (SIP)");
    };
  }

  /** Extent of the axis of {@link #programId}. */
  public int numPrograms(int axis) {
    return switch (axis) {
      case 0 -> port.machine().pesPerCube();
      case 1 -> port.machine().cubesPerSip();
      case 2 -> grid.sips();
      default ->
          throw new IllegalArgumentException(
              "numPrograms axis " + axis + "; expected 0 (PE), 1 (cube) or 2 (SIP)");
    };
  }

  /** The structural coordinate of the program's PE. */
  public Pe pe() {
    return port.pe();
  }

  /** Ceiling of {@code a / b}. */
  public static int cdiv(int a, int b) {
    return Math.ceilDiv(a, b);
  }

  // ---- memory ----

  /**
   * The part of a tensor that lies at this PE.
   *
   * @throws SimulationException if none does
   */
  public Shard shard(DeviceTensor tensor) {
    return tensor
        .shardOn(port.pe())
        .orElseThrow(() ->
            new SimulationException(
                """
                tensor %s has no shard at %s; launch only where it lies, or return early for \
                other program ids\
                """
                    .formatted(tensor.name(), port.pe())));
  }

  /**
   * All of a tensor, wherever it lies: a load or store of a part of it goes to the PEs that hold
   * it, a copy on this PE or near it first. A store reaches one copy, the same that a load reads.
   *
   * @throws SimulationException if its elements do not follow one another in memory, as those of a
   *     tensor that is spread along its last axis
   */
  public Shard whole(DeviceTensor tensor) {
    return tensor.whole(port.pe());
  }

  /**
   * A block of all of a tensor, taken as a matrix of its last axis' rows; see {@link #whole}.
   *
   * @throws RangeException naming tensor, index and extent
   */
  public Slice block(DeviceTensor tensor, int row, int rows, int column, int columns) {
    Shard all = whole(tensor);
    int width = all.shape().rank() == 0 ? 1 : all.shape().dim(all.shape().rank() - 1);
    int height = width == 0 ? 0 : Math.toIntExact(all.shape().elements() / width);
    return all.as(height, width).block(row, rows, column, columns);
  }

  /**
   * Refers to this PE's whole shard of a tensor without moving anything: what a {@link
   * #load(Slice)} or {@link #store(Slice, Value)} names. For a part, see {@link Shard#range} and
   * {@link Shard#block}.
   */
  public Slice ref(DeviceTensor tensor) {
    return shard(tensor).whole();
  }

  /** Loads this PE's whole shard of a tensor. */
  public Value load(DeviceTensor tensor) {
    return load(ref(tensor));
  }

  /** Loads a slice from memory into scratch. */
  public Value load(Slice slice) {
    return made(port.load(slice.region()), slice.shape(), slice.shard().dtype());
  }

  /**
   * Loads dense elements from a virtual address on, wherever they are: a command of its own for
   * each memory that holds some of them. The tensor must be one that the kernel was launched with.
   *
   * @throws SimulationException if no tensor lies there
   */
  public Value load(VirtualAddress from, Shape shape, DType dtype) {
    return load(new Shard("at " + from, from, shape, dtype).whole());
  }

  /**
   * Stores a value densely from a virtual address on; see {@link #load(VirtualAddress, Shape,
   * DType)}.
   */
  public Handle store(VirtualAddress to, Value value) {
    return store(new Shard("at " + to, to, value.shape(), value.dtype()).whole(), value);
  }

  /**
   * Loads the elements of a slice where a mask is true; the others are not read and are {@code
   * other}. The transfer is charged in full.
   *
   * @param mask bool, of the slice's shape or one that broadcasts to it
   */
  public Value load(Slice slice, Value mask, double other) {
    DType dtype = slice.shard().dtype();
    Value bools = bools(slice, mask);
    LaneMask lanes = lanes(dtype, bools, other);
    Value loaded = made(port.load(slice.region(), lanes), slice.shape(), dtype);
    releaseCopy(bools, mask);
    return loaded;
  }

  /**
   * Stores the elements of a value where a mask is true; the others are left as they are in memory.
   *
   * @param mask bool, of the slice's shape or one that broadcasts to it
   */
  public Handle store(Slice slice, Value value, Value mask) {
    checkStore(slice, value);
    Value bytes = value.dense();
    Value bools = bools(slice, mask);
    LaneMask lanes = lanes(slice.shard().dtype(), bools, 0);
    Handle done = new Handle(port.store(bytes.register, bytes.offset, slice.region(), lanes));
    releaseCopy(bytes, value);
    releaseCopy(bools, mask);
    return done;
  }

  private static Value bools(Slice slice, Value mask) {
    return mask("mask of " + slice.shard().name(), mask).broadcastTo(slice.shape()).dense();
  }

  private static LaneMask lanes(DType dtype, Value bools, double other) {
    byte[] element = new byte[Long.BYTES];
    dtype.putDouble(element, 0, other);
    return new LaneMask(
        bools.register,
        bools.offset,
        dtype.sizeBytes(),
        new LaneMask.Lane(DType.I64.getLong(element, 0)));
  }

  /** Stores a value over this PE's whole shard of a tensor. */
  public Handle store(DeviceTensor tensor, Value value) {
    return store(ref(tensor), value);
  }

  /**
   * Stores a value to memory. Later loads of the same bytes by this program wait for it; other
   * programs see it when they are ordered after the {@link #await} of the handle.
   */
  public Handle store(Slice slice, Value value) {
    checkStore(slice, value);
    Value bytes = value.dense();
    Handle done = new Handle(port.store(bytes.register, bytes.offset, slice.region()));
    releaseCopy(bytes, value);
    return done;
  }

  private static void checkStore(Slice slice, Value value) {
    if (slice.shape().elements() != value.shape().elements()
        || slice.shard().dtype() != value.dtype()) {
      throw new ShapeException(
          "store to %s: value is %s, the slice is %s%s; cast or reshape the value"
              .formatted(slice.shard().name(), value, slice.shard().dtype(), slice.shape()));
    }
  }

  // ---- making values ----

  /** A value with every element {@code fill}. */
  public Value full(Shape shape, double fill, DType dtype) {
    int n = Math.toIntExact(shape.elements());
    return compute(new ComputeOp.Fill(dtype, n, fill), shape, dtype);
  }

  /** A value of zeros. */
  public Value zeros(Shape shape, DType dtype) {
    return full(shape, 0, dtype);
  }

  /** {@code start, start + 1, … end - 1} as i32, for positions and masks. */
  public Value arange(int start, int end) {
    return arange(start, 1, Math.max(0, end - start), DType.I32);
  }

  /** {@code start + i * step} for {@code count} elements. */
  public Value arange(double start, double step, int count, DType dtype) {
    return compute(new ComputeOp.Arange(dtype, count, start, step), Shape.of(count), dtype);
  }

  /**
   * Random numbers by counter, uniform in [0, 1), in f32: number {@code offsets[i]} of a key, the
   * same whoever draws it ({@code tl.rand} of Triton, which uses one of the four words of each
   * counter of Philox 4x32-10; here number {@code o} is word {@code o mod 4} of counter {@code o /
   * 4}, as in cuRAND, so that four neighbours share the work).
   *
   * @param key one i64
   * @param offsets i32, taken without sign, or i64
   */
  public Value rand(Value key, Value offsets) {
    if (key.elements() != 1
        || key.dtype() != DType.I64
        || (offsets.dtype() != DType.I32 && offsets.dtype() != DType.I64)) {
      throw new ShapeException(
          "rand of key %s and offsets %s; expected one i64, and i32 or i64; cast first"
              .formatted(key, offsets));
    }
    return compute(
        new ComputeOp.Random(offsets.dtype(), offsets.elements()),
        offsets.shape(),
        DType.F32,
        key,
        offsets);
  }

  /**
   * As {@link #rand(Value, Value)}, with a key that the kernel knows.
   *
   * @param key a whole number from 0 to below 2^53
   */
  public Value rand(long key, Value offsets) {
    if (key < 0 || key >= 1L << 53) {
      throw new IllegalArgumentException(
          "rand with key " + key + "; expected 0 to below 2^53, or a key as a value, one i64");
    }
    return rand(full(Shape.of(1), key, DType.I64), offsets);
  }

  /**
   * Values one after the other along an axis.
   *
   * @param axis negative counts from the last
   */
  public Value concat(int axis, Value first, Value... more) {
    Value all = first;
    for (int i = 0; i < more.length; i++) {
      Value longer = concat(axis, all, more[i]);
      if (i > 0) {
        release(all); // nobody else has seen it
      }
      all = longer;
    }
    return all;
  }

  private Value concat(int axis, Value a, Value b) {
    Shape s = a.shape();
    int at = s.axis(axis);
    if (a.dtype() != b.dtype()
        || b.shape().rank() != s.rank()
        || !b.shape().with(at, 1).equals(s.with(at, 1))) {
      throw new ShapeException(
          """
          concat of %s and %s along axis %s: expected equal dtypes and equal extents on \
          the other axes\
          """
              .formatted(a, b, axis));
    }
    int outer = Math.toIntExact(s.outer(at));
    int inner = Math.toIntExact(s.inner(at));
    Shape to = s.with(at, s.dim(at) + b.shape().dim(at));
    return compute(
        new ComputeOp.Concat(a.dtype(), outer, s.dim(at) * inner, b.shape().dim(at) * inner),
        to,
        a.dtype(),
        a,
        b);
  }

  // ---- arithmetic ----

  Value binary(BinaryOp op, Value a, Value b) {
    Shape s = common(op, a, b);
    return compute(
        new ComputeOp.Binary(op, a.dtype(), elements(s)),
        s,
        a.dtype(),
        a.broadcastTo(s),
        b.broadcastTo(s));
  }

  Value binary(BinaryOp op, Value a, double scalar) {
    return compute(
        new ComputeOp.BinaryScalar(op, a.dtype(), a.elements(), scalar), a.shape(), a.dtype(), a);
  }

  Value binary(BinaryOp op, double scalar, Value a) {
    return compute(
        new ComputeOp.ScalarBinary(op, a.dtype(), a.elements(), scalar), a.shape(), a.dtype(), a);
  }

  Value unary(UnaryOp op, Value a) {
    return compute(new ComputeOp.Unary(op, a.dtype(), a.elements()), a.shape(), a.dtype(), a);
  }

  /** {@code a * b + c}, rounded once; floating-point types, shapes broadcast. */
  public Value fma(Value a, Value b, Value c) {
    Shape s = Shape.broadcast(common("fma", a, b), common("fma", a, c));
    return compute(
        new ComputeOp.Fma(a.dtype(), elements(s)),
        s,
        a.dtype(),
        a.broadcastTo(s),
        b.broadcastTo(s),
        c.broadcastTo(s));
  }

  Value clamp(Value a, double low, double high) {
    if (!(low <= high)) {
      throw new ShapeException(
          "clamp of " + a + " to [" + low + ", " + high + "]: expected low <= high");
    }
    return compute(
        new ComputeOp.Clamp(a.dtype(), a.elements(), low, high), a.shape(), a.dtype(), a);
  }

  Value compare(CompareOp op, Value a, Value b) {
    Shape s = common(op, a, b);
    return compute(
        new ComputeOp.Compare(op, a.dtype(), elements(s)),
        s,
        DType.BOOL,
        a.broadcastTo(s),
        b.broadcastTo(s));
  }

  Value compare(CompareOp op, Value a, double scalar) {
    return compute(
        new ComputeOp.CompareScalar(op, a.dtype(), a.elements(), scalar), a.shape(), DType.BOOL, a);
  }

  /** {@code condition ? a : b}, element by element; shapes broadcast. */
  public Value where(Value condition, Value a, Value b) {
    Shape s = Shape.broadcast(condition.shape(), common("where", a, b));
    return compute(
        new ComputeOp.Where(a.dtype(), elements(s)),
        s,
        a.dtype(),
        mask("where", condition).broadcastTo(s),
        a.broadcastTo(s),
        b.broadcastTo(s));
  }

  /** {@code condition ? a : otherwise}, for example scores with -inf where a mask is false. */
  public Value where(Value condition, Value a, double otherwise) {
    return where(condition, a, false, otherwise);
  }

  /** {@code condition ? then : b}. */
  public Value where(Value condition, double then, Value b) {
    return where(condition, b, true, then);
  }

  private Value where(Value condition, Value a, boolean scalarIfTrue, double scalar) {
    Shape s = Shape.broadcast(condition.shape(), a.shape());
    return compute(
        new ComputeOp.WhereScalar(a.dtype(), elements(s), scalarIfTrue, scalar),
        s,
        a.dtype(),
        mask("where", condition).broadcastTo(s),
        a.broadcastTo(s));
  }

  private static Value mask(String what, Value condition) {
    if (condition.dtype() != DType.BOOL) {
      throw new ShapeException(
          what + ": the condition is " + condition + "; expected bool, compare it, e.g. ne(0)");
    }
    return condition;
  }

  Value cast(Value a, DType to) {
    return a.dtype() == to
        ? a
        : compute(new ComputeOp.Cast(a.dtype(), to, a.elements()), a.shape(), to, a);
  }

  Value copy(Value a) {
    return compute(new ComputeOp.Copy(a.dtype(), a.elements()), a.shape(), a.dtype(), a);
  }

  Value reduce(ReduceOp op, Value a, int axis) {
    Shape s = a.shape();
    return compute(
        new ComputeOp.Reduce(op, a.dtype(), outer(s, axis), s.dim(axis), inner(s, axis)),
        s.without(axis),
        a.dtype(),
        a);
  }

  Value argReduce(ArgReduceOp op, Value a, int axis) {
    Shape s = a.shape();
    return compute(
        new ComputeOp.ArgReduce(op, a.dtype(), outer(s, axis), s.dim(axis), inner(s, axis)),
        s.without(axis),
        DType.I32,
        a);
  }

  Value cumulativeSum(Value a, int axis) {
    Shape s = a.shape();
    return compute(
        new ComputeOp.CumulativeSum(a.dtype(), outer(s, axis), s.dim(axis), inner(s, axis)),
        s,
        a.dtype(),
        a);
  }

  Value softmax(Value a, int axis) {
    Shape s = a.shape();
    return compute(
        new ComputeOp.Softmax(a.dtype(), outer(s, axis), s.dim(axis), inner(s, axis)),
        s,
        a.dtype(),
        a);
  }

  private static int outer(Shape s, int axis) {
    return Math.toIntExact(s.outer(axis));
  }

  private static int inner(Shape s, int axis) {
    return Math.toIntExact(s.inner(axis));
  }

  private static int elements(Shape s) {
    return Math.toIntExact(s.elements());
  }

  private static Shape common(Object what, Value a, Value b) {
    if (a.dtype() == b.dtype()) {
      if (a.shape().equals(b.shape())) {
        return a.shape();
      }
      try {
        return Shape.broadcast(a.shape(), b.shape());
      } catch (ShapeException e) {
        throw new ShapeException(what + " of " + a + " and " + b + ": " + e.getMessage());
      }
    }
    throw new ShapeException(
        what + " of " + a + " and " + b + ": expected equal dtypes; cast one of them");
  }

  // ---- products ----

  /**
   * {@code a[m, k] b[k, n]}, accumulated in f32 and rounded to the operands' type (i8 gives i32,
   * f64 is accumulated in f64). Any size; the array is charged in whole folds. Operands of f8e4m3
   * and f8e5m2 may be mixed: gradients have the wider range, and the result then has the type of
   * {@code a}.
   */
  public Value dot(Value a, Value b) {
    return dot(a, b, a.dtype() == DType.I8 ? DType.I32 : a.dtype());
  }

  /** {@code a[m, k] b[k, n]}, accumulated in f32 (i32, f64) and rounded once to a type. */
  public Value dot(Value a, Value b, DType out) {
    ComputeOp.Gemm gemm = gemm(a, b, out, false);
    return compute(gemm, Shape.of(gemm.m(), gemm.n()), out, a, b);
  }

  /**
   * {@code acc[m, n] + a[m, k] b[k, n]}; the accumulator is f32 and so is the result (i32 for i8,
   * f64 for f64).
   */
  public Value dot(Value a, Value b, Value acc) {
    ComputeOp.Gemm gemm = gemm(a, b, a.dtype().accumulator(), true);
    checkAccumulator(a, b, acc, gemm);
    return compute(gemm, acc.shape(), gemm.out(), a, b, acc);
  }

  private static void checkAccumulator(Value a, Value b, Value acc, ComputeOp.Gemm gemm) {
    DType kept = a.dtype().accumulator();
    if (acc.dtype() != kept || !acc.shape().equals(Shape.of(gemm.m(), gemm.n()))) {
      throw new ShapeException(
          "dot of %s and %s: accumulator is %s; expected %s[%s, %s]"
              .formatted(a, b, acc, kept, gemm.m(), gemm.n()));
    }
  }

  /**
   * {@code acc + a b} into the storage of {@code acc}, which is given up: the sums of a loop over k
   * take no second room in TCM, and on a machine that chains products they stay in the array.
   *
   * @param acc a whole value, not a view
   */
  public Value dotInPlace(Value acc, Value a, Value b) {
    return dotInPlace(acc, a, b, whole);
  }

  /**
   * As {@link #dotInPlace(Value, Value, Value)}, as one step of a larger product of this PE.
   * Multiprocessors share out the whole, so a step takes its share of the whole's time; an array
   * takes what it takes for the step.
   *
   * @param of the larger product
   */
  public Value dotInPlace(Value acc, Value a, Value b, ComputeOp.Whole of) {
    return dotInPlace(acc, a, b, Optional.of(of));
  }

  private Value dotInPlace(Value acc, Value a, Value b, Optional<ComputeOp.Whole> of) {
    ComputeOp.Gemm gemm = gemm(a, b, a.dtype().accumulator(), true, of);
    checkAccumulator(a, b, acc, gemm);
    if (!acc.isDense() || acc.offset != 0 || acc.bytes() != acc.register.bytes()) {
      throw new ShapeException(
          "dotInPlace onto a view " + acc + "; expected the whole value that the view is of");
    }
    ComputeOp command = a.isDense() && b.isDense() ? gemm : strided(gemm, new Value[] {a, b, acc});
    Register sums =
        port.accumulate(command, a.register, a.offset, b.register, b.offset, acc.register);
    return made(sums, acc.shape(), acc.dtype());
  }

  /** As {@link #dot(Value, Value, Value)}, rounded once to a type; acc is kept. */
  public Value dot(Value a, Value b, Value acc, DType out) {
    ComputeOp.Gemm gemm = gemm(a, b, out, true);
    checkAccumulator(a, b, acc, gemm);
    return compute(gemm, acc.shape(), out, a, b, acc);
  }

  /**
   * Hands a composite product to the PE's tile scheduler and goes on at once: one command of this
   * kernel, whatever its size. Values that it names may be released at once. Later commands of the
   * kernel are not ordered after its loads and stores; {@link #await} the handle where they must
   * be.
   */
  public Handle composite(CompositeGemm gemm) {
    TileSearch.Prediction plan = grid.plans().plan(port.machine(), port.pe(), gemm);
    return new Handle(
        port.schedule(
            gemm.reads(), p -> new TileStream(new Tl(p, grid, gemm.whole()), gemm, plan).run()));
  }

  /** Later commands wait until the value, which is released, could be overwritten. */
  void fenceReaders(Value value) {
    port.fenceReaders(value.register);
  }

  private ComputeOp.Gemm gemm(Value a, Value b, DType out, boolean accumulate) {
    return gemm(a, b, out, accumulate, whole);
  }

  private static ComputeOp.Gemm gemm(
      Value a, Value b, DType out, boolean accumulate, Optional<ComputeOp.Whole> partOf) {
    if (a.shape().rank() != 2
        || b.shape().rank() != 2
        || a.shape().dim(1) != b.shape().dim(0)
        || (a.dtype() != b.dtype() && !(a.dtype().isF8() && b.dtype().isF8()))) {
      throw new ShapeException(
          "dot of %s and %s: expected [m, k] and [k, n] of one dtype, or of f8e4m3 and f8e5m2"
              .formatted(a, b));
    }
    return new ComputeOp.Gemm(
        a.dtype(),
        b.dtype(),
        out,
        a.shape().dim(0),
        b.shape().dim(1),
        a.shape().dim(1),
        accumulate,
        partOf);
  }

  private Value compute(ComputeOp op, Shape shape, DType dtype, Value... operands) {
    Defined.check(op);
    boolean dense = true;
    for (Value v : operands) {
      dense &= v.isDense();
    }
    ComputeOp command = dense ? op : strided(op, operands);
    int bytes = Math.toIntExact(shape.elements() * dtype.sizeBytes());
    int n = operands.length;
    Register r =
        port.compute(
            command,
            bytes,
            n > 0 ? operands[0].register : Register.NONE,
            n > 0 ? operands[0].offset : 0,
            n > 1 ? operands[1].register : Register.NONE,
            n > 1 ? operands[1].offset : 0,
            n > 2 ? operands[2].register : Register.NONE,
            n > 2 ? operands[2].offset : 0);
    return made(r, shape, dtype);
  }

  private static ComputeOp strided(ComputeOp op, Value[] operands) {
    List<OperandView> views = new ArrayList<>();
    for (Value v : operands) {
      views.add(v.operandView());
    }
    return new ComputeOp.Strided(op, views);
  }

  /** The shape of a vector. */
  Shape vector(int count) {
    if (vector.elements() != count) {
      vector = Shape.of(count);
    }
    return vector;
  }

  private Value made(Register register, Shape shape, DType dtype) {
    if (scope != null) {
      scope.made(register);
    }
    return new Value(this, register, 0, shape, dtype);
  }

  // ---- messages ----

  /**
   * Does something before each later send of this program instance: a collective library's protocol
   * lets time pass for it.
   *
   * @param action is told the bytes of the message
   */
  public void beforeSends(LongConsumer action) {
    beforeSend = action;
  }

  /**
   * Sends a value to the neighbour in a direction and goes on at once; back-pressure holds the
   * message, not the kernel.
   */
  public void send(String direction, Value value) {
    if (beforeSend != null) {
      beforeSend.accept(value.bytes());
    }
    int queue = queue(direction);
    Value message = value.dense();
    port.send(queue, message.register, message.offset, message.bytes());
    releaseCopy(message, value);
  }

  /**
   * Receives the next message from a direction; used in place where its slot allows (zero copy).
   */
  public Value recv(String direction, Shape shape, DType dtype) {
    return receive(direction, shape, dtype, false, false);
  }

  /** Receives into scratch, so that the slot is free for the sender at once. */
  public Value recvCopy(String direction, Shape shape, DType dtype) {
    return receive(direction, shape, dtype, true, false);
  }

  /**
   * Receives without holding up what follows, also on a machine that issues commands one after the
   * other ({@code cpu.issue: serial}). The value may be used at once like any other; use waits for
   * it.
   */
  public Value recvAsync(String direction, Shape shape, DType dtype) {
    return receive(direction, shape, dtype, false, true);
  }

  /**
   * Receives the next message of any of several directions, whichever has one: if several have, the
   * first of them after the direction that was served last, round about. Suspends the kernel until
   * a message is there, as {@link #item} does, and looks when all commands so far are issued; the
   * receive then costs what {@link #recv} does. Which messages meet it first depends on time, so a
   * kernel that must give the same values on every machine must not depend on their order. In mode
   * {@code values} messages come in the order in which they are sent.
   *
   * @param directions at least one, each once; they must be connected
   */
  public Received recvAny(Shape shape, DType dtype, String... directions) {
    if (directions.length == 0) {
      throw new SimulationException(
          port.pe() + ": recvAny of no direction; name those that a message may come from");
    }
    List<String> names = List.of(directions);
    List<Integer> all = names.stream().map(this::queue).toList();
    int chosen = port.select(all, (names.indexOf(lastServed) + 1) % names.size());
    lastServed = names.get(chosen);
    return new Received(lastServed, receive(lastServed, shape, dtype, false, false));
  }

  private Value receive(String direction, Shape shape, DType dtype, boolean copy, boolean async) {
    int bytes = Math.toIntExact(shape.elements() * dtype.sizeBytes());
    return made(port.receive(queue(direction), bytes, copy, async), shape, dtype);
  }

  private int queue(String direction) {
    for (int i = 0; i < knownDirections; i++) {
      if (direction.equals(directions[i])) {
        return queues[i];
      }
    }
    int queue = port.queue(direction);
    if (queue < 0) {
      List<String> known = port.directions();
      throw new SimulationException(
          "%s has no message queue in direction %s; %s"
              .formatted(
                  port.pe(),
                  direction,
                  known.isEmpty()
                      ? "none are installed: call initProcessGroup, and launch the kernel with its queues"
                      : "installed are " + String.join(", ", known)));
    }
    if (knownDirections < queues.length) {
      directions[knownDirections] = direction;
      queues[knownDirections++] = queue;
    }
    return queue;
  }

  // ---- one-sided ----

  /**
   * The part of a tensor that lies at another PE, for {@link #put} and {@link #get}.
   *
   * @throws SimulationException if none does
   */
  public Shard shard(DeviceTensor tensor, Pe at) {
    return tensor
        .shardOn(at)
        .orElseThrow(() ->
            new SimulationException(
                """
                tensor %s has no shard at %s, where the kernel at %s wants to reach it; name a \
                PE on which it lies\
                """
                    .formatted(tensor.name(), at, port.pe())));
  }

  /**
   * Writes into the memory of another PE, which takes no part in it. The other sees it when it has
   * waited for a {@link #signal} that was raised afterwards.
   */
  public Handle put(Slice atPeer, Value value) {
    Handle done = store(atPeer, value);
    puts.add(done);
    return done;
  }

  /** Reads the memory of another PE, which takes no part in it. */
  public Value get(Slice atPeer) {
    return load(atPeer);
  }

  /**
   * Raises a flag at a peer by one, after everything this program has {@link #put} has arrived. A
   * flag is a queue connection: its name is the direction in which this PE knows it.
   */
  public void signal(String flag) {
    for (Handle put : puts) {
      await(put);
    }
    puts.clear();
    port.send(queue(flag), Register.NONE, 0, 0);
  }

  /**
   * Later commands of this kernel wait until a flag has been raised at least so often since the
   * kernel began.
   */
  public void waitSignal(String flag, int atLeast) {
    int seen = raised.getOrDefault(flag, 0);
    for (int i = seen; i < atLeast; i++) {
      Value signal = receive(flag, Shape.of(0), DType.I8, false, false);
      await(signal);
      release(signal);
    }
    raised.put(flag, Math.max(seen, atLeast));
  }

  // ---- order, lifetime, looking ----

  /**
   * Later commands of this kernel wait until the handle is done ({@code wait} of Triton-like
   * languages).
   */
  public void await(Handle handle) {
    port.fence(handle.token);
  }

  /** Later commands of this kernel wait until the value exists. */
  public void await(Value value) {
    port.fence(value.register);
  }

  /**
   * Later commands of this kernel wait until all earlier ones are done; a send is when its last
   * byte has left, though its receiver does not see the message yet.
   */
  public void awaitAll() {
    port.fenceAll();
  }

  /**
   * Lets a time pass that was measured elsewhere, as a trace of another machine has it. The kernel
   * goes on meanwhile, and so does everything else on the PE; to wait, {@link #await} the handle.
   *
   * @param picoseconds above 0, counted from when the PE's CPU issues it
   */
  public Handle elapse(long picoseconds) {
    return elapse(picoseconds, ComputeOp.Elapsed.Of.COMPUTATION, Optional.empty());
  }

  /**
   * {@link #elapse} of what the program of a collective library takes beside its messages;
   * explanations call it protocol.
   *
   * @param picoseconds above 0
   */
  public Handle elapseInProtocol(long picoseconds) {
    return elapse(picoseconds, ComputeOp.Elapsed.Of.PROTOCOL, Optional.empty());
  }

  /**
   * As {@link #elapseInProtocol(long)}, of a time that the machine decides.
   *
   * @param from what the time comes from, so that explanations know what another machine would take
   */
  public Handle elapseInProtocol(long picoseconds, ProtocolTime from) {
    return elapse(picoseconds, ComputeOp.Elapsed.Of.PROTOCOL, Optional.of(from));
  }

  private Handle elapse(long picoseconds, ComputeOp.Elapsed.Of of, Optional<ProtocolTime> from) {
    ComputeOp time = new ComputeOp.Elapsed(picoseconds, of, from);
    return new Handle(port.compute(time, 0, Register.NONE, 0, Register.NONE, 0, Register.NONE, 0));
  }

  /** Opens a scope; see {@link Scope}. */
  public Scope scope() {
    Scope opened = new Scope(this, scope);
    scope = opened;
    return opened;
  }

  void close(Scope closing, List<Register> made) {
    if (scope != closing) {
      throw new IllegalStateException(
          "scopes must be closed in the reverse order of opening; use try-with-resources");
    }
    scope = closing.outer;
    for (Register r : made) {
      if (!r.isReleased()) {
        port.release(r);
      }
    }
  }

  /** Gives up a copy that a call has made for itself: no kernel knows it. */
  private void releaseCopy(Value copy, Value of) {
    if (copy.register != of.register) {
      release(copy);
    }
  }

  /** The kernel will not use the value, nor any view of it, again. */
  public void release(Value value) {
    port.release(value.register);
  }

  /**
   * The only element of a value, as a host number: suspends the kernel until it exists, so that the
   * kernel may branch on it.
   */
  public double item(Value value) {
    if (value.elements() != 1) {
      throw new ShapeException(
          "item of " + value + ": expected exactly one element; take a range(i, 1) first");
    }
    return value.dtype().getDouble(port.look(value.register, value.offset, value.bytes()), 0);
  }

  /** Simulated time of issue in nanoseconds, after all commands so far have been issued. */
  public double clock() {
    return port.clockPs() / 1e3;
  }
}
