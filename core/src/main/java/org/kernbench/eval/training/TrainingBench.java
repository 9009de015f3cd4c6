package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.log.CostModel;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.Params;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.nn.compare.StepCheck;
import org.kernbench.nn.compare.StepRecord;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.Communication;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * {@code tp-mlp}, {@code transformer-block} and {@code train-step}: forward and backward pass of a
 * part of a transformer in a parallel layout, with what its collectives cost and how much of that
 * is exposed. Outputs or losses, all gradients and the stepped parameters are compared with the
 * same part on one rank in f64 ({@link StepCheck}).
 */
public final class TrainingBench implements Bench {
  /** How much of a model. */
  public enum Scope {
    /** The feed-forward part of a block. */
    MLP("tp-mlp", "feed-forward part of a transformer block, forward and backward"),
    /** One block. */
    BLOCK("transformer-block", "one transformer block, forward and backward"),
    /** A whole model with loss, gradient sums and AdamW. */
    STEP("train-step", "a training step of a transformer: loss, gradients, AdamW");

    private final String bench;
    private final String description;

    Scope(String bench, String description) {
      this.bench = bench;
      this.description = description;
    }

    String bench() {
      return bench;
    }
  }

  /** Shapes of transformers. */
  private enum Model {
    TINY_GPT(
        "tiny-gpt",
        new TransformerConfig(
            "tiny-gpt", 48, 2, 12, 12, 4, 96, 96, 512, TransformerConfig.Style.GPT)),
    TINY_LLAMA(
        "tiny-llama",
        new TransformerConfig(
            "tiny-llama", 48, 2, 24, 12, 4, 96, 96, 512, TransformerConfig.Style.LLAMA)),
    GPT2_SMALL("gpt2-small", TransformerConfig.gpt2Small()),
    LLAMA_8B("llama-3.1-8b", TransformerConfig.llama8b()),
    LLAMA_70B("llama-3.1-70b", TransformerConfig.llama70b()),
    GPT3("gpt3-175b", TransformerConfig.gpt3()),
    TINY_MOE(
        "tiny-moe",
        new TransformerConfig(
                "tiny-moe", 48, 2, 24, 12, 4, 48, 96, 512, TransformerConfig.Style.LLAMA)
            .with(ExpertsConfig.of(8, 2, 48))),
    MIXTRAL("mixtral-8x7b", TransformerConfig.mixtral8x7b()),
    QWEN("qwen3-30b-a3b", TransformerConfig.qwen30b()),
    TINY_DEEPSEEK(
        "tiny-deepseek",
        new TransformerConfig(
                "tiny-deepseek", 48, 2, 12, 12, 8, 96, 96, 512, TransformerConfig.Style.LLAMA)
            .with(new TransformerConfig.Latent(24, 16, 4, 4, 6))
            .with(
                ExpertsConfig.of(8, 2, 24)
                    .with(ExpertsConfig.Scoring.SIGMOID, true, 2.5)
                    .with(new ExpertsConfig.Groups(4, 2))
                    .withBalance(0.001)
                    .withDense(1, 1))),
    DEEPSEEK("deepseek-v3", TransformerConfig.deepseekV3());

    private final String word;
    private final TransformerConfig config;

    Model(String word, TransformerConfig config) {
      this.word = word;
      this.config = config;
    }

    @Override
    public String toString() {
      return word;
    }
  }

  /** How context-parallel ranks exchange keys and values. */
  private enum Keys {
    ALL_GATHER("all-gather", ContextExchange.ALL_GATHER),
    RING("ring", ContextExchange.RING),
    ULYSSES("ulysses", ContextExchange.ALL_TO_ALL);

    private final String word;
    private final ContextExchange exchange;

    Keys(String word, ContextExchange exchange) {
      this.word = word;
      this.exchange = exchange;
    }

    @Override
    public String toString() {
      return word;
    }
  }

