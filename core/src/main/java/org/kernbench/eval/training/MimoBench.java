package org.kernbench.eval.training;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.log.CostModel;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.nn.autograd.Dropout;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.compare.StepCheck;
import org.kernbench.nn.compare.StepRecord;
import org.kernbench.nn.compare.StepRecord.Kind;
import org.kernbench.nn.kernels.WorkCount;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.ModulePipelines;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.Communication;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.nn.pipeline.PipelineSchedule;
import org.kernbench.nn.pipeline.Schedules;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * {@code mimo-train-step}: a training step of two modules, an encoder and a language model in
 * layouts of their own on the same ranks or each on ranks of its own, there with pipelines, with
 * the bridge between them. The loss, all gradients and the stepped parameters are compared with the
 * same step on one rank in f64 ({@link StepCheck}).
 */
public final class MimoBench implements Bench {
  private static final long SEED = 7;
  private static final double RATE = 1e-4;

  /** The schedule unless a user says another. */
  private static final String IN_TURN = Schedules.ONE_F_ONE_B.toString();

  /** Pairs of an encoder and a language model. */
  private enum Model {
    TINY_GPT("tiny-gpt", TwoModuleConfig.tinyGpt()),
    TINY_LLAMA("tiny-llama", TwoModuleConfig.tinyLlama()),
    VIT_B_GPT2("vit-b-gpt2", TwoModuleConfig.vitBaseGpt2()),
    VIT_L_LLAMA_8B("vit-l-llama-8b", TwoModuleConfig.vitLargeLlama8b());

    private final String word;
    private final TwoModuleConfig config;

    Model(String word, TwoModuleConfig config) {
      this.word = word;
      this.config = config;
    }

    @Override
    public String toString() {
      return word;
    }
  }

  private static final Param<Model> MODEL =
      Param.choice("model", Model.TINY_GPT, Model.class, "encoder and language model");
  private static final Param<String> ENCODER =
      Param.word(
          "encoder",
          "tp=2,dp=4",
          "a layout, e.g. tp=2,dp=4",
          "layout of the encoder; on ranks of its own it may have pp");
  private static final Param<String> LANGUAGE =
      Param.word(
          "language",
          "tp=2,cp=2,dp=2",
          "a layout, e.g. tp=2,cp=2,dp=2",
          """
          layout of the language model, on the same ranks, or with offset=.. on ranks of its own, \
          where it may have pp\
          """);
  private static final Param<Boolean> SP =
      Param.onOff("sp", true, "sequence parallelism of the language model");
  private static final Param<Integer> SAMPLES =
      Param.integer("samples", 4, 1, 1 << 16, "samples of a microbatch, over all ranks");
  private static final Param<Integer> TOKENS =
      Param.integer("tokens", 48, 4, 1 << 20, "length of a sample, placeholders included");
  private static final Param<Integer> MICROBATCHES =
      Param.integer("microbatches", 1, 1, 1 << 10, "microbatches of a step");
  private static final Param<String> SCHEDULE =
      Param.word(
          "schedule",
          IN_TURN,
          "gpipe, 1f1b, zb-h1, or a file.csv",
          "order in which both modules' pipelines compute, if each has ranks of its own");
  private static final Param<String> ENCODER_STAGE_LAYERS =
      Param.word(
          "encoder_stage_layers",
          Pipe.EVEN,
          "even, or numbers, e.g. 3,4,4,1",
          "blocks of each stage of the encoder");
  private static final Param<String> LANGUAGE_STAGE_LAYERS =
      Param.word(
          "language_stage_layers",
          Pipe.EVEN,
          "even, or numbers, e.g. 3,4,4,1",
          "blocks of each stage of the language model");
  private static final Param<Integer> ENCODER_LAYERS =
      Param.integer("encoder_layers", 0, 0, 1024, "blocks of the encoder; 0 for the model's");
  private static final Param<Integer> LANGUAGE_LAYERS =
      Param.integer("language_layers", 0, 0, 1024, "blocks of the language model; 0: the model's");
  private static final Param<Boolean> FROZEN =
      Param.onOff("frozen", false, "whether the encoder is frozen");
  private static final Param<Boolean> DISTRIBUTED =
      Param.onOff(
          "distributed_optimizer", false, "whether data-parallel ranks divide the optimizer");
  private static final Param<RankLevel> LEVEL = TrainingParams.rankLevel(RankLevel.CUBE);

