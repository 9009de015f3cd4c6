package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/** An in-order queue of commands in front of one or more equal channels. */
final class Engine {
  final TimedPe pe;
  final String name;

  final int channels;
  int busy;
  @Nullable Op head;
  @Nullable Op tail;

  /** When a channel was freed last, and by which operation. */
  long freedPs = -1;

  int freedBy = -1;

  // the last start, and what made it
  private long startedPs = -1;
  private Cause startedCause = Cause.KERNEL_START;
  private int startedCauseOp = -1;

  /** The product that was started last; its sums may still be in the array. */
  int lastProduct = -1;

  /** When its sums have left the array; the next product need not wait for that, MATH does. */
  long drainedPs = -1;

  /** Whether it is on the list of engines to try. */
  boolean listed;

  Engine(TimedPe pe, String name, int channels) {
    this.pe = pe;
    this.name = name;
    this.channels = channels;
  }

  void add(Op op) {
    op.next = null;
    op.engine = this;
    Op t = tail;
    if (t == null) {
      head = op;
    } else {
      t.next = op;
    }
    tail = op;
  }

  void removeHead() {
    Op h = head;
    if (h != null) {
      head = h.next;
      h.next = null;
      if (head == null) {
        tail = null;
      }
    }
  }

  /**
   * The start of an operation that could start at {@code startPs} were it not behind others in the
   * queue. One that only had to let its predecessor go first starts with it, for the same cause.
   */
  long inOrder(Op op, long startPs) {
    if (startPs >= startedPs) {
      startedPs = startPs;
      startedCause = op.cause;
      startedCauseOp = op.causeOp;
    } else {
      op.cause = startedCause;
      op.causeOp = startedCauseOp;
    }
    return startedPs;
  }

  void free(long nowPs, int op) {
    busy--;
    freedPs = nowPs;
    freedBy = op;
  }
}
