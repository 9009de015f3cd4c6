package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.algorithms.RingAllReduce;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * The ring all-reduce against formulas O1 and O2 of {@code docs/spec/collectives.md}, to the
 * picosecond, and against a recurrence where O2 has conditions. Times of the load before and the
 * store behind are computed from the routes.
 */
final class RingOracleTest {
  private static final int FLOAT = 4;

  /** O1: {@code 2 (p-1)(o + L + S/(pB)) + (p-1) gamma S/p}. */
  private static long o1(Ideal m, int p, long vectorBytes) {
    long segment = vectorBytes / p;
    return 2L * (p - 1) * (m.overheadPs() + m.latencyPs() + m.wirePs(segment))
        + (p - 1) * m.addPs(segment);
  }

  /**
   * O2: {@code sum of t = 1 .. 2p-3 of max(c occ, occ + L + r(t)) + c occ + L} with {@code r(t) =
   * gamma s} for {@code t <= p-1}, else 0.
   */
  private static long o2(Ideal m, int p, long vectorBytes, int c) {
    long s = vectorBytes / p / c;
    long occ = m.occupancyPs(s);
    long sum = 0;
    for (int t = 1; t <= 2 * p - 3; t++) {
      sum += Math.max(c * occ, occ + m.latencyPs() + (t <= p - 1 ? m.addPs(s) : 0));
    }
    return sum + c * occ + m.latencyPs();
  }

