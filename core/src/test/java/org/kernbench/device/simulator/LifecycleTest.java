package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.kernbench.device.simulator.SlotReuseTest.fill;
import static org.kernbench.device.simulator.SlotReuseTest.floats;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Register;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;

/** Programs begin, end, fail and are given up; launches queue; nothing is left behind. */
final class LifecycleTest {
  private static DeviceRig rig(Mode mode, String... overrides) {
    String[] all = new String[overrides.length + 1];
    all[0] = "system.sips.count=2";
    System.arraycopy(overrides, 0, all, 1, overrides.length);
    return DeviceRig.of(mode, "ring", all).connectRing(2);
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void close_programsSuspended_runsTheirFinallyBlocksAndEndsTheirThreads(Mode mode)
      throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    AtomicInteger unwound = new AtomicInteger();
    Consumer<PePort> stuck =
        p -> {
          threads.add(Thread.currentThread());
          try {
            Register never = p.receive(p.queue(p.pe().sip() == 0 ? "E" : "W"), 4, false, false);
            for (int i = 0; i < 100; i++) {
              p.fence(never);
            }
          } finally {
            unwound.incrementAndGet();
          }
        };
    try (DeviceRig rig = rig(mode)) {
      assertThatThrownBy(() -> rig.run(stuck, stuck)).isInstanceOf(DeadlockException.class);
    }
    for (Thread t : threads) {
      t.join(5000);
      assertThat(t.isAlive()).isFalse();
    }
    assertThat(unwound).hasValue(2);
  }