  private static final Param<Model> MODEL =
      Param.choice("model", Model.TINY_GPT, Model.class, "shape of the transformer");
  private static final Param<Integer> TOKENS =
      Param.integer("tokens", 48, 1, 1 << 20, "length of the sequence");
  private static final Param<Integer> BATCH =
      Param.integer("batch", 2, 1, 1 << 12, "samples over all data-parallel ranks");
  private static final Param<Integer> LAYERS =
      Param.integer("layers", 2, 1, 1024, "blocks of the model");
  private static final Param<Integer> VOCABULARY =
      Param.integer("vocabulary", 96, 2, 1 << 20, "ids of the vocabulary");
  private static final Param<Integer> TP = Param.integer("tp", 2, 1, 4096, "tensor-parallel ranks");
  private static final Param<Integer> CP =
      Param.integer("cp", 1, 1, 4096, "context-parallel ranks");
  private static final Param<Integer> DP = Param.integer("dp", 1, 1, 4096, "data-parallel ranks");
  private static final Param<Boolean> SP =
      Param.onOff("sp", true, "sequence parallelism between tp regions");
  private static final Param<RankLevel> LEVEL = TrainingParams.rankLevel(RankLevel.PE);
  private static final Param<Keys> CONTEXT =
      Param.choice(
          "context",
          Keys.ALL_GATHER,
          Keys.class,
          "how context-parallel ranks exchange keys and values");
  private static final Param<Boolean> OVERLAP =
      Param.onOff(
          "overlap",
          true,
          """
          compute weight gradients beside collectives, and sum gradients beside the backward pass\
          """);
  private static final Param<Integer> BUCKET =
      Param.integer("bucket", 4096, 1, 1 << 20, "size of a bucket of gradients, KiB");
  private static final Param<Boolean> DIVIDED =
      Param.onOff(
          "distributed_optimizer", false, "divide the optimizer over the data-parallel ranks");

  private static final Param<Integer> ZERO =
      Param.integer(
          "zero",
          0,
          0,
          3,
          "what data-parallel ranks divide: 1 the optimizer, 2 gradients, too, 3 parameters, too");

  private static final Param<Integer> PP = Param.integer("pp", 1, 1, 4096, "ranks of the pipeline");
  private static final Param<Integer> MICROBATCHES =
      Param.integer("microbatches", 1, 1, 4096, "parts of a replica's samples, one after another");
  private static final Param<String> SCHEDULE =
      Param.word(
          "schedule",
          "1f1b",
          "gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe, or a file.csv",
          "order in which the pipeline computes");
  private static final Param<Integer> VPP =
      Param.integer("vpp", 1, 1, 1024, "stages of a rank in the interleaved schedule");
  private static final Param<String> STAGE_LAYERS =
      Param.word("stage_layers", "even", "even, or numbers, e.g. 3,4,4,1", "blocks of each stage");
  private static final Param<Boolean> TIED =
      Param.onOff("tied", false, "the head's weight is the table of the embedding");

  private static final Param<Recompute> RECOMPUTE =
      Param.choice(
          "recompute",
          Recompute.NONE,
          Recompute.class,
          "activations of a block that are made again on the way back");

  private static final Param<Integer> LOSS_SCALE =
      Param.integer(
              "loss_scale",
              1,
              1,
              1 << 24,
              "factor of the loss; above 1 a step whose gradients overflow is skipped")
          .refusing(
              "dynamic",
              """
              one step does not change its factor; expected the factor that it has, a whole \
              number from 1 to 16777216, e.g. 65536 (programs change it from step to step with \
              nn.optim.LossScaler)\
              """);

  private static final Param<String> CONFIG =
      Param.word(
          "config",
          ModelFile.NONE,
          "none, a config.json, or YAML with its keys",
          "shape of a published model, with its layers and vocabulary unless these are given");

  private final Scope scope;

  public TrainingBench(Scope scope) {
    this.scope = scope;
  }

  @Override
  public String name() {
    return scope.bench;
  }

  @Override
  public String description() {
    return scope.description;
  }

