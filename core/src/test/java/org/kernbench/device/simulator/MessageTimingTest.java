package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.kernbench.device.simulator.PeIssueTest.exp;
import static org.kernbench.device.simulator.PeIssueTest.fill;
import static org.kernbench.device.simulator.PeTimingTest.at;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.device.Launch;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;

/**
 * Messages between two PEs, in closed form. The first link is as narrow as the narrowest, so that
 * one rate B = 200 GB/s holds.
 */
final class MessageTimingTest {
  private static final long O = 8_000; // channel overhead per message
  private static final long L = 280_000; // the way
  private static final long CREDIT = 280_000 + 80 + 2_000; // the way, 16 B at 200 GB/s, emission

  private static DeviceRig rig(String... overrides) {
    List<String> all =
        new ArrayList<>(
            List.of("system.sips.count=2", "cube.links.pe_to_router.bandwidth=200 GB/s"));
    all.addAll(Arrays.asList(overrides));
    return DeviceRig.ring(all.toArray(String[]::new)).connectRing(2);
  }

  private static void sendAll(PePort p, int messages, int bytes) {
    Register v = fill(p, 4);
    Register data = bytes <= 4 ? v : fill(p, bytes);
    for (int k = 0; k < messages; k++) {
      p.send(p.queue("E"), data, 0, bytes);
    }
  }

  private static void receiveAll(PePort p, int messages, int bytes, boolean copy) {
    for (int k = 0; k < messages; k++) {
      p.release(p.receive(p.queue("W"), bytes, copy, false));
    }
  }

  private static long copyPs(long bytes) {
    return at(1024, 2 * bytes);
  }

  @ParameterizedTest
  @CsvSource({"0", "1", "4096", "16384"})
  void message_streamedTcmInPlace_arrivesAfterOverheadBytesAndWay(int bytes) {
    try (DeviceRig rig = rig()) {
      Launch launch = rig.run(p -> sendAll(p, 1, bytes), p -> receiveAll(p, 1, bytes, false));
      var send = rig.rows(OpKind.SEND).getFirst();
      var recv = rig.rows(OpKind.RECV).getFirst();
      assertThat(send.ps()).isEqualTo(O + at(200, bytes) + L);
      assertThat(recv.startPs()).isEqualTo(send.endPs());
      assertThat(recv.ps()).isZero();
      assertThat(recv.cause()).isEqualTo(Cause.MESSAGE);
      assertThat(recv.causeOp()).isEqualTo(send.id());
      assertThat(launch.endPs()).isEqualTo(recv.endPs());
      assertThat(launch.criticalOp()).isEqualTo(recv.id());
    }
  }

  @Test
  void message_narrowLinkBehindAWideOne_freesItsChannelAtTheWideRate() {
    try (DeviceRig rig = DeviceRig.ring("system.sips.count=2").connectRing(2)) {
      rig.run(p -> sendAll(p, 2, 4096), p -> receiveAll(p, 2, 4096, false));
      var sends = rig.rows(OpKind.SEND);
      assertThat(sends.get(1).startPs()).isEqualTo(sends.get(0).startPs() + O + at(256, 4096));
      assertThat(sends.get(1).cause()).isEqualTo(Cause.ENGINE);
      assertThat(sends.get(0).ps()).isEqualTo(O + at(200, 4096) + L);
    }
  }

  @Test
  void receive_copy_readsAndWritesTcm() {
    try (DeviceRig rig = rig()) {
      rig.run(p -> sendAll(p, 1, 4096), p -> receiveAll(p, 1, 4096, true));
      assertThat(rig.rows(OpKind.RECV).getFirst().ps()).isEqualTo(copyPs(4096));
    }
  }

  @Test
  void send_oneSlot_startsWhenTheCreditIsBack() {
    try (DeviceRig rig = rig("ipcq.slots=1")) {
      rig.run(p -> sendAll(p, 2, 4096), p -> receiveAll(p, 2, 4096, true));
      var first = rig.rows(OpKind.RECV).getFirst();
      var second = rig.rows(OpKind.SEND).get(1);
      assertThat(second.startPs()).isEqualTo(first.endPs() + CREDIT);
      assertThat(second.cause()).isEqualTo(Cause.CREDIT);
      assertThat(second.causeOp()).isEqualTo(first.id());
    }
  }

