package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.Params;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.tensor.DType;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.Epilogue;
import org.kernbench.tl.Tl;
import org.kernbench.torch.Tensor;

/**
 * {@code matmul-composite}, and under the names of the predecessor's benches the same with other
 * defaults: one composite product on one PE, with its operands in memory or in TCM.
 */
final class CompositeBench implements Bench {
  private static final Param<Integer> TILE_M =
      Param.integer("tile_m", 0, 0, 65_536, "rows of a tile; 0: the machine's choice");
  private static final Param<Integer> TILE_K =
      Param.integer("tile_k", 0, 0, 65_536, "depth of a tile; 0: the machine's choice");
  private static final Param<Integer> TILE_N =
      Param.integer("tile_n", 0, 0, 65_536, "columns of a tile; 0: the machine's choice");
  private static final Param<Integer> BUFFERS =
      Param.integer("buffers", 0, 0, 64, "tiles of each operand in TCM; 0: the machine's choice");
  private static final Param<Integer> BATCH =
      Param.integer("batch", 1, 1, 65_536, "equal products in one launch, each with its operands");
  private static final Param<Finish> EPILOGUE =
      Param.choice("epilogue", Finish.NONE, Finish.class, "what is applied to each output tile");
  private static final int UNDER_FED = 32;

  private final String name;
  private final String description;
  private final Param<Integer> m;
  private final Param<Integer> k;
  private final Param<Integer> n;
  private final Param<Staging> variant;

  private CompositeBench(String name, String description, int m, int k, int n, Staging variant) {
    this.name = name;
    this.description = description;
    this.m = Param.integer("m", m, 1, 1 << 20, "rows of A and of the result");
    this.k = Param.integer("k", k, 1, 1 << 20, "columns of A, rows of B");
    this.n = Param.integer("n", n, 1, 1 << 20, "columns of B and of the result");
    this.variant =
        Param.choice(
            "variant",
            variant,
            Staging.class,
            "operands A_B: ref is streamed from memory, load lies in TCM before");
  }

  /** What is applied to each output tile. */
  private enum Finish {
    NONE,
    BIAS,
    BIAS_RELU,
    BIAS_GELU,
    ADD
  }

  /** Where A and B come from. */
  private enum Staging {
    REF_REF,
    LOAD_REF,
    REF_LOAD,
    LOAD_LOAD
  }

  /** The benches of this class. */
  static List<Bench> all() {
    return List.of(
        new CompositeBench(
            "gemm-single-pe",
            "one small product on one PE, 32x128x32",
            32,
            128,
            32,
            Staging.REF_REF),
        new CompositeBench(
            "matmul-composite",
            "a product streamed through one PE: staging, tiles, epilogue",
            32,
            3072,
            32,
            Staging.REF_REF),
        new CompositeBench(
            "qkv-gemm",
            "128x256x128 on one PE, A in TCM, B streamed",
            128,
            256,
            128,
            Staging.LOAD_REF));
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public List<Param<?>> params() {
    return List.of(
        m,
        k,
        n,
        KernelBed.DTYPE,
        variant,
        TILE_M,
        TILE_K,
        TILE_N,
        BUFFERS,
        BATCH,
        EPILOGUE,
        DeviceChoice.PARAM);
  }

  @Override
  public double productFlops(Params params) {
    return 2.0 * params.get(m) * params.get(k) * params.get(n);
  }

  @Override
  public Outcome run(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int rows = context.param(m);
      int depth = context.param(k);
      int columns = context.param(n);
      DType d = KernelBed.dtype(context);
      HostValues av = bed.eighths(1, RowStream.elements("m", rows, "k", depth));
      HostValues bv = bed.eighths(2, RowStream.elements("k", depth, "n", columns));
      HostValues biasValues = bed.random(3, columns, d);
      HostValues moreValues = bed.random(4, RowStream.elements("m", rows, "n", columns), d);
      Pe pe = bed.places(KernelBed.Over.CUBE).getFirst();
      Tensor a = bed.tensor(pe, "a", d, av, rows, depth);
      Tensor b = bed.tensor(pe, "b", d, bv, depth, columns);
      Tensor bias = bed.tensor(pe, "bias", d, biasValues, columns);
      Tensor more = bed.tensor(pe, "more", d, moreValues, rows, columns);
      Tensor y = bed.empty(pe, "y", d, rows, columns);
      int batch = context.param(BATCH);
      List<Tensor[]> others = new ArrayList<>();
      for (int i = 1; i < batch; i++) {
        others.add(
            new Tensor[] {
              bed.tensor(pe, "a" + i, d, av, rows, depth),
              bed.tensor(pe, "b" + i, d, bv, depth, columns),
              bed.empty(pe, "y" + i, d, rows, columns)
            });
      }

      Staging how = context.param(variant);
      Finish epilogue = context.param(EPILOGUE);
      Launch launch =
          bed.run(
              name,
              tl -> {
                CompositeGemm gemm = tiled(context, staged(tl, how, a, b)).into(tl.ref(y));
                tl.composite(finished(tl, epilogue, gemm.ofBatch(batch), bias, more));
                for (Tensor[] of : others) {
                  CompositeGemm next =
                      tiled(context, staged(tl, how, of[0], of[1])).into(tl.ref(of[2]));
                  tl.composite(finished(tl, epilogue, next.ofBatch(batch), bias, more));
                }
              });

      HostValues want =
          bed.values(() -> {
            double[] product = KernelBed.product(av.get(), bv.get(), rows, depth, columns);
            return finished(epilogue, product, biasValues.get(), moreValues.get());
          });
      DoubleSupplier allowed =
          () -> 1.2 * KernelBed.productBound(d, depth + 1, want.get()) + 2 * d.unitRoundoff();
      bed.check(y, want, allowed);
      others.forEach(of -> bed.check(of[2], want, allowed));

      double w = d.sizeBytes();
      double bytes =
          w * ((double) rows * depth + (double) depth * columns + (double) rows * columns);
      Outcome outcome =
          bed.outcome(
              launch,
              new KernelBed.Work(2.0 * batch * rows * depth * columns, batch * bytes),
              OperationClass.MATMUL);
      describe(outcome, rows, depth);
      return outcome;
    }
  }