  @Override
  public List<Param<?>> params() {
    List<Param<?>> all = new ArrayList<>(List.of(MODEL, TOKENS, BATCH));
    if (scope == Scope.STEP) {
      all.addAll(List.of(LAYERS, VOCABULARY));
    }
    all.addAll(List.of(TP, CP, DP, SP, LEVEL, TrainingParams.SPREAD, TrainingParams.DTYPE));
    all.add(TrainingParams.F8);
    all.addAll(List.of(OVERLAP, BUCKET, TrainingParams.GRAD_DTYPE, AllReduceChoice.PARAM));
    if (scope != Scope.MLP) {
      all.addAll(List.of(CONTEXT, DocumentsParam.PARAM, Masks.PARAM));
    }
    if (scope == Scope.STEP) {
      all.addAll(List.of(DIVIDED, ZERO, PP, MICROBATCHES, SCHEDULE, VPP, STAGE_LAYERS, TIED));
      all.addAll(List.of(RECOMPUTE, LOSS_SCALE, CONFIG));
    }
    if (scope != Scope.MLP) {
      all.addAll(ExpertParams.ALL);
    }
    all.add(TrainingParams.SAMPLES);
    all.add(TrainingParams.ROWS);
    all.add(Injection.PARAM);
    return all;
  }

  /** Forwards and twice that backwards, attention left out. */
  @Override
  public double productFlops(Params params) {
    TransformerConfig c = params.get(MODEL).config;
    double heads = c.attentionElements();
    double mlp = TrainingFlops.mlp(c, 1) / 2;
    double layers = scope == Scope.STEP ? params.get(LAYERS) : 1;
    return 6 * layers * (heads + mlp) * params.get(TOKENS) * params.get(BATCH);
  }

  @Override
  public Outcome run(BenchContext context) {
    TransformerConfig config = config(context);
    DType dtype = context.param(TrainingParams.DTYPE);
    Setup setup =
        new Setup(
            config,
            scope,
            context.param(TOKENS),
            context.param(BATCH),
            context.param(TP),
            context.param(CP),
            context.param(DP),
            context.param(SP),
            dtype,
            dtype,
            scope == Scope.MLP ? ContextExchange.ALL_GATHER : context.param(CONTEXT).exchange,
            TrainingParams.inGradType(
                context,
                new DataParallel.Options(
                    context.param(BUCKET) * 1024L,
                    context.param(OVERLAP),
                    scope == Scope.STEP ? zero(context) : Zero.NONE)),
            Injection.fault(context),
            scope == Scope.STEP ? pipe(context, config) : Pipe.NONE,
            scope == Scope.MLP ? ExpertGroups.Sizes.NONE : ExpertParams.sizes(context),
            scope == Scope.MLP
                ? Optional.empty()
                : DocumentsParam.of(context.param(DocumentsParam.PARAM), context.param(TOKENS)),
            scope == Scope.MLP ? Masks.NONE : Masks.of(context),
            context.param(TrainingParams.F8) != TrainingParams.F8Scaling.OFF);
    Machine machine = context.machine();
    LayoutFit fit =
        new LayoutFit(
            setup, machine, context.param(LEVEL), context.param(TrainingParams.SPREAD).widest());
    fit.check();
    check(setup);
    TcmFit.of(context, setup, context.param(LEVEL), context.param(TrainingParams.SPREAD).widest())
        .check(machine);
    ExpertParams.check(config, context.mode());
    checkF8(setup, context.mode());
    Injection.check(setup);
    Replicas replicas = Replicas.of(context, config);
    AllReduceChoice sums =
        new AllReduceChoice(
            context,
            machine,
            context.param(LEVEL),
            setup.ranks(),
            sums(setup),
            replicas.canFold(machine, setup.ranks(), context.param(LEVEL)));
    Outcome outcome = Outcome.on(machine);
    outcome
        .condition("ranks", setup.ranks())
        .condition("rank_level", Param.word(context.param(LEVEL)))
        .condition("layers_run", scope == Scope.STEP ? config.layers() : 1);
    Spread spread =
        context
            .param(TrainingParams.SPREAD)
            .on(
                outcome,
                context.param(LEVEL),
                TrainingFlops.boundPs(machine, setup.pacedFlops(machine) / setup.ranks(), 1),
                by ->
                    replicas.run(
                        why -> {},
                        folded -> timePs(folded, machine, setup, replicas, by, sums.untried())));
    CclConfig ccl = sums.ccl(spread);
    sums.report(outcome, spread);
    if (scope == Scope.STEP && ModelFile.ifAny(context.param(CONFIG)).isPresent()) {
      outcome
          .condition("model", "of config")
          .condition("layers", config.layers())
          .condition("vocabulary", config.vocabulary())
          .condition("tied", setup.pipe().tied() ? "on" : "off");
    }
    setup.pipe().conditions(outcome);
    setup.documents().ifPresent(d -> DocumentsParam.conditions(outcome, d));
    setup.config().experts().ifPresent(e -> ExpertParams.conditions(outcome, e));
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(context.mode())
            .withSimulator(context.param(TrainingParams.ROWS).recording(context))
            .withSpread(spread);
    // the last one made: those that are only tried before keep all that their host had in memory
    AtomicReference<TrainingProgram> made = new AtomicReference<>();
    TrainingProgram program =
        replicas.run(
            why -> outcome.condition("fold", "no: " + why),
            folded -> {
              TwoModuleStep.run(
                  folded,
                  machine,
                  ccl,
                  options,
                  setup.ranks(),
                  () -> {
                    made.set(replicas.program(setup));
                    return made.get()::body;
                  },
                  torch -> {
                    torch.foldNote().ifPresent(outcome::folded);
                    if (scope == Scope.STEP) {
                      outcome.metric("needs", fit.on(spread).estimate());
                    }
                    report(
                        outcome,
                        torch,
                        setup,
                        made.get(),
                        context.param(LEVEL),
                        context.param(TrainingParams.ROWS));
                  });
              return made.get();
            });
    if (context.mode() != Mode.TIME) {
      values(outcome, machine, sums.ofOneRank(), setup, program.record());
    }
    return outcome;
  }

