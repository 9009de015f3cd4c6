package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/** Loads, or stores, of one program that are issued and not complete, oldest first. */
final class AccessList {
  private @Nullable AccessOp first;
  private @Nullable AccessOp last;

  void add(AccessOp op) {
    AccessOp l = last;
    op.before = l;
    op.after = null;
    if (l == null) {
      first = op;
    } else {
      l.after = op;
    }
    last = op;
  }

  void remove(AccessOp op) {
    AccessOp p = op.before;
    AccessOp n = op.after;
    if (p == null) {
      first = n;
    } else {
      p.after = n;
    }
    if (n == null) {
      last = p;
    } else {
      n.before = p;
    }
    op.before = null;
    op.after = null;
  }

  /** The oldest access issued before {@code op} that touches the same bytes; null if none does. */
  @Nullable AccessOp conflictWith(AccessOp op) {
    for (AccessOp m = first; m != null && m.order < op.order; m = m.after) {
      if (m.overlaps(op)) {
        return m;
      }
    }
    return null;
  }
}
