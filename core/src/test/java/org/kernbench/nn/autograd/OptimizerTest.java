package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.optim.Sgd;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Torch;

/** Optimizers and gradient norms by their formulas. */
final class OptimizerTest {
  private static Parameter parameter(Torch torch, DType type, double[] value, double[] grad) {
    Shape shape = Shape.of(1, value.length);
    Parameter p = new Parameter("w", torch.from(value, shape, type, "w"), Sharding.REPLICATED);
    p.setMainGrad(torch.from(grad, shape, p.gradType(), "g"));
    return p;
  }

  /** The example of docs/spec/megatron.md 10.4. */
  @Test
  void adamW_firstStep_example() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Parameter p = parameter(w.torch(), DType.F64, new double[] {.5}, new double[] {.2});
          new AdamW(w.torch(), List.of(p), AdamW.Settings.of(1e-4)).step();
          assertThat(p.value().toDoubles()[0]).isCloseTo(0.499899500005, within(1e-14));
        });
  }

  /** Against the recurrence in plain Java, with a gradient that changes. */
  @Test
  void adamW_manySteps_equalTheRecurrence() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Parameter p = parameter(w.torch(), DType.F64, new double[] {.5}, new double[] {.2});
          double value = .5;
          double m = 0;
          double v = 0;
          try (Optimizer adam = new AdamW(w.torch(), List.of(p), AdamW.Settings.of(1e-2))) {
            for (int step = 1; step <= 5; step++) {
              double g = .2 - .15 * step;
              p.grad().orElseThrow().fillInPlace(g);
              adam.step();
              m = .9 * m + (1 - .9) * g;
              v = .999 * v + (1 - .999) * g * g;
              double mean = m / (1 - Math.pow(.9, step));
              double square = v / (1 - Math.pow(.999, step));
              value -= 1e-2 * (mean / (Math.sqrt(square) + 1e-8) + .01 * value);
            }
          }
          assertThat(p.value().toDoubles()[0]).isCloseTo(value, within(1e-13));
        });
  }

  /** Biases and norms move by their gradient alone, matrices towards zero as well. */
  @Test
  void adamW_gradientZero_onlyMatricesDecay() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Parameter matrix = parameter(w.torch(), DType.F64, new double[] {.5}, new double[] {0});
          Parameter vector =
              new Parameter(
                  "b",
                  w.torch().from(new double[] {.5}, Shape.of(1), DType.F64, "b"),
                  Sharding.REPLICATED);
          vector.setMainGrad(w.torch().from(new double[] {0}, Shape.of(1), DType.F64, "g"));
          new AdamW(w.torch(), List.of(matrix, vector), AdamW.Settings.of(.1)).step();
          assertThat(matrix.value().toDoubles()[0]).isCloseTo(.5 - .1 * .01 * .5, within(1e-15));
          assertThat(vector.value().toDoubles()).containsExactly(.5);
        });
  }

  /** A schedule: each step has the rate that holds when it is taken. */
  @Test
  void changeRate_nextStepsHaveIt() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Parameter p = parameter(w.torch(), DType.F64, new double[] {8}, new double[] {1});
          Parameter q = parameter(w.torch(), DType.F64, new double[] {8}, new double[] {1});
          AdamW.Settings plain = new AdamW.Settings(.5, 0, 0, 0, 0);
          try (Optimizer sgd = new Sgd(w.torch(), List.of(p), .5);
              Optimizer adam = new AdamW(w.torch(), List.of(q), plain)) {
            for (Optimizer o : List.of(sgd, adam)) {
              o.step();
              o.changeRate(.25);
              o.step();
              o.changeRate(0);
              o.step();
              assertThat(o.rate()).isZero();
              assertThatThrownBy(() -> o.changeRate(Double.NaN))
                  .isInstanceOf(IllegalArgumentException.class)
                  .hasMessageContaining("learning rate NaN");
            }
          }
          assertThat(p.value().toDoubles()).containsExactly(8 - .5 - .25);
          assertThat(q.value().toDoubles()).containsExactly(8 - .5 - .25);
        });
  }

  /** Steps below the resolution of bf16 add up in the f32 master copy. */
  @Test
  void sgd_shortType_keepsAnF32Master() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Parameter p = parameter(w.torch(), DType.BF16, new double[] {1}, new double[] {1});
          try (Optimizer sgd = new Sgd(w.torch(), List.of(p), 0x1p-10)) {
            for (int i = 0; i < 64; i++) {
              sgd.step();
            }
          }
          assertThat(p.value().toDoubles()[0]).isEqualTo(1 - 64 * 0x1p-10);
        });
  }

  /** A norm of 5 from two parameters of norms 3 and 4, on one rank. */
  @Test
  void clip_normAboveTheLimit_shrinksAllByOneFactor() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Parameter a = parameter(w.torch(), DType.F64, new double[] {0}, new double[] {3});
          Parameter b = parameter(w.torch(), DType.F64, new double[] {0}, new double[] {-4});
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 1, false);
          GradientSync sync = new GradientSync(w.torch(), layout);
          sync.clip(List.of(a, b), 10);
          assertThat(a.grad().orElseThrow().toDoubles()).containsExactly(3);
          sync.clip(List.of(a, b), 1);
          assertThat(a.grad().orElseThrow().toDoubles()[0])
              .isCloseTo(3 / (5 + 1e-6), within(1e-12));
          assertThat(b.grad().orElseThrow().toDoubles()[0])
              .isCloseTo(-4 / (5 + 1e-6), within(1e-12));
        });
  }

  @Test
  void frozenParameter_isNeitherDifferentiatedNorChanged() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Parameter p = parameter(w.torch(), DType.F64, new double[] {.5}, new double[] {.2});
          p.freeze(true);
          p.zeroGrad();
          try (Graph graph = Graph.of(w.torch());
              Optimizer sgd = new Sgd(w.torch(), List.of(p), 1)) {
            Variable x =
                graph.input(w.torch().from(new double[] {2}, Shape.of(1, 1), DType.F64, "x"));
            graph.backward(graph.mul(x, p));
            sgd.step();
            assertThat(x.grad().orElseThrow().toDoubles()).containsExactly(.5);
          }
          assertThat(p.grad()).isEmpty();
          assertThat(p.value().toDoubles()).containsExactly(.5);
        });
  }
}
