package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.placements.DeviceMesh;
import org.kernbench.nn.placements.DistributedTensor;
import org.kernbench.nn.placements.PlacedOperations;
import org.kernbench.nn.placements.Placement;
import org.kernbench.nn.placements.Placement.Partial;
import org.kernbench.nn.placements.Placement.Replicate;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.nn.placements.Redistribution;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Every operation on operands that lie in every way, against loops over the whole; what is sent is
 * what was predicted. Operands are whole numbers, so that sums are exact in every order; with
 * extents that ranks cut unevenly, and ranks that have nothing.
 */
class PlacedOperationsTest {
  private static final RankGrid LINE = RankGrid.parse("tp=3");
  private static final RankGrid GRID = RankGrid.parse("tp=2,dp=2");
  private static final Placement SUM = new Partial(ReduceKind.SUM);

  /** An operand: whole numbers from a seed. */
  private record In(Shape shape, int seed) {
    double[] values() {
      return new Random(seed).ints(shape.elements(), -4, 5).asDoubleStream().toArray();
    }
  }

  /** An operation, and what it gives by plain loops. */
  private record Case(
      String name,
      List<In> in,
      BiFunction<PlacedOperations, List<DistributedTensor>, DistributedTensor> apply,
      double[] expected) {}

  private static Case of(
      String name,
      List<In> in,
      BiFunction<PlacedOperations, List<DistributedTensor>, DistributedTensor> apply,
      double... expected) {
    return new Case(name, in, apply, expected);
  }

  private static final In X = new In(Shape.of(5, 2, 3), 1);
  private static final In Y = new In(Shape.of(5, 2, 3), 2);
  private static final In W = new In(Shape.of(3, 4), 3);
  private static final In ROW = new In(Shape.of(3), 4);
  private static final In BIAS = new In(Shape.of(3), 5);
  private static final In TABLE = new In(Shape.of(5, 2), 6);

  private static double[] each(int n, IntToDoubleFunction f) {
    return IntStream.range(0, n).mapToDouble(f).toArray();
  }

  private static double gelu(double x) {
    // the error function by its series, which converges for all x
    double z = x / Math.sqrt(2);
    double term = z;
    double erf = 0;
    for (int n = 0; n < 200; n++) {
      erf += term / (2 * n + 1);
      term *= -z * z / (n + 1);
    }
    return x / 2 * (1 + 2 / Math.sqrt(Math.PI) * erf);
  }

  private static double[] product() {
    double[] x = X.values();
    double[] w = W.values();
    double[] y = new double[10 * 4];
    for (int i = 0; i < 10; i++) {
      for (int j = 0; j < 4; j++) {
        for (int k = 0; k < 3; k++) {
          y[i * 4 + j] += x[i * 3 + k] * w[k * 4 + j];
        }
      }
    }
    return y;
  }

  private static double[] summed(int axis) {
    double[] x = X.values();
    int[] dims = {5, 2, 3};
    double[] y = new double[30 / dims[axis]];
    for (int a = 0; a < 5; a++) {
      for (int b = 0; b < 2; b++) {
        for (int c = 0; c < 3; c++) {
          int at = axis == 0 ? b * 3 + c : axis == 1 ? a * 3 + c : a * 2 + b;
          y[at] += x[(a * 2 + b) * 3 + c];
        }
      }
    }
    return y;
  }

  private static double[] softmax() {
    double[] x = X.values();
    return each(
        30,
        i -> {
          double sum = 0;
          for (int c = 0; c < 3; c++) {
            sum += Math.exp(x[i / 3 * 3 + c]);
          }
          return Math.exp(x[i]) / sum;
        });
  }

  private static double[] layerNorm() {
    double[] x = X.values();
    return each(
        30,
        i -> {
          int at = i / 3 * 3;
          double mean = (x[at] + x[at + 1] + x[at + 2]) / 3;
          double variance = 0;
          for (int c = 0; c < 3; c++) {
            variance += (x[at + c] - mean) * (x[at + c] - mean) / 3;
          }
          return (x[i] - mean) / Math.sqrt(variance + 0.5) * ROW.values()[i % 3]
              + BIAS.values()[i % 3];
        });
  }