  @Test
  void inPlaceSlot_isFreeWhenItsLastReaderHasFinished() {
    try (DeviceRig rig = rig("ipcq.slots=1")) {
      rig.run(
          p -> sendAll(p, 2, 4096),
          p -> {
            Register v = p.receive(p.queue("W"), 4096, false, false);
            exp(p, v);
            p.release(v);
            p.receive(p.queue("W"), 4096, false, false);
          });
      var reader = rig.rows(1, OpKind.MATH).getFirst();
      var second = rig.rows(OpKind.SEND).get(1);
      assertThat(second.startPs()).isEqualTo(reader.endPs() + CREDIT);
      assertThat(second.causeOp()).isEqualTo(reader.id());
    }
  }

  static Stream<int[]> windows() {
    List<int[]> cases = new ArrayList<>();
    for (int slots : new int[] {1, 2, 3, 4, 8, 40}) {
      for (int bytes : new int[] {16, 1000, 4096, 16_384}) {
        for (int messages : new int[] {1, 2, 7, 29}) {
          cases.add(new int[] {slots, bytes, messages});
        }
      }
    }
    return cases.stream();
  }

  /**
   * O20 of docs/spec/collectives.md: with {@code u = max(occ, t_c)} and {@code m - 1 = q n + r},
   * the finish is {@code (m-1) u + occ + L + t_c} if the round trip fits in n slots, else {@code q
   * RTT + r u + occ + L + t_c}.
   */
  @ParameterizedTest
  @MethodSource("windows")
  void stream_slotsAndSizes_finishesExactlyAsTheFormulaSays(int[] c) {
    int slots = c[0];
    int bytes = c[1];
    int messages = c[2];
    try (DeviceRig rig =
        rig(
            "ipcq.slots=" + slots,
            "pe.cpu.command_window=1000",
            "pe.tcm.size=16 MiB",
            "ipcq.directions=2")) {
      rig.run(p -> sendAll(p, messages, bytes), p -> receiveAll(p, messages, bytes, true));
      long occupied = O + at(200, bytes);
      long copied = copyPs(bytes);
      long roundTrip = occupied + L + copied + CREDIT;
      long u = Math.max(occupied, copied);
      long q = roundTrip <= slots * u ? 0 : (messages - 1) / slots;
      long r = messages - 1 - q * slots;
      long finish =
          rig.rows(OpKind.RECV).getLast().endPs() - rig.rows(OpKind.SEND).getFirst().startPs();
      assertThat(finish).isEqualTo(q * roundTrip + r * u + occupied + L + copied);
    }
  }

  @Test
  void message_longerThanASlot_travelsInFragmentsBackToBack() {
    int slot = 16_384;
    int rest = 40_000 - 2 * slot;
    try (DeviceRig rig = rig()) {
      rig.run(p -> sendAll(p, 1, 40_000), p -> receiveAll(p, 1, 40_000, false));
      var send = rig.rows(OpKind.SEND).getFirst();
      var recv = rig.rows(OpKind.RECV).getFirst();
      long fragment = O + at(200, slot);
      assertThat(send.ps()).isEqualTo(2 * fragment + O + at(200, rest) + L);
      assertThat(recv.startPs()).isEqualTo(send.startPs() + fragment + L);
      assertThat(recv.endPs()).isEqualTo(send.endPs() + copyPs(rest));
    }
  }

  @Test
  void message_longerThanAllSlots_waitsForCreditsInside() {
    int slot = 16_384;
    try (DeviceRig rig = rig("ipcq.slots=1")) {
      rig.run(p -> sendAll(p, 1, 3 * slot), p -> receiveAll(p, 1, 3 * slot, true));
      long fragment = O + at(200, slot) + L;
      long round = fragment + copyPs(slot) + CREDIT;
      assertThat(rig.rows(OpKind.SEND).getFirst().ps()).isEqualTo(2 * round + fragment);
      assertThat(rig.rows(OpKind.RECV).getFirst().endPs())
          .isEqualTo(
              rig.rows(OpKind.SEND).getFirst().startPs() + 2 * round + fragment + copyPs(slot));
    }
  }

