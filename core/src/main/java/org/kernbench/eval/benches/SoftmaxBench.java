package org.kernbench.eval.benches;

import java.util.List;
import java.util.function.Supplier;
import org.kernbench.device.Launch;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.tl.ShardedGemm;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * {@code softmax}: the softmax of each row of a matrix whose rows lie over the PEs of a cube. A
 * mask hides columns; a row that is hidden altogether gives zeros. Rows are worked on in blocks,
 * the last of which may be smaller.
 */
final class SoftmaxBench implements Bench {
  private static final Param<Integer> ROWS = Param.integer("rows", 200, 1, 1 << 24, "rows");
  private static final Param<Integer> COLUMNS =
      Param.integer("columns", 300, 1, 1 << 20, "columns");
  private static final Param<Integer> BLOCK =
      Param.integer(
          "block",
          8,
          1,
          4096,
          "rows that a PE works on at once; one that stands for a GPU: as many as fit");
  private static final Param<Mask> MASK =
      Param.choice(
          "mask",
          Mask.CAUSAL,
          Mask.class,
          "none; causal: row i sees columns up to i; hidden: every third row sees nothing");
  private static final Param<Input> INPUT =
      Param.choice(
          "input",
          Input.UNIFORM,
          Input.class,
          "uniform in -4..4; large: near the largest number of the dtype, where exp overflows");

  private enum Mask {
    NONE,
    CAUSAL,
    HIDDEN
  }

  private enum Input {
    UNIFORM,
    LARGE
  }

  @Override
  public String name() {
    return "softmax";
  }

  @Override
  public String description() {
    return "softmax of rows over the PEs of a cube, with masks, hidden rows and large inputs";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(ROWS, COLUMNS, BLOCK, MASK, INPUT, KernelBed.DTYPE, DeviceChoice.PARAM);
  }

