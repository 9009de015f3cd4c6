package org.kernbench.nn.layers;

import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;

/** How attention finds queries, keys and values of a token. */
sealed interface Projections extends Module permits HeadProjections, LatentProjections {
  /** Those that a model's shape asks for. */
  static Projections of(String name, TransformerConfig config, ParallelLayout layout, Init init) {
    return config.latent().isPresent()
        ? new LatentProjections(name, config, config.latent().get(), layout, init)
        : new HeadProjections(name, config, layout, init);
  }

  /**
   * Those of some tokens.
   *
   * @param x {@code [sequence, batch, hidden]}; with sequence parallelism this rank's rows
   * @param at position of each row of the sequence
   */
  Projected of(Graph graph, Variable x, int[] at);

  /**
   * Heads of this tensor-parallel rank.
   *
   * @param q {@code [sequence, batch, heads x headSize]}
   * @param k {@code [sequence, batch, keyHeads x headSize]}
   * @param v {@code [sequence, batch, keyHeads x valueSize]}
   */
  record Projected(Variable q, Variable k, Variable v) {}
}
