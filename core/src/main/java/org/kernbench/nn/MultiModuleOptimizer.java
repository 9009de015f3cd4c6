package org.kernbench.nn;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.kernbench.device.Mode;
import org.kernbench.nn.Compute.BlockCopy;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.ReduceKind;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * One optimizer step of several modules in layouts of their own: gradients of all are shrunk by one
 * factor, from the norm of all of them, and either every rank changes its parameters or none does.
 *
 * <p>Each module finds the square of its own norm; the vector of these, in the order of the
 * modules' names, is made known to all ranks by their maximum, as a rank need not have every
 * module; its sum is the square of the norm. Source: {@code megatron.md} 10.4.
 */
final class MultiModuleOptimizer implements AutoCloseable {
  private final Torch torch;
  private final ProcessGroup world;
  private final SortedMap<String, Part> parts;

  /** A module's gradients and what changes its parameters. */
  record Part(DataParallel data, Optimizer optimizer) {}

  /**
   * What a step did.
   *
   * @param success whether parameters were changed; not if a gradient of any rank overflowed
   * @param norm of all gradients before they were shrunk; empty without success or without values
   * @param zeros number of gradients that are zero; empty as {@code norm}, or if not asked for
   */
  record StepResult(boolean success, OptionalDouble norm, OptionalLong zeros) {}

  /**
   * An optimizer.
   *
   * @param world all ranks of all modules
   * @param parts by module
   */
  MultiModuleOptimizer(Torch torch, ProcessGroup world, SortedMap<String, Part> parts) {
    this.torch = torch;
    this.world = world;
    this.parts = new TreeMap<>(parts);
  }

  /**
   * Shrinks gradients and changes parameters. All ranks call it.
   *
   * @param most norm that gradients are shrunk to
   * @param countZeros whether to count gradients that are zero
   */
  StepResult step(double most, boolean countZeros) {
    boolean values = torch.simulator().mode() != Mode.TIME;
    OptionalDouble norm = OptionalDouble.empty();
    OptionalLong zeros = OptionalLong.empty();
    try (GradientSync.Scratch scratch = new GradientSync.Scratch(torch)) {
      Compute compute = scratch.compute;
      Tensor overflow = total(compute, "overflow", MultiModuleOptimizer::isUnfinite);
      if (values && overflow.get(0) > 0) {
        return new StepResult(false, norm, zeros);
      }
      Tensor square = total(compute, "norm", x -> x.mul(x));
      Tensor factor = GradientSync.clipFactor(compute, square, most);
      for (Part part : parts.values()) {
        GradientSync.scale(compute, part.data.owned(), factor);
      }
      if (values) {
        norm = OptionalDouble.of(Math.sqrt(square.get(0)));
      }
      if (countZeros) {
        Tensor count = total(compute, "zeros", x -> x.eq(0).cast(x.dtype()));
        zeros = values ? OptionalLong.of((long) count.get(0)) : zeros;
      }
    }
    for (Part part : parts.values()) {
      part.optimizer.step();
      part.data.gather();
    }
    return new StepResult(true, norm, zeros);
  }

  private static Value isUnfinite(Value x) {
    return x.sub(x).ne(0).cast(x.dtype()); // infinity less infinity is not a number
  }

  /** A sum over the gradients of all modules, the same on all ranks. */
  private Tensor total(Compute compute, String name, UnaryOperator<Value> of) {
    List<BlockCopy> each = new ArrayList<>();
    for (Part part : parts.values()) {
      Tensor own = part.data.total(compute, name, of);
      each.add(new BlockCopy(own, 1, 0, 0, 1, 1, 0, each.size()));
    }
    Tensor vector =
        compute.assemble(name, 1, each.size(), each.getFirst().from().dtype(), false, each);
    if (world.size() > 1) {
      world.allReduce(vector, ReduceKind.MAX);
    }
    Tensor sum = compute.empty(name, Shape.of(1), vector.dtype());
    compute.rows(
        name,
        1,
        List.of(Compute.RowArg.rows(vector, each.size())),
        List.of(Compute.RowArg.rows(sum, 1)),
        (tl, x) -> List.of(x.get(0).sum(1).expandDims(1)));
    return sum;
  }

  @Override
  public void close() {
    parts.values().forEach(part -> part.optimizer.close());
  }
}
