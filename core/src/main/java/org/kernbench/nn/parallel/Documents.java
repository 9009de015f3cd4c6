package org.kernbench.nn.parallel;

import java.util.Arrays;
import java.util.List;
import org.kernbench.tensor.ShapeException;

/**
 * Documents that follow each other in one sequence, as packed sequences have them ({@code
 * cu_seqlens} of FlashAttention and Megatron-LM).
 *
 * @param cumulative where each begins, and the length of all at the end: {@code [0, 3, 7]} for two
 *     of 3 and 4 positions
 */
public record Documents(List<Integer> cumulative) {
  /** Checks the numbers. */
  public Documents {
    cumulative = List.copyOf(cumulative);
    boolean fits = cumulative.size() >= 2 && cumulative.getFirst() == 0;
    for (int i = 1; i < cumulative.size(); i++) {
      fits &= cumulative.get(i) > cumulative.get(i - 1);
    }
    if (!fits) {
      throw new ShapeException(
          """
          documents %s; expected where each begins, from 0 on ascending, and the length of all, \
          as [0, 3, 7]\
          """
              .formatted(cumulative));
    }
  }

  /** Documents of these lengths. */
  public static Documents ofLengths(int... lengths) {
    int[] cumulative = new int[lengths.length + 1];
    for (int i = 0; i < lengths.length; i++) {
      cumulative[i + 1] = Math.addExact(cumulative[i], lengths[i]);
    }
    return new Documents(Arrays.stream(cumulative).boxed().toList());
  }

  /** Positions of all documents. */
  public int length() {
    return cumulative.getLast();
  }

  /** Where the documents begin that these positions belong to. */
  public int[] starts(int[] positions) {
    int[] begins = cumulative.stream().mapToInt(Integer::intValue).toArray();
    return Arrays.stream(positions)
        .map(at -> {
          if (at < 0 || at >= length()) {
            throw new ShapeException(
                "position " + at + " of documents of " + length() + " positions in all");
          }
          int index = Arrays.binarySearch(begins, at);
          return begins[index >= 0 ? index : -index - 2];
        })
        .toArray();
  }

  /** The last positions of the documents that these belong to. */
  public int[] ends(int[] positions) {
    int[] starts = starts(positions);
    return Arrays.stream(starts)
        .map(start -> cumulative.get(cumulative.indexOf(start) + 1) - 1)
        .toArray();
  }

  /** The positions counted from the beginning of each document, as rotary embeddings count them. */
  public int[] within(int[] positions) {
    int[] starts = starts(positions);
    int[] within = positions.clone();
    for (int i = 0; i < within.length; i++) {
      within[i] -= starts[i];
    }
    return within;
  }
}
