package org.kernbench.device.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.simulator.HbmTwin;
import org.kernbench.device.simulator.HbmTwin.Burst;
import org.kernbench.machine.spec.DramSpec;
import org.kernbench.machine.spec.HbmFidelity;
import org.kernbench.machine.spec.HbmSpec;
import org.kernbench.sim.Rate;

/** {@link HbmBanks} against data sheets, closed forms, and the cycle-stepped {@link HbmTwin}. */
class HbmBanksTest {
  private static final long BURST = 32;

  /** Data sheets as Ramulator 2.1 gives them, in cycles; tREFI is of our choosing. */
  enum Part {
    HBM4_8000(
        500, 3, 2, 8, 39, 19, 20, 10, 2, 33, 57, 90, 5, 7, 30, 2, 4, 12, 42, 9, 13, 25, 560, 16),
    HBM3_6400(
        625, 2, 4, 4, 31, 15, 20, 10, 2, 26, 45, 72, 4, 5, 24, 2, 4, 9, 33, 7, 10, 20, 320, 13);

    final long tCk;
    final DramSpec spec;

    Part(long tCk, int stacks, int groups, int banks, int... n) {
      this.tCk = tCk;
      long t = tCk;
      spec =
          new DramSpec(
              stacks,
              groups,
              banks,
              1024,
              BURST,
              16_384,
              n[0] * t,
              n[1] * t,
              n[2] * t,
              n[3] * t,
              n[4] * t,
              n[5] * t,
              n[6] * t,
              n[7] * t,
              n[8] * t,
              n[9] * t,
              n[10] * t,
              n[11] * t,
              n[12] * t,
              n[13] * t,
              n[14] * t,
              n[15] * t,
              n[16] * t,
              n[17] * t,
              3_900_000 / (stacks * groups * banks * t) * (stacks * groups * banks * t),
              n[18] * t,
              n[19] * t);
    }

    DramSpec withoutRefresh() {
      DramSpec s = spec;
      return new DramSpec(
          s.stackIds(),
          s.bankGroups(),
          s.banksPerGroup(),
          s.rowBytes(),
          s.accessBytes(),
          s.windowBytes(),
          s.tRcdRd(),
          s.tRcdWr(),
          s.tCl(),
          s.tCwl(),
          s.tBl(),
          s.tRp(),
          s.tRas(),
          s.tRc(),
          s.tRrdS(),
          s.tRrdL(),
          s.tFaw(),
          s.tCcdS(),
          s.tCcdL(),
          s.tRtp(),
          s.tWr(),
          s.tWtrS(),
          s.tWtrL(),
          s.tRtw(),
          Long.MAX_VALUE / 4,
          s.tRfcPb(),
          s.tRrefd());
    }
  }

  private static HbmBanks oneChannel(DramSpec spec) {
    return banks(spec, 1);
  }

  private static HbmBanks banks(DramSpec spec, int channels) {
    long peak = Math.round(BURST * 1e12 / spec.tCcdS());
    Rate rate = Rate.ofBytesPerSecond(channels * peak);
    return new HbmBanks(
        new HbmSpec(1L << 30, rate, rate, channels, 256, 0, HbmFidelity.BANKED, spec), spec);
  }

  /** Published: Ramulator 2.1's read latency of an idle bank, nCL + nBL and what comes before. */
  @ParameterizedTest
  @CsvSource({"HBM4_8000,11000,30500,47000", "HBM3_6400,13750,33125,49375"})
  void read_idleBank_takesHitClosedOrConflict(Part part, long hit, long closed, long conflict) {
    DramSpec spec = part.withoutRefresh();
    long otherRow = rowOfSameBank(spec, 1);
    HbmBanks banks = oneChannel(spec);
    banks.access(0, BURST, false, 0);
    assertThat(banks.lastPs).isEqualTo(closed).isEqualTo(spec.rowClosedPs());
    banks.access(2 * BURST, BURST, false, 1_000_000);
    assertThat(banks.lastPs - 1_000_000).isEqualTo(hit).isEqualTo(spec.rowHitPs());
    banks.access(otherRow, BURST, false, 2_000_000);
    assertThat(banks.lastPs - 2_000_000).isEqualTo(conflict).isEqualTo(spec.rowConflictPs());
  }

