package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
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
import org.kernbench.torch.Worker;
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

  private static double[] each(int n, java.util.function.IntToDoubleFunction f) {
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
  private static List<List<Placement>> placed(Shape shape, int dimensions) {
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
      java.util.function.Consumer<DistributedTensor> look) {
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
}
