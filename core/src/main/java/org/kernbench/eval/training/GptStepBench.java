package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.training.StepTimeline.Share;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.nn.pipeline.Schedules;

/**
 * {@code gpt-step}: a training step of a GPT on GPUs, put together from the times of its calls.
 * Each distinct call is simulated once, on the machine and alone, and stands for all that are equal
 * to it: the layers of a model and its microbatches make the same calls over and over.
 *
 * <p>That is exact as long as calls do not meet: a GPU runs one kernel at a time here, and groups
 * of ranks behind one switch, or all joined to each other, share no link. Other machines are
 * refused. {@code train-step} simulates a step as a whole, with values.
 */
public final class GptStepBench implements Bench {
  private static final Param<Integer> HIDDEN =
      Param.integer("hidden", 64, 4, 1 << 16, "width of the model");
  private static final Param<Integer> HEADS = Param.integer("heads", 4, 1, 1024, "attention heads");
  private static final Param<Integer> LAYERS =
      Param.integer("layers", 2, 1, 1024, "blocks of the model");
  private static final Param<Integer> TOKENS =
      Param.integer("tokens", 64, 1, 1 << 17, "length of a sequence");
  private static final Param<Integer> VOCABULARY =
      Param.integer("vocabulary", 512, 2, 1 << 20, "ids of the vocabulary");
  private static final Param<Integer> BATCH =
      Param.integer("batch", 2, 1, 1 << 16, "samples of a step over all data-parallel ranks");
  private static final Param<Integer> MICROBATCH =
      Param.integer("microbatch", 1, 1, 4096, "samples of one pass of a rank");
  private static final Param<Integer> TP = Param.integer("tp", 1, 1, 4096, "tensor-parallel ranks");
  private static final Param<Integer> DP = Param.integer("dp", 1, 1, 4096, "data-parallel ranks");
  private static final Param<Integer> PP = Param.integer("pp", 1, 1, 4096, "pipeline stages");
  private static final Param<Schedules> SCHEDULE =
      Param.choice(
          "schedule",
          Schedules.ONE_F_ONE_B,
          List.of(Schedules.GPIPE, Schedules.ONE_F_ONE_B),
          "order of the pipeline");
  private static final Param<Boolean> RECOMPUTE =
      Param.onOff("recompute", false, "layers go forwards again on the way back");
  private static final Param<String> ALGORITHM =
      Param.word("algorithm", "ring", "a name in ccl.yaml", "of all-reduces");

  private static final int MOST_MACHINES = 16;

  /** By what decides them; a machine whose host alone differs has the same. */
  private final Map<String, CallTimes> known = new ConcurrentHashMap<>();

  @Override
  public String name() {
    return "gpt-step";
  }

  @Override
  public String description() {
    return "a training step of a GPT by tp, dp, pp: each distinct call simulated once, host included";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(
        HIDDEN,
        HEADS,
        LAYERS,
        TOKENS,
        VOCABULARY,
        BATCH,
        MICROBATCH,
        TP,
        DP,
        PP,
        SCHEDULE,
        RECOMPUTE,
        ALGORITHM);
  }

  @Override
  public Outcome run(BenchContext context) {
    if (context.mode() == Mode.VALUES) {
      throw new UsageException("gpt-step has times only; use --mode time, or bench train-step");
    }
    Machine machine = context.machine();
    CclConfig ccl = context.ccl(List.of());
    int tp = context.param(TP);
    int dp = context.param(DP);
    int pp = context.param(PP);
    check(context, machine, tp * dp * pp);
    CallTimes times = times(machine, ccl, context.param(ALGORITHM));
    int microbatches = context.param(BATCH) / dp / context.param(MICROBATCH);
    StepTimeline line =
        new StepTimeline(
            times::of,
            machine.software(),
            context.param(SCHEDULE).of(pp, microbatches, 1),
            stages(context),
            new StepCall.Transfer(pp > 1 ? tp * dp : 0, calls(context).boundaryBytes()));
    line.passes();
    finish(context, line);
    Outcome outcome = Outcome.on(machine);
    outcome
        .condition("ranks", tp * dp * pp)
        .condition("microbatches", microbatches)
        .condition("distinct_calls", line.used().size());
    Digest digest = new Digest();
    line.used().forEach((call, time) -> digest.add(call + " " + time.ps()));
    long events = line.used().values().stream().mapToLong(CallTimes.Time::events).sum();
    outcome.simulated(events, digest.text()).simulatedOnly("each distinct call, once");
    outcome.time(
        line.endPs(), TrainingFlops.boundPs(machine, flops(context), tp * dp * pp), "compute");
    shares(outcome, line);
    for (int r = 0; r < pp; r++) {
      outcome.row(row(line, r));
    }
    return outcome.noBreakdown("calls are simulated one by one; the rows say where time went");
  }

  // ---- the step ----

  private static GptCalls calls(BenchContext context) {
    return new GptCalls(
        context.param(HIDDEN),
        context.param(HEADS),
        context.param(TOKENS),
        context.param(MICROBATCH),
        context.param(TP),
        context.param(VOCABULARY));
  }

