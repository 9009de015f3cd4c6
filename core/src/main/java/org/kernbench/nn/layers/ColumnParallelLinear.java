package org.kernbench.nn.layers;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Exchange;
import org.kernbench.nn.autograd.F8Linear;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Mapping;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.ProcessGroup;

/**
 * A linear layer whose output features are divided over the tensor-parallel group: rank {@code r}
 * computes {@code Y_r = X W_r^T + b_r}.
 *
 * <p>With sequence parallelism the input is this rank's rows, which are gathered first; otherwise
 * every rank has the same input. Source: {@code docs/spec/megatron.md} 8.1.
 */
public final class ColumnParallelLinear implements Module {
  /** Ends the place of what enters a region. */
  public static final String INPUT = ".input";

  /** Ends the place of the same inside of the region. */
  public static final String ENTERED = ".entered";

  private final Parts parts = new Parts();
  private final String name;
  private final ProcessGroup tp;
  private final Options options;
  private final Shape weightShape;
  private final @Nullable Parameter weight;
  private final @Nullable Parameter bias;

  /**
   * How the layer behaves.
   *
   * @param bias whether it has one
   * @param gatherOutput joins the ranks' outputs at the end
   * @param skipBiasAdd gives the bias back instead of adding it, for a caller who fuses it
   * @param sequenceParallel whether the input is this rank's rows of the sequence
   * @param gradReduce whether the gradient of the input is summed over the group; a caller who
   *     switches it off does that himself
   * @param stride projections of one size that the layer fuses, for example 2 for gate and up: a
   *     rank's output is its part of the first, then of the second; the weight's whole is the first
   *     and then the second, on any number of ranks. A gathered output is the ranks' in turn
   * @param f8 whether it multiplies in 8 bits where the graph does
   */
  public record Options(
      boolean bias,
      boolean gatherOutput,
      boolean skipBiasAdd,
      boolean sequenceParallel,
      boolean gradReduce,
      int stride,
      boolean f8) {
    /** With a bias, added; output divided; no sequence parallelism; one projection. */
    public static final Options DEFAULT = new Options(true, false, false, false, true, 1, true);

    /** Inside a region that was entered before: takes the input as it is. */
    static final Options INSIDE = new Options(false, false, false, false, false, 1, true);

    /** A copy with or without bias. */
    public Options withBias(boolean has) {
      return new Options(has, gatherOutput, skipBiasAdd, sequenceParallel, gradReduce, stride, f8);
    }

    /** A copy that gathers its output, or not. */
    public Options withGatherOutput(boolean gather) {
      return new Options(bias, gather, skipBiasAdd, sequenceParallel, gradReduce, stride, f8);
    }

    /** A copy that gives its bias back, or adds it. */
    public Options withSkipBiasAdd(boolean skip) {
      return new Options(bias, gatherOutput, skip, sequenceParallel, gradReduce, stride, f8);
    }

    /** A copy with or without sequence parallelism. */
    public Options withSequenceParallel(boolean parallel) {
      return new Options(bias, gatherOutput, skipBiasAdd, parallel, gradReduce, stride, f8);
    }

    /** A copy that sums the gradient of its input, or does not. */
    public Options withGradReduce(boolean reduce) {
      return new Options(bias, gatherOutput, skipBiasAdd, sequenceParallel, reduce, stride, f8);
    }

    /** A copy that fuses several projections. */
    public Options withStride(int projections) {
      return new Options(
          bias, gatherOutput, skipBiasAdd, sequenceParallel, gradReduce, projections, f8);
    }

    /** A copy that multiplies in 8 bits where the graph does, or never. */
    public Options withF8(boolean may) {
      return new Options(
          bias, gatherOutput, skipBiasAdd, sequenceParallel, gradReduce, stride, may);
    }
  }

  /**
   * What a linear layer gives.
   *
   * @param output {@code [..., features]}
   * @param bias still to be added; empty unless the layer was told to skip it
   */
  public record Result(Variable output, Optional<Variable> bias) {}

  /**
   * A layer.
   *
   * @param in features of the input
   * @param out features of the output over all ranks; a multiple of the group's size
   */
  public ColumnParallelLinear(
      String name, int in, int out, ProcessGroup tp, Init init, Options options) {
    this(name, in, out, tp, init, options, true);
  }

  private ColumnParallelLinear(
      String name, int in, int out, ProcessGroup tp, Init init, Options options, boolean owns) {
    this.name = name;
    this.tp = tp;
    this.options = options;
    int multiple = tp.size() * options.stride;
    if (out % multiple != 0) {
      throw new ShapeException(
          """
          column-parallel layer %s: %s output features%s cannot be divided over %s ranks, %s; \
          expected a multiple of %s\
          """
              .formatted(
                  name,
                  out,
                  options.stride > 1 ? " of " + options.stride + " projections" : "",
                  tp.size(),
                  tp,
                  multiple));
    }
    this.weightShape = Shape.of(out / tp.size(), in);
    Sharding cut = Sharding.along(0, options.stride);
    this.weight =
        owns ? parts.add(init.normal(name + ".weight", Shape.of(out, in), cut, tp)) : null;
    this.bias = options.bias ? parts.add(init.constant(name + ".bias", out, 0, cut, tp)) : null;
  }

