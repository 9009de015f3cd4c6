package org.kernbench.eval.training;

import org.kernbench.machine.Machine;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.layers.TransformerConfig;

/**
 * Multiply-adds of a forward pass, each counted as two operations; norms and the like are left out.
 */
final class TrainingFlops {
  private TrainingFlops() {}

  /**
   * The feed-forward part of a block: with experts those that a token goes to, what works beside
   * them, and the router.
   */
  static double mlp(TransformerConfig c, double tokens) {
    return c.experts()
        .map(e ->
            2 * tokens * c.hidden() * (e.experts() + 3.0 * e.shared() * e.ffn())
                + experts(c, tokens * e.topK()))
        .orElse(dense(c, tokens));
  }

  /** So many copies of tokens in the experts that they go to; 0 without experts. */
  static double experts(TransformerConfig c, double copies) {
    return c.experts().map(e -> 2 * copies * c.hidden() * 3 * e.ffn()).orElse(0.0);
  }

  private static double dense(TransformerConfig c, double tokens) {
    double matrices = c.style() == TransformerConfig.Style.LLAMA ? 3 : 2;
    return 2 * tokens * matrices * c.hidden() * c.ffn();
  }

  /** All blocks of a model, of which the first may have no experts. */
  static double blocks(TransformerConfig c, double tokens, double keys) {
    int dense = c.experts().map(ExpertsConfig::dense).orElse(0);
    return c.layers() * block(c, tokens, keys) + dense * (dense(c, tokens) - mlp(c, tokens));
  }

  /**
   * A block.
   *
   * @param tokens of all samples
   * @param keys that a query sees on average
   */
  static double block(TransformerConfig c, double tokens, double keys) {
    double attention = (double) c.heads() * (c.headSize() + c.valueSize()) * keys;
    return mlp(c, tokens) + 2 * tokens * (c.attentionElements() + attention);
  }

  /** As {@link #mlp}, of so many blocks, without routers and the experts that they choose. */
  static double linearMlp(TransformerConfig c, double tokens, int blocks) {
    if (c.experts().isEmpty()) {
      return blocks * dense(c, tokens);
    }
    ExpertsConfig e = c.experts().get();
    int dense = Math.min(blocks, e.dense());
    double shared = 2 * tokens * c.hidden() * 3.0 * e.shared() * e.ffn();
    return dense * dense(c, tokens) + (blocks - dense) * shared;
  }

  /** A linear layer. */
  static double linear(double tokens, double in, double out) {
    return 2 * tokens * in * out;
  }

  /** The least time for so many on each of some ranks: their GEMM engines at their peak. */
  static long boundPs(Machine machine, double flops, int ranks) {
    return (long) Math.floor(flops / ranks / machine.pe().gemm().peakFlops() * 1e12);
  }
}