  private static List<Case> cases() {
    double[] x = X.values();
    double[] y = Y.values();
    double[] table = TABLE.values();
    int[] ids = {4, 0, 2, 2, 1, 3, 4};
    return List.of(
        of("matmul", List.of(X, W), (o, t) -> o.matmul(t.get(0), t.get(1)), product()),
        of("add", List.of(X, Y), (o, t) -> o.add(t.get(0), t.get(1)), each(30, i -> x[i] + y[i])),
        of("sub", List.of(X, Y), (o, t) -> o.sub(t.get(0), t.get(1)), each(30, i -> x[i] - y[i])),
        of("mul", List.of(X, Y), (o, t) -> o.mul(t.get(0), t.get(1)), each(30, i -> x[i] * y[i])),
        of(
            "addBias",
            List.of(X, ROW),
            (o, t) -> o.addBias(t.get(0), t.get(1)),
            each(30, i -> x[i] + ROW.values()[i % 3])),
        of("scale", List.of(X), (o, t) -> o.scale(t.get(0), -3), each(30, i -> -3 * x[i])),
        of("relu", List.of(X), (o, t) -> o.relu(t.get(0)), each(30, i -> Math.max(0, x[i]))),
        of("gelu", List.of(X), (o, t) -> o.gelu(t.get(0)), each(30, i -> gelu(x[i]))),
        of(
            "silu",
            List.of(X),
            (o, t) -> o.silu(t.get(0)),
            each(30, i -> x[i] / (1 + Math.exp(-x[i])))),
        of("sum 0", List.of(X), (o, t) -> o.sum(t.get(0), 0), summed(0)),
        of("sum 1", List.of(X), (o, t) -> o.sum(t.get(0), 1), summed(1)),
        of("sum 2", List.of(X), (o, t) -> o.sum(t.get(0), -1), summed(2)),
        of(
            "max",
            List.of(X),
            (o, t) -> o.maxOfRows(t.get(0)),
            each(10, i -> Math.max(x[3 * i], Math.max(x[3 * i + 1], x[3 * i + 2])))),
        of("softmax", List.of(X), (o, t) -> o.softmax(t.get(0)), softmax()),
        of(
            "layerNorm",
            List.of(X, ROW, BIAS),
            (o, t) -> o.layerNorm(t.get(0), t.get(1), t.get(2), 0.5),
            layerNorm()),
        of(
            "embedding",
            List.of(TABLE),
            (o, t) -> o.embedding(t.get(0), ids),
            each(14, i -> table[ids[i / 2] * 2 + i % 2])),
        of(
            "transpose",
            List.of(TABLE),
            (o, t) -> o.transpose(t.get(0)),
            each(10, i -> table[i % 5 * 2 + i / 5])),
        of("reshape", List.of(X), (o, t) -> o.reshape(t.get(0), Shape.of(5, 6)), x));
  }

  /** Every way in which a tensor lies along one dimension. */
  private static List<Placement> along(Shape shape) {
    List<Placement> all = new ArrayList<>(List.of(new Replicate(), SUM));
    for (int i = 0; i < shape.rank(); i++) {
      all.add(new Shard(i));
    }
    return all;
  }

  /** Every way on all dimensions of a mesh. */
  static List<List<Placement>> placed(Shape shape, int dimensions) {
    List<List<Placement>> ways = List.of(List.of());
    for (int i = 0; i < dimensions; i++) {
      List<List<Placement>> longer = new ArrayList<>();
      for (List<Placement> way : ways) {
        for (Placement p : along(shape)) {
          List<Placement> next = new ArrayList<>(way);
          next.add(p);
          longer.add(next);
        }
      }
      ways = longer;
    }
    return ways;
  }

  /** Every way for all operands. */
  private static List<List<List<Placement>>> ways(Case c, int dimensions) {
    List<List<List<Placement>>> ways = List.of(List.of());
    for (In in : c.in) {
      List<List<List<Placement>>> longer = new ArrayList<>();
      for (List<List<Placement>> way : ways) {
        for (List<Placement> p : placed(in.shape, dimensions)) {
          List<List<Placement>> next = new ArrayList<>(way);
          next.add(p);
          longer.add(next);
        }
      }
      ways = longer;
    }
    return ways;
  }