  /**
   * Refuses parts of a batch that have scales of their own where they are compared with a whole.
   */
  private static void checkF8(Setup setup, Mode mode) {
    int microbatches = setup.pipe().microbatches();
    if (setup.f8() && microbatches > 1 && mode != Mode.TIME) {
      throw new UsageException(
          """
          f8 with %s microbatches: each has scales of its own, and one rank that computes the whole \
          batch has others, so that values cannot be compared; expected microbatches=1, or --mode time\
          """
              .formatted(microbatches));
    }
  }

  /** How long it takes, without values. */
  private static long timePs(
      boolean folded,
      Machine machine,
      Setup setup,
      Replicas replicas,
      Spread spread,
      CclConfig ccl) {
    AtomicLong ps = new AtomicLong();
    TwoModuleStep.run(
        folded,
        machine,
        ccl,
        TorchOptions.DEFAULT.withMode(Mode.TIME).withSpread(spread),
        setup.ranks(),
        () -> replicas.program(setup.withoutValues())::body,
        torch -> ps.set(torch.simulator().nowPs()));
    return ps.get();
  }

  /**
   * The shape of a model by its name.
   *
   * @throws UsageException if there is none
   */
  static TransformerConfig shape(String model, int layers) {
    List<String> known = Arrays.stream(Model.values()).map(Model::toString).toList();
    return Arrays.stream(Model.values())
        .filter(m -> m.word.equals(model))
        .findFirst()
        .map(m -> m.config.with(layers, m.config.vocabulary()))
        .orElseThrow(() ->
            new UsageException(
                "model: got \"%s\"; expected one of %s"
                    .formatted(model, String.join(", ", known))));
  }

