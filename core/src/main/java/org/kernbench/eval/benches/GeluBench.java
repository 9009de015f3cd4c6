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
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * {@code gelu}: {@code y = gelu(x)}, or {@code gelu(x + bias)} in the same pass, of a vector that
 * lies over the PEs of a cube: read once, written once.
 */
final class GeluBench implements Bench {
  private static final Param<Integer> ELEMENTS =
      Param.integer("elements", 1 << 14, 1, Integer.MAX_VALUE, "elements of the vector");
  private static final Param<Bias> BIAS =
      Param.choice(
          "bias", Bias.NONE, Bias.class, "whether a vector of the same length is added before");

  private enum Bias {
    NONE,
    ADDED
  }

  @Override
  public String name() {
    return "gelu";
  }

  @Override
  public String description() {
    return "GELU of a vector over the PEs of a cube, with or without a bias, in one pass";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(ELEMENTS, BIAS, KernelBed.DTYPE, DeviceChoice.PARAM);
  }

  @Override
  public Outcome run(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int n = context.param(ELEMENTS);
      DType d = KernelBed.dtype(context);
      boolean biased = context.param(BIAS) == Bias.ADDED;
      HostValues x = bed.random(1, n, d);
      HostValues bias = bed.random(2, n, d);
      List<Pe> all = bed.places(KernelBed.Over.CUBE);
      List<Pe> pes = all.subList(0, Math.min(all.size(), n));
      int p = pes.size();
      Tensor[] xs = new Tensor[p];
      Tensor[] bs = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      for (int r = 0; r < p; r++) {
        int from = ShardedGemm.start(n, r, p);
        int to = ShardedGemm.start(n, r + 1, p);
        xs[r] = bed.tensor(pes.get(r), "x" + r, d, x.rows(1, from, to), to - from);
        ys[r] = bed.empty(pes.get(r), "y" + r, d, to - from);
        if (biased) {
          bs[r] = bed.tensor(pes.get(r), "bias" + r, d, bias.rows(1, from, to), to - from);
        }
      }
      long block = RowStream.elementsAtOnce(bed.machine, pes.getFirst());
      Launch launch =
          bed.run(
              "gelu",
              tl -> {
                int r = pes.indexOf(tl.pe());
                Shard in = tl.shard(xs[r]);
                Shard out = tl.shard(ys[r]);
                int mine = in.shape().dim(0);
                for (long at = 0; at < mine; at += block) {
                  try (var turn = tl.scope()) {
                    int from = (int) at;
                    int count = (int) Math.min(block, mine - at);
                    Value v = SoftmaxBench.wide(tl.load(in.range(from, count)));
                    if (biased) {
                      v = v.add(SoftmaxBench.wide(tl.load(tl.shard(bs[r]).range(from, count))));
                    }
                    tl.store(out.range(from, count), v.gelu().cast(d));
                  }
                }
              });
      HostValues want =
          x.map(y -> {
            for (int i = 0; i < y.length; i++) {
              y[i] = ReferenceFunctions.gelu(biased ? y[i] + bias.get()[i] : y[i]);
            }
            return y;
          });
      for (int r = 0; r < p; r++) {
        int from = ShardedGemm.start(n, r, p);
        int to = ShardedGemm.start(n, r + 1, p);
        bed.check(
            ys[r],
            want.rows(1, from, to),
            2 * d.unitRoundoff() + 8 * d.accumulator().unitRoundoff());
      }
      double bytes = (biased ? 3.0 : 2.0) * Math.ceilDiv(n, p) * d.sizeBytes();
      return bed.outcome(launch, new KernelBed.Work(0, bytes), OperationClass.ELEMENTWISE);
    }
  }
}