  @Override
  public String name() {
    return "mimo-train-step";
  }

  @Override
  public String description() {
    return "a training step of an encoder and a language model in layouts of their own";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(
        MODEL,
        ENCODER,
        LANGUAGE,
        SP,
        SAMPLES,
        TOKENS,
        MICROBATCHES,
        SCHEDULE,
        ENCODER_STAGE_LAYERS,
        LANGUAGE_STAGE_LAYERS,
        ENCODER_LAYERS,
        LANGUAGE_LAYERS,
        FROZEN,
        DISTRIBUTED,
        Masks.PARAM,
        LEVEL,
        TrainingParams.SPREAD,
        TrainingParams.DTYPE,
        TrainingParams.GRAD_DTYPE,
        AllReduceChoice.PARAM,
        TrainingParams.ROWS,
        Injection.PARAM);
  }

  /** What is run. */
  private record ModulesSetup(
      TwoModuleConfig model,
      TwoModuleLayout layout,
      TwoModuleTraining.Settings settings,
      List<Microbatch> data) {
    /** In which order modules on ranks of their own compute; empty if they share theirs. */
    Optional<PipelineSchedule> schedule() {
      return layout.isApart() ? Optional.of(layout.schedule(model, data.size())) : Optional.empty();
    }

    /** This setup without its mistake, on one rank in another type, from the same first values. */
    ModulesSetup onOneRank(DType type) {
      return new ModulesSetup(
          model,
          TwoModuleLayout.ONE_RANK,
          settings
              .in(type)
              .withFault(Fault.NONE)
              .withData(TrainingParams.onOneRank(settings.data(), type)),
          data);
    }
  }

  @Override
  public Outcome run(BenchContext context) {
    ModulesSetup setup = setup(context);
    Machine machine = context.machine();
    TwoModuleLayout layout = setup.layout;
    RankLevel level = context.param(LEVEL);
    checkDevices(layout, level, machine);
    fit(context, setup, level).check(machine);
    Outcome outcome = Outcome.on(machine);
    outcome
        .condition("ranks", layout.ranks())
        .condition("rank_level", Param.word(context.param(LEVEL)))
        .condition("bridge", layout.bridge().toString())
        .condition("encoder_layers_run", setup.model.encoder().layers())
        .condition("language_layers_run", setup.model.language().layers());
    Optional<PipelineSchedule> schedule = setup.schedule();
    schedule.ifPresent(s -> outcome.condition("stages", s.depth()).condition("order", s.name()));
    PipelineReport pipeline = new PipelineReport(schedule.map(Object::toString).orElse(""));
    StepRecord record = new StepRecord();
    double flops =
        TwoModuleStep.flops(setup.model, setup.settings.frozen(), setup.data)
            / CostModel.rate(machine.pe().gemm(), setup.settings.dtype());
    AllReduceChoice sums =
        new AllReduceChoice(context, machine, level, layout.worldSize(), sums(setup), false);
    Spread spread =
        context
            .param(TrainingParams.SPREAD)
            .on(
                outcome,
                level,
                TrainingFlops.boundPs(machine, flops / layout.ranks(), 1),
                by -> timePs(new TwoModuleStep.Place(machine, sums.untried(), level, by), setup));
    CclConfig ccl = sums.ccl(spread);
    sums.report(outcome, spread);
    Map<String, WorkCount> work = new LinkedHashMap<>();
    StepBound step = new StepBound(machine, flops, layout.ranks(), level.pes(machine));
    SummedGradients summed = new SummedGradients();
    TwoModuleStep.run(
        machine,
        ccl,
        TorchOptions.DEFAULT
            .withMode(context.mode())
            .withSimulator(context.param(TrainingParams.ROWS).recording(context))
            .withSpread(spread),
        layout.worldSize(),
        w -> train(w, setup, record, new Told(step, summed, work, pipeline)),
        torch -> {
          report(
              outcome, torch, setup, step, summed, level, context.param(TrainingParams.ROWS), work);
          if (context.mode() != Mode.VALUES) {
            pipeline.report(outcome);
          }
        });
    if (context.mode() != Mode.TIME) {
      DType dtype = setup.settings.dtype();
      CclConfig one = sums.ofOneRank();
      StepRecord reference = onOneRank(machine, one, setup.onOneRank(DType.F64));
      StepRecord shadow = onOneRank(machine, one, setup.onOneRank(StepCheck.shadowType(dtype)));
      outcome.values(
          StepCheck.of(
              record, reference, shadow, rounding(setup), Optional.of(AdamW.Settings.of(RATE))),
          record.hash());
    }
    return outcome;
  }