  @Test
  void slotsInSram_writtenWithTheArrivalAndReadOverTheNoc() {
    try (DeviceRig rig = rig("ipcq.buffer_kind=sram")) {
      rig.run(p -> sendAll(p, 1, 4096), p -> receiveAll(p, 1, 4096, false));
      long toSram = 2_000 + 12_000 + 250_000 + 12_000 + 2_000 + 20_000;
      assertThat(rig.rows(OpKind.SEND).getFirst().ps()).isEqualTo(O + at(200, 4096) + toSram);
      assertThat(rig.rows(OpKind.RECV).getFirst().ps())
          .isEqualTo(2_000 + 2_000 + 20_000 + 2_000 + 4_000 + at(200, 4096));
    }
  }

  @Test
  void slotsInHbm_writtenWithTheArrivalAndReadOverTheNoc() {
    try (DeviceRig rig = rig("ipcq.buffer_kind=hbm")) {
      rig.run(p -> sendAll(p, 1, 4096), p -> receiveAll(p, 1, 4096, false));
      long toHbm = 2_000 + 12_000 + 250_000 + 12_000 + 7_250 + 30_500;
      assertThat(rig.rows(OpKind.SEND).getFirst().ps()).isEqualTo(O + at(200, 4096) + toHbm);
      assertThat(rig.rows(OpKind.RECV).getFirst().ps())
          .isEqualTo(2_000 + 7_250 + 30_500 + 7_250 + 4_000 + at(200, 4096));
    }
  }

  @ParameterizedTest
  @CsvSource({"tcm, 0, 1024", "sram, 20000, 256", "hbm, 30500, 217.6"})
  void serialAccess_slotIsWrittenAfterTheArrivalAndReadBeforeUse(
      String kind, long setup, double rate) {
    try (DeviceRig rig = rig("ipcq.slot_access=serial", "ipcq.buffer_kind=" + kind)) {
      rig.run(p -> sendAll(p, 1, 4096), p -> receiveAll(p, 1, 4096, false));
      long slot = setup + at(rate, 4096);
      assertThat(rig.rows(OpKind.SEND).getFirst().ps()).isEqualTo(O + at(200, 4096) + L + slot);
      assertThat(rig.rows(OpKind.RECV).getFirst().ps()).isEqualTo(slot);
    }
  }

  @Test
  void serialAccess_bankWay_isChargedToo() {
    try (DeviceRig rig =
        rig(
            "ipcq.slot_access=serial",
            "ipcq.buffer_kind=sram",
            "ipcq.serial_cost.sram.bank_bandwidth=128 GB/s")) {
      rig.run(p -> sendAll(p, 1, 4096), p -> receiveAll(p, 1, 4096, false));
      assertThat(rig.rows(OpKind.RECV).getFirst().ps())
          .isEqualTo(20_000 + at(256, 4096) + at(128, 4096));
    }
  }

  @Test
  void serialAccess_slowSlots_areWrittenOneAfterTheOther() {
    try (DeviceRig rig = rig("ipcq.slot_access=serial", "ipcq.serial_cost.tcm.bandwidth=50 GB/s")) {
      rig.run(p -> sendAll(p, 3, 4096), p -> receiveAll(p, 3, 4096, false));
      long slot = at(50, 4096);
      var sends = rig.rows(OpKind.SEND);
      assertThat(sends.get(1).endPs() - sends.get(0).endPs()).isEqualTo(slot);
      assertThat(sends.get(2).endPs() - sends.get(1).endPs()).isEqualTo(slot);
    }
  }

