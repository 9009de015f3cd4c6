package org.kernbench.tl;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.ComputeOp;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.SimulationException;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tensor.UnaryOp;

/**
 * What a kernel sees of the PE it runs on. Every call issues a command and returns at once; values
 * appear when simulated time has produced them. Only {@link #item} and {@link #clock} look at the
 * result of that time and therefore suspend the kernel.
 */
public final class Tl {
  private final PePort port;
  private final LaunchGrid grid;
  private @Nullable Scope scope;

  // the directions used so far, so that a message costs no map look-up
  private final String[] directions = new String[8];
  private final int[] queues = new int[8];
  private int knownDirections;

  /** The view of one program instance; kernels are handed theirs. */
  public Tl(PePort port, LaunchGrid grid) {
    this.port = port;
    this.grid = grid;
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
                "tensor "
                    + tensor.name()
                    + " has no shard at "
                    + port.pe()
                    + "; launch only where it lies, or return early for other"
                    + " program ids"));
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

  /** Stores a value over this PE's whole shard of a tensor. */
  public Handle store(DeviceTensor tensor, Value value) {
    return store(ref(tensor), value);
  }

  /**
   * Stores a value to memory. Later loads of the same bytes by this program wait for it; other
   * programs see it when they are ordered after the {@link #await} of the handle.
   */
  public Handle store(Slice slice, Value value) {
    if (slice.shape().elements() != value.shape().elements()
        || slice.shard().dtype() != value.dtype()) {
      throw new ShapeException(
          "store to "
              + slice.shard().name()
              + ": value is "
              + value
              + ", the slice is "
              + slice.shard().dtype()
              + slice.shape()
              + "; cast or reshape the value");
    }
    return new Handle(port.store(value.register, value.offset, slice.region()));
  }

  // ---- making values ----

  /** A value with every element {@code fill}. */
  public Value full(Shape shape, double fill, DType dtype) {
    int n = Math.toIntExact(shape.elements());
    return compute(new ComputeOp.Fill(dtype, n, fill), shape, dtype, null, null, null);
  }

  /** A value of zeros. */
  public Value zeros(Shape shape, DType dtype) {
    return full(shape, 0, dtype);
  }

  // ---- arithmetic ----

  Value binary(BinaryOp op, Value a, Value b) {
    if (!a.shape().equals(b.shape()) || a.dtype() != b.dtype()) {
      throw new ShapeException(
          op
              + " of "
              + a
              + " and "
              + b
              + ": expected equal shapes and dtypes; reshape or cast one of them");
    }
    return compute(
        new ComputeOp.Binary(op, a.dtype(), a.elements()), a.shape(), a.dtype(), a, b, null);
  }

  Value binary(BinaryOp op, Value a, double scalar) {
    return compute(
        new ComputeOp.BinaryScalar(op, a.dtype(), a.elements(), scalar),
        a.shape(),
        a.dtype(),
        a,
        null,
        null);
  }

  Value unary(UnaryOp op, Value a) {
    return compute(
        new ComputeOp.Unary(op, a.dtype(), a.elements()), a.shape(), a.dtype(), a, null, null);
  }

  Value cast(Value a, DType to) {
    return a.dtype() == to
        ? a
        : compute(new ComputeOp.Cast(a.dtype(), to, a.elements()), a.shape(), to, a, null, null);
  }

  Value reduce(ReduceOp op, Value a, int axis) {
    Shape s = a.shape();
    if (axis < 0 || axis >= s.rank()) {
      throw new ShapeException(
          op + " of " + a + " along axis " + axis + ": expected 0.." + (s.rank() - 1));
    }
    int outer = 1;
    int inner = 1;
    int[] rest = new int[s.rank() - 1];
    for (int i = 0; i < s.rank(); i++) {
      if (i < axis) {
        outer *= s.dim(i);
        rest[i] = s.dim(i);
      } else if (i > axis) {
        inner *= s.dim(i);
        rest[i - 1] = s.dim(i);
      }
    }
    return compute(
        new ComputeOp.Reduce(op, a.dtype(), outer, s.dim(axis), inner),
        Shape.of(rest),
        a.dtype(),
        a,
        null,
        null);
  }

  /** {@code a[m, k] b[k, n]}, accumulated in f32 and rounded to the operands' type. */
  public Value dot(Value a, Value b) {
    ComputeOp.Gemm gemm = gemm(a, b, a.dtype(), false);
    return compute(gemm, Shape.of(gemm.m(), gemm.n()), a.dtype(), a, b, null);
  }

  /** {@code acc[m, n] + a[m, k] b[k, n]}; the accumulator is f32 and so is the result. */
  public Value dot(Value a, Value b, Value acc) {
    ComputeOp.Gemm gemm = gemm(a, b, DType.F32, true);
    if (acc.dtype() != DType.F32 || !acc.shape().equals(Shape.of(gemm.m(), gemm.n()))) {
      throw new ShapeException(
          "dot of "
              + a
              + " and "
              + b
              + ": accumulator is "
              + acc
              + "; expected f32["
              + gemm.m()
              + ", "
              + gemm.n()
              + "]");
    }
    return compute(gemm, acc.shape(), DType.F32, a, b, acc);
  }

  private static ComputeOp.Gemm gemm(Value a, Value b, DType out, boolean accumulate) {
    if (a.shape().rank() != 2
        || b.shape().rank() != 2
        || a.shape().dim(1) != b.shape().dim(0)
        || a.dtype() != b.dtype()) {
      throw new ShapeException(
          "dot of " + a + " and " + b + ": expected [m, k] and [k, n] of one dtype");
    }
    return new ComputeOp.Gemm(
        a.dtype(), out, a.shape().dim(0), b.shape().dim(1), a.shape().dim(1), accumulate);
  }

  private Value compute(
      ComputeOp op,
      Shape shape,
      DType dtype,
      @Nullable Value a,
      @Nullable Value b,
      @Nullable Value c) {
    int bytes = Math.toIntExact(shape.elements() * dtype.sizeBytes());
    Register r =
        port.compute(
            op,
            bytes,
            a == null ? Register.NONE : a.register,
            a == null ? 0 : a.offset,
            b == null ? Register.NONE : b.register,
            b == null ? 0 : b.offset,
            c == null ? Register.NONE : c.register,
            c == null ? 0 : c.offset);
    return made(r, shape, dtype);
  }

  private Value made(Register register, Shape shape, DType dtype) {
    if (scope != null) {
      scope.made(register);
    }
    return new Value(this, register, 0, shape, dtype);
  }

  // ---- messages ----

  /**
   * Sends a value to the neighbour in a direction and goes on at once; back-pressure holds the
   * message, not the kernel.
   */
  public void send(String direction, Value value) {
    port.send(queue(direction), value.register, value.offset, value.bytes());
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
          port.pe()
              + " has no message queue in direction "
              + direction
              + "; "
              + (known.isEmpty()
                  ? "none are installed: call initProcessGroup first"
                  : "installed are " + String.join(", ", known)));
    }
    if (knownDirections < queues.length) {
      directions[knownDirections] = direction;
      queues[knownDirections++] = queue;
    }
    return queue;
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

  /** Later commands of this kernel wait until all earlier ones are done. */
  public void awaitAll() {
    port.fenceAll();
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