  private static List<StepTimeline.Stage> stages(BenchContext context) {
    GptCalls calls = calls(context);
    int pp = context.param(PP);
    int layers = context.param(LAYERS) / pp;
    List<StepTimeline.Stage> stages = new ArrayList<>();
    for (int stage = 0; stage < pp; stage++) {
      List<StepCall> forward = new ArrayList<>();
      List<StepCall> backward = new ArrayList<>();
      if (stage == 0) {
        forward.addAll(calls.embedding());
      }
      if (stage == pp - 1) {
        backward.addAll(calls.headBackward());
      }
      for (int layer = 0; layer < layers; layer++) {
        forward.addAll(calls.forward());
        if (context.param(RECOMPUTE)) {
          backward.addAll(calls.forward());
        }
        backward.addAll(calls.backward());
      }
      if (stage == pp - 1) {
        forward.addAll(calls.head());
      }
      if (stage == 0) {
        backward.addAll(calls.embeddingBackward());
      }
      stages.add(new StepTimeline.Stage(forward, backward));
    }
    return stages;
  }

  /** Sums over data-parallel ranks, then the optimizer behind a norm over all gradients. */
  private static void finish(BenchContext context, StepTimeline line) {
    GptCalls calls = calls(context);
    int pp = context.param(PP);
    int dp = context.param(DP);
    int tp = context.param(TP);
    int layers = context.param(LAYERS) / pp;
    for (int r = 0; r < pp; r++) {
      boolean first = r == 0;
      boolean last = r == pp - 1;
      if (first != last) { // both ends have the table
        line.afterwards(
            r,
            List.of(new StepCall.AllReduce(2, tp * dp * (pp - 1), 2 * calls.table())),
            Share.COMMUNICATION);
      }
      if (dp > 1) {
        long bytes = 2 * calls.parameters(layers, first, last);
        line.afterwards(r, List.of(new StepCall.AllReduce(dp, tp, bytes)), Share.COMMUNICATION);
      }
    }
    line.meet();
    for (int r = 0; r < pp; r++) {
      boolean first = r == 0;
      boolean last = r == pp - 1;
      line.afterwards(
          r,
          GptCalls.optimizer(
              calls.parameters(layers, first, last), GptCalls.tensors(layers, first, last)),
          Share.OPTIMIZER);
    }
    line.meet();
  }

  private static double flops(BenchContext context) {
    double tokens = (double) context.param(BATCH) * context.param(TOKENS);
    double h = context.param(HIDDEN);
    double layer = 24 * tokens * h * h + 4 * tokens * context.param(TOKENS) * h;
    return 3 * (context.param(LAYERS) * layer + 2 * tokens * h * context.param(VOCABULARY));
  }

  // ---- what is simulated once ----

  private CallTimes times(Machine machine, CclConfig ccl, String algorithm) {
    String device =
        machine
            .configText()
            .lines()
            .filter(l -> !l.matches("software\\.[a-z_]+\\.launch=.*"))
            .collect(Collectors.joining("\n"));
    if (known.size() > MOST_MACHINES) {
      known.clear();
    }
    return known.computeIfAbsent(
        String.join("\n", algorithm, ccl.content(), device),
        key -> new CallTimes(machine, ccl, algorithm));
  }

  // ---- what comes out ----

  private static void shares(Outcome outcome, StepTimeline line) {
    double all = Math.max(1, line.endPs());
    List<String> spent = new ArrayList<>();
    for (Share share : Share.values()) {
      double percent = 100 * line.meanPs(share) / all;
      outcome.metric(word(share) + "_pct", Numbers.rounded(percent));
      spent.add(String.format(Locale.ROOT, "%s %.1f %%", word(share), percent));
    }
    outcome.metric("spent", String.join(", ", spent));
  }

  private static Map<String, Object> row(StepTimeline line, int rank) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("stage", rank);
    for (Share share : Share.values()) {
      row.put(word(share) + "_ns", Numbers.ns(line.ps(rank, share)));
    }
    return row;
  }

  private static String word(Share share) {
    return share.name().toLowerCase(Locale.ROOT);
  }

  // ---- what cannot be ----

  private static void check(BenchContext context, Machine machine, int ranks) {
    if (ranks > machine.sips()) {
      throw new UsageException(
          "gpt-step: tp x dp x pp is %s ranks; machine %s has %s packages: use fewer ranks"
              .formatted(ranks, machine.name(), machine.sips()));
    }
    boolean apart =
        machine.dimensions().size() == 1
            && switch (machine.dimensions().getFirst().kind()) {
              case SWITCH, FULLY_CONNECTED -> true;
              case RING, MESH -> false;
            };
    if (ranks > 1 && !apart) {
      throw new UsageException(
          """
          gpt-step: on machine %s the packages' groups share links, and calls are simulated \
          one by one; expected packages behind one switch or all joined (%s), or bench train-step\
          """
              .formatted(machine.name(), DimensionKind.SWITCH.name().toLowerCase(Locale.ROOT)));
    }
    divides("tp", context.param(TP), "hidden", context.param(HIDDEN));
    divides("tp", context.param(TP), "heads", context.param(HEADS));
    divides("heads", context.param(HEADS), "hidden", context.param(HIDDEN));
    divides("tp", context.param(TP), "vocabulary", context.param(VOCABULARY));
    divides("pp", context.param(PP), "layers", context.param(LAYERS));
    divides(
        "dp x microbatch",
        context.param(DP) * context.param(MICROBATCH),
        "batch",
        context.param(BATCH));
  }

  private static void divides(String what, int divisor, String of, int number) {
    if (number % divisor != 0) {
      throw new UsageException(
          "gpt-step: %s is %s and %s %s; expected a divisor of it"
              .formatted(what, divisor, of, number));
    }
  }
}
