package org.kernbench.nn.multimodal;

import java.util.Arrays;

/**
 * Samples for one forward and backward pass of a model of two modules, over all ranks; each rank
 * takes those that its layout gives it. A sample is a sequence of ids, in which the tokens of the
 * other modality have placeholders, the id that should follow each, and whether that counts.
 */
public final class Microbatch {
  private final int samples;
  private final int sequence;
  private final int[] ids;
  private final int[] targets;
  private final double[] mask;
  private final double[] patches;

  /**
   * Samples.
   *
   * @param ids {@code [samples, sequence]}, row-major, as all that follow
   * @param targets {@code [samples, sequence]}
   * @param mask {@code [samples, sequence]}: 0 where the loss does not count, otherwise 1
   * @param patches {@code [samples, tokens, patch]}: what the encoder is given. All samples have as
   *     many tokens; those of a sample without placeholders are not used. Empty if no sample has
   *     any
   */
  public Microbatch(
      int samples, int sequence, int[] ids, int[] targets, double[] mask, double[] patches) {
    int n = samples * sequence;
    if (ids.length != n || targets.length != n || mask.length != n) {
      throw new IllegalArgumentException(
          """
          %s ids, %s targets and %s elements of the mask; expected %s samples of %s\
          """
              .formatted(ids.length, targets.length, mask.length, samples, sequence));
    }
    this.samples = samples;
    this.sequence = sequence;
    this.ids = ids.clone();
    this.targets = targets.clone();
    this.mask = mask.clone();
    this.patches = patches.clone();
  }

  /** Number of samples over all ranks. */
  public int samples() {
    return samples;
  }

  /**
   * Samples of each of some data-parallel ranks.
   *
   * @throws IllegalArgumentException if they cannot be divided
   */
  int share(int dp) {
    if (samples % dp != 0) {
      throw new IllegalArgumentException(
          """
          a microbatch of %s samples cannot be divided over %s data-parallel ranks; \
          expected a multiple of %s\
          """
              .formatted(samples, dp, dp));
    }
    return samples / dp;
  }

  /** Length of a sample. */
  public int sequence() {
    return sequence;
  }

  /** Tokens that count, over all ranks. */
  public int tokens() {
    return (int) Arrays.stream(mask).filter(m -> m != 0).count();
  }

  /** Whether any sample has tokens of the other modality. */
  public boolean hasModality() {
    return patches.length > 0;
  }

  public int[] ids(int first, int count) {
    return Arrays.copyOfRange(ids, first * sequence, (first + count) * sequence);
  }

  public int[] targets(int first, int count) {
    return Arrays.copyOfRange(targets, first * sequence, (first + count) * sequence);
  }

  public double[] mask(int first, int count) {
    return Arrays.copyOfRange(mask, first * sequence, (first + count) * sequence);
  }

  public double[] patches(int first, int count) {
    int each = patches.length / samples;
    return Arrays.copyOfRange(patches, first * each, (first + count) * each);
  }
}