  /**
   * Second oracle, without conditions: all ranks do the same, so one is followed. The channel and
   * the adder each take sub-chunks one after the other.
   *
   * @param portBound whether a message holds the channel until its last byte has left; if not, for
   *     o only, and the link behind takes them one after the other
   */
  private static long recurrence(Ideal m, int p, long vectorBytes, int c, boolean portBound) {
    long s = vectorBytes / p / c;
    long[] ready = new long[c];
    long channel = 0;
    long link = 0;
    long adder = 0;
    long end = 0;
    for (int step = 1; step <= 2 * (p - 1); step++) {
      for (int j = 0; j < c; j++) {
        long start = Math.max(ready[j], channel) + m.overheadPs();
        long onWire = portBound ? start : Math.max(start, link);
        link = onWire + m.wirePs(s);
        channel = portBound ? link : start + 1; // the least time on any link
        long arrived = link + m.latencyPs();
        if (step <= p - 1) {
          adder = Math.max(arrived, adder) + m.addPs(s);
          ready[j] = adder;
        } else {
          ready[j] = arrived;
        }
        end = Math.max(end, ready[j]);
      }
    }
    return end;
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 5, 6, 7, 12, 16})
  void ring_oneMessagePerSegment_takesO1(int p) {
    for (int add : new int[] {Ideal.NO_GAMMA, 512, 100}) {
      Ideal ideal = new Ideal(20_000, 100_000, 128, add, Ideal.Bottleneck.LINK);
      Machine machine = ideal.ring(p);
      long bytes = 4096L * 4 * p;
      assertThat(simulate(machine, p, bytes, 1))
          .as("p %d, %d B/ns added", p, add)
          .isEqualTo(
              ideal.loadPs(machine, bytes / p)
                  + o1(ideal, p, bytes)
                  + ideal.storePs(machine, bytes / p));
    }
  }

  @Test
  void ring_exampleOfTheSpecification_takes2640And2180Ns() {
    Ideal ideal = new Ideal(20_000, 100_000, 128, 512, Ideal.Bottleneck.PORT);
    assertThat(o1(ideal, 6, 98_304)).isEqualTo(2_640_000);
    assertThat(o2(ideal, 6, 98_304, 1)).isEqualTo(2_640_000);
    assertThat(o2(ideal, 6, 98_304, 4)).isEqualTo(2_180_000);
    Machine machine = ideal.ring(6);
    long load = ideal.loadPs(machine, 98_304);
    assertThat(simulateResident(machine, 6, 98_304, 1)).isEqualTo(2_640_000 + load);
    assertThat(simulateResident(machine, 6, 98_304, 4)).isEqualTo(2_180_000 + load);
  }

  @ParameterizedTest
  @CsvSource({
    "2, 1", "2, 5", "3, 2", "4, 3", "5, 4", "6, 1", "6, 2", "6, 8", "7, 3", "9, 6", "12, 2"
  })
  void ring_subChunks_takeO2(int p, int c) {
    for (long latency : new long[] {5_000, 60_000, 400_000}) {
      for (long overhead : new long[] {0, 7_000, 33_000}) {
        Ideal ideal = new Ideal(overhead, latency, 128, 512, Ideal.Bottleneck.PORT);
        Machine machine = ideal.ring(p);
        long bytes = 2048L * p * c;
        long load = ideal.loadPs(machine, bytes);
        long expected = o2(ideal, p, bytes, c);
        assertThat(recurrence(ideal, p, bytes, c, true)).isEqualTo(expected);
        assertThat(simulateResident(machine, p, bytes, c))
            .as("p %d, c %d, L %d ps, o %d ps", p, c, latency, overhead)
            .isEqualTo(load + expected);
      }
    }
  }

  /** Slow additions, which O2 does not cover; and ports that hide o behind the wire. */
  @Test
  void ring_anyParameters_takesTheTimeOfTheRecurrence() {
    SplittableRandom random = new SplittableRandom(2);
    for (int i = 0; i < 60; i++) {
      int p = random.nextInt(2, 9);
      int c = random.nextInt(1, 9);
      long bytes = 1024L * random.nextInt(1, 20) * p * c;
      boolean port = random.nextBoolean();
      Ideal ideal =
          new Ideal(
              1 + random.nextLong(40_000),
              1000 + random.nextLong(200_000),
              128,
              random.nextInt(20, 600),
              port ? Ideal.Bottleneck.PORT : Ideal.Bottleneck.LINK);
      Machine machine = ideal.ring(p);
      long load = ideal.loadPs(machine, bytes);
      assertThat(simulateResident(machine, p, bytes, c))
          .as("case %d: %s, p %d, c %d, %d bytes", i, ideal, p, c, bytes)
          .isEqualTo(load + recurrence(ideal, p, bytes, c, port));
    }
  }

  private static Communicator ring(Machine machine, List<Pe> leads, int subChunks) {
    CclConfig config =
        CclConfig.load(
            Optional.empty(),
            List.of("defaults.algorithm=ring", "algorithms.ring.sub_chunks=" + subChunks));
    return CollectiveLibrary.open(machine, config).connect(leads);
  }

  /** The algorithm as it is: it loads and stores segment by segment. */
  private static long simulate(Machine machine, int p, long bytes, int subChunks) {
    List<Pe> leads = Bed.leads(machine, RankLevel.SIP, p);
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      List<Shard> shards = bed.vectors(leads, DType.F32, (int) (bytes / FLOAT));
      return bed.allReduce(ring(machine, leads, subChunks), leads, ReduceKind.SUM, shards)
          .criticalPs();
    }
  }

  /**
   * The same schedule on vectors that are in TCM before it starts and stay there, so that loads and
   * stores do not share the port with messages.
   */
  private static long simulateResident(Machine machine, int p, long bytes, int subChunks) {
    List<Pe> leads = Bed.leads(machine, RankLevel.SIP, p);
    Group group = new Group(machine, RankLevel.SIP, leads);
    CclConfig config =
        CclConfig.load(Optional.empty(), List.of("algorithms.ring.sub_chunks=" + subChunks));
    AlgorithmConfig ring = config.of("ring");
    Schedule schedule = new RingAllReduce().plan(group, machine.ipcq(), ring);
    int n = (int) (bytes / FLOAT);
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      List<Shard> shards = bed.vectors(leads, DType.F32, n);
      Schedule.RankProgram program = schedule.program(Bed.allReduce(ReduceKind.SUM, shards));
      return bed.run(
              ring(machine, leads, subChunks).firstQueues().orElseThrow(),
              leads,
              tl -> {
                int rank = group.rankOf(tl.pe());
                Payload vector = new Resident(tl, shards.get(rank));
                program.run(tl, rank, vector, new Reduction(ReduceKind.SUM, p));
              })
          .criticalPs();
    }
  }

  /** A vector in TCM; results stay where they are. */
  private static final class Resident implements Payload {
    private final Value all;

    Resident(Tl tl, Shard shard) {
      all = tl.load(shard.all());
      tl.awaitAll();
    }

    @Override
    public Value read(Tl tl, int start, int count) {
      return all.range(start, count);
    }

    @Override
    public void giveBack(Tl tl, Value read) {}

    @Override
    public void write(Tl tl, int start, int count, Value value) {}
  }

  /** O1 of two packages with 2 B between them: half the time on the wire, the same latency. */
  @ParameterizedTest
  @ValueSource(ints = {1 << 10, 96 << 10, 1 << 20})
  void ring_twoPackagesWithADoubleLink_takesO1AtTwiceTheRate(int bytes) {
    Ideal one = new Ideal(20_000, 100_000, 64, 512, Ideal.Bottleneck.LINK);
    Ideal two = new Ideal(20_000, 100_000, 128, 512, Ideal.Bottleneck.LINK);
    Machine doubled = one.ring(2, "system.sips.wrap_pairs=double");
    long part = bytes / 2;
    assertThat(simulate(doubled, 2, bytes, 1))
        .isEqualTo(two.loadPs(doubled, part) + o1(two, 2, bytes) + two.storePs(doubled, part))
        .isLessThan(simulate(one.ring(2), 2, bytes, 1));
  }
}
