package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * The kernels that training needs, each launched on the rank's device: products of matrices, what
 * goes element by element or row by row, and copies of blocks. Nothing here knows of gradients.
 *
 * <p>Tensors are dense, row-major, on one PE, and are taken as matrices or vectors of any shape
 * with as many elements. Kernels work in f32 (f64 for f64 tensors) whatever the tensors' type, and
 * round once when they store.
 */
public final class Compute {
  /** Extent of the tiles of a product, about: as many arrays of the GEMM engine as fit, or one. */
  private static final int TILE = 128;

  /** Blocks that a row of a copy may be wide: an eighth of the TCM. */
  private static final int WIDEST_BLOCKS = 8;

  private final Torch torch;
  private final UnaryOperator<Tensor> owner;
  private final int blockBytes;

  /**
   * Kernels of a rank.
   *
   * @param owner is given every tensor made here and closes it some day; returns it
   */
  public Compute(Torch torch, UnaryOperator<Tensor> owner) {
    this.torch = torch;
    this.owner = owner;
    // some ten values are alive at once in the longest formulas, beside message slots
    this.blockBytes = Math.toIntExact(Math.max(256, torch.machine().pe().tcm().sizeBytes() / 64));
  }

  Torch torch() {
    return torch;
  }

  /** The type that kernels compute in for tensors of a type. */
  public static DType working(DType type) {
    return type == DType.F64 ? DType.F64 : DType.F32;
  }

  /** A new tensor of which nothing is written yet. */
  public Tensor empty(String name, Shape shape, DType dtype) {
    return owner.apply(torch.empty(shape, dtype, name));
  }

  // ---- products ----

  /** A matrix operand: a tensor taken as {@code rows x columns}, or its transpose. */
  record Matrix(Tensor tensor, int rows, int columns, boolean transposed) {
    static Matrix of(Tensor tensor, int rows, int columns) {
      return new Matrix(tensor, rows, columns, false);
    }

    Matrix transpose() {
      return new Matrix(tensor, rows, columns, !transposed);
    }

    int height() {
      return transposed ? columns : rows;
    }

    int width() {
      return transposed ? rows : columns;
    }

    /** A tile of the (transposed) matrix. */
    Value load(Tl tl, int row, int height, int column, int width) {
      Shard shard = as(tl.shard(tensor), rows, columns);
      return transposed
          ? tl.load(shard.block(column, width, row, height)).trans()
          : tl.load(shard.block(row, height, column, width));
    }
  }

  /** {@code a b}, accumulated over ascending k and rounded once. */
  Tensor matmul(String name, Matrix a, Matrix b, DType out) {
    int m = a.height();
    int n = b.width();
    int k = a.width();
    if (b.height() != k || a.tensor.dtype() != b.tensor.dtype()) {
      throw new IllegalArgumentException(
          name + ": product of " + m + "x" + k + " and " + b.height() + "x" + n);
    }
    Tensor c = empty(name, Shape.of(m, n), out);
    matmulInto(name, a, b, c, false);
    return c;
  }

  /**
   * The same into a tensor that exists.
   *
   * @param add whether the product is added to what is there
   */
  void matmulInto(String name, Matrix a, Matrix b, Tensor c, boolean add) {
    int m = a.height();
    int n = b.width();
    int k = a.width();
    DType out = c.dtype();
    if (m == 0 || n == 0) {
      return;
    }
    DType in = a.tensor.dtype();
    int tileM = tile(torch.machine().pe().gemm().rows());
    int tileN = tile(torch.machine().pe().gemm().columns());
    int wider = Math.max(tileM, tileN);
    int tileK = Math.max(1, Math.min(4 * TILE, blockBytes / (wider * in.sizeBytes()) * 2));
    Kernel kernel =
        tl -> {
          Shard to = as(tl.shard(c), m, n);
          for (int i = 0; i < m; i += tileM) {
            for (int j = 0; j < n; j += tileN) {
              int h = Math.min(tileM, m - i);
              int w = Math.min(tileN, n - j);
              try (Scope tile = tl.scope()) {
                Value sum =
                    add
                        ? tl.load(to.block(i, h, j, w)).cast(in.accumulator())
                        : tl.zeros(Shape.of(h, w), in.accumulator());
                for (int l = 0; l < k; l += tileK) {
                  int d = Math.min(tileK, k - l);
                  Value left = a.load(tl, i, h, l, d);
                  Value right = b.load(tl, l, d, j, w);
                  Value next = tl.dot(left, right, sum);
                  tl.release(left);
                  tl.release(right);
                  tl.release(sum);
                  sum = next;
                }
                tl.store(to.block(i, h, j, w), sum.cast(out));
              }
            }
          }
        };
    torch.launch(name, kernel, c, a.tensor, b.tensor);
  }

