package org.kernbench.nn.optim;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.nn.kernels.WorkCount;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/**
 * What happens to gradients between the backward pass and the optimizer, in this order: those of
 * sequence-parallel parameters are summed over the tensor-parallel group, all over the data- and
 * context-parallel ranks, then divided by the number of tokens that counted, then clipped.
 *
 * <p>The loss is a plain sum over tokens, so these are plain sums and the result depends on no
 * layout ({@code docs/spec/megatron.md} 10.2, regime A). Everything stays on the device.
 */
public final class GradientSync {
  private final Torch torch;
  private final ParallelLayout layout;
  private final Recipe recipe;
  private final Map<String, WorkCount> work = new TreeMap<>();

  /** For the parameters of a layout. */
  public GradientSync(Torch torch, ParallelLayout layout) {
    this(torch, layout, Recipe.STANDARD);
  }

  public GradientSync(Torch torch, ParallelLayout layout, Recipe recipe) {
    this.torch = torch;
    this.layout = layout;
    this.recipe = recipe;
  }

  /** What has been launched so far by {@link #divideByTokens} and {@link #clip}, by name. */
  public Map<String, WorkCount> work() {
    return Collections.unmodifiableMap(work);
  }

  /**
   * Sums the gradients of a rank's parameters with those of the other ranks. All ranks call it.
   *
   * @throws IllegalStateException if a parameter that is not frozen has no gradient
   */
  public void sum(List<Parameter> parameters) {
    for (Parameter p : parameters) {
      if (!p.isFrozen()) {
        recipe.gradientGroups(p, layout).forEach(group -> sum(p, group));
      }
    }
  }

  private static void sum(Parameter p, ProcessGroup group) {
    if (group.size() > 1) {
      group.allReduce(gradient(p), ReduceKind.SUM);
    }
  }

  /** The gradient that a parameter must have. */
  public static Tensor gradient(Parameter p) {
    return p.grad()
        .orElseThrow(() ->
            new IllegalStateException(
                """
                parameter %s has no gradient to sum; run backward() of a loss that depends on \
                it on every rank first, freeze it, or use DataParallel, which takes zeros\
                """
                    .formatted(p.name())));
  }

  /**
   * Divides gradients by the number of tokens that counted on all data- and context-parallel ranks,
   * or by 1 if there was none.
   *
   * @param ownTokens tokens of this rank whose loss was not masked
   */
  public void divideByTokens(List<Parameter> parameters, int ownTokens) {
    divideByTokens(parameters, ownTokens, parameters.getFirst().masterType());
  }

  void divideByTokens(List<Parameter> parameters, int ownTokens, DType type) {
    divideByTokens(parameters, ownTokens, type, 1);
  }

  /**
   * Divides gradients by the number of tokens that counted, and by the factor that the loss was
   * multiplied by.
   */
  void divideByTokens(List<Parameter> parameters, int ownTokens, DType type, double lossScale) {
    double rest = recipe.gradientFactor(layout) / lossScale;
    try (Scratch scratch = new Scratch(torch)) {
      ProcessGroup ranks = recipe.tokenGroup(layout);
      int n = ranks.size(); // filled up with zeros: a vector that ranks can cut into equal parts
      Tensor counts =
          scratch.own(torch.from(() -> first(ownTokens, n), Shape.of(n), type, "tokens"));
      Tensor count = n == 1 ? counts : counts.view(0, Shape.of(1), "tokens");
      if (ranks.size() > 1) {
        ranks.allReduce(counts, ReduceKind.SUM);
      }
      Tensor factor =
          scratch.compute.map(
              "per-token",
              Shape.of(1),
              type,
              List.of(count),
              x -> x.get(0).maximum(1).reciprocal().mul(rest));
      scale(scratch.compute, parameters, factor);
      WorkCount.add(scratch.compute.work(), work);
    }
  }

  private static double[] first(double value, int elements) {
    double[] values = new double[elements];
    values[0] = value;
    return values;
  }

  /**
   * Shrinks all gradients by one factor so that their common norm is at most {@code most}: {@code
   * most / (norm + 1e-6)} where that is below 1. Parameters that are cut over the tensor-parallel
   * group count with all their parts, replicated ones once.
   */
  public void clip(List<Parameter> parameters, double most) {
    clip(parameters, most, Optional.empty(), parameters.getFirst().masterType()).close();
  }

