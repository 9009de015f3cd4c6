package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** Every operation of a graph: its gradient is that of central differences. */
final class GraphTest {
  private static Shape shape(int... dims) {
    return Shape.of(dims);
  }

  @Test
  void add_mul_scale_gradients() {
    GradCheck.check(
        (g, x) -> g.mul(g.add(x.get(0), x.get(1)), g.scale(x.get(0), -0.7)),
        shape(3, 5),
        shape(3, 5));
  }

  @Test
  void sub_sameVariableTwice_gradientsAddUp() {
    GradCheck.check((g, x) -> g.sub(g.mul(x.get(0), x.get(0)), x.get(0)), shape(7));
  }

  @Test
  void weightedSum_gradients() {
    GradCheck.check(
        (g, x) -> g.weightedSum(g.mul(x.get(0), x.get(0)), new double[] {2, -1, 0, .5}), shape(4));
  }

  /** Rounding has no derivative; a cast passes the gradient on, in the type of its operand. */
  @Test
  void cast_gradientIsCastBack() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          try (Graph g = Graph.of(w.torch())) {
            double[] values = {1, 1 + 0x1p-9, -3};
            Variable x = g.input(g.own(w.torch().from(values, shape(3), DType.F32, "x")));
            Variable y = g.cast(x, DType.BF16);
            assertThat(y.value().toDoubles()).containsExactly(1, 1, -3);
            double[] grad = {2, -0.5, 1};
            g.backward(y, g.own(w.torch().from(grad, shape(3), DType.BF16, "dy")));
            assertThat(x.grad().orElseThrow().dtype()).isEqualTo(DType.F32);
            assertThat(x.grad().orElseThrow().toDoubles()).isEqualTo(grad);
          }
        });
  }

  @Test
  void linear_gradients() {
    GradCheck.check((g, x) -> g.linear(x.get(0), x.get(1)), shape(2, 3, 4), shape(5, 4));
  }

  @Test
  void matmul_gradients() {
    GradCheck.check((g, x) -> g.matmul(x.get(0), x.get(1)), shape(3, 4), shape(4, 2));
  }

  @Test
  void matmul_moreThanOneTile_equalsTheProductInF64() {
    GradCheck.check((g, x) -> g.matmul(x.get(0), x.get(1)), shape(1, 300), shape(300, 2));
  }

  @Test
  void addBias_gradients() {
    GradCheck.check((g, x) -> g.addBias(x.get(0), x.get(1)), shape(2, 3, 4), shape(4));
  }

  @Test
  void gelu_silu_gradients() {
    GradCheck.check((g, x) -> g.gelu(g.silu(x.get(0))), shape(4, 6));
  }

  @Test
  void swiglu_gradients() {
    GradCheck.check((g, x) -> g.swiglu(x.get(0), x.get(1)), shape(4, 6), shape(4, 6));
  }

  /** In bf16 the rounding of what is not stored any more is the same. */
  @Test
  void swiglu_bf16_bitsOfSiluAndMul() {
    Shape shape = shape(7, 33);
    Random random = new Random(3);
    double[] gate = random.doubles(7 * 33, -4, 4).toArray();
    double[] up = random.doubles(7 * 33, -4, 4).toArray();
    double[] dy = random.doubles(7 * 33, -4, 4).toArray();
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          List<double[]> found = new ArrayList<>();
          for (boolean fused : new boolean[] {true, false}) {
            try (Graph g = Graph.of(w.torch())) {
              Variable a = g.input(g.own(w.torch().from(gate, shape, DType.BF16, "gate")));
              Variable b = g.input(g.own(w.torch().from(up, shape, DType.BF16, "up")));
              Variable y = fused ? g.swiglu(a, b) : g.mul(g.silu(a), b);
              g.backward(y, g.own(w.torch().from(dy, shape, DType.BF16, "dy")));
              found.add(y.value().toDoubles());
              found.add(a.grad().orElseThrow().toDoubles());
              found.add(b.grad().orElseThrow().toDoubles());
            }
          }
          for (int i = 0; i < 3; i++) {
            assertThat(found.get(i)).isEqualTo(found.get(i + 3));
          }
        });
  }

  @Test
  void relu_gradientAwayFromZero() {
    GradCheck.check((g, x) -> g.relu(x.get(0)), List.of(new double[] {-2, -0.5, 0.5, 2}), shape(4));
  }

  @Test
  void selectRows_repeatedAndMissing_gradientsAddUp() {
    GradCheck.check((g, x) -> g.selectRows(x.get(0), new int[] {2, 3, -1, 2, 0, 2}), shape(5, 3));
  }

  @Test
  void narrow_reshape_gradients() {
    GradCheck.check(
        (g, x) -> g.reshape(g.narrowColumns(g.narrowRows(x.get(0), 1, 3), 2, 2), shape(2, 3)),
        shape(5, 6));
  }

  @Test
  void layerNorm_rmsNorm_gradients() {
    GradCheck.check(
        (g, x) -> g.layerNorm(x.get(0), x.get(1), x.get(2), 1e-3), shape(4, 6), shape(6), shape(6));
    GradCheck.check((g, x) -> g.rmsNorm(x.get(0), x.get(1), 1e-3), shape(2, 2, 6), shape(6));
  }

  @Test
  void attention_groupedHeads_gradients() {
    int[] at = {0, 1, 2, 3, 4};
    GradCheck.check(
        (g, x) -> g.attention(x.get(0), x.get(1), x.get(2), 3, at, at),
        shape(5, 2, 12),
        shape(5, 2, 6),
        shape(5, 2, 6));
  }

  /** Positions of one rank of two with a zigzag partition; query 0 sees no key at all. */
  @Test
  void attention_positionsOutOfOrder_gradients() {
    GradCheck.check(
        (g, x) ->
            g.attention(
                x.get(0), x.get(1), x.get(2), 4, new int[] {0, 1, 6, 7}, new int[] {3, 1, 5, 6}),
        shape(4, 1, 4),
        shape(4, 1, 4),
        shape(4, 1, 4));
  }

  /** More than one tile of queries and of keys, against plain sums in f64. */
  @Test
  void attention_manyTiles_equalsPlainSums() {
    int n = 300;
    int size = 2;
    java.util.Random random = new java.util.Random(3);
    double[][] x = new double[3][];
    for (int i = 0; i < 3; i++) {
      x[i] = random.doubles((long) n * size, -2, 2).toArray();
    }
    int[] at = java.util.stream.IntStream.range(0, n).toArray();
    double[] expected = new double[n * size];
    for (int i = 0; i < n; i++) {
      double sum = 0;
      double[] weighted = new double[size];
      for (int j = 0; j <= i; j++) {
        double s = 0;
        for (int d = 0; d < size; d++) {
          s += x[0][i * size + d] * x[1][j * size + d];
        }
        double e = Math.exp(s / Math.sqrt(size));
        sum += e;
        for (int d = 0; d < size; d++) {
          weighted[d] += e * x[2][j * size + d];
        }
      }
      for (int d = 0; d < size; d++) {
        expected[i * size + d] = weighted[d] / sum;
      }
    }
    assertThat(
            GradCheck.run(
                (g, v) -> g.attention(v.get(0), v.get(1), v.get(2), size, at, at),
                List.of(x),
                shape(n, 1, size),
                shape(n, 1, size),
                shape(n, 1, size)))
        .containsExactly(expected, org.assertj.core.api.Assertions.within(1e-12));
  }

  /**
   * Attention over two parts of the keys, merged, is attention over all of them; the first and the
   * last query see none of one part, the third no key at all.
   */
  @Test
  void attention_mergedOverPartsOfTheKeys_equalsOneCall() {
    int[] queriesAt = {4, 9, -1, 6};
    int[] keysAt = {2, 7, 8, 4, 5, 9};
    int[] first = {7, 8};
    int[] second = {2, 4, 5, 9};
    Shape q = shape(4, 1, 3);
    Shape k = shape(6, 1, 3);
    assertThat(
            GradCheck.run(
                (g, x) -> {
                  Attention attention =
                      Attention.of(g, x.get(0), x.get(1), x.get(2), 3, queriesAt, keysAt);
                  Positions at = attention.positions(queriesAt);
                  Attention.Partial all =
                      attention.merge(
                          part(g, attention, x, at, new int[] {1, 2}, first),
                          part(g, attention, x, at, new int[] {0, 3, 4, 5}, second));
                  Variable one = g.attention(x.get(0), x.get(1), x.get(2), 3, queriesAt, keysAt);
                  return g.sub(new Variable(all.output(), q, false), one);
                },
                List.of(values(q), values(k), values(k)),
                q,
                k,
                k))
        .containsExactly(new double[12], org.assertj.core.api.Assertions.within(1e-14));
  }

  private static Attention.Partial part(
      Graph g, Attention attention, List<Variable> x, Positions queries, int[] rows, int[] at) {
    return attention.forward(
        x.get(0).value(),
        g.selectRows(x.get(1), rows).value(),
        g.selectRows(x.get(2), rows).value(),
        queries,
        attention.positions(at),
        x.get(0).dtype());
  }

  private static double[] values(Shape shape) {
    return new java.util.Random(shape.elements()).doubles(shape.elements(), -2, 2).toArray();
  }

  @Test
  void rotary_gradients() {
    int[] at = {3, 0, 9};
    GradCheck.check((g, x) -> g.rotary(x.get(0), 4, 4, at, RotaryAngles.PLAIN), shape(3, 2, 8));
    GradCheck.check(
        (g, x) -> g.rotary(x.get(0), 5, 2, at, RotaryAngles.ofBase(100).with(1.5, 1)),
        shape(3, 2, 10));
  }

  @Test
  void gradcheck_wrongDerivative_isFound() {
    assertThat(
            org.assertj.core.api.Assertions.catchThrowable(() ->
                GradCheck.check(
                    (g, x) ->
                        g.record(
                            g.scale(x.get(0), 2).value(),
                            x.get(0).shape(),
                            x,
                            (grad, into) -> into.give(0, grad)),
                    shape(3))))
        .isInstanceOf(AssertionError.class);
  }
}
