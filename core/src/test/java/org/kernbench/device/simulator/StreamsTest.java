package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.kernbench.device.simulator.SlotReuseTest.fill;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Register;
import org.kernbench.device.log.OpKind;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;

/** Programs of different streams run at the same time; sets of queues do not know each other. */
final class StreamsTest {
  private static Launch launch(DeviceRig rig, LaunchRequest spec, Consumer<PePort> program) {
    return rig.sim.launch(spec, port -> () -> program.accept(port));
  }

  private static LaunchRequest on(DeviceRig rig, int pe) {
    return LaunchRequest.of("k" + pe, List.of(rig.pe(pe)));
  }

  private static Consumer<PePort> math(int commands) {
    return p -> {
      for (int i = 0; i < commands; i++) {
        p.release(fill(p, 4096, i));
      }
    };
  }

  private static Consumer<PePort> loads(DeviceRig rig, int commands) {
    return p -> {
      for (int i = 0; i < commands; i++) {
        p.load(rig.hbm(0, i * 4096L, 4096));
      }
    };
  }

  private static long alone(Consumer<PePort> program) {
    try (DeviceRig rig = DeviceRig.ring()) {
      return rig.run(program).criticalPs();
    }
  }

  @Test
  void streams_differentEngines_overlapWithoutDelay() {
    try (DeviceRig rig = DeviceRig.ring()) {
      Launch compute = launch(rig, on(rig, 0), math(40));
      Launch move = launch(rig, on(rig, 0).onStream(1), loads(rig, 40));
      rig.sim.drive(compute);
      rig.sim.drive(move);
      assertThat(move.startPs()).isEqualTo(compute.startPs());
      assertThat(compute.criticalPs()).isEqualTo(alone(math(40)));
      assertThat(move.criticalPs()).isEqualTo(alone(loads(rig, 40)));
    }
  }

  @Test
  void streams_oneEngine_shareItsTime() {
    try (DeviceRig rig = DeviceRig.ring()) {
      Launch a = launch(rig, on(rig, 0), math(40));
      Launch b = launch(rig, on(rig, 0).onStream(1), math(40));
      rig.sim.drive(a);
      rig.sim.drive(b);
      // 80 commands on one engine end when 80 of one program do
      assertThat(Math.max(a.criticalPs(), b.criticalPs())).isEqualTo(alone(math(80)));
    }
  }

  @Test
  void streams_oneStream_followEachOther() {
    try (DeviceRig rig = DeviceRig.ring()) {
      Launch a = launch(rig, on(rig, 0).onStream(1), math(4));
      Launch b = launch(rig, on(rig, 0).onStream(1), loads(rig, 4));
      rig.sim.drive(b);
      assertThat(a.isDone()).isTrue();
      assertThat(b.startPs()).isEqualTo(a.endPs());
    }
  }

  /** A long run holds what it still needs, not all that one launch after another let start. */
  @Test
  void streams_launchesThatAreOver_areForgotten() {
    try (DeviceRig rig = DeviceRig.ring()) {
      WeakReference<Launch> first = new WeakReference<>(launch(rig, on(rig, 0), math(4)));
      Launch last = launch(rig, on(rig, 0), math(4));
      for (int i = 0; i < 20; i++) {
        last = launch(rig, on(rig, 0), math(4));
      }
      rig.sim.drive(last);
      System.gc();
      assertThat(first.refersTo(null)).isTrue();
      assertThat(last.isDone()).isTrue();
    }
  }