  /** The shape that is asked for: of a file, what no parameter says otherwise. */
  private TransformerConfig config(BenchContext context) {
    TransformerConfig named = context.param(MODEL).config;
    if (scope != Scope.STEP) {
      return experts(named.with(1, named.vocabulary()), context);
    }
    int layers = context.param(LAYERS);
    int vocabulary = context.param(VOCABULARY);
    Optional<ModelFile> file = ModelFile.ifAny(context.param(CONFIG));
    if (file.isEmpty()) {
      return experts(named.with(layers, vocabulary), context);
    }
    if (context.isGiven(MODEL)) {
      throw new UsageException(
          "model=%s and config=%s; expected one of them: both say what the model is"
              .formatted(Param.word(context.param(MODEL)), context.param(CONFIG)));
    }
    TransformerConfig whole = file.get().shape();
    return experts(
        whole.with(
            context.isGiven(LAYERS) ? layers : whole.layers(),
            context.isGiven(VOCABULARY) ? vocabulary : whole.vocabulary()),
        context);
  }

  private TransformerConfig experts(TransformerConfig config, BenchContext context) {
    if (scope == Scope.MLP) {
      return ExpertParams.refused(config);
    }
    return ExpertParams.of(config, context);
  }

  private static Zero zero(BenchContext context) {
    int stage = Math.max(context.param(ZERO), context.param(DIVIDED) ? 1 : 0);
    if (stage > 0 && context.param(DP) * context.param(CP) == 1) {
      throw new UsageException(
          "%s divides over the data-parallel ranks, dp x cp, which is one here; expected dp or cp above 1, or zero=0"
              .formatted(
                  context.param(ZERO) > 0
                      ? "zero=" + context.param(ZERO)
                      : "distributed_optimizer=on"));
    }
    return Zero.values()[stage];
  }

  private static Pipe pipe(BenchContext context, TransformerConfig config) {
    return Pipe.of(
            new Pipe.Asked(
                context.param(PP),
                context.param(MICROBATCHES),
                context.param(SCHEDULE),
                context.param(VPP),
                context.param(STAGE_LAYERS)),
            config.layers(),
            context.isGiven(TIED)
                ? context.param(TIED)
                : ModelFile.ifAny(context.param(CONFIG)).filter(ModelFile::tied).isPresent(),
            context.param(RECOMPUTE))
        .withLossScale(context.param(LOSS_SCALE));
  }

  static void check(Setup s) {
    List<String> broken = LayoutRules.broken(s, LayoutGrid.of(s));
    if (!broken.isEmpty()) {
      throw new UsageException(String.join("; ", broken));
    }
    s.pipe().check(s.data().distributedOptimizer());
  }

  /** Gradients of the largest matrix, or a bucket of smaller ones; activations of a rank. */
  private static AllReduceChoice.Sums sums(Setup s) {
    TransformerConfig c = s.config();
    long widest = Math.max(c.ffn(), s.scope() == Scope.STEP ? c.vocabulary() : 0) / s.tp();
    long largest = c.hidden() * widest * s.data().gradType().orElse(DType.F32).sizeBytes();
    long rows = (long) s.tokens() * s.batch() / s.dp() / s.cp() / s.pipe().microbatches();
    return new AllReduceChoice.Sums(
        s.tp(),
        s.cp() * s.dp(),
        s.pipe().pp(),
        Math.max(largest, Math.min(s.data().bucketBytes(), 4 * largest)),
        s.sp() ? 0 : rows * c.hidden() * s.dtype().sizeBytes());
  }

  /** Compares everything the ranks have at the end with a run on one rank. */
  private static void values(
      Outcome outcome, Machine machine, CclConfig ccl, Setup setup, StepRecord subject) {
    StepRecord reference = onOneRank(machine, ccl, setup.onOneRank(DType.F64));
    DType shadowType = isFineInF8(setup) ? DType.BF16 : StepCheck.shadowType(setup.dtype());
    StepRecord shadow = onOneRank(machine, ccl, setup.onOneRank(shadowType));
    boolean steps = setup.scope() == Scope.STEP;
    outcome.values(
        StepCheck.of(
            subject,
            reference,
            shadow,
            rounding(setup),
            steps ? Optional.of(TrainingProgram.ADAM) : Optional.empty()),
        subject.hash());
  }

