package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.device.Register;
import org.kernbench.device.simulator.DeviceRig;
import org.kernbench.device.simulator.RandomCase;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Link;

/** What is written down of every chunk satisfies the streaming rule that the fabric is built on. */
final class TransferLogTest {

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void services_randomPrograms_followTheStreamingRule(int block) {
    int chunks = 0;
    for (int i = 0; i < 20; i++) {
      RandomCase c = RandomCase.of(block * 20 + i);
      try (DeviceRig rig = c.rig(Mode.TIME)) {
        c.run(rig);
        TransferLog log = rig.sim.opLog().transfers();
        assertThat(log.isComplete()).isTrue();
        for (int s = 0; s < log.services(); s++) {
          assertFollowsTheRule(rig, log, s);
        }
        chunks += log.services();
      }
    }
    assertThat(chunks).isGreaterThan(1000);
  }

  private static void assertFollowsTheRule(DeviceRig rig, TransferLog log, int s) {
    Link link = rig.machine.link(log.link(s));
    long free = log.before(s) == TransferLog.NONE ? 0 : log.tailPs(log.before(s));
    assertThat(log.startPsOf(s)).isEqualTo(Math.max(log.headPs(s), free));
    long tail = log.startPsOf(s) + link.rate().durationPs(log.chunkBytes(s));
    int from = log.from(s);
    if (!log.isEntry(s)) {
      Link before = rig.machine.link(log.link(from));
      assertThat(log.headPs(s)).isEqualTo(log.startPsOf(from) + before.latencyPs());
      tail = Math.max(tail, log.tailPs(from) + before.latencyPs());
    } else if (from != TransferLog.NONE) {
      assertThat(log.headPs(s)).isEqualTo(log.tailPs(from));
    }
    assertThat(log.tailPs(s)).isEqualTo(tail);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void parts_randomPrograms_moveAllBytesOfTheirOperations(long seed) {
    RandomCase c = RandomCase.of(seed);
    try (DeviceRig rig = c.rig(Mode.TIME)) {
      c.run(rig);
      OpLog ops = rig.sim.opLog();
      TransferLog log = ops.transfers();
      for (int id = 0; id < ops.size(); id++) {
        if (ops.has(id) && ops.kind(id) == OpKind.SEND) {
          List<Integer> parts = new ArrayList<>();
          for (int p = log.lastPart(id); p != TransferLog.NONE; p = log.previous(p)) {
            parts.addFirst(p);
          }
          assertThat(parts.stream().mapToInt(log::bytes).sum()).isEqualTo(ops.bytes(id));
          assertThat(log.startPs(parts.getFirst())).isEqualTo(ops.startPs(id));
          assertThat(log.endPs(parts.getLast())).isEqualTo(ops.endPs(id));
          for (int k = 0; k < parts.size(); k++) {
            assertThat(log.number(parts.get(k))).isEqualTo(k);
            assertThat(log.part(id, k)).isEqualTo(parts.get(k));
          }
        }
      }
    }
  }

  @Test
  void link_waitBehindOwnChunks_isNotNamed() {
    try (DeviceRig rig = DeviceRig.ring()) {
      // 217.6 GB/s out of HBM, 256 GB/s on: alone; the narrowest link is where chunks queue
      rig.run(port -> port.load(rig.hbm(0, 0, 1 << 16)));
      OpLog log = rig.sim.opLog();
      assertThat(log.contentionPs(0)).isZero();
      assertThat(rig.machine.link(log.link(0)).name())
          .isEqualTo("sip0.cube0.hbmctl0<->sip0.cube0.hbm0");
    }
  }

  @Test
  void link_sharedBehindASlowerOwnLink_namesWhereItMetTheOther() {
    try (DeviceRig rig =
        DeviceRig.ring(
            "cube.links.pe_to_router.bandwidth=50 GB/s",
            "system.links.sip_to_sip.bandwidth=40 GB/s")) {
      // A message and a store leave the PE together: they meet on its link to the router. The
      // message then queues behind its own chunks at the slower package link, for longer.
      rig.connectRing(2);
      rig.run(
          port -> {
            Register x = port.load(rig.hbm(0, 0, 16_384));
            port.store(x, 0, rig.hbm(0, 65_536, 1024));
            port.send(port.queue("E"), x, 0, 16_384);
          },
          port -> port.receive(port.queue("W"), 16_384, false, false));
      OpLog log = rig.sim.opLog();
      int send = 0;
      while (log.kind(send) != OpKind.SEND) {
        send++;
      }
      assertThat(log.contentionPs(send)).isPositive();
      assertThat(rig.machine.link(log.link(send)).name())
          .isEqualTo("sip0.cube0.pe0->sip0.cube0.router0_0");
    }
  }

  @Test
  void log_beyondItsLimit_saysThatItIsNotComplete() {
    try (DeviceRig rig =
        new DeviceRig(
            org.kernbench.machine.Machines.load("ring", List.of()),
            Mode.TIME,
            new SimulatorOptions(1, false))) {
      rig.run(port -> {
        port.load(rig.hbm(0, 0, 512));
        port.load(rig.hbm(0, 0, 512));
      });
      assertThat(rig.sim.opLog().transfers().isComplete()).isFalse();
    }
  }
}
