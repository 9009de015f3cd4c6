package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import org.kernbench.config.UsageException;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.ValueTooLargeException;
import org.kernbench.device.log.CostModel;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.StreamCosts;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Numerics;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * What benches of kernels share: tensors on any PE, one launch, values against a reference in f64
 * with the bound of the dtype, time against the roofline, and what decides it.
 */
final class KernelBed implements AutoCloseable {
  static final Param<DType> DTYPE =
      Param.choice(
          "dtype",
          DType.F16,
          List.of(DType.F64, DType.F32, DType.F16, DType.BF16),
          "type of the tensors' elements");

  /** Which PEs take part. */
  enum Over {
    /** Those of the first cube. */
    CUBE,
    /** The first of each cube. */
    CUBES,
    /** All of the package. */
    PACKAGE,
    /** The first of every package of the machine. */
    PACKAGES
  }

  final BenchContext context;
  final Machine machine;
  private final DeviceChoice device;
  private final Torch torch;
  private final List<Tensor> tensors = new ArrayList<>();
  private static final int EIGHTHS = 8;

  private final List<double[]> got = new ArrayList<>();
  private final List<double[]> wanted = new ArrayList<>();
  private final List<Double> allowed = new ArrayList<>();

  private KernelBed(BenchContext context, Machine machine, RankLevel level) {
    this.context = context;
    this.machine = machine;
    this.device = DeviceChoice.of(context, machine);
    this.torch =
        Torch.open(
            machine,
            new TorchOptions(
                context.mode(),
                context.recording().withLines(),
                Optional.of(new NoGroups(machine, level)),
                Spread.ALL));
  }

  /** A bed whose tensors lie on one PE each. */
  static KernelBed open(BenchContext context) {
    return open(context, RankLevel.PE);
  }

  /** A bed for what is spread over devices of a level. */
  static KernelBed open(BenchContext context, RankLevel level) {
    return new KernelBed(context, context.machine(), level);
  }

  /** The host's view, on the first device of the package that the user chose. */
  Torch torch() {
    int devices = torch.ahbm().deviceCount() / machine.sips();
    torch.ahbm().setDevice(device.sip() * devices);
    return torch;
  }

  static DType dtype(BenchContext context) {
    return context.param(DTYPE);
  }

  @Override
  public void close() {
    torch.close();
  }

  /**
   * PEs of the package that the program runs on.
   *
   * @throws UsageException if the user chose one package where all take part
   */
  List<Pe> places(Over over) {
    boolean everyPackage = over == Over.PACKAGES;
    if (everyPackage && context.param(DeviceChoice.PARAM).isPresent()) {
      throw new UsageException("--device " + device + ": all packages take part; leave it out");
    }
    List<Pe> pes = new ArrayList<>();
    for (int i = 0; i < machine.peCount(); i++) {
      Pe pe = machine.peAt(i);
      boolean in =
          switch (over) {
            case CUBE -> pe.cube() == 0;
            case CUBES -> pe.pe() == 0;
            case PACKAGE -> true;
            case PACKAGES -> pe.cube() == 0 && pe.pe() == 0;
          };
      if (in && (everyPackage || pe.sip() == device.sip())) {
        pes.add(pe);
      }
    }
    return pes;
  }

  // ---- data ----

  /** Values of a dtype, uniform between -1 and 1. */
  HostValues random(long seed, int n, DType d) {
    return values(() -> uniform(seed, n, d));
  }

  /**
   * Numbers for products: eighths from -1 to 1, which every type has. So all sums of some millions
   * of products of two of them are exact in the accumulator, in any order, and a check need allow
   * the rounding of the result only.
   */
  HostValues eighths(long seed, int n) {
    return values(() -> {
      SplittableRandom random = new SplittableRandom(seed);
      double[] values = new double[n];
      for (int i = 0; i < n; i++) {
        values[i] = random.nextInt(-EIGHTHS, EIGHTHS + 1) / (double) EIGHTHS;
      }
      return values;
    });
  }

  /** Values that are computed where the run has values; to ask for them in mode time is a bug. */
  HostValues values(Supplier<double[]> source) {
    return HostValues.of(() -> {
      if (context.mode() == Mode.TIME) {
        throw new IllegalStateException("values on the host in mode time, which has none");
      }
      return source.get();
    });
  }

  private static double[] uniform(long seed, int n, DType d) {
    SplittableRandom random = new SplittableRandom(seed);
    double[] values = new double[n];
    for (int i = 0; i < n; i++) {
      values[i] = random.nextDouble(-1, 1);
    }
    byte[] rounded = new byte[Math.multiplyExact(n, d.sizeBytes())];
    Numerics.fromDoubles(d, values, rounded, 0);
    Numerics.toDoubles(d, rounded, 0, values);
    return values;
  }

  Tensor tensor(Pe pe, String name, DType d, HostValues values, int... dims) {
    torch.ahbm().setDevice(machine.peIndex(pe));
    Tensor t = torch.from(values::get, Shape.of(dims), d, name);
    tensors.add(t);
    return t;
  }

