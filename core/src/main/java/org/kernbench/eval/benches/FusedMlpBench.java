package org.kernbench.eval.benches;

import java.util.List;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.Params;
import org.kernbench.machine.Pe;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.Epilogue;
import org.kernbench.tl.ShardedGemm;
import org.kernbench.torch.Tensor;

/**
 * {@code fused-mlp}: {@code Y = gelu(X W1 + b1) W2 + b2 + X}, tensor parallel over the PEs of a
 * cube, or of a package: W1 and b1 by columns, W2 by rows, partial sums reduced and scattered by
 * rows around a ring. Bias, gelu and the residual are epilogues of the composites. Or the same as
 * operations of a model, each divided as models divide it.
 */
final class FusedMlpBench implements Bench {
  private static final Param<Integer> TOKENS =
      Param.integer("tokens", 64, 1, 1 << 14, "rows of X; at least one per PE");
  private static final Param<Integer> HIDDEN =
      Param.integer("hidden", 96, 1, 1 << 14, "columns of X");
  private static final Param<Integer> INNER =
      Param.integer("inner", 256, 1, 1 << 16, "columns of W1; at least one per PE");

  private static final Param<Split> SPLIT =
      Param.choice(
          "split",
          Split.RING,
          Split.class,
          "tensor parallel with sums around a ring, or as models divide it over a device");

  private enum Split {
    RING,
    DEVICE
  }

  @Override
  public String name() {
    return "fused-mlp";
  }

  @Override
  public String description() {
    return "gelu MLP with residual, tensor parallel over a cube, bias and gelu fused";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(
        TOKENS, HIDDEN, INNER, KernelBed.DTYPE, SPLIT, ModelBed.OVER, DeviceChoice.PARAM);
  }

  @Override
  public double productFlops(Params params) {
    return 4.0 * params.get(TOKENS) * params.get(HIDDEN) * params.get(INNER);
  }

  @Override
  public Outcome run(BenchContext context) {
    return context.param(SPLIT) == Split.DEVICE ? onDevice(context) : aroundRing(context);
  }

  /** Operands, and what should come of them. */
  private record Layers(
      int m,
      int h,
      int f,
      DType d,
      HostValues x,
      HostValues w1,
      HostValues b1,
      HostValues w2,
      HostValues b2,
      HostValues inner,
      HostValues want) {
    static Layers of(BenchContext context, KernelBed bed) {
      int m = context.param(TOKENS);
      int h = context.param(HIDDEN);
      int f = context.param(INNER);
      DType d = KernelBed.dtype(context);
      HostValues x = bed.random(1, m * h, d);
      HostValues w1 = scaled(bed.random(2, h * f, d), 1 / Math.sqrt(h), d);
      HostValues b1 = bed.random(3, f, d);
      HostValues w2 = scaled(bed.random(4, f * h, d), 1 / Math.sqrt(f), d);
      HostValues b2 = bed.random(5, h, d);
      HostValues inner =
          bed.values(() -> hidden(KernelBed.product(x.get(), w1.get(), m, h, f), b1.get()));
      HostValues want =
          bed.values(
              () -> outer(KernelBed.product(inner.get(), w2.get(), m, f, h), b2.get(), x.get()));
      return new Layers(m, h, f, d, x, w1, b1, w2, b2, inner, want);
    }

    double bound() {
      return FusedMlpBench.bound(d, h, f, inner.get());
    }
  }

  private static Outcome onDevice(BenchContext context) {
    try (ModelBed bed = ModelBed.open(context, context.param(ModelBed.OVER))) {
      Layers of = Layers.of(context, bed.bed());
      int h = of.h;
      int f = of.f;
      DType d = of.d;
      Graph graph = bed.graph();
      Variable x = bed.activation("x", d, of.x, of.m, h);
      Parameter w1 = bed.weight("w1", d, bed.bed().values(() -> of.w1.transposed(h)), f, h);
      Parameter w2 = bed.weight("w2", d, bed.bed().values(() -> of.w2.transposed(f)), h, f);
      Parameter b1 = bed.weight("b1", d, of.b1, f);
      Parameter b2 = bed.weight("b2", d, of.b2, h);
      Variable inner = graph.gelu(graph.addBias(graph.linear(x, w1), b1));
      Variable y = graph.add(graph.addBias(graph.linear(inner, w2), b2), x);
      // rounded three times, not once, on the way to the inner values and from there to the result
      bed.check(y.value(), of.want, () -> 4 * of.bound());
      double elements = 2.0 * h * f + f + h + 2.0 * of.m * h;
      return bed.outcome(4.0 * of.m * h * f, elements * d.sizeBytes());
    }
  }

