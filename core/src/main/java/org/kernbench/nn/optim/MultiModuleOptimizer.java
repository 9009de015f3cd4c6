package org.kernbench.nn.optim;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.nn.kernels.WorkCount;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/**
 * One optimizer step of several modules in layouts of their own: gradients of all are shrunk by one
 * factor, from the norm of all of them, and either every rank changes its parameters or none does.
 *
 * <p>Each module finds the square of its own norm; the vector of these, in the order of the
 * modules' names, is made known to all ranks by their maximum, with 0 for a module that a rank does
 * not have; its sum is the square of the norm. Source: {@code docs/spec/megatron.md} 10.4.
 */
public final class MultiModuleOptimizer implements AutoCloseable {
  private final Torch torch;
  private final ProcessGroup world;
  private final SortedSet<String> modules;
  private final SortedMap<String, Part> parts;
  private final Map<String, WorkCount> shrinking = new LinkedHashMap<>();

  /** A module's gradients and what changes its parameters. */
  public record Part(DataParallel data, Optimizer optimizer) {}

  /**
   * What a step did. The host knows only what it has waited for.
   *
   * @param success whether parameters were changed; not if a gradient of any rank overflowed
   * @param norm of all gradients before they were shrunk; empty without success, or if not asked
   *     for
   * @param zeros number of gradients that are zero; empty likewise
   */
  public record StepResult(boolean success, OptionalDouble norm, OptionalLong zeros) {}

  /**
   * An optimizer of a rank that has every module.
   *
   * @param world all ranks of all modules
   * @param parts by module
   */
  public MultiModuleOptimizer(Torch torch, ProcessGroup world, SortedMap<String, Part> parts) {
    this(torch, world, parts.keySet(), parts);
  }

  /**
   * An optimizer of a rank that has some of the modules.
   *
   * @param modules names of all, the same on all ranks
   * @param parts by module, one or more of them
   */
  public MultiModuleOptimizer(
      Torch torch, ProcessGroup world, Set<String> modules, SortedMap<String, Part> parts) {
    if (parts.isEmpty() || !modules.containsAll(parts.keySet())) {
      throw new IllegalArgumentException(
          "modules %s of %s; expected one or more of them".formatted(parts.keySet(), modules));
    }
    this.torch = torch;
    this.world = world;
    this.modules = new TreeSet<>(modules);
    this.parts = new TreeMap<>(parts);
  }

  /**
   * Shrinks gradients and changes parameters, without the host's waiting for any. All ranks call
   * it.
   *
   * @param most norm that gradients are shrunk to
   * @return the square of the norm before, {@code [1]}, which the caller closes
   */
  public Tensor step(double most) {
    Tensor square;
    try (GradientSync.Scratch scratch = new GradientSync.Scratch(torch)) {
      square = scratch.release(shrink(scratch.compute, most));
      WorkCount.add(scratch.compute.work(), shrinking);
    }
    change();
    return square;
  }

  /**
   * As {@link #step}, but no rank changes anything if a gradient of any rank is infinite or no
   * number; the host waits for that. Not without values.
   */
  public StepResult stepChecked(double most) {
    double norm;
    long zeros;
    try (GradientSync.Scratch scratch = new GradientSync.Scratch(torch)) {
      Compute compute = scratch.compute;
      if (total(compute, "overflow", GradientSync::isUnfinite).get(0) > 0) {
        return new StepResult(false, OptionalDouble.empty(), OptionalLong.empty());
      }
      zeros = (long) total(compute, "zeros", x -> x.eq(0).cast(x.dtype())).get(0);
      norm = Math.sqrt(shrink(compute, most).get(0));
      WorkCount.add(compute.work(), shrinking);
    }
    change();
    return new StepResult(true, OptionalDouble.of(norm), OptionalLong.of(zeros));
  }

  /** Returns the square of the norm. */
  private Tensor shrink(Compute compute, double most) {
    Tensor square = total(compute, "norm", x -> x.mul(x));
    Tensor factor = GradientSync.clipFactor(compute, square, most);
    for (Part part : parts.values()) {
      GradientSync.scale(compute, part.data.owned(), factor);
    }
    return square;
  }

  private void change() {
    for (Part part : parts.values()) {
      part.optimizer.step();
      part.data.gather();
    }
  }

  /** As {@link Optimizer#follow}, for all modules alike. */
  public void follow(LearningRate rates) {
    parts.values().forEach(part -> part.optimizer.follow(rates));
  }

  /** As {@link Optimizer#changeRate}, for all modules alike. */
  public void changeRate(double next) {
    parts.values().forEach(part -> part.optimizer.changeRate(next));
  }

  /** As {@link Optimizer#rate}, of the first module. */
  public double rate() {
    return first().rate();
  }

  /** As {@link Optimizer#steps}: all modules step together. */
  public long steps() {
    return first().steps();
  }

  private Optimizer first() {
    return parts.values().iterator().next().optimizer;
  }

  /** As {@link Optimizer#work} and {@link DataParallel#work}, of all modules, and of clipping. */
  public Map<String, WorkCount> work() {
    Map<String, WorkCount> all = new LinkedHashMap<>(shrinking);
    for (Part part : parts.values()) {
      WorkCount.add(part.data.work(), all);
      WorkCount.add(part.optimizer.work(), all);
    }
    return all;
  }

  /** As {@link Optimizer#bytesRead}, of all modules. */
  public long bytesRead() {
    return parts.values().stream().mapToLong(part -> part.optimizer.bytesRead()).sum();
  }

  /** As {@link Optimizer#bytesWritten}. */
  public long bytesWritten() {
    return parts.values().stream().mapToLong(part -> part.optimizer.bytesWritten()).sum();
  }

  /** A sum over the gradients of all modules, the same on all ranks. */
  private Tensor total(Compute compute, String name, UnaryOperator<Value> of) {
    List<BlockCopy> each = new ArrayList<>();
    int at = 0;
    for (String module : modules) {
      Part part = parts.get(module);
      if (part != null) {
        each.add(new BlockCopy(part.data.total(compute, name, of), 1, 0, 0, 1, 1, 0, at));
      }
      at++;
    }
    boolean lacksSome = each.size() < at;
    Tensor vector = compute.assemble(name, 1, at, each.getFirst().from().dtype(), lacksSome, each);
    if (world.size() > 1) {
      world.allReduce(vector, ReduceKind.MAX);
    }
    Tensor sum = compute.empty(name, Shape.of(1), vector.dtype());
    compute.rows(
        name,
        1,
        List.of(Compute.RowArg.rows(vector, at)),
        List.of(Compute.RowArg.rows(sum, 1)),
        (tl, x) -> List.of(x.get(0).sum(1).expandDims(1)));
    return sum;
  }

  @Override
  public void close() {
    parts.values().forEach(part -> part.optimizer.close());
  }
}
