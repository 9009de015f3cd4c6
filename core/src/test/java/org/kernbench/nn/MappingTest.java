package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.SpawnException;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Worker;

/** The table of region mappings: its examples, and that each backward move is the adjoint. */
final class MappingTest {
  /** What each rank gets from a mapping, and what its input's gradient is. */
  private record Outcome(double[][] forward, double[][] backward) {}

  private static Outcome run(Mapping mapping, Shape shape, double[][] x, double[][] grads) {
    int ranks = x.length;
    double[][] forward = new double[ranks][];
    double[][] backward = new double[ranks][];
    Ranks.run(
        ranks,
        Mode.VALUES,
        w -> {
          try (Graph graph = Graph.of(w.torch())) {
            int r = w.rank();
            Variable in = graph.input(tensor(w, graph, x[r], shape, "x"));
            Variable y = graph.map(mapping, in, w.distributed().world());
            forward[r] = y.value().toDoubles();
            if (grads.length > 0) {
              graph.backward(y, tensor(w, graph, grads[r], y.shape(), "dy"));
              backward[r] = in.grad().orElseThrow().toDoubles();
              assertThat(in.value().toDoubles()).as("the input is not changed").isEqualTo(x[r]);
            }
          }
        });
    return new Outcome(forward, backward);
  }

  private static Tensor tensor(Worker w, Graph graph, double[] values, Shape shape, String name) {
    return graph.own(w.torch().from(values, shape, DType.F64, name));
  }

  private static double[][] rows(double[]... rows) {
    return rows;
  }

  private static double[] of(double... values) {
    return values;
  }

  // The examples of megatron.md 7, p = 2.

  @Test
  void copyTo_gradients3And4_sumTo7() {
    Outcome o = run(Mapping.COPY_TO, Shape.of(1), rows(of(1), of(1)), rows(of(3), of(4)));
    assertThat(o.backward).isEqualTo(rows(of(7), of(7)));
  }

  @Test
  void scatterTo_example() {
    Outcome o =
        run(
            Mapping.SCATTER_TO,
            Shape.of(1, 4),
            rows(of(1, 2, 3, 4), of(1, 2, 3, 4)),
            rows(of(5, 6), of(7, 8)));
    assertThat(o.forward).isEqualTo(rows(of(1, 2), of(3, 4)));
    assertThat(o.backward).isEqualTo(rows(of(5, 6, 7, 8), of(5, 6, 7, 8)));
  }

  @Test
  void reduceScatterToSequence_example() {
    Outcome o =
        run(
            Mapping.REDUCE_SCATTER_TO_SEQUENCE,
            Shape.of(4),
            rows(of(1, 2, 3, 4), of(10, 20, 30, 40)),
            new double[0][]);
    assertThat(o.forward).isEqualTo(rows(of(11, 22), of(33, 44)));
  }

  @Test
  void gatherFromSequence_example() {
    double[][] x = rows(of(0, 0), of(0, 0));
    double[][] grads = rows(of(1, 2, 3, 4), of(1, 1, 1, 1));
    assertThat(run(Mapping.GATHER_FROM_SEQUENCE, Shape.of(2), x, grads).backward)
        .isEqualTo(rows(of(2, 3), of(4, 5)));
    assertThat(run(Mapping.GATHER_FROM_SEQUENCE_TO_REPLICATED, Shape.of(2), x, grads).backward)
        .isEqualTo(rows(of(1, 2), of(1, 1)));
  }

  /**
   * The sum over the ranks of {@code <forward(x), g>} is that of {@code <x, backward(g)>}: for a
   * mapping into or out of what all ranks do alike, with replicated values counted once.
   */
  @ParameterizedTest
  @EnumSource(Mapping.class)
  void mapping_backward_isTheAdjointOfForward(Mapping mapping) {
    int p = 3;
    Shape shape = Shape.of(6, 3);
    Random random = new Random(4);
    boolean inReplicated =
        switch (mapping) {
          case COPY_TO, SCATTER_TO, SCATTER_TO_SEQUENCE -> true;
          default -> false;
        };
    boolean outReplicated =
        switch (mapping) {
          case REDUCE_FROM, GATHER_FROM, GATHER_FROM_SEQUENCE_TO_REPLICATED -> true;
          default -> false;
        };
    double[][] x = values(random, p, 18, inReplicated);
    int outSize = run(mapping, shape, x, new double[0][]).forward[0].length;
    double[][] g = values(random, p, outSize, outReplicated);
    Outcome o = run(mapping, shape, x, g);
    assertThat(inner(o.forward, g, outReplicated))
        .isCloseTo(
            inner(x, o.backward, inReplicated), org.assertj.core.api.Assertions.within(1e-12));
  }

  private static double[][] values(Random random, int p, int n, boolean replicated) {
    double[][] values = new double[p][];
    for (int r = 0; r < p; r++) {
      values[r] = replicated && r > 0 ? values[0] : random.doubles(n, -1, 1).toArray();
    }
    return values;
  }

  private static double inner(double[][] a, double[][] b, boolean once) {
    double sum = 0;
    for (int r = 0; r < (once ? 1 : a.length); r++) {
      for (int i = 0; i < a[r].length; i++) {
        sum += a[r][i] * b[r][i];
      }
    }
    return sum;
  }

  @Test
  void mapping_axisNotDivisible_isRefusedWithTheAxis() {
    assertThatThrownBy(
            () -> run(Mapping.SCATTER_TO, Shape.of(2, 3), new double[2][6], new double[0][]))
        .isInstanceOf(SpawnException.class)
        .hasMessageContaining("axis 1 has 3 elements, which is not divisible by 2");
  }

  // Layers, megatron.md 8.6.

  private static final double[] X = {1, 2, 0, -1, 3, 1};

