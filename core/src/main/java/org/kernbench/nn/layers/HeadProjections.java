package org.kernbench.nn.layers;

import java.util.List;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.ProcessGroup;

/**
 * Three projections of a token: to heads of queries, of keys and of values. Where there are fewer
 * heads of keys than tensor-parallel ranks, each of the ranks that share one makes a part of it,
 * and they gather it: no weight is there twice, so no gradient has to be summed for that.
 */
final class HeadProjections implements Projections {
  private final Parts parts = new Parts();
  private final String name;
  private final TransformerConfig config;
  private final ParallelLayout layout;
  private final ColumnParallelLinear query;
  private final ColumnParallelLinear key;
  private final ColumnParallelLinear value;

  HeadProjections(String name, TransformerConfig config, ParallelLayout layout, Init init) {
    this.name = name;
    this.config = config;
    this.layout = layout;
    int queries = config.heads() * config.headSize();
    int keys = config.keyHeads() * config.headSize();
    int sharing = layout.keys().map(ProcessGroup::size).orElse(1);
    if (config.headSize() % sharing != 0 || config.keyHeads() * sharing % layout.tp().size() != 0) {
      throw new ShapeException(
          "%s: %s key heads of %s elements, each shared by %s of %s ranks; expected a multiple of the ranks, and elements that those divide"
              .formatted(name, config.keyHeads(), config.headSize(), sharing, layout.tp().size()));
    }
    this.query = parts.add(column("query", queries, init));
    this.key = parts.add(column("key", keys, init));
    this.value = parts.add(column("value", keys, init));
  }

  private ColumnParallelLinear column(String what, int features, Init init) {
    return new ColumnParallelLinear(
        name + "." + what,
        config.hidden(),
        features,
        layout.tp(),
        init,
        ColumnParallelLinear.Options.INSIDE.withBias(config.style().isPlain()));
  }

  @Override
  public Projected of(Graph graph, Variable x, int[] at) {
    // queries last: keys and values are copied beside their product
    List<Variable> projected =
        ColumnParallelLinear.together(
            graph,
            name,
            x,
            layout,
            List.of(key, value, query),
            List.of(
                k -> turned(graph, whole(graph, "key", k), at),
                v -> whole(graph, "value", v),
                q -> turned(graph, q, at)),
            false);
    return new Projected(projected.get(2), projected.get(0), projected.get(1));
  }

  private Variable turned(Graph graph, Variable heads, int[] at) {
    int size = config.headSize();
    return config.style() == TransformerConfig.Style.LLAMA
        ? graph.rotary(heads, size, size, at, config.rotary())
        : heads;
  }

  /** A head of which this rank has made a part; other ranks have the rest. */
  private Variable whole(Graph graph, String what, Variable part) {
    if (part.columns() % config.headSize() == 0) {
      return part;
    }
    ProcessGroup sharing = layout.keys().orElseThrow();
    try (Graph.Section section = graph.section(name + "." + what)) {
      return graph.map(Mapping.ALL_GATHER_LAST, part, sharing);
    }
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