  private static Outcome aroundRing(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      Layers of = Layers.of(context, bed);
      int m = of.m;
      int h = of.h;
      int f = of.f;
      DType d = of.d;
      List<Pe> pes = bed.places(context.param(ModelBed.OVER));
      int p = pes.size();
      if (m < p || f < p) {
        throw new UsageException(
            "tokens and inner are %s and %s; expected at least %s, one per PE".formatted(m, f, p));
      }
      Tensor[] xs = new Tensor[p];
      Tensor[] firsts = new Tensor[p];
      Tensor[] biases = new Tensor[p];
      Tensor[] inners = new Tensor[p];
      Tensor[] seconds = new Tensor[p];
      Tensor[] addends = new Tensor[p];
      Tensor[] partial = new Tensor[p];
      Tensor[] sums = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      for (int r = 0; r < p; r++) {
        int c = ShardedGemm.start(f, r, p);
        int cEnd = ShardedGemm.start(f, r + 1, p);
        int row = ShardedGemm.start(m, r, p);
        int rows = ShardedGemm.start(m, r + 1, p) - row;
        Pe pe = pes.get(r);
        xs[r] = bed.tensor(pe, "x" + r, d, of.x, m, h);
        firsts[r] = bed.tensor(pe, "w1_" + r, d, of.w1.block(f, 0, h, c, cEnd), h, cEnd - c);
        biases[r] = bed.tensor(pe, "b1_" + r, d, of.b1.rows(1, c, cEnd), cEnd - c);
        inners[r] = bed.empty(pe, "inner" + r, d, m, cEnd - c);
        seconds[r] = bed.tensor(pe, "w2_" + r, d, of.w2.rows(h, c, cEnd), cEnd - c, h);
        addends[r] = bed.tensor(pe, "b2_" + r, d, of.b2, h);
        partial[r] = bed.empty(pe, "partial" + r, d.accumulator(), m, h);
        sums[r] = bed.empty(pe, "sums" + r, d.accumulator(), rows, h);
        ys[r] = bed.empty(pe, "y" + r, d, rows, h);
      }
      Launch launch =
          bed.run(
              "fused-mlp",
              tl -> {
                int r = pes.indexOf(tl.pe());
                tl.await(
                    tl.composite(
                        CompositeGemm.of(tl.ref(xs[r]), tl.ref(firsts[r]))
                            .epilogue(Epilogue.bias(tl.load(biases[r])))
                            .epilogue(Epilogue.gelu())
                            .into(tl.ref(inners[r]))));
                ShardedGemm.splitK(
                    tl,
                    new ShardedGemm.Ring(r, p, "next", "previous"),
                    tl.ref(inners[r]),
                    tl.ref(seconds[r]),
                    tl.ref(partial[r]),
                    tl.ref(sums[r]));
                int row = ShardedGemm.start(m, r, p);
                int rows = ys[r].shape().dim(0);
                var residual = SoftmaxBench.wide(tl.load(tl.ref(xs[r]).block(row, rows, 0, h)));
                var bias = SoftmaxBench.wide(tl.load(addends[r]));
                tl.store(ys[r], tl.load(sums[r]).add(bias).add(residual).cast(d));
              },
              bed.connectRing(pes));
      for (int r = 0; r < p; r++) {
        bed.check(
            ys[r],
            of.want.rows(h, ShardedGemm.start(m, r, p), ShardedGemm.start(m, r + 1, p)),
            of::bound);
      }
      double mine = ShardedGemm.start(f, 1, p);
      return bed.outcome(
          launch,
          new KernelBed.Work(4.0 * m * h * mine, d.sizeBytes() * (2 * h * mine + (double) m * h)));
    }
  }

  private static double[] hidden(double[] product, double[] bias) {
    for (int i = 0; i < product.length; i++) {
      product[i] = ReferenceFunctions.gelu(product[i] + bias[i % bias.length]);
    }
    return product;
  }

  private static double[] outer(double[] product, double[] bias, double[] x) {
    for (int i = 0; i < product.length; i++) {
      product[i] += bias[i % bias.length] + x[i];
    }
    return product;
  }

  /** The inner values are rounded once, and enter the second product with weights below 1. */
  private static double bound(DType d, int h, int f, double[] inner) {
    double largest = 0;
    for (double v : inner) {
      largest = Math.max(largest, Math.abs(v));
    }
    double u = d.unitRoundoff() + (h + f + 8) * d.accumulator().unitRoundoff();
    return u * (Math.sqrt(f) * 2 * (largest + 1) + 4);
  }

  /** Multiplied and rounded. */
  static HostValues scaled(HostValues values, double factor, DType d) {
    return values.map(v -> {
      for (int i = 0; i < v.length; i++) {
        v[i] = d.round(v[i] * factor);
      }
      return v;
    });
  }
}
