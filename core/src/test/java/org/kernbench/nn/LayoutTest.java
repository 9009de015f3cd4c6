package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.nn.Layouts.Layout;
import org.kernbench.nn.TrainingRun.Result;
import org.kernbench.nn.TrainingRun.Setup;
import org.kernbench.nn.TrainingRun.Training;

/**
 * Loss and gradients of a small transformer do not depend on the layout: each is compared with the
 * run on one rank, in f64, before any optimizer.
 */
final class LayoutTest {
  /** Runs on one rank. */
  private static final Map<Setup, Result> ONE_RANK = new ConcurrentHashMap<>();

  @ParameterizedTest
  @MethodSource("org.kernbench.nn.Layouts#some")
  void layout_lossGradientsAndSteps_equalOneRank(Layout layout) {
    check(layout, 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("org.kernbench.nn.Layouts#all")
  void layoutGrid_lossGradientsAndSteps_equalOneRank(Layout layout) {
    check(layout, 2);
  }

  private static void check(Layout layout, int layers) {
    Setup setup = Layouts.setup(layout, layers);
    Training training = setup.training();
    Result expected = ONE_RANK.computeIfAbsent(setup.onOneRank(), TrainingRun::of);
    Result got = TrainingRun.of(setup);
    assertThat(got.unequal()).as("replicas").isEmpty();
    assertThat(TrainingRun.lossError(got, expected)).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.grads(), expected.grads())).as("gradients").isLessThan(1e-10);
    // Adam divides by the size of the gradient, so elements whose gradient is nearly zero magnify
    // its rounding; SGD does not
    assertThat(TrainingRun.worst(got.parameters(), expected.parameters()))
        .as("after steps")
        .isLessThan(training == Training.SGD ? 1e-10 : 1e-6);
  }
}
