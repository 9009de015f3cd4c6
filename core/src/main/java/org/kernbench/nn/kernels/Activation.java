package org.kernbench.nn.kernels;

import org.kernbench.tl.Value;

/** Functions of each element by itself that feed-forward parts have, with their derivatives. */
public enum Activation {
  /** {@code max(x, 0)}; its derivative at 0 is 0. */
  RELU {
    @Override
    public Value of(Value x) {
      return x.relu();
    }

    @Override
    public Value derivative(Value x) {
      return x.gt(0).cast(x.dtype());
    }
  },
  /** {@code x Phi(x)}, with the error function. */
  GELU {
    @Override
    public Value of(Value x) {
      return x.gelu();
    }

    @Override
    public Value derivative(Value x) {
      Value below = x.mul(Math.sqrt(0.5)).erf().add(1).mul(0.5);
      double density = 1 / Math.sqrt(2 * Math.PI);
      return below.add(x.mul(x).mul(-0.5).exp().mul(density).mul(x));
    }
  },
  /** {@code x sigmoid(x)}. */
  SILU {
    @Override
    public Value of(Value x) {
      return x.silu();
    }

    @Override
    public Value derivative(Value x) {
      Value s = x.sigmoid();
      return x.mul(s).fma(s.rsub(1), s);
    }
  };

  /** The function. */
  public abstract Value of(Value x);

  /** Its derivative. */
  public abstract Value derivative(Value x);
}
