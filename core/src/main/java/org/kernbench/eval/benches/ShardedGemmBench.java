package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleSupplier;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.Params;
import org.kernbench.machine.Pe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.tensor.DType;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.ShardedGemm;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.torch.Tensor;

/**
 * {@code gemm-sharded}: one product over the PEs of a cube, of a package, or over packages, divided
 * by columns, by K with a reduction, in a grid (SUMMA), or with A going round a ring behind the
 * products; many products, batched or in groups of unequal size; or a product of a linear layer on
 * all PEs of one device, as models divide it.
 */
final class ShardedGemmBench implements Bench {
  private static final Param<Integer> M = Param.integer("m", 128, 1, 1 << 14, "rows of A");
  private static final Param<Integer> K = Param.integer("k", 256, 1, 1 << 14, "columns of A");
  private static final Param<Integer> N = Param.integer("n", 256, 1, 1 << 14, "columns of B");
  private static final Param<Split> SPLIT =
      Param.choice("split", Split.COLUMNS, Split.class, "how the product is divided");
  private static final Param<KernelBed.Over> OVER =
      Param.choice(
          "over",
          KernelBed.Over.CUBE,
          KernelBed.Over.class,
          "PEs of a cube, one PE of each cube, all PEs of a package, one PE of each package");
  private static final Param<Integer> PES =
      Param.integer("pes", 0, 0, 1 << 14, "how many of them; 0: all, for summa the largest square");

  private enum Split {
    COLUMNS,
    K,
    SUMMA,
    RING,
    BATCHED,
    GROUPED,
    DEVICE
  }

  private static final Param<Pass> PASS =
      Param.choice(
          "pass",
          Pass.FORWARD,
          Pass.class,
          "with split=device: a linear layer's output, or the gradient of its input or weight");

  private enum Pass {
    FORWARD,
    DX,
    DW
  }

  @Override
  public String name() {
    return "gemm-sharded";
  }

  @Override
  public String description() {
    return "a product over PEs, cubes or packages: columns, K, SUMMA, ring, groups, or as models do it";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(M, K, N, KernelBed.DTYPE, SPLIT, OVER, PES, PASS, DeviceChoice.PARAM);
  }

  @Override
  public double productFlops(Params params) {
    return 2.0 * params.get(M) * params.get(K) * params.get(N);
  }

  @Override
  public Outcome run(BenchContext context) {
    if (context.param(SPLIT) == Split.DEVICE) {
      return onDevice(context);
    }
    if (context.param(PASS) != Pass.FORWARD) {
      throw new UsageException(
          "--param pass=%s: expected split=device, or pass=forward"
              .formatted(Param.word(context.param(PASS))));
    }
    try (KernelBed bed = KernelBed.open(context)) {
      List<Pe> pes = bed.places(context.param(OVER));
      int wanted = context.param(PES);
      if (wanted > pes.size()) {
        throw new UsageException(
            "--param pes=%s: %s has %s PEs"
                .formatted(wanted, Param.word(context.param(OVER)), pes.size()));
      }
      pes = pes.subList(0, wanted > 0 ? wanted : pes.size());
      Job job = new Job(bed, context, pes);
      Outcome outcome =
          switch (context.param(SPLIT)) {
            case COLUMNS -> job.columns();
            case K -> job.splitK();
            case SUMMA -> job.summa();
            case RING -> job.ring();
            case BATCHED -> job.groups(false);
            case GROUPED -> job.groups(true);
            case DEVICE -> throw new AssertionError("runs on a device");
          };
      return outcome
          .condition("pes", job.pes.size())
          .condition("products", job.products)
          .condition("product_rows", job.rows);
    }
  }