  /**
   * As {@link #clip(List, double)}, with the norm.
   *
   * @param parts the group over which parameters are divided further, if they are
   * @param type in which to compute; a rank may have no parameter to tell
   * @return the square of the norm before, which the caller closes
   */
  Tensor clip(List<Parameter> parameters, double most, Optional<ProcessGroup> parts, DType type) {
    try (Scratch scratch = new Scratch(torch)) {
      Tensor square = total(scratch.compute, parameters, parts, type, "norm", x -> x.mul(x));
      scale(scratch.compute, parameters, clipFactor(scratch.compute, square, most));
      WorkCount.add(scratch.compute.work(), work);
      return scratch.release(square);
    }
  }

  /** The factor that shrinks gradients to a norm of at most {@code most}, given its square. */
  static Tensor clipFactor(Compute compute, Tensor square, double most) {
    return compute.map(
        "clip",
        Shape.of(1),
        square.dtype(),
        List.of(square),
        x -> x.get(0).sqrt().add(1e-6).rdiv(most).minimum(1));
  }

  /**
   * A sum over all elements of all gradients, those that several ranks have counted once.
   *
   * @param parts see {@link #clip}
   * @param of what an element adds
   * @return {@code [1]}, the same on all ranks of a replica
   */
  Tensor total(
      Compute compute,
      List<Parameter> parameters,
      Optional<ProcessGroup> parts,
      DType type,
      String name,
      UnaryOperator<Value> of) {
    List<Parameter> dense = parameters.stream().filter(p -> !p.sharding().ofExpert()).toList();
    Tensor total = own(compute, dense, type, name, of);
    parts.ifPresent(group -> group.allReduce(total, ReduceKind.SUM));
    if (layout.tp().size() > 1) {
      layout.tp().allReduce(total, ReduceKind.SUM);
    }
    layout
        .experts()
        .ifPresent(groups -> {
          List<Parameter> rest = parameters.stream().filter(p -> p.sharding().ofExpert()).toList();
          Tensor more = own(compute, rest, type, name, of);
          for (ProcessGroup group :
              parts.isPresent()
                  ? List.of(groups.edp(), groups.region())
                  : List.of(groups.region())) {
            if (group.size() > 1) {
              group.allReduce(more, ReduceKind.SUM);
            }
          }
          compute.mapInto(name, total, List.of(total, more), x -> x.get(0).add(x.get(1)));
        });
    recipe.stages().ifPresent(group -> group.allReduce(total, ReduceKind.SUM));
    return total;
  }

  /** 1 for what is infinite or no number, else 0. */
  static Value isUnfinite(Value x) {
    return x.sub(x).ne(0).cast(x.dtype()); // infinity less infinity is not a number
  }

  /** What this rank's parameters add. */
  private Tensor own(
      Compute compute,
      List<Parameter> parameters,
      DType type,
      String name,
      UnaryOperator<Value> of) {
    Tensor total = compute.empty(name, Shape.of(1), type);
    compute.zero(name, total);
    for (Parameter p : parameters) {
      if (!p.isFrozen() && recipe.countsInNorm(p, layout) && p.grad().isPresent()) {
        Tensor own = compute.empty(name, Shape.of(1), type);
        compute.rows(
            name,
            Math.toIntExact(p.shape().elements()),
            List.of(RowArg.rows(p.grad().get(), 1)),
            List.of(RowArg.once(own, 1)),
            (tl, x) -> List.of(of.apply(x.get(0)).sum(0).reshape(1, 1)));
        compute.mapInto(name, total, List.of(total, own), x -> x.get(0).add(x.get(1)));
      }
    }
    return total;
  }

  /** Multiplies gradients, where they lie. */
  static void scale(Compute compute, List<Parameter> parameters, Tensor factor) {
    for (Parameter p : parameters) {
      if (!p.isFrozen()) {
        p.grad().ifPresent(grad -> compute.scaleInto("scale", grad, factor));
      }
    }
  }

  /** Tensors of one call. */
  public static final class Scratch implements AutoCloseable {
    private final List<Tensor> owned = new ArrayList<>();
    public final Compute compute;

    public Scratch(Torch torch) {
      this.compute = new Compute(torch, this::own);
    }

    Tensor own(Tensor tensor) {
      owned.add(tensor);
      return tensor;
    }

    /** Leaves a tensor to somebody else. */
    Tensor release(Tensor tensor) {
      owned.remove(tensor);
      return tensor;
    }

    @Override
    public void close() {
      owned.forEach(Tensor::close);
    }
  }
}
