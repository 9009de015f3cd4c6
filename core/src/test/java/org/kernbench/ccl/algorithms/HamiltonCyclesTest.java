package org.kernbench.ccl.algorithms;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Cycles through all places share no directed link, and there are as many as theory says. */
final class HamiltonCyclesTest {
  @Test
  void cycles_everyNumberOfPlaces_shareNoLinkAndAreAllThereAre() {
    for (int n = 2; n <= 40; n++) {
      List<int[]> cycles = HamiltonCycles.of(n);
      assertThat(cycles).as("of %d places", n).hasSize(n == 4 ? 2 : n == 6 ? 4 : n - 1);
      Set<List<Integer>> links = new HashSet<>();
      for (int[] cycle : cycles) {
        assertThat(cycle).as("one of %d places", n).hasSize(n).doesNotHaveDuplicates();
        for (int i = 0; i < n; i++) {
          assertThat(cycle[i]).isBetween(0, n - 1);
          assertThat(links.add(List.of(cycle[i], cycle[(i + 1) % n])))
              .as("%d places: link %d to %d once", n, cycle[i], cycle[(i + 1) % n])
              .isTrue();
        }
      }
    }
  }

  /**
   * The two that Tillson's theorem leaves out, by trying all sets of all cycles; and two others.
   */
  @Test
  void cycles_ofFewPlaces_areTheMostOfAllSets() {
    for (int n : new int[] {2, 3, 4, 5, 6}) {
      List<BitSet> all = new ArrayList<>();
      addCycles(n, new int[n], 1, 1, all);
      assertThat(HamiltonCycles.of(n)).hasSize(most(all, 0, new BitSet()));
    }
  }

  @Test
  void cycles_askedTwice_areTheSame() {
    for (int n : new int[] {8, 12, 16}) {
      assertThat(HamiltonCycles.of(n).toArray(int[][]::new))
          .isDeepEqualTo(HamiltonCycles.of(n).toArray(int[][]::new));
    }
  }

  private static void addCycles(int n, int[] cycle, int length, int visited, List<BitSet> all) {
    if (length == n) {
      BitSet links = new BitSet();
      for (int i = 0; i < n; i++) {
        links.set(cycle[i] * n + cycle[(i + 1) % n]);
      }
      all.add(links);
    }
    for (int next = 1; next < n; next++) {
      if ((visited >> next & 1) == 0) {
        cycle[length] = next;
        addCycles(n, cycle, length + 1, visited | 1 << next, all);
      }
    }
  }

  /** The most of the cycles from one on that share no link with each other and those used. */
  private static int most(List<BitSet> all, int from, BitSet used) {
    int most = 0;
    for (int i = from; i < all.size(); i++) {
      if (!all.get(i).intersects(used)) {
        BitSet with = (BitSet) used.clone();
        with.or(all.get(i));
        most = Math.max(most, 1 + most(all, i + 1, with));
      }
    }
    return most;
  }
}