  /**
   * {@code y = x w^T} with {@code x[m, k]} and {@code w[n, k]}, or a gradient: {@code dx = dy w},
   * {@code dw = dy^T x} in the type of sums.
   */
  private static Outcome onDevice(BenchContext context) {
    if (context.param(PES) != 0) {
      throw new UsageException(
          """
          --param pes=%s: with split=device all PEs of a device take part, or as many as there \
          are tiles for; expected 0\
          """
              .formatted(context.param(PES)));
    }
    try (ModelBed bed = ModelBed.open(context, context.param(OVER))) {
      int m = context.param(M);
      int k = context.param(K);
      int n = context.param(N);
      DType d = KernelBed.dtype(context);
      HostValues x = bed.bed().eighths(1, m * k);
      HostValues w = bed.bed().eighths(2, n * k);
      HostValues dy = bed.bed().eighths(3, m * n);
      switch (context.param(PASS)) {
        case FORWARD -> {
          Variable y =
              bed.graph().linear(bed.activation("x", d, x, m, k), bed.weight("w", d, w, n, k));
          bed.check(y.value(), d, k, () -> KernelBed.product(x.get(), w.transposed(n), m, k, n));
        }
        case DX -> {
          Tensor weight = bed.weight("w", d, w, n, k).value();
          Matrix left = Matrix.of(bed.activation("dy", d, dy, m, n).value(), m, n);
          Matrix right = Matrix.of(weight, n, k).residing();
          Tensor dx = bed.graph().compute().matmul("dx", left, right, d);
          bed.check(dx, d, n, () -> KernelBed.product(dy.get(), w.get(), m, n, k));
        }
        case DW -> {
          Tensor dw = bed.weight("w", d, w, n, k).startGrad(bed.bed().torch());
          Matrix grad = Matrix.of(bed.activation("dy", d, dy, m, n).value(), m, n);
          Matrix in = Matrix.of(bed.activation("x", d, x, m, k).value(), m, k);
          bed.graph().compute().matmulInto("dw", grad.transpose(), in, dw, false, true);
          bed.check(dw, dw.dtype(), m, () -> KernelBed.product(dy.transposed(m), x.get(), n, m, k));
        }
      }
      double flops = 2.0 * m * k * n;
      double elements = (double) m * k + (double) n * k + (double) m * n;
      return bed.outcome(flops, elements * d.sizeBytes());
    }
  }

  /** One run: the operands as a whole and where their parts go. */
  private static final class Job {
    final KernelBed bed;
    List<Pe> pes;
    final int m;
    final int k;
    final int n;
    final DType d;
    final HostValues a;
    final HostValues b;

    /** Whether the number of PEs was asked for. */
    final boolean asked;

    /** The products of all PEs. */
    int products = 1;

    /** Their rows together. */
    long rows;

    Job(KernelBed bed, BenchContext context, List<Pe> pes) {
      this.bed = bed;
      this.pes = pes;
      this.m = context.param(M);
      this.k = context.param(K);
      this.n = context.param(N);
      this.d = KernelBed.dtype(context);
      this.a = bed.eighths(1, m * k);
      this.b = bed.eighths(2, k * n);
      this.asked = context.param(PES) > 0;
      this.rows = m;
    }

    int start(int extent, int part) {
      return ShardedGemm.start(extent, part, pes.size());
    }

    int size(int extent, int part) {
      return start(extent, part + 1) - start(extent, part);
    }

    int rank(Tl tl) {
      return pes.indexOf(tl.pe());
    }

    ShardedGemm.Ring ringOf(Tl tl) {
      return new ShardedGemm.Ring(rank(tl), pes.size(), "next", "previous");
    }

    private HostValues want() {
      return product(a, b, m);
    }

    private HostValues product(HostValues left, HostValues right, int rows) {
      return bed.values(() -> KernelBed.product(left.get(), right.get(), rows, k, n));
    }

    private DoubleSupplier bound(HostValues want) {
      return () -> KernelBed.productBound(d, k, want.get());
    }

    private KernelBed.Work work(int rows, int depth, int columns) {
      double w = d.sizeBytes();
      return new KernelBed.Work(
          2.0 * rows * depth * columns,
          w * ((double) rows * depth + (double) depth * columns + (double) rows * columns));
    }

    private void requireParts(int extent, String what) {
      if (extent < pes.size()) {
        throw new UsageException(
            """
            %s is %s, fewer than the %s PEs it is divided over; use fewer PEs (--param pes) \
            or a larger %s\
            """
                .formatted(what, extent, pes.size(), what));
      }
    }

    Outcome columns() {
      requireParts(n, "n");
      Tensor[] as = new Tensor[pes.size()];
      Tensor[] bs = new Tensor[pes.size()];
      Tensor[] ys = new Tensor[pes.size()];
      for (int r = 0; r < pes.size(); r++) {
        int c = start(n, r);
        as[r] = bed.tensor(pes.get(r), "a" + r, d, a, m, k);
        bs[r] =
            bed.tensor(pes.get(r), "b" + r, d, b.block(n, 0, k, c, c + size(n, r)), k, size(n, r));
        ys[r] = bed.empty(pes.get(r), "y" + r, d, m, size(n, r));
      }
      Launch launch =
          bed.run(
              "gemm-columns",
              tl -> {
                int r = rank(tl);
                tl.composite(CompositeGemm.of(tl.ref(as[r]), tl.ref(bs[r])).into(tl.ref(ys[r])));
              });
      checkColumns(ys);
      return bed.outcome(launch, work(m, k, size(n, 0)));
    }

