package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.placements.DeviceMesh;
import org.kernbench.nn.placements.DistributedTensor;
import org.kernbench.nn.placements.OperationPlan;
import org.kernbench.nn.placements.PlacedGraph;
import org.kernbench.nn.placements.Placement;
import org.kernbench.nn.placements.Placement.Partial;
import org.kernbench.nn.placements.Placement.Replicate;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.nn.placements.Redistribution;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Gradients of every operation on operands, and of gradients, that lie in every way, against
 * differences of plain loops over the whole; what is sent, forwards and backwards, is what was
 * planned. With extents that ranks cut unevenly, and ranks that have nothing.
 */
class PlacedGraphTest {
  private static final RankGrid LINE = RankGrid.parse("tp=3");
  private static final RankGrid GRID = RankGrid.parse("tp=2,dp=2");
  private static final double STEP = 1e-5;

  private static double[] random(Shape shape, int seed) {
    Random random = new Random(seed);
    double[] x = new double[Math.toIntExact(shape.elements())];
    Arrays.setAll(x, i -> random.nextGaussian());
    return x;
  }

  /** An operation, as the graph computes it and by plain loops over the whole. */
  private record Case(
      String name,
      List<Shape> in,
      Shape out,
      BiFunction<PlacedGraph, List<DistributedTensor>, DistributedTensor> apply,
      Function<double[][], double[]> plain) {
    double[] operand(int i) {
      return random(in.get(i), 10 + i);
    }

    double[] gradient() {
      return random(out, 99);
    }

    /** Central differences of {@code sum dy f}. */
    double[] expected(int operand) {
      double[] dy = gradient();
      double[][] x = new double[in.size()][];
      Arrays.setAll(x, this::operand);
      double[] slope = new double[x[operand].length];
      for (int i = 0; i < slope.length; i++) {
        double at = x[operand][i];
        x[operand][i] = at + STEP;
        double[] above = plain.apply(x);
        x[operand][i] = at - STEP;
        double[] below = plain.apply(x);
        x[operand][i] = at;
        for (int o = 0; o < dy.length; o++) {
          slope[i] += dy[o] * (above[o] - below[o]) / (2 * STEP);
        }
      }
      return slope;
    }
  }

  private static final Shape X = Shape.of(5, 2, 3);
  private static final Shape W = Shape.of(3, 4);
  private static final Shape ROW = Shape.of(3);
  private static final Shape TABLE = Shape.of(5, 2);

  private static double[] each(int n, java.util.function.IntToDoubleFunction f) {
    double[] y = new double[n];
    Arrays.setAll(y, f);
    return y;
  }

  private static double[] matmul(double[] x, double[] w) {
    return each(
        40,
        i -> {
          double sum = 0;
          for (int k = 0; k < 3; k++) {
            sum += x[i / 4 * 3 + k] * w[k * 4 + i % 4];
          }
          return sum;
        });
  }

  private static double[] sum(double[] x, int axis) {
    int[] dims = {5, 2, 3};
    double[] y = new double[30 / dims[axis]];
    for (int i = 0; i < 30; i++) {
      int a = i / 6;
      int b = i / 3 % 2;
      int c = i % 3;
      y[axis == 0 ? b * 3 + c : axis == 1 ? a * 3 + c : a * 2 + b] += x[i];
    }
    return y;
  }

  private static double[] norm(double[][] v) {
    return each(
        30,
        i -> {
          int at = i / 3 * 3;
          double mean = (v[0][at] + v[0][at + 1] + v[0][at + 2]) / 3;
          double variance = 0;
          for (int c = 0; c < 3; c++) {
            variance += Math.pow(v[0][at + c] - mean, 2) / 3;
          }
          return (v[0][i] - mean) / Math.sqrt(variance + 0.5) * v[1][i % 3] + v[2][i % 3];
        });
  }

