package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.log.Cost;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.placement.ShardSpec;

/**
 * {@code va-offset-verify}: every PE of a package reads a stretch of a sharded tensor by virtual
 * address and stores it into its own shard of another.
 *
 * <p>Shards are small and ragged, so that many share a page. The stretch begins at the PE's own
 * shard, one element further on (it then ends in the next shard: two memories, two commands), at
 * the next PE's shard, and at that of the same PE in the next cube. The bound of a row is its
 * slowest PE alone on the machine: load and store without contention, dispatch and address
 * translation.
 */
final class VaOffsetBench implements Bench {
  private static final Param<Integer> N_ELEM =
      Param.integer("n_elem", 100, 1, 1 << 14, "elements per shard; the last shard has one less");

  /** Where the stretch of a PE begins, seen from its own shard. */
  private record Distance(String name, int elements) {}

  @Override
  public String name() {
    return "va-offset-verify";
  }

  @Override
  public String description() {
    return """
    reads a sharded tensor by virtual address: own, straddling, next PE's, next cube's shard\
    """;
  }

  @Override
  public List<Param<?>> params() {
    return List.of(N_ELEM, CollectiveParams.DTYPE, DeviceChoice.PARAM);
  }

  @Override
  public Outcome run(BenchContext context) {
    Machine machine = context.machine();
    int n = context.param(N_ELEM);
    Outcome outcome = Outcome.on(machine);
    outcome.condition("shards", machine.cubesPerSip() * machine.pesPerCube());
    outcome.condition("shard_bytes", (long) n * CollectiveParams.dtype(context).sizeBytes());
    outcome.condition("page_bytes", machine.pe().mmu().pageBytes());
    Sum sum = new Sum();
    for (Distance distance : distances(machine, n)) {
      if (context.runs(distance.name)) {
        access(context, distance, outcome, sum);
      }
    }
    outcome.simulated(sum.events, context.mode() == Mode.VALUES ? "" : sum.opLogs.text());
    if (context.mode() != Mode.TIME) {
      outcome.values(sum.values.result(), sum.valueHash.text());
    }
    if (context.mode() != Mode.VALUES) {
      outcome.time(sum.slowestPs, sum.slowestBoundPs, sum.slowest);
      sum.explanation.ifPresent(explains -> explains.accept(outcome));
    }
    return outcome;
  }

  /** What the rows have in common, and the slowest of them. */
  private static final class Sum {
    final Digest opLogs = new Digest();
    final Digest valueHash = new Digest();
    final ValueCheck.Comparison values = new ValueCheck.Comparison(0);
    long events;
    String slowest = "";
    long slowestPs;
    long slowestBoundPs;
    Optional<Consumer<Outcome>> explanation = Optional.empty();
  }

  private static List<Distance> distances(Machine machine, int n) {
    List<Distance> all = new ArrayList<>();
    all.add(new Distance("own", 0));
    all.add(new Distance("straddling", 1));
    if (machine.pesPerCube() > 1) {
      all.add(new Distance("next PE", n));
    }
    if (machine.cubesPerSip() > 1) {
      all.add(new Distance("next cube", n * machine.pesPerCube()));
    }
    return all;
  }

  private static void access(BenchContext context, Distance distance, Outcome outcome, Sum sum) {
    DType dtype = CollectiveParams.dtype(context);
    TorchOptions options =
        new TorchOptions(context.mode(), context.recording().withLines(), Optional.empty());
    try (Torch torch = Torch.open(context.machine(), options)) {
      Machine machine = torch.machine();
      torch.ahbm().setDevice(DeviceChoice.of(context, machine).sip());
      int all = machine.cubesPerSip() * machine.pesPerCube() * context.param(N_ELEM) - 1;
      Tensor x =
          torch.from(() -> values(all, dtype), Shape.of(all), dtype, DpPolicy.rowWise(), "x");
      Tensor y = torch.zeros(Shape.of(all), dtype, DpPolicy.rowWise(), "y");
      int[] from = new int[machine.peCount()];
      for (ShardSpec s : y.shardSpecs()) {
        int room = all - (int) s.shape().elements() + 1;
        from[machine.peIndex(s.place())] = (s.offset().getFirst() + distance.elements) % room;
      }
      Launch launch =
          torch.launch(
              "va-offset",
              tl -> {
                Shape mine = tl.shard(y).shape();
                long offset = (long) from[machine.peIndex(tl.pe())] * dtype.sizeBytes();
                tl.store(y, tl.load(x.address().plus(offset), mine, dtype));
              },
              x,
              y);
      torch.await(launch);

      Map<String, Object> row = new LinkedHashMap<>();
      row.put("reads", distance.name);
      OpLog log = torch.simulator().opLog();
      sum.events += torch.simulator().eventCount();
      if (context.mode() != Mode.VALUES) {
        context.took(distance.name, launch.criticalPs());
        time(machine, launch, log, bound(machine, x, y, from), row, sum);
        MmuCounts mmu = torch.simulator().mmuCounts();
        row.put("loads", log.completed(OpKind.LOAD));
        row.put("translations", mmu.lookups());
        row.put("tlb_misses", mmu.misses());
      }
      if (context.mode() != Mode.TIME) {
        double[] got = y.toDoubles();
        int[] source = source(machine, y, from);
        ValueCheck.Comparison here = new ValueCheck.Comparison(0);
        here.add(0, got, (rank, i) -> value(source[i], dtype));
        sum.values.add(0, got, (rank, i) -> value(source[i], dtype));
        sum.valueHash.add(got);
        row.put("correct", here.result().isCorrect());
      }
      outcome.row(row);
    }
  }

