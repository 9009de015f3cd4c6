package org.kernbench.eval.benches;

import java.util.List;
import org.kernbench.device.Launch;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.tl.ShardedGemm;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * {@code layernorm}: {@code (x - mean) / sqrt(variance + eps) * gamma + beta} for each row of a
 * matrix whose rows lie over the PEs of a cube.
 */
final class LayerNormBench implements Bench {
  private static final Param<Integer> ROWS = Param.integer("rows", 100, 1, 1 << 24, "rows");
  private static final Param<Integer> COLUMNS =
      Param.integer("columns", 768, 1, 1 << 20, "columns");
  private static final Param<Integer> BLOCK =
      Param.integer(
          "block",
          4,
          1,
          4096,
          "rows that a PE works on at once; one that stands for a GPU: as many as fit");
  private static final double EPS = 1e-5;

  @Override
  public String name() {
    return "layernorm";
  }

  @Override
  public String description() {
    return "layer normalisation of rows over the PEs of a cube";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(ROWS, COLUMNS, BLOCK, KernelBed.DTYPE, DeviceChoice.PARAM);
  }

  @Override
  public Outcome run(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int rows = context.param(ROWS);
      int columns = context.param(COLUMNS);
      DType d = KernelBed.dtype(context);
      HostValues x = bed.random(1, RowStream.elements("rows", rows, "columns", columns), d);
      HostValues gamma = bed.random(2, columns, d);
      HostValues beta = bed.random(3, columns, d);
      List<Pe> all = bed.places(KernelBed.Over.CUBE);
      List<Pe> pes = all.subList(0, Math.min(all.size(), rows));
      int p = pes.size();
      Tensor[] xs = new Tensor[p];
      Tensor[] gs = new Tensor[p];
      Tensor[] bs = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      for (int r = 0; r < p; r++) {
        int from = ShardedGemm.start(rows, r, p);
        int to = ShardedGemm.start(rows, r + 1, p);
        xs[r] = bed.tensor(pes.get(r), "x" + r, d, x.rows(columns, from, to), to - from, columns);
        gs[r] = bed.tensor(pes.get(r), "gamma" + r, d, gamma, columns);
        bs[r] = bed.tensor(pes.get(r), "beta" + r, d, beta, columns);
        ys[r] = bed.empty(pes.get(r), "y" + r, d, to - from, columns);
      }
      RowStream stream =
          RowStream.of(
              bed.machine,
              pes.getFirst(),
              OperationClass.LAYERNORM,
              columns,
              d.sizeBytes(),
              context.param(BLOCK));
      int block = stream.rowsAtOnce();
      Launch launch =
          bed.run(
              "layernorm",
              tl -> {
                int r = pes.indexOf(tl.pe());
                Shard in = tl.shard(xs[r]);
                Shard out = tl.shard(ys[r]);
                Value g = SoftmaxBench.wide(tl.load(gs[r]));
                Value b = SoftmaxBench.wide(tl.load(bs[r]));
                int mine = in.shape().dim(0);
                for (int row = 0; row < mine; row += block) {
                  try (var turn = tl.scope()) {
                    int count = Math.min(block, mine - row);
                    Slice read = in.block(row, count, 0, columns);
                    Value v = SoftmaxBench.wide(tl.load(read));
                    Value mean = v.sum(1).div(columns).expandDims(1);
                    Value centred =
                        (stream.rereads() ? SoftmaxBench.wide(tl.load(read)) : v).sub(mean);
                    Value variance = centred.mul(centred).sum(1).div(columns).expandDims(1);
                    if (stream.rereads()) {
                      centred = SoftmaxBench.wide(tl.load(read)).sub(mean);
                    }
                    Value y = centred.mul(variance.add(EPS).rsqrt()).fma(g, b);
                    tl.store(out.block(row, count, 0, columns), y.cast(d));
                  }
                }
              });
      HostValues normal = bed.values(() -> normalised(x.get(), rows, columns));
      HostValues want =
          normal.map(y -> {
            for (int i = 0; i < y.length; i++) {
              y[i] = y[i] * gamma.get()[i % columns] + beta.get()[i % columns];
            }
            return y;
          });
      for (int r = 0; r < p; r++) {
        int from = ShardedGemm.start(rows, r, p);
        int to = ShardedGemm.start(rows, r + 1, p);
        bed.check(ys[r], want.rows(columns, from, to), () -> bound(d, columns, normal.get()));
      }
      double bytes = (2.0 * Math.ceilDiv(rows, p) + 2) * columns * d.sizeBytes();
      return bed.outcome(launch, new KernelBed.Work(0, bytes), OperationClass.LAYERNORM);
    }
  }

  /** Rows with mean 0 and variance 1. */
  private static double[] normalised(double[] x, int rows, int columns) {
    double[] y = new double[rows * columns];
    for (int i = 0; i < rows; i++) {
      double mean = 0;
      for (int j = 0; j < columns; j++) {
        mean += x[i * columns + j] / columns;
      }
      double variance = 0;
      for (int j = 0; j < columns; j++) {
        double c = x[i * columns + j] - mean;
        variance += c * c / columns;
      }
      for (int j = 0; j < columns; j++) {
        y[i * columns + j] = (x[i * columns + j] - mean) / Math.sqrt(variance + EPS);
      }
    }
    return y;
  }

  private static double bound(DType d, int columns, double[] normal) {
    double largest = 0;
    for (double y : normal) {
      largest = Math.max(largest, Math.abs(y) + 1);
    }
    return largest * (d.unitRoundoff() + (2 * columns + 8) * d.accumulator().unitRoundoff());
  }
}
