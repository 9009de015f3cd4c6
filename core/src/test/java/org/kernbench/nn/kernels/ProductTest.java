package org.kernbench.nn.kernels;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.kernels.Compute.Factors;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.Layout;
import org.kernbench.torch.placement.Spread;

/** A product over a package: sums in f64 within rounding, and the bits of one PE. */
final class ProductTest {
  /** Extents that no number of tiles or PEs divides; enough tiles for all cubes to take part. */
  @ParameterizedTest
  @CsvSource({
    "f32, false, false, false",
    "f32, true, false, true",
    "bf16, false, true, false",
    "bf16, true, true, true",
    "f32, true, false, false",
  })
  void matmul_overAllCubes_bitsOfOnePe(String dtype, boolean at, boolean bt, boolean add) {
    Case product = new Case(DType.parse(dtype), 300, 395, 203, at, bt, add);
    double[] whole = product.on(Spread.ALL, Mode.FULL, false);
    assertThat(whole).isEqualTo(product.on(Spread.LEAD, Mode.VALUES, false));
    assertThat(whole).isEqualTo(product.on(Spread.CUBE, Mode.VALUES, false));
    assertThat(whole).isEqualTo(product.on(Spread.ALL, Mode.VALUES, true));
    product.check(whole);
  }

  /** One PE that makes many tiles at once and stores them late, and many that make few. */
  @ParameterizedTest
  @CsvSource({"f32, false", "bf16, true"})
  void matmul_inLargeBlocks_bitsOfSmallOnes(String dtype, boolean add) {
    Case product = new Case(DType.parse(dtype), 620, 700, 650, false, true, add);
    double[] large = product.on(Spread.LEAD, Mode.FULL, false);
    assertThat(large).isEqualTo(product.on(Spread.ALL, Mode.VALUES, false));
    product.check(large);
  }

  /**
   * Two products in one launch, what is made of them tile by tile, and a product of that, which
   * finds its copies there: the bits of one PE that does one after the other.
   */
  @ParameterizedTest
  @CsvSource({"f32, FULL", "bf16, FULL", "bf16, VALUES"})
  void matmuls_withAnEnding_bitsOfOneAfterTheOther(String dtype, Mode mode) {
    Together products = new Together(DType.parse(dtype), 300, 395, 203);
    assertThat(products.atOnce(mode)).isEqualTo(products.oneByOne());
  }

  /** A sum of products, and several products into gradients, each in one launch: likewise. */
  @ParameterizedTest
  @CsvSource({"f32, FULL", "bf16, FULL", "bf16, VALUES", "f64, VALUES"})
  void products_inOneLaunch_bitsOfOneAfterTheOther(String dtype, Mode mode) {
    Several products = new Several(DType.parse(dtype), 300, 395, List.of(203, 264, 331));
    assertThat(products.atOnce(mode)).isEqualTo(products.oneByOne());
  }

