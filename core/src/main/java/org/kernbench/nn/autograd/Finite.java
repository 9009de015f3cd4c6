package org.kernbench.nn.autograd;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.device.Mode;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Finds infinities and NaNs: of parameters where a program asks for it, or of every operation of a
 * graph with {@link Graph#withAnomalyDetection}. It reads tensors, so the host waits for them; in
 * mode {@code time} there are no values, and nothing is found.
 */
public final class Finite {
  /** Finds nothing. */
  static final Finite NOT_LOOKED_FOR = new Finite(false);

  private final boolean looks;

  private Finite(boolean looks) {
    this.looks = looks;
  }

  static Finite of(Torch torch) {
    return new Finite(torch.simulator().mode() != Mode.TIME);
  }

  /**
   * Looks at the values of parameters and at the gradients that they have, in order.
   *
   * @throws NotFiniteException that names the first tensor with an infinity or a NaN
   */
  public static void check(Torch torch, List<Parameter> parameters) {
    Finite finite = of(torch);
    for (Parameter p : parameters) {
      finite.check("the value of " + p.name(), p.value());
      p.grad().ifPresent(g -> finite.check("the gradient of " + p.name(), g));
    }
  }

  private void check(String what, Tensor tensor) {
    found(tensor)
        .ifPresent(where -> {
          throw new NotFiniteException(what + where + "; expected finite numbers");
        });
  }

  /** Looks at the result of an operation, and if it is not finite, at what it was made of. */
  void result(Variable result, List<Variable> operands) {
    Optional<String> where = found(result.value());
    if (where.isEmpty()) {
      return;
    }
    String name = result.value().name();
    for (Variable operand : operands) {
      if (!operand.isForgotten()) {
        String what = "operand " + operand.value().name() + " of " + name;
        check(what, operand.value());
      }
    }
    throw new NotFiniteException(
        "the result " + name + where.get() + ", though all its operands are finite");
  }

  /** Looks at a gradient that has been found for a variable. */
  void gradient(String place, Variable of, Tensor grad) {
    found(grad)
        .ifPresent(where -> {
          throw new NotFiniteException(
              "the gradient " + grad.name() + " of " + of.name() + where + ", found at " + place);
        });
  }

  /** Where a tensor is not finite, for a message; empty if it is. */
  private Optional<String> found(Tensor tensor) {
    if (!looks || !tensor.dtype().isFloatingPoint() || tensor.shape().elements() == 0) {
      return Optional.empty();
    }
    double[] values = tensor.toDoubles();
    long wrong = Arrays.stream(values).filter(v -> !Double.isFinite(v)).count();
    for (int i = 0; i < values.length && wrong > 0; i++) {
      if (!Double.isFinite(values[i])) {
        String rest = wrong == 1 ? "" : " and at " + (wrong - 1) + " more";
        return Optional.of(
            " " + tensor.shape() + " is " + values[i] + " at " + at(i, tensor.shape()) + rest);
      }
    }
    return Optional.empty();
  }

  private static String at(int element, Shape shape) {
    int[] index = new int[shape.rank()];
    int rest = element;
    for (int axis = index.length - 1; axis >= 0; axis--) {
      index[axis] = rest % shape.dim(axis);
      rest /= shape.dim(axis);
    }
    return Arrays.toString(index);
  }
}
