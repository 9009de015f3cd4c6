package org.kernbench.device;

import java.util.List;
import java.util.function.Consumer;

/** Work that a program has handed to the {@link TileScheduler} of its PE. */
final class ScheduledTask {
  /** The program's command; its result is the token that says when the work is done. */
  final Op command;

  final Issuer owner;

  /** Values of the owner that the work reads. */
  final List<TimedRegister> reads;

  final Consumer<PePort> body;

  /** The kernel's line that handed it over. */
  final int line;

  /** Commands that are not complete. */
  int live;

  boolean allIssued;

  // the last command to end
  private int lastOp = -1;
  private long endPs;

  ScheduledTask(
      Op command, Issuer owner, List<TimedRegister> reads, Consumer<PePort> body, int line) {
    this.command = command;
    this.owner = owner;
    this.reads = reads;
    this.body = body;
    this.line = line;
  }

  void begins(long timePs) {
    endPs = timePs;
  }

  void ended(int op, long timePs) {
    live--;
    if (timePs >= endPs) {
      endPs = timePs;
      lastOp = op;
    }
  }

  boolean isDone() {
    return allIssued && live == 0;
  }

  long endPs() {
    return endPs;
  }

  int lastOp() {
    return lastOp;
  }
}
