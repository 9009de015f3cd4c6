package org.kernbench.nn.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.optim.MultiModuleOptimizer.Part;
import org.kernbench.nn.optim.MultiModuleOptimizer.StepResult;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Worker;

/** One step of two modules: the norm of both, one factor for both, all ranks or none. */
final class MultiModuleOptimizerTest {
  private static final int RANKS = 2;

  /** What a rank has after a step. */
  private record After(StepResult result, double encoder, double language) {}

  private final Map<Integer, After> after = new TreeMap<>();

  /** The encoder has one weight on both ranks, the language model a row of a weight on each. */
  private void body(Worker w, double encoderGrad, double[] languageGrads, double most) {
    HyperCommGrid from = new HyperCommGrid(w.distributed(), RankGrid.parse("tp=1,dp=2"));
    HyperCommGrid to = new HyperCommGrid(w.distributed(), RankGrid.parse("tp=2,dp=1"));
    ParallelLayout encoder = ParallelLayout.of(from, false);
    ParallelLayout language = ParallelLayout.of(to, false);
    Parameter a = parameter(w, "a", Sharding.REPLICATED);
    Parameter b = parameter(w, "b", Sharding.along(0));
    DataParallel ofA = new DataParallel(w.torch(), encoder, List.of(a), DataParallel.DEFAULT);
    DataParallel ofB = new DataParallel(w.torch(), language, List.of(b), DataParallel.DEFAULT);
    a.startGrad(w.torch()).fillInPlace(encoderGrad);
    b.startGrad(w.torch()).fillInPlace(languageGrads[w.rank()]);
    Map<String, Part> parts = Map.of("encoder", part(w, ofA), "language", part(w, ofB));
    try (MultiModuleOptimizer optimizer =
        new MultiModuleOptimizer(w.torch(), w.distributed().world(), new TreeMap<>(parts))) {
      StepResult result = optimizer.stepChecked(most);
      after.put(w.rank(), new After(result, a.value().get(0, 0), b.value().get(0, 0)));
    }
  }

  private static Parameter parameter(Worker w, String name, Sharding sharding) {
    return new Parameter(name, w.torch().zeros(Shape.of(1, 1), DType.F64, name), sharding);
  }

  private static Part part(Worker w, DataParallel data) {
    return new Part(data, new Sgd(w.torch(), data.owned(), 1));
  }

  private void run(double encoderGrad, double[] languageGrads, double most) {
    Ranks.run(RANKS, Mode.VALUES, w -> body(w, encoderGrad, languageGrads, most));
  }

  /**
   * Norms 3 and 4 give 5, not 4: {@code docs/spec/megatron.md} 10.4. A replicated weight counts
   * once.
   */
  @Test
  void norm_ofModulesWith3And4_is5() {
    run(3, new double[] {4, 0}, 10);
    for (After rank : after.values()) {
      assertThat(rank.result.success()).isTrue();
      assertThat(rank.result.norm().orElseThrow()).isEqualTo(5);
      assertThat(rank.result.zeros().orElseThrow()).isEqualTo(1);
      assertThat(rank.encoder).isEqualTo(-3);
    }
    assertThat(after.get(0).language).isEqualTo(-4);
    assertThat(after.get(1).language).isZero();
  }

  @Test
  void clip_normAboveTheLimit_shrinksBothModulesByOneFactor() {
    run(3, new double[] {0, 4}, 1);
    double factor = 1 / (5 + 1e-6);
    assertThat(after.get(0).encoder).isCloseTo(-3 * factor, within(1e-15));
    assertThat(after.get(1).language).isCloseTo(-4 * factor, within(1e-15));
  }

  /** One rank's overflow: no rank changes anything, nor knows a norm. */
  @Test
  void overflow_onOneRank_changesNothingAnywhere() {
    for (double bad : new double[] {Double.POSITIVE_INFINITY, Double.NaN}) {
      after.clear();
      run(3, new double[] {4, bad}, 10);
      for (After rank : after.values()) {
        assertThat(rank.result.success()).isFalse();
        assertThat(rank.result.norm()).isEmpty();
        assertThat(rank.result.zeros()).isEmpty();
        assertThat(rank.encoder).isZero();
        assertThat(rank.language).isZero();
      }
    }
  }
}