  @Test
  void close_finallyBlockIssuesMoreThanTheWindow_stillEndsTheThread() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    try (DeviceRig rig = rig(Mode.TIME, "pe.cpu.command_window=4")) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                threads.add(Thread.currentThread());
                Register never = p.receive(p.queue("E"), 4, false, false);
                try {
                  while (true) {
                    p.fence(never);
                  }
                } finally {
                  fill(p, 4, 0);
                }
              }))
          .isInstanceOf(DeadlockException.class);
    }
    threads.getFirst().join(5000);
    assertThat(threads.getFirst().isAlive()).isFalse();
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void programThrows_callerOfDriveGetsIt(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                fill(p, 4, 0);
                throw new IllegalArgumentException("mine");
              }))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("mine");
    }
  }

  @Test
  void programThrows_afterSuspension_callerOfDriveGetsIt() {
    try (DeviceRig rig = rig(Mode.FULL)) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                if (p.look(fill(p, 4, 1), 0, 4).length == 4) {
                  throw new IllegalStateException("seen");
                }
              }))
          .hasMessage("seen");
    }
  }

  /**
   * The second kernel reads what the first one stores, on a PE where the first one still waits for
   * a message.
   */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void launches_onTheSamePes_runOneAfterTheOther(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      rig.launch(
          List.of(
              p -> p.store(p.receive(p.queue("E"), 64, false, false), 0, rig.hbm(0, 0, 64)),
              p -> p.send(p.queue("W"), fill(p, 64, 9), 0, 64)));
      Launch second =
          rig.launch(List.of(p -> p.store(p.load(rig.hbm(0, 0, 64)), 0, rig.hbm(0, 4096, 64))));
      rig.sim.drive(second);
      assertThat(floats(rig.read(rig.hbm(0, 4096, 64)))).containsOnly(9);
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void uninstall_allLaunchesDone_isAllowedThoughOnlyTheLastWasDriven(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      rig.launch(List.of(p -> fill(p, 4, 0)));
      rig.sim.drive(rig.launch(List.of(p -> fill(p, 4, 0))));
      assertThatCode(() -> rig.sim.uninstall(rig.queues)).doesNotThrowAnyException();
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void uninstall_kernelRunning_isRefused(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      Launch launch = rig.launch(List.of(p -> fill(p, 4, 0)));
      assertThatThrownBy(() -> rig.sim.uninstall(rig.queues))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("await it first");
      rig.sim.drive(launch);
      rig.sim.uninstall(rig.queues);
      assertThatThrownBy(() -> rig.sim.uninstall(rig.queues))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("uninstalled already");
      assertThatThrownBy(() ->
              rig.sim.launch(
                  LaunchRequest.of("k", List.of(rig.pe(0))).with(rig.queues), p -> () -> {}))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("kernel k: its message queues have been uninstalled");
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void install_oldMessagesWaiting_areGone(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      rig.run(p -> p.send(p.queue("E"), fill(p, 64, 1), 0, 64));
      rig.connectRing(2);
      assertThatThrownBy(
              () -> rig.run(p -> fill(p, 4, 0), p -> p.receive(p.queue("W"), 64, false, false)))
          .isInstanceOf(DeadlockException.class);
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void install_directionTwice_isRefused(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      var twice = new QueuePlan.Connection(rig.pe(0), "E", rig.pe(1), "W");
      assertThatThrownBy(() -> rig.connect(twice, twice))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("direction E is connected twice");
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void launch_samePeTwice_isRefused(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      List<Pe> twice = List.of(rig.pe(0), rig.pe(1), rig.pe(0));
      assertThatThrownBy(() -> rig.sim.launch("k", twice, p -> () -> {}))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("kernel k")
          .hasMessageContaining(rig.pe(0).toString());
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void launch_emptyPrograms_completeAtTheirStart(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      Launch launch = rig.run(p -> {}, p -> {});
      assertThat(launch.isDone()).isTrue();
      assertThat(launch.criticalPs()).isZero();
      assertThat(launch.criticalOp()).isEqualTo(-1);
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void register_releasedTwiceOrUsedAfterwards_isAnError(Mode mode) {
    try (DeviceRig rig = rig(mode)) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                Register v = fill(p, 4, 0);
                p.release(v);
                p.release(v);
              }))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("released twice");
    }
    try (DeviceRig rig = rig(mode)) {
      assertThatThrownBy(() ->
              rig.run(p -> {
                Register v = fill(p, 4, 0);
                p.release(v);
                p.store(v, 0, rig.hbm(0, 0, 4));
              }))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("it has released");
    }
  }

  /**
   * A program that stores in an endless loop must not hold on to the acknowledgements it never
   * looks at.
   */
  @Test
  void storeTokens_neverAwaited_areNotKept() throws InterruptedException {
    try (DeviceRig rig = rig(Mode.TIME)) {
      List<WeakReference<Register>> tokens = new ArrayList<>();
      boolean[] collected = new boolean[1];
      rig.run(p -> {
        Register v = fill(p, 4, 0);
        for (int i = 0; i < 500; i++) {
          tokens.add(new WeakReference<>(p.store(v, 0, rig.hbm(0, 0, 4))));
        }
        p.fenceAll();
        p.clockPs();
        for (int i = 0; i < 20 && !collected[0]; i++) {
          System.gc();
          collected[0] = tokens.stream().limit(400).allMatch(t -> t.get() == null);
        }
      });
      assertThat(collected[0]).isTrue();
    }
  }

  /** A training run launches millions of kernels; drives only some of them; none may be kept. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void launches_ended_areNotKept(Mode mode) throws InterruptedException {
    try (DeviceRig rig = rig(mode)) {
      List<WeakReference<Launch>> launches = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        launches.add(new WeakReference<>(rig.launch(List.of(p -> fill(p, 4, 0)))));
        rig.sim.drive(rig.launch(List.of(p -> fill(p, 4, 0))));
      }
      boolean collected = false;
      for (int i = 0; i < 20 && !collected; i++) {
        System.gc();
        collected = launches.stream().limit(45).allMatch(l -> l.get() == null);
      }
      assertThat(collected).isTrue();
    }
  }

  @Test
  void memory_unmappedOrOverTheEnd_isAnErrorThatNamesThePlace() {
    try (DeviceRig rig = rig(Mode.FULL)) {
      long size = rig.machine.memoryBytes(rig.machine.hbmNode(rig.pe(0)));
      assertThatThrownBy(() -> rig.run(p -> p.load(rig.hbm(0, size - 4, 8))))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("runs over its end");
    }
  }

  @Test
  void load_ofTheOwnTcmByAddress_isAnErrorThatSaysWhatToDo() {
    try (DeviceRig rig = rig(Mode.FULL)) {
      Region own = Region.of(rig.machine.addresses().tcm(rig.pe(0), 0), 64);
      assertThatThrownBy(() -> rig.run(p -> p.load(own)))
          .isInstanceOf(RuntimeException.class)
          .hasMessageContaining("no route");
    }
  }
}
