package org.kernbench.tl;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;

/**
 * {@code out[M, N] = epilogue(A[M, K] B[K, N])} as one operation: the PE's tile scheduler streams
 * tiles through read, multiply, epilogue and write, overlapped, while the kernel goes on. Give it
 * to {@link Tl#composite}.
 *
 * <p>Tiles are taken in the order m, n, k. An operand that is a {@link Slice} is read from memory
 * tile by tile into buffers; one that is a {@link Value} lies in TCM already and is not read again.
 * So {@code of(slice, slice)} is the staging {@code ref_ref}, {@code of(tl.load(a), b)} is {@code
 * load_ref}. The sums of an output tile stay resident over K; tiles at the edges are as small as
 * they are.
 *
 * {@snippet :
 * Handle done =
 *     tl.composite(
 *         CompositeGemm.of(tl.load(a), tl.ref(b))
 *             .epilogue(Epilogue.bias(tl.load(bias)))
 *             .epilogue(Epilogue.gelu())
 *             .into(tl.ref(out)));
 * tl.await(done);
 * }
 *
 * <p>Room in TCM beside the operands that lie there: {@code buffers (m k + k n) w + 2 m n w_acc}.
 */
public final class CompositeGemm {
  /** An epilogue and when it is applied. */
  record Applied(Epilogue.When when, Epilogue epilogue) {}

  final Operand a;
  final Operand b;
  final @Nullable Slice out;
  final Optional<TileShape> tile;
  final OptionalInt buffers;
  final List<Applied> epilogues;
  final int batch;

  private CompositeGemm(
      Operand a,
      Operand b,
      @Nullable Slice out,
      Optional<TileShape> tile,
      OptionalInt buffers,
      List<Applied> epilogues,
      int batch) {
    this.batch = batch;
    this.a = a;
    this.b = b;
    this.out = out;
    this.tile = tile;
    this.buffers = buffers;
    this.epilogues = epilogues;
  }

  /** A matrix in memory or in TCM. */
  record Operand(@Nullable Slice slice, @Nullable Value value) {
    static Operand of(Slice slice) {
      return new Operand(slice, null);
    }

    static Operand of(Value value) {
      return new Operand(null, value);
    }

    Shape shape() {
      return slice != null ? slice.shape() : inTcm().shape();
    }

    DType dtype() {
      return slice != null ? slice.shard().dtype() : inTcm().dtype();
    }

    boolean isInTcm() {
      return value != null;
    }

    Value inTcm() {
      if (value == null) {
        throw new IllegalStateException("operand lies in memory");
      }
      return value;
    }

    Slice inMemory() {
      if (slice == null) {
        throw new IllegalStateException("operand lies in TCM");
      }
      return slice;
    }

    /** The block as a value: a load, or a view. */
    Value block(Tl tl, int row, int rows, int column, int columns) {
      return value != null
          ? value.narrow(0, row, rows).narrow(1, column, columns)
          : tl.load(inMemory().block(row, rows, column, columns));
    }
  }

  /** Both operands are streamed from memory. */
  public static CompositeGemm of(Slice a, Slice b) {
    return of(Operand.of(a), Operand.of(b));
  }

  /** A lies in TCM, B is streamed. */
  public static CompositeGemm of(Value a, Slice b) {
    return of(Operand.of(a), Operand.of(b));
  }

  /** A is streamed, B lies in TCM. */
  public static CompositeGemm of(Slice a, Value b) {
    return of(Operand.of(a), Operand.of(b));
  }

  /** Both operands lie in TCM. */
  public static CompositeGemm of(Value a, Value b) {
    return of(Operand.of(a), Operand.of(b));
  }

  private static CompositeGemm of(Operand a, Operand b) {
    if (a.shape().rank() != 2
        || b.shape().rank() != 2
        || a.shape().dim(1) != b.shape().dim(0)
        || a.dtype() != b.dtype()
        || !a.dtype().isFloatingPoint()) {
      throw new ShapeException(
          """
          composite product of %s%s and %s%s: expected [m, k] and [k, n] of one \
          floating-point dtype\
          """
              .formatted(a.dtype(), a.shape(), b.dtype(), b.shape()));
    }
    return new CompositeGemm(a, b, null, Optional.empty(), OptionalInt.empty(), List.of(), 1);
  }

  /** Where the result goes: {@code [M, N]} of any floating-point type. */
  public CompositeGemm into(Slice newOut) {
    if (!newOut.shape().equals(Shape.of(m(), n())) || !newOut.shard().dtype().isFloatingPoint()) {
      throw new ShapeException(
          """
          composite product into %s: the slice is %s%s; expected a floating-point [%s, %s]\
          """
              .formatted(newOut.shard().name(), newOut.shard().dtype(), newOut.shape(), m(), n()));
    }
    return new CompositeGemm(a, b, newOut, tile, buffers, epilogues, batch);
  }

  /** The tile of a step; without, the machine's default, or the quickest by {@link TileSearch}. */
  public CompositeGemm tile(int tileM, int tileK, int tileN) {
    return tile(new TileShape(tileM, tileK, tileN));
  }

