package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;

/** Slots are used many times; nobody ever sees bytes of an earlier or a later message. */
public final class SlotReuseTest {
  private static final int MESSAGES = 40;

  public static Register fill(PePort p, int bytes, double value) {
    return p.compute(
        new ComputeOp.Fill(DType.F32, bytes / 4, value),
        bytes,
        Register.NONE,
        0,
        Register.NONE,
        0,
        Register.NONE,
        0);
  }

  static float[] floats(byte[] bytes) {
    float[] out = new float[bytes.length / 4];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(out);
    return out;
  }

  private static void produce(PePort p, int bytes) {
    for (int k = 0; k < MESSAGES; k++) {
      Register v = fill(p, bytes, k);
      p.send(p.queue("out"), v, 0, bytes);
      p.release(v);
    }
  }

  private static void forward(PePort p, int bytes) {
    for (int k = 0; k < MESSAGES; k++) {
      Register v = p.receive(p.queue("in"), bytes, false, false);
      p.send(p.queue("out"), v, 0, bytes);
      p.release(v);
    }
  }

  private static void consume(DeviceRig rig, PePort p, Pe at, int bytes) {
    for (int k = 0; k < MESSAGES; k++) {
      Register v = p.receive(p.queue("in"), bytes, k % 3 == 2, false);
      p.store(v, 0, Region.of(rig.machine.addresses().hbm(at, (long) k * bytes), bytes));
      p.release(v);
    }
  }

  /**
   * The way on is longer than the credit's way back, so the slot is written again while the
   * forwarded message is on its way.
   */
  @ParameterizedTest
  @CsvSource({
    "streamed, tcm, 1, 1024",
    "streamed, tcm, 3, 1024",
    "streamed, sram, 1, 1024",
    "streamed, hbm, 2, 1024",
    "serial, tcm, 1, 1024",
    "serial, hbm, 2, 1024",
    "streamed, tcm, 2, 40000",
    "streamed, sram, 1, 40000",
    "serial, sram, 3, 40000"
  })
  void forwardInPlace_slotsReused_everyMessageKeepsItsContents(
      String access, String kind, int slots, int bytes) {
    try (DeviceRig rig =
        DeviceRig.of(
            Mode.FULL,
            "sip-2026",
            "ipcq.slot_access=" + access,
            "ipcq.buffer_kind=" + kind,
            "ipcq.slots=" + slots)) {
      Pe a = new Pe(0, 0, 0);
      Pe b = new Pe(0, 0, 1);
      Pe c = new Pe(1, 5, 0);
      rig.connect(
          new QueuePlan.Connection(a, "out", b, "in"), new QueuePlan.Connection(b, "out", c, "in"));
      Launch launch =
          rig.sim.launch(
              "forward",
              List.of(a, b, c),
              p ->
                  () -> {
                    if (p.pe().equals(a)) {
                      produce(p, bytes);
                    } else if (p.pe().equals(b)) {
                      forward(p, bytes);
                    } else {
                      consume(rig, p, c, bytes);
                    }
                  });
      rig.sim.drive(launch);
      for (int k = 0; k < MESSAGES; k++) {
        float[] got =
            floats(rig.read(Region.of(rig.machine.addresses().hbm(c, (long) k * bytes), bytes)));
        assertThat(got).as("message %d", k).containsOnly(k);
      }
      assertThat(rig.sim.peakSlots()).isLessThanOrEqualTo(slots);
    }
  }

  /**
   * With two ranks E and W lead to the same peer: queues are matched by connection, not by name or
   * by peer.
   */
  @Test
  void twoDirectionsToOnePeer_bothWays_areFourStreams() {
    try (DeviceRig rig =
        DeviceRig.of(Mode.FULL, "ring", "system.sips.count=2", "ipcq.slots=2").connectRing(2)) {
      Consumer<PePort> program =
          p -> {
            int me = p.pe().sip();
            for (int k = 0; k < 12; k++) {
              p.send(p.queue("E"), fill(p, 64, 1000 * me + k), 0, 64);
              p.send(p.queue("W"), fill(p, 64, 1000 * me + 500 + k), 0, 64);
              for (String from : List.of("W", "E")) {
                Register v = p.receive(p.queue(from), 64, false, false);
                p.store(v, 0, rig.hbm(me, (from.equals("W") ? 0 : 4096) + k * 64L, 64));
                p.release(v);
              }
            }
          };
      rig.run(program, program);
      for (int me = 0; me < 2; me++) {
        for (int k = 0; k < 12; k++) {
          assertThat(floats(rig.read(rig.hbm(me, k * 64L, 64)))).containsOnly(1000 * (1 - me) + k);
          assertThat(floats(rig.read(rig.hbm(me, 4096 + k * 64L, 64))))
              .containsOnly(1000 * (1 - me) + 500 + k);
        }
      }
    }
  }

  @Test
  void receive_valueKeptAcrossLaterMessages_doesNotChange() {
    try (DeviceRig rig =
        DeviceRig.of(Mode.FULL, "ring", "system.sips.count=2", "ipcq.slots=3").connectRing(2)) {
      List<byte[]> seen = new ArrayList<>();
      rig.run(
          p -> {
            for (int k = 0; k < 9; k++) {
              p.send(p.queue("E"), fill(p, 64, k), 0, 64);
            }
          },
          p -> {
            Register first = p.receive(p.queue("W"), 64, true, false);
            Register inPlace = p.receive(p.queue("W"), 64, false, false);
            Register third = p.receive(p.queue("W"), 64, false, false);
            p.release(third);
            for (int k = 3; k < 4; k++) {
              p.release(p.receive(p.queue("W"), 64, false, false));
            }
            p.fenceAll();
            seen.add(p.look(first, 0, 64));
            seen.add(p.look(inPlace, 0, 64));
            p.release(inPlace);
            for (int k = 4; k < 9; k++) {
              Register v = p.receive(p.queue("W"), 64, false, false);
              seen.add(p.look(v, 0, 64));
              p.release(v);
            }
          });
      assertThat(seen).extracting(b -> floats(b)[15]).containsExactly(0f, 1f, 4f, 5f, 6f, 7f, 8f);
    }
  }
}
