package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/** Loads, or stores, of one program that are issued and not complete, oldest first. */
final class AccessList {
  private @Nullable Op first;
  private @Nullable Op last;

  void add(Op op) {
    Op l = last;
    op.previousMemory = l;
    op.nextMemory = null;
    if (l == null) {
      first = op;
    } else {
      l.nextMemory = op;
    }
    last = op;
  }

  void remove(Op op) {
    Op p = op.previousMemory;
    Op n = op.nextMemory;
    if (p == null) {
      first = n;
    } else {
      p.nextMemory = n;
    }
    if (n == null) {
      last = p;
    } else {
      n.previousMemory = p;
    }
    op.previousMemory = null;
    op.nextMemory = null;
  }

  /** The oldest access issued before {@code op} that touches the same bytes; null if none does. */
  @Nullable Op conflictWith(Op op) {
    for (Op m = first; m != null && m.memoryOrder < op.memoryOrder; m = m.nextMemory) {
      if (m.overlaps(op)) {
        return m;
      }
    }
    return null;
  }
}
