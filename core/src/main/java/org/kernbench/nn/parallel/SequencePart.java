package org.kernbench.nn.parallel;

import org.kernbench.tensor.ShapeException;

/**
 * Which positions of a sequence a context-parallel rank holds. The sequence is cut into {@code 2 p}
 * equal chunks; rank {@code r} keeps chunk {@code r} and then chunk {@code 2 p - 1 - r}, so that
 * causal attention is the same work for all. Source: {@code docs/spec/megatron.md} 6.3.
 *
 * @param sequence length of the whole
 * @param ranks of the context-parallel group
 * @param rank in it
 */
public record SequencePart(int sequence, int ranks, int rank) {
  /** Checks that the sequence can be cut. */
  public SequencePart {
    if (ranks > 1 && sequence % (2 * ranks) != 0) {
      throw new ShapeException(
          """
          a sequence of %s cannot be cut over %s context-parallel ranks: expected a \
          multiple of %s\
          """
              .formatted(sequence, ranks, 2 * ranks));
    }
  }

  /** Positions that this rank holds, in its order. */
  public int[] own() {
    return of(rank);
  }

  /** Positions of all ranks, rank after rank. */
  public int[] all() {
    int each = sequence / ranks;
    int[] all = new int[sequence];
    for (int r = 0; r < ranks; r++) {
      System.arraycopy(of(r), 0, all, r * each, each);
    }
    return all;
  }

  private int[] of(int r) {
    int[] positions = new int[sequence / ranks];
    int chunk = ranks == 1 ? sequence : sequence / (2 * ranks);
    for (int i = 0; i < positions.length; i++) {
      int start = i < chunk ? r * chunk : (2 * ranks - 1 - r) * chunk;
      positions[i] = start + i % chunk;
    }
    return positions;
  }
}
