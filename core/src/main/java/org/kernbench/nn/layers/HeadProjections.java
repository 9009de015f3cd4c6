package org.kernbench.nn.layers;

import java.util.List;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;

/** Three projections of a token: to heads of queries, of keys and of values. */
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
    List<Variable> projected =
        ColumnParallelLinear.together(graph, name, x, layout, List.of(query, key, value));
    Variable q = projected.get(0);
    Variable k = projected.get(1);
    int size = config.headSize();
    if (config.style() == TransformerConfig.Style.LLAMA) {
      q = graph.rotary(q, size, size, at, TransformerConfig.ROTARY_BASE);
      k = graph.rotary(k, size, size, at, TransformerConfig.ROTARY_BASE);
    }
    return new Projected(q, k, projected.get(2));
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
