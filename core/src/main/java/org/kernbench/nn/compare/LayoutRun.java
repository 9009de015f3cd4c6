package org.kernbench.nn.compare;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.NamedValues;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Worker;

/**
 * What one layout computed in one training step: on every rank the values at named places with
 * their gradients, the gradients of all parameters before and after the ranks' were added, and the
 * tokens that counted. Recorded in f64, to be compared with another run.
 */
public final class LayoutRun {
  private final TwoModuleLayout layout;
  private final TwoModuleConfig config;
  private final TwoModuleTraining.Settings settings;
  private final List<Microbatch> microbatches;
  private final int steps;
  private final RankRun[] ranks;

  /** What one rank has. */
  static final class RankRun {
    final List<Place> places = new ArrayList<>();
    final Map<String, double[]> parameters = new LinkedHashMap<>();
    final Map<String, double[]> trained = new LinkedHashMap<>();
    final Map<String, Gradient> gradients = new LinkedHashMap<>();
    int tokens;
    @Nullable RuntimeException failure;
  }

  /**
   * A value and its gradient on one rank.
   *
   * @param value nothing where only the gradient is looked at
   * @param grad null if no gradient came there
   */
  record Place(
      int microbatch,
      String name,
      Graph.Seen what,
      NamedValues.Rows rows,
      double[] value,
      double @Nullable [] grad) {}

  /**
   * The gradient of a parameter on one rank.
   *
   * @param shape of the rank's part
   * @param own before other ranks' were added, of a sum over tokens
   * @param finished of the mean over all tokens
   */
  record Gradient(
      ModuleRole module,
      Parameter.Sharding sharding,
      Shape shape,
      double[] own,
      double[] finished) {}

  /**
   * A run to be, of {@link #body} on every rank of a world of {@link TwoModuleLayout#worldSize}.
   *
   * @param steps of training with the same data; gradients are those of the first
   */
  public LayoutRun(
      TwoModuleLayout layout,
      TwoModuleConfig config,
      TwoModuleTraining.Settings settings,
      List<Microbatch> microbatches,
      int steps) {
    this.steps = steps;
    this.layout = layout;
    this.config = config;
    this.settings = settings;
    this.microbatches = List.copyOf(microbatches);
    this.ranks = new RankRun[layout.worldSize() - layout.firstRank()];
    Arrays.setAll(ranks, r -> new RankRun());
  }

  int steps() {
    return steps;
  }

  TwoModuleLayout layout() {
    return layout;
  }

  TwoModuleConfig config() {
    return config;
  }

  List<Microbatch> microbatches() {
    return microbatches;
  }

  /** Whether a rank stopped with an error. */
  public boolean isFailed() {
    return Arrays.stream(ranks).anyMatch(r -> r.failure != null);
  }

  /** Throws the error of the first rank that has one, if any has. */
  public void throwFailure() {
    for (RankRun rank : ranks) {
      if (rank.failure != null) {
        throw rank.failure;
      }
    }
  }

  /** Ranks from the first of the layout to its last; one of neither module has nothing. */
  int span() {
    return ranks.length;
  }

  /** What a rank of the layout has; 0 is the first one after the offset. */
  RankRun rank(int rank) {
    return ranks[rank];
  }

  /** Compares with a run on one rank, of the same model on the same data. */
  public LayoutVerdict compareWith(LayoutRun oneRank) {
    return LayoutComparison.of(oneRank, this);
  }

  /** The program of every rank of the world; each records what it computes. */
  public void body(Worker worker) {
    TwoModuleTraining.create(worker, config, layout, settings)
        .ifPresent(training -> record(training, ranks[worker.rank() - layout.firstRank()]));
  }

  private void record(TwoModuleTraining training, RankRun run) {
    try (training) {
      List<Parameter> all = training.parameters();
      all.forEach(p -> run.parameters.put(p.name(), p.value().toDoubles()));
      run.tokens = training.backward(microbatches, (index, trace) -> see(run, index, trace));
      Map<String, double[]> own = new LinkedHashMap<>();
      all.forEach(p -> p.grad().ifPresent(g -> own.put(p.name(), g.toDoubles())));
      training.finish(run.tokens);
      training.encoderParameters().forEach(p -> add(run, ModuleRole.ENCODER, p, own));
      training.languageParameters().forEach(p -> add(run, ModuleRole.LANGUAGE, p, own));
      for (int step = 0; step < steps; step++) {
        if (step == 0) {
          training.step();
        } else {
          training.train(microbatches);
        }
      }
      all.forEach(p -> run.trained.put(p.name(), p.value().toDoubles()));
    } catch (RuntimeException e) {
      run.failure = e;
      throw e;
    }
  }

  private static void see(RankRun run, int microbatch, NamedValues trace) {
    trace.seen().forEach(seen -> run.places.add(place(microbatch, seen)));
  }

  private static void add(RankRun run, ModuleRole module, Parameter p, Map<String, double[]> own) {
    if (!p.isFrozen()) {
      double[] before = own.getOrDefault(p.name(), new double[(int) p.shape().elements()]);
      double[] after = GradientSync.gradient(p).toDoubles();
      run.gradients.put(p.name(), new Gradient(module, p.sharding(), p.shape(), before, after));
    }
  }

  private static Place place(int microbatch, NamedValues.Seen seen) {
    Variable v = seen.value();
    double @Nullable [] grad = v.grad().isPresent() ? v.grad().get().toDoubles() : null;
    double[] value = seen.what().isGradOnly() ? new double[0] : v.value().toDoubles();
    return new Place(microbatch, seen.place(), seen.what(), seen.rows(), value, grad);
  }
}
