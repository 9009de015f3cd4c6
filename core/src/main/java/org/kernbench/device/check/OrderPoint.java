package org.kernbench.device.check;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The end of something that a program did, and what was over before it began: a node of the order
 * that {@link Checker} knows. What is not reachable backwards may happen at the same time on some
 * machine, whatever it did on this one.
 */
final class OrderPoint {
  private static final OrderPoint[] NOTHING = new OrderPoint[0];

  /** Who did it; null for what belongs to a queue. */
  final @Nullable CheckedProgram program;

  /** Its place among the commands of the program. */
  final long sequence;

  /** The composite that it is a part of; null for a command of a kernel. */
  final @Nullable OrderPoint task;

  /** When it was seen to end, as a number of the checker; -1 before, or if nobody looks. */
  long number = -1;

  /** The last search that came by. */
  long visited;

  private OrderPoint[] after = NOTHING;
  private int count;

  OrderPoint(@Nullable CheckedProgram program, long sequence, @Nullable OrderPoint task) {
    this.program = program;
    this.sequence = sequence;
    this.task = task;
  }

  /** It began when {@code other} was over; null says nothing. */
  void after(@Nullable OrderPoint other) {
    if (other == null || other == this) {
      return;
    }
    for (int i = Math.max(0, count - 8); i < count; i++) {
      if (after[i] == other) {
        return;
      }
    }
    if (count == after.length) {
      after = Arrays.copyOf(after, Math.max(2, count * 2));
    }
    after[count++] = other;
  }

  int causes() {
    return count;
  }

  OrderPoint cause(int i) {
    return after[i];
  }

  /** Everything later is ordered after it by other means. */
  void forgetCauses() {
    after = NOTHING;
    count = 0;
  }
}
