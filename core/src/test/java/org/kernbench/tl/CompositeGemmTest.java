package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** Values of composite products against loops, and what the scheduler reads and holds. */
final class CompositeGemmTest {
  private enum Staging {
    REF_REF,
    LOAD_REF,
    REF_LOAD,
    LOAD_LOAD;

    CompositeGemm of(Tl tl, DeviceTensor a, DeviceTensor b) {
      return switch (this) {
        case REF_REF -> CompositeGemm.of(tl.ref(a), tl.ref(b));
        case LOAD_REF -> CompositeGemm.of(tl.load(a), tl.ref(b));
        case REF_LOAD -> CompositeGemm.of(tl.ref(a), tl.load(b));
        case LOAD_LOAD -> CompositeGemm.of(tl.load(a), tl.load(b));
      };
    }
  }

  private static double[] uniform(SplittableRandom random, int n, DType d) {
    return IntStream.range(0, n).mapToDouble(i -> d.round(random.nextDouble(-1, 1))).toArray();
  }

  /** One fused multiply-add per step, ascending k, in f32 (f64). */
  private static double[] product(double[] a, double[] b, int m, int k, int n, DType d) {
    double[] sums = new double[m * n];
    for (int i = 0; i < m * n; i++) {
      if (d == DType.F64) {
        double sum = 0;
        for (int p = 0; p < k; p++) {
          sum = Math.fma(a[i / n * k + p], b[p * n + i % n], sum);
        }
        sums[i] = sum;
      } else {
        float sum = 0;
        for (int p = 0; p < k; p++) {
          sum = Math.fma((float) a[i / n * k + p], (float) b[p * n + i % n], sum);
        }
        sums[i] = sum;
      }
    }
    return sums;
  }

  /** Any tile gives the same bits as one product: the order of sums is part of the contract. */
  @ParameterizedTest
  @EnumSource(Staging.class)
  void values_anyShapeTileAndType_areThoseOfOneProduct(Staging staging) {
    SplittableRandom random = new SplittableRandom(staging.ordinal());
    List<DType> types = List.of(DType.F16, DType.BF16, DType.F32, DType.F64, DType.F8E4M3);
    for (int i = 0; i < 40; i++) {
      DType d = types.get(random.nextInt(types.size()));
      DType out = random.nextBoolean() ? d : DType.F32;
      int m = random.nextInt(1, 40);
      int k = random.nextInt(1, 50);
      int n = random.nextInt(1, 40);
      TileShape tile =
          new TileShape(random.nextInt(1, 20), random.nextInt(1, 30), random.nextInt(1, 20));
      int buffers = random.nextInt(1, 4);
      double[] a = uniform(random, m * k, d);
      double[] b = uniform(random, k * n, d);
      Mode mode = random.nextBoolean() ? Mode.FULL : Mode.VALUES;
      try (KernelRig rig = new KernelRig(mode)) {
        var ta = rig.tensor("a", 0, d, a, m, k);
        var tb = rig.tensor("b", 0, d, b, k, n);
        var ty = rig.zeros("y", 0, out, m, n);
        rig.run(tl ->
            tl.await(
                tl.composite(staging.of(tl, ta, tb).tile(tile).buffers(buffers).into(tl.ref(ty)))));
        double[] want = product(a, b, m, k, n, d);
        assertThat(rig.read(ty))
            .as("%s %s %dx%dx%d tile %s, %d buffers", staging, d, m, k, n, tile, buffers)
            .isEqualTo(IntStream.range(0, m * n).mapToDouble(x -> out.round(want[x])).toArray());
      }
    }
  }

