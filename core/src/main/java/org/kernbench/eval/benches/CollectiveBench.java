package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * {@code collective}: any operation with any algorithm, type, reduction and group, over a range of
 * sizes; a table as nccl-tests prints it, with the lower bound beside each time.
 */
final class CollectiveBench implements Bench {
  private static final Param<CollectiveOp> OP =
      Param.choice(
          "op",
          CollectiveOp.ALL_REDUCE,
          Arrays.stream(CollectiveOp.values())
              .filter(op -> op != CollectiveOp.POINT_TO_POINT)
              .toList(),
          "operation");

  private static final Param<Optional<String>> ALGORITHM =
      Param.word("algorithm", "auto", "a name in ccl.yaml that can do it", "algorithm")
          .orFrom("auto");

  private static final Param<Long> MIN_SIZE =
      Param.size("min_size", "16 B", 0, 1 << 30, "smallest vector");
  private static final Param<Long> MAX_SIZE =
      Param.size("max_size", "1 MiB", 0, 1 << 30, "largest vector");
  private static final Param<Integer> FACTOR =
      Param.integer("factor", 8, 2, 1024, "each size is so many times the one before");

  private static final Param<ReduceKind> REDUCE =
      Param.choice("reduce", ReduceKind.SUM, ReduceKind.class, "how elements combine, if they do");

  private static final Param<RankLevel> RANK_LEVEL =
      Param.choice("rank_level", RankLevel.SIP, RankLevel.class, "what a rank owns");

  private static final Param<Integer> RANKS =
      Param.integer("ranks", 0, 0, 16384, "ranks: the first devices; 0 for all of the level");

  private static final Param<Integer> STRIDE =
      Param.integer("stride", 1, 1, 1024, "every stride-th device is a rank: a sub-group");

  private static final Param<Integer> ROOT =
      Param.integer("root", 0, 0, 16384, "for operations that have one");

  @Override
  public String name() {
    return "collective";
  }

  @Override
  public String description() {
    return "any collective over a range of sizes: time, algbw, busbw, lower bound; values checked";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(
        OP,
        ALGORITHM,
        MIN_SIZE,
        MAX_SIZE,
        FACTOR,
        CollectiveParams.DTYPE,
        REDUCE,
        RANK_LEVEL,
        RANKS,
        STRIDE,
        ROOT);
  }

  @Override
  public Outcome run(BenchContext context) {
    if (context.mode() == Mode.VALUES) {
      throw new UsageException("collective measures time; use --mode full or --mode time");
    }
    Machine machine = context.machine();
    context.refuseCcl(
        List.of("defaults.algorithm=", "defaults.operations."), "--param algorithm=NAME");
    CclConfig config = context.ccl(List.of());
    CollectiveOp op = context.param(OP);
    RankLevel level = context.param(RANK_LEVEL);
    List<Pe> leads = leads(context, machine, level);
    int root = op.hasRoot() ? context.param(ROOT) : -1;
    if (root >= leads.size()) {
      throw new UsageException(
          "--param root: got " + root + "; expected one of the " + leads.size() + " ranks, from 0");
    }
    String algorithm = algorithm(context, config, op);
    DType dtype = CollectiveParams.dtype(context);
    ReduceKind reduce = context.param(REDUCE);
    CollectiveTrial trial = trial(machine, config, algorithm, level, leads);
    Outcome outcome =
        Outcome.on(machine)
            .condition("op", op.word())
            .condition("algorithm", algorithm)
            .condition("ranks", leads.size())
            .condition("rank_level", Param.word(level))
            .condition("dtype", dtype.code());
    Sum sum = new Sum();
    List<Long> sizes = sizes(context, op, dtype, leads.size());
    for (int i = 0; i < sizes.size(); i++) {
      CollectiveTrial.Question question =
          new CollectiveTrial.Question(op, reduce, dtype, root, sizes.get(i));
      String point = "n_elem=" + sizes.get(i);
      context.progress().at(i, sizes.size(), question.toString());
      if (!context.runs(point)) {
        continue;
      }
      CollectiveTrial.Result result = run(trial, question, context, outcome);
      context.took(point, result.ps());
      outcome.row(row(question, result, leads.size(), context.mode()));
      sum.add(question, result);
    }
    context.progress().at(sizes.size(), sizes.size(), "");
    sum.into(outcome, context);
    outcome.choices(trial.choices());
    return outcome.metric("points", outcome.rows().size());
  }