  private static void time(
      Machine machine, Launch launch, OpLog log, long boundPs, Map<String, Object> row, Sum sum) {
    row.put("crit_ns", Numbers.ns(launch.criticalPs()));
    row.put("bound_ns", Numbers.ns(boundPs));
    row.put("efficiency", Numbers.ratio(boundPs, launch.criticalPs()));
    sum.opLogs.add(log.hash());
    if (launch.criticalPs() > sum.slowestPs) {
      sum.slowest = "latency";
      sum.slowestPs = launch.criticalPs();
      sum.slowestBoundPs = boundPs;
      sum.explanation = Optional.of(outcome -> outcome.explained(log, launch, machine.ipcq()));
    }
  }

  // ---- values ----

  /** Small numbers that every type holds and that no shift maps onto themselves. */
  private static double value(int i, DType dtype) {
    long h = (i + 1) * 0x9E3779B97F4A7C15L;
    return dtype.round((h ^ (h >>> 32)) & 7);
  }

  private static double[] values(int n, DType dtype) {
    double[] values = new double[n];
    for (int i = 0; i < n; i++) {
      values[i] = value(i, dtype);
    }
    return values;
  }

  /** Which element of x each element of y should be. */
  private static int[] source(Machine machine, Tensor y, int[] from) {
    int[] source = new int[(int) y.shape().elements()];
    for (ShardSpec s : y.shardSpecs()) {
      for (int i = 0; i < s.shape().elements(); i++) {
        source[s.offset().getFirst() + i] = from[machine.peIndex(s.place())] + i;
      }
    }
    return source;
  }

  // ---- bound ----

  /** The slowest PE: the slowest part of its load, then its store, with nobody else about. */
  private static long bound(Machine machine, Tensor x, Tensor y, int[] from) {
    long slowest = 0;
    for (ShardSpec s : y.shardSpecs()) {
      int first = from[machine.peIndex(s.place())];
      int last = first + (int) s.shape().elements();
      long load = 0;
      for (ShardSpec part : x.shardSpecs()) {
        int start = part.offset().getFirst();
        int count = Math.min(last, start + part.shape().dim(0)) - Math.max(first, start);
        if (count > 0) {
          load = Math.max(load, loadPs(machine, s.place(), part.place(), count * size(x)));
        }
      }
      if (last > first) {
        slowest = Math.max(slowest, load + storePs(machine, s.place(), (last - first) * size(y)));
      }
    }
    return slowest;
  }

  private static long size(Tensor t) {
    return t.dtype().sizeBytes();
  }

  private static long loadPs(Machine machine, Pe pe, Pe holder, long bytes) {
    int memory = machine.hbmNode(holder);
    long request = new Cost.Request(pe, memory).on(machine);
    return new Cost.DmaSetup().on(machine)
        + request
        + machine.route(memory, machine.peNode(pe)).alonePs(bytes);
  }

  private static long storePs(Machine machine, Pe pe, long bytes) {
    int memory = machine.hbmNode(pe);
    return new Cost.DmaSetup().on(machine)
        + machine.route(machine.peNode(pe), memory).alonePs(bytes)
        + new Cost.Reply(pe, memory).on(machine);
  }
}
