package org.kernbench.nn.autograd;

import java.util.Arrays;
import java.util.Optional;
import org.kernbench.nn.parallel.Documents;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;

/**
 * {@link Graph#attention} with what it may have beside: documents that do not see each other, and
 * keys that are left out at random.
 *
 * @param size elements of a head of queries and keys
 * @param documents which positions belong together, the same ones in all samples; tiles of two
 *     documents are not computed
 * @param masked which queries of the whole batch these are, for the masks of the graph's {@link
 *     Dropout}; empty if none is to be left out
 * @param sharper factor of the scores, beside one over the square root of the size
 */
public record DotProductAttention(
    int size, Optional<Documents> documents, Optional<Queries> masked, double sharper) {
  /**
   * Which queries of the whole batch a rank attends with.
   *
   * @param place of the masks in the model, for example {@code layers.0.attention.scores}
   * @param part the samples
   * @param batch how many of them
   * @param whole whether they are at all positions, rank after rank, not at those of the part only
   * @param firstHead of the rank's query heads
   * @param heads how many it has
   * @param allHeads of the model
   */
  public record Queries(
      String place,
      SequencePart part,
      int batch,
      boolean whole,
      int firstHead,
      int heads,
      int allHeads) {}

  /** Attention with heads of a size, and nothing beside. */
  public static DotProductAttention of(int size) {
    return new DotProductAttention(size, Optional.empty(), Optional.empty(), 1);
  }

  /** Attention inside of each document. */
  public DotProductAttention inside(Documents packed) {
    return new DotProductAttention(size, Optional.of(packed), masked, sharper);
  }

  /** Attention whose keys are left out as the graph says. */
  public DotProductAttention dropping(Queries queries) {
    return new DotProductAttention(size, documents, Optional.of(queries), sharper);
  }

  /** Attention whose scores are multiplied. */
  public DotProductAttention sharper(double factor) {
    return new DotProductAttention(size, documents, masked, factor);
  }

  /** As {@link Graph#attention}. */
  public Variable apply(
      Graph graph, Variable q, Variable k, Variable v, int[] queriesAt, int[] keysAt) {
    Attention attention =
        Attention.of(graph, q, k, v, size, queriesAt, keysAt).with(masks(graph), sharper);
    Positions seen =
        documents
            .map(packed -> attention.positions(queriesAt, packed))
            .orElseGet(() -> attention.positions(queriesAt));
    return attention.apply(q, k, v, seen, attention.positions(keysAt));
  }

  Optional<HeadMasks> masks(Graph graph) {
    double rate = graph.dropping().dropout().attention();
    return rate == 0 ? Optional.empty() : masked.map(queries -> masks(graph, rate, queries));
  }

  private static HeadMasks masks(Graph graph, double rate, Queries of) {
    Dropping dropping = graph.dropping();
    Recipe recipe = graph.recipe();
    SequencePart part = of.part;
    int[] at = of.whole ? part.all() : recipe.positions(part);
    int count = of.batch * of.heads;
    return new HeadMasks(
        rate,
        dropping.key(of.place),
        dropping.everywhere(
            "mask-heads",
            Shape.of(count),
            () -> {
              double[] numbers = new double[count];
              for (int i = 0; i < count; i++) {
                int sample = part.firstSample() + i / of.heads;
                int head = of.firstHead + i % of.heads;
                numbers[i] = recipe.maskHead(sample, head, of.allHeads, i);
              }
              return numbers;
            }),
        dropping.everywhere(
            "mask-queries",
            Shape.of(at.length),
            () -> Arrays.stream(at).asDoubleStream().toArray()),
        part.sequence());
  }
}
