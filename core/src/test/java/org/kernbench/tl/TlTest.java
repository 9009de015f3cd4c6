package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.DoubleBinaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;

/** What kernels compute, against references in Java; and what they are told when they are wrong. */
final class TlTest {
  private static double[] random(long seed, int n, DType d) {
    Random r = new Random(seed);
    return IntStream.range(0, n)
        .mapToDouble(i -> d.isFloatingPoint() ? d.round(r.nextDouble(-4, 4)) : r.nextInt(2))
        .toArray();
  }

  @ParameterizedTest
  @EnumSource(DType.class)
  void loadAndStore_everyType_keepsTheBytes(DType d) {
    for (Mode mode : List.of(Mode.FULL, Mode.VALUES)) {
      try (KernelRig rig = new KernelRig(mode)) {
        double[] data = random(1, 100, d);
        var in = rig.tensor("in", 0, d, data, 100);
        var out = rig.zeros("out", 0, d, 100);
        rig.run(tl -> tl.store(out, tl.load(in)));
        assertThat(rig.read(out)).isEqualTo(data);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"F32", "F16", "BF16"})
  void arithmetic_floats_isComputedInFloatAndRoundedOnce(DType d) {
    record Case(BiFunction<Value, Value, Value> op, DoubleBinaryOperator reference) {}
    List<Case> cases =
        List.of(
            new Case(Value::add, (a, b) -> (float) a + (float) b),
            new Case(Value::sub, (a, b) -> (float) a - (float) b),
            new Case(Value::mul, (a, b) -> (float) a * (float) b),
            new Case(Value::div, (a, b) -> (float) a / (float) b),
            new Case(Value::maximum, Math::max),
            new Case(Value::minimum, Math::min),
            new Case((a, b) -> a.neg().add(b.abs()), (a, b) -> (float) -a + (float) Math.abs(b)),
            new Case((a, b) -> a.mul(3).add(-1), (a, b) -> (float) d.round((float) a * 3f) + -1f));
    double[] x = random(2, 65, d);
    double[] y = random(3, 65, d);
    for (Case c : cases) {
      try (KernelRig rig = new KernelRig(Mode.FULL)) {
        var a = rig.tensor("a", 0, d, x, 65);
        var b = rig.tensor("b", 0, d, y, 65);
        var out = rig.zeros("out", 0, d, 65);
        rig.run(tl -> tl.store(out, c.op.apply(tl.load(a), tl.load(b))));
        double[] expected =
            IntStream.range(0, 65)
                .mapToDouble(i -> d.round(c.reference.applyAsDouble(x[i], y[i])))
                .toArray();
        assertThat(rig.read(out)).isEqualTo(expected);
      }
    }
  }

  @Test
  void ref_wholeShard_movesNothingAndKeepsTheShape() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      double[] data = random(4, 6, DType.F32);
      var in = rig.tensor("in", 0, DType.F32, data, 2, 3);
      var out = rig.zeros("out", 0, DType.F32, 2, 3);
      rig.run(tl -> {
        double before = tl.clock();
        Slice from = tl.ref(in);
        Slice to = tl.ref(out);
        assertThat(tl.clock()).isEqualTo(before);
        Value value = tl.load(from);
        assertThat(value.shape()).isEqualTo(Shape.of(2, 3));
        tl.store(to, value);
      });
      assertThat(rig.read(out)).isEqualTo(data);
    }
  }

  @Test
  void block_rowsAndColumns_readsAndWritesOnlyThose() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      double[] x = IntStream.range(0, 7 * 9).asDoubleStream().toArray();
      var in = rig.tensor("in", 0, DType.F16, x, 7, 9);
      var out = rig.tensor("out", 0, DType.F16, new double[0], 8, 5);
      rig.run(
          tl -> tl.store(tl.shard(out).block(2, 3, 1, 4), tl.load(tl.shard(in).block(3, 3, 5, 4))));
      double[] expected = new double[40];
      for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 4; k++) {
          expected[(2 + r) * 5 + 1 + k] = x[(3 + r) * 9 + 5 + k];
        }
      }
      assertThat(rig.read(out)).isEqualTo(expected);
    }
  }

  @Test
  void views_rangeAndReshape_shareTheBytes() {
    try (KernelRig rig = new KernelRig(Mode.FULL).connect(0, "E", 1, "W")) {
      double[] x = IntStream.range(0, 24).asDoubleStream().toArray();
      var in = rig.tensor("in", 0, DType.F32, x, 24);
      var sums = rig.zeros("sums", 0, DType.F32, 4);
      var sent = rig.zeros("sent", 1, DType.F32, 3);
      var nested = rig.zeros("nested", 1, DType.F32, 2);
      rig.run(
          tl -> {
            Value v = tl.load(in);
            tl.store(sums, v.range(8, 12).reshape(3, 4).sum(0));
            tl.send("E", v.range(5, 3));
            tl.send("E", v.range(5, 9).range(2, 2));
          },
          tl -> {
            Value v = tl.recv("W", Shape.of(3), DType.F32);
            tl.store(sent, v);
            tl.store(nested, tl.recv("W", Shape.of(2), DType.F32).range(0, 2));
          });
      assertThat(rig.read(sums))
          .containsExactly(8 + 12 + 16, 9 + 13 + 17, 10 + 14 + 18, 11 + 15 + 19);
      assertThat(rig.read(sent)).containsExactly(5, 6, 7);
      assertThat(rig.read(nested)).containsExactly(7, 8);
    }
  }

  @Test
  void reductionsAndCast_everyAxis_matchLoops() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      double[] x = random(4, 2 * 3 * 5, DType.F32);
      var in = rig.tensor("in", 0, DType.F32, x, 2, 3, 5);
      var max0 = rig.zeros("max0", 0, DType.F32, 3, 5);
      var min1 = rig.zeros("min1", 0, DType.F32, 2, 5);
      var sum2 = rig.zeros("sum2", 0, DType.F16, 2, 3);
      rig.run(tl -> {
        Value v = tl.load(in);
        tl.store(max0, v.max(0));
        tl.store(min1, v.min(1));
        tl.store(sum2, v.sum(2).cast(DType.F16));
      });
      assertThat(rig.read(max0))
          .isEqualTo(IntStream.range(0, 15).mapToDouble(i -> Math.max(x[i], x[15 + i])).toArray());
      assertThat(rig.read(min1))
          .isEqualTo(
              IntStream.range(0, 10)
                  .mapToDouble(i ->
                      IntStream.range(0, 3)
                          .mapToDouble(k -> x[i / 5 * 15 + k * 5 + i % 5])
                          .min()
                          .orElseThrow())
                  .toArray());
      double[] sums = new double[6];
      for (int i = 0; i < 6; i++) {
        float s = 0;
        for (int k = 0; k < 5; k++) {
          s += (float) x[i * 5 + k];
        }
        sums[i] = DType.F16.round(s);
      }
      assertThat(rig.read(sum2)).isEqualTo(sums);
    }
  }

  @Test
  void dot_withAccumulator_isFusedInAscendingK() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      int m = 5;
      int n = 4;
      int k = 9;
      double[] a = random(5, m * k, DType.F16);
      double[] b = random(6, k * n, DType.F16);
      var ta = rig.tensor("a", 0, DType.F16, a, m, k);
      var tb = rig.tensor("b", 0, DType.F16, b, k, n);
      var twice = rig.zeros("twice", 0, DType.F32, m, n);
      var once = rig.zeros("once", 0, DType.F16, m, n);
      rig.run(tl -> {
        Value x = tl.load(ta);
        Value y = tl.load(tb);
        tl.store(once, tl.dot(x, y));
        tl.store(twice, tl.dot(x, y, tl.dot(x, y, tl.full(Shape.of(m, n), 1, DType.F32))));
      });
      double[] expectedTwice = new double[m * n];
      double[] expectedOnce = new double[m * n];
      for (int i = 0; i < m * n; i++) {
        float acc = 1;
        float zero = 0;
        for (int round = 0; round < 2; round++) {
          for (int t = 0; t < k; t++) {
            acc = Math.fma((float) a[i / n * k + t], (float) b[t * n + i % n], acc);
            zero =
                round == 0
                    ? Math.fma((float) a[i / n * k + t], (float) b[t * n + i % n], zero)
                    : zero;
          }
        }
        expectedTwice[i] = acc;
        expectedOnce[i] = DType.F16.round(zero);
      }
      assertThat(rig.read(twice)).isEqualTo(expectedTwice);
      assertThat(rig.read(once)).isEqualTo(expectedOnce);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void item_kernelBranchesOnData_takesTheRightWay(Mode mode) {
    try (KernelRig rig = new KernelRig(mode)) {
      var in = rig.tensor("in", 0, DType.F32, new double[] {100, 7}, 2);
      var out = rig.zeros("out", 0, DType.F32, 1);
      rig.run(tl -> {
        Value v = tl.load(in);
        Value x = v.range(0, 1);
        int halvings = 0;
        while (tl.item(x) > 1) {
          x = x.mul(0.5);
          halvings++;
        }
        tl.store(out, tl.full(Shape.of(1), halvings + tl.item(v.range(1, 1)), DType.F32));
      });
      assertThat(rig.read(out)).containsExactly(7 + 7);
    }
  }

  @Test
  void item_modeTime_saysWhichModesHaveData() {
    try (KernelRig rig = new KernelRig(Mode.TIME)) {
      assertThatThrownBy(() -> rig.run(tl -> tl.item(tl.full(Shape.of(1), 1, DType.F32))))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("mode full or values");
    }
  }

  @Test
  void clock_aroundAnAwait_measuresTheStore() {
    try (KernelRig rig = new KernelRig(Mode.TIME)) {
      var out = rig.zeros("out", 0, DType.F32, 1000);
      List<Double> clocks = new ArrayList<>();
      rig.run(tl -> {
        Value v = tl.full(Shape.of(1000), 1, DType.F32);
        tl.awaitAll();
        clocks.add(tl.clock());
        tl.await(tl.store(out, v));
        clocks.add(tl.clock());
      });
      // 1 dispatch + 28 set-up + 2 + 7.25 + 30.5 there + bytes + 7.25 + 4 back
      assertThat(clocks.get(1) - clocks.get(0))
          .isBetween(80 + 4000 / 217.6, 80 + 4000 / 217.6 + 0.005);
    }
  }

  @Test
  void emptySlice_loadComputeStoreSend_works() {
    for (Mode mode : Mode.values()) {
      try (KernelRig rig = new KernelRig(mode).connect(0, "E", 1, "W")) {
        var t = rig.zeros("t", 0, DType.F32, 4);
        rig.run(
            tl -> {
              Value none = tl.load(tl.shard(t).range(2, 0)).add(1);
              tl.store(tl.shard(t).range(4, 0), none);
              tl.send("E", none);
            },
            tl -> tl.recv("W", Shape.of(0), DType.F32).neg());
      }
    }
  }

  @Test
  void programId_everyPe_isItsCoordinate() {
    try (KernelRig rig = new KernelRig(Mode.TIME)) {
      List<int[]> ids = new ArrayList<>();
      Kernel k =
          tl ->
              ids.add(
                  new int[] {
                    tl.programId(0),
                    tl.programId(1),
                    tl.programId(2),
                    tl.numPrograms(0),
                    tl.numPrograms(1),
                    tl.numPrograms(2)
                  });
      Kernel[] all = new Kernel[8];
      Arrays.fill(all, k);
      rig.run(all);
      for (int i = 0; i < 8; i++) {
        assertThat(ids.get(i)).containsExactly(i % 2, i / 2, 0, 2, 4, 1);
      }
      assertThatThrownBy(() -> rig.run(tl -> tl.programId(3)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("axis 3");
    }
  }

  /** Numbers that a type does not have are not made to others. */
  @Test
  void constants_thatATypeDoesNotHave_areRefused() {
    Shape four = Shape.of(4);
    String not = "is not a value of";
    assertFails(tl -> tl.full(four, 300, DType.I8), ShapeException.class, "300", not, "i8");
    assertFails(tl -> tl.full(four, 0.5, DType.I32), ShapeException.class, "0.5", not, "i32");
    assertFails(tl -> tl.arange(0, 0.25, 4, DType.I32), ShapeException.class, "0.75", not);
    assertFails(tl -> tl.arange(0, 0.5, 3, DType.I32), ShapeException.class, "0.5", not);
    assertFails(tl -> tl.arange(0, 1, 200, DType.I8), ShapeException.class, "199", not, "i8");
    assertFails(
        tl -> {
          Value i8 = tl.zeros(four, DType.I8);
          tl.where(i8.ne(0), i8, 300);
        },
        ShapeException.class,
        "300",
        not);
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      rig.run(tl -> {
        tl.full(four, 127, DType.I8);
        tl.arange(0, 1, 128, DType.I8);
        tl.arange(5, -1, 0, DType.I8);
        tl.full(four, Double.NEGATIVE_INFINITY, DType.F16);
      });
    }
  }

  /**
   * A value is known when it is computed: the error names kernel, PE and what to do all the same.
   */
  @Test
  void division_byZero_namesTheKernelAndItsPe() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      assertThatThrownBy(() ->
              rig.run(tl -> {
                Value one = tl.full(Shape.of(1), 1, DType.I32);
                one.div(tl.zeros(Shape.of(1), DType.I32));
              }))
          .message()
          .startsWith("kernel ")
          .contains(
              " at sip0.cube0.pe0: integer division by zero; mask the lanes or use floats" + "");
    }
  }

  private static void assertFails(Kernel kernel, Class<? extends Exception> type, String... parts) {
    for (Mode mode : List.of(Mode.TIME, Mode.VALUES)) {
      try (KernelRig rig = new KernelRig(mode).connect(0, "E", 1, "W")) {
        assertThatThrownBy(() -> rig.run(kernel)).isInstanceOf(type).message().contains(parts);
      }
    }
  }

  @Test
  void wrongUse_shapesTypesRangesDirections_isToldWithWhatToDo() {
    Shape four = Shape.of(4);
    assertFails(
        tl -> tl.zeros(four, DType.F32).add(tl.zeros(Shape.of(5), DType.F32)),
        ShapeException.class,
        "ADD",
        "f32[4]",
        "f32[5]",
        "expected equal extents or 1");
    assertFails(
        tl -> tl.zeros(four, DType.F32).add(tl.zeros(four, DType.F16)),
        ShapeException.class,
        "f16[4]",
        "cast");
    assertFails(tl -> tl.zeros(four, DType.F32).sum(1), ShapeException.class, "axis 1", "0..0");
    assertFails(
        tl -> tl.zeros(four, DType.F32).range(2, 3),
        IndexOutOfBoundsException.class,
        "[2, 5)",
        "it has 4");
    assertFails(tl -> tl.zeros(four, DType.F32).reshape(3), ShapeException.class, "[3]", "4");
    assertFails(
        tl -> tl.zeros(four, DType.I32).exp(), ShapeException.class, "exp is not defined on i32");
    assertFails(tl -> tl.zeros(four, DType.I32).softmax(0), ShapeException.class, "softmax", "i32");
    assertFails(
        tl -> tl.zeros(four, DType.I32).add(1.5),
        ShapeException.class,
        "1.5",
        "not a value of i32");
    assertFails(tl -> tl.zeros(four, DType.I8).lt(300), ShapeException.class, "300", "value of i8");
    assertFails(
        tl -> tl.zeros(Shape.of(2, 0), DType.F32).max(1), ShapeException.class, "empty axis");
    assertFails(
        tl -> tl.zeros(Shape.of(2, 0), DType.F32).argmin(1), ShapeException.class, "empty axis");
    assertFails(tl -> tl.zeros(four, DType.F32).clamp(2, 1), ShapeException.class, "low <= high");
    assertFails(
        tl -> tl.dot(tl.zeros(Shape.of(2, 3), DType.F16), tl.zeros(Shape.of(2, 3), DType.F16)),
        ShapeException.class,
        "[m, k] and [k, n]");
    assertFails(
        tl -> tl.item(tl.zeros(four, DType.F32)), ShapeException.class, "exactly one element");
    assertFails(
        tl -> tl.send("N", tl.zeros(four, DType.F32)),
        SimulationException.class,
        "direction N",
        "installed are E");
    assertFails(tl -> tl.recv("W", four, DType.F32), SimulationException.class, "direction W");
  }

  @Test
  void wrongPlace_outOfRangeOrNoShard_namesTensorIndexAndExtent() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var x = rig.zeros("x", 0, DType.F32, 4, 6);
      var far = rig.zeros("far", 1, DType.F32, 4);
      assertThatThrownBy(() -> rig.run(tl -> tl.load(tl.shard(x).range(20, 5))))
          .isInstanceOf(IndexOutOfBoundsException.class)
          .message()
          .contains("tensor x", "[20, 25)", "24");
    }
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var x = rig.zeros("x", 0, DType.F32, 4, 6);
      assertThatThrownBy(() -> rig.run(tl -> tl.load(tl.shard(x).block(0, 4, 5, 2))))
          .message()
          .contains("tensor x", "columns [5, 7)", "6");
    }
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var far = rig.zeros("far", 1, DType.F32, 4);
      assertThatThrownBy(() -> rig.run(tl -> tl.load(far)))
          .message()
          .contains("tensor far", rig.pe(0).toString());
    }
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var x = rig.zeros("x", 0, DType.F32, 4);
      assertThatThrownBy(() -> rig.run(tl -> tl.store(x, tl.zeros(Shape.of(5), DType.F32))))
          .isInstanceOf(ShapeException.class)
          .message()
          .contains("store to x", "f32[5]", "f32[4]");
    }
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      assertThatThrownBy(() -> rig.run(tl -> tl.send("E", tl.zeros(Shape.of(1), DType.F32))))
          .message()
          .contains("initProcessGroup");
    }
  }
}