  /** Does it, and hands the result to who looks at it; the plan's bytes with those of operands. */
  private static long once(
      Worker w,
      RankGrid grid,
      Case c,
      List<List<Placement>> way,
      Consumer<DistributedTensor> look) {
    DeviceMesh mesh = DeviceMesh.create(w.distributed(), grid);
    PlacedOperations operations = new PlacedOperations(w.torch(), mesh);
    List<Placement> whole = grid.shape().stream().<Placement>map(s -> new Replicate()).toList();
    List<DistributedTensor> in = new ArrayList<>();
    long bytes = 0;
    for (int i = 0; i < c.in.size(); i++) {
      In of = c.in.get(i);
      bytes += Redistribution.plan(grid.shape(), of.shape, 8, whole, way.get(i)).bytes();
      in.add(
          DistributedTensor.distribute(
              w.torch(), mesh, of.values(), of.shape, DType.F64, way.get(i)));
    }
    try (DistributedTensor result = c.apply.apply(operations, in)) {
      assertThat(result.placements()).isEqualTo(operations.plans().getFirst().result());
      look.accept(result);
    }
    in.forEach(DistributedTensor::close);
    return bytes + operations.plans().getFirst().bytes();
  }

  private static void equalsLoops(RankGrid grid, int step) {
    Ranks.run(
        grid.size(),
        Mode.VALUES,
        w -> {
          for (Case c : cases()) {
            List<List<List<Placement>>> ways = ways(c, grid.shape().size());
            for (int i = 0; i < ways.size(); i += step) {
              List<List<Placement>> way = ways.get(i);
              once(
                  w,
                  grid,
                  c,
                  way,
                  result ->
                      assertThat(result.full())
                          .as("%s of %s", c.name, way)
                          .containsExactly(c.expected, within(1e-13)));
            }
          }
        });
  }

  @Test
  void allOperands_onOneDimension_equalLoops() {
    equalsLoops(LINE, 1);
  }

  @Test
  void someOperands_onTwoDimensions_equalLoops() {
    equalsLoops(GRID, 37);
  }

  @Tag("slow")
  @Test
  void allOperands_onTwoDimensions_equalLoops() {
    equalsLoops(GRID, 1);
  }

  /** What ranks send is what the plan says, to the byte. */
  private static void bytesArePredicted(RankGrid grid, int step) {
    for (Case c : cases()) {
      List<List<List<Placement>>> ways = ways(c, grid.shape().size());
      for (int i = 0; i < ways.size(); i += step) {
        List<List<Placement>> way = ways.get(i);
        long[] planned = new long[1];
        long sent =
            Ranks.communication(grid.size(), w -> planned[0] = once(w, grid, c, way, result -> {}))
                .lines()
                .stream()
                .mapToLong(line -> line.sentBytes().orElseThrow())
                .sum();
        assertThat(sent).as("%s of %s", c.name, way).isEqualTo(planned[0]);
      }
    }
  }

  @Test
  void bytes_ofSomeOperands_arePredicted() {
    bytesArePredicted(LINE, 5);
  }

  @Tag("slow")
  @Test
  void bytes_ofAllOperands_arePredicted() {
    bytesArePredicted(LINE, 1);
    bytesArePredicted(GRID, 11);
  }

  /** What operations on some operands say about themselves. */
  private static String explained(RankGrid grid, BiConsumer<Worker, PlacedOperations> program) {
    String[] text = new String[1];
    Ranks.run(
        grid.size(),
        Mode.TIME,
        w -> {
          DeviceMesh mesh = DeviceMesh.create(w.distributed(), grid);
          PlacedOperations operations = new PlacedOperations(w.torch(), mesh);
          program.accept(w, operations);
          text[0] = operations.explain();
        });
    return text[0]
        .replaceAll("PlacedOperationsTest.java:\\d+", "line")
        .replaceAll("predicted [0-9.]+ ns", "predicted T");
  }

  private static DistributedTensor placed(
      Worker w, RankGrid grid, Shape shape, Placement... placements) {
    return DistributedTensor.distribute(
        w.torch(),
        DeviceMesh.create(w.distributed(), grid),
        new double[(int) shape.elements()],
        shape,
        DType.F64,
        List.of(placements));
  }

