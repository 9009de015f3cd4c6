package org.kernbench.nn.optim;

import java.util.List;
import org.kernbench.nn.autograd.Parameter;
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
  void update(Slot slot, Tensor grad) {
    Settings s = settings;
    Tensor m = slot.state().get(0);
    Tensor v = slot.state().get(1);
    compute()
        .mapInto(
            "adam-mean",
            m,
            List.of(m, grad),
            x -> x.get(0).mul(s.beta1).add(x.get(1).mul(1 - s.beta1)));
    compute()
        .mapInto(
            "adam-square",
            v,
            List.of(v, grad),
            x -> x.get(0).mul(s.beta2).add(x.get(1).mul(x.get(1)).mul(1 - s.beta2)));
    double correct1 = 1 - Math.pow(s.beta1, steps());
    double correct2 = 1 - Math.pow(s.beta2, steps());
    double rate = rate();
    double decay = slot.parameter().shape().rank() > 1 ? s.decay : 0;
    compute()
        .mapInto(
            "adam",
            slot.master(),
            List.of(slot.master(), m, v),
            x -> {
              var mean = x.get(1).mul(1 / correct1);
              var root = x.get(2).mul(1 / correct2).sqrt().add(s.epsilon);
              var change = mean.div(root).add(x.get(0).mul(decay));
              return x.get(0).sub(change.mul(rate));
            });
  }
}
