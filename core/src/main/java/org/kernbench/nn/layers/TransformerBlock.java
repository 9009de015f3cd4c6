package org.kernbench.nn.layers;

import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;

/** A pre-norm block: attention and feed-forward, each beside a residual connection. */
public final class TransformerBlock implements Module {
  private final Parts parts = new Parts();
  private final String name;
  private final Norm attentionNorm;
  private final SelfAttention attention;
  private final Norm mlpNorm;
  private final Mlp mlp;

  /** A block of a layout. */
  public TransformerBlock(String name, TransformerConfig config, ParallelLayout layout, Init init) {
    this.name = name;
    boolean sp = layout.sequenceParallel();
    this.attentionNorm =
        parts.add(new Norm(name + ".attention_norm", config.hidden(), config.style(), sp, init));
    this.attention = parts.add(new SelfAttention(name + ".attention", config, layout, init));
    this.mlpNorm =
        parts.add(new Norm(name + ".mlp_norm", config.hidden(), config.style(), sp, init));
    this.mlp = parts.add(new Mlp(name + ".mlp", config, layout, init));
  }

  /**
   * One block.
   *
   * @param x {@code [sequence, batch, hidden]}; with sequence parallelism this rank's rows
   */
  public Variable forward(Graph graph, Variable x, SequencePart part) {
    Variable h = graph.add(x, attention.forward(graph, attentionNorm.forward(graph, x), part));
    graph.see(name + ".attention", h);
    Variable y = graph.add(h, mlp.forward(graph, mlpNorm.forward(graph, h)));
    graph.see(name + ".mlp", y);
    return y;
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
