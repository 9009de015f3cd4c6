package org.kernbench.nn.optim;

import java.util.Collections;
import java.util.List;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/** Plain gradient descent: {@code w -= rate grad}. */
public final class Sgd extends Optimizer {
  /** An optimizer of some parameters. */
  public Sgd(Torch torch, List<Parameter> parameters, double rate) {
    super(torch, parameters, rate, List.of());
  }

  @Override
  void update(Slot slot, Tensor grad, List<Tensor> written) {
    double rate = rate();
    compute()
        .mapAllInto(
            "sgd",
            written,
            List.of(slot.master(), grad),
            List.of(),
            (tl, x) -> {
              Value change = x.get(1).cast(x.get(0).dtype()).mul(rate);
              return Collections.nCopies(written.size(), x.get(0).sub(change));
            });
  }
}
