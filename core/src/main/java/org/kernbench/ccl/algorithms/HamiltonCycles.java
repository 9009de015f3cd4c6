package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Cycles through all of n places, each joined to each in both directions, that share no directed
 * link.
 *
 * <p>There are n - 1 of them, which use every link once, for all n but 4 and 6, where there are 2
 * and 4 (Tillson, 1980). For odd n they are Walecki's zigzags, turned, and each also backwards. For
 * even n these give n - 2 of them, with the last place put into each at another link; what they
 * leave is a perfect matching of links both ways. From 8 places on it is mended into one cycle
 * more: the successors by cycle and place are a Latin square but for its diagonal, in which two
 * rows may exchange what they have at some places as long as both stay permutations. Exchanges
 * drawn by a fixed seed are kept if the rows have no more cycles than before, until each has one.
 * An exchange of rows never changes how many of all rows are even permutations, and a cycle of even
 * length is odd; so where this number is odd, two places are exchanged, in an odd number of rows.
 *
 * @see <a href="https://doi.org/10.1016/0095-8956(80)90044-1">Tillson, 1980</a>
 */
final class HamiltonCycles {
  private static final int SMALLEST_MENDED = 8;

  /** Exchanges tried from one seed, for each pair of a row and a place; a tenth is usual. */
  private static final int EFFORT = 50;

  /** So many seeds at most; up to 128 places the first few do. */
  private static final int SEEDS = 20;

  private final int n;
  private final Random random;
  private final int[][] next; // by row and place
  private final int[] excess; // by row, its cycles but one
  private int total;

  private HamiltonCycles(int n, long seed) {
    this.n = n;
    this.random = new Random(seed);
    this.next = new int[n - 1][n];
    this.excess = new int[n - 1];
    boolean[][] used = new boolean[n][n];
    List<int[]> known = zigzags(n);
    for (int row = 0; row < n - 2; row++) {
      int[] cycle = known.get(row);
      for (int i = 0; i < n; i++) {
        next[row][cycle[i]] = cycle[(i + 1) % n];
        used[cycle[i]][cycle[(i + 1) % n]] = true;
      }
    }
    for (int from = 0; from < n; from++) {
      for (int to = 0; to < n; to++) {
        if (to != from && !used[from][to]) {
          next[n - 2][from] = to;
        }
      }
    }
    for (int row = 0; row < n - 1; row++) {
      excess[row] = cycles(next[row]) - 1;
      total += excess[row];
    }
  }

  /** As many as there are, each by position the place there. */
  static List<int[]> of(int n) {
    if (n == 2) {
      return List.of(new int[] {0, 1});
    }
    if (n % 2 == 1 || n < SMALLEST_MENDED) {
      return zigzags(n);
    }
    for (int seed = 0; seed < SEEDS; seed++) {
      HamiltonCycles search = new HamiltonCycles(n, seed);
      if (search.mend()) {
        return search.found();
      }
    }
    return zigzags(n);
  }

  /** Walecki's, each also backwards: n - 1 for odd n, n - 2 for even n. */
  private static List<int[]> zigzags(int n) {
    int odd = n % 2 == 1 ? n : n - 1;
    int turning = odd - 1;
    List<int[]> all = new ArrayList<>();
    for (int turn = 0; turn < turning / 2; turn++) {
      int[] cycle = new int[n];
      int at = 0;
      cycle[at++] = turning; // the one that stays
      for (int k = 0; k < turning; k++) {
        int step = k % 2 == 1 ? (k + 1) / 2 : -k / 2;
        int place = Math.floorMod(step + turn, turning);
        if (odd < n && k > 0 && Math.floorMod(place - cycle[at - 1], turning) == turning / 2) {
          cycle[at++] = n - 1; // into the link across, which no two turns share
        }
        cycle[at++] = place;
      }
      int[] back = new int[n];
      Arrays.setAll(back, i -> cycle[(n - i) % n]);
      all.add(cycle);
      all.add(back);
    }
    return all;
  }

  private boolean mend() {
    long left = (long) EFFORT * n * n;
    while (total > 0 && left-- > 0) {
      if (total % 2 == 1 && random.nextBoolean()) {
        exchangePlaces();
      } else {
        exchangeRows();
      }
    }
    return total == 0;
  }

  /** Two rows exchange what they have at some places. */
  private void exchangeRows() {
    int a = random.nextInt(n - 1);
    while (excess[a] == 0) {
      a = (a + 1) % (n - 1);
    }
    int b = (a + 1 + random.nextInt(n - 2)) % (n - 1);
    int[] before = new int[n]; // in row a
    for (int place = 0; place < n; place++) {
      before[next[a][place]] = place;
    }
    int[] rowA = next[a].clone();
    int[] rowB = next[b].clone();
    int first = random.nextInt(n);
    int place = first;
    do {
      rowA[place] = next[b][place];
      rowB[place] = next[a][place];
      place = before[next[b][place]];
    } while (place != first);
    int excessA = cycles(rowA) - 1;
    int excessB = cycles(rowB) - 1;
    int change = excessA + excessB - excess[a] - excess[b];
    if (change <= 0) {
      next[a] = rowA;
      next[b] = rowB;
      excess[a] = excessA;
      excess[b] = excessB;
      total += change;
    }
  }

  /** Two places exchange what they have in an odd number of rows, if those are found. */
  private void exchangePlaces() {
    int v = random.nextInt(n);
    int w = (v + 1 + random.nextInt(n - 1)) % n;
    int first = random.nextInt(n - 1);
    int[] rowOf = new int[n]; // by what place v has
    for (int row = 0; row < n - 1; row++) {
      rowOf[next[row][v]] = row;
    }
    List<Integer> rows = new ArrayList<>();
    int row = first;
    do {
      rows.add(row);
      if (next[row][w] == v) {
        return; // no row has v after v
      }
      row = rowOf[next[row][w]];
    } while (row != first);
    if (rows.size() % 2 == 0) {
      return;
    }
    for (int each : rows) {
      int kept = next[each][v];
      next[each][v] = next[each][w];
      next[each][w] = kept;
      total -= excess[each];
      excess[each] = cycles(next[each]) - 1;
      total += excess[each];
    }
  }

  private static int cycles(int[] next) {
    boolean[] seen = new boolean[next.length];
    int cycles = 0;
    for (int first = 0; first < next.length; first++) {
      if (!seen[first]) {
        cycles++;
        for (int place = first; !seen[place]; place = next[place]) {
          seen[place] = true;
        }
      }
    }
    return cycles;
  }

  private List<int[]> found() {
    List<int[]> all = new ArrayList<>();
    for (int[] row : next) {
      int[] cycle = new int[n];
      for (int i = 1; i < n; i++) {
        cycle[i] = row[cycle[i - 1]];
      }
      all.add(cycle);
    }
    return all;
  }
}
