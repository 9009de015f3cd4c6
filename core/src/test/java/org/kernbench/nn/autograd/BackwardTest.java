package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.BridgePlan;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.SpawnException;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Worker;

/** What users of PyTorch expect of a backward pass: sums over passes, shapes, and clear errors. */
final class BackwardTest {
  private static void onOneRank(BiConsumer<Worker, Graph> body) {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          try (Graph graph = Graph.of(w.torch())) {
            body.accept(w, graph);
          }
        });
  }

  private static Tensor tensor(Worker w, Graph g, String name, Shape shape, double... values) {
    return g.own(w.torch().from(values, shape, DType.F64, name));
  }

  private static double[] grad(Variable v) {
    return v.grad().orElseThrow().toDoubles();
  }

  /** d(x^2 + 14 x)/dx at 5 is 10 + 14, whether in one pass or in two; also of what lies between. */
  @Test
  void backward_twice_addsGradientsUp() {
    onOneRank((w, g) -> {
      Variable x = g.input(tensor(w, g, "x", Shape.of(1), 5));
      Variable between = g.scale(x, 1);
      Variable square = g.mul(between, between);
      Variable line = g.scale(between, 14);
      g.backward(square);
      assertThat(grad(x)).containsExactly(10);
      g.backward(line);
      assertThat(grad(x)).containsExactly(24);
      assertThat(grad(between)).containsExactly(24);
      assertThat(grad(square)).containsExactly(1);
    });
  }

  @Test
  void backward_twiceFromOneLoss_doublesGradientsOfParameters() {
    onOneRank((w, g) -> {
      Tensor value = w.torch().from(new double[] {2, 3}, Shape.of(1, 2), DType.F64, "w");
      Parameter p = new Parameter("w", value, Parameter.Sharding.REPLICATED);
      Variable x = g.constant(tensor(w, g, "x", Shape.of(1, 2), 7, 11));
      Variable y = g.linear(x, p);
      g.backward(y);
      assertThat(grad(p)).containsExactly(7, 11);
      g.backward(y);
      assertThat(grad(p)).containsExactly(14, 22);
    });
  }

  /** Each pass tells of the parameter that it completes. */
  @Test
  void backward_twice_tellsOfEachParameterEachTime() {
    onOneRank((w, g) -> {
      Tensor value = w.torch().from(new double[] {2, 3}, Shape.of(2), DType.F64, "w");
      Parameter p = new Parameter("w", value, Parameter.Sharding.REPLICATED);
      Variable sum = g.weightedSum(g.mul(p, p), new double[] {1, 1});
      List<Parameter> told = new java.util.ArrayList<>();
      g.backward(sum, g.one(sum), told::add);
      g.backward(sum, g.one(sum), told::add);
      assertThat(told).containsExactly(p, p);
    });
  }

  @Test
  void valueAndGrad_haveTheVariablesShape() {
    onOneRank((w, g) -> {
      Variable x = g.input(tensor(w, g, "x", Shape.of(6, 4), new double[24]));
      Variable weight = g.input(tensor(w, g, "w", Shape.of(4, 4), new double[16]));
      Variable y = g.linear(g.reshape(x, Shape.of(2, 3, 4)), weight);
      Variable z = g.reshape(g.narrowColumns(y, 0, 4), Shape.of(24));
      g.backward(z, tensor(w, g, "dz", Shape.of(4, 6), new double[24]));
      for (Variable v : List.of(x, weight, y, z)) {
        assertThat(v.value().shape()).isEqualTo(v.shape());
        assertThat(v.grad().orElseThrow().shape()).isEqualTo(v.shape());
      }
      assertThat(y.shape()).isEqualTo(Shape.of(2, 3, 4));
    });
  }

  // ---- errors ----

  private static String messageOf(Runnable body) {
    try {
      body.run();
      return "nothing was thrown";
    } catch (SpawnException e) {
      return String.valueOf(e.failures().values().iterator().next().getMessage());
    }
  }

  @Test
  void crossEntropy_targetBehindTheVocabulary_isAnErrorThatSaysWhere() {
    String message =
        messageOf(() ->
            onOneRank((w, g) -> {
              Variable logits = g.input(tensor(w, g, "logits", Shape.of(2, 3), new double[6]));
              g.crossEntropy(logits, new int[] {2, 3}, w.distributed().newGroup(List.of(0)), 3, 0);
            }));
    assertThat(message)
        .isEqualTo(
            "cross_entropy: target 3 at 1; expected 0 to 2, or a negative number for a token whose"
                + " loss is masked");
  }

  @Test
  void gradientSync_parameterWithoutGradient_isNamed() {
    String message =
        messageOf(() ->
            Ranks.run(
                2,
                Mode.VALUES,
                w -> {
                  ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 2, false);
                  Init init = new Init(w.torch(), DType.F64, 1, 1);
                  Parameter p = init.constant("head.bias", 3, 0, Parameter.Sharding.REPLICATED);
                  new GradientSync(w.torch(), layout).sum(List.of(p));
                }));
    assertThat(message)
        .isEqualTo(
            "parameter head.bias has no gradient to sum; run backward() of a loss that depends on"
                + " it on every rank first, freeze it, or use DataParallel, which takes zeros");
  }

  @Test
  void gatherGroup_rankOutOfTheSpan_isALayoutError() {
    BridgePlan plan =
        new BridgePlan(
            RankGrid.parse("tp=1,dp=2"), RankGrid.parse("tp=2,dp=1"), BridgeOptions.DEFAULT);
    assertThat(plan.gatherGroup(1)).isPresent();
    for (int rank : new int[] {2, -1}) {
      assertThatThrownBy(() -> plan.gatherGroup(rank))
          .isInstanceOf(LayoutException.class)
          .hasMessage("rank " + rank + " is not in grid tp=1,dp=2, which has ranks 0 to 1");
    }
  }

  // ---- infinite and NaN ----

  @Test
  void anomalyDetection_namesTheFirstOperationThatIsNotFinite() {
    String message =
        messageOf(() ->
            onOneRank((w, g) -> {
              g.withAnomalyDetection();
              Variable x = g.input(tensor(w, g, "x", Shape.of(2, 2), 1, 2, 1e200, 3));
              try (Graph.Section section = g.section("layers.0")) {
                g.mul(g.mul(x, x), x);
              }
            }));
    assertThat(message)
        .isEqualTo(
            "the result layers.0.mul [2, 2] is Infinity at [1, 0], though all its operands are"
                + " finite");
  }

  @Test
  void anomalyDetection_operandThatIsNotFinite_isNamedInstead() {
    String message =
        messageOf(() ->
            onOneRank((w, g) -> {
              g.withAnomalyDetection();
              g.scale(g.input(tensor(w, g, "x", Shape.of(3), 1, Double.NaN, 0)), 2);
            }));
    assertThat(message).isEqualTo("operand x of scale [3] is NaN at [1]; expected finite numbers");
  }

  @Test
  void anomalyDetection_backward_namesTheOperationWhoseGradientIsNotFinite() {
    String message =
        messageOf(() ->
            onOneRank((w, g) -> {
              g.withAnomalyDetection();
              Variable x = g.input(tensor(w, g, "x", Shape.of(2), 1e-200, 1e-250));
              Variable y = g.scale(g.scale(x, 1e200), 1e200);
              g.backward(y, tensor(w, g, "dy", Shape.of(2), 1, 1));
            }));
    assertThat(message)
        .isEqualTo(
            "the gradient grad.scale of x [2] is Infinity at [0] and at 1 more, found at grad");
  }

  @Test
  void finite_parameters_namesTheFirstWhoseValueOrGradientIsNot() {
    onOneRank((w, g) -> {
      Init init = new Init(w.torch(), DType.F32, 1, 1);
      Parameter a = init.constant("a", 2, 1, Parameter.Sharding.REPLICATED);
      Parameter b = init.constant("b", 2, 1, Parameter.Sharding.REPLICATED);
      Finite.check(w.torch(), List.of(a, b));
      b.setMainGrad(g.own(w.torch().from(new double[] {0, 1e300}, Shape.of(2), DType.F32, "g")));
      assertThatThrownBy(() -> Finite.check(w.torch(), List.of(a, b)))
          .isInstanceOf(NotFiniteException.class)
          .hasMessageStartingWith("the gradient of b [2] is Infinity at [1]");
      a.value().fillInPlace(Double.NaN);
      assertThatThrownBy(() -> Finite.check(w.torch(), List.of(a, b)))
          .hasMessageStartingWith("the value of a [2] is NaN at [0]");
    });
  }
}
