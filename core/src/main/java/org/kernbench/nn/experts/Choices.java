package org.kernbench.nn.experts;

/** The experts of every token of a batch, in the order in which it prefers them. */
@FunctionalInterface
public interface Choices {
  /**
   * The experts of a token.
   *
   * @param sample number of its sample in the whole batch
   * @param position in the sample
   * @return as many as each token has; negative where a copy is dropped
   */
  int[] of(int sample, int position);
}