  /** The error function by its series. */
  private static double erf(double z) {
    double term = z;
    double sum = 0;
    for (int n = 0; n < 120; n++) {
      sum += term / (2 * n + 1);
      term *= -z * z / (n + 1);
    }
    return 2 / Math.sqrt(Math.PI) * sum;
  }

  private static List<Case> cases() {
    int[] ids = {4, 0, 2, 2, 1, 3, 4};
    return List.of(
        new Case(
            "matmul",
            List.of(X, W),
            Shape.of(5, 2, 4),
            (g, t) -> g.matmul(t.get(0), t.get(1)),
            v -> matmul(v[0], v[1])),
        new Case(
            "add",
            List.of(X, X),
            X,
            (g, t) -> g.add(t.get(0), t.get(1)),
            v -> each(30, i -> v[0][i] + v[1][i])),
        new Case(
            "sub",
            List.of(X, X),
            X,
            (g, t) -> g.sub(t.get(0), t.get(1)),
            v -> each(30, i -> v[0][i] - v[1][i])),
        new Case(
            "mul",
            List.of(X, X),
            X,
            (g, t) -> g.mul(t.get(0), t.get(1)),
            v -> each(30, i -> v[0][i] * v[1][i])),
        new Case(
            "addBias",
            List.of(X, ROW),
            X,
            (g, t) -> g.addBias(t.get(0), t.get(1)),
            v -> each(30, i -> v[0][i] + v[1][i % 3])),
        unary("scale", (g, t) -> g.scale(t, -3), x -> -3 * x),
        unary("relu", PlacedGraph::relu, x -> Math.max(0, x)),
        unary("gelu", PlacedGraph::gelu, x -> x / 2 * (1 + erf(x / Math.sqrt(2)))),
        unary("silu", PlacedGraph::silu, x -> x / (1 + Math.exp(-x))),
        new Case(
            "sum 0", List.of(X), Shape.of(2, 3), (g, t) -> g.sum(t.get(0), 0), v -> sum(v[0], 0)),
        new Case(
            "sum 1", List.of(X), Shape.of(5, 3), (g, t) -> g.sum(t.get(0), 1), v -> sum(v[0], 1)),
        new Case(
            "sum 2", List.of(X), Shape.of(5, 2), (g, t) -> g.sum(t.get(0), -1), v -> sum(v[0], 2)),
        new Case(
            "max",
            List.of(X),
            Shape.of(5, 2),
            (g, t) -> g.maxOfRows(t.get(0)),
            v -> each(10, i -> Math.max(v[0][3 * i], Math.max(v[0][3 * i + 1], v[0][3 * i + 2])))),
        new Case(
            "softmax",
            List.of(X),
            X,
            (g, t) -> g.softmax(t.get(0)),
            v ->
                each(
                    30,
                    i -> {
                      double sum = 0;
                      for (int c = 0; c < 3; c++) {
                        sum += Math.exp(v[0][i / 3 * 3 + c]);
                      }
                      return Math.exp(v[0][i]) / sum;
                    })),
        new Case(
            "layerNorm",
            List.of(X, ROW, ROW),
            X,
            (g, t) -> g.layerNorm(t.get(0), t.get(1), t.get(2), 0.5),
            PlacedGraphTest::norm),
        new Case(
            "embedding",
            List.of(TABLE),
            Shape.of(7, 2),
            (g, t) -> g.embedding(t.get(0), ids),
            v -> each(14, i -> v[0][ids[i / 2] * 2 + i % 2])),
        new Case(
            "transpose",
            List.of(TABLE),
            Shape.of(2, 5),
            (g, t) -> g.transpose(t.get(0)),
            v -> each(10, i -> v[0][i % 5 * 2 + i / 5])),
        new Case(
            "reshape",
            List.of(X),
            Shape.of(5, 6),
            (g, t) -> g.reshape(t.get(0), Shape.of(5, 6)),
            v -> v[0].clone()),
        // twice the same operand, and a value that two operations use
        new Case(
            "several",
            List.of(X, W),
            Shape.of(5, 2, 4),
            (g, t) -> {
              DistributedTensor square = g.mul(t.get(0), t.get(0));
              return g.matmul(g.add(square, g.silu(square)), t.get(1));
            },
            v ->
                matmul(
                    each(
                        30,
                        i -> {
                          double square = v[0][i] * v[0][i];
                          return square + square / (1 + Math.exp(-square));
                        }),
                    v[1])));
  }

