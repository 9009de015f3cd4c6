package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.DoubleUnaryOperator;
import java.util.function.Function;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpLog;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tensor.UnaryOp;

/** Every function of the language against loops in double, and what each command costs. */
final class TlFunctionsTest {
  private static double[] fill(int n, IntToDoubleFunction f) {
    return IntStream.range(0, n).mapToDouble(f).toArray();
  }

  private static double[] uniform(long seed, int n, double low, double high, DType d) {
    SplittableRandom random = new SplittableRandom(seed);
    return fill(n, i -> d.round(random.nextDouble(low, high)));
  }

  /** What a kernel of one input and one output makes of it, with values and time. */
  private static double[] run(
      DType in, double[] x, int[] dims, DType out, int[] outDims, Function<Value, Value> f) {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var a = rig.tensor("a", 0, in, x, dims);
      var y = rig.zeros("y", 0, out, outDims);
      rig.run(tl -> tl.store(y, f.apply(tl.load(a))));
      return rig.read(y);
    }
  }

  /** A key that a kernel knows and one that it loads; words of the known answer of key 0. */
  @Test
  void rand_ofAKey_isTheSameWhereverItComesFrom() {
    double[] offsets = {2, 0, 3, 1};
    double[] words = {0xbc57ac, 0x6627e8, 0x9b00db, 0xe169c5};
    double[] expected = fill(4, i -> words[i] / 0x1p24);
    for (DType type : List.of(DType.I32, DType.I64)) {
      assertThat(
              run(
                  type,
                  offsets,
                  new int[] {2, 2},
                  DType.F32,
                  new int[] {2, 2},
                  v -> v.tl.rand(0, v)))
          .containsExactly(expected);
      assertThat(
              run(
                  type,
                  offsets,
                  new int[] {4},
                  DType.F32,
                  new int[] {4},
                  v -> v.tl.rand(v.range(1, 1).cast(DType.I64), v)))
          .containsExactly(expected);
    }
    Function<Value, Value> negative = v -> v.tl.rand(-1, v);
    assertThatThrownBy(
            () -> run(DType.I32, offsets, new int[] {4}, DType.F32, new int[] {4}, negative))
        .hasMessageContaining("rand with key -1; expected 0 to below 2^53");
    Function<Value, Value> wide = v -> v.tl.rand(v, v);
    assertThatThrownBy(() -> run(DType.I64, offsets, new int[] {4}, DType.F32, new int[] {4}, wide))
        .hasMessageContaining("expected one i64, and i32 or i64");
  }

  /** Every function of one operand that the language has: a new one has no reference yet. */
  @Test
  void unary_everyFunction_isWithinHalfAnUlpOfF32() {
    Map<String, DoubleUnaryOperator> reference = new TreeMap<>(unaryReferences());
    double[] x = uniform(1, 50, 0.1, 4, DType.F32);
    Set<String> functions = unaryFunctions();
    assertThat(functions).hasSize(UnaryOp.values().length - 1).doesNotContain("not");
    for (String name : functions) {
      DoubleUnaryOperator f = reference.remove(name);
      assertThat(f).as("reference of %s", name).isNotNull();
      double[] y = run(DType.F32, x, new int[] {50}, DType.F32, new int[] {50}, v -> call(v, name));
      for (int i = 0; i < 50; i++) {
        double want = f.applyAsDouble(x[i]);
        assertThat(y[i])
            .as("%s(%s)", name, x[i])
            .isCloseTo(want, within(Math.ulp((float) want) * 0.51));
      }
    }
    assertThat(reference).as("references of no function").isEmpty();
  }

  /** Methods of a value without arguments that compute in its type, by asking each. */
  private static Set<String> unaryFunctions() {
    Set<String> names = new java.util.TreeSet<>();
    for (Method m : Value.class.getMethods()) {
      if (m.getDeclaringClass() == Value.class
          && m.getReturnType() == Value.class
          && m.getParameterCount() == 0) {
        names.add(m.getName());
      }
    }
    names.remove("not"); // of integers; see below
    try (KernelRig rig = new KernelRig(Mode.TIME)) {
      rig.run(tl -> {
        Value v = tl.zeros(Shape.of(2, 3), DType.F32);
        names.removeIf(name -> !call(v, name).shape().equals(v.shape())); // views
      });
    }
    return names;
  }

  private static Map<String, DoubleUnaryOperator> unaryReferences() {
    Map<String, DoubleUnaryOperator> reference = new TreeMap<>();
    reference.put("neg", v -> -v);
    reference.put("abs", Math::abs);
    reference.put("exp", Math::exp);
    reference.put("exp2", v -> Math.pow(2, v));
    reference.put("log", Math::log);
    reference.put("log2", v -> Math.log(v) / Math.log(2));
    reference.put("sqrt", Math::sqrt);
    reference.put("rsqrt", v -> 1 / Math.sqrt(v));
    reference.put("reciprocal", v -> 1 / v);
    reference.put("sigmoid", v -> 1 / (1 + Math.exp(-v)));
    reference.put("silu", v -> v / (1 + Math.exp(-v)));
    reference.put("tanh", Math::tanh);
    reference.put("relu", v -> Math.max(v, 0));
    reference.put("sin", Math::sin);
    reference.put("cos", Math::cos);
    reference.put("floor", Math::floor);
    reference.put("ceil", Math::ceil);
    reference.put("erf", TlFunctionsTest::erf);
    reference.put("gelu", v -> v / 2 * (1 + erf(v / Math.sqrt(2))));
    reference.put(
        "geluTanh",
        v -> v / 2 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v * v * v))));
    return reference;
  }

  /** The series of Maclaurin, whose terms stay below 10^6 for x up to 4. */
  private static double erf(double x) {
    double sum = 0;
    double power = x;
    for (int n = 0; n < 100; n++) {
      sum += power / (2 * n + 1);
      power *= -x * x / (n + 1);
    }
    return 2 / Math.sqrt(Math.PI) * sum;
  }

  @Test
  void unary_erfAndGelu_inF64_areThePublishedValues() {
    double[] erf =
        run(DType.F64, new double[] {1}, new int[] {1}, DType.F64, new int[] {1}, Value::erf);
    assertThat(erf[0]).isCloseTo(0.8427007929497149, within(1e-13));
    double[] gelu =
        run(DType.F64, new double[] {1}, new int[] {1}, DType.F64, new int[] {1}, Value::gelu);
    assertThat(gelu[0]).isCloseTo(0.8413447460685429, within(1e-13));
    double[] approximate =
        run(DType.F64, new double[] {1}, new int[] {1}, DType.F64, new int[] {1}, Value::geluTanh);
    assertThat(approximate[0]).isCloseTo(0.8411919906082768, within(1e-13));
  }

  private static Value call(Value v, String name) {
    try {
      return (Value) Value.class.getMethod(name).invoke(v);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(name, e);
    }
  }

  @Test
  void scalars_onBothSides_areWhatTheySay() {
    double[] x = {1, 2, -4, 0.5};
    int[] four = {4};
    DType d = DType.F32;
    assertThat(run(d, x, four, d, four, v -> v.rsub(3))).containsExactly(2, 1, 7, 2.5);
    assertThat(run(d, x, four, d, four, v -> v.rdiv(2))).containsExactly(2, 1, -0.5, 4);
    assertThat(run(d, x, four, d, four, v -> v.pow(2))).containsExactly(1, 4, 16, 0.25);
    assertThat(run(d, x, four, d, four, v -> v.rem(1.5))).containsExactly(1, 0.5, -1, 0.5);
    assertThat(run(d, x, four, d, four, v -> v.maximum(1))).containsExactly(1, 2, 1, 1);
    assertThat(run(d, x, four, d, four, v -> v.minimum(1))).containsExactly(1, 1, -4, 0.5);
    assertThat(run(d, x, four, d, four, v -> v.clamp(-1, 1))).containsExactly(1, 1, -1, 0.5);
    assertThat(run(d, x, four, d, four, v -> v.clamp(1, 1))).containsOnly(1);
    assertThat(run(d, x, four, d, four, v -> v.fma(v, v.add(1)))).containsExactly(3, 7, 13, 1.75);
    assertThat(run(d, x, four, d, four, v -> v.sub(v).div(v.sub(v)))).containsOnly(Double.NaN);
  }

  @Test
  void integers_bitsAndShifts_matchJava() {
    double[] x = {5, -7, 1 << 20, 0};
    int[] four = {4};
    DType d = DType.I32;
    assertThat(run(d, x, four, d, four, v -> v.and(v.add(3))))
        .containsExactly(5 & 8, -7 & -4, 1 << 20, 0);
    assertThat(run(d, x, four, d, four, v -> v.or(v.add(3))))
        .containsExactly(5 | 8, -7 | -4, 1048579, 3);
    assertThat(run(d, x, four, d, four, v -> v.xor(v.not()))).containsOnly(-1);
    assertThat(run(d, x, four, d, four, v -> v.shl(12))).containsExactly(5 << 12, -7 << 12, 0, 0);
    assertThat(run(d, x, four, d, four, v -> v.shr(1))).containsExactly(2, -4, 1 << 19, 0);
    assertThat(run(d, x, four, d, four, v -> v.div(2))).containsExactly(2, -3, 1 << 19, 0);
  }

  @Test
  void comparisonsAndWhere_withNanAndBroadcast_matchLoops() {
    double[] x = {1, 2, Double.NaN, 4, 5, 6};
    int[] dims = {2, 3};
    DType d = DType.F32;
    Function<Value, Value> asNumber = v -> v.cast(DType.F32);
    assertThat(run(d, x, dims, d, dims, v -> asNumber.apply(v.lt(4))))
        .containsExactly(1, 1, 0, 0, 0, 0);
    assertThat(run(d, x, dims, d, dims, v -> asNumber.apply(v.le(4))))
        .containsExactly(1, 1, 0, 1, 0, 0);
    assertThat(run(d, x, dims, d, dims, v -> asNumber.apply(v.gt(4))))
        .containsExactly(0, 0, 0, 0, 1, 1);
    assertThat(run(d, x, dims, d, dims, v -> asNumber.apply(v.ge(4))))
        .containsExactly(0, 0, 0, 1, 1, 1);
    assertThat(run(d, x, dims, d, dims, v -> asNumber.apply(v.eq(v))))
        .containsExactly(1, 1, 0, 1, 1, 1);
    assertThat(run(d, x, dims, d, dims, v -> asNumber.apply(v.ne(4))))
        .containsExactly(1, 1, 1, 0, 1, 1);
    assertThat(run(d, x, dims, d, dims, v -> v.tl.where(v.eq(v), v, -1)))
        .containsExactly(1, 2, -1, 4, 5, 6);
    assertThat(run(d, x, dims, d, dims, v -> v.tl.where(v.gt(1), 9, v)))
        .containsExactly(1, 9, Double.NaN, 9, 9, 9);
    // a causal mask from positions: rows + 1 >= columns
    assertThat(
            run(
                d,
                x,
                dims,
                d,
                dims,
                v -> {
                  Value row = v.tl.arange(0, 2).expandDims(1);
                  Value column = v.tl.arange(0, 3).expandDims(0);
                  return v.tl.where(row.ge(column), v, Double.NEGATIVE_INFINITY);
                }))
        .containsExactly(
            1, Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY, 4, 5, Double.NEGATIVE_INFINITY);
  }

  @Test
  void alongAnAxis_everyFunction_matchesLoops() {
    double[] x = uniform(3, 2 * 4 * 3, -3, 3, DType.F32);
    int[] dims = {2, 4, 3};
    int[] rest = {2, 3};
    DType d = DType.F32;
    double[] argmax = run(d, x, dims, DType.I32, rest, v -> v.argmax(1));
    double[] argmin = run(d, x, dims, DType.I32, rest, v -> v.argmin(-2));
    double[] product = run(d, x, dims, d, rest, v -> v.prod(1));
    double[] sums = run(d, x, dims, d, dims, v -> v.cumsum(1));
    double[] soft = run(d, x, dims, d, dims, v -> v.softmax(1));
    for (int o = 0; o < 2; o++) {
      for (int i = 0; i < 3; i++) {
        int first = o * 12 + i;
        int best = 0;
        int least = 0;
        double all = 1;
        double sum = 0;
        double exps = 0;
        for (int k = 0; k < 4; k++) {
          double v = x[first + 3 * k];
          best = v > x[first + 3 * best] ? k : best;
          least = v < x[first + 3 * least] ? k : least;
          all *= v;
          sum += v;
          exps += Math.exp(v);
          assertThat(sums[first + 3 * k]).isCloseTo(sum, within(1e-6));
        }
        for (int k = 0; k < 4; k++) {
          assertThat(soft[first + 3 * k])
              .isCloseTo(Math.exp(x[first + 3 * k]) / exps, within(1e-6));
        }
        assertThat(argmax[o * 3 + i]).isEqualTo(best);
        assertThat(argmin[o * 3 + i]).isEqualTo(least);
        assertThat(product[o * 3 + i]).isCloseTo(all, within(1e-5));
      }
    }
    double inf = Double.NEGATIVE_INFINITY;
    assertThat(
            run(
                d,
                new double[] {inf, inf, 0, inf},
                new int[] {2, 2},
                d,
                new int[] {2, 2},
                v -> v.softmax(1)))
        .containsExactly(Double.NaN, Double.NaN, 1, 0);
  }

  @Test
  void broadcast_rowsColumnsScalars_asInTriton() {
    double[] x = fill(12, i -> i);
    int[] dims = {3, 4};
    DType d = DType.F32;
    assertThat(run(d, x, dims, d, dims, v -> v.sub(v.max(1).expandDims(1))))
        .isEqualTo(fill(12, i -> i % 4 - 3));
    assertThat(run(d, x, dims, d, dims, v -> v.add(v.narrow(0, 1, 1))))
        .isEqualTo(fill(12, i -> i + 4 + i % 4));
    assertThat(run(d, x, dims, d, dims, v -> v.mul(v.sum(0).sum(0))))
        .isEqualTo(fill(12, i -> i * 66));
    assertThat(run(d, x, dims, d, dims, v -> v.narrow(1, 2, 1).add(v.narrow(0, 2, 1))))
        .isEqualTo(fill(12, i -> i / 4 * 4 + 2 + 8 + i % 4));
    assertThat(run(d, new double[] {7}, new int[] {1}, d, dims, v -> v.broadcastTo(Shape.of(3, 4))))
        .containsOnly(7);
  }

  @Test
  void views_ofViews_matchLoops() {
    double[] x = fill(24, i -> i);
    int[] dims = {2, 3, 4};
    DType d = DType.F16;
    assertThat(run(d, x, dims, d, new int[] {2, 4, 3}, v -> v.trans()))
        .isEqualTo(fill(24, i -> i / 12 * 12 + i % 3 * 4 + i % 12 / 3));
    assertThat(run(d, x, dims, d, new int[] {4, 2, 3}, v -> v.permute(2, 0, 1).add(0)))
        .isEqualTo(fill(24, i -> i % 6 * 4 + i / 6));
    assertThat(
            run(d, x, dims, d, new int[] {2, 2, 2}, v -> v.narrow(1, 1, 2).narrow(2, 1, 2).neg()))
        .containsExactly(-5, -6, -9, -10, -17, -18, -21, -22);
    assertThat(
            run(
                d,
                x,
                dims,
                d,
                new int[] {8},
                v ->
                    v.narrow(2, 3, 1)
                        .reshape(6)
                        .range(0, 6)
                        .tl
                        .concat(0, v.narrow(2, 3, 1).reshape(6), v.range(0, 2))))
        .containsExactly(3, 7, 11, 15, 19, 23, 0, 1);
    assertThat(
            run(
                d,
                x,
                dims,
                d,
                new int[] {2, 5, 4},
                v -> {
                  List<Value> parts = v.split(1, 1, 2);
                  return v.tl.concat(1, parts.get(1), parts.get(0), parts.get(1));
                }))
        .isEqualTo(fill(40, i -> i / 20 * 12 + new int[] {1, 2, 0, 1, 2}[i % 20 / 4] * 4 + i % 4));
    assertThat(run(d, x, dims, DType.F32, new int[] {4}, v -> v.tl.arange(1, 0.5, 4, DType.F32)))
        .containsExactly(1, 1.5, 2, 2.5);
  }

  @Test
  void dot_transposedOperands_matchesLoops() {
    int m = 5;
    int n = 7;
    int k = 6;
    double[] a = uniform(8, k * m, -2, 2, DType.F16);
    double[] b = uniform(9, n * k, -2, 2, DType.F16);
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var ta = rig.tensor("a", 0, DType.F16, a, k, m);
      var tb = rig.tensor("b", 0, DType.F16, b, n, k);
      var out = rig.zeros("out", 0, DType.F32, m, n);
      rig.run(tl -> tl.store(out, tl.dot(tl.load(ta).trans(), tl.load(tb).trans(), DType.F32)));
      double[] want = new double[m * n];
      for (int i = 0; i < m * n; i++) {
        float sum = 0;
        for (int p = 0; p < k; p++) {
          sum = Math.fma((float) a[p * m + i / n], (float) b[i % n * k + p], sum);
        }
        want[i] = sum;
      }
      assertThat(rig.read(out)).isEqualTo(want);
    }
  }

  @Test
  void dot_f64AndI8_accumulateInTheirOwnType() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var a = rig.tensor("a", 0, DType.F64, new double[] {1 + 0x1p-30}, 1, 1);
      var out = rig.zeros("out", 0, DType.F64, 1, 1);
      var bytes = rig.tensor("bytes", 0, DType.I8, new double[] {100, 100}, 1, 2);
      var wide = rig.zeros("wide", 0, DType.I32, 1, 1);
      rig.run(tl -> {
        Value v = tl.load(a);
        tl.store(out, tl.dot(v, v, tl.full(Shape.of(1, 1), -1 - 0x1p-29, DType.F64)));
        Value i = tl.load(bytes);
        tl.store(wide, tl.dot(i, i.trans()));
      });
      assertThat(rig.read(out)).containsExactly(0x1p-60);
      assertThat(rig.read(wide)).containsExactly(20_000);
    }
  }

  @Test
  void wrongUse_ofViewsMasksAndAxes_isToldWithWhatWasExpected() {
    try (KernelRig rig = new KernelRig(Mode.VALUES)) {
      rig.run(tl -> {
        Value v = tl.zeros(Shape.of(2, 3), DType.F32);
        assertThatThrownBy(() -> v.narrow(1, 2, 2))
            .hasMessageContaining("[2, 4)")
            .hasMessageContaining("3");
        assertThatThrownBy(() -> v.split(1, 1, 1)).hasMessageContaining("add up to 3");
        assertThatThrownBy(() -> v.permute(0, 0)).hasMessageContaining("each of 0..1");
        assertThatThrownBy(() -> v.expandDims(4)).hasMessageContaining("-3..2");
        assertThatThrownBy(() -> v.broadcastTo(Shape.of(2, 4))).isInstanceOf(ShapeException.class);
        assertThatThrownBy(() -> v.range(0, 3).trans()).hasMessageContaining("two axes");
        assertThatThrownBy(() -> tl.where(v, v, v)).hasMessageContaining("expected bool");
        assertThatThrownBy(() -> tl.concat(0, v, v.narrow(1, 0, 2)))
            .hasMessageContaining("equal extents");
        assertThatThrownBy(() -> v.clamp(2, 1)).hasMessageContaining("low <= high");
        assertThatThrownBy(() -> v.and(v)).hasMessageContaining("not defined on f32");
        assertThatThrownBy(() -> v.softmax(2)).hasMessageContaining("axis 2");
      });
    }
  }

  /** Views are free; everything else is one command that takes time. */
  @Test
  void everyMethod_ofAValue_isAViewOrOneCommandWithACost() {
    Set<String> views =
        Set.of(
            "range", "reshape", "narrow", "split", "trans", "permute", "expandDims", "broadcastTo");
    Set<String> seen = new java.util.TreeSet<>();
    for (Method m : Value.class.getMethods()) {
      boolean makes = m.getReturnType() == Value.class || m.getReturnType() == List.class;
      if (m.getDeclaringClass() != Value.class || !makes || Modifier.isStatic(m.getModifiers())) {
        continue;
      }
      seen.add(m.getName());
      try (KernelRig rig = new KernelRig(Mode.TIME)) {
        boolean bits = Set.of("and", "or", "xor", "shl", "shr", "not").contains(m.getName());
        rig.run(tl -> {
          Value v = tl.zeros(Shape.of(4, 6), bits ? DType.I32 : DType.F32);
          invoke(m, v);
        });
        OpLog log = rig.sim.opLog();
        boolean view = views.contains(m.getName());
        assertThat(log.completed()).as("commands of %s", m).isEqualTo(view ? 1 : 2);
        if (!view) {
          assertThat(log.endPs(1) - log.startPs(1)).as("time of %s", m).isPositive();
        }
      }
    }
    assertThat(seen).hasSizeGreaterThan(50).containsAll(views);
  }

  private static void invoke(Method m, Value v) {
    List<Object> arguments = new ArrayList<>();
    for (Class<?> type : m.getParameterTypes()) {
      if (type == Value.class) {
        arguments.add(v);
      } else if (type == double.class) {
        arguments.add(1.5 + arguments.size());
      } else if (type == int.class) {
        arguments.add(1);
      } else if (type == int[].class) {
        arguments.add(
            switch (m.getName()) {
              case "split" -> new int[] {2, 4};
              case "reshape" -> new int[] {6, 4};
              default -> new int[] {1, 0};
            });
      } else if (type == DType.class) {
        arguments.add(DType.F16);
      } else if (type == Shape.class) {
        arguments.add(Shape.of(2, 4, 6));
      } else {
        throw new AssertionError("no argument for " + m);
      }
    }
    try {
      m.invoke(v, arguments.toArray());
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new AssertionError(m + " with " + Arrays.toString(arguments.toArray()), e);
    }
  }
}