  /** Megatron's pair of layers sends nothing in between; the sum of the second is left to do. */
  @Test
  void columnThenRowParallel_sendNothingButTheSum() {
    RankGrid grid = RankGrid.parse("tp=2");
    String text =
        explained(
            grid,
            (w, o) -> {
              DistributedTensor x = placed(w, grid, Shape.of(2, 32), new Replicate());
              DistributedTensor a = placed(w, grid, Shape.of(32, 64), new Shard(1));
              DistributedTensor b = placed(w, grid, Shape.of(64, 32), new Shard(0));
              o.softmax(o.matmul(o.gelu(o.matmul(x, a)), b));
            });
    // the sum of 2 x 32 f64 on two ranks by a reduce-scatter: (2 - 1) x 64 x 8 bytes
    assertThat(text)
        .isEqualTo(
            """
            line: matmul: tp: Replicate, Shard(1) -> Shard(1)
            line: gelu: tp: Shard(1) -> Shard(1)
            line: matmul: tp: Shard(1), Shard(0) -> Partial(sum)
              left in parts: 512 bytes, predicted T, when it is needed
            line: softmax: tp: Shard(0) -> Shard(0)
              operand 0: tp: Partial(sum) -> Shard(0): reduce_scatter, 512 bytes
              sent 512 bytes, predicted T
            """);
  }

  /** The smaller operand goes to the larger one. */
  @Test
  void matmul_movesTheSmallerOperand() {
    RankGrid grid = RankGrid.parse("tp=2");
    for (boolean small : List.of(true, false)) {
      int rows = small ? 2 : 256;
      String text =
          explained(
              grid,
              (w, o) -> {
                DistributedTensor x = placed(w, grid, Shape.of(rows, 16), new Shard(0));
                o.matmul(x, placed(w, grid, Shape.of(16, 16), new Shard(1)));
              });
      assertThat(text)
          .isEqualTo(
              small
                  ? """
                  line: matmul: tp: Replicate, Shard(1) -> Shard(1)
                    operand 0: tp: Shard(0) -> Replicate: all_gather, 256 bytes
                    sent 256 bytes, predicted T
                  """
                  : """
                  line: matmul: tp: Shard(0), Replicate -> Shard(0)
                    operand 1: tp: Shard(1) -> Replicate: all_gather, 2048 bytes
                    sent 2048 bytes, predicted T
                  """);
    }
  }

  /**
   * To cut both operands over k would send half as much, 2 x 3/4 of one of them instead of 3, but
   * leave a sum that takes 3 more.
   */
  @Test
  void matmul_countsTheSumThatItWouldLeave() {
    RankGrid grid = RankGrid.parse("tp=4");
    String text =
        explained(
            grid,
            (w, o) -> {
              DistributedTensor x = placed(w, grid, Shape.of(256, 256), new Shard(0));
              o.matmul(x, placed(w, grid, Shape.of(256, 256), new Shard(1)));
            });
    assertThat(text)
        .isEqualTo(
            """
            line: matmul: tp: Shard(0), Replicate -> Shard(0)
              operand 1: tp: Shard(1) -> Replicate: all_gather, 1572864 bytes
              sent 1572864 bytes, predicted T
            """);
  }

  private static String softmaxOfCutRows(int columns) {
    RankGrid grid = RankGrid.parse("tp=2");
    return explained(
        grid, (w, o) -> o.softmax(placed(w, grid, Shape.of(4, columns), new Shard(1))));
  }

  /** Over a wide axis that is cut, maxima and sums of rows go about; of a short one rows do. */
  @Test
  void softmaxOverACutAxis_sendsTwoNumbersOfARow_ifRowsAreLong() {
    // all-reduces of 4 f64 each on two ranks: 2 x (2 - 1) x 32 bytes; half of 4 x 64 f64 moves
    assertThat(softmaxOfCutRows(1 << 16))
        .isEqualTo(
            """
            line: softmax: tp: Shard(1) -> Shard(1)
              maxima: tp: Partial(max) -> Replicate: all_reduce, 64 bytes
              sums: tp: Partial(sum) -> Replicate: all_reduce, 64 bytes
              sent 128 bytes, predicted T
            """);
    assertThat(softmaxOfCutRows(64))
        .isEqualTo(
            """
            line: softmax: tp: Shard(0) -> Shard(0)
              operand 0: tp: Shard(1) -> Shard(0): all_to_all, 1024 bytes
              sent 1024 bytes, predicted T
            """);
  }

