package org.kernbench.nn.experts;

import java.util.Arrays;

/**
 * What experts cost in theory: closed forms for tokens that are as likely on every expert. T tokens
 * of a rank, E experts on R ranks, k choices, rows of h elements of w bytes.
 */
public final class ExpertCosts {
  private ExpertCosts() {}

  /** Bytes that a rank sends in a dispatch: {@code T k h w (R - 1) / R}; a combine is the same. */
  public static double dispatchBytes(double tokens, int topK, int hidden, int width, int ranks) {
    return tokens * topK * hidden * width * (ranks - 1) / ranks;
  }

  /**
   * Nodes that a token's experts are on, on average: {@code N (1 - C(E - E/N, k) / C(E, k))}. With
   * one copy for each node a dispatch sends {@code T h w} times that, at least.
   *
   * @param nodes N, a divisor of the number of experts
   */
  public static double nodesReached(int experts, int topK, int nodes) {
    int elsewhere = experts - experts / nodes;
    double none = 1;
    for (int j = 0; j < topK; j++) {
      none *= (double) Math.max(0, elsewhere - j) / (experts - j);
    }
    return nodes * (1 - none);
  }

  /**
   * Tokens of the busiest expert, about: {@code mu + sqrt(2 mu ln E)} with {@code mu = T k / E}.
   */
  public static double busiest(double tokens, int topK, int experts) {
    double mean = tokens * topK / experts;
    return mean + Math.sqrt(2 * mean * StrictMath.log(experts));
  }

  /** Rows that a grouped product computes: whole tiles for each expert. */
  public static long paddedRows(int[] perExpert, int tile) {
    return Arrays.stream(perExpert).mapToLong(n -> (long) Math.ceilDiv(n, tile) * tile).sum();
  }
}
