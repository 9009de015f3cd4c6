package org.kernbench.nn.multimodal;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Mode;
import org.kernbench.nn.autograd.Dropout;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.TwoModuleRecipe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.WorkCount;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.multimodal.ModulePipeline.Pass;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.Checkpoint;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.optim.LearningRate;
import org.kernbench.nn.optim.MultiModuleOptimizer;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.optim.Sgd;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.pipeline.PipelineStep;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;

/**
 * Trains a model of two modules, on one rank. A step: gradients of the loss summed over tokens add
 * up over microbatches; each module sums its own over its data- and context-parallel ranks, then
 * over its tensor-parallel ranks where these have parts of a sum; all are divided by the tokens
 * that counted in the language model, on all ranks and in all microbatches. Source: {@code
 * docs/spec/megatron.md} 10.
 *
 * <p>Modules on ranks of their own are one pipeline ({@link ModulePipelines}). Then a rank has
 * stages of one module, and what is said here of both is true of that one.
 */
public final class TwoModuleTraining implements AutoCloseable {
  private final Torch torch;
  private final Optional<TwoModuleModel> whole;
  private final Optional<ModulePipeline> stages;
  private final Recipe recipe;
  private final List<Parameter> encoder;
  private final List<Parameter> language;
  private final List<Parameter> all;
  private final SortedMap<ModuleRole, DataParallel> data = new TreeMap<>();
  private final ProcessGroup world;
  private final SortedMap<String, MultiModuleOptimizer.Part> parts = new TreeMap<>();
  private final MultiModuleOptimizer optimizer;
  private final Settings settings;
  private final Map<String, WorkCount> work = new LinkedHashMap<>();
  private @Nullable Tensor square;

  /** How parameters change. */
  public enum Method {
    /** {@link Sgd}. */
    SGD,
    /** {@link AdamW}. */
    ADAMW
  }

  /**
   * How a model is trained.
   *
   * @param dtype of parameters
   * @param first type that their first values are rounded to before
   * @param seed of their first values
   * @param deviation standard deviation of these
   * @param frozen whether the encoder, without the projector, stays as it is
   * @param method how parameters change
   * @param rate of change
   * @param most norm of all gradients, to which they are shrunk
   * @param data how gradients are summed
   * @param fault what is done wrong on purpose
   * @param dropout which values both modules set to zero in a step; its number is that of the step
   */
  public record Settings(
      DType dtype,
      DType first,
      long seed,
      double deviation,
      boolean frozen,
      Method method,
      double rate,
      double most,
      DataParallel.Options data,
      Fault fault,
      Dropout dropout) {
    /** AdamW at 1e-4, gradients shrunk to norm 1, first values of deviation 0.02, no mistake. */
    public static Settings of(DType dtype) {
      return new Settings(
          dtype,
          dtype,
          7,
          0.02,
          false,
          Method.ADAMW,
          1e-4,
          1,
          DataParallel.DEFAULT,
          Fault.NONE,
          Dropout.NONE);
    }

    /** A copy with other first values. */
    public Settings withInit(long otherSeed, double otherDeviation) {
      return new Settings(
          dtype,
          first,
          otherSeed,
          otherDeviation,
          frozen,
          method,
          rate,
          most,
          data,
          fault,
          dropout);
    }

    /** A copy in another type, from the same first values. */
    public Settings in(DType other) {
      return new Settings(
          other, first, seed, deviation, frozen, method, rate, most, data, fault, dropout);
    }

    /** A copy whose encoder stays as it is, or does not. */
    public Settings withFrozen(boolean freeze) {
      return new Settings(
          dtype, first, seed, deviation, freeze, method, rate, most, data, fault, dropout);
    }

    /** A copy with another optimizer. */
    public Settings withMethod(Method other, double otherRate) {
      return new Settings(
          dtype, first, seed, deviation, frozen, other, otherRate, most, data, fault, dropout);
    }

    /** A copy that sums gradients otherwise. */
    public Settings withData(DataParallel.Options other) {
      return new Settings(
          dtype, first, seed, deviation, frozen, method, rate, most, other, fault, dropout);
    }

    /** A copy with a mistake. */
    public Settings withFault(Fault other) {
      return new Settings(
          dtype, first, seed, deviation, frozen, method, rate, most, data, other, dropout);
    }

    /** A copy that sets some values to zero while it trains. */
    public Settings withDropout(Dropout other) {
      return new Settings(
          dtype, first, seed, deviation, frozen, method, rate, most, data, fault, other);
    }
  }