  private static Case unary(
      String name,
      BiFunction<PlacedGraph, DistributedTensor, DistributedTensor> apply,
      java.util.function.DoubleUnaryOperator plain) {
    return new Case(
        name,
        List.of(X),
        X,
        (g, t) -> apply.apply(g, t.get(0)),
        v -> Arrays.stream(v[0]).map(plain).toArray());
  }

  // ---- ways to lie ----

  /** Ways of all operands and then of the gradient: in step, each beginning elsewhere. */
  private static List<List<List<Placement>>> ways(Case c, int dimensions, int most) {
    List<Shape> shapes = new ArrayList<>(c.in);
    shapes.add(c.out);
    List<List<List<Placement>>> all = new ArrayList<>();
    Random random = new Random(7);
    for (int i = 0; i < most; i++) {
      List<List<Placement>> way = new ArrayList<>();
      for (Shape shape : shapes) {
        List<List<Placement>> of = PlacedOperationsTest.placed(shape, dimensions);
        way.add(of.get(way.isEmpty() ? i % of.size() : random.nextInt(of.size())));
      }
      all.add(way);
    }
    return all;
  }

  private static DistributedTensor distribute(
      Worker w, DeviceMesh mesh, double[] values, Shape shape, List<Placement> at) {
    return DistributedTensor.distribute(w.torch(), mesh, values, shape, DType.F64, at);
  }

  /** Forwards and backwards; the bytes planned for all of it. */
  private static long once(
      Worker w,
      RankGrid grid,
      Case c,
      List<List<Placement>> way,
      Consumer<List<DistributedTensor>> look) {
    DeviceMesh mesh = DeviceMesh.create(w.distributed(), grid);
    List<Placement> whole = grid.shape().stream().<Placement>map(s -> new Replicate()).toList();
    List<DistributedTensor> in = new ArrayList<>();
    long bytes = 0;
    try (PlacedGraph graph = new PlacedGraph(w.torch(), mesh)) {
      for (int i = 0; i <= c.in.size(); i++) {
        Shape shape = i < c.in.size() ? c.in.get(i) : c.out;
        double[] values = i < c.in.size() ? c.operand(i) : c.gradient();
        bytes += Redistribution.plan(grid.shape(), shape, 8, whole, way.get(i)).bytes();
        in.add(distribute(w, mesh, values, shape, way.get(i)));
      }
      graph.backward(c.apply.apply(graph, in), in.getLast());
      look.accept(
          in.subList(0, c.in.size()).stream().map(x -> graph.gradient(x).orElseThrow()).toList());
      bytes += graph.plans().stream().mapToLong(OperationPlan::bytes).sum();
    }
    in.forEach(DistributedTensor::close);
    return bytes;
  }

  private static void equalDifferences(RankGrid grid, int most) {
    Ranks.run(
        grid.size(),
        Mode.VALUES,
        w -> {
          for (Case c : cases()) {
            for (List<List<Placement>> way : ways(c, grid.shape().size(), most)) {
              once(
                  w,
                  grid,
                  c,
                  way,
                  found -> {
                    for (int i = 0; i < found.size(); i++) {
                      assertThat(found.get(i).full())
                          .as("gradient %s of %s of %s", i, c.name, way)
                          .containsExactly(c.expected(i), within(1e-8));
                    }
                  });
            }
          }
        });
  }

  @Test
  void gradients_onOneDimension_equalDifferences() {
    equalDifferences(LINE, 10);
  }

