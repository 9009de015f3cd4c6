package org.kernbench.nn.layers;

import java.util.Arrays;
import java.util.List;
import org.kernbench.nn.autograd.DotProductAttention;
import org.kernbench.nn.autograd.Exchange;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.RingAttention;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.ShapeException;

/**
 * Self-attention, causal unless the style says otherwise: heads are divided over the
 * tensor-parallel group, the sequence over the context-parallel group, whose ranks exchange keys
 * and values.
 */
public final class SelfAttention implements Module {
  /** Ends the place of keys or values of all of them. */
  public static final String GATHERED = ".gathered";

  private final Parts parts = new Parts();
  private final String name;
  private final TransformerConfig config;
  private final ParallelLayout layout;
  private final Projections projections;
  private final RowParallelLinear output;

  /** Self-attention of a layout. */
  public SelfAttention(String name, TransformerConfig config, ParallelLayout layout, Init init) {
    this.name = name;
    this.config = config;
    this.layout = layout;
    int tp = layout.tp().size();
    if (config.heads() % tp != 0 || !ParallelLayout.divides(config.keyHeads(), tp)) {
      throw new ShapeException(
          """
          %s: %s heads and %s key heads cannot be divided over %s ranks, %s; expected \
          multiples of %s, or a divisor of it for key heads\
          """
              .formatted(name, config.heads(), config.keyHeads(), tp, layout.tp(), tp));
    }
    int cp = layout.cp().size();
    if (exchangesHeads(layout) && config.keyHeads() % (tp * cp) != 0) {
      throw new ShapeException(
          "%s: %s heads of keys over %s tensor-parallel ranks cannot be divided over %s context-parallel ranks that exchange heads; expected a multiple of %s heads of keys, or another exchange"
              .formatted(name, config.keyHeads(), tp, cp, tp * cp));
    }
    this.projections = parts.add(Projections.of(name, config, layout, init));
    this.output =
        parts.add(
            new RowParallelLinear(
                name + ".output",
                config.heads() * config.valueSize(),
                config.hidden(),
                layout.tp(),
                init,
                RowParallelLinear.Options.DEFAULT
                    .withBias(config.style().isPlain())
                    .withSequenceParallel(layout.sequenceParallel())));
  }

  /**
   * Attends.
   *
   * @param x {@code [sequence, batch, hidden]}; with sequence parallelism this rank's rows
   * @param part the positions of the sequence that this rank's context-parallel part holds
   */
  public Variable forward(Graph graph, Variable x, SequencePart part) {
    int[] at = graph.recipe().positions(part);
    Projections.Projected to = projections.of(graph, x, part.counted(at));
    Variable y = attend(graph, to.q(), to.k(), to.v(), seen(at, part), part);
    return output.forward(graph, y);
  }

  private Variable attend(
      Graph graph, Variable q, Variable k, Variable v, int[] seen, SequencePart part) {
    boolean ring = layout.contextExchange() == ParallelLayout.ContextExchange.RING;
    if (ring && layout.cp().size() > 1) {
      try (Graph.Section section = graph.section(name + "." + Recipe.CONTEXT)) {
        return new RingAttention(graph, layout.cp(), part)
            .apply(q, k, v, masked(q, false, 0, part), seen);
      }
    }
    if (exchangesHeads(layout)) {
      return byHeads(graph, q, k, v, part);
    }
    Variable allK;
    Variable allV;
    try (Graph.Section section = graph.section(name + "." + Recipe.CONTEXT)) {
      allK = Exchange.apply(graph, Mapping.GATHER_FROM_SEQUENCE, k, layout.cp());
      allV = Exchange.apply(graph, Mapping.GATHER_FROM_SEQUENCE, v, layout.cp());
    }
    seeGathered(graph, "key", k, allK);
    seeGathered(graph, "value", v, allV);
    try (Graph.Section section = graph.section(name)) {
      DotProductAttention as = masked(q, false, 0, part);
      return attention(graph, as, q, allK, allV, seen, part);
    }
  }

  /** Of queries to the keys of all positions. */
  private Variable attention(
      Graph graph,
      DotProductAttention as,
      Variable q,
      Variable k,
      Variable v,
      int[] seen,
      SequencePart part) {
    return part.documents().map(as::inside).orElse(as).apply(graph, q, k, v, seen, part.all());
  }

  /**
   * Attention that knows which queries these are.
   *
   * @param whole whether they are at all positions
   * @param firstHead of these queries, among those of the tensor-parallel rank
   */
  private DotProductAttention masked(Variable q, boolean whole, int firstHead, SequencePart part) {
    int size = config.headSize();
    int ofRank = config.heads() / layout.tp().size();
    return DotProductAttention.of(size)
        .sharper(config.rotary().scores())
        .dropping(
            new DotProductAttention.Queries(
                name + ".scores",
                part,
                q.dim(1),
                whole,
                layout.tp().rank() * ofRank + firstHead,
                q.columns() / size,
                config.heads()));
  }

  private static boolean exchangesHeads(ParallelLayout layout) {
    return layout.contextExchange() == ParallelLayout.ContextExchange.ALL_TO_ALL
        && layout.cp().size() > 1;
  }

  /** All positions of some heads, in the order of the ranks that hold them. */
  private Variable byHeads(Graph graph, Variable q, Variable k, Variable v, SequencePart part) {
    List<Variable> some;
    try (Graph.Section section = graph.section(name + "." + Recipe.CONTEXT)) {
      some =
          List.of(q, k, v).stream()
              .map(x -> Exchange.apply(graph, Mapping.SEQUENCE_TO_HIDDEN, x, layout.cp()))
              .toList();
    }
    Variable y;
    try (Graph.Section section = graph.section(name)) {
      int[] at = part.all();
      Variable queries = some.get(0);
      int firstHead = layout.cp().rank() * (queries.columns() / config.headSize());
      DotProductAttention as = masked(queries, true, firstHead, part);
      y = attention(graph, as, queries, some.get(1), some.get(2), seen(at, part), part);
    }
    try (Graph.Section section = graph.section(name + "." + Recipe.CONTEXT)) {
      return Exchange.apply(graph, Mapping.HIDDEN_TO_SEQUENCE, y, layout.cp());
    }
  }

  private void seeGathered(Graph graph, String what, Variable own, Variable all) {
    String place = name + "." + Recipe.CONTEXT + "." + what;
    graph.see(place, own, Graph.Seen.REGION);
    graph.see(place + GATHERED, all, Graph.Seen.GATHERED);
  }

  /** The last position that each query sees. */
  private int[] seen(int[] at, SequencePart part) {
    if (config.style().isCausal()) {
      return at.clone();
    }
    int[] last = new int[at.length];
    Arrays.fill(last, part.sequence() - 1);
    return part.documents().map(packed -> packed.ends(at)).orElse(last);
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
