package org.kernbench.nn.autograd;

/**
 * Which values of one step are set to zero, the others growing by {@code 1 / (1 - rate)}. A mask is
 * drawn by counter ({@link org.kernbench.tl.Tl#rand}), never stored: from seed, step, the name of
 * the place in the model, and the element's place in the whole tensor of the whole batch. So it is
 * one and the same in all layouts: ranks that have the same elements have the same mask, as
 * tensor-parallel ranks have after attention and feed-forward part, and ranks that have others have
 * others, as those have that divide heads, positions or samples (Megatron-LM's two regions).
 *
 * @param hidden rate after attention and after the feed-forward part, before they are added
 * @param attention rate of what attention gives each key
 * @param embedding rate of embeddings with their positions
 * @param seed of all masks
 * @param step number of the step, whose masks are others than those of all other steps
 */
public record Dropout(double hidden, double attention, double embedding, long seed, long step) {
  /** Nothing is set to zero: a model that is evaluated. */
  public static final Dropout NONE = new Dropout(0, 0, 0, 0, 0);

  /** Checks the rates. */
  public Dropout {
    check("hidden", hidden);
    check("attention", attention);
    check("embedding", embedding);
  }

  private static void check(String what, double rate) {
    if (!(rate >= 0 && rate < 1)) {
      throw new IllegalArgumentException(
          "dropout: %s rate %s; expected 0 to below 1".formatted(what, rate));
    }
  }

  /** One rate at all three kinds of places, in step 0. */
  public static Dropout of(double rate, long seed) {
    return new Dropout(rate, rate, rate, seed, 0);
  }

  /** This dropout in another step. */
  public Dropout atStep(long number) {
    return new Dropout(hidden, attention, embedding, seed, number);
  }

  /** Whether any value is set to zero. */
  public boolean isOn() {
    return hidden > 0 || attention > 0 || embedding > 0;
  }

  /**
   * The key of a place's masks, a number below 2^53: {@code mix(mix(mix(seed) + step) + name)}
   * without its lowest 11 bits, with the finaliser of SplitMix64 and the FNV-1a hash of the name.
   *
   * @param place for example {@code layers.0.attention}
   */
  long key(String place) {
    long name = 0xCBF29CE484222325L;
    for (int i = 0; i < place.length(); i++) {
      name = (name ^ place.charAt(i)) * 0x100000001B3L;
    }
    return mix(mix(mix(seed) + step) + name) >>> 11;
  }

  private static long mix(long z) {
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