  /** Sums over replicas round where gradients have the type of values. */
  private static StepCheck.Rounding rounding(Setup s) {
    StepCheck.Rounding plain =
        s.data().gradType().isPresent()
            ? StepCheck.Rounding.of(s.dtype(), s.tp(), s.cp(), s.cp() * s.dp())
            : StepCheck.Rounding.of(s.dtype(), s.tp(), s.cp());
    return isFineInF8(s) ? plain.asTheShadow() : plain;
  }

  /** Whether products in 8 bits are made of values that are far finer than these. */
  private static boolean isFineInF8(Setup s) {
    return s.f8() && s.dtype().unitRoundoff() <= DType.F32.unitRoundoff();
  }

  private static StepRecord onOneRank(Machine machine, CclConfig ccl, Setup one) {
    TrainingProgram program = new TrainingProgram(one);
    CollectiveLibrary library = CollectiveLibrary.open(machine, ccl);
    try (Torch torch =
        Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.VALUES).withCollectives(library))) {
      torch.distributed().initProcessGroup(library.name());
      torch.multiprocessing().spawn(program::body, 1);
    }
    return program.record();
  }

  // ---- time ----

  /** Says how many launches others stood for, if any. */
  static void reuse(Outcome outcome, Torch torch) {
    torch
        .simulator()
        .reused()
        .filter(r -> r.launches() > 0)
        .ifPresent(r -> outcome.condition("reuse", r.toString()));
  }

  private static void report(
      Outcome outcome,
      Torch torch,
      Setup setup,
      TrainingProgram program,
      RankLevel level,
      TrainingParams.Rows rows) {
    boolean timed = torch.simulator().mode() != Mode.VALUES;
    OpLog log = torch.simulator().opLog();
    String hash = log.isHashOfAll() ? log.hash() : log.hash() + " of package 0";
    outcome.simulated(torch.simulator().eventCount(), timed ? hash : "");
    if (!timed) {
      return;
    }
    reuse(outcome, torch);
    long total = torch.simulator().nowPs();
    // backwards twice as many as forwards
    double dropped =
        3
            * TrainingFlops.experts(setup.config(), program.experts().dropped())
            / CostModel.rate(torch.machine().pe().gemm(), setup.dtype());
    StepBound step =
        new StepBound(
            torch.machine(),
            Math.max(0, setup.pacedFlops(torch.machine()) - dropped),
            setup.ranks(),
            level.pes(torch.machine()));
    program.bound(step);
    Bounds.Bound bound = step.bound();
    outcome.time(total, bound.ps(), bound.kind());
    CommunicationSums costs = new CommunicationSums(Communication.of(torch), setup.ranks());
    outcome
        .metric("comm_ns", Numbers.ns(costs.timePs()))
        .metric("exposed_ns", Numbers.ns(costs.exposedPs()))
        .metric("exposed_pct", Numbers.rounded(100.0 * costs.exposedPs() / total))
        .metric("rank_gflop", Numbers.rounded((setup.flops() - dropped) / setup.ranks() / 1e9))
        .metric("mfu_pct", Numbers.rounded(100.0 * step.productsPs() / total));
    if (setup.pipe().lossScale() > 1) {
      outcome.metric("skipped", program.isSkipped());
    }
    program.experts().report(outcome);
    program.memory().ifPresent(use -> outcome.metric("memory", use.line()));
    rows.of(torch, level, costs, program.work()).forEach(outcome::row);
    program.pipeline().report(outcome);
    IpcqSpec queues =
        torch.distributed().history().stream()
            .findFirst()
            .map(run -> run.queues().spec())
            .orElse(torch.machine().ipcq());
    outcome.explainedRun(torch.simulator().opLog(), queues);
  }
}
