package org.kernbench.ccl.bounds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.Test;

/** What the minimum cuts find equals what trying every set and every partition finds. */
final class CutsTest {
  private static final int GRAPHS = 120;

  /** A random graph and the slow ways to ask it. */
  private record Sample(int n, double[][] rate, double[] part) {

    static Sample of(Random random) {
      int n = 2 + random.nextInt(6);
      double[][] rate = new double[n][n];
      double[] part = new double[n];
      for (int u = 0; u < n; u++) {
        part[u] = random.nextInt(4) == 0 ? 0 : random.nextInt(1000);
        for (int v = 0; v < n; v++) {
          boolean ring = v == (u + 1) % n || u == (v + 1) % n; // so that it hangs together
          if (u != v && (ring || random.nextInt(3) == 0)) {
            rate[u][v] = (1 + random.nextInt(9)) * 1e9;
          }
        }
      }
      part[random.nextInt(n)] = 500;
      return new Sample(n, rate, part);
    }

    Cuts cuts() {
      return cuts(n);
    }

    /** The least that can enter a part, over all sets of relays. */
    double leastEntering(int[] part, int number) {
      int ranks = part.length;
      double least = Double.POSITIVE_INFINITY;
      for (int set = 0; set < 1 << (n - ranks); set++) {
        int with = set;
        IntPredicate inside = u -> u < ranks ? part[u] == number : in(with, u - ranks);
        least = Math.min(least, leaving(inside.negate()));
      }
      return least;
    }

    /** The least C / (k - 1) over all ways to give each of the ranks a label. */
    double strength(int ranks) {
      double least = Double.POSITIVE_INFINITY;
      int[] label = new int[ranks];
      for (int code = 1; code < Math.pow(ranks, ranks); code++) {
        int rest = code;
        int highest = 0;
        boolean inOrder = true; // so that each partition is tried once
        for (int u = 0; u < ranks; u++) {
          label[u] = rest % ranks;
          rest /= ranks;
          inOrder &= label[u] <= highest;
          highest = Math.max(highest, label[u] + 1);
        }
        double crossing = 0;
        for (int p = 0; inOrder && highest > 1 && p < highest; p++) {
          crossing += leastEntering(label, p);
        }
        least = inOrder && highest > 1 ? Math.min(least, crossing / (highest - 1)) : least;
      }
      return least;
    }

    Cuts cuts(int ranks) {
      int edges = 0;
      int[] from = new int[n * n];
      int[] to = new int[n * n];
      double[] rates = new double[n * n];
      for (int u = 0; u < n; u++) {
        for (int v = 0; v < n; v++) {
          if (rate[u][v] > 0) {
            from[edges] = u;
            to[edges] = v;
            rates[edges++] = rate[u][v];
          }
        }
      }
      return new Cuts(
          new RankGraph(
              ranks,
              n,
              java.util.Arrays.copyOf(from, edges),
              java.util.Arrays.copyOf(to, edges),
              java.util.Arrays.copyOf(rates, edges)));
    }

    double leaving(IntPredicate inside) {
      double sum = 0;
      for (int u = 0; u < n; u++) {
        for (int v = 0; v < n; v++) {
          sum += inside.test(u) && !inside.test(v) ? rate[u][v] : 0;
        }
      }
      return sum;
    }

    double total() {
      return java.util.Arrays.stream(part).sum();
    }

    double sum(int set) {
      double sum = 0;
      for (int u = 0; u < n; u++) {
        sum += in(set, u) ? part[u] : 0;
      }
      return sum;
    }

    static boolean in(int set, int u) {
      return (set >> u & 1) > 0;
    }

    /** The least C / (k - 1), over all ways to give each vertex one of n labels. */
    double strength() {
      double least = Double.POSITIVE_INFINITY;
      int[] label = new int[n];
      long all = 1;
      for (int i = 1; i < n; i++) {
        all *= n;
      }
      for (long code = 0; code < all; code++) {
        long rest = code;
        int used = 1; // vertex 0 has label 0
        for (int u = 1; u < n; u++) {
          label[u] = (int) (rest % n);
          used |= 1 << label[u];
          rest /= n;
        }
        int parts = Integer.bitCount(used);
        if (parts > 1) {
          double crossing = 0;
          for (int u = 0; u < n; u++) {
            for (int v = 0; v < n; v++) {
              crossing += label[u] != label[v] ? rate[u][v] : 0;
            }
          }
          least = Math.min(least, crossing / (parts - 1));
        }
      }
      return least;
    }
  }