  /** Row r of a bank stands r sets further back, for the bank is rotated by the row. */
  private static long rowOfSameBank(DramSpec spec, int row) {
    long set = spec.rowBytes() * spec.interleave();
    long sets = spec.banks() / spec.interleave();
    return row * set * sets + Math.floorMod(-row, sets) * set;
  }

  @ParameterizedTest
  @EnumSource
  void access_randomBursts_asTheCycleSteppedTwin(Part part) {
    for (long seed = 0; seed < 20; seed++) {
      List<Burst> bursts = randomBursts(part, seed);
      HbmBanks banks = oneChannel(part.spec);
      long[] done = new long[bursts.size()];
      for (int i = 0; i < done.length; i++) {
        Burst b = bursts.get(i);
        banks.access(b.address(), BURST, b.write(), b.timePs());
        done[i] = banks.lastPs;
      }
      assertThat(done)
          .as("%s, seed %d", part, seed)
          .isEqualTo(HbmTwin.run(part.spec, bursts, part.tCk));
    }
  }

  /** Streams, hot rows, hot banks and noise, crowded or sparse, with all or few writes. */
  private static List<Burst> randomBursts(Part part, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    int writePercent = new int[] {0, 10, 50, 100}[random.nextInt(4)];
    int gap = new int[] {0, 1, 4, 60, 2000}[random.nextInt(5)];
    int kind = random.nextInt(4);
    long base = random.nextLong(1 << 14) * BURST;
    List<Burst> bursts = new ArrayList<>();
    long cycle = random.nextInt(2000);
    for (int i = 0; i < 150; i++) {
      long address =
          switch (kind) {
            case 0 -> base + i * BURST;
            case 1 -> rowOfSameBank(part.spec, random.nextInt(3)) + random.nextInt(4) * BURST;
            case 2 -> base + random.nextInt(1 << 9) * BURST;
            default -> random.nextLong(1 << 20) * BURST;
          };
      bursts.add(new Burst(cycle * part.tCk, address, random.nextInt(100) < writePercent));
      cycle += gap == 0 ? 0 : random.nextInt(gap + 1);
    }
    return bursts;
  }

  /** After idling for long, whole rounds of refresh are skipped: the same state must come out. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 7})
  void access_afterIdleRounds_asTheCycleSteppedTwin(int rounds) {
    Part part = Part.HBM4_8000;
    List<Burst> bursts = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      long idle = i < 50 ? 0 : rounds * 3_900_000L / part.tCk * part.tCk;
      bursts.add(new Burst(idle + i * 40 * part.tCk, i * 1024 + i * BURST, false));
    }
    HbmBanks banks = oneChannel(part.spec);
    long[] done = new long[bursts.size()];
    for (int i = 0; i < done.length; i++) {
      banks.access(bursts.get(i).address(), BURST, false, bursts.get(i).timePs());
      done[i] = banks.lastPs;
    }
    assertThat(done).isEqualTo(HbmTwin.run(part.spec, bursts, part.tCk));
  }

  /** Whatever is asked, no channel moves more than a burst per tCCDS. */
  @ParameterizedTest
  @EnumSource
  void access_anything_neverAboveTheDataSheetPeak(Part part) {
    for (long seed = 0; seed < 50; seed++) {
      HbmBanks banks = oneChannel(part.spec);
      List<Long> done = new ArrayList<>();
      for (Burst b : randomBursts(part, seed)) {
        banks.access(b.address(), BURST, b.write(), b.timePs());
        done.add(banks.lastPs - (b.write() ? part.spec.tCwl() : part.spec.tCl()));
      }
      done.sort(null);
      for (int i = 0; i < done.size(); i++) {
        assertThat(done.get(i) - done.getFirst()).isGreaterThanOrEqualTo(i * part.spec.tCcdS());
      }
    }
  }

