package org.kernbench.nn.layers;

import org.kernbench.nn.autograd.Exchange;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;

/**
 * Divides whole sequences over the ranks of a language model, after embeddings were merged: over
 * context-parallel ranks by the zigzag of {@link SequencePart}, then with sequence parallelism each
 * part over tensor-parallel ranks, in order. Labels and masks are divided over the former only.
 * Source: {@code docs/spec/megatron.md} 6.
 *
 * @param layout of the language model
 * @param part what this rank's context-parallel part holds
 */
public record SequencePartition(ParallelLayout layout, SequencePart part) {
  /**
   * For sequences of a length.
   *
   * @throws ShapeException if the layout cannot divide the length
   */
  public static SequencePartition of(ParallelLayout layout, int sequence) {
    int cp = layout.cp().size();
    int tp = layout.tp().size();
    boolean sp = layout.sequenceParallel();
    int factor = (cp > 1 ? 2 * cp : 1) * (sp ? tp : 1);
    if (sequence % factor != 0) {
      String why =
          cp > 1 && sp
              ? "2 x cp x tp (cp " + cp + ", tp " + tp + ", sequence parallel)"
              : cp > 1 ? "2 x cp (cp " + cp + ")" : "tp (tp " + tp + ", sequence parallel)";
      throw new ShapeException(
          "a sequence of %s cannot be divided: expected a multiple of %s, %s"
              .formatted(sequence, factor, why));
    }
    return new SequencePartition(layout, new SequencePart(sequence, cp, layout.cp().rank()));
  }

  private boolean isWhole() {
    return part.ranks() == 1;
  }

  /**
   * This rank's rows of merged embeddings; the same variable if nothing is divided.
   *
   * @param x {@code [sequence, batch, hidden]}, all of it on every rank
   */
  public Variable embeddings(Graph graph, Variable x) {
    if (x.shape().rank() != 3 || x.dim(0) != part.sequence()) {
      throw new ShapeException(
          "partition of " + x + ": expected [" + part.sequence() + ", batch, hidden]");
    }
    try (Graph.Section section = graph.section("partition")) {
      Variable own = x;
      if (!isWhole()) {
        int batch = x.dim(1);
        int[] at = part.own();
        int[] rows = new int[at.length * batch];
        for (int i = 0; i < rows.length; i++) {
          rows[i] = at[i / batch] * batch + i % batch;
        }
        Shape shape = Shape.of(at.length, batch, x.columns());
        own = graph.reshape(graph.selectRows(x, rows), shape);
      }
      return layout.sequenceParallel()
          ? Exchange.apply(graph, Mapping.SCATTER_TO_SEQUENCE, own, layout.tp())
          : own;
    }
  }

  /** Positions of the rows of {@link #embeddings}. */
  public int[] rows() {
    int[] own = part.own();
    if (!layout.sequenceParallel()) {
      return own;
    }
    int each = own.length / layout.tp().size();
    int first = layout.tp().rank() * each;
    return java.util.Arrays.copyOfRange(own, first, first + each);
  }

  /**
   * This rank's labels; the same array if nothing is divided.
   *
   * @param perToken {@code [batch, sequence]}, row-major
   * @return {@code [batch, own positions]}
   */
  public int[] tokens(int[] perToken) {
    if (isWhole()) {
      return perToken;
    }
    int[] at = part.own();
    int[] own = new int[perToken.length / part.ranks()];
    for (int i = 0; i < own.length; i++) {
      own[i] = perToken[i / at.length * part.sequence() + at[i % at.length]];
    }
    return own;
  }

  /** This rank's part of a mask; otherwise as {@link #tokens}. */
  public double[] mask(double[] perToken) {
    if (isWhole()) {
      return perToken;
    }
    int[] at = part.own();
    double[] own = new double[perToken.length / part.ranks()];
    for (int i = 0; i < own.length; i++) {
      own[i] = perToken[i / at.length * part.sequence() + at[i % at.length]];
    }
    return own;
  }
}
