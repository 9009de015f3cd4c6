package org.kernbench.nn.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.pipeline.Action.Kind;
import org.kernbench.nn.pipeline.ScheduleTimes.Costs;

/**
 * Built-in schedules against the closed forms of the literature and against {@link SlowPipeline}, a
 * simulator that goes tick by tick and knows nothing but who needs what.
 */
class PipelineScheduleTest {
  private record Case(int p, int m, int v, Costs costs) {
    long f() {
      return costs.forward();
    }

    long whole() {
      return costs.forward() + costs.input() + costs.weight();
    }

    @Override
    public String toString() {
      return "p %s m %s v %s %s".formatted(p, m, v, costs);
    }
  }

  private static Case draw(Random random, boolean divides, boolean shortWeights, int transfer) {
    int p = 1 + random.nextInt(8);
    int m = divides ? p * (1 + random.nextInt(4)) : 1 + random.nextInt(16);
    int f = 1 + random.nextInt(6);
    int b = 1 + random.nextInt(6);
    int w = 1 + random.nextInt(shortWeights ? Math.min(f, b) : 6);
    return new Case(p, m, 2 + random.nextInt(3), new Costs(f, b, w, transfer));
  }

  private static long took(PipelineSchedule s, Costs c) {
    long fast = ScheduleTimes.of(s, c).end();
    assertThat(fast).as("%s %s", s, c).isEqualTo(new SlowPipeline(s, c).run());
    return fast;
  }

  @Test
  void gpipeAnd1F1B_randomNumbers_takeTheClosedForm() {
    Random random = new Random(1);
    for (int i = 0; i < 100; i++) {
      Case c = draw(random, false, false, 0);
      long form = (c.m + c.p - 1) * c.whole();
      for (Schedules named : List.of(Schedules.GPIPE, Schedules.ONE_F_ONE_B)) {
        PipelineSchedule s = named.of(c.p, c.m, 1);
        assertThat(took(s, c.costs)).as("%s %s", s, c).isEqualTo(form);
        for (int rank = 0; rank < c.p; rank++) {
          int held = named == Schedules.GPIPE ? c.m : Math.min(c.m, c.p - rank);
          assertThat(s.held(rank)).as("held on %s of %s, %s", rank, s, c).isEqualTo(held);
        }
      }
    }
  }

  @Test
  void interleaved_randomNumbers_takesTheClosedForm() {
    Random random = new Random(2);
    for (int i = 0; i < 75; i++) {
      Case c = draw(random, true, false, 0);
      PipelineSchedule s = Schedules.INTERLEAVED.of(c.p, c.m, c.v);
      // in chunks: a stage's times are v chunks'
      long form = c.m * c.v * c.whole() + (c.p - 1) * c.whole();
      assertThat(took(s, c.costs)).as("%s %s", s, c).isEqualTo(form);
      for (int rank = 0; rank < c.p; rank++) {
        int held = Math.min(c.m * c.v, 2 * (c.p - 1 - rank) + (c.v - 1) * c.p + 1);
        assertThat(s.held(rank)).as("held on %s of %s, %s", rank, s, c).isEqualTo(held);
      }
    }
  }

  @Test
  void zbH1_randomNumbers_takesTheClosedForm() {
    Random random = new Random(3);
    for (int i = 0; i < 100; i++) {
      Case c = draw(random, false, true, 0);
      PipelineSchedule s = Schedules.ZB_H1.of(c.p, c.m, 1);
      long bubble = (c.p - 1) * (c.f() + c.costs.input() - c.costs.weight());
      if (c.m >= c.p) {
        assertThat(took(s, c.costs)).as("%s %s", s, c).isEqualTo(c.m * c.whole() + bubble);
      } else {
        took(s, c.costs);
      }
      for (int rank = 0; rank < c.p; rank++) {
        assertThat(s.held(rank)).isEqualTo(Math.min(c.m, c.p - rank));
        assertThat(s.putOff(rank)).isEqualTo(Math.min(c.m, rank + 1));
      }
    }
  }

  @Test
  void zbV_enoughMicrobatchesAndEqualTimes_hasNoBubbleBeyondTheWayIn() {
    for (int p = 1; p <= 8; p++) {
      for (int m = 2 * p - 1; m < 4 * p; m++) {
        PipelineSchedule s = Schedules.ZB_V.of(p, m, 1);
        // the last rank waits for the first microbatch, and ends that much earlier or later
        assertThat(took(s, new Costs(3, 3, 3, 0))).as("%s", s).isEqualTo(m * 18L + (p - 1) * 3L);
        for (int rank = 0; rank < p; rank++) {
          assertThat(s.held(rank)).as("chunks held, %s", s).isLessThanOrEqualTo(2 * p);
        }
      }
    }
  }

