package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.kernels.F8Products;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Products in 8 bits against plain loops that round by the definition of the formats: the value of
 * least distance among all 256 of a format, of two equally near the one with the even code.
 */
final class F8LinearTest {
  private static final int ROWS = 6;
  private static final int IN = 40;
  private static final int OUT = 9;

  private static double[] random(long seed, int n, double size) {
    Random random = new Random(seed);
    double[] x = new double[n];
    Arrays.setAll(x, i -> (float) (random.nextGaussian() * size * Math.pow(4, random.nextInt(5))));
    return x;
  }

  // ---- the formats by their definition ----

  /** All finite values that are not negative, by code: sign 1, exponent e, mantissa m bits. */
  private static double[] values(DType type) {
    boolean e4m3 = type == DType.F8E4M3;
    int mantissa = e4m3 ? 3 : 2;
    int bias = e4m3 ? 7 : 15;
    double[] all = new double[e4m3 ? 127 : 124]; // above: NaN, or infinity and NaN
    for (int code = 0; code < all.length; code++) {
      int exponent = code >> mantissa;
      double fraction = (code & ((1 << mantissa) - 1)) / (double) (1 << mantissa);
      all[code] =
          exponent == 0
              ? fraction * Math.pow(2, 1 - bias)
              : (1 + fraction) * Math.pow(2, exponent - bias);
    }
    return all;
  }

  private static double rounded(double x, double[] values) {
    int best = 0;
    for (int code = 1; code < values.length; code++) {
      double distance = Math.abs(values[code] - Math.abs(x)) - Math.abs(values[best] - Math.abs(x));
      if (distance < 0 || (distance == 0 && code % 2 == 0)) {
        best = code;
      }
    }
    return Math.copySign(values[best], x);
  }

  /** A tensor as it is multiplied: values in 8 bits, and what each is to be multiplied by. */
  private record Plain(double[] values, double inverse) {
    static Plain of(double[] x, DType type) {
      return of(x, type, largest(x));
    }

    static float largest(double[] x) {
      return (float) Arrays.stream(x).map(Math::abs).max().orElse(0);
    }

    /** With the scale of another largest value; what is too large becomes the largest code. */
    static Plain of(double[] x, DType type, float most) {
      double[] codes = F8LinearTest.values(type);
      float scale = most == 0 ? 1 : (float) codes[codes.length - 1] / most;
      double[] values = Arrays.stream(x).map(v -> rounded((float) v * scale, codes)).toArray();
      return new Plain(values, 1 / scale);
    }

    double at(int i) {
      return values[i] * inverse;
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"F8E4M3", "F8E5M2"})
  void scaled_hasTheNearestValues_toTheBit(DType type) {
    for (double size : List.of(1e-6, 1.0, 1e9)) {
      double[] x = random(3, ROWS * IN, size);
      Plain expected = Plain.of(x, type);
      double[][] found = new double[2][];
      Ranks.run(
          1,
          Mode.VALUES,
          w -> {
            try (Graph graph = Graph.of(w.torch());
                Tensor in = w.torch().from(x, Shape.of(ROWS, IN), DType.F32, "x")) {
              F8Products.Scaled scaled =
                  new F8Products(graph.compute()).scaled("x", in, ROWS, IN, type, List.of());
              found[0] = scaled.values().toDoubles();
              found[1] = scaled.inverse().toDoubles();
            }
          });
      assertThat(found[0]).containsExactly(expected.values);
      assertThat(found[1][0]).isCloseTo(expected.inverse, within(expected.inverse * 0x1p-23));
    }
  }