  Tensor empty(Pe pe, String name, DType d, int... dims) {
    torch.ahbm().setDevice(machine.peIndex(pe));
    Tensor t = torch.empty(Shape.of(dims), d, name);
    tensors.add(t);
    return t;
  }

  /** Rows {@code [from, to)} of a matrix with {@code columns} columns. */
  static double[] rows(double[] matrix, int columns, int from, int to) {
    return block(matrix, columns, from, to, 0, columns);
  }

  static double[] block(
      double[] matrix, int width, int row, int rowEnd, int column, int columnEnd) {
    int columns = columnEnd - column;
    double[] part = new double[(rowEnd - row) * columns];
    for (int r = row; r < rowEnd; r++) {
      System.arraycopy(matrix, r * width + column, part, (r - row) * columns, columns);
    }
    return part;
  }

  /** {@code A B} in f64. */
  static double[] product(double[] a, double[] b, int m, int k, int n) {
    double[][] rows = new double[m][n]; // arrays of their own, so that the inner loop is vectorised
    double[] right = new double[n];
    for (int p = 0; p < k; p++) {
      System.arraycopy(b, p * n, right, 0, n);
      for (int i = 0; i < m; i++) {
        addScaled(a[i * k + p], right, rows[i]);
      }
    }
    double[] y = new double[m * n];
    for (int i = 0; i < m; i++) {
      System.arraycopy(rows[i], 0, y, i * n, n);
    }
    return y;
  }

  private static void addScaled(double factor, double[] x, double[] sum) {
    for (int j = 0; j < x.length; j++) {
      sum[j] += factor * x[j];
    }
  }

  /**
   * Bound of the error of a product of {@linkplain #eighths eighths}: one rounding of the result,
   * and where an accumulator cannot hold all sums, k fused steps relative to the sum of magnitudes.
   *
   * @param exact the product in f64
   */
  static double productBound(DType d, int k, double[] exact) {
    double largest = 0;
    for (double v : exact) {
      largest = Math.max(largest, Math.abs(v));
    }
    double u = d.accumulator().unitRoundoff();
    boolean isExact = (double) k * EIGHTHS * EIGHTHS <= 1 / u;
    double sums = isExact ? 0 : k * (k + 1.0) * u;
    return sums + 1.01 * d.unitRoundoff() * (largest + sums);
  }

  // ---- one run ----

  QueueSet connect(List<QueuePlan.Connection> connections) {
    return torch.simulator().install(new QueuePlan(machine.ipcq(), connections));
  }

  /** PEs in a ring: {@code next} of each leads to {@code previous} of the one after it. */
  QueueSet connectRing(List<Pe> pes) {
    List<QueuePlan.Connection> all = new ArrayList<>();
    for (int i = 0; i < pes.size() && pes.size() > 1; i++) {
      all.add(
          new QueuePlan.Connection(pes.get(i), "next", pes.get((i + 1) % pes.size()), "previous"));
    }
    return connect(all);
  }

  /** Launches a kernel on all PEs that hold a tensor, and waits. */
  Launch run(String name, Kernel kernel) {
    return run(name, kernel, Optional.empty());
  }

  Launch run(String name, Kernel kernel, QueueSet queues) {
    return run(name, kernel, Optional.of(queues));
  }

  private Launch run(String name, Kernel kernel, Optional<QueueSet> queues) {
    Tensor first = tensors.getFirst();
    Tensor[] more = tensors.subList(1, tensors.size()).toArray(Tensor[]::new);
    try {
      Launch launch =
          queues.isPresent()
              ? torch.launch(name, kernel, queues.get(), first, more)
              : torch.launch(name, kernel, first, more);
      torch.await(launch);
      return launch;
    } catch (ValueTooLargeException e) {
      throw tooLarge(
          "it has a value of %s B, where %s B are no message slots".formatted(e.bytes(), e.room()));
    } catch (DeadlockException e) {
      throw e.shortage()
          .<RuntimeException>map(
              s -> tooLarge("it finds no room for %s B beside what it holds".formatted(s.bytes())))
          .orElse(e);
    }
  }

  /** A kernel that a bench brings has no room at these sizes. */
  UsageException tooLarge(String why) {
    return new UsageException(
        """
        the kernel does not fit TCM at these sizes: %s; expected smaller ones (--param), or a \
        larger TCM or fewer message slots (--set pe.tcm.size=..., ipcq.slots=...)\
        """
            .formatted(why));
  }

  /** Compares a tensor with what it should hold; does nothing where no values are computed. */
  void check(Tensor t, HostValues expected, double bound) {
    check(t, expected, () -> bound);
  }

  /** As {@link #check(Tensor, HostValues, double)}, with a bound that follows from values. */
  void check(Tensor t, HostValues expected, DoubleSupplier bound) {
    if (context.mode() != Mode.TIME) {
      got.add(t.toDoubles());
      wanted.add(expected.get());
      allowed.add(bound.getAsDouble());
    }
  }

  // ---- the outcome ----

  /**
   * What the busiest PE must do at least.
   *
   * @param flops floating-point operations of products
   * @param bytes to and from its memory
   */
  record Work(double flops, double bytes) {}

