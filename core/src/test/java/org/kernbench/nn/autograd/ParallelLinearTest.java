package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.layers.ColumnParallelLinear;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.RowParallelLinear;
import org.kernbench.nn.optim.Checkpoint;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Worker;

/**
 * Every option of column- and row-parallel layers, against {@code Y = X W^T + b} and its gradients
 * in plain Java.
 */
final class ParallelLinearTest {
  private static final int ROWS = 6;
  private static final int IN = 12;
  private static final int OUT = 18;
  private static final double[] X = random(ROWS * IN, 1);
  private static final double[] W = random(OUT * IN, 2);
  private static final double[] B = random(OUT, 3);
  private static final double[] DY = random(ROWS * OUT, 4);

  private static final double[] XW = product(X, ROWS, IN, transposed(W, OUT, IN), OUT);
  private static final double[] DX = product(DY, ROWS, OUT, W, IN);
  private static final double[] DW = product(transposed(DY, ROWS, OUT), OUT, ROWS, X, IN);

  @TempDir Path folder;

  private static double[] random(int n, int seed) {
    return new Random(seed).doubles(n, -1, 1).toArray();
  }

  private static double[] product(double[] a, int rows, int inner, double[] b, int columns) {
    double[] c = new double[rows * columns];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < columns; j++) {
        for (int k = 0; k < inner; k++) {
          c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
        }
      }
    }
    return c;
  }

  private static double[] transposed(double[] a, int rows, int columns) {
    double[] t = new double[a.length];
    for (int i = 0; i < a.length; i++) {
      t[i % columns * rows + i / columns] = a[i];
    }
    return t;
  }

  private static double[] withBias(double[] y) {
    double[] z = y.clone();
    for (int i = 0; i < z.length; i++) {
      z[i] += B[i % OUT];
    }
    return z;
  }

  private static double[] sumsOfColumns(double[] a, int columns) {
    double[] sums = new double[columns];
    for (int i = 0; i < a.length; i++) {
      sums[i % columns] += a[i];
    }
    return sums;
  }

  /** A rank's block of the columns of a matrix; of one row, its block of a vector. */
  private static double[] columns(double[] a, int width, int rank, int ranks) {
    int each = width / ranks;
    double[] block = new double[a.length / ranks];
    for (int i = 0; i < block.length; i++) {
      block[i] = a[i / each * width + rank * each + i % each];
    }
    return block;
  }

  private static double[] rows(double[] a, int rank, int ranks) {
    return columns(a, a.length, rank, ranks);
  }

  private static void near(double[] got, double[] expected, String what) {
    assertThat(got).as(what).containsExactly(expected, within(1e-13));
  }

  private static double[] gradOf(Variable v) {
    return v.grad().orElseThrow().toDoubles();
  }

  private static void onRanks(int ranks, Consumer<Worker> body) {
    Ranks.run(ranks, Mode.VALUES, body);
  }

  private static Tensor tensor(Worker w, Graph graph, double[] values, int columns) {
    Shape shape = Shape.of(values.length / columns, columns);
    return graph.own(w.torch().from(values, shape, DType.F64, "t"));
  }

  private static ColumnParallelLinear column(Worker w, ColumnParallelLinear.Options options) {
    Init init = new Init(w.torch(), DType.F64, 1, 1);
    ColumnParallelLinear layer =
        new ColumnParallelLinear("column", IN, OUT, w.distributed().world(), init, options);
    int p = w.distributed().getWorldSize();
    layer.weight().value().copyInPlace(rows(W, w.rank(), p));
    layer.parameters().get(1).value().copyInPlace(rows(B, w.rank(), p));
    return layer;
  }

  private static RowParallelLinear row(Worker w, RowParallelLinear.Options options) {
    Init init = new Init(w.torch(), DType.F64, 1, 1);
    RowParallelLinear layer =
        new RowParallelLinear("row", IN, OUT, w.distributed().world(), init, options);
    int p = w.distributed().getWorldSize();
    layer.weight().value().copyInPlace(columns(W, IN, w.rank(), p));
    layer.parameters().get(1).value().copyInPlace(B);
    return layer;
  }

  /** The whole output on every rank, by the option or by the call; its gradient is the same. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 6})
  void column_gatherOutput_isWholeOnEveryRank(int p) {
    onRanks(
        p,
        w -> {
          ColumnParallelLinear.Options options = ColumnParallelLinear.Options.DEFAULT;
          for (boolean byOption : new boolean[] {true, false}) {
            ColumnParallelLinear layer = column(w, options.withGatherOutput(byOption));
            try (Graph graph = Graph.of(w.torch())) {
              Variable x = graph.input(tensor(w, graph, X, IN));
              Variable y =
                  byOption
                      ? layer.forward(graph, x)
                      : layer.apply(graph, x, layer.weight(), true).output();
              near(y.value().toDoubles(), withBias(XW), "output");
              graph.backward(y, tensor(w, graph, DY, OUT));
              near(gradOf(x), DX, "gradient of the input");
            }
            near(gradOf(layer.weight()), rows(DW, w.rank(), p), "gradient of the weight");
            double[] db = rows(sumsOfColumns(DY, OUT), w.rank(), p);
            near(gradOf(layer.parameters().get(1)), db, "gradient of the bias");
          }
        });
  }

  /** The bias comes back and is not in the output, so that somebody else adds it. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void column_skipBiasAdd_givesItBack(int p) {
    onRanks(
        p,
        w -> {
          ColumnParallelLinear layer =
              column(w, ColumnParallelLinear.Options.DEFAULT.withSkipBiasAdd(true));
          try (Graph graph = Graph.of(w.torch())) {
            Variable x = graph.input(tensor(w, graph, X, IN));
            ColumnParallelLinear.Result result = layer.apply(graph, x);
            near(result.output().value().toDoubles(), columns(XW, OUT, w.rank(), p), "output");
            assertThat(result.bias()).containsSame(layer.parameters().get(1));
            Variable y = graph.addBias(result.output(), result.bias().orElseThrow());
            graph.backward(y, tensor(w, graph, columns(DY, OUT, w.rank(), p), OUT / p));
            near(gradOf(x), DX, "gradient of the input");
          }
          double[] db = rows(sumsOfColumns(DY, OUT), w.rank(), p);
          near(gradOf(layer.parameters().get(1)), db, "gradient of the bias");
        });
  }

  /** Each rank has its part of the sum; the caller adds them up. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void column_withoutGradReduce_leavesTheRanksPart(int p) {
    onRanks(
        p,
        w -> {
          ColumnParallelLinear layer =
              column(w, ColumnParallelLinear.Options.DEFAULT.withGradReduce(false));
          double[] dy = columns(DY, OUT, w.rank(), p);
          try (Graph graph = Graph.of(w.torch())) {
            Variable x = graph.input(tensor(w, graph, X, IN));
            graph.backward(layer.forward(graph, x), tensor(w, graph, dy, OUT / p));
            double[] part = product(dy, ROWS, OUT / p, rows(W, w.rank(), p), IN);
            near(gradOf(x), part, "part of the gradient of the input");
          }
        });
  }

  /** Rows of the input are gathered, also for the weight; those of its gradient scattered. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 6})
  void column_sequenceParallel_takesAndGivesTheRanksRows(int p) {
    onRanks(
        p,
        w -> {
          ColumnParallelLinear layer =
              column(w, ColumnParallelLinear.Options.DEFAULT.withSequenceParallel(true));
          try (Graph graph = Graph.of(w.torch())) {
            Variable x = graph.input(tensor(w, graph, rows(X, w.rank(), p), IN));
            Variable y = layer.forward(graph, x);
            near(y.value().toDoubles(), columns(withBias(XW), OUT, w.rank(), p), "output");
            graph.backward(y, tensor(w, graph, columns(DY, OUT, w.rank(), p), OUT / p));
            near(gradOf(x), rows(DX, w.rank(), p), "gradient of the input");
          }
          near(gradOf(layer.weight()), rows(DW, w.rank(), p), "gradient of the weight");
        });
  }

  /** Takes its block of a whole input and gives a whole gradient, or has its block already. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 6})
  void row_inputWholeOrDivided_sameOutput(int p) {
    onRanks(
        p,
        w -> {
          for (boolean divided : new boolean[] {true, false}) {
            RowParallelLinear layer =
                row(w, RowParallelLinear.Options.DEFAULT.withInputIsParallel(divided));
            double[] in = divided ? columns(X, IN, w.rank(), p) : X;
            double[] dx = divided ? columns(DX, IN, w.rank(), p) : DX;
            try (Graph graph = Graph.of(w.torch())) {
              Variable x = graph.input(tensor(w, graph, in, divided ? IN / p : IN));
              Variable y = layer.forward(graph, x);
              near(y.value().toDoubles(), withBias(XW), "output");
              graph.backward(y, tensor(w, graph, DY, OUT));
              near(gradOf(x), dx, "gradient of the input");
            }
            near(gradOf(layer.weight()), columns(DW, IN, w.rank(), p), "gradient of the weight");
            near(gradOf(layer.parameters().get(1)), sumsOfColumns(DY, OUT), "of the bias");
          }
        });
  }

  /** With rows of the output on each rank, the gradient of a bias is that of these rows. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void row_sequenceParallel_skipBiasAdd_biasHasTheGradientOfTheRanksRows(int p) {
    onRanks(
        p,
        w -> {
          RowParallelLinear layer =
              row(
                  w,
                  RowParallelLinear.Options.DEFAULT
                      .withSequenceParallel(true)
                      .withSkipBiasAdd(true));
          double[] dy = rows(DY, w.rank(), p);
          try (Graph graph = Graph.of(w.torch())) {
            Variable x = graph.input(tensor(w, graph, columns(X, IN, w.rank(), p), IN / p));
            ColumnParallelLinear.Result result = layer.apply(graph, x);
            near(result.output().value().toDoubles(), rows(XW, w.rank(), p), "output");
            Variable y = graph.addBias(result.output(), result.bias().orElseThrow());
            graph.backward(y, tensor(w, graph, dy, OUT));
            near(gradOf(x), columns(DX, IN, w.rank(), p), "gradient of the input");
          }
          Parameter bias = layer.parameters().get(1);
          near(gradOf(bias), sumsOfColumns(dy, OUT), "gradient of the bias");
          assertThat(bias.sharding().sequenceParallel()).isEqualTo(p > 1);
        });
  }

  /** Gate and up in one layer: each is cut by itself, and a file has them one after the other. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 6})
  void column_stride_cutsEachProjectionByItself_alsoInFiles(int p) {
    Path file = folder.resolve("fused.safetensors");
    double[][] whole = new double[2][];
    onRanks(
        1,
        w -> {
          List<Parameter> parameters = fused(w, 36, 1).parameters();
          for (int i = 0; i < 2; i++) {
            whole[i] = parameters.get(i).value().toDoubles();
          }
        });
    onRanks(
        p,
        w -> {
          ColumnParallelLinear layer = fused(w, 36, 1);
          assertFused(layer, whole, w.rank(), p);
          checkpoint(w, p).with(layer).save(file);
        });
    onRanks(
        2,
        w -> {
          ColumnParallelLinear layer = fused(w, 36, 9);
          checkpoint(w, 2).with(layer).load(file);
          assertFused(layer, whole, w.rank(), 2);
        });
    onRanks(
        4,
        w ->
            assertThatThrownBy(() -> fused(w, 36, 1))
                .hasMessageContaining("36 output features of 2 projections")
                .hasMessageContaining("expected a multiple of 8"));
  }

  private static ColumnParallelLinear fused(Worker w, int out, long seed) {
    Init init = new Init(w.torch(), DType.F64, seed, 1).withSpread();
    ColumnParallelLinear.Options options = ColumnParallelLinear.Options.DEFAULT.withStride(2);
    return new ColumnParallelLinear("fused", IN, out, w.distributed().world(), init, options);
  }

  private static Checkpoint checkpoint(Worker w, int p) {
    return new Checkpoint(w.torch(), ParallelLayout.create(w.distributed(), p, 1, 1, false));
  }

  private static void assertFused(
      ColumnParallelLinear layer, double[][] whole, int rank, int ranks) {
    for (int i = 0; i < 2; i++) {
      double[] gate = Arrays.copyOf(whole[i], whole[i].length / 2);
      double[] up = Arrays.copyOfRange(whole[i], whole[i].length / 2, whole[i].length);
      double[] expected =
          DoubleStream.concat(
                  Arrays.stream(rows(gate, rank, ranks)), Arrays.stream(rows(up, rank, ranks)))
              .toArray();
      assertThat(layer.parameters().get(i).value().toDoubles()).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {5, 7})
  void features_notDivisible_areRefused(int p) {
    onRanks(
        p,
        w -> {
          Init init = new Init(w.torch(), DType.F64, 1, 1);
          var world = w.distributed().world();
          assertThatThrownBy(() ->
                  new ColumnParallelLinear(
                      "c", IN, OUT, world, init, ColumnParallelLinear.Options.DEFAULT))
              .hasMessageContaining("expected a multiple of " + p);
          assertThatThrownBy(() ->
                  new RowParallelLinear(
                      "r", IN, OUT, world, init, RowParallelLinear.Options.DEFAULT))
              .hasMessageContaining("expected a multiple of " + p);
          assertThatThrownBy(() ->
                  RowParallelLinear.Options.DEFAULT
                      .withInputIsParallel(false)
                      .withSequenceParallel(true))
              .isInstanceOf(IllegalStateException.class)
              .hasMessageContaining("needs inputIsParallel");
        });
  }
}
