package org.kernbench.nn.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Worker;

/** Losses that are scaled for f16: what vanishes, what overflows, and that ranks agree on it. */
final class LossScalerTest {
  private static Parameter parameter(Worker w, String name, Sharding sharding, DType type) {
    return new Parameter(
        name, w.torch().from(new double[] {1, 1}, Shape.of(2), type, name), sharding);
  }

  /** The gradient of {@code weight c x} with f16 between, as an optimizer gets it. */
  private static double gradient(double weight, double scale) {
    double[] got = new double[1];
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 1, false);
          Parameter p = parameter(w, "p", Sharding.REPLICATED, DType.F16);
          DataParallel data = new DataParallel(w.torch(), layout, List.of(p), DataParallel.DEFAULT);
          LossScaler scaler = new LossScaler(LossScaler.Settings.constant(scale));
          try (Graph graph = Graph.of(w.torch())) {
            Variable wide = graph.cast(graph.scale(p, 1), DType.F32);
            Variable loss = graph.weightedSum(wide, new double[] {weight, weight});
            data.backward(graph, scaler.scaled(graph, loss));
            data.divideByTokens(1, scaler);
          }
          got[0] = p.grad().orElseThrow().get(0);
        });
    return got[0];
  }

  /** Half of f16's smallest number, 2^-24, vanishes; times 2^16 it does not. */
  @Test
  void smallGradient_vanishesUnscaled_isRightScaled() {
    double small = Math.pow(2, -26);
    assertThat(gradient(small, 1)).isZero();
    assertThat(gradient(small, 65_536)).isEqualTo(small);
    assertThat(gradient(3, 1024)).isEqualTo(3);
    assertThat(gradient(100, 65_536)).isInfinite(); // 6,553,600 is beyond f16's 65,504
  }

  /**
   * One rank's data overflow in the second step: no rank steps, and all go on with half the scale.
   * By hand: 2^14 twice good would grow; good, bad, good, good is 2^14, 2^14, 2^13, 2^13, 2^14.
   */
  @ParameterizedTest
  @CsvSource({"1, 2, NONE", "1, 3, OPTIMIZER", "1, 2, PARAMETERS", "2, 2, NONE", "2, 1, NONE"})
  void overflowOnOneRank_isSkippedByAll(int tp, int dp, Zero zero) {
    Map<Integer, List<Double>> scales = new TreeMap<>();
    Map<Integer, List<Double>> values = new TreeMap<>();
    Ranks.run(
        tp * dp,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), tp, 1, dp, false);
          // cut, so that only one tensor-parallel rank sees what is wrong
          Parameter p = parameter(w, "p", Sharding.along(0), DType.F16);
          DataParallel data =
              new DataParallel(w.torch(), layout, List.of(p), DataParallel.DEFAULT.with(zero));
          LossScaler scaler = new LossScaler(new LossScaler.Settings(16_384, 2, 0.5, 2, 1));
          List<Double> ownScales = new ArrayList<>();
          List<Double> ownValues = new ArrayList<>();
          try (Sgd sgd = new Sgd(w.torch(), data.owned(), 0.25)) {
            for (int step = 0; step < 4; step++) {
              ownScales.add(scaler.scale());
              data.zeroGrad();
              boolean last = w.rank() == tp * dp - 1;
              double weight = step == 1 && last ? 1000 : 1;
              try (Graph graph = Graph.of(w.torch())) {
                Variable wide = graph.cast(graph.scale(p, 1), DType.F32);
                Variable loss = graph.weightedSum(wide, new double[] {weight, weight});
                data.backward(graph, scaler.scaled(graph, loss));
              }
              data.divideByTokens(1, scaler);
              assertThat(scaler.step(data, sgd, 1e9)).isEqualTo(step != 1);
              ownValues.add(p.value().toDoubles()[0]);
            }
          }
          ownScales.add(scaler.scale());
          assertThat(scaler.skipped()).isEqualTo(1);
          scales.put(w.rank(), ownScales);
          values.put(w.rank(), ownValues);
        });
    assertThat(scales.values()).containsOnly(List.of(16384., 16384., 8192., 8192., 16384.));
    // a gradient of dp / dp tokens, 1, times 0.25
    assertThat(values.values()).containsOnly(List.of(0.75, 0.75, 0.5, 0.25));
  }

  @Test
  void modeTime_stepsAsIfFinite_inTheTimeOfModeFull() {
    List<Long> ends = new ArrayList<>();
    for (Mode mode : List.of(Mode.FULL, Mode.TIME)) {
      Ranks.run(
          2,
          mode,
          w -> {
            ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 2, false);
            Parameter p = parameter(w, "p", Sharding.REPLICATED, DType.F16);
            DataParallel data =
                new DataParallel(w.torch(), layout, List.of(p), DataParallel.DEFAULT);
            LossScaler scaler = new LossScaler(LossScaler.Settings.DEFAULT);
            try (Sgd sgd = new Sgd(w.torch(), data.owned(), 0.25);
                Graph graph = Graph.of(w.torch())) {
              Variable wide = graph.cast(graph.scale(p, 1), DType.F32);
              Variable loss = graph.weightedSum(wide, new double[] {0.5, 0.5});
              data.backward(graph, scaler.scaled(graph, loss));
              data.divideByTokens(1, scaler);
              assertThat(scaler.step(data, sgd, 1)).isTrue();
            }
            w.torch().synchronize();
            if (w.rank() == 0) {
              ends.add(w.torch().simulator().nowPs());
            }
          });
    }
    assertThat(ends.get(0)).isEqualTo(ends.get(1));
  }

  @Test
  void badSettings_areRefused() {
    assertThatThrownBy(() -> new LossScaler.Settings(0.5, 2, 0.5, 10, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("loss scale 0.5");
    assertThatThrownBy(() -> new LearningRate(1e-3, 1e-4, 10, 5, LearningRate.Decay.LINEAR))
        .hasMessageContaining("10 of 5 steps up");
  }

  /** By hand, from the words of each way. */
  @Test
  void learningRates_followTheirWays() {
    LearningRate linear = new LearningRate(1, 0.1, 4, 14, LearningRate.Decay.LINEAR);
    assertThat(linear.of(1)).isEqualTo(0.25);
    assertThat(linear.of(4)).isEqualTo(1);
    assertThat(linear.of(9)).isCloseTo(0.55, within(1e-15));
    assertThat(linear.of(14)).isCloseTo(0.1, within(1e-15));
    assertThat(linear.of(99)).isCloseTo(0.1, within(1e-15));
    LearningRate cosine = new LearningRate(1, 0, 0, 6, LearningRate.Decay.COSINE);
    assertThat(cosine.of(2)).isCloseTo(0.75, within(1e-15)); // (1 + cos 60 degrees) / 2
    assertThat(cosine.of(3)).isCloseTo(0.5, within(1e-15));
    LearningRate root = new LearningRate(1, 0.3, 4, 64, LearningRate.Decay.INVERSE_SQUARE_ROOT);
    assertThat(root.of(16)).isEqualTo(0.5);
    assertThat(root.of(60)).isEqualTo(0.3);
    LearningRate ends = new LearningRate(1, 0.01, 4, 16, LearningRate.Decay.INVERSE_SQUARE_ROOT);
    assertThat(ends.of(16)).isEqualTo(0.5);
    assertThat(ends.of(17)).isEqualTo(0.01); // after the decay, however high the root is
    assertThat(LearningRate.constant(0.2).of(7)).isEqualTo(0.2);
  }

  /** What is taken from a parameter with gradient 1 is each step's rate. */
  @Test
  void optimizer_followsASchedule() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Parameter p = parameter(w, "p", Sharding.REPLICATED, DType.F64);
          try (Sgd sgd = new Sgd(w.torch(), List.of(p), 9)) {
            sgd.follow(new LearningRate(0.5, 0, 2, 4, LearningRate.Decay.LINEAR));
            double[] expected = {0.75, 0.25, 0, 0};
            for (double value : expected) {
              p.zeroGrad();
              try (Graph graph = Graph.of(w.torch())) {
                graph.backward(graph.weightedSum(p, new double[] {1, 1}));
              }
              sgd.step();
              assertThat(p.value().get(0)).isEqualTo(value);
            }
          }
        });
  }

  /** Three good steps in a row double the scale, however often; a bad one begins the row anew. */
  @Test
  void scale_growsAfterEachRowOfGoodSteps_andHalvesDownToTheLeast() {
    LossScaler scaler = new LossScaler(new LossScaler.Settings(8, 2, 0.5, 3, 4));
    List<Double> scales = new ArrayList<>();
    for (char step : "gggggggbggbbbggg".toCharArray()) {
      scaler.update(step == 'g');
      scales.add(scaler.scale());
    }
    assertThat(scales)
        .containsExactly(
            8.0, 8.0, 16.0, 16.0, 16.0, 32.0, 32.0, 16.0, 16.0, 16.0, 8.0, 4.0, 4.0, 4.0, 4.0, 8.0);
    assertThat(scaler.skipped()).isEqualTo(4);
  }
}
