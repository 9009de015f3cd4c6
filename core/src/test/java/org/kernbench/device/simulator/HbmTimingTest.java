package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.memory.Region;

/** Loads and stores of PEs on banked HBM, HBM4-8000; numbers of the preset {@code sip-2026}, ps. */
final class HbmTimingTest {
  private static final long SETUP = 28_000;
  private static final long REQUEST = 2_000 + 7_250;
  private static final long BACK = 7_250 + 4_000;
  private static final long CLOSED = 30_500;
  private static final long WRITE_CLOSED = 9_500 + 5_000 + 1_000;
  private static final String BANKED = "cube.hbm.fidelity=banked";
  private static final double PEAK = 256e9;

  /** The second bank group opens tRRDS after the first; from there on a burst per tCCDS. */
  private static long bursts(int bytes) {
    long n = Math.ceilDiv(Math.min(bytes, 256), 32);
    return n == 1 ? 0 : 1_500 + (n - 1) * 1_000;
  }

  @ParameterizedTest
  @ValueSource(ints = {64, 256, 512, 1024})
  void load_idleMachine_isSetupRequestClosedRowAndWayBack(int bytes) {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, "sip-2026", BANKED)) {
      rig.run(p -> p.load(rig.hbm(0, 0, bytes)));
      assertThat(rig.row(0).ps()).isEqualTo(SETUP + REQUEST + CLOSED + bursts(bytes) + BACK);
      assertThat(rig.sim.opLog().contentionPs(0)).isLessThanOrEqualTo(bursts(bytes));
    }
  }

  /** The memory takes a chunk when all of it is there: 1 KiB at the 256 GB/s of the way. */
  @ParameterizedTest
  @ValueSource(ints = {64, 256, 1024})
  void store_idleMachine_isSetupWayClosedRowAndAcknowledgement(int bytes) {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, "sip-2026", BANKED)) {
      rig.run(p -> p.store(PeIssueTest.fill(p, bytes), 0, rig.hbm(0, 0, bytes)));
      long way = PeTimingTest.at(256, bytes);
      assertThat(rig.row(1).ps())
          .isEqualTo(SETUP + REQUEST + way + WRITE_CLOSED + bursts(bytes) + BACK);
    }
  }

  @Test
  void load_afterLoadOfTheSameRow_findsItOpen() {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, "sip-2026", BANKED)) {
      rig.run(p -> {
        p.fence(p.load(rig.hbm(0, 0, 64)));
        p.fence(p.load(rig.hbm(0, 128, 64)));
      });
      assertThat(rig.row(0).ps() - rig.row(1).ps()).isEqualTo(19_500 + 1_500);
    }
  }

  /**
   * One stream reaches at least 90 % of the data sheet's peak; four at once, which meet in banks
   * now and then and leave refresh no bank that none of them wants soon, 80 %; none more than all
   * of it.
   */
  @ParameterizedTest
  @CsvSource({
    "sip-2026,1,256,0.9",
    "sip-2026,4,256,0.8",
    "sip-2026-hbm3e,1,153.6,0.9",
    "sip-2026-hbm3e,4,153.6,0.8"
  })
  void stream_ofTheOwnSlice_isNearThePeakAndNotAbove(
      String preset, int queues, double peak, double share) {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, preset, BANKED, "pe.dma.read_queues=" + queues)) {
      int bytes = 1 << 20;
      Launch launch = rig.run(p -> stream(p, rig, 0, 8, bytes));
      double rate = 8.0 * bytes / launch.criticalPs() * 1e3;
      assertThat(rate).isBetween(share * peak, peak);
    }
  }

  private static void stream(PePort p, DeviceRig rig, int slice, int times, int bytes) {
    for (int i = 0; i < times; i++) {
      p.release(p.load(rig.hbm(slice, (long) i * bytes, bytes)));
    }
  }

  /** Another PE's slice, or nothing at all: what else the NoC carries does not matter. */
  @ParameterizedTest
  @ValueSource(strings = {"flat", "banked"})
  void stream_ofTheOwnSlice_isUntouchedByTrafficOfOthers(String fidelity) {
    assertThat(ownStreamPs(fidelity, true)).isEqualTo(ownStreamPs(fidelity, false));
  }

  private static long ownStreamPs(String fidelity, boolean crowded) {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, "sip-2026", "cube.hbm.fidelity=" + fidelity)) {
      List<Consumer<PePort>> programs = new ArrayList<>();
      programs.add(p -> stream(p, rig, 0, 8, 1 << 18));
      for (int i = 1; i < 16; i++) {
        int victim = i == 15 ? 1 : i + 1;
        programs.add(p -> {
          if (crowded) {
            stream(p, rig, victim, 8, 1 << 18);
          }
        });
      }
      rig.run(programs);
      return rig.rows(0, OpKind.LOAD).getLast().endPs() - rig.row(0).issuePs();
    }
  }

  /** Loads of random size and place, with neighbours: no slice gives more than its peak. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void anything_neverAboveThePeak(long seed) {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, "sip-2026", BANKED)) {
      java.util.SplittableRandom random = new java.util.SplittableRandom(seed);
      List<Consumer<PePort>> programs = new ArrayList<>();
      long[] bytes = {0};
      for (int pe = 0; pe < 8; pe++) {
        List<Region> regions = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
          int row = 32 << random.nextInt(8);
          int rows = 1 + random.nextInt(16);
          long stride = row + 32L * random.nextInt(300);
          regions.add(
              new Region(
                  rig.machine.addresses().hbm(rig.pe(0), 256L * random.nextInt(1 << 16)),
                  rows,
                  row,
                  stride));
          bytes[0] += (long) rows * row;
        }
        boolean writes = pe == 7;
        programs.add(p ->
            regions.forEach(r -> {
              if (writes) {
                p.store(PeIssueTest.fill(p, r.bytes()), 0, r);
              } else {
                p.release(p.load(r));
              }
            }));
      }
      Launch launch = rig.run(programs);
      assertThat(bytes[0] / (launch.criticalPs() / 1e12)).isLessThan(PEAK);
      assertThat(rig.rows()).allMatch(r -> r.ps() > 0);
    }
  }

  /** Values do not depend on how time is modelled, nor times on whether there are values. */
  @Test
  void banked_fullAndTime_haveOneOpLog() {
    String full = hash(Mode.FULL);
    assertThat(hash(Mode.TIME)).isEqualTo(full);
  }

  private static String hash(Mode mode) {
    try (DeviceRig rig = DeviceRig.of(mode, "sip-2026", BANKED)) {
      for (int i = 0; i < 3; i++) {
        rig.sim.write(rig.hbm(i, 0, 4096).address(), new byte[4096], 0, 4096);
      }
      rig.run(
          p -> p.store(p.load(rig.hbm(1, 0, 4096)), 0, rig.hbm(0, 8192, 4096)),
          p -> p.store(p.load(rig.hbm(2, 0, 4096)), 0, rig.hbm(0, 512, 4096)));
      return rig.sim.opLog().hash();
    }
  }
}