  /** Is shown what a microbatch computed. */
  @FunctionalInterface
  public interface Watched {
    void see(int microbatch, NamedValues trace);
  }

  /**
   * Makes the model on a rank; all ranks of the world call it alike.
   *
   * @return empty on a rank that the layout leaves out
   */
  public static Optional<TwoModuleTraining> create(
      Worker worker, TwoModuleConfig config, TwoModuleLayout layout, Settings settings) {
    Torch torch = worker.torch();
    Init init =
        new Init(torch, settings.dtype(), settings.seed(), settings.deviation())
            .withSpread()
            .roundedTo(settings.first());
    if (layout.isApart()) {
      return ModulePipeline.create(worker, config, layout, init, settings.fault())
          .map(stages -> new TwoModuleTraining(torch, stages, settings));
    }
    TwoModuleModel.Groups groups =
        TwoModuleModel.Groups.create(worker.distributed(), layout, settings.fault());
    return layout.encoder().contains(worker.rank())
        ? Optional.of(
            new TwoModuleTraining(torch, new TwoModuleModel(config, groups, init), settings))
        : Optional.empty();
  }

  /** Both modules. */
  private TwoModuleTraining(Torch torch, TwoModuleModel model, Settings settings) {
    this.torch = torch;
    this.settings = settings;
    this.whole = Optional.of(model);
    this.stages = Optional.empty();
    TwoModuleModel.Groups groups = model.groups();
    this.world = groups.world();
    if (settings.frozen()) {
      model.freezeEncoder();
    }
    this.encoder = model.encoderParameters();
    this.language = model.languageParameters();
    this.all = Stream.concat(encoder.stream(), language.stream()).toList();
    Fault fault = settings.fault();
    this.recipe = new TwoModuleRecipe(ModuleRole.LANGUAGE, groups.language(), fault);
    Recipe ofEncoder = new TwoModuleRecipe(ModuleRole.ENCODER, groups.language(), fault);
    add(ModuleRole.ENCODER, groups.encoder(), encoder, ofEncoder);
    add(ModuleRole.LANGUAGE, groups.language(), language, recipe);
    data.forEach((role, module) -> parts.put(role.token(), part(module)));
    this.optimizer = new MultiModuleOptimizer(torch, world, parts);
  }

  /** Stages of one module. */
  private TwoModuleTraining(Torch torch, ModulePipeline stages, Settings settings) {
    this.torch = torch;
    this.settings = settings;
    this.whole = Optional.empty();
    this.stages = Optional.of(stages);
    this.world = stages.world();
    if (settings.frozen()) {
      stages.freezeEncoder();
    }
    this.all = stages.parameters();
    boolean encodes = stages.role() == ModuleRole.ENCODER;
    this.encoder = encodes ? all : List.of();
    this.language = encodes ? List.of() : all;
    this.recipe = stages.recipe();
    add(stages.role(), stages.stage(), all, recipe);
    data.forEach((role, module) -> parts.put(role.token(), part(module)));
    Set<String> modules =
        Stream.of(ModuleRole.values()).map(ModuleRole::token).collect(Collectors.toSet());
    this.optimizer = new MultiModuleOptimizer(torch, world, modules, parts);
  }

  private void add(
      ModuleRole role, ParallelLayout layout, List<Parameter> parameters, Recipe decisions) {
    data.put(role, new DataParallel(torch, layout, parameters, settings.data(), decisions));
  }

  private MultiModuleOptimizer.Part part(DataParallel data) {
    Optimizer own =
        settings.method() == Method.SGD
            ? new Sgd(torch, data.owned(), settings.rate())
            : new AdamW(torch, data.owned(), AdamW.Settings.of(settings.rate()));
    return new MultiModuleOptimizer.Part(data, own);
  }

