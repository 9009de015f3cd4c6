package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.TrainingRun.How;
import org.kernbench.nn.autograd.TrainingRun.Result;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.TrainingRun.Training;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.optim.Sgd;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;

/** Buckets and a divided optimizer give what parameter after parameter gives. */
final class DataParallelTest {
  private static final TransformerConfig SMALL =
      new TransformerConfig("small", 12, 1, 6, 6, 2, 12, 12, 12, TransformerConfig.Style.GPT);

  private static final Map<Setup, Result> PLAIN = new ConcurrentHashMap<>();

  private static Setup setup(int tp, int cp, int dp, boolean sp, Training training) {
    return new Setup(SMALL, 12, 4, 2, training, tp, cp, dp, sp, How.PLAIN, Recipe.STANDARD);
  }

  private static DataParallel.Options options(long bytes, boolean overlap, boolean divided) {
    return new DataParallel.Options(bytes, overlap, Zero.NONE).withDistributedOptimizer(divided);
  }

  private static void assertSameBits(Map<String, double[]> got, Map<String, double[]> expected) {
    assertThat(got.keySet()).isEqualTo(expected.keySet());
    expected.forEach((name, values) -> assertThat(got.get(name)).as(name).isEqualTo(values));
  }

  /**
   * Parameters after a step, without the biases of keys: softmax takes no notice of them, so their
   * gradients are rounding and no more, which Adam makes steps of any size from.
   */
  private static Map<String, double[]> determined(Result result) {
    Map<String, double[]> all = new TreeMap<>(result.parameters());
    for (String bias : List.of("layers.0.attention.key.bias", "layers.1.attention.key.bias")) {
      if (all.remove(bias) != null) {
        double most = Arrays.stream(result.grads().get(bias)).map(Math::abs).max().orElseThrow();
        assertThat(most).as(bias).isLessThan(1e-15);
      }
    }
    assertThat(all).hasSizeLessThan(result.parameters().size());
    return all;
  }

  /** Two addends have one sum, in whatever order. */
  @ParameterizedTest
  @CsvSource({
    "1000000, true, false",
    "1000000, false, false",
    "200, true, false",
    "1000000, true, true",
    "200, true, true",
    "1500, false, true",
  })
  void twoDataParallelRanks_anyOptions_sameBitsAsThePlainWay(
      long bytes, boolean overlap, boolean divided) {
    Setup setup = setup(2, 1, 2, true, Training.ADAM);
    Result plain = PLAIN.computeIfAbsent(setup, TrainingRun::of);
    Result got = TrainingRun.of(setup.with(How.of(options(bytes, overlap, divided))));
    assertThat(got.unequal()).isEmpty();
    assertThat(got.losses()[0]).isEqualTo(plain.losses()[0]);
    if (divided) { // the norm is added up in another order, and what follows is from it
      for (int step = 1; step < plain.losses().length; step++) {
        assertThat(got.losses()[step]).isCloseTo(plain.losses()[step], withinPercentage(1e-12));
      }
      assertThat(TrainingRun.worst(got.grads(), plain.grads())).isLessThan(1e-12);
      assertThat(TrainingRun.worst(determined(got), determined(plain))).isLessThan(1e-12);
    } else {
      assertThat(got.losses()).isEqualTo(plain.losses());
      assertSameBits(got.grads(), plain.grads());
      assertSameBits(got.parameters(), plain.parameters());
    }
  }

  /** Parts that no number of elements divides evenly. */
  @ParameterizedTest
  @CsvSource({"3, 1, 2, false", "1, 2, 2, true", "1, 3, 2, true"})
  void moreRanks_dividedOptimizer_equalsThePlainWay(int tp, int cp, int dp, boolean overlap) {
    Setup setup = setup(tp, cp, dp, true, Training.SGD);
    Result plain = TrainingRun.of(setup);
    Result got = TrainingRun.of(setup.with(How.of(options(700, overlap, true))));
    assertThat(got.unequal()).isEmpty();
    assertThat(TrainingRun.worst(got.grads(), plain.grads())).isLessThan(1e-12);
    assertThat(TrainingRun.worst(got.parameters(), plain.parameters())).isLessThan(1e-12);
  }