  /** Copies of operands are kept for the next product, but not beyond a change of the operand. */
  @Test
  void operand_writtenAgain_countsInTheNextProduct() {
    Machine machine = Machines.load("tiny", List.of());
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.VALUES).withSpread(Spread.ALL);
    int n = 300;
    try (Torch torch = Torch.open(machine, options)) {
      Tensor a = Compute.spread(torch, "a", Shape.of(n, n), DType.F32).fillInPlace(1);
      Tensor b = Compute.spread(torch, "b", Shape.of(n, n), DType.F32).fillInPlace(1);
      Tensor c = Compute.spread(torch, "c", Shape.of(n, n), DType.F32).fillInPlace(0);
      Compute compute = new Compute(torch, t -> t);
      Runnable product =
          () ->
              compute.matmulInto(
                  "product", Matrix.of(a, n, n), Matrix.of(b, n, n), c, false, false);
      product.run();
      assertThat(c.get(0, 0)).isEqualTo(n);

      b.fillInPlace(2); // by the host
      product.run();
      assertThat(c.get(7, 9)).isEqualTo(2 * n);

      torch.launch("step", tl -> tl.store(b, tl.load(b).mul(2)), b); // by a kernel, as optimizers
      compute.forgetPanels();
      product.run();
      assertThat(c.get(n - 1, n - 1)).isEqualTo(4 * n);
    }
  }

  /** Copies stay with a parameter from step to step, but not beyond a change, by whomever. */
  @Test
  void parameter_changed_countsInTheNextProduct() {
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.FULL).withSpread(Spread.ALL);
    int n = 300;
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), options)) {
      Tensor x = Compute.spread(torch, "x", Shape.of(n, n), DType.F32).fillInPlace(1);
      AtomicReference<Tensor> now = new AtomicReference<>();
      Tensor value = Compute.parameter(torch, "w", Shape.of(n, n), DType.F32).fillInPlace(1);
      now.set(value);
      KeptCopies kept = new KeptCopies();
      Supplier<List<Double>> products =
          () -> {
            Compute compute = new Compute(torch, t -> t);
            Matrix left = Matrix.of(x, n, n);
            Matrix right = Matrix.of(now.get(), n, n, kept);
            Tensor y = compute.matmul("y", left, right.transpose(), DType.F32);
            Tensor dx = compute.matmul("dx", left, right, DType.F32);
            compute.forgetPanels();
            return List.of(y.get(0, 0), y.get(n - 1, 7), dx.get(9, n - 1));
          };
      assertThat(products.get()).containsOnly((double) n);

      value.fillInPlace(2); // by the host, before any kernel
      assertThat(products.get()).containsOnly(2.0 * n);

      new Compute(torch, t -> t).mapInto("step", value, List.of(value), v -> v.get(0).mul(2));
      assertThat(products.get()).containsOnly(4.0 * n);

      torch.launch("other", tl -> tl.store(value, tl.load(value).mul(2)), value);
      assertThat(products.get()).containsOnly(8.0 * n);

      value.fillInPlace(3); // by the host, after kernels
      assertThat(products.get()).containsOnly(3.0 * n);

      now.set(Compute.parameter(torch, "v", Shape.of(n, n), DType.F32).fillInPlace(5));
      assertThat(products.get()).containsOnly(5.0 * n);
    }
  }

  /** Copies of parameters are given back when others need their room, and made anew. */
  @Test
  void parameter_copiesInTheWay_areGivenBackAndProductsGoOn() {
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.FULL).withSpread(Spread.ALL);
    int n = 300;
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), options)) {
      Tensor x = Compute.spread(torch, "x", Shape.of(n, n), DType.F32).fillInPlace(1);
      Tensor value = Compute.parameter(torch, "w", Shape.of(n, n), DType.F32).fillInPlace(2);
      KeptCopies copies = new KeptCopies();
      Supplier<Double> product =
          () -> {
            Compute compute = new Compute(torch, t -> t);
            Matrix right = Matrix.of(value, n, n, copies).transpose();
            Tensor y = compute.matmul("y", Matrix.of(x, n, n), right, DType.F32);
            compute.forgetPanels();
            double found = y.get(n - 1, 7);
            y.close();
            return found;
          };
      long before = torch.memory().mostBytes();
      assertThat(product.get()).isEqualTo(2.0 * n);
      assertThat(torch.hasGivenBack()).isFalse();
      long copy = (torch.memory().mostBytes() - before) / 2; // and more than that was in use

      long free = torch.memory().sliceBytes() - before;
      int rows = torch.mesh().size();
      int columns = Math.toIntExact((free - copy / 4) / 4);
      Layout all = Layout.all(torch.mesh(), new Layout.Rows());
      try (Tensor filler = torch.empty(Shape.of(rows, columns), DType.F32, all, "filler")) {
        assertThat(filler.isClosed()).isFalse();
        assertThat(torch.hasGivenBack()).isTrue();
      }
      assertThat(product.get()).isEqualTo(2.0 * n);
    }
  }

  private record Case(DType dtype, int m, int n, int k, boolean at, boolean bt, boolean add) {
    double[] on(Spread spread, Mode mode, boolean turned) {
      Machine machine = Machines.load("tiny", List.of());
      TorchOptions options = TorchOptions.DEFAULT.withMode(mode).withSpread(spread);
      try (Torch torch = Torch.open(machine, options)) {
        Tensor a = tensor(torch, "a", at ? k : m, at ? m : k);
        Tensor b = tensor(torch, "b", bt ? n : k, bt ? k : n);
        Tensor c = Compute.spread(torch, "c", Shape.of(m, n), DType.F32).fillInPlace(1);
        Matrix left = Matrix.of(a, at ? k : m, at ? m : k);
        Matrix right = Matrix.of(b, bt ? n : k, bt ? k : n);
        new Compute(torch, t -> t)
            .matmulInto(
                "product",
                at ? left.transpose() : left,
                bt ? right.transpose() : right,
                c,
                add,
                turned);
        return c.toDoubles();
      }
    }

    private Tensor tensor(Torch torch, String name, int rows, int columns) {
      return Compute.spread(torch, name, Shape.of(rows, columns), dtype)
          .copyInPlace(values(name, rows * columns));
    }

    private double[] values(String name, int count) {
      return new Random(name.hashCode()).doubles(count, -1, 1).map(x -> dtype.round(x)).toArray();
    }

    /** Against sums in f64, each within what so many additions in f32 may round. */
    void check(double[] found) {
      double[] a = values("a", m * k);
      double[] b = values("b", k * n);
      for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
          double sum = add ? 1 : 0;
          double size = 1;
          for (int l = 0; l < k; l++) {
            double term = a[at ? l * m + i : i * k + l] * b[bt ? j * k + l : l * n + j];
            sum += term;
            size += Math.abs(term);
          }
          assertThat(found[i * n + j])
              .isCloseTo(sum, org.assertj.core.data.Offset.offset(size * 1e-5));
        }
      }
    }
  }

  /**
   * {@code up = x u}, {@code gate = x g}, {@code active = silu(gate) up}, {@code next = active w}.
   */
  private record Together(DType dtype, int m, int n, int k) {
    List<List<Double>> atOnce(Mode mode) {
      try (Torch torch = open(mode, Spread.ALL)) {
        Compute compute = new Compute(torch, t -> t);
        Matrix x = matrix(torch, "x", m, k);
        List<Matrix> weights = List.of(matrix(torch, "u", k, n), matrix(torch, "g", k, n));
        Tensor active = compute.empty("active", Shape.of(m, n), dtype);
        Ending ending =
            new Ending(List.of(active), of -> List.of(of.getLast().silu().mul(of.getFirst())));
        assertThat(compute.makesAtOnce(x, weights, List.of(active))).isTrue();
        List<Tensor> made =
            compute.matmuls(
                List.of("up", "gate"), x, weights, Shape.of(m, n), dtype, Optional.of(ending));
        Tensor next = next(torch, compute, active);
        assertThat(compute.work()).containsKey("up").doesNotContainKeys("gate", "next-left");
        return values(List.of(made.get(0), made.get(1), active, next));
      }
    }

    List<List<Double>> oneByOne() {
      try (Torch torch = open(Mode.VALUES, Spread.LEAD)) {
        Compute compute = new Compute(torch, t -> t);
        Matrix x = matrix(torch, "x", m, k);
        Tensor up = compute.matmul("up", x, matrix(torch, "u", k, n), dtype);
        Tensor gate = compute.matmul("gate", x, matrix(torch, "g", k, n), dtype);
        Shape shape = Shape.of(m, n);
        Tensor silu = compute.map("silu", shape, dtype, List.of(gate), v -> v.get(0).silu());
        Tensor active =
            compute.map("mul", shape, dtype, List.of(silu, up), v -> v.get(0).mul(v.get(1)));
        return values(List.of(up, gate, active, next(torch, compute, active)));
      }
    }

    private Tensor next(Torch torch, Compute compute, Tensor active) {
      return compute.matmul("next", Matrix.of(active, m, n), matrix(torch, "w", n, m), dtype);
    }

    private static List<List<Double>> values(List<Tensor> of) {
      return of.stream().map(t -> Arrays.stream(t.toDoubles()).boxed().toList()).toList();
    }

    private static Torch open(Mode mode, Spread spread) {
      TorchOptions options = TorchOptions.DEFAULT.withMode(mode).withSpread(spread);
      return Torch.open(Machines.load("tiny", List.of()), options);
    }

    private Matrix matrix(Torch torch, String name, int rows, int columns) {
      double[] values = new Random(name.hashCode()).doubles((long) rows * columns, -1, 1).toArray();
      Tensor tensor = Compute.spread(torch, name, Shape.of(rows, columns), dtype);
      return Matrix.of(tensor.copyInPlace(values), rows, columns);
    }
  }

  /** {@code sum of a_i b_i}, and {@code c_i + a_i^T d} for each: k of every product is another. */
  private record Several(DType dtype, int m, int n, List<Integer> ks) {
    List<List<Double>> atOnce(Mode mode) {
      try (Torch torch = Together.open(mode, Spread.ALL)) {
        Compute compute = new Compute(torch, t -> t);
        List<Factors> sum = sum(torch);
        assertThat(compute.addsAtOnce(sum)).isTrue();
        Tensor all = compute.matmulSum("sum", sum, dtype, () -> {});
        List<Compute.Into> gradients = gradients(torch, compute);
        assertThat(compute.makesInOneLaunch(gradients.stream().map(Compute.Into::of).toList()))
            .isTrue();
        compute.matmulsInto("gradients", gradients);
        assertThat(compute.work().get("sum").launches()).isEqualTo(1);
        assertThat(compute.work().get("gradients").launches()).isEqualTo(1);
        return values(all, gradients);
      }
    }

    List<List<Double>> oneByOne() {
      try (Torch torch = Together.open(Mode.VALUES, Spread.LEAD)) {
        Compute compute = new Compute(torch, t -> t);
        Tensor all = null;
        for (Factors of : sum(torch)) {
          Tensor next = compute.matmul("product", of.a(), of.b(), dtype);
          all =
              all == null
                  ? next
                  : compute.mapRounded(
                      "add", next.shape(), dtype, List.of(all, next), x -> x.get(0).add(x.get(1)));
        }
        List<Compute.Into> gradients = gradients(torch, compute);
        for (Compute.Into to : gradients) {
          compute.matmulInto("gradient", to.of().a(), to.of().b(), to.c(), to.add(), true);
        }
        return values(Objects.requireNonNull(all), gradients);
      }
    }

    private List<Factors> sum(Torch torch) {
      Together tensors = new Together(dtype, m, n, 0);
      return ks.stream()
          .map(k ->
              new Factors(
                  tensors.matrix(torch, "a" + k, m, k), tensors.matrix(torch, "b" + k, k, n)))
          .toList();
    }

    private List<Compute.Into> gradients(Torch torch, Compute compute) {
      Together tensors = new Together(dtype, m, n, 0);
      Matrix d = tensors.matrix(torch, "d", m, n);
      List<Compute.Into> all = new ArrayList<>();
      for (int k : ks) {
        Matrix a = tensors.matrix(torch, "a" + k, m, k).transpose();
        Tensor c = Compute.parameter(torch, "c" + k, Shape.of(k, n), DType.F32);
        all.add(new Compute.Into(new Factors(a, d), c.fillInPlace(1), k % 2 == 0));
      }
      return all;
    }

    private static List<List<Double>> values(Tensor sum, List<Compute.Into> gradients) {
      return Together.values(
          Stream.concat(Stream.of(sum), gradients.stream().map(Compute.Into::c)).toList());
    }
  }
}