  /** This rank's part of every parameter, those of the encoder first. */
  public List<Parameter> parameters() {
    return all;
  }

  /**
   * This rank's part of one parameter.
   *
   * @param name its path in the model, for example {@code projector.up.weight}
   * @throws IllegalArgumentException if there is none of that name
   */
  public Parameter parameter(String name) {
    return all.stream()
        .filter(p -> p.name().equals(name))
        .findFirst()
        .orElseThrow(() ->
            new IllegalArgumentException(
                "no parameter is named %s; expected one of %s"
                    .formatted(name, all.stream().map(Parameter::name).toList())));
  }

  /** This rank's part of encoder and projector; none if it has none. */
  public List<Parameter> encoderParameters() {
    return encoder;
  }

  /** This rank's part of the language model; none if it has none. */
  public List<Parameter> languageParameters() {
    return language;
  }

  /**
   * The gradients of all microbatches on this rank, before any other rank's are added.
   *
   * @param watched is shown each microbatch's values and their gradients before they are freed
   * @return tokens of this rank that counted
   */
  public int backward(List<Microbatch> microbatches, Watched watched) {
    zeroGrad();
    return stages
        .map(own -> {
          own.run(microbatches, new Pass(this::learning, (k, loss) -> {}, watched));
          return own.tokens(microbatches);
        })
        .orElseGet(() -> backward(whole.orElseThrow(), microbatches, watched));
  }

  private int backward(TwoModuleModel model, List<Microbatch> microbatches, Watched watched) {
    int tokens = 0;
    int before = 0;
    for (int i = 0; i < microbatches.size(); i++) {
      NamedValues trace = new NamedValues();
      try (Graph graph = learning()) {
        LanguagePart.Loss loss =
            forward(graph, model, microbatches.get(i), before, i, trace, watched);
        before += microbatches.get(i).samples();
        graph.backward(loss.sum());
        tokens += loss.tokens();
        watched.see(i, trace);
      }
    }
    return tokens;
  }

  private void zeroGrad() {
    data.values().forEach(DataParallel::zeroGrad);
  }

  /** A graph of the next step. */
  private Graph learning() {
    return Graph.of(torch, recipe).withDropout(settings.dropout.atStep(steps()));
  }

  /** Also a pass that stops with an error shows how far it came. */
  private static LanguagePart.Loss forward(
      Graph graph,
      TwoModuleModel model,
      Microbatch data,
      int before,
      int index,
      NamedValues trace,
      Watched watched) {
    try {
      return model.forward(graph, data, before, trace);
    } catch (IllegalArgumentException | ShapeException e) {
      watched.see(index, trace);
      throw e;
    }
  }

  /** Makes them the gradients of the mean over all tokens of all ranks and microbatches. */
  public void finish(int tokens) {
    data.values().forEach(DataParallel::sum);
    divide(tokens);
  }

  private void divide(int tokens) {
    data.values().forEach(module -> module.divideByTokens(tokens));
  }

  /** Shrinks them and changes the parameters by them. */
  public void step() {
    closeSquare();
    square = optimizer.step(settings.most);
  }

  private void closeSquare() {
    if (square != null) {
      square.close();
    }
  }

  /** The square of the norm of all gradients before the last step; empty before the first. */
  public Optional<Tensor> squareOfNorm() {
    return Optional.ofNullable(square);
  }

  /** How gradients are summed of each module that this rank has, the encoder first. */
  public List<DataParallel> data() {
    return List.copyOf(data.values());
  }

  /** This rank's last step through the pipeline of modules on ranks of their own. */
  public Optional<PipelineStep> pipelineStep() {
    return stages.flatMap(ModulePipeline::latest);
  }

  /** Which rank of that pipeline's schedule this one is; empty if there is no pipeline. */
  public OptionalInt pipelinePlace() {
    return stages.map(own -> OptionalInt.of(own.place())).orElse(OptionalInt.empty());
  }

