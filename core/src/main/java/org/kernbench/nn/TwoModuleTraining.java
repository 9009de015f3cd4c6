package org.kernbench.nn;

import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.kernbench.device.Mode;
import org.kernbench.nn.MultiModuleOptimizer.StepResult;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;

/**
 * Trains a model of two modules, on one rank. A step: gradients of the loss summed over tokens add
 * up over microbatches; each module sums its own over its data- and context-parallel ranks, then
 * over its tensor-parallel ranks where these have parts of a sum; all are divided by the tokens
 * that counted in the language model, on all ranks and in all microbatches. Source: {@code
 * megatron.md} 10.
 */
final class TwoModuleTraining implements AutoCloseable {
  private final Torch torch;
  private final TwoModuleModel model;
  private final Recipe recipe;
  private final List<Parameter> encoder;
  private final List<Parameter> language;
  private final List<Parameter> all;
  private final DataParallel encoderData;
  private final DataParallel languageData;
  private final MultiModuleOptimizer optimizer;

  /** How parameters change. */
  enum Method {
    /** {@link Sgd}. */
    SGD,
    /** {@link AdamW}. */
    ADAMW
  }

  /**
   * How a model is trained.
   *
   * @param dtype of parameters
   * @param seed of their first values
   * @param deviation standard deviation of these
   * @param frozen whether the encoder, without the projector, stays as it is
   * @param rate of change
   * @param data how gradients are summed
   * @param fault what is done wrong on purpose
   */
  record Settings(
      DType dtype,
      long seed,
      double deviation,
      boolean frozen,
      Method method,
      double rate,
      DataParallel.Options data,
      Fault fault) {
    Settings with(Fault other) {
      return new Settings(dtype, seed, deviation, frozen, method, rate, data, other);
    }

    Settings with(Method other) {
      return new Settings(dtype, seed, deviation, frozen, other, rate, data, fault);
    }
  }

  /** Is shown what a microbatch computed. */
  @FunctionalInterface
  interface Watched {
    void see(int microbatch, Trace trace);
  }

  TwoModuleTraining(
      Worker worker, TwoModuleConfig config, TwoModuleModel.Groups groups, Settings settings) {
    this.torch = worker.torch();
    Init init =
        new Init(torch, settings.dtype(), settings.seed(), settings.deviation()).withSpread();
    this.model = new TwoModuleModel(config, groups, init);
    if (settings.frozen()) {
      model.freezeEncoder();
    }
    this.encoder = model.encoderParameters();
    this.language = model.languageParameters();
    this.all = Stream.concat(encoder.stream(), language.stream()).toList();
    this.recipe = new TwoModuleRecipe(false, groups.language(), settings.fault());
    Recipe ofEncoder = new TwoModuleRecipe(true, groups.language(), settings.fault());
    DataParallel.Options data = settings.data();
    this.encoderData = new DataParallel(torch, groups.encoder(), encoder, data, ofEncoder);
    this.languageData = new DataParallel(torch, groups.language(), language, data, recipe);
    this.optimizer =
        new MultiModuleOptimizer(
            torch,
            groups.world(),
            new TreeMap<>(
                Map.of(
                    "encoder", part(encoderData, settings),
                    "language", part(languageData, settings))));
  }

  private MultiModuleOptimizer.Part part(DataParallel data, Settings settings) {
    Optimizer own =
        settings.method() == Method.SGD
            ? new Sgd(torch, data.owned(), settings.rate())
            : new AdamW(torch, data.owned(), AdamW.Settings.of(settings.rate()));
    return new MultiModuleOptimizer.Part(data, own);
  }

  List<Parameter> parameters() {
    return all;
  }

  List<Parameter> encoderParameters() {
    return encoder;
  }

  List<Parameter> languageParameters() {
    return language;
  }

  /**
   * The gradients of all microbatches on this rank, before any other rank's are added.
   *
   * @param watched is shown each microbatch's values and their gradients before they are freed
   * @return tokens of this rank that counted
   */
  int backward(List<Microbatch> microbatches, Watched watched) {
    encoderData.zeroGrad();
    languageData.zeroGrad();
    int tokens = 0;
    for (int i = 0; i < microbatches.size(); i++) {
      Trace trace = new Trace();
      try (Graph graph = Graph.of(torch, recipe)) {
        TwoModuleModel.Loss loss = forward(graph, microbatches.get(i), i, trace, watched);
        graph.backward(loss.sum());
        tokens += loss.tokens();
        watched.see(i, trace);
      }
    }
    return tokens;
  }

  /** Also a pass that stops with an error shows how far it came. */
  private TwoModuleModel.Loss forward(
      Graph graph, Microbatch data, int index, Trace trace, Watched watched) {
    try {
      return model.forward(graph, data, trace);
    } catch (IllegalArgumentException e) {
      watched.see(index, trace);
      throw e;
    }
  }

  /** Makes them the gradients of the mean over all tokens of all ranks and microbatches. */
  void finish(int tokens) {
    encoderData.sum();
    languageData.sum();
    divide(tokens);
  }

  private void divide(int tokens) {
    encoderData.divideByTokens(tokens);
    languageData.divideByTokens(tokens);
  }

  /** Shrinks them to a norm of at most {@code most} and changes the parameters by them. */
  StepResult step(double most) {
    return optimizer.step(most, false);
  }

  /**
   * All of that, and sums of gradients go beside the backward pass of the last microbatch.
   *
   * @param most norm that gradients are shrunk to
   * @return the sum of losses of this rank's tokens, if there are values
   */
  OptionalDouble train(List<Microbatch> microbatches, double most) {
    encoderData.zeroGrad();
    languageData.zeroGrad();
    int tokens = 0;
    double sum = 0;
    boolean values = torch.simulator().mode() != Mode.TIME;
    for (int i = 0; i < microbatches.size(); i++) {
      try (Graph graph = Graph.of(torch, recipe)) {
        TwoModuleModel.Loss loss = model.forward(graph, microbatches.get(i), new Trace());
        if (i == microbatches.size() - 1) {
          DataParallel.backward(graph, loss.sum(), List.of(languageData, encoderData));
        } else {
          graph.backward(loss.sum());
        }
        tokens += loss.tokens();
        sum += values ? loss.sum().value().get(0) : 0;
      }
    }
    divide(tokens);
    step(most);
    return values ? OptionalDouble.of(sum) : OptionalDouble.empty();
  }

  @Override
  public void close() {
    optimizer.close();
  }
}