  /**
   * Rows or columns of a tile: whole arrays, because a part of one takes as long as all of it; but
   * no more sums than an eighth of the TCM holds.
   *
   * @param array rows or columns of the engine's array
   */
  private int tile(int array) {
    int whole = array * Math.max(1, TILE / array);
    long sums = torch.machine().pe().tcm().sizeBytes() / 8 / DType.F32.sizeBytes();
    return Math.max(1, Math.min(whole, Math.max(TILE, (int) Math.sqrt((double) sums))));
  }

  /** Writes zeros. */
  public void zero(String name, Tensor to) {
    torch.launch(name, tl -> fill(tl, tl.shard(to), to.dtype()), to);
  }

  // ---- row by row ----

  /** What a kernel computes from one block of rows. */
  @FunctionalInterface
  public interface RowFormula {
    /**
     * @param x the operands, in the working type: a block of rows, or all of a small one
     * @return the results: a block of rows each; for column sums, what this block adds
     */
    List<Value> apply(Tl tl, List<Value> x);
  }

  /**
   * An operand or result of a kernel that goes row by row.
   *
   * @param columns elements per row
   * @param rowwise whether each row has its own; otherwise there is one row for all
   */
  public record RowArg(Tensor tensor, int columns, boolean rowwise) {
    /** One row for each row. */
    public static RowArg rows(Tensor tensor, int columns) {
      return new RowArg(tensor, columns, true);
    }

    /** One row for all: as an operand it is repeated, as a result it is summed over all rows. */
    public static RowArg once(Tensor tensor, int columns) {
      return new RowArg(tensor, columns, false);
    }
  }

  /**
   * Applies a formula to blocks of rows.
   *
   * @param rows of every rowwise argument
   * @param in operands; those of floating-point types come in the working type
   * @param out results, made by {@link #empty}
   */
  public void rows(String name, int rows, List<RowArg> in, List<RowArg> out, RowFormula formula) {
    int widest = 1;
    for (RowArg a : in) {
      widest = Math.max(widest, a.columns);
    }
    for (RowArg a : out) {
      widest = Math.max(widest, a.columns);
    }
    DType working = working(out.getFirst().tensor.dtype());
    int block = Math.max(1, blockBytes / (widest * working.sizeBytes()));
    List<Tensor> all = new ArrayList<>();
    out.forEach(a -> all.add(a.tensor));
    in.forEach(a -> all.add(a.tensor));
    Kernel kernel = tl -> new RowLoop(tl, rows, block, working, in, out, formula).run();
    torch.launch(name, kernel, all.getFirst(), all.subList(1, all.size()).toArray(new Tensor[0]));
  }

  /** One program of {@link #rows}. */
  private record RowLoop(
      Tl tl,
      int rows,
      int block,
      DType working,
      List<RowArg> in,
      List<RowArg> out,
      RowFormula formula) {
    void run() {
      try (Scope outer = tl.scope()) {
        @Nullable Value[] once = new Value[in.size()];
        for (int i = 0; i < once.length; i++) {
          once[i] = in.get(i).rowwise ? null : widen(tl.load(whole(in.get(i))));
        }
        @Nullable Value[] sums = new Value[out.size()];
        for (int i = 0; i < sums.length; i++) {
          if (!out.get(i).rowwise) {
            sums[i] = tl.zeros(Shape.of(1, out.get(i).columns), working);
          }
        }
        for (int row = 0; row < rows; row += block) {
          step(row, Math.min(block, rows - row), once, sums);
        }
        for (int i = 0; i < sums.length; i++) {
          Value sum = sums[i];
          if (sum != null) {
            tl.store(whole(out.get(i)), narrow(sum, out.get(i)));
          }
        }
      }
    }

    private void step(int row, int count, @Nullable Value[] once, @Nullable Value[] sums) {
      try (Scope inner = tl.scope()) {
        List<Value> x = new ArrayList<>();
        for (int i = 0; i < in.size(); i++) {
          RowArg a = in.get(i);
          Value all = once[i];
          x.add(all == null ? widen(tl.load(block(a, row, count))) : all);
        }
        List<Value> results = formula.apply(tl, x);
        for (int i = 0; i < results.size(); i++) {
          RowArg a = out.get(i);
          Value result = results.get(i);
          Value before = sums[i];
          if (before == null) {
            tl.store(block(a, row, count), narrow(result, a));
          } else {
            sums[i] = inner.keep(before.add(result));
            tl.release(before);
          }
        }
      }
    }

    private Slice whole(RowArg a) {
      return as(tl.shard(a.tensor), 1, a.columns).block(0, 1, 0, a.columns);
    }

    private Slice block(RowArg a, int row, int count) {
      return as(tl.shard(a.tensor), rows, a.columns).block(row, count, 0, a.columns);
    }

    private Value widen(Value v) {
      return v.dtype().isFloatingPoint() ? v.cast(working) : v;
    }

    private static Value narrow(Value v, RowArg a) {
      return v.cast(a.tensor.dtype());
    }
  }

