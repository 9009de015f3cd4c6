package org.kernbench.nn.layers;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Exchange;
import org.kernbench.nn.autograd.F8Linear;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.ColumnParallelLinear.Result;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;

/**
 * A linear layer whose input features are divided over the tensor-parallel group: {@code Y = sum of
 * X_r W_r^T}, then the bias, once. With sequence parallelism each rank keeps its rows of the sum.
 *
 * <p>Source: {@code docs/spec/megatron.md} 8.2.
 */
public final class RowParallelLinear implements Module {
  /** Ends the place of a rank's part of the sum. */
  public static final String PART = ".part";

  private final Parts parts = new Parts();
  private final String name;
  private final ProcessGroup tp;
  private final Options options;
  private final Parameter weight;
  private final @Nullable Parameter bias;

  /**
   * How the layer behaves.
   *
   * @param bias whether it has one; every rank has all of it
   * @param inputIsParallel whether the input is this rank's features already, as a column-parallel
   *     layer leaves them; otherwise the rank takes its block of a whole input
   * @param skipBiasAdd gives the bias back instead of adding it
   * @param sequenceParallel whether the output is this rank's rows of the sequence; needs {@code
   *     inputIsParallel}
   */
  public record Options(
      boolean bias, boolean inputIsParallel, boolean skipBiasAdd, boolean sequenceParallel) {
    /** With a bias, added; input divided; no sequence parallelism. */
    public static final Options DEFAULT = new Options(true, true, false, false);

    /** Checks that sequence parallelism has a divided input. */
    public Options {
      if (sequenceParallel && !inputIsParallel) {
        throw new IllegalStateException(
            """
            a row-parallel layer with sequence parallelism needs inputIsParallel: its input \
            comes from a column-parallel layer\
            """);
      }
    }

    /** A copy with or without bias. */
    public Options withBias(boolean has) {
      return new Options(has, inputIsParallel, skipBiasAdd, sequenceParallel);
    }

    /** A copy whose input is divided already, or not. */
    public Options withInputIsParallel(boolean parallel) {
      return new Options(bias, parallel, skipBiasAdd, sequenceParallel);
    }

    /** A copy that gives its bias back, or adds it. */
    public Options withSkipBiasAdd(boolean skip) {
      return new Options(bias, inputIsParallel, skip, sequenceParallel);
    }

    /** A copy with or without sequence parallelism. */
    public Options withSequenceParallel(boolean parallel) {
      return new Options(bias, inputIsParallel, skipBiasAdd, parallel);
    }
  }

  /**
   * A layer.
   *
   * @param in features of the input over all ranks; a multiple of the group's size
   * @param out features of the output
   */
  public RowParallelLinear(
      String name, int in, int out, ProcessGroup tp, Init init, Options options) {
    this.name = name;
    this.tp = tp;
    this.options = options;
    this.weight =
        parts.add(init.normal(name + ".weight", Shape.of(out, in), Sharding.along(1), tp));
    Sharding ofBias =
        options.sequenceParallel && tp.size() > 1 ? Sharding.SEQUENCE : Sharding.REPLICATED;
    this.bias = options.bias ? parts.add(init.constant(name + ".bias", out, 0, ofBias)) : null;
  }

  /** This rank's columns of the weight, {@code [out, in / p]}. */
  public Parameter weight() {
    return weight;
  }

  /** The layer with its bias added, if it has one. */
  public Variable forward(Graph graph, Variable x) {
    return apply(graph, x).output();
  }

  /** The layer's output, and its bias if that is still to be added. */
  public Result apply(Graph graph, Variable x) {
    try (Graph.Section section = graph.section(name)) {
      Variable own = options.inputIsParallel ? x : Exchange.apply(graph, Mapping.SCATTER_TO, x, tp);
      Mapping leave =
          options.sequenceParallel ? Mapping.REDUCE_SCATTER_TO_SEQUENCE : Mapping.REDUCE_FROM;
      boolean onSum = graph.recipe().addsBiasToTheSum();
      Variable product = F8Linear.apply(graph, own, weight, false);
      graph.see(name + PART, product, Graph.Seen.PART);
      Variable part = withBias(graph, product, !onSum);
      Variable y = withBias(graph, Exchange.apply(graph, leave, part, tp), onSum);
      graph.see(name, y);
      return new Result(y, options.skipBiasAdd ? Optional.ofNullable(bias) : Optional.empty());
    }
  }

  private Variable withBias(Graph graph, Variable y, boolean here) {
    return here && bias != null && !options.skipBiasAdd ? graph.addBias(y, bias) : y;
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
