package org.kernbench.nn.optim;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.WorkCount;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Changes parameters by their gradients. Keeps a master copy in f32 (f64 for f64) of every
 * parameter of a shorter type, made when the optimizer is; so weights must be loaded before that.
 * The host fills masters and states, as it does weights: nothing is launched, and it waits only for
 * kernels under way that use the weights.
 */
public abstract sealed class Optimizer implements AutoCloseable permits Sgd, AdamW {
  private final Compute compute;
  private final List<String> states;
  private double rate;
  private @Nullable LearningRate schedule;
  private long steps;
  private final List<Slot> slots = new ArrayList<>();
  private long bytesRead;
  private long bytesWritten;

  /** A parameter, its master copy and the optimizer's own tensors for it. */
  record Slot(Parameter parameter, Tensor master, List<Tensor> state) {}

  /**
   * An optimizer.
   *
   * @param rate learning rate
   * @param states names of the tensors of the parameter's size that it keeps for each
   */
  Optimizer(Torch torch, List<Parameter> parameters, double rate, List<String> states) {
    changeRate(rate);
    this.states = List.copyOf(states);
    this.compute = new Compute(torch, t -> t);
    for (Parameter p : parameters) {
      DType type = p.masterType();
      Tensor master = p.value();
      if (p.dtype() != type) {
        master = like(torch, p, ".master", type);
        master.copyInPlace(p.value());
      }
      List<Tensor> state = new ArrayList<>();
      for (String name : states) {
        state.add(like(torch, p, "." + name, type).fillInPlace(0));
      }
      slots.add(new Slot(p, master, List.copyOf(state)));
    }
  }

  /**
   * A piece has the shape of a vector or a row, but lies as its gradient does: on all PEs that
   * compute, while its value may be a part of a whole that has few of them.
   */
  private static Tensor like(Torch torch, Parameter p, String name, DType type) {
    return lying(torch, p, name, type).heldAs(Tensor.Purpose.OPTIMIZER);
  }

  private static Tensor lying(Torch torch, Parameter p, String name, DType type) {
    if (p.whole().isEmpty()) {
      return Compute.parameter(torch, p.name() + name, p.shape(), type);
    }
    Tensor home = p.startGrad(torch);
    p.zeroGrad();
    return torch.emptyLike(home, type, p.name() + name);
  }

  /** What has been launched so far. */
  public final Map<String, WorkCount> work() {
    return compute.work();
  }

  final Compute compute() {
    return compute;
  }

  /** Changes every parameter that has a gradient and is not frozen. */
  public final void step() {
    steps++;
    if (schedule != null) {
      changeRate(schedule.of(steps));
    }
    for (Slot slot : slots) {
      Parameter p = slot.parameter;
      if (!p.isFrozen() && p.grad().isPresent()) {
        boolean keepsMaster = slot.master != p.value();
        List<Tensor> written = keepsMaster ? List.of(slot.master, p.value()) : List.of(slot.master);
        update(slot, p.grad().get(), written);
        long kept = bytes(slot.master) + slot.state.stream().mapToLong(Optimizer::bytes).sum();
        bytesRead += kept;
        bytesWritten += kept;
        if (keepsMaster) {
          bytesWritten += bytes(p.value());
        }
      }
    }
  }

  private static long bytes(Tensor tensor) {
    return tensor.shape().elements() * tensor.dtype().sizeBytes();
  }

  /**
   * Bytes that the steps so far had to read from memory whatever computes them: master copies and
   * the optimizer's own tensors. Gradients may not have left the PE.
   */
  public final long bytesRead() {
    return bytesRead;
  }

  /** Bytes that they had to write: the same, and the parameters that have master copies. */
  public final long bytesWritten() {
    return bytesWritten;
  }

  /** Learning rate of the steps to come. */
  public final double rate() {
    return rate;
  }

  /**
   * Changes the learning rate of the steps to come, unless there is a {@linkplain #follow
   * schedule}; a {@link Checkpoint} does not keep it.
   *
   * @throws IllegalArgumentException if it is negative or not finite
   */
  public final void changeRate(double next) {
    if (!(next >= 0 && next < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "learning rate " + next + "; expected a finite number, 0 or more");
    }
    rate = next;
  }

  /** Takes each step's learning rate from a schedule from now on. */
  public final void follow(LearningRate rates) {
    schedule = rates;
  }

  /** Steps taken, also before the state was {@linkplain Checkpoint loaded}. */
  public final long steps() {
    return steps;
  }

  final void continueFrom(long taken) {
    steps = taken;
  }

  /** Names of {@link Slot#state}. */
  final List<String> states() {
    return states;
  }

  final List<Slot> slots() {
    return slots;
  }

  /**
   * Changes one parameter.
   *
   * @param written the master copy and, if the parameter is another tensor, this; both get the new
   *     value, each in its type
   */
  abstract void update(Slot slot, Tensor grad, List<Tensor> written);

  /** Frees what the optimizer keeps. */
  @Override
  public final void close() {
    for (Slot slot : slots) {
      slot.state.forEach(Tensor::close);
      if (slot.master != slot.parameter.value()) {
        slot.master.close();
      }
    }
    slots.clear();
  }
}