  @Test
  void after_otherPesAndStreams_startsAtTheEndOfTheLast() {
    try (DeviceRig rig = DeviceRig.ring()) {
      Launch a = launch(rig, on(rig, 0), math(400));
      Launch b = launch(rig, on(rig, 1), math(700));
      Launch c = launch(rig, on(rig, 0).onStream(1).after(List.of(a, b)), math(1));
      Launch free = launch(rig, on(rig, 1).onStream(1), math(1));
      rig.sim.drive(c);
      rig.sim.drive(free);
      assertThat(c.startPs()).isEqualTo(b.endPs());
      assertThat(b.endPs()).isGreaterThan(a.endPs());
      assertThat(free.startPs()).isLessThan(a.endPs());
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void after_launchesThatAreDone_doesNotWait(Mode mode) {
    try (DeviceRig rig = DeviceRig.of(mode, "ring")) {
      Launch a = launch(rig, on(rig, 0), math(4));
      rig.sim.drive(a);
      Launch b = launch(rig, on(rig, 1).after(List.of(a)), math(4));
      rig.sim.drive(b);
      assertThat(b.isDone()).isTrue();
    }
  }

  /** In mode values nothing else could order them: the second looks at what the first has sent. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void after_everyMode_ordersTheEffects(Mode mode) {
    try (DeviceRig rig = DeviceRig.of(mode, "ring")) {
      List<Integer> order = new ArrayList<>();
      Launch a =
          launch(
              rig,
              on(rig, 0),
              p -> {
                fill(p, 4, 1);
                p.fenceAll();
                fill(p, 4, 1);
                order.add(1);
              });
      Launch b = launch(rig, on(rig, 1).after(List.of(a)), p -> order.add(2));
      Launch c = launch(rig, on(rig, 0).onStream(1).after(List.of(b)), p -> order.add(3));
      rig.sim.drive(c);
      assertThat(order).containsExactly(1, 2, 3);
    }
  }

  /** Both sets call their direction "next"; each message arrives in its own. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void queueSets_sameDirectionNames_doNotMeet(Mode mode) {
    try (DeviceRig rig = DeviceRig.of(mode, "ring")) {
      QueueSet one = rig.connect(connection(rig, 0, 1)).queues;
      QueueSet two = rig.connect(connection(rig, 0, 1)).queues;
      byte[][] got = new byte[2][];
      Launch[] last = new Launch[2];
      for (int stream = 0; stream < 2; stream++) {
        QueueSet set = stream == 0 ? two : one; // the other way round than they were installed
        int value = 7 + stream;
        int k = stream;
        launch(
            rig,
            on(rig, 0).onStream(stream).with(set),
            p -> p.send(p.queue("next"), fill(p, 4, value), 0, 4));
        last[k] =
            launch(
                rig,
                on(rig, 1).onStream(stream).with(set),
                p -> got[k] = p.look(p.receive(p.queue("previous"), 4, false, false), 0, 4));
      }
      rig.sim.drive(last[1]);
      rig.sim.drive(last[0]);
      assertThat(SlotReuseTest.floats(got[0])).containsExactly(7f);
      assertThat(SlotReuseTest.floats(got[1])).containsExactly(8f);
    }
  }

  private static QueuePlan.Connection connection(DeviceRig rig, int a, int b) {
    return new QueuePlan.Connection(rig.pe(a), "next", rig.pe(b), "previous");
  }

  @Test
  void queueSets_tooManyForTcm_areRefusedUntilOneIsUninstalled() {
    // 2 MiB of TCM; a set takes 8 x 128 KiB per PE
    try (DeviceRig rig = DeviceRig.ring("ipcq.slot_size=128 KiB", "ipcq.directions=1")) {
      QueueSet first = rig.connect(connection(rig, 0, 1)).queues;
      rig.connect(connection(rig, 0, 1));
      assertThatThrownBy(() -> rig.connect(connection(rig, 0, 1)))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("message slots need 3145728 bytes of TCM, which has 2097152");
      rig.sim.uninstall(first);
      rig.connect(connection(rig, 0, 1));
    }
  }

  /** What two programs keep at once never exceeds TCM: the second waits for the first. */
  @ParameterizedTest
  @ValueSource(ints = {600, 1400, 2000})
  void tcm_sharedByStreams_isNeverOverfull(int kib) {
    try (DeviceRig rig = DeviceRig.ring()) {
      int bytes = kib << 10;
      Consumer<PePort> rounds =
          p -> {
            for (int i = 0; i < 6; i++) {
              Register r = p.load(rig.hbm(0, 0, bytes));
              p.release(r);
            }
          };
      Launch a = launch(rig, on(rig, 0), rounds);
      Launch b = launch(rig, on(rig, 0).onStream(1), rounds);
      rig.sim.drive(a);
      rig.sim.drive(b);
      // a load holds its room at least from its start to its end
      List<long[]> edges = new ArrayList<>();
      for (DeviceRig.Row row : rig.rows(OpKind.LOAD)) {
        edges.add(new long[] {row.startPs(), bytes});
        edges.add(new long[] {row.endPs(), -bytes});
      }
      edges.sort((x, y) -> x[0] != y[0] ? Long.compare(x[0], y[0]) : Long.compare(x[1], y[1]));
      long used = 0;
      long most = 0;
      for (long[] e : edges) {
        used += e[1];
        most = Math.max(most, used);
      }
      assertThat(edges).hasSize(24);
      assertThat(most).isLessThanOrEqualTo(2L << 20);
      assertThat(most / bytes).isEqualTo((2L << 20) / bytes);
    }
  }

  /**
   * Two programs that outrun each other: one counts as given what the other waits for. Every
   * command must still be issued when there was room, not before: the simulator itself checks that
   * nothing starts in the past.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void tcm_sharedByRandomPrograms_startsNothingInThePast(long seed) {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.command_window=64")) {
      Launch[] launches = new Launch[2];
      for (int stream = 0; stream < 2; stream++) {
        java.util.Random random = new java.util.Random(seed * 2 + stream);
        launches[stream] =
            launch(
                rig,
                on(rig, 0).onStream(stream),
                p -> {
                  List<Register> alive = new ArrayList<>();
                  for (int i = 0; i < 300; i++) {
                    int bytes = 4 << (8 + random.nextInt(10));
                    alive.add(
                        random.nextBoolean() ? p.load(rig.hbm(0, 0, bytes)) : fill(p, bytes, i));
                    while (alive.size() > 1 + random.nextInt(2)) {
                      p.release(alive.removeFirst());
                    }
                  }
                });
      }
      rig.sim.drive(launches[0]);
      rig.sim.drive(launches[1]);
      assertThat(rig.rows()).hasSize(600);
    }
  }

  @Test
  void launch_streamThatTheMachineDoesNotHave_isRefused() {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.contexts=1")) {
      assertThatThrownBy(() -> launch(rig, on(rig, 0).onStream(1), math(1)))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("stream 1; expected 0 to 0 (pe.cpu.contexts");
    }
  }

  /** A receive on one stream that nobody serves does not hide behind the other stream. */
  @Test
  void deadlock_onTheSecondStream_isReported() {
    try (DeviceRig rig = DeviceRig.ring()) {
      QueueSet set = rig.connect(connection(rig, 0, 1)).queues;
      launch(rig, on(rig, 0), math(4));
      Pe pe = rig.pe(0);
      Launch stuck =
          launch(
              rig,
              on(rig, 0).onStream(1).with(set),
              p -> p.receive(p.queue("next"), 4, false, false));
      assertThatThrownBy(() -> rig.sim.drive(stuck))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining(pe + ": recv next of 4 B")
          .hasMessageContaining("no message from " + rig.pe(1) + " (previous)");
    }
  }
}
