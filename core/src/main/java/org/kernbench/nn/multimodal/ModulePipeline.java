package org.kernbench.nn.multimodal;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.TwoModuleRecipe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.BridgeCommunicator;
import org.kernbench.nn.bridge.SampleTokens;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Module;
import org.kernbench.nn.multimodal.ModulePipelines.Stages;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.nn.pipeline.PipelineLayout;
import org.kernbench.nn.pipeline.PipelineSchedule;
import org.kernbench.nn.pipeline.PipelineStep;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;

/**
 * What a rank has of two modules on ranks of their own: stages of one of them, and a place in the
 * pipeline that both are together ({@link ModulePipelines}).
 */
final class ModulePipeline {
  private final Torch torch;
  private final TwoModuleConfig config;
  private final TwoModuleLayout layout;
  private final ModuleRole role;
  private final PipelineLayout pipeline;
  private final ProcessGroup world;
  private final int firstOfLanguage;
  private final int lastStage;
  private final Map<Integer, EncoderPart> encoder = new LinkedHashMap<>();
  private final Map<Integer, LanguagePart> language = new LinkedHashMap<>();
  private final Fault fault;
  private @Nullable PipelineStep latest;

  /**
   * What is done with a pass through the pipeline.
   *
   * @param graphs gives a new graph for each microbatch on each stage
   * @param losses is shown the losses of a microbatch, on ranks that have the last stage
   * @param backwards is shown what a stage computed, once it has been backwards
   */
  record Pass(Supplier<Graph> graphs, Losses losses, TwoModuleTraining.Watched backwards) {}

  /** Is shown the losses of a microbatch. */
  @FunctionalInterface
  interface Losses {
    void see(int microbatch, LanguagePart.Loss loss);
  }

  /**
   * Makes the groups and this rank's stages; all ranks of the world call it alike.
   *
   * @return empty on a rank of neither module
   */
  static Optional<ModulePipeline> create(
      Worker worker, TwoModuleConfig config, TwoModuleLayout layout, Init init, Fault fault) {
    Stages stages = layout.stages(config, 1);
    HyperCommGrid from = new HyperCommGrid(worker.distributed(), layout.encoder());
    HyperCommGrid to = new HyperCommGrid(worker.distributed(), layout.language());
    int ranks = layout.encoder().size(Dim.PP);
    PipelineSchedule schedule = stages.schedule();
    PipelineLayout ofEncoder = PipelineLayout.of(from, schedule, 0, false);
    PipelineLayout ofLanguage = PipelineLayout.of(to, schedule, ranks, layout.sequenceParallel());
    BridgeCommunicator bridge = new BridgeCommunicator(from, to, layout.options());
    List<Integer> all =
        Stream.of(layout.encoder(), layout.language())
            .flatMapToInt(g -> IntStream.range(g.offset(), g.offset() + g.size()))
            .sorted()
            .boxed()
            .toList();
    ProcessGroup world =
        worker.distributed().newSubgroupsByEnumeration(List.of(all), "modules").own();
    if (!world.isMember()) {
      return Optional.empty();
    }
    SampleTokens tokens = SampleTokens.uniform(config.tokensPerSample());
    boolean encodes = layout.encoder().contains(worker.rank());
    PipelineLayout own =
        (encodes ? ofEncoder : ofLanguage)
            .with(stages.ofEncoder() - 1, new BridgeHop(bridge, tokens));
    return Optional.of(
        new ModulePipeline(
            worker.torch(),
            config,
            layout,
            encodes ? ModuleRole.ENCODER : ModuleRole.LANGUAGE,
            own,
            world,
            stages,
            init,
            fault));
  }

  private ModulePipeline(
      Torch torch,
      TwoModuleConfig config,
      TwoModuleLayout layout,
      ModuleRole role,
      PipelineLayout pipeline,
      ProcessGroup world,
      Stages stages,
      Init init,
      Fault fault) {
    this.torch = torch;
    this.config = config;
    this.layout = layout;
    this.role = role;
    this.pipeline = pipeline;
    this.world = world;
    this.firstOfLanguage = stages.ofEncoder();
    this.lastStage = stages.schedule().stages() - 1;
    this.fault = fault;
    LayerSplit first = stages.encoder();
    LayerSplit second = stages.language();
    if (fault == Fault.SWAP_STAGES) {
      // of the language model if it has several: then its stages are those that are wrong
      boolean inLanguage = second.blocks().size() > 1;
      first = inLanguage ? first : first.exchanged(0);
      second = inLanguage ? second.exchanged(0) : second;
    }
    for (int s : stages.schedule().stagesOf(pipeline.place())) {
      if (role == ModuleRole.ENCODER) {
        encoder.put(s, new EncoderPart(config, stage(), init, first.range(s, false)));
      } else {
        int number = s - firstOfLanguage;
        language.put(s, new LanguagePart(config, stage(), init, second.range(number, false)));
      }
    }
  }

  ModuleRole role() {
    return role;
  }

  /** The groups within a stage. */
  ParallelLayout stage() {
    return pipeline.stage();
  }

  /** All ranks of both modules. */
  ProcessGroup world() {
    return world;
  }

  /** Which rank of the schedule this one is. */
  int place() {
    return pipeline.place();
  }

  /**
   * The decisions for this rank's module: its gradients are divided by the tokens of its samples.
   */
  Recipe recipe() {
    return pipeline.recipe(new TwoModuleRecipe(role, stage(), fault));
  }

