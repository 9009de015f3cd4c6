package org.kernbench.device;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A value in the TCM or in a message slot of one PE: written once, immutable, freed after its last
 * reader.
 */
public final class Register {
  static final byte[] NO_DATA = new byte[0];

  /** Stands for an operand that is not there. */
  public static final Register NONE = new Register(0, false);

  static {
    NONE.ready = true;
  }

  final int bytes;

  /**
   * Whether the bytes count against the TCM of the PE (a zero-copy message does not: its slot was
   * reserved at install).
   */
  public final boolean inTcm;

  private byte[] data = NO_DATA;
  boolean ready;
  long readyPs;
  int producer = -1;

  /** Commands that have still to produce a part of it. */
  int producers = 1;

  public int line;
  int readers;

  /** Tasks of the tile scheduler that may still read it, although the program has released it. */
  int keepers;

  /**
   * For a product: when the array is free for the next, which may be before the sums have left it.
   */
  long occupiedUntilPs;

  /** Its storage in TCM has become that of another value. */
  boolean moved;

  /** End of the last read so far, which may lie ahead, and the operation that reads until then. */
  long lastReadPs;

  int lastReader = -1;

  /** Commands that need it and cannot start before it is ready. */
  private @Nullable Op waiter;

  private @Nullable Op secondWaiter; // a message that is both passed on and stored has two

  private @Nullable List<Op> moreWaiters;

  /** Whether the program has given it up; the CPU may not have come to that point yet. */
  boolean released;

  /** Whether the CPU has: it is dead when it exists and its readers have ended. */
  boolean dropped;

  @Nullable QueueEnd slotQueue;
  int slot = -1;

  // neighbours in the list of unreleased registers of the program
  @Nullable Register previous;
  @Nullable Register next;

  Register(int bytes, boolean inTcm) {
    this.bytes = bytes;
    this.inTcm = inTcm;
  }

  void addWaiter(Op op) {
    if (waiter == null) {
      waiter = op;
    } else if (secondWaiter == null) {
      secondWaiter = op;
    } else {
      List<Op> more = moreWaiters;
      if (more == null) {
        more = new ArrayList<>();
        moreWaiters = more;
      }
      more.add(op);
    }
  }

  /**
   * Tells the commands that wait for it, in the order in which they were taken; none waits then.
   */
  void tellWaiters() {
    final Op first = waiter;
    if (first == null) {
      return;
    }
    final Op second = secondWaiter;
    final List<Op> more = moreWaiters;
    waiter = null;
    secondWaiter = null;
    moreWaiters = null;
    first.pe.isThere(this, first);
    if (second != null) {
      second.pe.isThere(this, second);
    }
    if (more != null) {
      for (Op op : more) {
        op.pe.isThere(this, op);
      }
    }
  }

  /** A command of it ends at {@code timePs}, now or later; after the last one it is ready. */
  void produced(int op, long timePs) {
    if (--producers > 0) {
      return;
    }
    ready = true;
    readyPs = timePs;
    producer = op;
    lastReader = op; // until somebody reads it: what frees a value that nobody reads
  }

  /** Gives it the bytes that its command produced. */
  void hold(byte[] bytes) {
    data = bytes;
  }

  /** Where its bytes are: for a zero-copy message, whatever is in the slot now. */
  byte[] data() {
    return slotQueue == null ? data : slotQueue.slotData(slot);
  }

  /** Offset of its first byte in {@link #data}. */
  int dataOffset() {
    return slotQueue == null ? 0 : slotQueue.slotOffset(slot);
  }

  /** Whether the program has given it up. */
  public boolean isReleased() {
    return released;
  }

  /** Size in bytes. */
  public int bytes() {
    return bytes;
  }
}