  /** A layer that is given its weight with each input, for example that of an embedding. */
  public static ColumnParallelLinear withoutWeight(
      String name, int in, int out, ProcessGroup tp, Init init, Options options) {
    return new ColumnParallelLinear(name, in, out, tp, init, options, false);
  }

  /**
   * This rank's rows of the weight, {@code [out / p, in]}.
   *
   * @throws IllegalStateException if the layer has none
   */
  public Parameter weight() {
    Parameter own = weight;
    if (own == null) {
      throw new IllegalStateException(
          "column-parallel layer %s has no weight of its own; give it one of %s"
              .formatted(name, weightShape));
    }
    return own;
  }

  /** The layer with its bias added, if it has one; see {@link #apply} for one that skips it. */
  public Variable forward(Graph graph, Variable x) {
    return apply(graph, x).output();
  }

  /** The layer's output, and its bias if that is still to be added. */
  public Result apply(Graph graph, Variable x) {
    return apply(graph, x, weight(), options.gatherOutput);
  }

  /**
   * As {@link #apply(Graph, Variable)}, with a weight from elsewhere, and its own word on
   * gathering.
   *
   * @param with this rank's rows, {@code [out / p, in]}
   * @param gather whether the ranks' outputs are joined, whatever the options say
   * @throws IllegalStateException if the layer has a weight of its own and this is another, or this
   *     has another shape
   */
  public Result apply(Graph graph, Variable x, Variable with, boolean gather) {
    if ((weight != null && weight != with) || !with.shape().equals(weightShape)) {
      throw new IllegalStateException(
          "column-parallel layer %s with weight %s: expected %s"
              .formatted(
                  name, with, weight == null ? "one of " + weightShape : "its own, " + weight));
    }
    try (Graph.Section section = graph.section(name)) {
      Variable in = entered(graph, x);
      if (in != x || tp.size() == 1) {
        seeEntered(graph, name, x, in);
      }
      boolean beside = tp.size() > 1;
      Variable y =
          options.f8 ? F8Linear.apply(graph, in, with, beside) : graph.linear(in, with, beside);
      if (in != x) {
        in.forget();
      }
      if (bias != null && !options.skipBiasAdd) {
        y = graph.addBias(y, bias);
      }
      if (gather) {
        y = Exchange.apply(graph, Mapping.GATHER_FROM, y, tp);
      }
      return new Result(y, options.skipBiasAdd ? Optional.ofNullable(bias) : Optional.empty());
    }
  }

  private Variable entered(Graph graph, Variable x) {
    return options.gradReduce || options.sequenceParallel
        ? enter(graph, x, tp, options.sequenceParallel)
        : x;
  }

  private static void seeEntered(Graph graph, String name, Variable x, Variable in) {
    graph.see(name + INPUT, x);
    graph.see(name + ENTERED, in, Graph.Seen.ENTERED);
  }

  private static Variable enter(
      Graph graph, Variable x, ProcessGroup tp, boolean sequenceParallel) {
    return Exchange.apply(
        graph, sequenceParallel ? Mapping.GATHER_FROM_SEQUENCE : Mapping.COPY_TO, x, tp);
  }

  /**
   * Applies several layers to one input, which enters the tensor-parallel region once: the layers
   * are told neither to gather nor to reduce the gradient. Gathered rows are freed afterwards, and
   * gathered again for the gradients of the weights.
   *
   * @param name of the region
   * @param gated whether all have one shape, and the last output is the gate of a SwiGLU with the
   *     first
   */
  static List<Variable> together(
      Graph graph,
      String name,
      Variable x,
      ParallelLayout layout,
      List<ColumnParallelLinear> layers,
      boolean gated) {
    List<UnaryOperator<Variable>> same = Collections.nCopies(layers.size(), y -> y);
    return together(graph, name, x, layout, layers, same, gated);
  }

  /**
   * As above.
   *
   * @param then what is made of the output of each layer, before the next one's
   */
  static List<Variable> together(
      Graph graph,
      String name,
      Variable x,
      ParallelLayout layout,
      List<ColumnParallelLinear> layers,
      List<UnaryOperator<Variable>> then,
      boolean gated) {
    Variable in;
    try (Graph.Section section = graph.section(name)) {
      in = enter(graph, x, layout.tp(), layout.sequenceParallel());
      Map<Shape, List<Parameter>> alike = new LinkedHashMap<>();
      for (ColumnParallelLinear layer : layers) {
        alike.computeIfAbsent(layer.weightShape, s -> new ArrayList<>()).add(layer.weight());
      }
      alike.values().stream()
          .filter(weights -> weights.size() > 1)
          .forEach(weights -> graph.linearAhead(in, weights, gated));
    }
    seeEntered(graph, name, x, in);
    List<Variable> out = new ArrayList<>();
    for (int i = 0; i < layers.size(); i++) {
      out.add(then.get(i).apply(layers.get(i).forward(graph, in)));
    }
    if (in != x) {
      in.forget();
    }
    return out;
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
