package org.kernbench.nn.layers;

import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;

/**
 * A decoder-only language model in a parallel layout: embedding, blocks, norm, and a head whose
 * logits stay divided over the tensor-parallel group.
 */
public final class Transformer implements Module {
  private final TransformerStage all;

  /** The experts of the blocks that have some, in order. */
  public java.util.List<MoELayer> experts() {
    return all.experts();
  }

  /** A model of a layout. */
  public Transformer(TransformerConfig config, ParallelLayout layout, Init init) {
    this(config, layout, init, false);
  }

  /**
   * A model of a layout.
   *
   * @param tied whether the head's weight is the table of the embedding
   */
  public Transformer(TransformerConfig config, ParallelLayout layout, Init init, boolean tied) {
    this.all = new TransformerStage(config, layout, init, TransformerStage.Range.all(config, tied));
  }

  /** Makes some activations of each block again on the way back, from now on. */
  public void recompute(Recompute what) {
    all.recompute(what);
  }

  /**
   * Embeds tokens; the first part of {@link #forward}.
   *
   * @param ids {@code [own positions, batch]}, row-major
   * @return {@code [own positions, batch, hidden]}; with sequence parallelism this rank's rows
   */
  public Variable embed(Graph graph, int[] ids, int batch, SequencePart part) {
    return all.embed(graph, ids, batch, part);
  }

  /**
   * Embeds tokens that need not be whole sequences, without their positions.
   *
   * @return {@code [ids.length, hidden]}, all of it on every rank
   */
  public Variable lookUp(Graph graph, int[] ids) {
    return all.lookUp(graph, ids);
  }

  /** Adds learned positions, if the model has them, to this rank's rows. */
  public Variable positioned(Graph graph, Variable x, int batch, SequencePart part) {
    return all.positioned(graph, x, batch, part);
  }

  /**
   * From embedded tokens to logits.
   *
   * @return {@code [own positions, batch, vocabulary / tp]}
   */
  public Variable decode(Graph graph, Variable embedded, SequencePart part) {
    return all.decode(graph, embedded, part);
  }

  /**
   * The blocks alone; {@link #logits} follows.
   *
   * @param embedded {@code [own positions, batch, hidden]}; with sequence parallelism this rank's
   *     rows
   * @return of the same shape
   */
  public Variable blocks(Graph graph, Variable embedded, SequencePart part) {
    return all.blocks(graph, embedded, part);
  }

  /** Norm and head after the {@link #blocks}. */
  public Variable logits(Graph graph, Variable hidden) {
    return all.logits(graph, hidden);
  }

  /** The loss of every token from its logits. */
  public Variable losses(Graph graph, Variable logits, int[] targets) {
    return all.losses(graph, logits, targets);
  }

  /** The parts of the model. */
  TransformerStage stage() {
    return all;
  }

  /**
   * The loss of every token.
   *
   * @param ids {@code [own positions, batch]}, row-major
   * @param targets the id that follows each
   * @return {@code [own positions, batch]}
   */
  public Variable forward(Graph graph, int[] ids, int[] targets, int batch, SequencePart part) {
    Variable logits = decode(graph, embed(graph, ids, batch, part), part);
    return all.losses(graph, logits, targets);
  }

  @Override
  public Parts parts() {
    return all.parts();
  }
}
