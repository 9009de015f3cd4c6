package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.nn.autograd.Layouts;
import org.kernbench.nn.autograd.Layouts.Layout;
import org.kernbench.nn.autograd.TrainingRun;
import org.kernbench.nn.autograd.TrainingRun.Result;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.TrainingRun.Training;

/**
 * Loss and gradients of a small transformer do not depend on the layout: each is compared with the
 * run on one rank, in f64, before any optimizer; then the parameters after three steps of SGD, and
 * after three of AdamW.
 */
final class LayoutTest {
  private static final String KEY_BIAS = ".key.bias";

  /** Runs on one rank. */
  private static final Map<Setup, Result> ONE_RANK = new ConcurrentHashMap<>();

  @ParameterizedTest
  @MethodSource("org.kernbench.nn.autograd.Layouts#some")
  void layout_lossGradientsAndSteps_equalOneRank(Layout layout) {
    check(layout, 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("org.kernbench.nn.autograd.Layouts#all")
  void layoutGrid_lossGradientsAndSteps_equalOneRank(Layout layout) {
    check(layout, 2);
  }

  private static void check(Layout layout, int layers) {
    for (Training training : Training.values()) {
      Setup setup = Layouts.setup(layout, layers).with(training);
      Result expected = ONE_RANK.computeIfAbsent(setup.onOneRank(), TrainingRun::of);
      Result got = TrainingRun.of(setup);
      assertThat(got.unequal()).as("replicas").isEmpty();
      assertThat(TrainingRun.lossError(got, expected)).isLessThan(1e-10);
      assertThat(TrainingRun.worst(got.grads(), expected.grads()))
          .as("gradients")
          .isLessThan(1e-10);
      assertStepped(training, got, expected);
    }
  }

  private static void assertStepped(Training training, Result got, Result expected) {
    Map<String, double[]> ofGot = new TreeMap<>(got.parameters());
    Map<String, double[]> ofExpected = new TreeMap<>(expected.parameters());
    if (training == Training.ADAM) {
      removeKeyBiases(ofGot);
      removeKeyBiases(ofExpected);
    }
    assertThat(TrainingRun.worst(ofGot, ofExpected))
        .as("after steps of %s", training)
        .isLessThan(1e-10);
  }

  /**
   * A bias of keys is 0 at first and has gradient 0, as softmax does not see a shift. What there is
   * of it is rounding, below 1e-16; AdamW divides that by no less than epsilon, 1e-8, so three
   * steps move the bias by less than 1e-9 and in a direction of no meaning.
   */
  private static void removeKeyBiases(Map<String, double[]> parameters) {
    parameters.forEach((name, values) -> {
      if (name.endsWith(KEY_BIAS)) {
        assertThat(DoubleStream.of(values).map(Math::abs).max().orElseThrow()).isLessThan(1e-9);
      }
    });
    parameters.keySet().removeIf(name -> name.endsWith(KEY_BIAS));
  }
}
