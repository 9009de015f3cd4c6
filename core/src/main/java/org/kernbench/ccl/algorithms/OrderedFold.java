package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.Reduction;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * Combines one value of each of {@code n} places, in whatever order they come, always in the same
 * association: pairs of neighbours, then pairs of pairs.
 *
 * <p>Why: on a ring every rank sees the contributions in another rotation. Adding them as they come
 * would round differently on each rank; with this all ranks have the same bits. A value is combined
 * as soon as its sibling is there, so that of {@code n - 1} combinations at most {@code ceil(log2
 * n)} wait for the last value, and few values are held.
 */
final class OrderedFold {
  private final Tl tl;
  private final Reduction reduction;
  private final List<@Nullable Value[]> waiting = new ArrayList<>();
  private @Nullable Value result;

  OrderedFold(Tl tl, Reduction reduction, int places) {
    this.tl = tl;
    this.reduction = reduction;
    for (int width = places; width > 1; width = Math.ceilDiv(width, 2)) {
      waiting.add(new Value[width]);
    }
  }

  /** Adds the value of a place; it is given up as soon as it is combined. */
  void put(int place, Value value) {
    Value sum = value;
    int at = place;
    for (@Nullable Value[] level : waiting) {
      int sibling = at ^ 1;
      if (sibling < level.length) {
        Value other = level[sibling];
        if (other == null) {
          level[at] = sum;
          return;
        }
        level[sibling] = null;
        sum = at < sibling ? reduction.fold(tl, sum, other) : reduction.fold(tl, other, sum);
      }
      at /= 2;
    }
    result = sum;
  }

  /** All combined; every place has been put. */
  Value result() {
    Value all = result;
    if (all == null) {
      throw new IllegalStateException("a contribution is missing");
    }
    return all;
  }
}