  @Test
  void strength_anyGraph_isTheBestPartition() {
    Random random = new Random(1);
    for (int i = 0; i < GRAPHS; i++) {
      Sample sample = Sample.of(random);
      if (sample.n <= 6) {
        double expected = sample.strength();
        assertThat(sample.cuts().strength()).isCloseTo(expected, within(1e-9 * expected));
      }
    }
  }

  /** The last vertices are relays: each part takes those that let the least in. */
  @Test
  void strength_graphWithRelays_isTheBestPartitionOfTheRanks() {
    Random random = new Random(5);
    int tried = 0;
    for (int i = 0; i < GRAPHS; i++) {
      Sample sample = Sample.of(random);
      int ranks = sample.n - 1 - random.nextInt(2);
      if (ranks >= 2) {
        double expected = sample.strength(ranks);
        Cuts cuts = sample.cuts(ranks);
        assertThat(cuts.strength()).isCloseTo(expected, within(1e-9 * expected));
        int[] part = new int[ranks];
        part[ranks - 1] = 1;
        assertThat(cuts.crossing(part)).isLessThanOrEqualTo(cuts.quickCrossing(part) * (1 + 1e-9));
        assertThat(cuts.crossing(part))
            .isCloseTo(
                sample.leastEntering(part, 0) + sample.leastEntering(part, 1),
                within(1e-9 * expected));
        tried++;
      }
    }
    assertThat(tried).isGreaterThan(GRAPHS / 2);
  }

  @Test
  void everywhere_anyGraph_isTheLeastDirectedCut() {
    Random random = new Random(2);
    for (int i = 0; i < GRAPHS; i++) {
      Sample sample = Sample.of(random);
      double least = Double.POSITIVE_INFINITY;
      for (int set = 1; set < (1 << sample.n) - 1; set++) {
        int inside = set;
        least = Math.min(least, sample.leaving(u -> Sample.in(inside, u)));
      }
      assertThat(sample.cuts().everywhere()).isCloseTo(1 / least, within(1e-9 / least));
    }
  }

  @Test
  void gathered_anyGraphAndParts_isTheWorstSet() {
    Random random = new Random(3);
    for (int i = 0; i < GRAPHS; i++) {
      Sample sample = Sample.of(random);
      int root = random.nextInt(sample.n);
      double byAll = 0;
      double byRoot = 0;
      for (int set = 1; set < (1 << sample.n) - 1; set++) {
        int inside = set;
        double leaving = sample.leaving(u -> Sample.in(inside, u));
        byAll = Math.max(byAll, sample.sum(set) / leaving);
        if (!Sample.in(set, root)) {
          byRoot = Math.max(byRoot, sample.sum(set) / leaving);
        }
      }
      assertThat(sample.cuts().gatheredByAll(sample.part)).isCloseTo(byAll, within(1e-8 * byAll));
      assertThat(sample.cuts().gatheredBy(root, sample.part))
          .isCloseTo(byRoot, within(1e-8 * byRoot + 1e-30));
    }
  }

  @Test
  void fromRoot_anyGraph_isTheLeastCutAroundIt() {
    Random random = new Random(4);
    for (int i = 0; i < GRAPHS; i++) {
      Sample sample = Sample.of(random);
      int root = random.nextInt(sample.n);
      double least = Double.POSITIVE_INFINITY;
      for (int set = 1; set < (1 << sample.n) - 1; set++) {
        int inside = set;
        if (Sample.in(set, root)) {
          least = Math.min(least, sample.leaving(u -> Sample.in(inside, u)));
        }
      }
      assertThat(sample.cuts().fromRoot(root)).isCloseTo(1 / least, within(1e-9 / least));
    }
  }
}
