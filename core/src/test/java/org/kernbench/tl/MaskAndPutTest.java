package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** Masked lanes, and memory of another PE. */
final class MaskAndPutTest {
  @ParameterizedTest
  @EnumSource(DType.class)
  void load_maskedLanes_areNotReadButAreTheOther(DType d) {
    for (Mode mode : List.of(Mode.FULL, Mode.VALUES)) {
      try (KernelRig rig = new KernelRig(mode)) {
        var x =
            rig.tensor("x", 0, d, IntStream.range(0, 40).mapToDouble(i -> i % 2).toArray(), 5, 8);
        var y = rig.zeros("y", 0, d, 3, 4);
        rig.run(tl -> {
          Value row = tl.arange(0, 3).expandDims(1);
          Value column = tl.arange(0, 4).expandDims(0);
          Value mask = row.ne(column); // all but the diagonal
          tl.store(y, tl.load(tl.shard(x).block(1, 3, 2, 4), mask, 1));
        });
        double[] want =
            IntStream.range(0, 12).mapToDouble(i -> i / 4 == i % 4 ? 1 : i % 4 % 2).toArray();
        assertThat(rig.read(y)).isEqualTo(want);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void store_maskedLanes_areLeftAsTheyAre(Mode mode) {
    try (KernelRig rig = new KernelRig(mode)) {
      var y =
          rig.tensor("y", 0, DType.F16, IntStream.range(0, 12).asDoubleStream().toArray(), 3, 4);
      rig.run(tl -> {
        Value mask = tl.arange(0, 4).ge(2);
        tl.store(tl.ref(y), tl.full(Shape.of(3, 4), -1, DType.F16), mask);
      });
      assertThat(rig.read(y)).containsExactly(0, 1, -1, -1, 4, 5, -1, -1, 8, 9, -1, -1);
    }
  }

  /** What a mask hides may never have been written, or be another's: it is not touched. */
  @Test
  void load_maskOfNothing_isChargedInFull() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var x = rig.zeros("x", 0, DType.F16, 100);
      rig.run(tl -> {
        tl.load(tl.ref(x), tl.full(Shape.of(100), 0, DType.BOOL), 7);
        tl.awaitAll();
        tl.load(x);
      });
      OpLog log = rig.sim.opLog();
      long[] loads =
          IntStream.range(0, log.size())
              .filter(i -> log.kind(i) == OpKind.LOAD)
              .mapToLong(i -> log.endPs(i) - log.startPs(i))
              .toArray();
      assertThat(loads[0]).isEqualTo(loads[1]);
    }
  }

  @Test
  void masks_ofAnotherShapeOrType_areToldWhatWasExpected() {
    try (KernelRig rig = new KernelRig(Mode.VALUES)) {
      var x = rig.zeros("x", 0, DType.F16, 4);
      rig.run(tl -> {
        assertThatThrownBy(() -> tl.load(tl.ref(x), tl.arange(0, 4), 0))
            .hasMessageContaining("mask of x")
            .hasMessageContaining("expected bool");
        assertThatThrownBy(() -> tl.load(tl.ref(x), tl.arange(0, 3).ge(0), 0))
            .hasMessageContaining("broadcast");
      });
    }
  }

  /** Producer and consumer without messages but the flag: the value is there when it is raised. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void put_thenSignal_isSeenAfterTheWait(Mode mode) {
    try (KernelRig rig = new KernelRig(mode).connect(0, "ready", 1, "ready")) {
      var x = rig.tensor("x", 0, DType.F32, new double[] {1, 2, 3}, 3);
      var box = rig.zeros("box", 1, DType.F32, 6);
      var y = rig.zeros("y", 1, DType.F32, 6);
      rig.run(
          tl -> {
            Shard there = tl.shard(box, rig.pe(1));
            tl.put(there.range(0, 3), tl.load(x));
            tl.put(there.range(3, 3), tl.load(x).mul(10));
            tl.signal("ready");
          },
          tl -> {
            tl.waitSignal("ready", 1);
            tl.store(y, tl.load(box));
          });
      assertThat(rig.read(y)).containsExactly(1, 2, 3, 10, 20, 30);
    }
  }

  @Test
  void signal_isRaisedAfterTheLastPutWasAcknowledged() {
    try (KernelRig rig = new KernelRig(Mode.FULL).connect(0, "a", 1, "b")) {
      var box = rig.zeros("box", 1, DType.F32, 4096);
      rig.run(
          tl -> {
            tl.put(tl.shard(box, rig.pe(1)).all(), tl.zeros(Shape.of(4096), DType.F32));
            tl.signal("a");
            tl.signal("a");
          },
          tl -> tl.waitSignal("b", 2));
      OpLog log = rig.sim.opLog();
      long stored = 0;
      for (int i = 0; i < log.size(); i++) {
        stored = log.kind(i) == OpKind.STORE ? log.endPs(i) : stored;
      }
      for (int i = 0; i < log.size(); i++) {
        if (log.kind(i) == OpKind.SEND) {
          assertThat(log.startPs(i)).isGreaterThanOrEqualTo(stored);
        }
      }
    }
  }

  /** A flag is no value: nothing is computed for it, and it waits for no computation. */
  @Test
  void signal_whileTheEngineComputes_doesNotWaitForIt() {
    try (KernelRig rig = new KernelRig(Mode.TIME).connect(0, "a", 1, "b")) {
      rig.run(
          tl -> {
            tl.full(Shape.of(256, 512), 1, DType.F16).exp();
            tl.signal("a");
          },
          tl -> tl.waitSignal("b", 1));
      OpLog log = rig.sim.opLog();
      long computed = 0;
      long sent = Long.MAX_VALUE;
      int computations = 0;
      for (int i = 0; i < log.size(); i++) {
        computations += log.kind(i) == OpKind.MATH ? 1 : 0;
        computed = log.kind(i) == OpKind.MATH ? log.endPs(i) : computed;
        sent = log.kind(i) == OpKind.SEND ? log.startPs(i) : sent;
      }
      assertThat(computations).isEqualTo(2);
      assertThat(sent).isLessThan(computed / 2);
    }
  }

  @Test
  void get_readsThePeersMemory_andTakesTheWayThere() {
    try (KernelRig rig = new KernelRig(Mode.FULL)) {
      var far = rig.tensor("far", 5, DType.F32, new double[] {4, 5}, 2);
      var near = rig.tensor("near", 0, DType.F32, new double[] {6, 7}, 2);
      var y = rig.zeros("y", 0, DType.F32, 2);
      rig.run(tl -> {
        Value remote = tl.get(tl.shard(far, rig.pe(5)).all());
        tl.store(y, remote.add(tl.load(near)));
        assertThatThrownBy(() -> tl.shard(far, rig.pe(2)))
            .hasMessageContaining("tensor far has no shard");
      });
      assertThat(rig.read(y)).containsExactly(10, 12);
      OpLog log = rig.sim.opLog();
      assertThat(log.endPs(0) - log.startPs(0)).isGreaterThan(log.endPs(1) - log.startPs(1));
    }
  }
}
