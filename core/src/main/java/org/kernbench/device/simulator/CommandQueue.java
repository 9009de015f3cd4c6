package org.kernbench.device.simulator;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.Cause;

/** The commands of one program stream in front of an {@link Engine}: they start in order. */
final class CommandQueue {
  final int stream;

  /** The next queue of the engine; a list, which costs a lone stream no array to go through. */
  final @Nullable CommandQueue after;

  @Nullable Op head;
  private @Nullable Op tail;

  // the last start, and what made it
  private long startedPs = -1;
  private Cause startedCause = Cause.KERNEL_START;
  private int startedCauseOp = -1;

  CommandQueue(int stream, @Nullable CommandQueue after) {
    this.stream = stream;
    this.after = after;
  }

  void add(Op op) {
    op.next = null;
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

  /** When the last command that has left the queue started; its successor is the head since. */
  long startedPs() {
    return startedPs;
  }

  /** A command has left the queue and started. */
  void served(long timePs) {
    startedPs = timePs;
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
}
