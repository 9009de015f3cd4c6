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
    return forward(graph, x, part, Recompute.NONE);
  }

  /** The same, with some activations made again on the way back. */
  Variable forward(Graph graph, Variable x, SequencePart part, Recompute again) {
    return switch (again) {
      case NONE -> rest(graph, x, attend(graph, x, part));
      case ATTENTION -> {
        Variable attended = graph.recompute(x, (inner, in) -> attend(inner, in, part));
        yield rest(graph, x, attended);
      }
      case FULL -> graph.recompute(x, (inner, in) -> rest(inner, in, attend(inner, in, part)));
    };
  }

  private Variable attend(Graph graph, Variable x, SequencePart part) {
    return attention.forward(graph, attentionNorm.forward(graph, x), part);
  }

  private Variable rest(Graph graph, Variable x, Variable attended) {
    Variable h = graph.add(x, attended);
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
