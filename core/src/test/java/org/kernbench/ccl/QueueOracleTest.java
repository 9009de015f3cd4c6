package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.RankLevel;

/**
 * Messages through a ring of slots against formula O20 of {@code docs/spec/collectives.md}, to the
 * picosecond: m messages of s bytes on one link, n slots; the receiver works on a message for
 * {@code t_c}, in its slot, and then frees it; the credit is back after {@code L_c}.
 */
final class QueueOracleTest {
  private static final int CREDIT_BYTES = 16;

  /** One sender and one receiver. */
  private record Link(Ideal ideal, int slots, int messages, int bytes, long creditOverheadPs) {
    long occ() {
      return ideal.occupancyPs(bytes);
    }

    long work() {
      return ideal.addPs(bytes);
    }

    /** {@code L_c}: the way back, and the credit's own bytes on the narrowest link. */
    long creditPs() {
      return ideal.latencyPs() + ideal.wirePs(CREDIT_BYTES) + creditOverheadPs;
    }

    long roundTrip() {
      return occ() + ideal.latencyPs() + work() + creditPs();
    }

    /** O20. */
    long formula() {
      long u = Math.max(occ(), work());
      long tail = occ() + ideal.latencyPs() + work();
      if (roundTrip() <= slots * u) {
        return (messages - 1) * u + tail;
      }
      long q = (messages - 1) / slots;
      long r = (messages - 1) % slots;
      return q * roundTrip() + r * u + tail;
    }

    /** The same by following every message. */
    long recurrence() {
      long[] credit = new long[messages + slots];
      long channel = 0;
      long worker = 0;
      for (int i = 0; i < messages; i++) {
        long start = Math.max(channel, credit[i]);
        channel = start + occ();
        worker = Math.max(channel + ideal.latencyPs(), worker) + work();
        credit[i + slots] = worker + creditPs();
      }
      return worker;
    }

    long simulate() {
      Machine machine =
          ideal.ring(2, "ipcq.slots=" + slots, "ipcq.credit_overhead=" + creditOverheadPs + " ps");
      List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 2);
      QueuePlan plan =
          new QueuePlan(
              machine.ipcq(),
              List.of(new QueuePlan.Connection(pes.get(0), "out", pes.get(1), "in")));
      try (Bed bed = Bed.open(machine, Mode.TIME)) {
        Shard shard = bed.vectors(pes, DType.I8, bytes).get(0);
        long total = bed.run(plan, pes, tl -> program(tl, pes, shard)).criticalPs();
        return total - ideal.loadPs(machine, bytes);
      }
    }

    private void program(Tl tl, List<Pe> pes, Shard shard) {
      if (tl.pe().equals(pes.get(0))) {
        Value message = tl.load(shard.all());
        for (int i = 0; i < messages; i++) {
          tl.send("out", message);
        }
        return;
      }
      for (int i = 0; i < messages; i++) {
        Value message = tl.recv("in", Shape.of(bytes), DType.I8);
        tl.release(message.neg());
        tl.release(message);
      }
    }
  }

  /** Wire-, work- and slot-bound, each with few and with many messages, whole rounds and not. */
  @ParameterizedTest
  @CsvSource({
    // o, L, 1/gamma, slots, messages, bytes, credit overhead: regime
    "20000, 300000, 512, 64, 40, 4096, 0", // wire: enough slots, occ > t_c
    "0, 10000, 1024, 3, 17, 4096, 0", // wire: just enough slots
    "5000, 300000, 64, 64, 40, 4096, 0", // work: enough slots, t_c > occ
    "0, 20000, 32, 2, 9, 8192, 1000", // work, two slots
    "0, 300000, 512, 4, 81, 4096, 0", // slots, occ > t_c, whole rounds
    "0, 300000, 512, 4, 83, 4096, 0", // slots, occ > t_c, a broken round
    "3000, 250000, 64, 5, 42, 16384, 7000", // slots, t_c > occ
    "20000, 100000, 128, 1, 12, 2048, 500", // one slot: a round trip each
    "20000, 100000, 128, 8, 1, 2048, 0", // one message
    "8000, 250000, 512, 7, 100, 16384, 2000"
  })
  void queue_regimes_takeO20(
      long o, long latency, int mathRate, int slots, int messages, int bytes, long creditOverhead) {
    Ideal ideal = new Ideal(o, latency, 128, mathRate, Ideal.Bottleneck.PORT);
    Link link = new Link(ideal, slots, messages, bytes, creditOverhead);
    assertThat(link.recurrence()).isEqualTo(link.formula());
    assertThat(link.simulate()).as("%s", link).isEqualTo(link.formula());
  }

  @Test
  void queue_anyParameters_takesO20() {
    SplittableRandom random = new SplittableRandom(20);
    for (int i = 0; i < 100; i++) {
      Ideal ideal =
          new Ideal(
              random.nextLong(30_000),
              1000 + random.nextLong(400_000),
              128,
              random.nextInt(16, 1024),
              Ideal.Bottleneck.PORT);
      Link link =
          new Link(
              ideal,
              random.nextInt(1, 12),
              random.nextInt(1, 60),
              1024 * random.nextInt(1, 30),
              random.nextLong(20_000));
      assertThat(link.simulate())
          .as("case %d: %s", i, link)
          .isEqualTo(link.formula())
          .isEqualTo(link.recurrence());
    }
  }

  /** Throughput {@code min(B_eff, s/t_c, n s/RTT)}: its example, 25.924 B/ns. */
  @Test
  void queue_exampleOfTheSpecification_reaches25BytesPerNs() {
    Ideal ideal = new Ideal(0, 300_000, 128, 1 << 19, Ideal.Bottleneck.PORT);
    int m = 20_001;
    Link link = new Link(ideal, 4, m, 4096, 0);
    assertThat(link.simulate()).isEqualTo(link.formula());
    double perNs = 4096.0 * (m - 1) * 1000 / (link.formula() - ideal.latencyPs());
    assertThat(perNs).isBetween(25.8, 25.93);
  }
}
