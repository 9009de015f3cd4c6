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
 * @param firstSample number of the first sample in the whole batch
 * @param apart by how much that number is higher on the next data-parallel rank
 */
public record SequencePart(int sequence, int ranks, int rank, int firstSample, int apart) {
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

  /** A part of samples that nobody numbers: the first is 0. */
  public SequencePart(int sequence, int ranks, int rank) {
    this(sequence, ranks, rank, 0, 0);
  }

  /**
   * This part of other samples: experts are chosen for tokens by their numbers.
   *
   * @param first number of the first sample in the whole batch
   * @param further by how much that number is higher on the next data-parallel rank
   */
  public SequencePart ofSamples(int first, int further) {
    return new SequencePart(sequence, ranks, rank, first, further);
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