  /**
   * A whole step; sums of gradients go beside the backward pass of the last microbatch. All ranks
   * of the layout call it.
   *
   * @return the sum of the losses of this rank's tokens; empty if there are no values
   */
  public OptionalDouble train(List<Microbatch> microbatches) {
    return train(microbatches, (microbatch, losses) -> {});
  }

  /** Is shown the losses of a microbatch's tokens on this rank, before they are freed. */
  @FunctionalInterface
  public interface TokenLosses {
    /** To read them, the host waits; so times differ if this happens in a step. */
    void see(int microbatch, Variable losses);
  }

  /** One step, which shows the losses of single tokens. */
  public OptionalDouble train(List<Microbatch> microbatches, TokenLosses seen) {
    zeroGrad();
    try (GradientSync.Scratch scratch = new GradientSync.Scratch(torch)) {
      Tensor sum = zero(scratch.compute);
      int tokens =
          stages
              .map(own -> train(own, microbatches, scratch.compute, sum, seen))
              .orElseGet(
                  () -> train(whole.orElseThrow(), microbatches, scratch.compute, sum, seen));
      divide(tokens);
      step();
      WorkCount.add(scratch.compute.work(), work);
      return read(sum);
    }
  }

  private Tensor zero(Compute compute) {
    Tensor sum = compute.empty("loss", Shape.of(1), Compute.working(settings.dtype));
    compute.zero("loss", sum);
    return sum;
  }

  private int train(
      TwoModuleModel model,
      List<Microbatch> microbatches,
      Compute compute,
      Tensor sum,
      TokenLosses seen) {
    int tokens = 0;
    int before = 0;
    for (int i = 0; i < microbatches.size(); i++) {
      Microbatch one = microbatches.get(i);
      try (Graph graph = learning()) {
        LanguagePart.Loss loss = model.forward(graph, one, before, new NamedValues());
        before += one.samples();
        if (i == microbatches.size() - 1) {
          DataParallel.backward(graph, loss.sum(), data().reversed());
        } else {
          graph.backward(loss.sum());
        }
        tokens += loss.tokens();
        seen.see(i, loss.perToken());
        add(compute, sum, loss.sum());
        count(graph);
      }
    }
    return tokens;
  }

  private int train(
      ModulePipeline own,
      List<Microbatch> microbatches,
      Compute compute,
      Tensor sum,
      TokenLosses seen) {
    List<Graph> graphs = new ArrayList<>();
    Supplier<Graph> counted =
        () -> {
          Graph graph = learning();
          graphs.add(graph);
          return graph;
        };
    own.run(
        microbatches,
        new Pass(
            counted,
            (k, loss) -> {
              seen.see(k, loss.perToken());
              add(compute, sum, loss.sum());
            },
            (k, trace) -> {}));
    data.values().forEach(DataParallel::sum);
    graphs.forEach(this::count);
    return own.tokens(microbatches);
  }

  private void count(Graph graph) {
    WorkCount.add(graph.compute().work(), work);
  }

  // ---- evaluation ----

  /**
   * The loss of samples that are not learnt from.
   *
   * @param sum of the losses of all tokens that count, on all ranks; empty if there are no values
   * @param tokens how many these are
   */
  public record Evaluation(OptionalDouble sum, int tokens) {
    /** The loss per token; empty if there are no values or no token counts. */
    public OptionalDouble mean() {
      return sum.isPresent() && tokens > 0
          ? OptionalDouble.of(sum.getAsDouble() / tokens)
          : OptionalDouble.empty();
    }
  }

