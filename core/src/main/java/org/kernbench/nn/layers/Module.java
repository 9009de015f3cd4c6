package org.kernbench.nn.layers;

import java.util.List;
import org.kernbench.nn.autograd.Parameter;

/**
 * A part of a model ({@code nn.Module} of PyTorch): it has {@link Parts}, and computes with a
 * method of its own, usually {@code forward(Graph, Variable)}.
 */
public interface Module {
  /** Its parameters and further parts. */
  Parts parts();

  /** All parameters, own ones first, then those of the parts in the order of adding. */
  default List<Parameter> parameters() {
    return parts().parameters();
  }

  /** Forgets all gradients. */
  default void zeroGrad() {
    parameters().forEach(Parameter::zeroGrad);
  }

  /** Freezes or thaws all parameters. */
  default void freeze(boolean freeze) {
    parameters().forEach(p -> p.freeze(freeze));
  }
}