    private void checkColumns(Tensor[] ys) {
      HostValues want = want();
      for (int r = 0; r < pes.size(); r++) {
        int c = start(n, r);
        bed.check(ys[r], want.block(n, 0, m, c, c + size(n, r)), bound(want));
      }
    }

    Outcome splitK() {
      requireParts(k, "k");
      requireParts(m, "m");
      int p = pes.size();
      Tensor[] as = new Tensor[p];
      Tensor[] bs = new Tensor[p];
      Tensor[] partial = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      for (int r = 0; r < p; r++) {
        int from = start(k, r);
        int depth = size(k, r);
        as[r] = bed.tensor(pes.get(r), "a" + r, d, a.block(k, 0, m, from, from + depth), m, depth);
        bs[r] = bed.tensor(pes.get(r), "b" + r, d, b.rows(n, from, from + depth), depth, n);
        partial[r] = bed.empty(pes.get(r), "partial" + r, d.accumulator(), m, n);
        ys[r] = bed.empty(pes.get(r), "y" + r, d, size(m, r), n);
      }
      Launch launch =
          bed.run(
              "gemm-split-k",
              tl -> {
                int r = rank(tl);
                ShardedGemm.splitK(
                    tl,
                    ringOf(tl),
                    tl.ref(as[r]),
                    tl.ref(bs[r]),
                    tl.ref(partial[r]),
                    tl.ref(ys[r]));
              },
              bed.connectRing(pes));
      HostValues want = want();
      for (int r = 0; r < p; r++) {
        bed.check(ys[r], want.rows(n, start(m, r), start(m, r + 1)), bound(want));
      }
      // each reads its part of A and B, and writes its own rows: the partial sums may stay inside
      int depth = size(k, 0);
      double elements = (double) m * depth + (double) depth * n + (double) size(m, 0) * n;
      return bed.outcome(launch, new KernelBed.Work(2.0 * m * depth * n, elements * d.sizeBytes()));
    }

    Outcome ring() {
      requireParts(n, "n");
      requireParts(m, "m");
      int p = pes.size();
      Tensor[] as = new Tensor[p];
      Tensor[] bs = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      for (int r = 0; r < p; r++) {
        int c = start(n, r);
        as[r] =
            bed.tensor(
                pes.get(r), "a" + r, d, a.rows(k, start(m, r), start(m, r + 1)), size(m, r), k);
        bs[r] =
            bed.tensor(pes.get(r), "b" + r, d, b.block(n, 0, k, c, c + size(n, r)), k, size(n, r));
        ys[r] = bed.empty(pes.get(r), "y" + r, d, m, size(n, r));
      }
      Launch launch =
          bed.run(
              "gemm-ring",
              tl -> {
                int r = rank(tl);
                ShardedGemm.ring(tl, ringOf(tl), tl.ref(as[r]), tl.ref(bs[r]), tl.ref(ys[r]));
              },
              bed.connectRing(pes));
      checkColumns(ys);
      return bed.outcome(
          launch,
          new KernelBed.Work(
              2.0 * m * k * size(n, 0),
              (double) d.sizeBytes() * (size(m, 0) * k + k * size(n, 0) + m * size(n, 0))));
    }

