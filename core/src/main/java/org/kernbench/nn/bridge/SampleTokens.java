package org.kernbench.nn.bridge;

import java.util.Arrays;
import java.util.List;
import org.kernbench.tensor.ShapeException;

/**
 * How many rows each sample has in a matrix of rows {@code [rows, h]}, which lie sample after
 * sample: so that a batch is never cut within a sample.
 */
public final class SampleTokens {
  private final int every;
  private final int[] each;

  private SampleTokens(int every, int[] each) {
    this.every = every;
    this.each = each;
  }

  /**
   * As many for every sample.
   *
   * @param tokens 1 or more
   */
  public static SampleTokens uniform(int tokens) {
    if (tokens < 1) {
      throw new ShapeException("tokens per sample: got " + tokens + "; expected 1 or more");
    }
    return new SampleTokens(tokens, new int[0]);
  }

  /**
   * Of each sample its own number, some of which may be 0. Ranks of one gather group give the same
   * list.
   *
   * @param tokens of all samples of the rank's batch on that side of the bridge that has the larger
   *     batches, in order
   */
  public static SampleTokens of(List<Integer> tokens) {
    int[] each = tokens.stream().mapToInt(Integer::intValue).toArray();
    for (int i = 0; i < each.length; i++) {
      if (each[i] < 0) {
        throw new ShapeException("tokens of sample " + i + ": got " + each[i] + "; expected >= 0");
      }
    }
    return new SampleTokens(0, each);
  }

  boolean isUniform() {
    return every > 0;
  }

  /** Tokens of every sample, if that is one number. */
  int every() {
    return every;
  }

  /** Samples in the larger batch, of which there are so many rows. */
  int samples(int rows) {
    return isUniform() ? rows / every : each.length;
  }

  /** Rows of some samples that follow each other. */
  int rows(int firstSample, int samples) {
    return isUniform()
        ? samples * every
        : Arrays.stream(each, firstSample, firstSample + samples).sum();
  }

  @Override
  public String toString() {
    return isUniform() ? every + " each" : Arrays.toString(each);
  }
}