  // ---- element by element ----

  /** What a kernel computes from elements at the same place. */
  @FunctionalInterface
  public interface Formula {
    Value apply(List<Value> x);
  }

  /** Applies a formula to elements at the same places of equally long tensors. */
  public Tensor map(String name, Shape shape, DType dtype, List<Tensor> in, Formula formula) {
    Tensor out = empty(name, shape, dtype);
    mapInto(name, out, in, formula);
    return out;
  }

  /** The same into a tensor that exists, which may be an operand as well. */
  public void mapInto(String name, Tensor out, List<Tensor> in, Formula formula) {
    int n = Math.toIntExact(out.shape().elements());
    if (n == 0) {
      return;
    }
    DType working = working(out.dtype());
    int block = blockBytes / working.sizeBytes();
    Kernel kernel =
        tl -> {
          for (int i = 0; i < n; i += block) {
            int count = Math.min(block, n - i);
            try (Scope step = tl.scope()) {
              List<Value> x = new ArrayList<>();
              for (Tensor t : in) {
                x.add(tl.load(tl.shard(t).range(i, count)).cast(working));
              }
              tl.store(tl.shard(out).range(i, count), formula.apply(x).cast(out.dtype()));
            }
          }
        };
    torch.launch(name, kernel, out, in.toArray(new Tensor[0]));
  }

  // ---- copies ----

  /**
   * A block to copy from one matrix to another.
   *
   * @param fromColumns elements per row of the source
   */
  public record BlockCopy(
      Tensor from,
      int fromColumns,
      int fromRow,
      int fromColumn,
      int rows,
      int columns,
      int toRow,
      int toColumn) {}

  /**
   * A matrix put together from blocks of others.
   *
   * @param zero whether what no block covers is zero; otherwise the blocks cover all
   */
  public Tensor assemble(
      String name, int rows, int columns, DType dtype, boolean zero, List<BlockCopy> blocks) {
    Tensor to = empty(name, Shape.of(rows, columns), dtype);
    if (to.shape().elements() == 0) {
      return to;
    }
    List<Tensor> from = blocks.stream().map(BlockCopy::from).distinct().toList();
    Kernel kernel =
        tl -> {
          if (zero) {
            fill(tl, tl.shard(to), dtype);
          }
          for (BlockCopy b : blocks) {
            copy(tl, b, as(tl.shard(to), rows, columns));
          }
        };
    torch.launch(name, kernel, to, from.toArray(new Tensor[0]));
    return to;
  }

  private void fill(Tl tl, Shard to, DType dtype) {
    int n = Math.toIntExact(to.shape().elements());
    int block = blockBytes / dtype.sizeBytes();
    try (Scope all = tl.scope()) {
      Value zeros = tl.zeros(Shape.of(Math.min(block, n)), dtype);
      for (int i = 0; i < n; i += block) {
        int count = Math.min(block, n - i);
        tl.store(to.range(i, count), zeros.range(0, count));
      }
    }
  }

  private void copy(Tl tl, BlockCopy b, Shard to) {
    Shard from = tl.shard(b.from);
    int fromRows = Math.toIntExact(from.shape().elements() / b.fromColumns);
    Shard source = as(from, fromRows, b.fromColumns);
    int size = from.dtype().sizeBytes();
    int widest = WIDEST_BLOCKS * blockBytes / size; // a row that is wider goes in parts
    for (int j = 0; j < b.columns; j += widest) {
      int width = Math.min(widest, b.columns - j);
      int step = Math.max(1, blockBytes / (width * size));
      for (int i = 0; i < b.rows; i += step) {
        int count = Math.min(step, b.rows - i);
        try (Scope one = tl.scope()) {
          tl.store(
              to.block(b.toRow + i, count, b.toColumn + j, width),
              tl.load(source.block(b.fromRow + i, count, b.fromColumn + j, width)));
        }
      }
    }
  }

  /** A shard with other extents. */
  static Shard as(Shard shard, int rows, int columns) {
    return new Shard(shard.name(), shard.address(), Shape.of(rows, columns), shard.dtype());
  }
}
