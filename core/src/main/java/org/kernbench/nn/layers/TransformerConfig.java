package org.kernbench.nn.layers;

import java.util.Optional;
import org.kernbench.nn.autograd.RotaryAngles;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.parallel.LayoutException;

/**
 * The shape of a transformer.
 *
 * @param name for reports
 * @param hidden elements per token
 * @param layers number of blocks
 * @param heads of queries
 * @param keyHeads heads of keys and values; divides {@code heads}
 * @param headSize elements of a head of queries and keys
 * @param ffn inner width of the feed-forward part
 * @param vocabulary number of ids
 * @param maxSequence longest sequence; positions that can be learned
 * @param style which family
 * @param experts what takes the place of the feed-forward parts; empty if nothing does
 * @param latent how attention finds its heads from a few numbers per token; empty if it has
 *     projections of its own for queries, keys and values
 * @param rotary by which angles heads are turned, in families that have rotary positions
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
    Optional<ExpertsConfig> experts,
    Optional<Latent> latent,
    RotaryAngles rotary) {
  /**
   * Latent attention (MLA, DeepSeek-AI 2024): a token is brought down to few numbers, from which
   * queries, and keys and values, are made. Only some elements of a head tell positions; for keys
   * these are one and the same in all heads.
   *
   * @param queryRank numbers from which queries are made; 0 if they are made from the token itself
   * @param keyRank numbers from which keys and values are made
   * @param still elements of a head of queries and keys that do not depend on the position
   * @param turned further ones, which do
   * @param value elements of a head of values
   */
  public record Latent(int queryRank, int keyRank, int still, int turned, int value) {
    /** Checks the numbers. */
    public Latent {
      if (queryRank < 0 || keyRank < 1 || still < 1 || turned < 2 || turned % 2 != 0 || value < 1) {
        throw LayoutException.argument(
            "latent attention of ranks %s and %s, heads of %s and %s, values of %s; expected positive numbers, an even second, and 0 or more for the first"
                .formatted(queryRank, keyRank, still, turned, value));
      }
    }

    /** Elements of a head of queries and keys. */
    public int headSize() {
      return still + turned;
    }
  }

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
        Optional.empty(),
        Optional.empty(),
        RotaryAngles.PLAIN);
  }

  static final double EPSILON = 1e-5;

  /** Angles of Llama 3.1. */
  private static final RotaryAngles LLAMA_31 =
      RotaryAngles.ofBase(500_000).with(new RotaryAngles.Llama3(8, 1, 4, 8192));

  /** A hundredfold of the first base. */
  private static final RotaryAngles SLOWER = RotaryAngles.ofBase(1_000_000);

  /** GPT-2 small: 124 million parameters. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig gpt2Small() {
    return new TransformerConfig("gpt2-small", 768, 12, 12, 12, 64, 3072, 50257, 1024, Style.GPT);
  }

  /** Llama 3.1 8B. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig llama8b() {
    return new TransformerConfig(
            "llama-3.1-8b", 4096, 32, 32, 8, 128, 14336, 128256, 131072, Style.LLAMA)
        .with(LLAMA_31);
  }

  /** Llama 3.1 70B. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig llama70b() {
    return new TransformerConfig(
            "llama-3.1-70b", 8192, 80, 64, 8, 128, 28672, 128256, 131072, Style.LLAMA)
        .with(LLAMA_31);
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
        .with(ExpertsConfig.of(8, 2, 14336))
        .with(SLOWER);
  }

  /** Qwen3 30B-A3B. Shape: {@code docs/spec/models.md} 1. */
  public static TransformerConfig qwen30b() {
    return new TransformerConfig(
            "qwen3-30b-a3b", 2048, 48, 32, 4, 128, 6144, 151936, 40960, Style.LLAMA)
        .with(ExpertsConfig.of(128, 8, 768))
        .with(SLOWER);
  }

  /** DeepSeek-V3, 671 billion parameters. Shape: {@code docs/spec/models.md} 1, 2. */
  public static TransformerConfig deepseekV3() {
    return new TransformerConfig(
            "deepseek-v3", 7168, 61, 128, 128, 192, 18432, 129280, 163840, Style.LLAMA)
        .with(new Latent(1536, 512, 128, 64, 128))
        .with(
            ExpertsConfig.of(256, 8, 2048)
                .with(ExpertsConfig.Scoring.SIGMOID, true, 2.5)
                .with(new ExpertsConfig.Groups(8, 4))
                .withBalance(0.001)
                .withDense(1, 3))
        .with(deepseekAngles());
  }

  /** Forty times the 4,096 positions that it has first seen. */
  private static RotaryAngles deepseekAngles() {
    RotaryAngles.Yarn yarn = new RotaryAngles.Yarn(40, 32, 1, 4096);
    return RotaryAngles.PLAIN.with(yarn).with(1, StrictMath.pow(yarn.sharper(1), 2));
  }

  /** Elements of a head of values. */
  public int valueSize() {
    return latent.map(Latent::value).orElse(headSize);
  }

  /**
   * Elements of the matrices of attention: from a token to its heads, and back from their results.
   */
  public long attentionElements() {
    long out = (long) hidden * heads * valueSize();
    if (latent.isEmpty()) {
      return out + (long) hidden * headSize * (heads + 2L * keyHeads);
    }
    Latent l = latent.get();
    long queries = (long) heads * headSize;
    long ofQueries = l.queryRank == 0 ? hidden * queries : l.queryRank * (hidden + queries);
    long ofKeys =
        (long) hidden * (l.keyRank + l.turned) + (long) l.keyRank * heads * (l.still + l.value);
    return out + ofQueries + ofKeys;
  }

  /**
   * Elements of those that bring latent attention down to few numbers: each tensor-parallel rank
   * has all of them, and they multiply in the type of the tokens where others do in 8 bits.
   */
  public long downElements() {
    return latent.map(l -> (long) hidden * (l.queryRank + l.keyRank + l.turned)).orElse(0L);
  }

  /**
   * A copy with other numbers of layers and ids. Of a model with experts the last block at least
   * keeps them.
   */
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
        experts.map(e -> e.withDense(e.shared(), Math.min(e.dense(), otherLayers - 1))),
        latent,
        rotary);
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
        Optional.of(other),
        latent,
        rotary);
  }

  /** A copy with latent attention, whose heads have keys of their own. */
  public TransformerConfig with(Latent other) {
    return new TransformerConfig(
        name,
        hidden,
        layers,
        heads,
        heads,
        other.headSize(),
        ffn,
        vocabulary,
        maxSequence,
        style,
        experts,
        Optional.of(other),
        rotary);
  }

  /** A copy whose heads are turned by other angles. */
  public TransformerConfig with(RotaryAngles other) {
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
        experts,
        latent,
        other);
  }

  /** A copy whose feed-forward parts are so wide. */
  TransformerConfig withFfn(int other) {
    return new TransformerConfig(
        name,
        hidden,
        layers,
        heads,
        keyHeads,
        headSize,
        other,
        vocabulary,
        maxSequence,
        style,
        experts,
        latent,
        rotary);
  }
}