  /** A tensor of zeros stays one. */
  @Test
  void scaled_zeros_areZeros() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          try (Graph graph = Graph.of(w.torch());
              Tensor in = w.torch().zeros(Shape.of(2, 3), DType.F32, "x")) {
            F8Products.Scaled scaled =
                new F8Products(graph.compute()).scaled("x", in, 2, 3, DType.F8E4M3, List.of());
            assertThat(scaled.values().toDoubles()).containsOnly(0);
            assertThat(scaled.inverse().toDoubles()).containsExactly(1);
          }
        });
  }

  // ---- a layer, forwards and backwards ----

  private record Found(double[] y, double[] dx, double[] dw) {}

  private static Found layer(
      Ranks.Devices devices, DType type, double[] x, double[] w, double[] dy, int passes) {
    Found[] found = new Found[1];
    Ranks.run(
        devices,
        1,
        Mode.VALUES,
        worker -> {
          Parameter weight =
              new Parameter(
                  "w", worker.torch().from(w, Shape.of(OUT, IN), type, "w"), Sharding.REPLICATED);
          for (int pass = 0; pass < passes; pass++) {
            try (Graph graph =
                    Graph.of(worker.torch()).withF8(Optional.of(new F8(List.of(), List.of())));
                Tensor in = worker.torch().from(x, Shape.of(ROWS, IN), type, "x");
                Tensor grad = worker.torch().from(dy, Shape.of(ROWS, OUT), type, "dy")) {
              Variable input = graph.input(in);
              Variable y = F8Linear.apply(graph, input, weight, false);
              graph.backward(y, grad);
              found[0] =
                  new Found(
                      y.value().toDoubles(),
                      input.grad().orElseThrow().toDoubles(),
                      weight.grad().orElseThrow().toDoubles());
            }
          }
        });
    return found[0];
  }

  /** {@code sum a_il b_jl} in double. */
  private static void assertProduct(
      double[] found, int m, int n, int k, At a, At b, double unit, double times) {
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < n; j++) {
        double sum = 0;
        double size = 0;
        for (int l = 0; l < k; l++) {
          double product = a.at(i, l) * b.at(j, l);
          sum += product;
          size += Math.abs(product);
        }
        double allowed = (k + 4) * 0x1p-24 * size + unit * Math.abs(sum);
        assertThat(found[i * n + j] / times).isCloseTo(sum, within(allowed));
      }
    }
  }

  private interface At {
    double at(int row, int column);
  }

  @ParameterizedTest
  @EnumSource(names = {"F32", "BF16"})
  void layer_forwardsAndBackwards_isThatOfPlainLoops(DType type) {
    double[] x = Arrays.stream(random(3, ROWS * IN, 1)).map(type::round).toArray();
    double[] w = Arrays.stream(random(4, OUT * IN, 0.1)).map(type::round).toArray();
    double[] dy = Arrays.stream(random(5, ROWS * OUT, 1e-4)).map(type::round).toArray();
    Plain qx = Plain.of(x, DType.F8E4M3);
    Plain qw = Plain.of(w, DType.F8E4M3);
    Plain qd = Plain.of(dy, DType.F8E5M2);
    for (int passes = 1; passes <= 2; passes++) { // the second adds to the weight's gradient
      Found found = layer(Ranks.Devices.ONE_PE, type, x, w, dy, passes);
      double unit = type.unitRoundoff();
      assertProduct(
          found.y,
          ROWS,
          OUT,
          IN,
          (i, l) -> qx.at(i * IN + l),
          (j, l) -> qw.at(j * IN + l),
          unit,
          1);
      assertProduct(
          found.dx,
          ROWS,
          IN,
          OUT,
          (i, l) -> qd.at(i * OUT + l),
          (j, l) -> qw.at(l * IN + j),
          unit,
          1);
      assertProduct(
          found.dw,
          OUT,
          IN,
          ROWS,
          (i, l) -> qd.at(l * OUT + i),
          (j, l) -> qx.at(l * IN + j),
          0x1p-23,
          passes);
    }
  }

  /** Ranks that are cubes and packages have the bits of a rank that is one PE. */
  @Test
  void layer_onAllPes_hasTheSameBits() {
    double[] x = random(3, ROWS * IN, 1);
    double[] w = random(4, OUT * IN, 0.1);
    double[] dy = random(5, ROWS * OUT, 1e-4);
    Found one = layer(Ranks.Devices.ONE_PE, DType.F32, x, w, dy, 2);
    for (Ranks.Devices devices : List.of(Ranks.Devices.CUBES, Ranks.Devices.PACKAGES)) {
      Found other = layer(devices, DType.F32, x, w, dy, 2);
      assertThat(other.y).containsExactly(one.y);
      assertThat(other.dx).containsExactly(one.dx);
      assertThat(other.dw).containsExactly(one.dw);
    }
  }

  /** Two ranks with half of the rows each have the scale of all rows. */
  @Test
  void rows_ofTwoRanks_haveOneScale() {
    double[] x = random(3, 2 * ROWS * IN, 1);
    Plain expected = Plain.of(x, DType.F8E4M3);
    double[][] found = new double[2][];
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 2, false);
          double[] own = Arrays.copyOfRange(x, w.rank() * ROWS * IN, (w.rank() + 1) * ROWS * IN);
          try (Graph graph = Graph.of(w.torch());
              Tensor in = w.torch().from(own, Shape.of(ROWS, IN), DType.F32, "x")) {
            found[w.rank()] =
                new F8Products(graph.compute())
                    .scaled("x", in, ROWS, IN, DType.F8E4M3, List.of(layout.dpCp()))
                    .values()
                    .toDoubles();
          }
        });
    for (int r = 0; r < 2; r++) {
      assertThat(found[r])
          .containsExactly(Arrays.copyOfRange(expected.values, r * ROWS * IN, (r + 1) * ROWS * IN));
    }
  }

  /**
   * Four steps of two ranks with other rows: each scale is that of the two steps before, of both
   * ranks, and 1 in the first; inputs that grow are cut off.
   */
  @Test
  void delayed_scalesAreThoseOfEarlierSteps() {
    double[] sizes = {1, 50, 0.1, 3};
    double[] w = random(4, OUT * IN, 0.1);
    double[] dy = random(5, ROWS * OUT, 1e-4);
    double[][][] found = new double[2][sizes.length][];
    double[][][] slopes = new double[2][sizes.length][];
    Ranks.run(
        2,
        Mode.VALUES,
        worker -> {
          Torch torch = worker.torch();
          ParallelLayout layout = ParallelLayout.create(worker.distributed(), 1, 1, 2, false);
          Parameter weight =
              new Parameter(
                  "w", torch.from(w, Shape.of(OUT, IN), DType.F32, "w"), Sharding.REPLICATED);
          try (F8History history = new F8History(torch, 2);
              Tensor grad = torch.from(dy, Shape.of(ROWS, OUT), DType.F32, "dy")) {
            for (int step = 0; step < sizes.length; step++) {
              double[] x = random(100 * step + worker.rank(), ROWS * IN, sizes[step]);
              try (Graph graph = Graph.of(torch).withF8(Optional.of(F8.delayed(history)));
                  Tensor in = torch.from(x, Shape.of(ROWS, IN), DType.F32, "x")) {
                Variable input = graph.input(in);
                Variable y = F8Linear.apply(graph, input, weight, false);
                graph.backward(y, grad);
                found[worker.rank()][step] = y.value().toDoubles();
                slopes[worker.rank()][step] = input.grad().orElseThrow().toDoubles();
              }
              history.step(List.of(layout.dpCp()));
            }
          }
        });
    float[] most = new float[sizes.length];
    for (int step = 0; step < sizes.length; step++) {
      boolean first = step == 0;
      float before = first ? 0 : Math.max(most[step - 1], step > 1 ? most[step - 2] : 0);
      Plain qw = Plain.of(w, DType.F8E4M3, first ? 0 : Plain.largest(w));
      Plain qd = Plain.of(dy, DType.F8E5M2, first ? 0 : Plain.largest(dy));
      for (int r = 0; r < 2; r++) {
        double[] x = random(100 * step + r, ROWS * IN, sizes[step]);
        most[step] = Math.max(most[step], Plain.largest(x));
        Plain qx = Plain.of(x, DType.F8E4M3, before);
        assertProduct(
            found[r][step],
            ROWS,
            OUT,
            IN,
            (i, l) -> qx.at(i * IN + l),
            (j, l) -> qw.at(j * IN + l),
            0x1p-24,
            1);
        assertProduct(
            slopes[r][step],
            ROWS,
            IN,
            OUT,
            (i, l) -> qd.at(i * OUT + l),
            (j, l) -> qw.at(l * IN + j),
            0x1p-24,
            1);
      }
    }
    assertThat(most[1]).isGreaterThan(10 * most[0]);
  }
}