  @Test
  void columnParallel_example() {
    double[] w = {1, 0, 2, 1, -1, 3, 0, 2};
    double[] b = {.5, -.5, 1, 2};
    double[][] dy = rows(of(1, 0, 2, 1, 0, 1), of(1, 1, 0, 2, -1, 0));
    double[][][] got = new double[2][][];
    Ranks.run(
        2,
        Mode.VALUES,
        worker -> {
          int r = worker.rank();
          Init init = new Init(worker.torch(), DType.F64, 1, 1);
          ColumnParallelLinear layer =
              new ColumnParallelLinear(
                  "layer",
                  2,
                  4,
                  worker.distributed().world(),
                  init,
                  ColumnParallelLinear.Options.DEFAULT);
          fill(layer.parameters().get(0), w, r * 4);
          fill(layer.parameters().get(1), b, r * 2);
          try (Graph graph = Graph.of(worker.torch())) {
            Variable x = graph.input(tensor(worker, graph, X, Shape.of(3, 2), "x"));
            Variable y = layer.forward(graph, x);
            graph.backward(y, tensor(worker, graph, dy[r], y.shape(), "dy"));
            got[r] =
                rows(
                    y.value().toDoubles(),
                    x.grad().orElseThrow().toDoubles(),
                    layer.parameters().get(0).grad().orElseThrow().toDoubles(),
                    layer.parameters().get(1).grad().orElseThrow().toDoubles());
          }
        });
    assertThat(got[0])
        .isEqualTo(
            rows(
                of(1.5, 3.5, .5, -1.5, 3.5, 6.5), of(0, 5, 4, 5, 3, -2), of(1, 0, 3, 0), of(3, 2)));
    assertThat(got[1])
        .isEqualTo(rows(of(6, 6, -2, 0, 1, 4), of(0, 5, 4, 5, 3, -2), of(-2, 1, 1, 0), of(0, 3)));
  }

  @Test
  void rowParallel_example() {
    double[][] x = rows(of(1, 2, 0, 1), of(3, 4, -1, 2));
    double[][] w = rows(of(1, 2, 0, 1), of(0, -1, 1, 3));
    double[][][] got = new double[2][][];
    Ranks.run(
        2,
        Mode.VALUES,
        worker -> {
          int r = worker.rank();
          Init init = new Init(worker.torch(), DType.F64, 1, 1);
          RowParallelLinear layer =
              new RowParallelLinear(
                  "layer",
                  4,
                  2,
                  worker.distributed().world(),
                  init,
                  RowParallelLinear.Options.DEFAULT);
          fill(layer.parameters().get(0), w[r], 0);
          fill(layer.parameters().get(1), of(10, 20), 0);
          try (Graph graph = Graph.of(worker.torch())) {
            Variable in = graph.input(tensor(worker, graph, x[r], Shape.of(2, 2), "x"));
            Variable y = layer.forward(graph, in);
            graph.backward(y, tensor(worker, graph, of(1, -1, 2, 0), y.shape(), "dy"));
            got[r] =
                rows(
                    y.value().toDoubles(),
                    in.grad().orElseThrow().toDoubles(),
                    layer.parameters().get(0).grad().orElseThrow().toDoubles(),
                    layer.parameters().get(1).grad().orElseThrow().toDoubles());
          }
        });
    assertThat(got[0])
        .isEqualTo(rows(of(11, 37, 10, 26), of(1, 1, 2, 4), of(1, 4, -1, -2), of(3, -1)));
    assertThat(got[1])
        .isEqualTo(rows(of(11, 37, 10, 26), of(-1, -4, 0, -2), of(1, 8, -3, -4), of(3, -1)));
  }

  private static void fill(Parameter p, double[] whole, int start) {
    int n = (int) p.shape().elements();
    p.value().copyInPlace(java.util.Arrays.copyOfRange(whole, start, start + n));
  }

  // Cross entropy, megatron.md 8.5.

  @ParameterizedTest
  @CsvSource({
    "3, 0, 0.647871134",
    "4, 0, 2.147871134",
    "-100, 0, 0.647871134",
    "3, 0.1, 0.837871134",
  })
  void crossEntropy_example(int target, double smoothing, double loss) {
    double[][] logits = rows(of(0, 1, -1), of(2, .5, 0));
    double[][][] got = new double[2][][];
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          try (Graph graph = Graph.of(w.torch())) {
            Variable x = graph.input(tensor(w, graph, logits[w.rank()], Shape.of(1, 3), "logits"));
            Variable y =
                graph.crossEntropy(x, new int[] {target}, w.distributed().world(), 6, smoothing);
            graph.backward(y, tensor(w, graph, of(1), y.shape(), "one"));
            got[w.rank()] = rows(y.value().toDoubles(), x.grad().orElseThrow().toDoubles());
          }
        });
    for (int r = 0; r < 2; r++) {
      assertThat(got[r][0][0]).isCloseTo(loss, org.assertj.core.api.Assertions.within(1e-9));
    }
    if (target == 3 && smoothing == 0) {
      double[] expected = {.070802, .192459, .026047, -.476842, .116732, .070802};
      List<Double> grads = new ArrayList<>();
      for (double[][] g : got) {
        for (double v : g[1]) {
          grads.add(v);
        }
      }
      for (int i = 0; i < 6; i++) {
        assertThat(grads.get(i))
            .isCloseTo(expected[i], org.assertj.core.api.Assertions.within(1e-6));
      }
    }
  }

  @Test
  void crossEntropy_gradients() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          GradCheck.check(
              (g, x) ->
                  g.crossEntropy(x.get(0), new int[] {2, 0, 4}, w.distributed().world(), 5, 0.1),
              w.torch(),
              Shape.of(3, 5));
        });
  }
}