  private static CompositeGemm finished(
      Tl tl, Finish epilogue, CompositeGemm gemm, Tensor bias, Tensor more) {
    return switch (epilogue) {
      case BIAS -> gemm.epilogue(Epilogue.bias(tl.load(bias)));
      case BIAS_RELU -> gemm.epilogue(Epilogue.bias(tl.load(bias))).epilogue(Epilogue.relu());
      case BIAS_GELU -> gemm.epilogue(Epilogue.bias(tl.load(bias))).epilogue(Epilogue.gelu());
      case ADD -> gemm.epilogue(Epilogue.add(tl.ref(more)));
      case NONE -> gemm;
    };
  }

  /** What an epilogue makes of a product, in place; the bias has an element per column. */
  private static double[] finished(Finish epilogue, double[] y, double[] bias, double[] more) {
    for (int i = 0; i < y.length; i++) {
      double biased = y[i] + bias[i % bias.length];
      y[i] =
          switch (epilogue) {
            case BIAS -> biased;
            case BIAS_RELU -> Math.max(biased, 0);
            case BIAS_GELU -> ReferenceFunctions.gelu(biased);
            case ADD -> y[i] + more[i];
            case NONE -> y[i];
          };
    }
    return y;
  }

  private static CompositeGemm staged(Tl tl, Staging variant, Tensor a, Tensor b) {
    return switch (variant) {
      case LOAD_REF -> CompositeGemm.of(tl.load(a), tl.ref(b));
      case REF_LOAD -> CompositeGemm.of(tl.ref(a), tl.load(b));
      case LOAD_LOAD -> CompositeGemm.of(tl.load(a), tl.load(b));
      case REF_REF -> CompositeGemm.of(tl.ref(a), tl.ref(b));
    };
  }

  private static CompositeGemm tiled(BenchContext context, CompositeGemm gemm) {
    int tm = context.param(TILE_M);
    int tk = context.param(TILE_K);
    int tn = context.param(TILE_N);
    int given = (tm > 0 ? 1 : 0) + (tk > 0 ? 1 : 0) + (tn > 0 ? 1 : 0);
    if (given % 3 != 0) {
      throw new UsageException(
          """
          tile_m, tile_k and tile_n are %s, %s, %s; give all three, or none for the \
          machine's choice\
          """
              .formatted(tm, tk, tn));
    }
    CompositeGemm tiled = given == 3 ? gemm.tile(tm, tk, tn) : gemm;
    int buffers = context.param(BUFFERS);
    return buffers > 0 ? tiled.buffers(buffers) : tiled;
  }

  /** Tiles, and the window from the first product to the last unless the log was cut. */
  private static void describe(Outcome outcome, int rows, int depth) {
    if (rows < UNDER_FED) {
      outcome.metric("under_fed", "M");
    } else if (depth < UNDER_FED) {
      outcome.metric("under_fed", "K");
    }
    if (outcome.log().isEmpty()) {
      return;
    }
    OpLog log = outcome.log().get();
    if (log.completed(OpKind.GEMM) == 0) {
      return;
    }
    outcome.metric("tiles", log.completed(OpKind.GEMM));
    if (log.isComplete()) {
      outcome.metric("products_window_ns", Numbers.ns(productsWindowPs(log)));
    }
  }

  private static long productsWindowPs(OpLog log) {
    long first = Long.MAX_VALUE;
    long last = 0;
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id) && log.kind(id) == OpKind.GEMM) {
        first = Math.min(first, log.startPs(id));
        last = Math.max(last, log.endPs(id));
      }
    }
    return last - first;
  }
}