  /** Whether both models find room in the TCM: one block for each stage, on few tokens. */
  private static TcmFit fit(BenchContext context, ModulesSetup s, RankLevel level) {
    TwoModuleLayout layout = s.layout.with(ModulePipelines.DEFAULT);
    TwoModuleConfig one =
        s.model.withLayers(layout.encoder().size(Dim.PP), layout.language().size(Dim.PP));
    int factor = layout.sequenceFactor();
    int tokens = s.data.getFirst().sequence();
    int tried = Math.max(one.tokensPerSample() + 2, TcmFit.fewer(tokens));
    int divided = Math.ceilDiv(tried, factor) * factor;
    List<Microbatch> data =
        Microbatches.random(one, layout.samplesFactor(), divided, 1, Microbatches.Masks.UNEVEN, 1);
    String names = s.model.encoder().name() + " and " + s.model.language().name();
    return new TcmFit(
        context,
        new TcmFit.Models(
            names,
            List.of(s.model.encoder(), s.model.language()),
            s.settings.dtype(),
            tokens,
            Masks.of(context)),
        machine ->
            TwoModuleStep.time(
                new TwoModuleStep.Place(
                    machine,
                    context.ccl(TwoModuleStep.world(level, layout.worldSize())),
                    level,
                    context.param(TrainingParams.SPREAD).widest()),
                one,
                layout,
                s.settings.withFault(Fault.NONE),
                data));
  }

  /** Gradients of the language model's largest matrix, and its activations. */
  private static AllReduceChoice.Sums sums(ModulesSetup s) {
    TransformerConfig c = s.model.language();
    RankGrid grid = s.layout.language();
    int tp = grid.size(Dim.TP);
    int replicas = grid.size(Dim.CP) * grid.size(Dim.DP);
    long widest = Math.max(c.ffn(), c.vocabulary()) / tp;
    Microbatch first = s.data.getFirst();
    long rows = (long) first.samples() * first.sequence() / replicas;
    return new AllReduceChoice.Sums(
        tp,
        replicas,
        grid.size(Dim.PP),
        widest * c.hidden() * s.settings.data().gradType().orElse(DType.F32).sizeBytes(),
        s.layout.sequenceParallel() ? 0 : rows * c.hidden() * s.settings.dtype().sizeBytes());
  }

  private static long timePs(TwoModuleStep.Place place, ModulesSetup s) {
    return TwoModuleStep.time(place, s.model, s.layout, s.settings, s.data).ps();
  }

