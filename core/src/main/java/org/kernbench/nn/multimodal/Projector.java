package org.kernbench.nn.multimodal;

import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.ColumnParallelLinear;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Module;
import org.kernbench.nn.layers.Parts;
import org.kernbench.nn.layers.RowParallelLinear;
import org.kernbench.nn.parallel.ParallelLayout;

/** From the width of the encoder to that of the language model: {@code down(gelu(up x))}. */
final class Projector implements Module {
  private final Parts parts = new Parts();
  private final ColumnParallelLinear up;
  private final RowParallelLinear down;

  Projector(TwoModuleConfig model, ParallelLayout layout, Init init) {
    this.up =
        parts.add(
            new ColumnParallelLinear(
                "projector.up",
                model.encoder().hidden(),
                model.projector(),
                layout.tp(),
                init,
                ColumnParallelLinear.Options.DEFAULT));
    this.down =
        parts.add(
            new RowParallelLinear(
                "projector.down",
                model.projector(),
                model.language().hidden(),
                layout.tp(),
                init,
                RowParallelLinear.Options.DEFAULT));
  }

  /** {@code [..., encoder hidden]} to {@code [..., language hidden]}. */
  Variable forward(Graph graph, Variable x) {
    return down.forward(graph, graph.gelu(up.forward(graph, x)));
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
