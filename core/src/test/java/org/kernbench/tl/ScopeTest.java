package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** How long values live. */
final class ScopeTest {
  private static final Shape BIG =
      Shape.of(100_000); // 400 kB of f32; TCM has 1.75 MiB beside the slots

  @Test
  void scopeInALoop_muchMoreThanTcm_fits() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var out = rig.zeros("out", 0, DType.F32, 50);
      rig.run(tl -> {
        for (int i = 0; i < 50; i++) {
          try (Scope turn = tl.scope()) {
            Value v = tl.full(BIG, i, DType.F32).add(1);
            tl.store(tl.shard(out).range(i, 1), v.range(99_999, 1));
          }
        }
      });
      double[] got = rig.read(out);
      for (int i = 0; i < 50; i++) {
        assertThat(got[i]).isEqualTo(i + 1);
      }
    }
  }

  /**
   * What a call makes for itself is given up with its last reader, also without a scope: copies of
   * views that are stored or sent, masks that are broadcast, parts of a long concatenation.
   */
  @Test
  void temporariesOfTheLanguage_muchMoreThanTcm_fit() {
    try (KernelRig rig = new KernelRig(Mode.FULL).connect(0, "E", 1, "W")) {
      int side = 256; // 256 KiB of f32
      var out = rig.zeros("out", 0, DType.F32, side, side);
      int turns = 20;
      rig.run(
          tl -> {
            Value x = tl.full(Shape.of(side, side), 1, DType.F32);
            Value mask = tl.full(Shape.of(1, side), 1, DType.BOOL);
            for (int i = 0; i < turns; i++) {
              tl.store(out, x.trans());
              tl.store(tl.ref(out), x.trans(), mask);
              tl.release(tl.load(tl.ref(out), mask, 0));
              tl.send("E", x.trans().narrow(0, 0, 4).trans());
              Value quarter = x.narrow(0, 0, side / 4);
              tl.release(tl.concat(0, quarter, quarter, quarter, quarter));
            }
          },
          tl -> {
            for (int i = 0; i < turns; i++) {
              tl.release(tl.recv("W", Shape.of(side, 4), DType.F32));
            }
          });
      assertThat(rig.read(out)).containsOnly(1);
    }
  }

  /** Values of the kernel itself live until it says otherwise; the error names them. */
  @Test
  void valuesWithoutScope_moreThanTcm_areListedWithTheirLines() {
    try (KernelRig rig = KernelRig.withLines()) {
      assertThatThrownBy(() ->
              rig.run(tl -> {
                Value sum = tl.full(BIG, 0, DType.F32);
                tl.item(sum.range(0, 1)); // a kernel that goes on needs its values
                for (int i = 0; i < 5; i++) {
                  sum = sum.add(1);
                  tl.item(sum.range(0, 1));
                }
              }))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("needs 400000 bytes of TCM at ScopeTest.java:")
          .hasMessageContaining("beside live values 400000 bytes at ScopeTest.java:")
          .hasMessageContaining("release values after their last use");
    }
  }

  /** A sum that the next product adds to has its room until that product begins. */
  @Test
  void sumInPlace_behindWhatHasNoRoom_isListed() {
    try (KernelRig rig = KernelRig.withLines()) {
      assertThatThrownBy(() ->
              rig.run(tl -> {
                Value a = tl.zeros(Shape.of(512, 16), DType.F16);
                Value b = tl.zeros(Shape.of(16, 512), DType.F16);
                Value sum = tl.dot(a, b, DType.F32);
                Value large = tl.zeros(Shape.of(3 << 17), DType.F32);
                sum = tl.dotInPlace(sum, a, b);
                tl.item(sum.range(0, 1));
                tl.item(large.range(0, 1));
              }))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("needs 1572864 bytes of TCM at ScopeTest.java:")
          .hasMessageContaining("beside live values 1048576 bytes at ScopeTest.java:");
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void keep_valueOfAScope_survivesItsClose(Mode mode) {
    try (KernelRig rig = new KernelRig(mode)) {
      var out = rig.zeros("out", 0, DType.F32, 1);
      rig.run(tl -> {
        Value sum = tl.zeros(Shape.of(1), DType.F32);
        for (int i = 1; i <= 10; i++) {
          try (Scope turn = tl.scope()) {
            sum = turn.keep(sum.add(tl.full(Shape.of(1), i, DType.F32)));
          }
        }
        tl.store(out, sum);
      });
      if (mode != Mode.TIME) {
        assertThat(rig.read(out)).containsExactly(55);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void keep_valueMadeOutsideAllScopes_leavesItWithTheKernel(Mode mode) {
    try (KernelRig rig = new KernelRig(mode)) {
      rig.run(tl -> {
        Value mine = tl.zeros(Shape.of(1), DType.F32);
        try (Scope outer = tl.scope()) {
          try (Scope inner = tl.scope()) {
            inner.keep(mine);
          }
        }
        mine.add(1);
      });
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void keep_inNestedScopes_movesOneScopeOut(Mode mode) {
    try (KernelRig rig = new KernelRig(mode)) {
      assertThatThrownBy(() ->
              rig.run(tl -> {
                Value v;
                try (Scope outer = tl.scope()) {
                  try (Scope inner = tl.scope()) {
                    v = inner.keep(tl.zeros(Shape.of(1), DType.F32));
                  }
                  v.add(1);
                }
                v.add(2);
              }))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("released");
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void release_thenScopeCloses_isFine(Mode mode) {
    try (KernelRig rig = new KernelRig(mode)) {
      rig.run(tl -> {
        try (Scope s = tl.scope()) {
          tl.release(tl.zeros(Shape.of(1), DType.F32));
        }
      });
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void release_twiceOrOfAView_isOneValue(Mode mode) {
    try (KernelRig rig = new KernelRig(mode)) {
      assertThatThrownBy(() ->
              rig.run(tl -> {
                Value v = tl.zeros(Shape.of(4), DType.F32);
                tl.release(v.range(0, 2));
                tl.release(v);
              }))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("released twice");
    }
  }

  @Test
  void close_outOfOrder_isAnError() {
    try (KernelRig rig = new KernelRig(Mode.TIME)) {
      assertThatThrownBy(() ->
              rig.run(tl -> {
                Scope outer = tl.scope();
                tl.scope();
                outer.close();
              }))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("try-with-resources");
    }
  }
}
