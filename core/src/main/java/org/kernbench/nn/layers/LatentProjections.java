package org.kernbench.nn.layers;

import java.util.List;
import java.util.Optional;
import org.kernbench.nn.autograd.Exchange;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.nn.layers.TransformerConfig.Latent;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Latent attention's way from a token to its heads (DeepSeek-AI 2024): down to a few numbers, which
 * are normalised, and up to heads.
 *
 * <pre>
 * c_q      = norm(A_q x)                 q = B_q c_q, whose last elements are turned
 * c_k, r   = A_k x                       k = [B_k norm(c_k), turn(r)], r the same in all heads
 *                                        v = B_v norm(c_k)
 * </pre>
 *
 * <p>What leads down is whole on each tensor-parallel rank, and takes its rows of the sequence with
 * sequence parallelism; what leads up is cut by heads. So the latent numbers enter a
 * tensor-parallel region, and {@code r} beside them, whose gradient is a sum over all heads.
 */
final class LatentProjections implements Projections {
  private final Parts parts = new Parts();
  private final String name;
  private final TransformerConfig config;
  private final Latent latent;
  private final ParallelLayout layout;
  private final Optional<Down> toQueries;
  private final Down toKeys;
  private final ColumnParallelLinear query;
  private final ColumnParallelLinear key;
  private final ColumnParallelLinear value;

  /** A product that leads down, and the norm of what it makes. */
  private record Down(Parameter weight, Norm norm) {}

  LatentProjections(
      String name, TransformerConfig config, Latent latent, ParallelLayout layout, Init init) {
    this.name = name;
    this.config = config;
    this.latent = latent;
    this.layout = layout;
    int rank = latent.queryRank();
    this.toQueries =
        rank == 0 ? Optional.empty() : Optional.of(down("query_down", rank, rank, init));
    this.toKeys = down("key_down", latent.keyRank() + latent.turned(), latent.keyRank(), init);
    int heads = config.heads();
    this.query =
        parts.add(up("query", rank == 0 ? config.hidden() : rank, heads * config.headSize(), init));
    this.key = parts.add(up("key", latent.keyRank(), heads * latent.still(), init));
    this.value = parts.add(up("value", latent.keyRank(), heads * latent.value(), init));
  }

  private Down down(String what, int features, int normed, Init init) {
    boolean sp = layout.sequenceParallel();
    Parameter weight =
        parts.add(
            init.normal(
                name + "." + what + ".weight",
                Shape.of(features, config.hidden()),
                sp ? Sharding.SEQUENCE : Sharding.REPLICATED,
                layout.tp()));
    String norm = name + "." + what + "_norm";
    return new Down(weight, parts.add(new Norm(norm, normed, config.style(), sp, init)));
  }

  private ColumnParallelLinear up(String what, int from, int to, Init init) {
    return new ColumnParallelLinear(
        name + "." + what,
        from,
        to,
        layout.tp(),
        init,
        ColumnParallelLinear.Options.INSIDE.withBias(false));
  }

  @Override
  public Projected of(Graph graph, Variable x, int[] at) {
    Variable ofQueries = x;
    if (toQueries.isPresent()) {
      ofQueries =
          toQueries.get().norm.forward(graph, product(graph, x, "query_down", toQueries.get()));
    }
    Variable q = region(graph, "queries", ofQueries, List.of(query)).getFirst();
    Variable down = product(graph, x, "key_down", toKeys);
    Variable few;
    Variable shared;
    try (Graph.Section section = graph.section(name)) {
      few = graph.narrowColumns(down, 0, latent.keyRank());
      shared = graph.narrowColumns(down, latent.keyRank(), latent.turned());
    }
    List<Variable> up = region(graph, "keys", toKeys.norm.forward(graph, few), List.of(key, value));
    try (Graph.Section section = graph.section(name)) {
      Mapping enter = layout.sequenceParallel() ? Mapping.GATHER_FROM_SEQUENCE : Mapping.COPY_TO;
      Variable turned =
          turn(graph, Exchange.apply(graph, enter, shared, layout.tp()), latent.turned(), at);
      Variable k = beside(graph, up.get(0), turned);
      return new Projected(turn(graph, q, config.headSize(), at), k, up.get(1));
    }
  }

  private Variable product(Graph graph, Variable x, String what, Down down) {
    try (Graph.Section section = graph.section(name + "." + what)) {
      return graph.linear(x, down.weight);
    }
  }

  private List<Variable> region(
      Graph graph, String what, Variable x, List<ColumnParallelLinear> layers) {
    return ColumnParallelLinear.together(graph, name + "." + what, x, layout, layers, false);
  }

  private Variable turn(Graph graph, Variable x, int size, int[] at) {
    return graph.rotary(x, size, latent.turned(), at, config.rotary());
  }

  /** Each head's own elements, and behind them those that all heads share. */
  private Variable beside(Graph graph, Variable own, Variable shared) {
    int still = latent.still();
    int turned = latent.turned();
    int heads = own.columns() / still;
    int columns = heads * (still + turned);
    Compute compute = graph.compute();
    Shape shape = own.shape().with(2, columns);
    Tensor keys = compute.empty(graph.name("keys"), shape, own.dtype());
    compute.rows(
        graph.name("keys"),
        own.rows(),
        List.of(RowArg.rows(own.value(), own.columns()), RowArg.rows(shared.value(), turned)),
        List.of(RowArg.rows(keys, columns)),
        (tl, x) -> List.of(joined(tl, x.get(0), x.get(1), heads)));
    return graph.record(
        keys,
        shape,
        List.of(own, shared),
        (grad, into) -> {
          Tensor dOwn = compute.empty(graph.name("dkeys"), own.shape(), own.dtype());
          Tensor dShared = compute.empty(graph.name("dkeys"), shared.shape(), shared.dtype());
          compute.rows(
              graph.name("dkeys"),
              own.rows(),
              List.of(RowArg.rows(grad, columns)),
              List.of(RowArg.rows(dOwn, own.columns()), RowArg.rows(dShared, turned)),
              (tl, x) -> parted(x.get(0), heads, still, turned));
          into.give(0, dOwn);
          into.give(1, dShared);
        });
  }

  private static Value joined(Tl tl, Value own, Value shared, int heads) {
    int rows = own.shape().dim(0);
    int turned = shared.shape().dim(1);
    Value still = own.reshape(rows, heads, own.shape().dim(1) / heads);
    Value each = shared.reshape(rows, 1, turned).broadcastTo(Shape.of(rows, heads, turned));
    Value all = tl.concat(2, still, each);
    return all.reshape(rows, heads * all.shape().dim(2));
  }

  private static List<Value> parted(Value grad, int heads, int still, int turned) {
    int rows = grad.shape().dim(0);
    Value all = grad.reshape(rows, heads, still + turned);
    return List.of(
        all.narrow(2, 0, still).reshape(rows, heads * still), all.narrow(2, still, turned).sum(1));
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
