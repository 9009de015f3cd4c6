package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.layers.ColumnParallelLinear;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.RowParallelLinear;
import org.kernbench.nn.layers.VocabParallelEmbedding;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
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

  // The examples of docs/spec/megatron.md 7, p = 2.

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

  @Test
  void sequenceToHidden_example_andBack() {
    double[][] rows = rows(of(1, 2, 3, 4), of(5, 6, 7, 8));
    double[][] columns = rows(of(1, 3, 5, 7), of(2, 4, 6, 8));
    Outcome there = run(Mapping.SEQUENCE_TO_HIDDEN, Shape.of(2, 2), rows, columns);
    assertThat(there.forward).isEqualTo(columns);
    assertThat(there.backward).isEqualTo(rows);
    Outcome back = run(Mapping.HIDDEN_TO_SEQUENCE, Shape.of(4, 1), columns, rows);
    assertThat(back.forward).isEqualTo(rows);
    assertThat(back.backward).isEqualTo(columns);
  }

  /**
   * The whole table of docs/spec/megatron.md 7, against its words: blocks are joined in rank order,
   * and what is summed is summed over the ranks. Integers, so sums are exact.
   */
  @ParameterizedTest
  @EnumSource(Mapping.class)
  void mapping_forwardAndBackward_areThoseOfTheTable(Mapping mapping) {
    for (int p : new int[] {2, 3}) {
      int rows = 2 * p;
      int columns = 3 * p;
      double[][] x = integers(p, rows * columns, 1);
      Outcome forward = run(mapping, Shape.of(rows, columns), x, new double[0][]);
      Move there = mapping.forward();
      assertThat(forward.forward)
          .as("%s forward, %d ranks", mapping, p)
          .isEqualTo(moved(there, x, rows, columns));
      Shape after = there.after(Shape.of(rows, columns), p);
      double[][] g = integers(p, (int) after.elements(), 2);
      assertThat(run(mapping, Shape.of(rows, columns), x, g).backward)
          .as("%s backward, %d ranks", mapping, p)
          .isEqualTo(moved(mapping.backward(), g, after.dim(0), after.dim(1)));
    }
  }

  private static double[][] integers(int p, int n, int seed) {
    Random random = new Random(seed);
    double[][] values = new double[p][];
    for (int r = 0; r < p; r++) {
      values[r] = random.ints(n, -50, 50).asDoubleStream().toArray();
    }
    return values;
  }

  /** What each rank has after a move, element by element from the words of the table. */
  private static double[][] moved(Move move, double[][] x, int rows, int columns) {
    int p = x.length;
    double[] sum = new double[rows * columns];
    for (double[] of : x) {
      for (int i = 0; i < sum.length; i++) {
        sum[i] += of[i];
      }
    }
    double[][] y = new double[p][];
    for (int r = 0; r < p; r++) {
      int rank = r;
      y[r] =
          switch (move) {
            case KEEP -> x[r].clone();
            case ALL_REDUCE -> sum;
            case SPLIT_FIRST ->
                fill(rows / p, columns, (i, j) -> x[rank][(rank * (rows / p) + i) * columns + j]);
            case REDUCE_SCATTER_FIRST ->
                fill(rows / p, columns, (i, j) -> sum[(rank * (rows / p) + i) * columns + j]);
            case GATHER_FIRST ->
                fill(rows * p, columns, (i, j) -> x[i / rows][i % rows * columns + j]);
            case SPLIT_LAST ->
                fill(rows, columns / p, (i, j) -> x[rank][i * columns + rank * (columns / p) + j]);
            case REDUCE_SCATTER_LAST ->
                fill(rows, columns / p, (i, j) -> sum[i * columns + rank * (columns / p) + j]);
            case GATHER_LAST ->
                fill(rows, columns * p, (i, j) -> x[j / columns][i * columns + j % columns]);
            case ROWS_TO_COLUMNS ->
                fill(
                    rows * p,
                    columns / p,
                    (i, j) -> x[i / rows][i % rows * columns + rank * (columns / p) + j]);
            case COLUMNS_TO_ROWS ->
                fill(
                    rows / p,
                    columns * p,
                    (i, j) -> x[j / columns][(rank * (rows / p) + i) * columns + j % columns]);
          };
    }
    return y;
  }

  private interface At {
    double value(int row, int column);
  }

  private static double[] fill(int rows, int columns, At at) {
    double[] values = new double[rows * columns];
    for (int i = 0; i < values.length; i++) {
      values[i] = at.value(i / columns, i % columns);
    }
    return values;
  }

  /** Ranks with 1, 0 and 3 rows. */
  @Test
  void unevenRows_gatherAndReduceScatter_forwardAndBackward() {
    List<Integer> rows = List.of(1, 0, 3);
    double[][] parts = rows(of(1, 2), of(), of(3, 4, 5, 6, 7, 8));
    double[][] wholes = integers(3, 8, 3);
    double[] sum = new double[8];
    for (double[] w : wholes) {
      for (int i = 0; i < 8; i++) {
        sum[i] += w[i];
      }
    }
    double[] joined = of(1, 2, 3, 4, 5, 6, 7, 8);
    Ranks.run(
        3,
        Mode.VALUES,
        w -> {
          int r = w.rank();
          int from = r == 0 ? 0 : 2;
          double[] ownSum = Arrays.copyOfRange(sum, from, from + parts[r].length);
          ProcessGroup world = w.distributed().world();
          Shape part = Shape.of(rows.get(r), 2);
          try (Graph graph = Graph.of(w.torch())) {
            Variable in = graph.input(tensor(w, graph, parts[r], part, "x"));
            Variable y = graph.map(Mapping.GATHER_FROM_SEQUENCE, in, world, rows);
            assertThat(y.value().toDoubles()).isEqualTo(joined);
            graph.backward(y, tensor(w, graph, wholes[r], Shape.of(4, 2), "dy"));
            assertThat(in.grad().orElseThrow().toDoubles()).isEqualTo(ownSum);
          }
          try (Graph graph = Graph.of(w.torch())) {
            Variable in = graph.input(tensor(w, graph, wholes[r], Shape.of(4, 2), "x"));
            Variable y = graph.map(Mapping.REDUCE_SCATTER_TO_SEQUENCE, in, world, rows);
            assertThat(y.value().toDoubles()).isEqualTo(ownSum);
            graph.backward(y, tensor(w, graph, parts[r], part, "dy"));
            assertThat(in.grad().orElseThrow().toDoubles()).isEqualTo(joined);
            assertThatThrownBy(
                    () -> graph.map(Mapping.GATHER_FROM_SEQUENCE_TO_REPLICATED, in, world, rows))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected GATHER_FROM_SEQUENCE or");
          }
        });
  }

  /** Rank r sends r + j rows to rank j, each row named by sender and receiver. */
  @Test
  void allToAll_unevenSplits_forwardAndBackward() {
    int p = 3;
    Ranks.run(
        p,
        Mode.VALUES,
        w -> {
          int r = w.rank();
          List<Integer> sends = List.of(r, r + 1, r + 2);
          List<Double> x = new ArrayList<>();
          List<Double> expected = new ArrayList<>();
          for (int j = 0; j < p; j++) {
            for (int i = 0; i < r + j; i++) {
              x.add(100.0 * r + 10 * j + i);
              expected.add(100.0 * j + 10 * r + i);
            }
          }
          try (Graph graph = Graph.of(w.torch())) {
            Shape shape = Shape.of(x.size(), 1);
            double[] values = x.stream().mapToDouble(v -> v).toArray();
            Variable in = graph.input(tensor(w, graph, values, shape, "x"));
            Variable y = graph.allToAll(in, w.distributed().world(), sends, sends);
            assertThat(y.value().toDoubles())
                .isEqualTo(expected.stream().mapToDouble(v -> v).toArray());
            graph.backward(y, tensor(w, graph, y.value().toDoubles(), y.shape(), "dy"));
            assertThat(in.grad().orElseThrow().toDoubles()).isEqualTo(values);
          }
        });
  }

  @Test
  void mapping_rankOutsideTheGroup_isRefused() {
    assertThatThrownBy(() ->
            Ranks.run(
                3,
                Mode.VALUES,
                w -> {
                  ProcessGroup two = w.distributed().newGroup(List.of(0, 1));
                  try (Graph graph = Graph.of(w.torch())) {
                    Variable x = graph.input(tensor(w, graph, of(1), Shape.of(1), "x"));
                    graph.map(Mapping.REDUCE_FROM, x, two);
                  }
                }))
        .isInstanceOf(SpawnException.class)
        .hasMessageContaining("rank 2");
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
        .isCloseTo(inner(x, o.backward, inReplicated), within(1e-12));
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

  // Layers, docs/spec/megatron.md 8.6.

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

  // The predecessor's oracles, docs/spec/megatron.md 12.5: matrices of one value, compared whole
  // and exactly
  // in f64, where it allowed 1e-2 of a mean in f16.

  @ParameterizedTest
  @CsvSource({"1", "2", "4", "6"})
  void predecessorsColumnOracle_everyRank(int ranks) {
    Ranks.run(
        ranks,
        Mode.VALUES,
        w -> {
          ColumnParallelLinear layer =
              new ColumnParallelLinear(
                  "column",
                  32,
                  32 * ranks,
                  w.distributed().world(),
                  new Init(w.torch(), DType.F64, 1, 1),
                  ColumnParallelLinear.Options.DEFAULT.withBias(false));
          layer.weight().value().fillInPlace((w.rank() + 1) / 64.0);
          try (Graph graph = Graph.of(w.torch());
              Tensor x = w.torch().full(Shape.of(4, 32), DType.F64, 0.5, "x")) {
            double[] y = layer.forward(graph, graph.constant(x)).value().toDoubles();
            assertThat(y).hasSize(4 * 32).containsOnly(32 * 0.5 * (w.rank() + 1) / 64);
          }
        });
  }

  @ParameterizedTest
  @CsvSource({"1", "2", "4", "6"})
  void predecessorsRowOracle_everyRankHasTheSum(int ranks) {
    Ranks.run(
        ranks,
        Mode.VALUES,
        w -> {
          RowParallelLinear layer =
              new RowParallelLinear(
                  "row",
                  32 * ranks,
                  32,
                  w.distributed().world(),
                  new Init(w.torch(), DType.F64, 1, 1),
                  RowParallelLinear.Options.DEFAULT.withBias(false));
          layer.weight().value().fillInPlace((w.rank() + 1) / 64.0);
          double sum = 0;
          for (int r = 0; r < ranks; r++) {
            sum += 32 * ((r + 1) / 8.0) * ((r + 1) / 64.0);
          }
          try (Graph graph = Graph.of(w.torch());
              Tensor x = w.torch().full(Shape.of(4, 32), DType.F64, (w.rank() + 1) / 8.0, "x")) {
            double[] y = layer.forward(graph, graph.constant(x)).value().toDoubles();
            assertThat(y).hasSize(4 * 32).containsOnly(sum);
          }
        });
  }

  /** With its own constants, 0.01 and 0.1, in f16: within the rounding of f16, not 1e-2. */
  @Test
  void predecessorsOracles_itsConstantsInF16() {
    int ranks = 4;
    Ranks.run(
        ranks,
        Mode.VALUES,
        w -> {
          ProcessGroup world = w.distributed().world();
          Init init = new Init(w.torch(), DType.F16, 1, 1);
          ColumnParallelLinear column =
              new ColumnParallelLinear(
                  "column",
                  32,
                  32 * ranks,
                  world,
                  init,
                  ColumnParallelLinear.Options.DEFAULT.withBias(false));
          RowParallelLinear row =
              new RowParallelLinear(
                  "row",
                  32 * ranks,
                  32,
                  world,
                  init,
                  RowParallelLinear.Options.DEFAULT.withBias(false));
          column.weight().value().fillInPlace(0.01 * (w.rank() + 1));
          row.weight().value().fillInPlace(0.01 * (w.rank() + 1));
          double sum = 0;
          for (int r = 1; r <= ranks; r++) {
            sum += 32 * 0.1 * r * 0.01 * r;
          }
          double ulp = 0x1p-11;
          try (Graph graph = Graph.of(w.torch());
              Tensor x = w.torch().full(Shape.of(4, 32), DType.F16, 0.5, "x");
              Tensor part = w.torch().full(Shape.of(4, 32), DType.F16, 0.1 * (w.rank() + 1), "p")) {
            double columnSum = 32 * 0.5 * 0.01 * (w.rank() + 1);
            for (double y : column.forward(graph, graph.constant(x)).value().toDoubles()) {
              assertThat(y).isCloseTo(columnSum, within(3 * ulp * columnSum));
            }
            for (double y : row.forward(graph, graph.constant(part)).value().toDoubles()) {
              assertThat(y).isCloseTo(sum, within(6 * ulp * sum));
            }
          }
        });
  }

  private static void fill(Parameter p, double[] whole, int start) {
    int n = (int) p.shape().elements();
    p.value().copyInPlace(Arrays.copyOfRange(whole, start, start + n));
  }

  /** The weight of an embedding, used again: both gradients add up in it. */
  @Test
  void columnParallel_weightFromElsewhere_addsItsGradientThere() {
    Ranks.run(
        2,
        Mode.VALUES,
        worker -> {
          ProcessGroup tp = worker.distributed().world();
          Init init = new Init(worker.torch(), DType.F64, 1, 1);
          VocabParallelEmbedding table = new VocabParallelEmbedding("table", 4, 2, tp, init, false);
          fill(table.weight(), worker.rank() == 0 ? of(1, 2, 3, 4) : of(5, 6, 7, 8), 0);
          ColumnParallelLinear head =
              ColumnParallelLinear.withoutWeight(
                  "head", 2, 4, tp, init, ColumnParallelLinear.Options.DEFAULT.withBias(false));
          assertThat(head.parameters()).isEmpty();
          try (Graph graph = Graph.of(worker.torch())) {
            Variable x = table.forward(graph, new int[] {2}, 1, 1); // row [5, 6]
            Variable y = head.apply(graph, x, table.weight(), true).output();
            assertThat(y.value().toDoubles()).containsExactly(17, 39, 61, 83);
            graph.backward(y, tensor(worker, graph, of(1, 0, 0, 2), y.shape(), "dy"));
          }
          // rows of dy^T x, and for id 2 the sum of dy times the rows: 1 [1, 2] + 2 [7, 8]
          assertThat(table.weight().grad().orElseThrow().toDoubles())
              .isEqualTo(worker.rank() == 0 ? of(5, 6, 0, 0) : of(15, 18, 10, 12));
          try (Graph graph = Graph.of(worker.torch())) {
            Variable x = graph.input(tensor(worker, graph, of(1, 2), Shape.of(1, 2), "x"));
            assertThatThrownBy(() -> head.forward(graph, x))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("head has no weight of its own; give it one of [2, 2]");
            assertThatThrownBy(() -> head.apply(graph, x, x, false))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("expected one of [2, 2]");
          }
        });
  }

  // Cross entropy, docs/spec/megatron.md 8.5.

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
      assertThat(got[r][0][0]).isCloseTo(loss, within(1e-9));
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
        assertThat(grads.get(i)).isCloseTo(expected[i], within(1e-6));
      }
    }
  }

  /**
   * Losses and gradients do not depend on how many ranks have the ids, smoothed ones neither, and
   * are those of softmax over all ids in plain Java; a target that nobody has counts as none.
   */
  @ParameterizedTest
  @CsvSource({"1, 0", "1, 0.1", "2, 0", "2, 0.1", "3, 0.3", "6, 0.1"})
  void crossEntropy_anyRanks_isThatOverAllIds(int p, double smoothing) {
    int vocabulary = 12;
    int[] targets = {0, 11, 5, 6, -100};
    int rows = targets.length;
    double[] logits = new Random(8).doubles(rows * vocabulary, -3, 3).toArray();
    double[] dy = {1, -2, 0.5, 3, 1};
    double s = smoothing * vocabulary / (vocabulary - 1);
    double[] losses = new double[rows];
    double[] grads = new double[logits.length];
    for (int i = 0; i < rows; i++) {
      double[] row = Arrays.copyOfRange(logits, i * vocabulary, (i + 1) * vocabulary);
      double most = Arrays.stream(row).max().orElseThrow();
      double sum = Arrays.stream(row).map(x -> Math.exp(x - most)).sum();
      double log = Math.log(sum) + most;
      // without a target, what is left is the logarithm of the sum, from the largest logit
      double nll = log - (targets[i] < 0 ? most : row[targets[i]]);
      losses[i] = (1 - s) * nll + s * (log - Arrays.stream(row).average().orElseThrow());
      for (int j = 0; j < vocabulary; j++) {
        double smoothed = (j == targets[i] ? 1 - s : 0) + s / vocabulary;
        grads[i * vocabulary + j] = (Math.exp(row[j] - log) - smoothed) * dy[i];
      }
    }
    int each = vocabulary / p;
    Ranks.run(
        p,
        Mode.VALUES,
        w -> {
          double[] own = fill(rows, each, (i, j) -> logits[i * vocabulary + w.rank() * each + j]);
          double[] expected =
              fill(rows, each, (i, j) -> grads[i * vocabulary + w.rank() * each + j]);
          try (Graph graph = Graph.of(w.torch())) {
            Variable x = graph.input(tensor(w, graph, own, Shape.of(rows, each), "logits"));
            Variable y =
                graph.crossEntropy(x, targets, w.distributed().world(), vocabulary, smoothing);
            graph.backward(y, tensor(w, graph, dy, y.shape(), "dy"));
            assertThat(y.value().toDoubles()).containsExactly(losses, within(1e-13));
            assertThat(x.grad().orElseThrow().toDoubles()).containsExactly(expected, within(1e-13));
            assertThat(x.value().toDoubles()).as("the logits are not changed").isEqualTo(own);
          }
        });
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

  /** Of four ranks with 1,200 bytes each, what the rings of the operations send; alone nothing. */
  @Test
  void bytes_ofEachMapping_areThoseOfItsOperations() {
    for (Mapping m : Mapping.values()) {
      assertThat(m.forwardBytes(1200, 4)).as("%s forward", m).isEqualTo(sent(m.forward()));
      assertThat(m.backwardBytes(1200, 4)).as("%s backward", m).isEqualTo(sent(m.backward()));
      assertThat(m.forwardBytes(1200, 1) + m.backwardBytes(1200, 1)).isZero();
    }
  }

  private static long sent(Move move) {
    return switch (move) {
      case KEEP, SPLIT_FIRST, SPLIT_LAST -> 0;
      case ALL_REDUCE -> 1800;
      case GATHER_FIRST, GATHER_LAST -> 3600;
      case REDUCE_SCATTER_FIRST, REDUCE_SCATTER_LAST, ROWS_TO_COLUMNS, COLUMNS_TO_ROWS -> 900;
    };
  }
}