  private static CollectiveTrial trial(
      Machine machine, CclConfig config, String algorithm, RankLevel level, List<Pe> leads) {
    try {
      return CollectiveTrial.of(
          machine,
          CollectiveLibrary.algorithm(config, algorithm),
          config.of(algorithm),
          level,
          leads);
    } catch (CollectiveException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  private static CollectiveTrial.Result run(
      CollectiveTrial trial,
      CollectiveTrial.Question question,
      BenchContext context,
      Outcome outcome) {
    Optional<CollectiveTrial.Result> folded = folded(trial, question, context, outcome);
    if (folded.isPresent()) {
      return folded.get();
    }
    try {
      return context.choosesPoint()
          ? trial.run(question, context.mode(), context.recordingOfPoint(), outcome::explained)
          : trial.run(question, context.mode(), context.recording());
    } catch (CollectiveException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  /** One package for all, where that is exact and nobody looks at the rows of all. */
  private static Optional<CollectiveTrial.Result> folded(
      CollectiveTrial trial,
      CollectiveTrial.Question question,
      BenchContext context,
      Outcome outcome) {
    Folding folding = context.folding();
    if (folding == Folding.OFF || (folding == Folding.AUTO && context.choosesPoint())) {
      return Optional.empty();
    }
    try {
      CollectiveTrial.Folded folded =
          context.choosesPoint()
              ? trial.runFolded(question, context.recordingOfPoint(), outcome::explained)
              : trial.runFolded(question, context.recording(0), (log, launch, queues) -> {});
      outcome.folded(folded.note());
      return Optional.of(folded.result());
    } catch (CannotFoldException e) {
      if (folding == Folding.ON) {
        throw new UsageException("cannot fold: " + e.getMessage());
      }
      outcome.notFolded();
      return Optional.empty();
    } catch (CollectiveException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  private static String algorithm(BenchContext context, CclConfig config, CollectiveOp op) {
    String wanted = context.param(ALGORITHM).orElse("auto");
    List<String> able = config.names(op).stream().sorted().toList();
    for (String each : able) {
      if (Suggest.fold(each).equals(Suggest.fold(wanted))) {
        return each;
      }
    }
    throw new UsageException(
        "--param algorithm: got \"%s\"; expected one that can do %s: %s%s"
            .formatted(wanted, op.word(), String.join(", ", able), Suggest.hint(wanted, able)));
  }

  private static List<Pe> leads(BenchContext context, Machine machine, RankLevel level) {
    int devices = level.devices(machine);
    int stride = context.param(STRIDE);
    int most = Math.ceilDiv(devices, stride);
    int ranks = context.param(RANKS) == 0 ? most : context.param(RANKS);
    if (most < 2) {
      String others = RankLevel.withAtLeast(machine, 2);
      throw new UsageException(
          """
          machine %s has %s of level %s%s: too few for a collective; expected %sanother machine\
          """
              .formatted(
                  machine.name(),
                  devices == 1 ? "one device" : devices + " devices",
                  Param.word(level),
                  stride > 1 ? ", of which one in " + stride + " is taken" : "",
                  others.isEmpty() ? "" : "a rank_level with more, " + others + ", or "));
    }
    if (ranks < 2 || ranks > most) {
      throw new UsageException(
          "--param ranks: got %s; machine %s has %s of level %s%s%s"
              .formatted(
                  ranks,
                  machine.name(),
                  devices == 1 ? "one device" : devices + " devices",
                  Param.word(level),
                  stride > 1 ? ", of which one in " + stride + " is taken" : "",
                  ": expected 2 to " + most));
    }
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < ranks; i++) {
      int device = i * stride;
      leads.add(
          switch (level) {
            case SIP -> new Pe(device, 0, 0);
            case CUBE -> new Pe(device / machine.cubesPerSip(), device % machine.cubesPerSip(), 0);
            case PE -> machine.peAt(device);
          });
    }
    return leads;
  }

  private static List<Long> sizes(BenchContext context, CollectiveOp op, DType dtype, int ranks) {
    if (op == CollectiveOp.BARRIER) {
      return List.of(0L);
    }
    List<Long> elements = new ArrayList<>();
    long most = context.param(MAX_SIZE);
    if (context.param(MIN_SIZE) == 0) {
      throw new UsageException(
          "--param min_size: 0 B; expected 1 B or more (only a barrier has no vector)");
    }
    for (long bytes = context.param(MIN_SIZE); bytes <= most; bytes *= context.param(FACTOR)) {
      long count = Math.max(1, bytes / dtype.sizeBytes());
      if (op == CollectiveOp.ALL_TO_ALL) {
        count = Math.max(1, count / ranks) * ranks; // even blocks
      }
      if (elements.isEmpty() || elements.getLast() != count) {
        elements.add(count);
      }
    }
    if (elements.isEmpty()) {
      throw new UsageException("--param min_size: larger than max_size; there is no size to run");
    }
    return elements;
  }

  /** Bandwidths as nccl-tests has them: S / t, and that times what a rank must move at least. */
  private static Map<String, Object> row(
      CollectiveTrial.Question q, CollectiveTrial.Result r, int ranks, Mode mode) {
    long bytes = q.bytes();
    double share = (ranks - 1.0) / ranks;
    double factor =
        switch (q.op()) {
          case ALL_REDUCE -> 2 * share;
          case REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL, GATHER, SCATTER -> share;
          case BROADCAST, REDUCE, BARRIER, POINT_TO_POINT -> 1;
        };
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("algorithm", r.algorithm().replace("auto:", ""));
    row.put("n_elem", q.elements());
    row.put("bytes", bytes);
    row.put("crit_ns", Numbers.ns(r.ps()));
    double ns = r.ps() / 1e3;
    row.put("algbw_gb_per_s", Numbers.rounded(ns > 0 ? bytes / ns : 0));
    row.put("busbw_gb_per_s", Numbers.rounded(ns > 0 ? bytes / ns * factor : 0));
    row.put("bound_ns", Numbers.ns(r.bound().ps()));
    row.put("bound_kind", r.bound().kind());
    row.put("efficiency", Numbers.ratio(r.bound().ps(), r.ps()));
    row.put("wire_bytes", r.wireBytes());
    row.put("peak_slots", r.peakSlots());
    if (mode != Mode.TIME) {
      row.put("correct", r.problems().isEmpty());
    }
    return row;
  }

  /** What all sizes have in common. */
  private static final class Sum {
    private final Digest times = new Digest();
    private long events;
    private CollectiveTrial.Checked checked = CollectiveTrial.Checked.NONE;
    private long failed;
    private String problem = "";
    private CollectiveTrial.@Nullable Result slowest;

    void add(CollectiveTrial.Question question, CollectiveTrial.Result result) {
      events += result.events();
      times.add(question + " " + result.ps());
      checked = checked.plus(result.checked());
      if (!result.problems().isEmpty()) {
        failed++;
        problem = problem.isEmpty() ? question + ": " + result.problems().getFirst() : problem;
      }
      if (slowest == null || result.ps() > slowest.ps()) {
        slowest = result;
      }
    }

    void into(Outcome outcome, BenchContext context) {
      outcome.simulated(events, times.text());
      if (context.mode() != Mode.TIME) {
        outcome.values(
            new ValueCheck(
                checked.values(),
                Math.max(checked.wrong(), failed),
                checked.maxError(),
                checked.allowed(),
                Optional.empty()),
            times.text());
      }
      CollectiveTrial.Result last = slowest;
      if (last != null) {
        outcome
            .time(last.ps(), last.bound().ps(), last.bound().kind())
            .kind(OperationClass.COLLECTIVE)
            .launchWay(last.launchPs());
      }
      outcome.problem(problem);
      if (!context.choosesPoint()) {
        outcome.noBreakdown(PointSum.OF_POINTS);
      }
    }
  }
}
