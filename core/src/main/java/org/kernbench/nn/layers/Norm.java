package org.kernbench.nn.layers;

import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;

/** The normalisation of a transformer: layer norm or RMS norm, with its parameters. */
public final class Norm implements Module {
  private final Parts parts = new Parts();
  private final String name;
  private final Parameter weight;
  private final @Nullable Parameter bias;

  /**
   * A norm.
   *
   * @param sequenceParallel whether it is applied to this rank's rows of the sequence only
   */
  public Norm(
      String name, int hidden, TransformerConfig.Style style, boolean sequenceParallel, Init init) {
    this.name = name;
    Sharding sharding = sequenceParallel ? Sharding.SEQUENCE : Sharding.REPLICATED;
    this.weight = parts.add(init.constant(name + ".weight", hidden, 1, sharding));
    this.bias =
        style.isPlain() ? parts.add(init.constant(name + ".bias", hidden, 0, sharding)) : null;
  }

  /** The normalised rows. */
  public Variable forward(Graph graph, Variable x) {
    try (Graph.Section section = graph.section(name)) {
      return bias == null
          ? graph.rmsNorm(x, weight, TransformerConfig.EPSILON)
          : graph.layerNorm(x, weight, bias, TransformerConfig.EPSILON);
    }
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
