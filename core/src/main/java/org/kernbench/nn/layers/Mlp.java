package org.kernbench.nn.layers;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;

/** The feed-forward part of a block: up, activation, down; with a gate in the Llama family. */
public final class Mlp implements Module {
  private final Parts parts = new Parts();
  private final String name;
  private final ParallelLayout layout;
  private final ColumnParallelLinear up;
  private final @Nullable ColumnParallelLinear gate;
  private final RowParallelLinear down;

  /** A feed-forward part of a layout. */
  public Mlp(String name, TransformerConfig config, ParallelLayout layout, Init init) {
    this.name = name;
    this.layout = layout;
    boolean isGpt = config.style().isPlain();
    ColumnParallelLinear.Options column = ColumnParallelLinear.Options.INSIDE.withBias(isGpt);
    int hidden = config.hidden();
    int inner = config.ffn();
    this.up =
        parts.add(new ColumnParallelLinear(name + ".up", hidden, inner, layout.tp(), init, column));
    this.gate =
        isGpt
            ? null
            : parts.add(
                new ColumnParallelLinear(name + ".gate", hidden, inner, layout.tp(), init, column));
    this.down =
        parts.add(
            new RowParallelLinear(
                name + ".down",
                inner,
                hidden,
                layout.tp(),
                init,
                RowParallelLinear.Options.DEFAULT
                    .withBias(isGpt)
                    .withSequenceParallel(layout.sequenceParallel())));
  }

  /** {@code down(gelu(up x))}, or {@code down(silu(gate x) up x)}. */
  public Variable forward(Graph graph, Variable x) {
    List<ColumnParallelLinear> layers = gate == null ? List.of(up) : List.of(up, gate);
    List<Variable> inner =
        ColumnParallelLinear.together(graph, name, x, layout, layers, gate != null);
    return down.forward(graph, active(graph, inner));
  }

  private Variable active(Graph graph, List<Variable> inner) {
    try (Graph.Section section = graph.section(name)) {
      return gate == null ? graph.gelu(inner.get(0)) : graph.swiglu(inner.get(1), inner.get(0));
    }
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
