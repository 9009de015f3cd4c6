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
 * @param groups groups of experts, of which a token goes to some only
 * @param shared how many times the inner width of an expert every token has, whatever it chose: a
 *     feed-forward part beside the experts; 0 for none
 * @param dense blocks at the beginning that have a feed-forward part in place of experts
 * @param balance speed of a bias that makes experts equally busy, 0 for none; it has a meaning only
 *     where scores choose
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
    Routing routing,
    Groups groups,
    int shared,
    int dense,
    double balance) {
  /**
   * Experts in groups of neighbours. A token goes to experts of a few groups: those whose two best
   * experts have the largest sums of scores (DeepSeek-V3).
   *
   * @param count how many there are; they divide the experts
   * @param taken how many a token goes to
   */
  public record Groups(int count, int taken) {
    /** All experts are one group. */
    public static final Groups NONE = new Groups(1, 1);

    /** Checks the numbers. */
    public Groups {
      if (count < 1 || taken < 1 || taken > count) {
        throw LayoutException.argument(
            "%s groups of experts, of which a token takes %s; expected 1 or more, and at most all"
                .formatted(count, taken));
      }
    }

    /** Whether a token may go to any expert. */
    public boolean limitsNothing() {
      return taken == count;
    }
  }

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
    if (experts % groups.count != 0 || topK > experts / groups.count * groups.taken) {
      throw LayoutException.argument(
          "%s experts in %s groups, %s choices from %s of these; expected groups that divide the experts, and room for the choices"
              .formatted(experts, groups.count, topK, groups.taken));
    }
    if (shared < 0 || dense < 0) {
      throw LayoutException.argument(
          "%s shared experts, %s dense blocks; expected 0 or more".formatted(shared, dense));
    }
    if (!(auxiliary >= 0) || !(capacity >= 0) || !(balance >= 0)) {
      throw LayoutException.argument(
          "auxiliary %s, capacity %s, balance %s; expected 0 or more"
              .formatted(auxiliary, capacity, balance));
    }
  }

  /** Experts with softmax scores that are normalised, chosen by score, without limits. */
  public static ExpertsConfig of(int experts, int topK, int ffn) {
    return new ExpertsConfig(
        experts,
        topK,
        ffn,
        Scoring.SOFTMAX,
        true,
        1,
        0,
        0,
        new Routing.ByScore(),
        Groups.NONE,
        0,
        0,
        0);
  }

  /** A copy whose experts are chosen in another way. */
  public ExpertsConfig with(Routing other) {
    return new ExpertsConfig(
        experts,
        topK,
        ffn,
        scoring,
        normalised,
        scale,
        auxiliary,
        capacity,
        other,
        groups,
        shared,
        dense,
        balance);
  }

  /** A copy with other scores. */
  public ExpertsConfig with(Scoring other, boolean divided, double factor) {
    return new ExpertsConfig(
        experts, topK, ffn, other, divided, factor, auxiliary, capacity, routing, groups, shared,
        dense, balance);
  }

  /** A copy with another auxiliary loss and another limit. */
  public ExpertsConfig withLimits(double ofAuxiliary, double ofCapacity) {
    return new ExpertsConfig(
        experts,
        topK,
        ffn,
        scoring,
        normalised,
        scale,
        ofAuxiliary,
        ofCapacity,
        routing,
        groups,
        shared,
        dense,
        balance);
  }

  /** A copy whose experts are in groups. */
  public ExpertsConfig with(Groups other) {
    return new ExpertsConfig(
        experts,
        topK,
        ffn,
        scoring,
        normalised,
        scale,
        auxiliary,
        capacity,
        routing,
        other,
        shared,
        dense,
        balance);
  }

  /**
   * A copy with feed-forward parts beside experts and in their place.
   *
   * @param beside how many times the inner width of an expert
   * @param first blocks at the beginning that have no experts
   */
  public ExpertsConfig withDense(int beside, int first) {
    return new ExpertsConfig(
        experts,
        topK,
        ffn,
        scoring,
        normalised,
        scale,
        auxiliary,
        capacity,
        routing,
        groups,
        beside,
        first,
        balance);
  }

  /** A copy whose bias, which makes experts equally busy, changes at another speed. */
  public ExpertsConfig withBalance(double speed) {
    return new ExpertsConfig(
        experts,
        topK,
        ffn,
        scoring,
        normalised,
        scale,
        auxiliary,
        capacity,
        routing,
        groups,
        shared,
        dense,
        speed);
  }

  /** Whether a bias takes part in the choice of experts. */
  public boolean isBalanced() {
    return balance > 0 && !routing.isKnown();
  }

  /** A copy with other numbers of experts and choices; in one group, if the groups do not fit. */
  public ExpertsConfig with(int others, int choices) {
    boolean fits = others % groups.count == 0 && choices <= others / groups.count * groups.taken;
    return new ExpertsConfig(
        others,
        choices,
        ffn,
        scoring,
        normalised,
        scale,
        auxiliary,
        capacity,
        routing,
        fits ? groups : Groups.NONE,
        shared,
        dense,
        balance);
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