  @Test
  void recvAwaitsCredit_copy_endsWhenTheCreditHasArrived() {
    try (DeviceRig rig = rig("ipcq.recv_awaits_credit=true", "ipcq.slots=1")) {
      rig.run(p -> sendAll(p, 2, 4096), p -> receiveAll(p, 2, 4096, true));
      var recv = rig.rows(OpKind.RECV);
      assertThat(recv.getFirst().ps()).isEqualTo(copyPs(4096) + CREDIT);
      assertThat(rig.rows(OpKind.SEND).get(1).startPs()).isEqualTo(recv.getFirst().endPs());
    }
  }

  @ParameterizedTest
  @CsvSource({"100", "7", "1000"})
  void poll_senderWaits_looksOncePerIntervalFromWhenItIsReady(long intervalNs) {
    try (DeviceRig rig =
        rig("ipcq.slots=1", "ipcq.backpressure=poll", "ipcq.poll_interval=" + intervalNs + " ns")) {
      rig.run(p -> sendAll(p, 2, 4096), p -> receiveAll(p, 2, 4096, true));
      long credit = rig.rows(OpKind.RECV).getFirst().endPs() + CREDIT;
      long interval = intervalNs * 1000;
      long ready = rig.rows(OpKind.SEND).getFirst().startPs() + O + at(200, 4096);
      assertThat(rig.rows(OpKind.SEND).get(1).startPs())
          .isEqualTo(ready + Math.ceilDiv(credit - ready, interval) * interval);
    }
  }

  @Test
  void poll_creditIsThereBeforeTheChannelIsFree_costsNothing() {
    try (DeviceRig rig =
        rig(
            "ipcq.slots=1",
            "ipcq.backpressure=poll",
            "ipcq.poll_interval=10000 ns",
            "ipcq.slot_size=2 MiB",
            "pe.tcm.size=64 MiB",
            "ipcq.directions=2")) {
      int big = 1 << 20;
      rig.run(
          p -> {
            Register v = fill(p, big);
            p.send(p.queue("E"), v, 0, 16);
            p.send(p.queue("W"), v, 0, big);
            p.send(p.queue("E"), v, 0, 16);
          },
          p -> {
            p.release(p.receive(p.queue("W"), 16, true, false));
            p.release(p.receive(p.queue("E"), big, true, false));
            p.release(p.receive(p.queue("W"), 16, true, false));
          });
      var sends = rig.rows(OpKind.SEND);
      assertThat(sends.get(2).startPs()).isEqualTo(sends.get(1).startPs() + O + at(200, big));
      assertThat(sends.get(2).cause()).isEqualTo(Cause.ENGINE);
    }
  }

  @Test
  void poll_creditIsThereBeforeTheCommandIssues_costsNothing() {
    try (DeviceRig rig =
        rig(
            "ipcq.slots=1",
            "ipcq.backpressure=poll",
            "ipcq.poll_interval=10000 ns",
            "pe.cpu.dispatch=1000 ns")) {
      rig.run(p -> sendAll(p, 2, 16), p -> receiveAll(p, 2, 16, true));
      var second = rig.rows(OpKind.SEND).get(1);
      assertThat(rig.rows(OpKind.RECV).getFirst().endPs() + CREDIT)
          .as("the credit is early")
          .isLessThan(second.issuePs());
      assertThat(second.startPs()).isEqualTo(second.issuePs());
    }
  }

  @ParameterizedTest
  @CsvSource({"1", "2"})
  void channels_twoDirections_shareOneOrHaveTheirOwn(int channels) {
    try (DeviceRig rig =
        DeviceRig.ring("system.sips.count=3", "pe.dma.message_channels=" + channels)
            .connectRing(3)) {
      rig.run(
          p -> {
            Register v = fill(p, 4096);
            p.fence(v);
            p.send(p.queue("E"), v, 0, 4096);
            p.send(p.queue("W"), v, 0, 4096);
          },
          p -> p.receive(p.queue("W"), 4096, false, false),
          p -> p.receive(p.queue("E"), 4096, false, false));
      var sends = rig.rows(OpKind.SEND);
      assertThat(sends.get(1).startPs())
          .isEqualTo(
              channels == 1
                  ? sends.get(0).startPs() + O + at(256, 4096)
                  : sends.get(0).startPs() + 1000);
    }
  }
}
