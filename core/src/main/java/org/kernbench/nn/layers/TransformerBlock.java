package org.kernbench.nn.layers;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Dropping;
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
  private final @Nullable Mlp mlp;
  private final @Nullable MoELayer experts;
  private final ParallelLayout layout;

  /** A block of a layout. */
  public TransformerBlock(String name, TransformerConfig config, ParallelLayout layout, Init init) {
    this(name, 0, config, layout, init);
  }

  /**
   * A block of a model with several.
   *
   * @param layer its number in the model, from 0
   */
  TransformerBlock(
      String name, int layer, TransformerConfig config, ParallelLayout layout, Init init) {
    this.name = name;
    this.layout = layout;
    boolean sp = layout.sequenceParallel();
    this.attentionNorm =
        parts.add(new Norm(name + ".attention_norm", config.hidden(), config.style(), sp, init));
    this.attention = parts.add(new SelfAttention(name + ".attention", config, layout, init));
    this.mlpNorm =
        parts.add(new Norm(name + ".mlp_norm", config.hidden(), config.style(), sp, init));
    this.experts =
        config
            .experts()
            .filter(e -> layer >= e.dense())
            .map(e ->
                parts.add(new MoELayer(name + ".experts", layer, config.hidden(), e, layout, init)))
            .orElse(null);
    this.mlp = beside(config, layout, init);
  }

  /** What takes the place of experts, or works beside them on all tokens. */
  private @Nullable Mlp beside(TransformerConfig config, ParallelLayout layout, Init init) {
    if (experts == null) {
      return parts.add(new Mlp(name + ".mlp", config, layout, init));
    }
    int shared = experts.config().shared() * experts.config().ffn();
    return shared == 0
        ? null
        : parts.add(new Mlp(name + ".shared", config.withFfn(shared), layout, init));
  }

  /** The experts, if the block has some. */
  public Optional<MoELayer> experts() {
    return Optional.ofNullable(experts);
  }

  /**
   * One block.
   *
   * @param x {@code [sequence, batch, hidden]}; with sequence parallelism this rank's rows
   */
  public Variable forward(Graph graph, Variable x, SequencePart part) {
    return forward(graph, x, part, Recompute.NONE);
  }

  /**
   * As {@link #forward(Graph, Variable, SequencePart)}, with some activations made again on the way
   * back.
   */
  Variable forward(Graph graph, Variable x, SequencePart part, Recompute again) {
    return switch (again) {
      case NONE -> rest(graph, x, attend(graph, x, part), part);
      case ATTENTION -> {
        Variable attended = graph.recompute(x, (inner, in) -> attend(inner, in, part));
        yield rest(graph, x, attended, part);
      }
      case FULL ->
          graph.recompute(x, (inner, in) -> rest(inner, in, attend(inner, in, part), part));
    };
  }

  private Variable attend(Graph graph, Variable x, SequencePart part) {
    return attention.forward(graph, attentionNorm.forward(graph, x), part);
  }

  private Variable rest(Graph graph, Variable x, Variable attended, SequencePart part) {
    Dropping.Rows rows = rows(x, part, layout);
    Variable h = Dropping.add(graph, x, attended, name + ".attention", rows);
    graph.see(name + ".attention", h);
    Variable fed = feedForward(graph, mlpNorm.forward(graph, h), part);
    Variable y = Dropping.add(graph, h, fed, name + ".mlp", rows);
    graph.see(name + ".mlp", y);
    return y;
  }

  /** Which rows of the whole batch a value between tensor-parallel regions has on this rank. */
  static Dropping.Rows rows(Variable x, SequencePart part, ParallelLayout layout) {
    int count = x.rows();
    boolean some = layout.sequenceParallel();
    int batch = count * (some ? layout.tp().size() : 1) / part.own().length;
    return new Dropping.Rows(part, some ? layout.tp().rank() * count : 0, batch);
  }

  private Variable feedForward(Graph graph, Variable x, SequencePart part) {
    Optional<Variable> ofAll = Optional.ofNullable(mlp).map(dense -> dense.forward(graph, x));
    if (experts == null) {
      return ofAll.orElseThrow(() ->
          new IllegalStateException(
              "bug: " + name + " has neither experts nor a feed-forward part"));
    }
    Variable chosen = experts.forward(graph, x, part);
    return ofAll.map(y -> graph.add(chosen, y)).orElse(chosen);
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