  @Test
  void gradients_onTwoDimensions_equalDifferences() {
    equalDifferences(GRID, 5);
  }

  @Tag("slow")
  @Test
  void gradients_ofManyWaysOnTwoDimensions_equalDifferences() {
    equalDifferences(GRID, 100);
  }

  /** What ranks send is what the plans say, to the byte. */
  @Test
  void bytes_forwardsAndBackwards_arePlanned() {
    for (RankGrid grid : List.of(LINE, GRID)) {
      for (Case c : cases()) {
        for (List<List<Placement>> way : ways(c, grid.shape().size(), 3)) {
          long[] planned = new long[1];
          long sent =
              Ranks.communication(grid.size(), w -> planned[0] = once(w, grid, c, way, found -> {}))
                  .lines()
                  .stream()
                  .mapToLong(line -> line.sentBytes().orElseThrow())
                  .sum();
          assertThat(sent).as("%s of %s", c.name, way).isEqualTo(planned[0]);
        }
      }
    }
  }

  /** Megatron's feed-forward part: no gradient of a weight needs anything to be sent. */
  @Test
  void explain_ofAFeedForwardPart_saysWhatTheWayBackMoved() {
    RankGrid grid = RankGrid.parse("tp=2");
    String[] text = new String[1];
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          DeviceMesh mesh = DeviceMesh.create(w.distributed(), grid);
          List<Placement> whole = List.of(new Replicate());
          DistributedTensor x = distribute(w, mesh, new double[32 * 16], Shape.of(32, 16), whole);
          DistributedTensor dy = distribute(w, mesh, new double[32 * 16], Shape.of(32, 16), whole);
          DistributedTensor up =
              distribute(w, mesh, new double[16 * 64], Shape.of(16, 64), List.of(new Shard(1)));
          DistributedTensor down =
              distribute(w, mesh, new double[64 * 16], Shape.of(64, 16), List.of(new Shard(0)));
          try (PlacedGraph graph = new PlacedGraph(w.torch(), mesh)) {
            DistributedTensor y = graph.matmul(graph.gelu(graph.matmul(x, up)), down);
            graph.backward(y, dy);
            text[0] = graph.explain();
            assertThat(graph.gradient(up).orElseThrow().placements()).containsExactly(new Shard(1));
            assertThat(graph.gradient(down).orElseThrow().placements())
                .containsExactly(new Shard(0));
            assertThat(graph.gradient(x).orElseThrow().placements())
                .containsExactly(new Partial(ReduceKind.SUM));
          }
          List.of(x, dy, up, down).forEach(DistributedTensor::close);
        });
    assertThat(text[0]).contains("gradients\nPlacedGraphTest.java:").doesNotContain("sent ");
  }

  /** Gradients of two ways back add up, and those of other shapes are refused. */
  @Test
  void backward_twice_addsUp() {
    Ranks.run(
        3,
        Mode.VALUES,
        w -> {
          DeviceMesh mesh = DeviceMesh.create(w.distributed(), LINE);
          double[] ones = {1, 1, 1, 1, 1};
          DistributedTensor x = distribute(w, mesh, ones, Shape.of(5), List.of(new Shard(0)));
          try (PlacedGraph graph = new PlacedGraph(w.torch(), mesh)) {
            DistributedTensor y = graph.scale(x, 3);
            graph.backward(y, x);
            graph.backward(y, x);
            assertThat(graph.gradient(x).orElseThrow().full()).containsExactly(6, 6, 6, 6, 6);
            assertThat(graph.gradient(y).orElseThrow().full()).containsExactly(2, 2, 2, 2, 2);
            assertThatThrownBy(() -> graph.backward(graph.sum(y, 0), x))
                .isInstanceOf(ShapeException.class)
                .hasMessage("gradient f64 [5] of f64 []; expected equal shapes and types");
          }
          x.close();
        });
  }
}
