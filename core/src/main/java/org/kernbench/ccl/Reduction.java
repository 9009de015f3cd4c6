package org.kernbench.ccl;

import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.ReduceKind;

/**
 * How contributions become a result: {@link #combine} pairs of them, then {@link #finish} once.
 *
 * @param kind the operation
 * @param ranks how many contributions there are
 */
public record Reduction(ReduceKind kind, int ranks) {
  /** The two combined; neither is given up. */
  public Value combine(Value a, Value b) {
    return switch (kind) {
      case SUM, AVG -> a.add(b);
      case PRODUCT -> a.mul(b);
      case MIN -> a.minimum(b);
      case MAX -> a.maximum(b);
    };
  }

  /** The two combined; both are given up, so that their storage, or slot, is free right after. */
  public Value fold(Tl tl, Value a, Value b) {
    Value sum = combine(a, b);
    tl.release(a);
    tl.release(b);
    return sum;
  }

  /**
   * The result from all contributions combined, which are given up. Only an average has work left;
   * an average of integers is cut towards zero.
   */
  public Value finish(Tl tl, Value all) {
    if (kind != ReduceKind.AVG) {
      return all;
    }
    Value mean = all.div(ranks);
    tl.release(all);
    return mean;
  }
}