  /** At the line of the kernel that forgot it, not where tiles are made. */
  @Test
  void productWithoutOutput_isRefusedWhereItIsIssued() {
    try (KernelRig rig = new KernelRig(Mode.TIME)) {
      var a = rig.zeros("a", 0, DType.F32, 8, 8);
      var b = rig.zeros("b", 0, DType.F32, 8, 8);
      boolean[] refused = new boolean[1];
      rig.run(tl -> {
        assertThatThrownBy(() -> tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(b))))
            .isInstanceOf(IllegalStateException.class)
            .hasMessage("composite product without output; say into(slice)");
        refused[0] = true;
      });
      assertThat(refused[0]).isTrue();
    }
  }

  /** One row of scales for each step along K: two are too few for 40 in tiles of 16. */
  @ParameterizedTest
  @ValueSource(ints = {2, 4})
  void dequantPerTile_otherRowsThanSteps_saysHowMany(int rows) {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var a = rig.zeros("a", 0, DType.F32, 8, 40);
      var b = rig.zeros("b", 0, DType.F32, 40, 8);
      var scales = rig.zeros("scales", 0, DType.F32, rows, 8);
      var y = rig.zeros("y", 0, DType.F32, 8, 8);
      assertThatThrownBy(() ->
              rig.run(tl ->
                  tl.composite(
                      CompositeGemm.of(tl.ref(a), tl.ref(b))
                          .tile(8, 16, 8)
                          .epilogue(Epilogue.When.K_TILE, Epilogue.dequant(tl.load(scales)))
                          .into(tl.ref(y)))))
          .hasMessageContaining("dequant per K tile: the scales are ")
          .hasMessageContaining("makes 3 steps along K; expected one row for each");
    }
  }

  /** Tiles as deep as the product: each step makes an output, and the first is one too. */
  @Test
  void epilogueOfTheKernel_tilesOfTheWholeDepth_reachesEveryOutput() {
    int m = 20;
    int k = 12;
    int n = 24;
    SplittableRandom random = new SplittableRandom(6);
    double[] a = uniform(random, m * k, DType.F64);
    double[] b = uniform(random, k * n, DType.F64);
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var ta = rig.tensor("a", 0, DType.F64, a, m, k);
      var tb = rig.tensor("b", 0, DType.F64, b, k, n);
      var y = rig.zeros("y", 0, DType.F64, m, n);
      rig.run(tl ->
          tl.composite(
              CompositeGemm.of(tl.ref(ta), tl.ref(tb))
                  .tile(8, k, 8)
                  .epilogue(Epilogue.When.KERNEL, Epilogue.scale(3))
                  .into(tl.ref(y))));
      double[] expected = product(a, b, m, k, n, DType.F64);
      for (int i = 0; i < expected.length; i++) {
        expected[i] *= 3;
      }
      assertThat(rig.read(y)).isEqualTo(expected);
    }
  }

  /** Sums that are whole numbers, read back as f16: scaled in f32, and rounded once. */
  @Test
  void epilogueOfTheKernel_outputOfF16_isComputedInF32() {
    int m = 10;
    int k = 12;
    int n = 9;
    SplittableRandom random = new SplittableRandom(7);
    double[] a = random.doubles((long) m * k).map(v -> Math.floor(v * 7) - 3).toArray();
    double[] b = random.doubles((long) k * n).map(v -> Math.floor(v * 7) - 3).toArray();
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var ta = rig.tensor("a", 0, DType.F16, a, m, k);
      var tb = rig.tensor("b", 0, DType.F16, b, k, n);
      var y = rig.zeros("y", 0, DType.F16, m, n);
      rig.run(tl ->
          tl.composite(
              CompositeGemm.of(tl.ref(ta), tl.ref(tb))
                  .tile(4, 5, 4)
                  .epilogue(Epilogue.When.KERNEL, Epilogue.scale(0.1))
                  .into(tl.ref(y))));
      double[] expected = product(a, b, m, k, n, DType.F64);
      for (int i = 0; i < expected.length; i++) {
        float scaled = (float) expected[i] * 0.1f;
        expected[i] = Float.float16ToFloat(Float.floatToFloat16(scaled));
      }
      assertThat(rig.read(y)).isEqualTo(expected);
    }
  }

  @Test
  void epilogues_everyKindAndScope_matchLoops() {
    int m = 21;
    int k = 40;
    int n = 19;
    SplittableRandom random = new SplittableRandom(5);
    double[] a = uniform(random, m * k, DType.F64);
    double[] b = uniform(random, k * n, DType.F64);
    double[] bias = uniform(random, n, DType.F64);
    double[] scales = uniform(random, 3 * n, DType.F64);
    double[] residual = uniform(random, m * n, DType.F64);
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var ta = rig.tensor("a", 0, DType.F64, a, m, k);
      var tb = rig.tensor("b", 0, DType.F64, b, k, n);
      var tbias = rig.tensor("bias", 0, DType.F64, bias, n);
      var tscales = rig.tensor("scales", 0, DType.F64, scales, 3, n);
      var tres = rig.tensor("residual", 0, DType.F64, residual, m, n);
      var y = rig.zeros("y", 0, DType.F64, m, n);
      var z = rig.zeros("z", 0, DType.F64, m, n);
      rig.run(tl -> {
        CompositeGemm gemm = CompositeGemm.of(tl.ref(ta), tl.ref(tb)).tile(8, 16, 8);
        tl.composite(
            gemm.epilogue(Epilogue.When.K_TILE, Epilogue.dequant(tl.load(tscales)))
                .epilogue(Epilogue.bias(tl.load(tbias)))
                .epilogue(Epilogue.relu())
                .epilogue(Epilogue.add(tl.ref(tres)))
                .epilogue(Epilogue.When.KERNEL, Epilogue.scale(3))
                .into(tl.ref(y)));
        Value row = tl.load(tscales).narrow(0, 1, 1).reshape(n);
        tl.composite(
            gemm.epilogue(Epilogue.dequant(row))
                .epilogue(Epilogue.gelu())
                .epilogue(Epilogue.silu())
                .epilogue(Epilogue.add(tl.load(tres)))
                .into(tl.ref(z)));
      });
      double[] first = new double[m * n];
      double[] second = new double[m * n];
      double[] whole = product(a, b, m, k, n, DType.F64);
      for (int i = 0; i < m * n; i++) {
        int j = i % n;
        double sum = 0;
        for (int step = 0; step < 3; step++) {
          double part = 0;
          for (int p = step * 16; p < Math.min(k, step * 16 + 16); p++) {
            part = Math.fma(a[i / n * k + p], b[p * n + j], part);
          }
          sum = step == 0 ? part * scales[j] : sum + part * scales[step * n + j];
        }
        first[i] = (Math.max(sum + bias[j], 0) + residual[i]) * 3;
        double v = whole[i] * scales[n + j];
        double gelu = v * 0.5 * (1 + erf(v / Math.sqrt(2)));
        second[i] = gelu / (1 + Math.exp(-gelu)) + residual[i];
      }
      assertThat(rig.read(y)).isEqualTo(first);
      double[] got = rig.read(z);
      for (int i = 0; i < m * n; i++) {
        assertThat(Math.abs(got[i] - second[i])).isLessThan(1e-12);
      }
    }
  }

  /** The integral of the density, by Simpson's rule. */
  private static double erf(double x) {
    int parts = 4000;
    double h = x / parts;
    double sum = 1 + Math.exp(-x * x);
    for (int i = 1; i < parts; i++) {
      sum += (i % 2 == 0 ? 2 : 4) * Math.exp(-(i * h) * (i * h));
    }
    return 2 / Math.sqrt(Math.PI) * sum * h / 3;
  }

  /** {@code docs/spec/gemm.md} 1: tiles of 32 x 64 x 32 on the predecessor's machine. */
  @Test
  void tiles_ofThePredecessorsShapes_areThoseItPublished() {
    int[][] shapes = {
      {32, 32, 32, 1},
      {32, 64, 32, 1},
      {32, 128, 32, 2},
      {32, 128, 128, 8},
      {32, 3072, 32, 48},
      {8, 128, 128, 8},
      {128, 8, 128, 16},
      {512, 512, 512, 2048}
    };
    for (int[] s : shapes) {
      try (KernelRig rig = new KernelRig(Mode.TIME, List.of("kb-compat"))) {
        var a = rig.zeros("a", 0, DType.F16, s[0], s[1]);
        var b = rig.zeros("b", 0, DType.F16, s[1], s[2]);
        var y = rig.zeros("y", 0, DType.F16, s[0], s[2]);
        rig.run(tl -> tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(b)).into(tl.ref(y))));
        assertThat(count(rig, OpKind.GEMM)).as("%dx%dx%d", s[0], s[1], s[2]).isEqualTo(s[3]);
        assertThat(TileStream.steps(s[0], s[1], s[2], new TileShape(32, 64, 32))).isEqualTo(s[3]);
      }
    }
  }

  /**
   * The published window of 32x3072x32 with A in TCM is 992 ns. One read engine takes each of 48
   * tiles of B from its set-up to its last byte: 3.96 + 0.04 + 16 ns. The last product takes 2 x 32
   * x 64 x 32 / 8 TFLOP/s, the write of the output 4 ns and 2 KiB at 256 GB/s.
   */
  @Test
  void window_ofThePredecessorsLongProduct_isOneRoundTripAfterTheOther() {
    try (KernelRig rig = new KernelRig(Mode.TIME, List.of("kb-compat"), "pe.dma.setup=3.96 ns")) {
      var a = rig.zeros("a", 0, DType.F16, 32, 3072);
      var b = rig.zeros("b", 0, DType.F16, 3072, 32);
      var y = rig.zeros("y", 0, DType.F16, 32, 32);
      rig.run(tl -> {
        Value left = tl.load(a);
        tl.composite(CompositeGemm.of(left, tl.ref(b)).into(tl.ref(y)));
      });
      OpLog log = rig.sim.opLog();
      int store = log.size() - 1;
      assertThat(log.kind(store)).isEqualTo(OpKind.STORE);
      assertThat(log.kind(store - 1)).isEqualTo(OpKind.GEMM);
      long start = log.startPs(1); // the first operation is the load of A
      long products = 48 * 20_000 + 16_384;
      assertThat(log.endPs(store - 1) - start).isEqualTo(products);
      assertThat(log.endPs(store) - start).isEqualTo(products + 12_000);
      assertThat((products + 12_000) / 1e3).isCloseTo(992, within(992 * 0.005));
    }
  }

  @Test
  void residentOperands_areNotReadAgain() {
    try (KernelRig rig = new KernelRig(Mode.TIME)) {
      var a = rig.zeros("a", 0, DType.F16, 64, 96);
      var b = rig.zeros("b", 0, DType.F16, 96, 80);
      var y = rig.zeros("y", 0, DType.F16, 64, 80);
      rig.run(tl ->
          tl.composite(CompositeGemm.of(tl.load(a), tl.load(b)).tile(16, 32, 16).into(tl.ref(y))));
      assertThat(bytes(rig, OpKind.LOAD)).isEqualTo(2 * (64 * 96 + 96 * 80));
      assertThat(bytes(rig, OpKind.STORE)).isEqualTo(2 * 64 * 80);
    }
  }

  @Test
  void kernel_goesOn_whileTilesAreStreamed() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var a = rig.zeros("a", 0, DType.F16, 256, 256);
      var y = rig.zeros("y", 0, DType.F16, 256, 256);
      var other = rig.tensor("other", 1, DType.F16, new double[] {1}, 1);
      List<Double> clocks = new ArrayList<>();
      rig.run(tl -> {
        Handle done =
            tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(a)).tile(32, 32, 32).into(tl.ref(y)));
        tl.await(tl.zeros(Shape.of(4), DType.F16));
        clocks.add(tl.clock());
        tl.await(done);
        clocks.add(tl.clock());
      });
      assertThat(clocks.get(0)).isLessThan(clocks.get(1) / 10);
    }
  }

  @Test
  void tcm_ofATile_isGivenBack() {
    try (KernelRig rig = new KernelRig(Mode.TIME, "pe.tcm.size=1100 KiB")) { // 1 MiB are slots
      rig.connect(0, "E", 1, "W");
      var a = rig.zeros("a", 0, DType.F16, 512, 512);
      var y = rig.zeros("y", 0, DType.F16, 512, 512);
      rig.run(tl -> {
        for (int i = 0; i < 3; i++) {
          tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(a)).tile(32, 64, 32).into(tl.ref(y)));
        }
      });
      assertThat(count(rig, OpKind.GEMM)).isEqualTo(3 * 2048);
    }
  }

  @Test
  void wrongUse_isToldWithWhatWasExpected() {
    try (KernelRig rig = new KernelRig(Mode.VALUES)) {
      var a = rig.zeros("a", 0, DType.F16, 8, 4);
      var b = rig.zeros("b", 0, DType.F16, 4, 6);
      var y = rig.zeros("y", 0, DType.F16, 8, 5);
      rig.run(tl -> {
        assertThatThrownBy(() -> CompositeGemm.of(tl.ref(a), tl.ref(a)))
            .hasMessageContaining("expected [m, k] and [k, n]");
        Value left = tl.zeros(Shape.of(8, 4), DType.F16);
        Value right = tl.zeros(Shape.of(4, 6), DType.F16);
        CompositeGemm.of(left, right);
        for (Value[] wrong :
            new Value[][] {
              {tl.zeros(Shape.of(2, 4, 4), DType.F16), right},
              {left, tl.zeros(Shape.of(4, 6, 2), DType.F16)},
              {tl.zeros(Shape.of(4), DType.F16), right},
              {left, tl.zeros(Shape.of(5, 6), DType.F16)},
              {left, tl.zeros(Shape.of(4, 6), DType.F32)},
              {tl.zeros(Shape.of(8, 4), DType.I32), tl.zeros(Shape.of(4, 6), DType.I32)}
            }) {
          assertThatThrownBy(() -> CompositeGemm.of(wrong[0], wrong[1]))
              .hasMessageContaining("expected [m, k] and [k, n] of one floating-point dtype");
        }
        CompositeGemm gemm = CompositeGemm.of(tl.ref(a), tl.ref(b));
        assertThatThrownBy(() -> gemm.into(tl.ref(y))).hasMessageContaining("[8, 6]");
        assertThatThrownBy(() -> tl.composite(gemm)).hasMessageContaining("into(slice)");
        assertThatThrownBy(() -> gemm.tile(0, 1, 1)).hasMessageContaining("at least 1");
        assertThatThrownBy(() -> gemm.buffers(0)).hasMessageContaining("at least 1");
        assertThatThrownBy(() -> gemm.epilogue(Epilogue.bias(tl.zeros(Shape.of(5), DType.F16))))
            .hasMessageContaining("Bias")
            .hasMessageContaining("[N]");
      });
    }
  }

  private static long count(KernelRig rig, OpKind kind) {
    OpLog log = rig.sim.opLog();
    return IntStream.range(0, log.size()).filter(i -> log.has(i) && log.kind(i) == kind).count();
  }

  private static long bytes(KernelRig rig, OpKind kind) {
    OpLog log = rig.sim.opLog();
    return IntStream.range(0, log.size())
        .filter(i -> log.has(i) && log.kind(i) == kind)
        .mapToLong(log::bytes)
        .sum();
  }
}
