package org.kernbench.nn.autograd;

import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/** Some queries and some keys, and the mask between them. */
record MaskedTile(Positions q, int row, int rows, Positions k, int key, int keys) {
  /** Whether a query sees a key; of queries that are no neighbours, whether one might. */
  boolean seesAny() {
    int latest = Integer.MIN_VALUE;
    int from = Integer.MAX_VALUE;
    for (int i = row; i < row + rows; i++) {
      latest = Math.max(latest, q.host()[i]);
      from = Math.min(from, q.from(i));
    }
    for (int j = key; j < key + keys; j++) {
      if (k.host()[j] <= latest && k.host()[j] >= from) {
        return true;
      }
    }
    return false;
  }

  /** Whether every query sees every key. */
  boolean seesAll() {
    int earliest = Integer.MAX_VALUE;
    int from = Integer.MIN_VALUE;
    for (int i = row; i < row + rows; i++) {
      earliest = Math.min(earliest, q.host()[i]);
      from = Math.max(from, q.from(i));
    }
    for (int j = key; j < key + keys; j++) {
      if (k.host()[j] > earliest || k.host()[j] < from) {
        return false;
      }
    }
    return true;
  }

  /** Positions of the keys. */
  Value keysAt(Tl tl) {
    return at(tl, k, key, keys);
  }

  private static Value at(Tl tl, Positions p, int row, int count) {
    return tl.load(tl.whole(p.device()).range(row, count));
  }

  /** Scores, {@code -inf} where the mask hides the key. */
  Value masked(Tl tl, Value scores) {
    if (seesAll()) {
      return scores;
    }
    Value queryAt = at(tl, q, row, rows).reshape(rows, 1);
    Value keyAt = keysAt(tl).reshape(1, keys);
    Value past = tl.where(keyAt.le(queryAt), scores, Double.NEGATIVE_INFINITY);
    if (q.from().isEmpty()) {
      return past;
    }
    Value from = at(tl, q.from().orElseThrow(), row, rows).reshape(rows, 1);
    return tl.where(keyAt.ge(from), past, Double.NEGATIVE_INFINITY);
  }
}
