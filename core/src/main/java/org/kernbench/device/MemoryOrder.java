package org.kernbench.device;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.OpKind;

/**
 * The order of the loads and stores of one PE: those that touch the same bytes, one of them to
 * write, happen in the order in which they were issued.
 */
final class MemoryOrder {
  private final UnderWay loads = new UnderWay();
  private final UnderWay stores = new UnderWay();
  private long issued;

  /** An access is issued. */
  void add(AccessOp op) {
    op.order = issued++;
    (op.kind == OpKind.LOAD ? loads : stores).add(op);
  }

  /** It has ended. */
  void ended(AccessOp op) {
    (op.kind == OpKind.LOAD ? loads : stores).remove(op);
  }

  /**
   * Whether no earlier access to the same bytes is under way; looks again only after the one that
   * was found has ended.
   */
  boolean admits(AccessOp op) {
    if (op.blocker >= 0 && op.unblockedPs < 0) {
      return false;
    }
    AccessOp conflict = stores.conflictWith(op);
    if (conflict == null && op.kind == OpKind.STORE) {
      conflict = loads.conflictWith(op);
    }
    if (conflict != null) {
      op.blocker = conflict.id;
      op.unblockedPs = -1;
    }
    return conflict == null;
  }

  /** Loads, or stores, that are issued and not complete, oldest first. */
  private static final class UnderWay {
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

    /**
     * The oldest access issued before {@code op} that touches the same bytes; null if none does.
     */
    @Nullable AccessOp conflictWith(AccessOp op) {
      for (AccessOp m = first; m != null && m.order < op.order; m = m.after) {
        if (m.overlaps(op)) {
          return m;
        }
      }
      return null;
    }
  }
}
