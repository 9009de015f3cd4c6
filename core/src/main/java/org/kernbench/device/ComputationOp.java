package org.kernbench.device;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.ComputeOp;

/** A command for an engine that computes. */
final class ComputationOp extends Op {
  private @Nullable ComputeOp what;

  /** Where in the second and third operand its bytes begin. */
  int bOffset;

  int cOffset;

  /** What it computes, in the op log's list. */
  int work;

  /** When its engine is free for the next. */
  long engineFreePs;

  ComputationOp(int index, ProcessingElement pe) {
    super(index, pe);
  }

  void computes(ComputeOp computation) {
    what = computation;
  }

  ComputeOp what() {
    ComputeOp w = what;
    if (w == null) {
      throw new IllegalStateException("operation " + id + " computes nothing");
    }
    return w;
  }

  @Override
  void clear(Issuer of) {
    super.clear(of);
    what = null;
    work = 0;
  }
}