  /**
   * Only forwards: parameters, gradients and the optimizer stay as they are. All ranks of the
   * layout call it, and all get the same sum.
   */
  public Evaluation evaluate(List<Microbatch> microbatches) {
    try (GradientSync.Scratch scratch = new GradientSync.Scratch(torch)) {
      Tensor sum = zero(scratch.compute);
      Supplier<Graph> graphs = () -> Graph.of(torch, recipe);
      ProcessGroup ranks =
          stages
              .map(own -> {
                // of the last stage's tensor-parallel ranks, which have the same losses, one counts
                boolean counts = own.ends() && own.stage().tp().rank() == 0;
                Pass pass =
                    new Pass(
                        graphs,
                        (k, loss) -> {
                          if (counts) {
                            add(scratch.compute, sum, loss.sum());
                          }
                        },
                        (k, trace) -> {});
                own.runForwards(microbatches, pass);
                return world;
              })
              .orElseGet(() -> {
                TwoModuleModel model = whole.orElseThrow();
                for (Microbatch each : microbatches) {
                  try (Graph graph = graphs.get()) {
                    LanguagePart.Loss loss = model.forward(graph, each, 0, new NamedValues());
                    add(scratch.compute, sum, loss.sum());
                  }
                }
                return model.groups().language().dpCp();
              });
      if (ranks.size() > 1) {
        ranks.allReduce(sum);
      }
      return new Evaluation(read(sum), microbatches.stream().mapToInt(Microbatch::tokens).sum());
    }
  }

  private static void add(Compute compute, Tensor sum, Variable loss) {
    compute.mapInto("loss", sum, List.of(sum, loss.value()), x -> x.get(0).add(x.get(1)));
  }

  private OptionalDouble read(Tensor sum) {
    return torch.simulator().mode() == Mode.TIME
        ? OptionalDouble.empty()
        : OptionalDouble.of(sum.get(0));
  }

  // ---- learning rate, files ----

  /** Takes each step's learning rate from a schedule from now on. */
  public void follow(LearningRate rates) {
    optimizer.follow(rates);
  }

  /** Changes the learning rate of the steps to come, unless there is a schedule. */
  public void changeRate(double rate) {
    optimizer.changeRate(rate);
  }

  /** Learning rate of the latest step, or as it was changed since. */
  public double rate() {
    return optimizer.rate();
  }

  /** Steps taken, also before {@link #load}. */
  public long steps() {
    return optimizer.steps();
  }

  /**
   * Writes both modules and the state of their optimizers ({@link Checkpoint#save}); the file knows
   * nothing of the layout. All ranks of the layout call it.
   */
  public void save(Path to) {
    checkpoint().save(to);
  }

  /**
   * Goes on from what training in any layout has saved: parameters, the optimizers' states and the
   * number of steps ({@link Checkpoint#load}). A {@linkplain #follow schedule} is not in the file.
   */
  public void load(Path from) {
    checkpoint().load(from);
  }

  private Checkpoint checkpoint() {
    return stages
        .map(own -> {
          Checkpoint made = new Checkpoint(torch, own.stage()).across(world).with(all);
          parts.values().forEach(part -> made.with(part.optimizer(), part.data()));
          return made;
        })
        .orElseGet(() -> checkpoint(whole.orElseThrow().groups()));
  }

  private Checkpoint checkpoint(TwoModuleModel.Groups groups) {
    Checkpoint both = new Checkpoint(torch, groups.encoder());
    MultiModuleOptimizer.Part first = part(ModuleRole.ENCODER);
    MultiModuleOptimizer.Part second = part(ModuleRole.LANGUAGE);
    return both.with(encoder)
        .with(first.optimizer(), first.data())
        .in(groups.language())
        .with(language)
        .with(second.optimizer(), second.data());
  }

  private MultiModuleOptimizer.Part part(ModuleRole module) {
    return Objects.requireNonNull(parts.get(module.token()));
  }

  /** What {@link #train} has launched so far, by kernel. */
  public Map<String, WorkCount> work() {
    Map<String, WorkCount> all = new LinkedHashMap<>(work);
    WorkCount.add(optimizer.work(), all);
    return all;
  }

  /** As {@link Optimizer#bytesRead}, of what this rank has of both modules. */
  public long bytesRead() {
    return optimizer.bytesRead();
  }

  /** As {@link Optimizer#bytesWritten}. */
  public long bytesWritten() {
    return optimizer.bytesWritten();
  }

  /** Frees what the optimizer keeps. */
  @Override
  public void close() {
    closeSquare();
    optimizer.close();
  }
}