    Outcome summa() {
      int side = (int) Math.sqrt(pes.size());
      if (asked && side * side != pes.size()) {
        throw new UsageException(
            "--param pes=%s: split=summa is a square grid; expected %s or %s"
                .formatted(pes.size(), side * side, (side + 1) * (side + 1)));
      }
      pes = pes.subList(0, side * side);
      if (m < side || n < side || k < side) {
        throw new UsageException(
            String.format(
                Locale.ROOT,
                "m, k, n are %d, %d, %d; expected at least %d, the side of the grid",
                m,
                k,
                n,
                side));
      }
      int[] rows = new int[side];
      int[] depths = new int[side];
      int[] columns = new int[side];
      for (int i = 0; i < side; i++) {
        rows[i] = part(m, i, side);
        depths[i] = part(k, i, side);
        columns[i] = part(n, i, side);
      }
      Tensor[] as = new Tensor[side * side];
      Tensor[] bs = new Tensor[side * side];
      Tensor[] ys = new Tensor[side * side];
      List<QueuePlan.Connection> connections = new ArrayList<>();
      for (int r = 0; r < side * side; r++) {
        int i = r / side;
        int j = r % side;
        as[r] = block("a", r, a, k, m, k, i, j, side);
        bs[r] = block("b", r, b, n, k, n, i, j, side);
        ys[r] = bed.empty(pes.get(r), "y" + r, d, rows[i], columns[j]);
        if (side > 1) {
          Pe east = pes.get(i * side + (j + 1) % side);
          Pe south = pes.get((i + 1) % side * side + j);
          connections.add(new QueuePlan.Connection(pes.get(r), "east", east, "west"));
          connections.add(new QueuePlan.Connection(pes.get(r), "south", south, "north"));
        }
      }
      Launch launch =
          bed.run(
              "gemm-summa",
              tl -> {
                int r = rank(tl);
                ShardedGemm.summa(
                    tl,
                    new ShardedGemm.Grid(
                        r / side, r % side, side, "east", "west", "south", "north"),
                    tl.ref(as[r]),
                    tl.ref(bs[r]),
                    tl.ref(ys[r]),
                    depths);
              },
              bed.connect(connections));
      HostValues want = want();
      for (int r = 0; r < side * side; r++) {
        int i = ShardedGemm.start(m, r / side, side);
        int j = ShardedGemm.start(n, r % side, side);
        bed.check(
            ys[r], want.block(n, i, i + rows[r / side], j, j + columns[r % side]), bound(want));
      }
      double w = d.sizeBytes();
      return bed.outcome(
          launch,
          new KernelBed.Work(
              2.0 * rows[0] * k * columns[0],
              w * (rows[0] * depths[0] + depths[0] * columns[0] + (double) rows[0] * columns[0])));
    }

    private static int part(int extent, int i, int parts) {
      return ShardedGemm.start(extent, i + 1, parts) - ShardedGemm.start(extent, i, parts);
    }

    private Tensor block(
        String name,
        int r,
        HostValues whole,
        int width,
        int rows,
        int columns,
        int i,
        int j,
        int side) {
      int row = ShardedGemm.start(rows, i, side);
      int column = ShardedGemm.start(columns, j, side);
      int h = part(rows, i, side);
      int w = part(columns, j, side);
      return bed.tensor(
          pes.get(r), name + r, d, whole.block(width, row, row + h, column, column + w), h, w);
    }

    /** Two products per PE; in groups of unequal size, the first of which is empty. */
    Outcome groups(boolean unequal) {
      int each = 2;
      int p = pes.size();
      Tensor[][] as = new Tensor[p][each];
      Tensor[][] bs = new Tensor[p][each];
      Tensor[][] ys = new Tensor[p][each];
      List<Runnable> checks = new ArrayList<>();
      int most = 0;
      products = p * each;
      rows = 0;
      for (int r = 0; r < p; r++) {
        int all = 0;
        for (int g = 0; g < each; g++) {
          int number = r * each + g;
          int rows = unequal ? (number * 37 + m) % (m + 1) * (number == 0 ? 0 : 1) : m;
          HostValues x = bed.eighths(100 + number, rows * k);
          HostValues weights = bed.eighths(1000 + number, k * n);
          as[r][g] = bed.tensor(pes.get(r), "a" + number, d, x, rows, k);
          bs[r][g] = bed.tensor(pes.get(r), "b" + number, d, weights, k, n);
          ys[r][g] = bed.empty(pes.get(r), "y" + number, d, rows, n);
          Tensor y = ys[r][g];
          HostValues want = product(x, weights, rows);
          checks.add(() -> bed.check(y, want, bound(want)));
          all += rows;
        }
        most = Math.max(most, all);
        rows += all;
      }
      Launch launch =
          bed.run(
              unequal ? "gemm-grouped" : "gemm-batched",
              tl -> {
                int r = rank(tl);
                ShardedGemm.grouped(tl, refs(tl, as[r]), refs(tl, bs[r]), refs(tl, ys[r]));
              });
      checks.forEach(Runnable::run);
      double w = d.sizeBytes();
      return bed.outcome(
          launch,
          new KernelBed.Work(2.0 * most * k * n, w * ((double) most * k + (double) most * n)));
    }

    private static Slice[] refs(Tl tl, Tensor[] tensors) {
      Slice[] slices = new Slice[tensors.length];
      for (int i = 0; i < slices.length; i++) {
        slices[i] = tl.ref(tensors[i]);
      }
      return slices;
    }
  }
}