  @Test
  void dualPipe_evenNumbers_hasTheBubbleOfItsAuthors() {
    Random random = new Random(4);
    for (int i = 0; i < 60; i++) {
      int p = 2 * (1 + random.nextInt(4));
      int m = 2 * p + 2 * random.nextInt(6);
      int w = 1 + random.nextInt(4);
      Costs c = new Costs(w, w, w, 0);
      PipelineSchedule s = Schedules.DUALPIPE.of(p, m, 1);
      long pair = c.forward() + c.input() + c.weight();
      long bubble = (p / 2 - 1) * (pair + c.input() + c.weight() - 3 * c.weight());
      // the authors overlap a pair, so that neither of the two is done before both are
      assertThat(new SlowPipeline(s, c, true).run()).as("%s", s).isEqualTo(m * pair + bubble);
      assertThat(took(s, c)).as("%s", s).isBetween(m * pair, m * pair + bubble);
      for (int rank = 0; rank < p; rank++) {
        assertThat(s.held(rank)).as("held, %s", s).isLessThanOrEqualTo(p + 1);
      }
    }
  }

  @Test
  void transfers_fillAndDrain_addTwoForEachHop() {
    Random random = new Random(5);
    for (int i = 0; i < 60; i++) {
      Case c = draw(random, true, true, 1 + random.nextInt(3));
      long form = (c.m + c.p - 1) * c.whole() + 2L * (c.p - 1) * c.costs.transfer();
      assertThat(took(Schedules.GPIPE.of(c.p, c.m, 1), c.costs)).as("%s", c).isEqualTo(form);
      for (Schedules named : Schedules.values()) {
        if (named != Schedules.DUALPIPE) {
          PipelineSchedule s = named.of(c.p, c.m, named == Schedules.INTERLEAVED ? c.v : 1);
          Costs free = new Costs(c.f(), c.costs.input(), c.costs.weight(), 0);
          assertThat(took(s, c.costs)).isGreaterThanOrEqualTo(took(s, free));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Schedules.class)
  void csv_writtenAndRead_isTheSame(Schedules named) {
    PipelineSchedule s = named.of(4, 8, named == Schedules.INTERLEAVED ? 2 : 1);
    if (s.chains() == 1) {
      PipelineSchedule again = ScheduleCsv.parse("x.csv", ScheduleCsv.write(s));
      for (int rank = 0; rank < 4; rank++) {
        assertThat(again.actions(rank)).isEqualTo(s.actions(rank));
      }
    }
  }

  @Test
  void csv_ofTorch_isRead() {
    // compute_only and compute_comms of torch.distributed.pipelining, two ranks
    String bare = "0F0,0F1,,,0B0,,0B1\n,1F0,1I0,1W0,1F1,1B1\n";
    String sent =
        """
        0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1
        1RECV_F0,1F0,1RECV_F1,1I0,1SEND_B0,1W0,1F1,1B1,1SEND_B1
        """;
    assertThat(ScheduleCsv.parse("a.csv", bare).held(0)).isEqualTo(2);
    assertThat(ScheduleCsv.parse("b.csv", sent).microbatches()).isEqualTo(2);
  }

  private static void refused(String csv, String message) {
    assertThatThrownBy(() -> ScheduleCsv.parse("my.csv", csv))
        .isInstanceOf(LayoutException.class)
        .hasMessage(message);
  }

  @Test
  void csv_wrong_saysWhatAndWhere() {
    refused(
        "0F0,0X0\n",
        """
        my.csv:1: cell 2: got "0X0"; expected a stage, one of F, B, I, W, SEND_F, RECV_F, \
        SEND_B, RECV_B, and a microbatch, e.g. 0F1\
        """);
    refused("", "schedule my.csv: no actions; expected e.g. 0F0 and 0B0 for rank 0");
    refused(
        "0F0,0F0,0B0\n",
        "schedule my.csv: 0F0 is there twice: rank 0, action 1, and rank 0, action 2; expected it"
            + " once");
    refused("0F0\n", "schedule my.csv: 0B0 (or I and W) is missing on rank 0");
    refused("0F0,0I0\n", "schedule my.csv: 0W0 is missing on rank 0");
    refused(
        "0F0,0B0,0I0,0W0\n",
        "schedule my.csv: stage 0 goes backwards twice with microbatch 0: B, and I; expected B, or"
            + " I and W");
    refused(
        "0F0,0B0\n0F1,0B1\n",
        "schedule my.csv: stage 0 is on rank 0, and 0F1 on rank 1; expected one rank for a stage");
    refused(
        "0F0,0B0\n2F0,2B0\n",
        "schedule my.csv: stage 1 does nothing; expected actions for each of stages 0 to 2");
    refused("0F0,0B0\n1F0,1B0,1F1,1B1\n", "schedule my.csv: 0F1 is missing on rank 0");
    refused(
        "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n",
        "schedule my.csv: 0SEND_F0 (rank 0, action 2) has no other end; expected 1RECV_F0 on the"
            + " other rank");
    refused(
        "0F0,0SEND_B0,0B0\n",
        "schedule my.csv: 0SEND_B0 (rank 0, action 2): stage 0 has no stage before it");
  }

  @Test
  void deadlock_twoRanks_namesTheCycle() {
    refused(
        "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n",
        """
        schedule my.csv: deadlock: 0RECV_B0 (rank 0, action 3) waits for 1SEND_B0, which comes \
        after 1RECV_F1; 1RECV_F1 (rank 1, action 3) waits for 0SEND_F1, which comes after \
        0RECV_B0\
        """);
    refused(
        "0B0,0F0\n",
        "schedule my.csv: deadlock: 0B0 (rank 0, action 1) waits for 0F0, which comes after 0B0");
  }

  @Test
  void builtIn_wrongNumbers_sayWhatFits() {
    assertThatThrownBy(() -> Schedules.INTERLEAVED.of(4, 6, 2))
        .hasMessage("schedule interleaved: 6 microbatches on 4 ranks; expected a multiple of 4");
    assertThatThrownBy(() -> Schedules.ONE_F_ONE_B.of(4, 6, 2))
        .hasMessage("schedule 1f1b: vpp is 2; expected 1; schedule interleaved takes more");
    assertThatThrownBy(() -> Schedules.DUALPIPE.of(4, 6, 1))
        .hasMessageContaining("at least twice as many");
  }

  /** Tick by tick: at each, every rank that is free begins what is next if all it needs is done. */
  private static final class SlowPipeline {
    private final PipelineSchedule schedule;
    private final Costs costs;
    private final boolean pairs;
    private final Map<String, Long> done = new HashMap<>();

    SlowPipeline(PipelineSchedule schedule, Costs costs) {
      this(schedule, costs, false);
    }

    /** With pairs: a forward pass and the whole backward pass after it end together. */
    SlowPipeline(PipelineSchedule schedule, Costs costs, boolean pairs) {
      this.schedule = schedule;
      this.costs = costs;
      this.pairs = pairs;
    }

    private boolean isPair(List<Action> own, int at, int rank) {
      int p = schedule.ranks();
      boolean middle = rank == p / 2 || rank == p / 2 - 1;
      boolean fits =
          pairs
              && at + 1 < own.size()
              && own.get(at).kind() == Kind.FORWARD
              && own.get(at + 1).kind() == Kind.BACKWARD;
      boolean firstOfMiddle =
          middle && own.subList(0, at).stream().noneMatch(a -> a.kind() == Kind.BACKWARD);
      return fits && !firstOfMiddle;
    }

    long run() {
      int ranks = schedule.ranks();
      int[] at = new int[ranks];
      long[] until = new long[ranks];
      List<List<Action>> lists = new ArrayList<>();
      for (int r = 0; r < ranks; r++) {
        lists.add(schedule.computed(r));
      }
      long last = 0;
      for (long now = 0; now < 1_000_000; now++) {
        boolean all = true;
        for (int r = 0; r < ranks; r++) {
          if (at[r] < lists.get(r).size()) {
            all = false;
            Action a = lists.get(r).get(at[r]);
            boolean pair = isPair(lists.get(r), at[r], r);
            Action b = lists.get(r).get(pair ? at[r] + 1 : at[r]);
            if (until[r] <= now && mayBegin(a, now) && (!pair || mayBegin(b, now))) {
              until[r] = now + costs.of(a.kind()) + (pair ? costs.of(b.kind()) : 0);
              done.put(a.toString(), until[r]);
              done.put(b.toString(), until[r]);
              at[r] += pair ? 2 : 1;
              last = Math.max(last, until[r]);
              r--; // costs of nothing: the next may begin at once
            }
          }
        }
        if (all) {
          return last;
        }
      }
      throw new AssertionError("never ends");
    }

    private boolean mayBegin(Action a, long now) {
      int depth = schedule.depth();
      int s = a.stage();
      String k = String.valueOf(a.microbatch());
      boolean first = s % depth == 0;
      boolean last = s % depth == depth - 1;
      return switch (a.kind()) {
        case FORWARD -> first || by(s, s - 1, now, (s - 1) + "F" + k);
        case BACKWARD, INPUT_GRADIENT ->
            by(s, s, now, s + "F" + k)
                && (last
                    || by(s, s + 1, now, (s + 1) + "B" + k)
                    || by(s, s + 1, now, (s + 1) + "I" + k));
        case WEIGHT_GRADIENT -> by(s, s, now, s + "I" + k);
        case SEND_ACTIVATION, RECEIVE_ACTIVATION, SEND_GRADIENT, RECEIVE_GRADIENT ->
            throw new AssertionError("messages are no work");
      };
    }

    private boolean by(int here, int there, long now, String action) {
      Long end = done.get(action);
      long hop = schedule.rankOf(here) == schedule.rankOf(there) ? 0 : costs.transfer();
      return end != null && end + hop <= now;
    }
  }
}
