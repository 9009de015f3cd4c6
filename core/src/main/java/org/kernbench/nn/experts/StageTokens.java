package org.kernbench.nn.experts;

import java.util.Arrays;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;

/**
 * Which tokens each rank of a stage has in a layer of experts: every token is on one rank. Rows of
 * a rank go position by position, then sample by sample.
 *
 * @param tp tensor-parallel ranks, which divide rows
 * @param part the sequence, and numbers of samples
 * @param dpRank of the rank that calls
 * @param batch samples of a rank
 */
public record StageTokens(int tp, SequencePart part, int dpRank, int batch) {
  /**
   * Those of a layout.
   *
   * @param batch samples of a rank
   */
  public static StageTokens of(ParallelLayout layout, SequencePart part, int batch) {
    return new StageTokens(layout.tp().size(), part, layout.dp().rank(), batch);
  }

  /** A token. */
  public record Token(int sample, int position) {}

  /** Rows of each rank. */
  public int rows() {
    return part.sequence() / part.ranks() / tp * batch;
  }

  /**
   * The tokens of a rank, row by row.
   *
   * @param inStage its number in the stage, {@code tp-cp-dp}
   */
  public Token[] of(int inStage) {
    int t = inStage % tp;
    int c = inStage / tp % part.ranks();
    int d = inStage / tp / part.ranks();
    int[] held = new SequencePart(part.sequence(), part.ranks(), c).own();
    int each = held.length / tp;
    int[] positions = Arrays.copyOfRange(held, t * each, (t + 1) * each);
    Token[] tokens = new Token[positions.length * batch];
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = new Token(firstSample(d) + i % batch, positions[i / batch]);
    }
    return tokens;
  }

  private int firstSample(int d) {
    return part.firstSample() + (d - dpRank) * part.apart();
  }

  /** Numbers of the samples of the rank that calls. */
  public int[] samples() {
    int[] own = new int[batch];
    Arrays.setAll(own, b -> part.firstSample() + b);
    return own;
  }
}