  private record Pass(List<CollectiveRun> runs, long firstSumPs, long endPs) {}

  /** A chain of linear layers on two ranks, backwards. */
  private static Pass chain(boolean overlap) {
    long[] end = new long[1];
    List<CollectiveRun> runs =
        Ranks.run(
            2,
            Mode.TIME,
            w -> {
              ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 2, false);
              Init init = new Init(w.torch(), DType.F32, 1, 1);
              List<Parameter> weights = new ArrayList<>();
              for (int i = 0; i < 6; i++) {
                weights.add(
                    init.normal(
                        "w" + i, Shape.of(128, 128), Parameter.Sharding.REPLICATED, layout.tp()));
              }
              DataParallel data =
                  new DataParallel(w.torch(), layout, weights, options(1, overlap, false));
              try (Graph graph = Graph.of(w.torch())) {
                Variable x = graph.input(w.torch().empty(Shape.of(512, 128), DType.F32, "x"));
                for (Parameter p : weights) {
                  x = graph.linear(x, p);
                }
                data.backward(graph, graph.weightedSum(x, new double[512 * 128]));
              }
              w.torch().synchronize();
              end[0] = w.torch().simulator().nowPs();
            });
    return new Pass(runs, runs.getFirst().startPs(), end[0]);
  }

  @Test
  void overlap_bucketsAreSummedBesideTheBackwardPass_soLessIsExposed() {
    Pass beside = chain(true);
    Pass after = chain(false);
    assertThat(beside.runs).hasSize(6).hasSameSizeAs(after.runs);
    assertThat(exposedPs(after))
        .isEqualTo(after.runs.stream().mapToLong(r -> r.durationPs()).sum());
    assertThat(exposedPs(beside)).isLessThan(exposedPs(after) / 2);
    assertThat(beside.endPs).isLessThan(after.endPs);
    assertThat(beside.firstSumPs).isLessThan(after.firstSumPs);
  }

  /**
   * In every step, the sum of the last layer's weight, whose gradient is put off beside a
   * collective, comes before the backward pass reaches the first layer.
   */
  @Test
  void overlap_tensorParallelLayersAndSeveralSteps_firstBucketComesBeforeTheLastCollective() {
    Setup setup = setup(2, 1, 2, true, Training.SGD);
    List<CollectiveRun> runs =
        Ranks.run(
            4,
            Mode.TIME,
            w -> {
              ParallelLayout layout = setup.layout(w);
              Transformer model =
                  new Transformer(SMALL, layout, new Init(w.torch(), DType.F32, 1, 0.2));
              DataParallel data =
                  new DataParallel(w.torch(), layout, model.parameters(), options(1, true, false));
              for (int step = 0; step < 2; step++) {
                data.zeroGrad();
                try (Graph graph = Graph.of(w.torch())) {
                  data.backward(graph, setup.batch(layout).loss(graph, model));
                }
              }
            });
    List<String> names = runs.stream().map(CollectiveRun::result).toList();
    int end = names.lastIndexOf("embedding.scattered"); // the second step begins
    for (List<String> step : List.of(names.subList(0, end), names.subList(end, names.size()))) {
      assertThat(step.indexOf("gradients.0"))
          .isBetween(0, step.lastIndexOf("embedding.grad.gathered") - 1);
    }
  }

  private static long exposedPs(Pass pass) {
    return pass.runs.stream().mapToLong(CollectiveRun::exposedPs).sum();
  }

  /** A parameter that the loss does not depend on counts as gradient 0, on all ranks alike. */
  @Test
  void unusedParameter_isSummedAsZero() {
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 2, false);
          List<Parameter> two = twoParameters(w);
          DataParallel data = new DataParallel(w.torch(), layout, two, options(1, true, false));
          for (int step = 0; step < 2; step++) {
            data.zeroGrad();
            try (Graph graph = Graph.of(w.torch())) {
              // the first step leaves gradients behind that the second must not see
              Parameter used = two.get(step);
              data.backward(graph, graph.weightedSum(graph.mul(used, used), new double[] {1, 1}));
            }
            assertThat(two.get(step).grad().orElseThrow().toDoubles()).containsExactly(4, 8);
            assertThat(two.get(1 - step).grad().orElseThrow().toDoubles()).containsExactly(0, 0);
          }
        });
  }

  private static List<Parameter> twoParameters(Worker w) {
    List<Parameter> two = new ArrayList<>();
    for (String name : List.of("a", "b")) {
      two.add(
          new Parameter(
              name,
              w.torch().from(new double[] {1, 2}, Shape.of(2), DType.F64, name),
              Parameter.Sharding.REPLICATED));
    }
    return two;
  }

  /** Gradients of several microbatches add up before the sum over the ranks. */
  @Test
  void microbatches_areSummedOnceAfterTheLast() {
    List<CollectiveRun> runs =
        Ranks.run(
            2,
            Mode.VALUES,
            w -> {
              ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 2, false);
              List<Parameter> two = twoParameters(w);
              DataParallel data =
                  new DataParallel(w.torch(), layout, two, options(1 << 20, true, false));
              data.zeroGrad();
              for (int micro = 0; micro < 3; micro++) {
                try (Graph graph = Graph.of(w.torch())) {
                  double[] weights = {micro + 1, w.rank() + 1};
                  Variable loss = graph.weightedSum(graph.add(two.get(0), two.get(1)), weights);
                  if (micro < 2) {
                    graph.backward(loss);
                  } else {
                    data.backward(graph, loss);
                  }
                }
              }
              assertThat(two.get(0).grad().orElseThrow().toDoubles()).containsExactly(12, 9);
              assertThat(two.get(1).grad().orElseThrow().toDoubles()).containsExactly(12, 9);
            });
    assertThat(runs).hasSize(1);
  }

  @Test
  void dividedOptimizer_scattersGradientsAndGathersWeights_inBuckets() {
    List<CollectiveRun> runs =
        Ranks.run(
            2,
            Mode.VALUES,
            w -> {
              ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 2, false);
              List<Parameter> two = twoParameters(w);
              DataParallel data =
                  new DataParallel(w.torch(), layout, two, options(1 << 20, true, true));
              try (Optimizer sgd = new Sgd(w.torch(), data.owned(), 0.25);
                  Graph graph = Graph.of(w.torch())) {
                assertThat(data.owned()).hasSize(1); // of two, each rank has one
                data.zeroGrad();
                Variable loss = graph.weightedSum(graph.add(two.get(0), two.get(1)), of(1, 2));
                data.backward(graph, loss);
                sgd.step();
                data.gather();
              }
              for (Parameter p : two) {
                assertThat(p.value().toDoubles()).containsExactly(1 - 0.5, 2 - 1);
              }
            });
    assertThat(runs)
        .extracting(CollectiveRun::op)
        .containsExactly(CollectiveOp.REDUCE_SCATTER, CollectiveOp.ALL_GATHER);
  }

  private static double[] of(double... values) {
    return values;
  }

  @Test
  void backward_twiceInAStep_isRefused() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 1, false);
          List<Parameter> two = twoParameters(w);
          DataParallel data = new DataParallel(w.torch(), layout, two, DataParallel.DEFAULT);
          try (Graph graph = Graph.of(w.torch())) {
            Variable loss = graph.weightedSum(two.get(0), of(1, 1));
            data.backward(graph, loss);
            assertThatThrownBy(() -> data.backward(graph, loss))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("call zeroGrad() first");
          }
        });
  }
}
