package org.kernbench.nn.layers;

import java.util.Optional;
import org.kernbench.nn.experts.ExpertsConfig;

/**
 * The shape of a transformer.
 *
 * @param name for reports
 * @param hidden elements per token
 * @param layers number of blocks
 * @param heads of queries
 * @param keyHeads heads of keys and values; divides {@code heads}
 * @param headSize elements of a head
 * @param ffn inner width of the feed-forward part
 * @param vocabulary number of ids
 * @param maxSequence longest sequence; positions that can be learned
 * @param style which family
 * @param experts what takes the place of the feed-forward parts; empty if nothing does
 */
public record TransformerConfig(
    String name,
    int hidden,
    int layers,
    int heads,
    int keyHeads,
    int headSize,
    int ffn,
    int vocabulary,
    int maxSequence,
    Style style,
    Optional<ExpertsConfig> experts) {
  /** Families of blocks. */
  public enum Style {
    /** Layer norm, biases, learned positions, GELU: GPT-2 and GPT-3. */
    GPT,
    /** RMS norm, no biases, rotary positions, SwiGLU: Llama and its relatives. */
    LLAMA,
    /** As GPT, but every token sees all others: encoders of images, for example ViT. */
    VIT;

    /** Whether a token sees only itself and earlier ones. */
    boolean isCausal() {
      return this != VIT;
    }

    /** Whether layers have biases, layer norms, GELU and learned positions. */
    public boolean isPlain() {
      return this != LLAMA;
    }
  }

  /** A dense model. */
  public TransformerConfig(
      String name,
      int hidden,
      int layers,
      int heads,
      int keyHeads,
      int headSize,
      int ffn,
      int vocabulary,
      int maxSequence,
      Style style) {
    this(
        name,
        hidden,
        layers,
        heads,
        keyHeads,
        headSize,
        ffn,
        vocabulary,
        maxSequence,
        style,
        Optional.empty());
  }

  static final double EPSILON = 1e-5;
  static final double ROTARY_BASE = 10000;

  /** GPT-2 small: 124 million parameters. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig gpt2Small() {
    return new TransformerConfig("gpt2-small", 768, 12, 12, 12, 64, 3072, 50257, 1024, Style.GPT);
  }

  /** Llama 3.1 8B. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig llama8b() {
    return new TransformerConfig(
        "llama-3.1-8b", 4096, 32, 32, 8, 128, 14336, 128256, 131072, Style.LLAMA);
  }

  /** Llama 3.1 70B. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig llama70b() {
    return new TransformerConfig(
        "llama-3.1-70b", 8192, 80, 64, 8, 128, 28672, 128256, 131072, Style.LLAMA);
  }

  /** GPT-3, 175 billion parameters. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig gpt3() {
    return new TransformerConfig(
        "gpt3-175b", 12288, 96, 96, 96, 128, 49152, 50257, 2048, Style.GPT);
  }

  /** Mixtral 8x7B. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig mixtral8x7b() {
    return new TransformerConfig(
            "mixtral-8x7b", 4096, 32, 32, 8, 128, 14336, 32000, 32768, Style.LLAMA)
        .with(ExpertsConfig.of(8, 2, 14336));
  }

  /** Qwen3 30B-A3B. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig qwen30b() {
    return new TransformerConfig(
            "qwen3-30b-a3b", 2048, 48, 32, 4, 128, 6144, 151936, 40960, Style.LLAMA)
        .with(ExpertsConfig.of(128, 8, 768));
  }

  /** A copy with other numbers of layers and ids. */
  public TransformerConfig with(int otherLayers, int otherVocabulary) {
    return new TransformerConfig(
        name,
        hidden,
        otherLayers,
        heads,
        keyHeads,
        headSize,
        ffn,
        otherVocabulary,
        maxSequence,
        style,
        experts);
  }

  /** A copy with experts in place of the feed-forward parts. */
  public TransformerConfig with(ExpertsConfig other) {
    return new TransformerConfig(
        name,
        hidden,
        layers,
        heads,
        keyHeads,
        headSize,
        ffn,
        vocabulary,
        maxSequence,
        style,
        Optional.of(other));
  }
}
