package org.kernbench.nn;

import java.util.List;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/** Plain gradient descent: {@code w -= rate grad}. */
public final class Sgd extends Optimizer {
  private final double rate;

  /** An optimizer of some parameters. */
  public Sgd(Torch torch, List<Parameter> parameters, double rate) {
    super(torch, parameters, List.of());
    this.rate = rate;
  }

  @Override
  void update(Slot slot, Tensor grad) {
    compute()
        .mapInto(
            "sgd",
            slot.master(),
            List.of(slot.master(), grad),
            x -> x.get(0).sub(x.get(1).mul(rate)));
  }
}
