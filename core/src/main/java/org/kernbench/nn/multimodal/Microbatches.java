package org.kernbench.nn.multimodal;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Samples to compare layouts with: no two elements alike, and counting tokens unevenly. */
public final class Microbatches {
  private final TwoModuleConfig config;
  private final int samples;
  private final int sequence;
  private final Masks masks;

  /** Which tokens of the text count in the loss. */
  public enum Masks {
    /** All. */
    UNIFORM,
    /**
     * Of each sample another number: those at its end do not ({@code docs/spec/megatron.md} 12.1).
     */
    UNEVEN,
    /**
     * None of the first half of samples, so that replicas have none; of the others only the last
     * quarter of positions, so that some context-parallel ranks have none beside ones that have.
     */
    GAPS
  }

  private Microbatches(TwoModuleConfig config, int samples, int sequence, Masks masks) {
    if (sequence < config.tokensPerSample() + 2) {
      throw new IllegalArgumentException(
          """
          a sequence of %s has no room for %s tokens of the other modality and two of \
          text; expected %s or more\
          """
              .formatted(sequence, config.tokensPerSample(), config.tokensPerSample() + 2));
    }
    this.config = config;
    this.samples = samples;
    this.sequence = sequence;
    this.masks = masks;
  }

  /**
   * Random samples. Placeholders follow each other and begin at another position in each sample;
   * none counts.
   *
   * @param samples of each microbatch, over all ranks
   * @param count of microbatches
   * @param seed the same gives the same samples
   */
  public static List<Microbatch> random(
      TwoModuleConfig config, int samples, int sequence, int count, Masks masks, long seed) {
    Microbatches source = new Microbatches(config, samples, sequence, masks);
    List<Microbatch> all = new ArrayList<>();
    for (int k = 0; k < count; k++) {
      all.add(source.next(k, new Random(seed * 31 + k)));
    }
    return all;
  }

  private Microbatch next(int k, Random random) {
    int n = samples * sequence;
    int[] ids = new int[n];
    int[] targets = new int[n];
    double[] mask = new double[n];
    int tokens = config.tokensPerSample();
    for (int i = 0; i < n; i++) {
      int at = i % sequence;
      int sample = i / sequence;
      int start = sample % (sequence - tokens + 1);
      boolean isText = at < start || at >= start + tokens;
      ids[i] = isText ? text(random) : config.placeholder();
      targets[i] = isText ? random.nextInt(config.language().vocabulary()) : -100;
      mask[i] = isText && counts(k, sample, at) ? 1 : 0;
    }
    double[] patches = random.doubles((long) samples * tokens * config.patch(), -1, 1).toArray();
    return new Microbatch(samples, sequence, ids, targets, mask, patches);
  }

  private int text(Random random) {
    int id = random.nextInt(config.language().vocabulary() - 1);
    return id < config.placeholder() ? id : id + 1;
  }

  private boolean counts(int k, int sample, int at) {
    int text = sequence - config.tokensPerSample();
    return switch (masks) {
      case UNIFORM -> true;
      case UNEVEN -> at < sequence - (7 * k + 3 * sample) % (text - 1) - 1;
      case GAPS -> sample >= samples / 2 && at >= 3 * sequence / 4;
    };
  }
}