  /** Without refresh a stream runs at a burst per tCCDS: activates hide behind the open rows. */
  @ParameterizedTest
  @EnumSource
  void stream_withoutRefresh_reachesThePeak(Part part) {
    DramSpec spec = part.withoutRefresh();
    int n = 20_000;
    HbmBanks banks = oneChannel(spec);
    for (int i = 0; i < n; i++) {
      banks.access(i * BURST, BURST, false, 0);
    }
    assertThat(banks.lastPs).isEqualTo(spec.rowClosedPs() + (n - 1) * spec.tCcdS() + skew(spec));
  }

  /** The second bank group's first activate follows the first by tRRDS, its read by tCCDS. */
  private static long skew(DramSpec spec) {
    return spec.tRrdS() - spec.tCcdS();
  }

  /** Single bursts of ever other rows and banks: four activates per tFAW. */
  @ParameterizedTest
  @EnumSource
  void random_everyBurstAnotherRow_isBoundByFourActivates(Part part) {
    DramSpec spec = part.withoutRefresh();
    HbmBanks banks = oneChannel(spec);
    long set = spec.rowBytes() * spec.interleave();
    int n = 4_000;
    for (int i = 0; i < n; i++) {
      banks.access(i * set, BURST, false, 0);
    }
    assertThat((double) banks.lastPs / n)
        .isBetween(spec.tFaw() / 4.0, spec.tFaw() / 4.0 * 1.01 + spec.tRrdL() - spec.tRrdS());
  }

  /** Ever other rows of one bank: one burst per tRC. */
  @ParameterizedTest
  @EnumSource
  void random_oneBank_isBoundByTheRowCycle(Part part) {
    DramSpec spec = part.withoutRefresh();
    HbmBanks banks = oneChannel(spec);
    int n = 1_000;
    for (int i = 0; i < n; i++) {
      banks.access(rowOfSameBank(spec, i), BURST, false, 0);
    }
    assertThat(banks.lastPs).isEqualTo(spec.rowClosedPs() + (n - 1) * spec.tRc());
  }

  /** Alternating reads and writes of open rows pay both turn-arounds for each pair. */
  @ParameterizedTest
  @EnumSource
  void mixed_readWrite_paysTheTurnarounds(Part part) {
    DramSpec spec = part.withoutRefresh();
    HbmBanks banks = oneChannel(spec);
    banks.access(0, 2 * BURST, false, 0);
    long start = 1_000_000;
    int pairs = 10;
    for (int i = 0; i < pairs; i++) {
      banks.access(0, BURST, false, start);
      banks.access(BURST, BURST, true, start);
    }
    long pair = spec.tRtw() + spec.tCwl() + spec.tBl() + spec.tWtrS();
    assertThat(banks.lastPs)
        .isEqualTo(start + (pairs - 1) * pair + spec.tRtw() + spec.tCwl() + spec.tBl());
  }

  /** Stripes of 256 B go round the channels: all eight at once, or one eight times. */
  @Test
  void stripes_overChannels_areServedAtOnce() {
    DramSpec spec = Part.HBM4_8000.withoutRefresh();
    HbmBanks apart = banks(spec, 8);
    apart.access(0, 2048, false, 0);
    HbmBanks together = banks(spec, 8);
    for (int i = 0; i < 8; i++) {
      together.access(i * 2048L, 256, false, 0);
    }
    assertThat(apart.lastPs).isEqualTo(spec.rowClosedPs() + 7 * spec.tCcdS() + skew(spec));
    assertThat(together.lastPs).isEqualTo(spec.rowClosedPs() + 63 * spec.tCcdS() + skew(spec));
  }
}