  @Override
  public Outcome run(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int rows = context.param(ROWS);
      int columns = context.param(COLUMNS);
      int cells = RowStream.elements("rows", rows, "columns", columns);
      Mask mask = context.param(MASK);
      DType d = KernelBed.dtype(context);
      double scale = context.param(INPUT) == Input.LARGE ? Math.min(d.maxFinite(), 1e30) / 2 : 4;
      HostValues x = FusedMlpBench.scaled(bed.random(1, cells, d), scale, d);
      List<Pe> all = bed.places(KernelBed.Over.CUBE);
      List<Pe> pes = all.subList(0, Math.min(all.size(), rows));
      Tensor[] xs = new Tensor[pes.size()];
      Tensor[] ys = new Tensor[pes.size()];
      for (int r = 0; r < pes.size(); r++) {
        int from = ShardedGemm.start(rows, r, pes.size());
        int to = ShardedGemm.start(rows, r + 1, pes.size());
        xs[r] = bed.tensor(pes.get(r), "x" + r, d, x.rows(columns, from, to), to - from, columns);
        ys[r] = bed.empty(pes.get(r), "y" + r, d, to - from, columns);
      }
      RowStream stream =
          RowStream.of(
              bed.machine,
              pes.getFirst(),
              OperationClass.SOFTMAX,
              columns,
              d.sizeBytes(),
              context.param(BLOCK));
      int block = stream.rowsAtOnce();
      Launch launch =
          bed.run(
              "softmax",
              tl -> {
                int r = pes.indexOf(tl.pe());
                Shard in = tl.shard(xs[r]);
                Shard out = tl.shard(ys[r]);
                int first = ShardedGemm.start(rows, r, pes.size());
                int mine = in.shape().dim(0);
                for (int row = 0; row < mine; row += block) {
                  try (var turn = tl.scope()) {
                    int count = Math.min(block, mine - row);
                    Slice read = in.block(row, count, 0, columns);
                    int firstRow = first + row;
                    Supplier<Value> scores = () -> masked(tl, mask, wide(tl.load(read)), firstRow);
                    tl.store(
                        out.block(row, count, 0, columns),
                        softmax(tl, scores, stream.rereads()).cast(d));
                  }
                }
              });
      HostValues want = bed.values(() -> want(x.get(), rows, columns, mask));
      double rounding = (columns + 8 * scaleOf(d, scale)) * d.accumulator().unitRoundoff();
      for (int r = 0; r < pes.size(); r++) {
        int from = ShardedGemm.start(rows, r, pes.size());
        int to = ShardedGemm.start(rows, r + 1, pes.size());
        bed.check(ys[r], want.rows(columns, from, to), d.unitRoundoff() + rounding);
      }
      double most = 0; // of a PE, whose memory gives and takes
      for (int r = 0; r < pes.size(); r++) {
        int from = ShardedGemm.start(rows, r, pes.size());
        int to = ShardedGemm.start(rows, r + 1, pes.size());
        double written = (double) (to - from) * columns;
        most = Math.max(most, seen(from, to, columns, mask) + written);
      }
      return bed.outcome(
          launch, new KernelBed.Work(0, most * d.sizeBytes()), OperationClass.SOFTMAX);
    }
  }

  /** Elements of some rows that a mask leaves, which alone must be read. */
  private static double seen(int from, int to, int columns, Mask mask) {
    double seen = 0;
    for (int i = from; i < to; i++) {
      seen +=
          switch (mask) {
            case NONE -> columns;
            case CAUSAL -> Math.min(i + 1, columns);
            case HIDDEN -> i % 3 == 0 ? 0 : columns;
          };
    }
    return seen;
  }

  private static double[] want(double[] x, int rows, int columns, Mask mask) {
    double[] want = new double[rows * columns];
    for (int i = 0; i < rows; i++) {
      double[] row = KernelBed.rows(x, columns, i, i + 1);
      for (int j = 0; j < columns; j++) {
        if ((mask == Mask.CAUSAL && j > i) || (mask == Mask.HIDDEN && i % 3 == 0)) {
          row[j] = Double.NEGATIVE_INFINITY;
        }
      }
      System.arraycopy(ReferenceFunctions.softmax(row), 0, want, i * columns, columns);
    }
    return want;
  }

  /**
   * The difference of two large numbers is exact or far beyond the range of exp, so magnitude costs
   * accuracy only up to what exp can still see.
   */
  private static double scaleOf(DType d, double scale) {
    return Math.min(scale, d == DType.F64 ? 745 : 104);
  }

  /** In the type in which sums are kept. */
  static Value wide(Value v) {
    return v.cast(v.dtype().accumulator());
  }

  private static Value masked(Tl tl, Mask mask, Value scores, int firstRow) {
    int rows = scores.shape().dim(0);
    int columns = scores.shape().dim(1);
    return switch (mask) {
      case CAUSAL -> {
        Value row = tl.arange(firstRow, firstRow + rows).expandDims(1);
        Value column = tl.arange(0, columns).expandDims(0);
        yield tl.where(row.ge(column), scores, Double.NEGATIVE_INFINITY);
      }
      case HIDDEN -> {
        Value row = tl.arange(firstRow, firstRow + rows).rem(3).expandDims(1);
        Value shown = row.ne(0).broadcastTo(Shape.of(rows, columns));
        yield tl.where(shown, scores, Double.NEGATIVE_INFINITY);
      }
      case NONE -> scores;
    };
  }

  /**
   * Rows of -inf give zeros.
   *
   * @param scores reads them
   * @param rereads whether largest element, sum and result are found in a pass each
   */
  private static Value softmax(Tl tl, Supplier<Value> scores, boolean rereads) {
    Value read = scores.get();
    Value largest = read.max(1).expandDims(1);
    Value shift = tl.where(largest.eq(Double.NEGATIVE_INFINITY), 0.0, largest);
    Value e = (rereads ? scores.get() : read).sub(shift).exp();
    Value sum = e.sum(1).expandDims(1);
    Value result = rereads ? scores.get().sub(shift).exp() : e;
    return result.div(tl.where(sum.eq(0), 1.0, sum));
  }
}