  private static ModulesSetup setup(BenchContext context) {
    TwoModuleConfig model = context.param(MODEL).config;
    int encoderLayers = context.param(ENCODER_LAYERS);
    int languageLayers = context.param(LANGUAGE_LAYERS);
    model =
        model.withLayers(
            encoderLayers == 0 ? model.encoder().layers() : encoderLayers,
            languageLayers == 0 ? model.language().layers() : languageLayers);
    boolean frozen = context.param(FROZEN);
    boolean divided = context.param(DISTRIBUTED);
    int microbatches = context.param(MICROBATCHES);
    TwoModuleLayout layout = layout(context, model, microbatches);
    int samples = context.param(SAMPLES);
    int tokens = context.param(TOKENS);
    check(model, layout, samples, tokens);
    checkPipelines(model, layout, microbatches, frozen);
    Fault fault = Injection.fault(context);
    Dropout dropout = Masks.of(context).dropout();
    Injection.check(model, layout, fault, new Injection.Drops(dropout.isOn(), microbatches));
    return new ModulesSetup(
        model,
        layout,
        TwoModuleTraining.Settings.of(context.param(TrainingParams.DTYPE))
            .withInit(SEED, TrainingProgram.deviation(model.language().hidden()))
            .withMethod(TwoModuleTraining.Method.ADAMW, RATE)
            .withFault(fault)
            .withFrozen(frozen)
            .withDropout(dropout)
            .withData(
                TrainingParams.inGradType(
                    context, DataParallel.DEFAULT.withDistributedOptimizer(divided))),
        Microbatches.random(model, samples, tokens, microbatches, Microbatches.Masks.UNEVEN, 1));
  }

