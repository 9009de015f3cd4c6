package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.Splits;

/** Cuts against what they are for: every element once, in order, at its place. */
final class FlowCutTest {
  private static final int TRIES = 400;

  private static List<Integer> weights(SplittableRandom random, int units) {
    List<Integer> weights = new ArrayList<>();
    for (int unit = 0; unit < units; unit++) {
      weights.add(1 + random.nextInt(4));
    }
    return weights;
  }

  private static void checkAdjoins(FlowCut cut, int unit, int units) {
    boolean behind = unit + 1 < units;
    for (int chunk = 0; behind && chunk < cut.chunks(); chunk++) {
      behind = cut.end(chunk, unit) == cut.begin(chunk, unit + 1);
    }
    if (cut.adjoins(unit)) {
      assertThat(behind).as("unit %d of %d", unit, units).isTrue();
    }
  }

  /** Chunks one after the other, in each its units: sizes differ by weights, and by one element. */
  @Test
  void even_anyVector_isCutOnceInOrder() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < TRIES; i++) {
      List<Integer> weights = weights(random, 1 + random.nextInt(6));
      int elements = random.nextInt(300);
      int chunks = 1 + random.nextInt(7);
      FlowCut cut = FlowCut.even(elements, chunks, weights);
      assertThat(cut.chunks()).isEqualTo(chunks);
      double total = weights.stream().mapToInt(w -> w).sum();
      int at = 0;
      for (int chunk = 0; chunk < chunks; chunk++) {
        int start = at;
        for (int unit = 0; unit < weights.size(); unit++) {
          assertThat(cut.begin(chunk, unit)).isEqualTo(at);
          assertThat(cut.place(chunk, unit)).isEqualTo(at);
          int count = cut.count(chunk, unit, 1);
          assertThat((double) count)
              .isBetween(
                  elements / chunks * weights.get(unit) / total - 1,
                  Math.ceilDiv(elements, chunks) * weights.get(unit) / total + 1);
          at = cut.end(chunk, unit);
          checkAdjoins(cut, unit, weights.size());
          assertThat(cut.adjoins(unit)).isEqualTo(unit + 1 < weights.size());
        }
        assertThat(cut.count(chunk, 0, weights.size())).isEqualTo(at - start);
        assertThat(at - start).isBetween(elements / chunks, Math.ceilDiv(elements, chunks));
      }
      assertThat(at).isEqualTo(elements);
    }
  }

  @Test
  void shares_anyParts_coverEachPartOnceByItsRank() {
    SplittableRandom random = new SplittableRandom(2);
    for (int i = 0; i < TRIES; i++) {
      int ranks = 1 + random.nextInt(5);
      int shares = 1 + random.nextInt(3);
      int chunks = 1 + random.nextInt(4);
      List<Part> parts = new ArrayList<>();
      long start = random.nextInt(10);
      for (int rank = 0; rank < ranks; rank++) {
        parts.add(new Part(start, random.nextInt(40)));
        start = parts.getLast().end() + (random.nextInt(3) == 0 ? 5 : 0);
      }
      List<Integer> weights = new ArrayList<>();
      List<Integer> byShare = weights(random, shares);
      byShare.forEach(w -> weights.addAll(java.util.Collections.nCopies(ranks, w)));
      FlowCut cut = FlowCut.shares(parts, weights, chunks);
      for (int rank = 0; rank < ranks; rank++) {
        long at = parts.get(rank).start();
        for (int share = 0; share < shares; share++) {
          int unit = share * ranks + rank;
          long from = at;
          for (int chunk = 0; chunk < chunks; chunk++) {
            assertThat((long) cut.begin(chunk, unit)).isEqualTo(at);
            assertThat(cut.place(chunk, unit)).isEqualTo(cut.begin(chunk, unit));
            at = cut.end(chunk, unit);
          }
          double total = byShare.stream().mapToInt(w -> w).sum();
          double fair = parts.get(rank).count() * byShare.get(share) / total;
          assertThat((double) (at - from)).isBetween(fair - 1, fair + 1);
          checkAdjoins(cut, unit, weights.size());
          if (chunks == 1 && unit + 1 < weights.size()) {
            assertThat(cut.adjoins(unit)).isEqualTo(cut.end(0, unit) == cut.begin(0, unit + 1));
          } else {
            assertThat(cut.adjoins(unit)).isFalse();
          }
        }
        assertThat(at).isEqualTo(parts.get(rank).end());
      }
    }
  }

  /** Blocks are read where the sender has them and written where the receiver expects them. */
  @Test
  void blocks_anySplits_goWhereTheCallSays() {
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < TRIES; i++) {
      int ranks = 1 + random.nextInt(5);
      List<long[]> sends = new ArrayList<>();
      for (int from = 0; from < ranks; from++) {
        sends.add(random.longs(ranks, 0, 20).toArray());
      }
      Splits splits = Splits.of(sends);
      FlowCut cut = FlowCut.blocks(splits, 1 + random.nextInt(4));
      for (int rank = 0; rank < ranks; rank++) {
        Set<Integer> read = new HashSet<>();
        Set<Integer> written = new HashSet<>();
        int position = 0;
        for (int other = 0; other < ranks; other++) {
          int[] out = new int[] {rank * ranks + other, other * ranks + rank};
          for (int chunk = 0; chunk < cut.chunks(); chunk++) {
            for (int e = 0; e < cut.count(chunk, out[0], 1); e++) {
              assertThat(cut.begin(chunk, out[0]) + e).isEqualTo(position++);
              read.add(cut.begin(chunk, out[0]) + e);
            }
            for (int e = 0; e < cut.count(chunk, out[1], 1); e++) {
              written.add(cut.place(chunk, out[1]) + e);
            }
          }
        }
        assertThat(read).hasSize(Math.toIntExact(splits.sent(rank)));
        assertThat(position).isEqualTo(read.size());
        int received = Arrays.stream(column(sends, rank)).mapToInt(Math::toIntExact).sum();
        assertThat(written).hasSize(received).allMatch(e -> e >= 0 && e < received);
        long expected = 0;
        for (int from = 0; from < ranks; from++) {
          assertThat((long) cut.place(0, from * ranks + rank)).isEqualTo(expected);
          expected += sends.get(from)[rank];
        }
      }
    }
  }

  private static long[] column(List<long[]> sends, int to) {
    return sends.stream().mapToLong(row -> row[to]).toArray();
  }

  /** By definition: group g begins {@code g apart} steps in, its chunks take each step in turn. */
  @Test
  void pace_anyChunks_takesEveryStepOnceWhenItsGroupIsThere() {
    SplittableRandom random = new SplittableRandom(4);
    for (int i = 0; i < TRIES; i++) {
      int chunks = 1 + random.nextInt(9);
      int together = 1 + random.nextInt(4);
      int steps = 1 + random.nextInt(6);
      int apart = 1 + random.nextInt(steps);
      FlowPace pace = new FlowPace(chunks, together, apart, false);
      List<int[]> expected = new ArrayList<>();
      for (int time = 0; time < steps + chunks * apart; time++) {
        for (int place = 0; place < together; place++) {
          for (int chunk = place; chunk < chunks; chunk += together) {
            int step = time - chunk / together * apart;
            if (step >= 0 && step < steps) {
              expected.add(new int[] {chunk, step});
            }
          }
        }
      }
      List<int[]> visited = new ArrayList<>();
      pace.forEach(steps, (chunk, step) -> visited.add(new int[] {chunk, step}));
      assertThat(visited).usingElementComparator(Arrays::compare).isEqualTo(expected);
      assertThat(pace.groups()).isEqualTo((chunks + together - 1) / together);
    }
  }
}