  /** What collectives take in simulated time. */
  private static long simulatedPs(RankGrid grid, BiConsumer<Worker, PlacedOperations> program) {
    return Ranks.run(
            grid.size(),
            Mode.TIME,
            w ->
                program.accept(
                    w, new PlacedOperations(w.torch(), DeviceMesh.create(w.distributed(), grid))))
        .stream()
        .mapToLong(CollectiveRun::durationPs)
        .sum();
  }

  /** The way that is chosen is the quicker one in simulation too, where they are far apart. */
  @Test
  void chosenWay_isTheQuickerOneInSimulation() {
    RankGrid grid = RankGrid.parse("tp=2");
    for (int columns : List.of(64, 1 << 16)) {
      Shape shape = Shape.of(4, columns);
      long chosen = simulatedPs(grid, (w, o) -> o.softmax(placed(w, grid, shape, new Shard(1))));
      long rows =
          simulatedPs(
              grid,
              (w, o) ->
                  o.softmax(
                      placed(w, grid, shape, new Shard(1)).redistribute(List.of(new Shard(0)))));
      long numbers =
          simulatedPs(
              grid,
              (w, o) -> {
                placed(w, grid, Shape.of(4), new Partial(ReduceKind.MAX))
                    .redistribute(List.of(new Replicate()));
                placed(w, grid, Shape.of(4), SUM).redistribute(List.of(new Replicate()));
              });
      if (columns == 64) {
        assertThat(chosen).isEqualTo(rows).isLessThan(numbers);
      } else {
        assertThat(chosen).isLessThan(rows);
      }
    }
  }

  /** A redistribution takes no less than its prediction, which is of the way alone. */
  @Test
  void predictedTime_isALowerBound() {
    RankGrid grid = RankGrid.parse("tp=4");
    List<List<Placement>> ways =
        List.of(
            List.of(new Shard(0), new Replicate()),
            List.of(SUM, new Replicate()),
            List.of(SUM, new Shard(0)),
            List.of(new Shard(0), new Shard(1)));
    for (List<Placement> way : ways) {
      for (int rows : List.of(4, 8192)) {
        long[] predicted = new long[1];
        long simulated =
            simulatedPs(
                grid,
                (w, o) -> {
                  DeviceMesh mesh = DeviceMesh.create(w.distributed(), grid);
                  DistributedTensor x = placed(w, grid, Shape.of(rows, 64), way.getFirst());
                  List<Placement> to = List.of(way.getLast());
                  predicted[0] = mesh.predictedPs(w.torch(), x.plan(to));
                  x.redistribute(to);
                });
        assertThat(predicted[0]).as("%s, %d rows", way, rows).isPositive().isLessThan(simulated);
      }
    }
  }

  @Test
  void operandsThatDoNotFit_areNamed() {
    RankGrid grid = RankGrid.parse("tp=2");
    explained(
        grid,
        (w, o) -> {
          DistributedTensor a = placed(w, grid, Shape.of(2, 3), new Replicate());
          assertThatThrownBy(() -> o.matmul(a, a))
              .isInstanceOf(ShapeException.class)
              .hasMessage("matmul of [2, 3] and [2, 3]; expected [..., m, k] and [k, n]");
          assertThatThrownBy(() -> o.embedding(a, new int[] {2}))
              .hasMessage("row 2 of [2, 3]; expected 0 to below 2");
          assertThatThrownBy(() -> o.addBias(a, a))
              .hasMessage("addBias of [2, 3] with [2, 3]; expected a vector of 3");
        });
  }

  @Test
  void plans_nameTheLineThatAsked() {
    RankGrid grid = RankGrid.parse("tp=2");
    Ranks.run(
        2,
        Mode.TIME,
        w -> {
          PlacedOperations o =
              new PlacedOperations(w.torch(), DeviceMesh.create(w.distributed(), grid));
          int here = new Throwable().getStackTrace()[0].getLineNumber();
          o.relu(placed(w, grid, Shape.of(2, 3), SUM));
          assertThat(o.plans().getFirst().line())
              .isEqualTo("PlacedOperationsTest.java:" + (here + 1));
        });
  }
}
