package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OpKind;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.UnaryOp;

/**
 * Which command may start when: program order, in-order engines, fences, serial issue. Times by
 * hand.
 */
public final class PeIssueTest {
  private static final int KIB = 1024;

  public static Register fill(PePort p, int bytes) {
    return p.compute(
        new ComputeOp.Fill(DType.F32, bytes / 4, 1),
        bytes,
        Register.NONE,
        0,
        Register.NONE,
        0,
        Register.NONE,
        0);
  }

  static Register exp(PePort p, Register a) {
    return p.compute(
        new ComputeOp.Unary(UnaryOp.EXP, DType.F32, a.bytes() / 4),
        a.bytes(),
        a,
        0,
        Register.NONE,
        0,
        Register.NONE,
        0);
  }

  static Register add(PePort p, Register a, Register b) {
    return p.compute(
        new ComputeOp.Binary(BinaryOp.ADD, DType.F32, a.bytes() / 4),
        a.bytes(),
        a,
        0,
        b,
        0,
        Register.NONE,
        0);
  }

  @Test
  void value_manyCommandsWaitForIt_allOfThemHearOfIt() {
    try (DeviceRig rig = DeviceRig.ring("pe.cpu.command_window=1000")) {
      rig.run(p -> {
        Register value = p.load(rig.hbm(0, 0, 65_536));
        for (int i = 0; i < 300; i++) {
          p.store(value, 0, rig.hbm(0, 1 << 20, 64));
          p.release(exp(p, value));
        }
        p.release(value);
      });
      assertThat(rig.rows()).hasSize(601);
      assertThat(rig.rows().stream().skip(1)).allMatch(r -> r.startPs() >= rig.row(0).endPs());
    }
  }

  @Test
  void store_readyBehindStoreThatWaits_startsWithIt() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        Register early = fill(p, 256);
        Register late = exp(p, fill(p, 64 * KIB));
        p.store(late, 0, rig.hbm(0, 0, 64 * KIB));
        p.store(early, 0, rig.hbm(0, 1 << 20, 256));
      });
      var exp = rig.row(2);
      assertThat(rig.row(3).startPs()).isEqualTo(exp.endPs());
      assertThat(rig.row(4).startPs()).as("in-order queue of four channels").isEqualTo(exp.endPs());
      assertThat(rig.row(4).causeOp()).isEqualTo(exp.id());
    }
  }

  @Test
  void load_readyBehindLoadThatWaitsForMemory_startsWithIt() {
    try (DeviceRig rig = DeviceRig.ring()) {
      rig.run(p -> {
        p.store(fill(p, 256), 0, rig.hbm(0, 0, 256));
        p.load(rig.hbm(0, 0, 256));
        p.load(rig.hbm(0, 4096, 256));
      });
      var store = rig.rows(OpKind.STORE).getFirst();
      assertThat(rig.rows(OpKind.LOAD))
          .extracting(DeviceRig.Row::startPs)
          .containsExactly(store.endPs(), store.endPs());
      assertThat(rig.rows(OpKind.LOAD)).extracting(DeviceRig.Row::causeOp).containsOnly(store.id());
    }
  }

  @Test
  void awaitAll_afterSend_issuesWhenItsLastByteHasLeft() {
    try (DeviceRig rig = DeviceRig.ring("system.sips.count=2").connectRing(2)) {
      rig.run(
          p -> {
            p.send(p.queue("E"), fill(p, 256), 0, 256);
            p.fenceAll();
            fill(p, 256);
          },
          p -> p.receive(p.queue("W"), 256, false, false));
      var send = rig.rows(OpKind.SEND).getFirst();
      var after = rig.rows(0, OpKind.MATH).get(1);
      assertThat(rig.donePs(send)).isBetween(send.startPs() + 8_000, send.endPs() - 250_000);
      assertThat(after.startPs()).isEqualTo(rig.donePs(send) + 1000);
      assertThat(after.cause()).isEqualTo(Cause.FENCE);
      assertThat(after.causeOp()).isEqualTo(send.id());
    }
  }

  @Test
  void serialIssue_sendWaitsForCredit_goesOnWhenItStarts() {
    try (DeviceRig rig =
        DeviceRig.ring("system.sips.count=2", "pe.cpu.issue=serial", "ipcq.slots=1")
            .connectRing(2)) {
      rig.run(
          p -> {
            Register v = fill(p, 256);
            p.send(p.queue("E"), v, 0, 256);
            p.send(p.queue("E"), v, 0, 256);
            fill(p, 256);
          },
          p -> {
            p.release(p.receive(p.queue("W"), 256, false, false));
            p.release(p.receive(p.queue("W"), 256, false, false));
          });
      var second = rig.rows(OpKind.SEND).get(1);
      var after = rig.rows(0, OpKind.MATH).get(1);
      assertThat(second.cause()).isEqualTo(Cause.CREDIT);
      assertThat(after.issuePs()).isEqualTo(second.startPs() + 1000);
      assertThat(after.startPs()).isEqualTo(second.startPs() + 1000);
    }
  }

  @Test
  void serialIssue_sendOfAsynchronousReceive_goesOnWhenItStarts() {
    try (DeviceRig rig =
        DeviceRig.ring("system.sips.count=2", "pe.cpu.issue=serial").connectRing(2)) {
      rig.run(
          p -> {
            Register v = p.receive(p.queue("W"), 256, false, true);
            p.send(p.queue("E"), v, 0, 256);
            fill(p, 256);
          },
          p -> {
            p.send(p.queue("E"), exp(p, fill(p, 256)), 0, 256);
            p.receive(p.queue("W"), 256, false, false);
          });
      var send = rig.rows(0, OpKind.SEND).getFirst();
      var after = rig.rows(0, OpKind.MATH).getFirst();
      assertThat(after.startPs()).isEqualTo(send.startPs() + 1000);
    }
  }

  @Test
  void receive_messageIsThereAndDispatchIsFree_givesTheMessage() {
    try (DeviceRig rig =
        DeviceRig.ring("system.sips.count=2", "pe.cpu.dispatch=0 ns").connectRing(2)) {
      Register[] got = new Register[1];
      rig.run(
          p -> p.send(p.queue("E"), fill(p, 256), 0, 256),
          p -> {
            p.fence(fill(p, 1 << 20));
            p.clockPs();
            got[0] = p.receive(p.queue("W"), 256, false, false);
          });
      assertThat(got[0].bytes()).isEqualTo(256);
      assertThat(rig.rows(OpKind.RECV).getFirst().cause()).isEqualTo(Cause.FENCE);
    }
  }
}
