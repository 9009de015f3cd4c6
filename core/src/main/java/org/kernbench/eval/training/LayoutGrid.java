package org.kernbench.eval.training;

import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.optim.Zero;

/**
 * How ranks divide a training step, as far as one may choose it to make the step fit.
 *
 * @param zero what data-parallel ranks divide
 * @param recompute activations that are made again
 */
record LayoutGrid(int tp, int cp, int dp, int pp, Zero zero, Recompute recompute) {
  static LayoutGrid of(Setup s) {
    return new LayoutGrid(
        s.tp(), s.cp(), s.dp(), s.pipe().pp(), s.data().zero(), s.pipe().recompute());
  }

  long ranks() {
    return (long) tp * cp * dp * pp;
  }

  /**
   * How far another one is: doublings of a dimension, and a half for each step of what costs no
   * further ranks.
   */
  double distance(LayoutGrid other) {
    return doublings(tp, other.tp)
        + doublings(cp, other.cp)
        + doublings(dp, other.dp)
        + doublings(pp, other.pp)
        + Math.abs(zero.ordinal() - other.zero.ordinal()) / 2.0
        + (recompute == other.recompute ? 0 : 0.5);
  }

  private static double doublings(int a, int b) {
    return Math.abs(StrictMath.log((double) a / b)) / StrictMath.log(2);
  }

  /** As users write it; what divides nothing is left out of the second half. */
  @Override
  public String toString() {
    return "tp=%s cp=%s dp=%s pp=%s%s%s"
        .formatted(
            tp,
            cp,
            dp,
            pp,
            zero == Zero.NONE ? "" : " zero=" + zero.ordinal(),
            recompute == Recompute.NONE ? "" : " recompute=" + recompute);
  }
}
