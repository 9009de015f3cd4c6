package org.kernbench.tl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** Receiving from whichever direction has a message. */
final class RecvAnyTest {
  private static final Shape ONE = Shape.of(1);

  /** PE 0 with queues a, b and c from PEs 1, 2 and 3. */
  private static KernelRig rig(Mode mode, String... overrides) {
    KernelRig rig = new KernelRig(mode, overrides);
    List<QueuePlan.Connection> all = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      all.add(new QueuePlan.Connection(rig.pe(i), "out", rig.pe(0), "" + (char) ('a' + i - 1)));
    }
    IpcqSpec spec = rig.machine.ipcq();
    rig.sim.install(new QueuePlan(spec, all));
    return rig;
  }

  /** Sends its number so many times, each time after some computations. */
  private static Kernel sends(int number, int times, int delay) {
    return tl -> {
      for (int i = 0; i < times; i++) {
        Value late = tl.full(ONE, number, DType.F32);
        for (int k = 0; k < delay; k++) {
          late = late.add(0);
        }
        tl.await(late);
        tl.send("out", late);
      }
    };
  }

  private record Run(List<String> order, Launch launch, String hash) {}

  private static Run run(KernelRig rig, int messages, int wait, Kernel... senders) {
    List<String> order = new ArrayList<>();
    try (rig) {
      Kernel receives =
          tl -> {
            Value late = tl.zeros(ONE, DType.F32);
            for (int k = 0; k < wait; k++) {
              late = late.add(0);
            }
            tl.await(late);
            for (int i = 0; i < messages; i++) {
              Received got = tl.recvAny(ONE, DType.F32, "a", "b", "c");
              order.add(got.direction());
              if (rig.sim.mode() != Mode.TIME) {
                assertThat(tl.item(got.value())).isEqualTo(got.direction().charAt(0) - 'a' + 1);
              }
              tl.release(got.value());
            }
          };
      Launch launch = rig.run(receives, senders[0], senders[1], senders[2]);
      return new Run(order, launch, rig.sim.opLog().hash());
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void messagesFromAll_everyOneIsReceived(Mode mode) {
    Run run = run(rig(mode), 9, 0, sends(1, 4, 3), sends(2, 3, 0), sends(3, 2, 7));
    assertThat(run.order()).hasSize(9);
    assertThat(run.order().stream().filter("a"::equals)).hasSize(4);
    assertThat(run.order().stream().filter("b"::equals)).hasSize(3);
    assertThat(run.order().stream().filter("c"::equals)).hasSize(2);
  }

  /** All messages are there before the first look: they are served in turn. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "TIME"})
  void messagesInAllQueues_areServedInTurn(Mode mode) {
    Run run = run(rig(mode), 7, 400, sends(1, 3, 0), sends(2, 2, 0), sends(3, 2, 0));
    assertThat(run.order()).containsExactly("a", "b", "c", "a", "b", "c", "a");
  }

  @Test
  void oneAtATime_isTakenInOrderOfArrival() {
    Run run = run(rig(Mode.FULL), 3, 0, sends(1, 1, 80), sends(2, 1, 40), sends(3, 1, 0));
    assertThat(run.order()).containsExactly("c", "b", "a");
  }

  /** The receive is issued one dispatch after its message is visible, and takes it where it is. */
  @Test
  void wait_endsWithTheMessageAndCostsOneDispatch() {
    try (KernelRig rig = rig(Mode.FULL)) {
      rig.run(tl -> tl.recvAny(ONE, DType.F32, "a", "b"), sends(1, 1, 30), tl -> {}, tl -> {});
      OpLog log = rig.sim.opLog();
      long sent = -1;
      long received = -1;
      for (int id = 0; id < log.size(); id++) {
        if (log.kind(id) == OpKind.SEND) {
          sent = log.endPs(id);
        } else if (log.kind(id) == OpKind.RECV) {
          received = log.startPs(id);
        }
      }
      assertThat(received - sent).isEqualTo(rig.machine.pe().cpu().dispatchPs());
    }
  }

  /** What has been asked for by another receive does not count as a message. */
  @Test
  void messageOfAnEarlierReceive_isNotTaken() {
    try (KernelRig rig = rig(Mode.FULL)) {
      List<String> order = new ArrayList<>();
      rig.run(
          tl -> {
            tl.recv("a", ONE, DType.F32);
            order.add(tl.recvAny(ONE, DType.F32, "a", "b").direction());
          },
          sends(1, 1, 0),
          sends(2, 1, 90),
          tl -> {});
      assertThat(order).containsExactly("b");
    }
  }

  @Test
  void sameProgram_anyRepetition_doesTheSame() {
    String first = "";
    for (int i = 0; i < 5; i++) {
      Run run = run(rig(Mode.FULL), 9, 0, sends(1, 4, 3), sends(2, 3, 0), sends(3, 2, 7));
      assertThat(first.isEmpty() || first.equals(run.order() + run.hash())).isTrue();
      first = run.order() + run.hash();
    }
    Run time = run(rig(Mode.TIME), 9, 0, sends(1, 4, 3), sends(2, 3, 0), sends(3, 2, 7));
    assertThat(time.order()).hasSize(9);
  }

  /** Larger messages than slots, slots in another memory, commands one by one. */
  @Test
  void otherQueues_work() {
    for (String[] set :
        new String[][] {
          {"ipcq.buffer_kind=sram"},
          {"pe.cpu.issue=serial"},
          {"ipcq.slots=1", "ipcq.slot_size=32 B"}
        }) {
      try (KernelRig rig = rig(Mode.FULL, set)) {
        Shape many = Shape.of(40);
        Kernel sender =
            tl -> {
              tl.send("out", tl.full(many, 1, DType.F32));
              tl.send("out", tl.full(many, 2, DType.F32));
            };
        double[] sum = new double[1];
        rig.run(
            tl -> {
              for (int i = 0; i < 4; i++) {
                Value got = tl.recvAny(many, DType.F32, "a", "b").value();
                sum[0] += tl.item(got.sum(0));
                tl.release(got);
              }
            },
            sender,
            sender,
            tl -> {});
        assertThat(sum[0]).isEqualTo(2 * 40 * (1 + 2));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void noMessage_anyMode_isReportedWithAllPeers(Mode mode) {
    try (KernelRig rig = rig(mode)) {
      assertThatThrownBy(() ->
              rig.run(tl -> tl.recvAny(ONE, DType.F32, "a", "b"), tl -> {}, tl -> {}, tl -> {}))
          .isInstanceOf(DeadlockException.class)
          .hasMessageContaining("recvAny a, b")
          .hasMessageContaining(
              "no message from " + rig.pe(1) + " (out) or " + rig.pe(2) + " (out)");
    }
  }

  @Test
  void noDirection_isRefused() {
    try (KernelRig rig = rig(Mode.VALUES)) {
      assertThatThrownBy(() -> rig.run(tl -> tl.recvAny(ONE, DType.F32)))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("recvAny of no direction");
    }
  }

  /** More directions than a kernel remembers at once, each used twice. */
  @ParameterizedTest
  @EnumSource(names = {"FULL", "VALUES"})
  void twentyDirections_eachHasItsOwnMessages(Mode mode) {
    KernelRig rig = new KernelRig(mode, "ipcq.slots=2", "ipcq.slot_size=1 KiB");
    List<QueuePlan.Connection> all = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      all.add(new QueuePlan.Connection(rig.pe(0), "out" + i, rig.pe(1), "in" + i));
    }
    List<Double> got = new ArrayList<>();
    try (rig) {
      rig.sim.install(new QueuePlan(rig.machine.ipcq(), all));
      rig.run(
          tl -> {
            for (int i = 0; i < 40; i++) {
              tl.send("out" + i % 20, tl.full(ONE, i, DType.F32));
            }
          },
          tl -> {
            for (int i = 0; i < 40; i++) {
              got.add(tl.item(tl.recv("in" + (19 - i % 20), ONE, DType.F32)));
            }
          });
    }
    for (int i = 0; i < 40; i++) {
      assertThat(got.get(i)).isEqualTo(i / 20 * 20 + 19 - i % 20);
    }
  }
}
