package org.kernbench.nn.experts;

import org.kernbench.nn.parallel.LayoutException;

/**
 * The shape of the experts of a model, which take the place of the feed-forward part of its blocks,
 * and how tokens are sent to them. Each expert is {@code down(silu(gate x) up x)}.
 *
 * @param experts how many, E
 * @param topK experts that each token goes to, k
 * @param ffn inner width of one expert
 * @param scoring what the router makes of its logits
 * @param normalised whether the scores of a token's experts are divided by their sum
 * @param scale a further factor of the outputs
 * @param auxiliary factor of the auxiliary loss, 0 for none; see {@link #auxiliaryPer}
 * @param capacity times the mean number of tokens that an expert takes of a sample at most, 0 for
 *     any number; see {@link #capacityOf}
 * @param routing how experts are chosen
 */
public record ExpertsConfig(
    int experts,
    int topK,
    int ffn,
    Scoring scoring,
    boolean normalised,
    double scale,
    double auxiliary,
    double capacity,
    Routing routing) {
  /** What a router makes of its logits. */
  public enum Scoring {
    /** Shares of all experts, which sum to 1: Mixtral, Qwen3. */
    SOFTMAX,
    /** Each expert's own: DeepSeek-V3. */
    SIGMOID
  }

  /** Checks the numbers. */
  public ExpertsConfig {
    if (experts < 1 || topK < 1 || topK > experts || ffn < 1) {
      throw LayoutException.argument(
          "%s experts of inner width %s, top %s; expected 1 or more, and at most as many choices as experts"
              .formatted(experts, ffn, topK));
    }
    if (!(auxiliary >= 0) || !(capacity >= 0)) {
      throw LayoutException.argument(
          "auxiliary %s, capacity %s; expected 0 or more".formatted(auxiliary, capacity));
    }
  }

  /** Experts with softmax scores that are normalised, chosen by score, without limits. */
  public static ExpertsConfig of(int experts, int topK, int ffn) {
    return new ExpertsConfig(
        experts, topK, ffn, Scoring.SOFTMAX, true, 1, 0, 0, new Routing.ByScore());
  }

  /** A copy whose experts are chosen in another way. */
  public ExpertsConfig with(Routing other) {
    return new ExpertsConfig(
        experts, topK, ffn, scoring, normalised, scale, auxiliary, capacity, other);
  }

  /** A copy with other scores. */
  public ExpertsConfig with(Scoring other, boolean divided, double factor) {
    return new ExpertsConfig(
        experts, topK, ffn, other, divided, factor, auxiliary, capacity, routing);
  }

  /** A copy with another auxiliary loss and another limit. */
  public ExpertsConfig withLimits(double ofAuxiliary, double ofCapacity) {
    return new ExpertsConfig(
        experts, topK, ffn, scoring, normalised, scale, ofAuxiliary, ofCapacity, routing);
  }

  /**
   * Tokens of a sample that an expert takes, {@code ceil(capacity length k / E)}: those at earlier
   * positions first, and of one token all choices alike. The rest is dropped: it goes on by the
   * residual connection alone. Counted per sample, so that it is the same in every layout.
   *
   * @param length of a sample
   */
  public int capacityOf(int length) {
    double most = Math.ceil(capacity * length * topK / experts);
    return capacity == 0 || most >= length ? length : (int) most;
  }

  /**
   * What the auxiliary loss adds to the gradient of a token's score of an expert. The loss is, for
   * every token, {@code auxiliary E / (k length) sum over e of c_e p_e}, with {@code c_e} the
   * tokens of its sample that chose expert e and {@code p_e} the token's score: Switch's loss
   * (Fedus et al. 2021) taken over each sample, as in DeepSeek-V3, so that it is the same in every
   * layout. It is added to gradients as if to a loss that is a sum over tokens, and in no reported
   * loss.
   *
   * @param count tokens of the sample that chose the expert
   * @param length of the sample
   */
  public double auxiliaryPer(int count, int length) {
    return auxiliary * experts * count / ((double) topK * length);
  }
}