  /** The tile of a step. */
  public CompositeGemm tile(TileShape newTile) {
    return new CompositeGemm(a, b, out, Optional.of(newTile), buffers, epilogues, batch);
  }

  /**
   * Tiles of each operand that TCM holds at once: 2 load the next while one is used, more hide the
   * latency of a load behind several products, 1 overlaps nothing. Without, the machine's default
   * or what {@link TileSearch} finds.
   */
  public CompositeGemm buffers(int count) {
    if (count < 1) {
      throw new IllegalArgumentException(
          "composite product with " + count + " buffers; expected at least 1");
    }
    return new CompositeGemm(a, b, out, tile, OptionalInt.of(count), epilogues, batch);
  }

  /**
   * One of so many equal products that the kernel hands over one after the other: multiprocessors
   * ({@code pe.gemm.mode: waves}) share out the tiles of all of them together.
   */
  public CompositeGemm ofBatch(int products) {
    if (products < 1) {
      throw new IllegalArgumentException(
          "composite product of a batch of " + products + "; expected at least 1");
    }
    return new CompositeGemm(a, b, out, tile, buffers, epilogues, products);
  }

  /** One more epilogue, applied to each output tile after those before it. */
  public CompositeGemm epilogue(Epilogue next) {
    return epilogue(Epilogue.When.OUTPUT_TILE, next);
  }

  /** One more epilogue, after those before it at the same time. */
  public CompositeGemm epilogue(Epilogue.When when, Epilogue next) {
    check(when, next);
    List<Applied> more = new ArrayList<>(epilogues);
    more.add(new Applied(when, next));
    return new CompositeGemm(a, b, out, tile, buffers, List.copyOf(more), batch);
  }

  private void check(Epilogue.When when, Epilogue next) {
    Shape given;
    boolean fits;
    switch (next) {
      case Epilogue.Bias x -> {
        given = x.bias().shape();
        fits = given.equals(Shape.of(n()));
      }
      case Epilogue.Dequant x -> {
        given = x.scales().shape();
        int last = given.rank() == 0 ? 0 : given.dim(-1);
        fits =
            when == Epilogue.When.K_TILE
                ? given.rank() == 2 && (last == n() || last == 1)
                : given.equals(Shape.of(n()));
      }
      case Epilogue.Add x -> {
        given = x.matrix().shape();
        fits = given.equals(Shape.of(m(), n())) && when != Epilogue.When.K_TILE;
      }
      case Epilogue.AddValue x -> {
        given = x.matrix().shape();
        fits = given.equals(Shape.of(m(), n())) && when != Epilogue.When.K_TILE;
      }
      case Epilogue.Relu x -> {
        return;
      }
      case Epilogue.Gelu x -> {
        return;
      }
      case Epilogue.Silu x -> {
        return;
      }
      case Epilogue.Scale x -> {
        return;
      }
    }
    if (!fits) {
      throw new ShapeException(
          """
          epilogue %s of scope %s: its operand is %s, the output %s; expected [N] for \
          bias and dequant ([steps, N] or [steps, 1] per K tile), [M, N] for add, which \
          is not for K tiles\
          """
              .formatted(next.getClass().getSimpleName(), when, given, Shape.of(m(), n())));
    }
  }

  /** Rows of A and of the output. */
  public int m() {
    return a.shape().dim(0);
  }

  /** Columns of A, rows of B. */
  public int k() {
    return a.shape().dim(1);
  }

  /** Columns of B and of the output. */
  public int n() {
    return b.shape().dim(1);
  }

  /** Its size, by which multiprocessors share it out. */
  Optional<ComputeOp.Whole> whole() {
    return m() == 0 || n() == 0 || k() == 0
        ? Optional.empty()
        : Optional.of(new ComputeOp.Whole(m(), n(), k(), batch));
  }

  /** Type of the operands. */
  public DType dtype() {
    return a.dtype();
  }

  Slice out() {
    if (out == null) {
      throw new IllegalStateException("composite product without output; say into(slice)");
    }
    return out;
  }

  boolean has(Epilogue.When when) {
    return epilogues.stream().anyMatch(e -> e.when() == when);
  }

  /** Bytes of operands that lie in TCM. */
  long residentBytes() {
    long w = dtype().sizeBytes();
    return (a.isInTcm() ? a.shape().elements() * w : 0)
        + (b.isInTcm() ? b.shape().elements() * w : 0);
  }

  /** The values of the kernel that the scheduler reads. */
  List<Register> reads() {
    List<Register> reads = new ArrayList<>();
    if (a.isInTcm()) {
      reads.add(a.inTcm().register);
    }
    if (b.isInTcm()) {
      reads.add(b.inTcm().register);
    }
    for (Applied e : epilogues) {
      switch (e.epilogue()) {
        case Epilogue.Bias x -> reads.add(x.bias().register);
        case Epilogue.Dequant x -> reads.add(x.scales().register);
        case Epilogue.AddValue x -> reads.add(x.matrix().register);
        case Epilogue.Add x -> {}
        case Epilogue.Relu x -> {}
        case Epilogue.Gelu x -> {}
        case Epilogue.Silu x -> {}
        case Epilogue.Scale x -> {}
      }
    }
    return reads;
  }
}
