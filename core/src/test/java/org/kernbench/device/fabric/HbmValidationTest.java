package org.kernbench.device.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.DramSpec;
import org.kernbench.machine.spec.HbmSpec;

/**
 * What a slice of banked HBM gives, beside data sheets and published measurements, as in {@code
 * docs/validation/memory.md}; {@code -Dkernbench.rewrite=true} writes the table anew.
 */
class HbmValidationTest {
  private static final int REQUESTS = 60_000;

  /** Requests in flight hold so many bytes: four DMA queues of 16 KiB. */
  private static final int IN_FLIGHT = 64 << 10;

  private enum Pattern {
    STREAM_READ(1024),
    STREAM_WRITE(1024),
    COPY_1_KIB(1024),
    COPY_16_KIB(16_384),
    RANDOM_1_KIB(1024),
    RANDOM_256_B(256),
    RANDOM_64_B(64),
    RANDOM_32_B(32),
    STRIDE_4_KIB_256_B(256),
    STRIDE_2_KIB_256_B(256);

    final int bytes;

    Pattern(int bytes) {
      this.bytes = bytes;
    }

    /** Where request {@code k} is. */
    long offset(long k, SplittableRandom random) {
      return switch (this) {
        case STREAM_READ, STREAM_WRITE -> k * bytes;
        case COPY_1_KIB, COPY_16_KIB -> k / 2 * bytes + (k & 1) * ((1L << 28) + 37 * 16_384);
        case RANDOM_1_KIB, RANDOM_256_B, RANDOM_64_B, RANDOM_32_B ->
            random.nextLong((1L << 29) / bytes) * bytes;
        case STRIDE_4_KIB_256_B -> k * 4096;
        case STRIDE_2_KIB_256_B -> k * 2048;
      };
    }

    boolean writes(long k) {
      return switch (this) {
        case STREAM_WRITE -> true;
        case COPY_1_KIB, COPY_16_KIB -> (k & 1) == 1;
        default -> false;
      };
    }
  }

  private record Slot(long timePs, int number) {}

  /** Bytes per second of a closed loop: each request follows when an earlier one is done. */
  private static double rate(HbmSpec hbm, Pattern pattern) {
    HbmBanks banks = new HbmBanks(hbm, hbm.dram());
    SplittableRandom random = new SplittableRandom(1);
    PriorityQueue<Slot> free =
        new PriorityQueue<>((a, b) ->
            a.timePs != b.timePs
                ? Long.compare(a.timePs, b.timePs)
                : Integer.compare(a.number, b.number));
    for (int i = 0; i < Math.max(2, IN_FLIGHT / pattern.bytes); i++) {
      free.add(new Slot(0, i));
    }
    long end = 0;
    int requests = Math.min(REQUESTS, (64 << 20) / pattern.bytes);
    for (int k = 0; k < requests; k++) {
      Slot slot = free.remove();
      banks.access(pattern.offset(k, random), pattern.bytes, pattern.writes(k), slot.timePs);
      free.add(new Slot(banks.lastPs, slot.number));
      end = Math.max(end, banks.lastPs);
    }
    return (double) requests * pattern.bytes / end * 1e12;
  }

  private static HbmSpec slice(String preset) {
    return Machines.load(preset, List.of("cube.hbm.fidelity=banked")).hbm();
  }

  /** What no pattern of single bursts can beat: four activates per tFAW, in every channel. */
  private static double activateBound(HbmSpec hbm, int bytes) {
    DramSpec d = hbm.dram();
    int activates = Math.min(d.interleave(), (int) Math.max(1, bytes / d.accessBytes()));
    int inStripe = (int) Math.min(bytes, hbm.burstBytes());
    double perActivates = Math.max(d.tFaw() / 4.0, d.tRrdS()) * activates;
    double data = inStripe / d.accessBytes() * (double) d.tCcdS();
    return hbm.channels() * inStripe / Math.max(perActivates, data) * 1e12;
  }

  @Test
  void bandwidth_ofEveryPattern_isAsPublished() throws IOException {
    StringBuilder csv =
        new StringBuilder("preset,pattern,gigabytes_per_s,share_of_peak,bound_gigabytes_per_s\n");
    for (String preset : List.of("sip-2026", "sip-2026-hbm3e")) {
      HbmSpec hbm = slice(preset);
      double peak = hbm.peakRate().bytesPerSecond();
      for (Pattern pattern : Pattern.values()) {
        double rate = rate(hbm, pattern);
        boolean random = pattern.name().startsWith("RANDOM");
        double bound = random ? Math.min(peak, activateBound(hbm, pattern.bytes)) : peak;
        if (pattern == Pattern.STRIDE_2_KIB_256_B) { // one channel, or every second of four
          bound = peak / hbm.channels();
        }
        csv.append(
            String.format(
                    Locale.ROOT,
                    "%s,%s,%.2f,%.4f,%.2f%n",
                    preset,
                    pattern.name().toLowerCase(Locale.ROOT),
                    rate / 1e9,
                    rate / peak,
                    bound / 1e9)
                .replace("\r", ""));
        assertThat(rate).as("%s %s", preset, pattern).isLessThanOrEqualTo(bound);
      }
    }
    Path published = Path.of("../docs/validation/memory.csv");
    if (Boolean.getBoolean("kernbench.rewrite")) {
      Files.writeString(published, csv);
    }
    assertThat(csv.toString()).isEqualTo(Files.readString(published));
  }

  /** Measured on an FPGA with two HBM2 stacks: 425 GB/s of 460.8 (Wang et al., FCCM 2020). */
  @Test
  void stream_besidePublishedEfficiency_isWithinEightPercent() {
    for (String preset : List.of("sip-2026", "sip-2026-hbm3e")) {
      HbmSpec hbm = slice(preset);
      double share = rate(hbm, Pattern.STREAM_READ) / hbm.peakRate().bytesPerSecond();
      assertThat(share).as(preset).isEqualTo(425 / 460.8, within(0.08));
    }
  }
}