  Outcome outcome(Launch launch, Work work) {
    Outcome outcome = judged();
    if (isTimed()) {
      measure(outcome, launch.startPs(), launch, work);
      outcome.explained(log(), launch, machine.ipcq());
      addCause(outcome);
    }
    return outcome;
  }

  /**
   * The outcome of one operation.
   *
   * @param kind for what libraries and the host add to it
   */
  Outcome outcome(Launch launch, Work work, OperationClass kind) {
    return outcome(launch, work).kind(kind);
  }

  /** The outcome of several launches, from the start of the first to the end of the last. */
  Outcome outcome(List<Launch> launches, Work work) {
    Outcome outcome = judged();
    if (isTimed()) {
      long fromPs = launches.stream().mapToLong(Launch::startPs).min().orElseThrow();
      Launch last =
          launches.stream().max(java.util.Comparator.comparingLong(Launch::endPs)).orElseThrow();
      measure(outcome, fromPs, last, work);
      outcome.explained(log(), fromPs, last, machine.ipcq());
      addCause(outcome);
    }
    return outcome;
  }

  private boolean isTimed() {
    return context.mode() != Mode.VALUES;
  }

  OpLog log() {
    return torch.simulator().opLog();
  }

  private static void addCause(Outcome outcome) {
    outcome.breakdown().ifPresent(path -> outcome.metric("cause", KernelCause.of(path)));
  }

  private Outcome judged() {
    Outcome outcome = Outcome.on(machine);
    outcome.simulated(torch.simulator().eventCount(), isTimed() ? log().hash() : "");
    if (context.mode() != Mode.TIME) {
      ValueCheck.Comparison comparison = new ValueCheck.Comparison(0);
      Digest digest = new Digest();
      for (int i = 0; i < got.size(); i++) {
        double[] want = wanted.get(i);
        comparison.add(0, got.get(i), (rank, at) -> want[at], allowed.get(i));
      }
      digest.add(joined(got));
      outcome.values(comparison.result(), digest.text());
    }
    return outcome;
  }

  private void measure(Outcome outcome, long fromPs, Launch last, Work work) {
    double peak = 0; // of the fastest PE and memory: which PE does most is not known here
    double bytesPerPs = 0;
    DType type = dtype(context);
    int sip = -1;
    for (Pe pe : last.pes()) {
      if (pe.sip() == sip) {
        continue; // all of a package are alike
      }
      sip = pe.sip();
      GemmSpec gemm = machine.pe(pe.sip()).gemm();
      peak = Math.max(peak, gemm.peakFlops() * CostModel.rate(gemm, type));
      bytesPerPs = Math.max(bytesPerPs, StreamCosts.bothWaysBytesPerPs(machine, pe));
    }
    double flopsPs = work.flops / peak * 1e12;
    double bytesPs = work.bytes / bytesPerPs;
    long bound = (long) Math.floor(Math.max(flopsPs, bytesPs) * (1 - 1e-9));
    long ps = last.endPs() - fromPs;
    outcome.time(ps, bound, flopsPs > bytesPs ? "compute" : "memory");
    double seconds = ps / 1e12;
    if (work.flops > 0) {
      outcome.metric("tflops_per_pe", Numbers.rounded(work.flops / seconds / 1e12));
      outcome.metric("array_utilisation", Numbers.rounded(work.flops / peak / seconds));
    }
    outcome.metric("gb_per_s_per_pe", Numbers.rounded(work.bytes / seconds / 1e9));
    busy(outcome, log(), fromPs, last);
  }

  private static double[] joined(List<double[]> parts) {
    return parts.stream().flatMapToDouble(java.util.Arrays::stream).toArray();
  }

  /** Share of the time for which each kind of engine of the critical PE was busy. */
  private static void busy(Outcome outcome, OpLog log, long fromPs, Launch launch) {
    int last = launch.criticalOp();
    if (!log.has(last) || !log.isComplete()) {
      return;
    }
    Map<OpKind, Long> busy = new EnumMap<>(OpKind.class);
    Map<OpKind, Long> until = new EnumMap<>(OpKind.class);
    Pe pe = log.pe(last);
    List<Integer> ids = new ArrayList<>();
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id) && log.pe(id).equals(pe) && log.startPs(id) >= fromPs) {
        ids.add(id);
      }
    }
    ids.sort(java.util.Comparator.comparingLong(log::startPs));
    for (int id : ids) {
      OpKind kind = log.kind(id) == OpKind.STORE ? OpKind.LOAD : log.kind(id);
      long from = Math.max(log.startPs(id), until.getOrDefault(kind, 0L));
      long to = Math.max(from, log.endPs(id));
      busy.merge(kind, to - from, Long::sum);
      until.put(kind, to);
    }
    for (Map.Entry<OpKind, Long> e : busy.entrySet()) {
      double share = (double) e.getValue() / Math.max(1, launch.endPs() - fromPs);
      String engine =
          switch (e.getKey()) {
            case LOAD, STORE -> "dma";
            case MATH -> "math";
            case GEMM -> "gemm";
            case SEND -> "send";
            case RECV -> "recv";
          };
      outcome.metric(engine + "_busy", Numbers.rounded(share));
    }
  }
}
