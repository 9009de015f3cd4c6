package org.kernbench.nn.optim;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Adam with decoupled weight decay (Loshchilov and Hutter 2019), with bias correction: {@code w -=
 * rate (m' / (sqrt(v') + epsilon) + decay w)}. Vectors (biases, norms) do not decay.
 */
public final class AdamW extends Optimizer {
  private final Settings settings;

  /**
   * Constants of the method.
   *
   * @param rate learning rate, until it is {@linkplain Optimizer#changeRate changed}
   * @param beta1 decay of the mean of gradients
   * @param beta2 decay of the mean of their squares
   * @param epsilon keeps the divisor above zero
   * @param decay of weights, per step and rate
   */
  public record Settings(double rate, double beta1, double beta2, double epsilon, double decay) {
    /** The usual ones: 0.9, 0.999, 1e-8, decay 0.01. */
    public static Settings of(double rate) {
      return new Settings(rate, 0.9, 0.999, 1e-8, 0.01);
    }
  }

  /** An optimizer of some parameters. */
  public AdamW(Torch torch, List<Parameter> parameters, Settings settings) {
    super(torch, parameters, settings.rate, List.of("mean", "square"));
    this.settings = settings;
  }

  @Override
  void update(Slot slot, Tensor grad, List<Tensor> written) {
    Settings s = settings;
    double correct1 = 1 - StrictMath.pow(s.beta1, steps());
    double correct2 = 1 - StrictMath.pow(s.beta2, steps());
    double rate = rate();
    double decay = slot.parameter().shape().rank() > 1 ? s.decay : 0;
    List<Tensor> out = new ArrayList<>(written);
    out.addAll(slot.state());
    DType working = Compute.working(slot.master().dtype());
    compute()
        .mapAllInto(
            "adam",
            out,
            List.of(slot.master(), slot.state().get(0), slot.state().get(1), grad),
            List.of(s.beta1, s.beta2, 1 / Math.sqrt(correct2), s.epsilon, 1 - rate * decay),
            (tl, x) -> {
              Value g = x.get(3).cast(working);
              Value m = x.get(1).fma(x.get(4), g.mul(1 - s.beta1));
              Value v = x.get(2).fma(x.get(5), g.mul(g).mul(1 - s.beta2));
              Value root = v.sqrt().fma(x.get(6), x.get(7));
              Value next = x.get(0).fma(x.get(8), m.mul(-rate / correct1).div(root));
              List<Value> made = new ArrayList<>(Collections.nCopies(written.size(), next));
              made.add(m);
              made.add(v);
              return made;
            });
  }
}
