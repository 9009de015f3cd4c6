package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.device.Launch;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.Params;
import org.kernbench.machine.Pe;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.ShardedGemm;
import org.kernbench.torch.Tensor;

/**
 * {@code gpt3-qkv}: the query, key and value projection of GPT-3 in decode, weights divided by
 * columns over all PEs of a package, or as models divide it. With {@code hidden=12288} the weights
 * are 906 MB.
 */
final class Gpt3QkvBench implements Bench {
  private static final Param<Integer> BATCH =
      Param.integer("batch", 4, 1, 4096, "tokens that are decoded together");
  private static final Param<Integer> HIDDEN =
      Param.integer("hidden", 768, 8, 1 << 16, "model width; GPT-3 has 12288");

  private static final Param<Split> SPLIT =
      Param.choice(
          "split",
          Split.COLUMNS,
          Split.class,
          "how it is divided: each PE its columns, or as models divide it over a device");

  private enum Split {
    COLUMNS,
    DEVICE
  }

  @Override
  public String name() {
    return "gpt3-qkv";
  }

  @Override
  public String description() {
    return "the QKV projection of GPT-3 in decode, weights over all PEs of a package";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(BATCH, HIDDEN, KernelBed.DTYPE, SPLIT, DeviceChoice.PARAM);
  }

  @Override
  public double productFlops(Params params) {
    return 6.0 * params.get(BATCH) * params.get(HIDDEN) * params.get(HIDDEN);
  }

  /** Made again where they are compared: all of them as f64 would take four times their room. */
  private static HostValues weights(KernelBed bed, int rank, int n) {
    return bed.eighths(2 + rank, n);
  }

  @Override
  public Outcome run(BenchContext context) {
    return context.param(SPLIT) == Split.DEVICE ? onDevice(context) : byColumns(context);
  }

  /** Query, key and value as three layers of one input. */
  private static Outcome onDevice(BenchContext context) {
    try (ModelBed bed = ModelBed.open(context, KernelBed.Over.PACKAGE)) {
      int m = context.param(BATCH);
      int k = context.param(HIDDEN);
      DType d = KernelBed.dtype(context);
      HostValues x = bed.bed().eighths(1, m * k);
      Variable in = bed.activation("x", d, x, m, k);
      List<HostValues> ws = new ArrayList<>();
      List<Parameter> weights = new ArrayList<>();
      for (String name : List.of("query", "key", "value")) {
        HostValues w = bed.bed().eighths(2 + ws.size(), k * k);
        ws.add(w);
        weights.add(bed.weight(name, d, w, k, k));
      }
      bed.graph().linearAhead(in, weights, false);
      List<Variable> ys = weights.stream().map(w -> bed.graph().linear(in, w)).toList();
      for (int i = 0; i < ws.size(); i++) { // after all launches: who reads a result waits for it
        HostValues w = ws.get(i);
        bed.check(
            ys.get(i).value(), d, k, () -> KernelBed.product(x.get(), w.transposed(k), m, k, k));
      }
      double elements = (double) m * k + 3.0 * k * k + 3.0 * m * k;
      return bed.outcome(6.0 * m * k * k, elements * d.sizeBytes())
          .condition("weight_bytes", 3L * k * k * d.sizeBytes());
    }
  }

  private static Outcome byColumns(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int m = context.param(BATCH);
      int k = context.param(HIDDEN);
      int n = 3 * k;
      DType d = KernelBed.dtype(context);
      List<Pe> pes = bed.places(KernelBed.Over.PACKAGE);
      int p = pes.size();
      RowStream.elements("hidden", k, "columns of a PE", Math.ceilDiv(n, p));
      HostValues x = bed.eighths(1, m * k);
      Tensor[] as = new Tensor[p];
      Tensor[] bs = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      for (int r = 0; r < p; r++) {
        int columns = ShardedGemm.start(n, r + 1, p) - ShardedGemm.start(n, r, p);
        as[r] = bed.tensor(pes.get(r), "x" + r, d, x, m, k);
        bs[r] = bed.tensor(pes.get(r), "w" + r, d, weights(bed, r, k * columns), k, columns);
        ys[r] = bed.empty(pes.get(r), "y" + r, d, m, columns);
      }
      Launch launch =
          bed.run(
              "gpt3-qkv",
              tl -> {
                int r = pes.indexOf(tl.pe());
                tl.composite(CompositeGemm.of(tl.load(as[r]), tl.ref(bs[r])).into(tl.ref(ys[r])));
              });
      for (int r = 0; r < p; r++) {
        int columns = ys[r].shape().dim(1);
        HostValues own = weights(bed, r, k * columns);
        HostValues want = bed.values(() -> KernelBed.product(x.get(), own.get(), m, k, columns));
        bed.check(ys[r], want, () -> KernelBed.productBound(d, k, want.get()));
      }
      int most = Math.ceilDiv(n, p);
      double w = d.sizeBytes();
      Outcome outcome =
          bed.outcome(
              launch,
              new KernelBed.Work(
                  2.0 * m * k * most,
                  w * ((double) m * k + (double) k * most + (double) m * most)));
      return outcome.condition("pes", p).condition("weight_bytes", (long) (w * k * n));
    }
  }
}