  /** Parameters of this rank's stages. */
  List<Parameter> parameters() {
    return parts().flatMap(part -> part.parameters().stream()).toList();
  }

  private Stream<Module> parts() {
    return Stream.concat(encoder.values().stream(), language.values().stream());
  }

  /**
   * Freezes the encoder, but not the projector.
   *
   * @throws LayoutException if a stage would have nothing to train
   */
  void freezeEncoder() {
    if (layout.encoder().size(Dim.PP) > 1) {
      throw LayoutException.argument(
          """
          a frozen encoder with pp %s: stages before the projector have nothing to train; \
          expected pp 1 of the encoder, or that it is not frozen\
          """
              .formatted(layout.encoder().size(Dim.PP)));
    }
    encoder.values().forEach(EncoderPart::freezeEncoder);
  }

  /** Whether this rank finds losses. */
  boolean ends() {
    return language.containsKey(lastStage);
  }

  /** Tokens that count of this rank's samples and positions, whichever stage it has. */
  int tokens(List<Microbatch> microbatches) {
    return microbatches.stream().mapToInt(this::tokens).sum();
  }

  private int tokens(Microbatch data) {
    if (role == ModuleRole.LANGUAGE) {
      return language.values().iterator().next().tokens(data);
    }
    int own = data.share(stage().dp().size());
    double[] mask = data.mask(stage().dp().rank() * own, own);
    return (int) Arrays.stream(mask).filter(m -> m != 0).count();
  }

  /** The last pass through the pipeline; empty before the first. */
  Optional<PipelineStep> latest() {
    return Optional.ofNullable(latest);
  }

  /** All microbatches forwards and backwards; gradients of this rank are complete afterwards. */
  void run(List<Microbatch> microbatches, Pass pass) {
    step(microbatches, pass).run();
  }

  /** All microbatches forwards only. */
  void runForwards(List<Microbatch> microbatches, Pass pass) {
    step(microbatches, pass).runForwards();
  }

  private PipelineStep step(List<Microbatch> microbatches, Pass pass) {
    PipelineSchedule schedule = layout.schedule(config, microbatches.size());
    if (schedule.microbatches() != microbatches.size()) {
      throw LayoutException.argument(
          "schedule %s has %s microbatches, the step %s; expected as many"
              .formatted(schedule.name(), schedule.microbatches(), microbatches.size()));
    }
    for (int k = 0; k < microbatches.size(); k++) {
      if (!microbatches.get(k).hasModality()) {
        throw new IllegalArgumentException(
            """
            microbatch %s has no sample of the other modality; modules on ranks of their own \
            exchange rows in each: give it patches, which samples without placeholders leave \
            unused, or put the modules on the same ranks\
            """
                .formatted(k));
      }
    }
    Map<Integer, PipelineStep.Stage> stages = new LinkedHashMap<>();
    for (int number : schedule.stagesOf(pipeline.place())) {
      stages.put(number, new OneStage(number, microbatches, pass));
    }
    PipelineStep step = new PipelineStep(torch, schedule, pipeline, pass.graphs, stages);
    latest = step;
    return step;
  }

  /** A stage while some microbatches go through it. */
  private final class OneStage implements PipelineStep.Stage {
    private final int number;
    private final List<Microbatch> microbatches;
    private final Pass pass;
    private final int[] before;
    private final Map<Integer, NamedValues> traces = new HashMap<>();

    OneStage(int number, List<Microbatch> microbatches, Pass pass) {
      this.number = number;
      this.microbatches = microbatches;
      this.pass = pass;
      this.before = new int[microbatches.size() + 1];
      for (int k = 0; k < microbatches.size(); k++) {
        before[k + 1] = before[k] + microbatches.get(k).samples();
      }
    }

    @Override
    public Shape inputShape(int microbatch) {
      Microbatch data = microbatches.get(microbatch);
      EncoderPart encodes = encoder.get(number);
      if (encodes != null) {
        return encodes.innerShape(data);
      }
      return number == firstOfLanguage
          ? language().bridgedShape(data)
          : language().innerShape(data);
    }

    private LanguagePart language() {
      return Objects.requireNonNull(language.get(number));
    }

    @Override
    public DType dtype() {
      return parameters().getFirst().dtype();
    }

    @Override
    public Variable forward(Graph graph, Optional<Variable> input, int microbatch) {
      Microbatch data = microbatches.get(microbatch);
      NamedValues trace = new NamedValues();
      traces.put(microbatch, trace);
      graph.watch(trace);
      EncoderPart encodes = encoder.get(number);
      if (encodes != null) {
        return encodes.forward(graph, input, data, before[microbatch], trace);
      }
      Variable in = input.orElseThrow();
      if (number == firstOfLanguage) {
        language().seeBridged(graph, in, data, trace);
      }
      Variable out = language().forward(graph, in, data, before[microbatch], trace);
      if (number != lastStage) {
        return out;
      }
      LanguagePart.Loss loss = language().loss(graph, out, data, trace);
      pass.losses.see(microbatch, loss);
      return loss.sum();
    }

    @Override
    public void hasBeenBackwards(int microbatch) {
      if (fault == Fault.LOSE_MICROBATCH && number == 0 && microbatch == 0) {
        parts().forEach(Module::zeroGrad);
      }
      NamedValues trace = traces.remove(microbatch);
      if (trace != null) {
        pass.backwards.see(microbatch, trace);
      }
    }
  }
}