  private static TwoModuleLayout layout(
      BenchContext context, TwoModuleConfig model, int microbatches) {
    try {
      TwoModuleLayout layout =
          new TwoModuleLayout(
              RankGrid.parse(context.param(ENCODER)),
              RankGrid.parse(context.param(LANGUAGE)),
              context.param(SP));
      return layout.isApart()
          ? layout.with(pipelines(context, model, layout, microbatches))
          : withoutPipeline(context, layout);
    } catch (LayoutException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  private static TwoModuleLayout withoutPipeline(BenchContext context, TwoModuleLayout layout) {
    checkUnused(context, layout, SCHEDULE, IN_TURN);
    checkUnused(context, layout, ENCODER_STAGE_LAYERS, Pipe.EVEN);
    checkUnused(context, layout, LANGUAGE_STAGE_LAYERS, Pipe.EVEN);
    return layout;
  }

  private static void checkUnused(
      BenchContext context, TwoModuleLayout layout, Param<String> param, String unsaid) {
    if (!context.param(param).equals(unsaid)) {
      throw new UsageException(
          """
          %s is %s, but both modules are on the same ranks, where they have no pipeline; \
          expected the language model on ranks of its own, e.g. with offset=%s\
          """
              .formatted(param.name(), context.param(param), layout.worldSize()));
    }
  }

  private static ModulePipelines pipelines(
      BenchContext context, TwoModuleConfig model, TwoModuleLayout layout, int microbatches) {
    String schedule = context.param(SCHEDULE);
    int ranks = layout.encoder().size(Dim.PP) + layout.language().size(Dim.PP);
    ModulePipelines pipelines;
    if (Pipe.isFile(schedule)) {
      PipelineSchedule read =
          Pipe.file(schedule, ranks, "both modules' pp add up to " + ranks, microbatches);
      pipelines = new ModulePipelines((p, m) -> read, Optional.empty(), Optional.empty());
    } else {
      pipelines = ModulePipelines.of(Pipe.named(schedule));
    }
    return pipelines.with(
        split(context, ENCODER_STAGE_LAYERS, model.encoder()),
        split(context, LANGUAGE_STAGE_LAYERS, model.language()));
  }

  private static Optional<LayerSplit> split(
      BenchContext context, Param<String> param, TransformerConfig config) {
    String text = context.param(param);
    int stages = (int) text.chars().filter(c -> c == ',').count() + 1;
    return text.equals(Pipe.EVEN)
        ? Optional.empty()
        : Optional.of(LayerSplit.parse(param.name(), text, config.layers(), stages));
  }

  /** Refuses pipelines that cannot be. */
  public static void checkPipelines(
      TwoModuleConfig model, TwoModuleLayout layout, int microbatches, boolean frozen) {
    if (!layout.isApart()) {
      return;
    }
    try {
      layout.schedule(model, microbatches);
    } catch (LayoutException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
    int pp = layout.encoder().size(Dim.PP);
    if (frozen && pp > 1) {
      throw new UsageException(
          """
          frozen encoder %s: its stages before the projector have nothing to train; expected pp 1 \
          of the encoder, or one that is not frozen\
          """
              .formatted(layout.encoder()));
    }
  }

  private static void checkDevices(TwoModuleLayout layout, RankLevel level, Machine machine) {
    int devices = level.devices(machine);
    if (layout.worldSize() > devices) {
      throw new UsageException(
          """
          the layouts %s have %s ranks of level %s; machine %s has %s of those; expected smaller \
          layouts, a smaller rank_level, or a larger machine\
          """
              .formatted(layout, layout.worldSize(), Param.word(level), machine.name(), devices));
    }
  }

  private static void checkTp(String module, RankGrid grid, TransformerConfig c, int... widths) {
    int tp = grid.size(Dim.TP);
    boolean fits = c.heads() % tp == 0 && c.keyHeads() % tp == 0 && c.ffn() % tp == 0;
    for (int width : widths) {
      fits &= width % tp == 0;
    }
    if (!fits) {
      throw new UsageException(
          """
          %s %s: tp is %s; expected a divisor of the %s heads, %s key heads and all \
          widths of %s\
          """
              .formatted(module, grid, tp, c.heads(), c.keyHeads(), c.name()));
    }
  }

  /** Refuses what the layout cannot divide. */
  public static void check(TwoModuleConfig model, TwoModuleLayout layout, int samples, int tokens) {
    TransformerConfig e = model.encoder();
    checkTp("encoder", layout.encoder(), e, e.hidden(), model.projector());
    checkTp("language model", layout.language(), model.language(), model.language().vocabulary());
    int encoderCp = layout.encoder().size(Dim.CP);
    if (encoderCp > 1 && model.tokensPerSample() % (2 * encoderCp) != 0) {
      throw new UsageException(
          """
          encoder %s: cp cannot divide its %s tokens; expected that twice cp divides them\
          """
              .formatted(layout.encoder(), model.tokensPerSample()));
    }
    if (samples % layout.samplesFactor() != 0) {
      throw new UsageException(
          """
          samples is %s; expected a multiple of %s, so that every data-parallel rank of \
          both modules has as many\
          """
              .formatted(samples, layout.samplesFactor()));
    }
    int factor = layout.sequenceFactor();
    if (tokens % factor != 0 || tokens < model.tokensPerSample() + 2) {
      throw new UsageException(
          """
          tokens is %s; expected %sat least %s to hold the %s tokens of the encoder and \
          some text\
          """
              .formatted(
                  tokens,
                  factor == 1 ? "" : "a multiple of " + factor + ", and ",
                  model.tokensPerSample() + 2,
                  model.tokensPerSample()));
    }
  }

  /** What ranks tell of themselves. */
  private record Told(
      StepBound step,
      SummedGradients summed,
      Map<String, WorkCount> work,
      PipelineReport pipeline) {}

  /** Trains on a rank, and records what it has at the end. */
  private static void train(Worker worker, ModulesSetup s, StepRecord record, Told told) {
    TwoModuleTraining.create(worker, s.model, s.layout, s.settings)
        .ifPresent(training -> {
          try (training) {
            OptionalDouble own = training.train(s.data); // other ranks go on meanwhile
            told.step.changes(training.bytesRead(), training.bytesWritten());
            told.summed.add(worker, training.data());
            training
                .pipelineStep()
                .ifPresent(step -> told.pipeline.add(training.pipelinePlace().orElseThrow(), step));
            if (worker.rank() == s.layout.firstRank()) { // whose operations are listed
              told.work.putAll(training.work());
            }
            if (own.isPresent()) {
              if (training.data().getLast().layout().tp().rank() == 0) {
                record.addToSum(Kind.LOSS, "loss", own.getAsDouble());
              }
              record.add(worker.rank(), training);
            }
          }
        });
  }

  /** Trains on one rank; also records the losses of single tokens, and where parameters begin. */
  private static StepRecord onOneRank(Machine machine, CclConfig ccl, ModulesSetup one) {
    StepRecord record = new StepRecord();
    TwoModuleStep.run(
        machine,
        ccl,
        TorchOptions.DEFAULT.withMode(Mode.VALUES),
        1,
        w ->
            TwoModuleTraining.create(w, one.model, one.layout, one.settings)
                .ifPresent(training -> {
                  try (training) {
                    record.keepFirst(0, training);
                    OptionalDouble sum = training.train(one.data, (i, of) -> seen(record, i, of));
                    record.addToSum(Kind.LOSS, "loss", sum.orElseThrow());
                    record.add(0, training);
                  }
                }),
        torch -> {});
    return record;
  }

  private static void seen(StepRecord record, int microbatch, Variable losses) {
    double[] values = losses.value().toDoubles();
    String name = "loss per token of microbatch " + microbatch;
    record.add(Kind.OUTPUT, name, 0, values, values.length, i -> i);
  }

  private static StepCheck.Rounding rounding(ModulesSetup s) {
    RankGrid encoder = s.layout.encoder();
    RankGrid language = s.layout.language();
    int tp = Math.max(encoder.size(Dim.TP), language.size(Dim.TP));
    int cp = Math.max(encoder.size(Dim.CP), language.size(Dim.CP));
    DType dtype = s.settings.dtype();
    return s.settings.data().gradType().isPresent()
        ? StepCheck.Rounding.of(dtype, tp, cp, s.layout.ranks())
        : StepCheck.Rounding.of(dtype, tp, cp);
  }

  private static void report(
      Outcome outcome,
      Torch torch,
      ModulesSetup setup,
      StepBound step,
      SummedGradients summed,
      RankLevel level,
      TrainingParams.Rows rows,
      Map<String, WorkCount> work) {
    boolean timed = torch.simulator().mode() != Mode.VALUES;
    outcome.simulated(
        torch.simulator().eventCount(), timed ? torch.simulator().opLog().hash() : "");
    if (!timed) {
      return;
    }
    TrainingBench.reuse(outcome, torch);
    long total = torch.simulator().nowPs();
    int ranks = setup.layout.ranks();
    double flops = TwoModuleStep.flops(setup.model, setup.settings.frozen(), setup.data);
    summed.tell(step, ranks);
    Bounds.Bound bound = step.bound();
    CommunicationSums costs = new CommunicationSums(Communication.of(torch), ranks);
    outcome
        .time(total, bound.ps(), bound.kind())
        .metric("comm_ns", Numbers.ns(costs.timePs()))
        .metric("exposed_ns", Numbers.ns(costs.exposedPs()))
        .metric("exposed_pct", Numbers.rounded(100.0 * costs.exposedPs() / total))
        .metric("rank_gflop", Numbers.rounded(flops / ranks / 1e9))
        .metric("mfu_pct", Numbers.rounded(100.0 * step.productsPs() / total));
    rows.of(torch, level, costs, work).forEach(outcome::row);
    IpcqSpec queues =
        torch.distributed().history().stream()
            .findFirst()
            .map(run -> run.queues().spec())
            .orElse(torch.machine().ipcq());
    outcome.explainedRun(torch.simulator().opLog(), queues);
  }
}
