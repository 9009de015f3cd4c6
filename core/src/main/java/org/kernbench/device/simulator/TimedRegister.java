package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Register;

/** A value in the TCM or in a message slot of one PE in simulated time: who makes and reads it. */
final class TimedRegister implements Register {
  static final byte[] NO_DATA = new byte[0];

  /** Stands for an operand that is not there. */
  static final TimedRegister NONE = new TimedRegister(0, false);

  static {
    NONE.ready = true;
  }

  final int bytes;

  /** Whether the bytes count against the TCM of the PE. */
  final boolean inTcm;

  private byte[] data = NO_DATA;
  boolean ready;
  long readyPs;
  int producer = -1;

  /** Commands that have still to produce a part of it. */
  int producers = 1;

  int line;
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
  private @Nullable Reader waiter;

  private @Nullable Reader secondWaiter; // a message that is both passed on and stored has two

  private @Nullable List<Reader> moreWaiters;

  /** Whether the program has given it up; the CPU may not have come to that point yet. */
  boolean released;

  /** Whether the CPU has: it is dead when it exists and its readers have ended. */
  boolean dropped;

  @Nullable Slots slotQueue;
  int slot = -1;

  /** Whether its room in TCM has been taken, which is when its command is issued. */
  boolean hasRoom;

  // neighbours in the list of the program's registers that are alive
  @Nullable TimedRegister previous;
  @Nullable TimedRegister next;

  TimedRegister(int bytes, boolean inTcm) {
    this.bytes = bytes;
    this.inTcm = inTcm;
  }

  void addWaiter(Reader reader) {
    if (waiter == null) {
      waiter = reader;
    } else if (secondWaiter == null) {
      secondWaiter = reader;
    } else {
      List<Reader> more = moreWaiters;
      if (more == null) {
        more = new ArrayList<>();
        moreWaiters = more;
      }
      more.add(reader);
    }
  }

  /**
   * Tells the commands that wait for it, in the order in which they were taken; none waits then.
   */
  void tellWaiters() {
    final Reader first = waiter;
    if (first == null) {
      return;
    }
    final Reader second = secondWaiter;
    final List<Reader> more = moreWaiters;
    waiter = null;
    secondWaiter = null;
    moreWaiters = null;
    first.isThere(this);
    if (second != null) {
      second.isThere(this);
    }
    if (more != null) {
      for (Reader reader : more) {
        reader.isThere(this);
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

  @Override
  public boolean isReleased() {
    return released;
  }

  @Override
  public boolean inTcm() {
    return inTcm;
  }

  @Override
  public int line() {
    return line;
  }

  @Override
  public int bytes() {
    return bytes;
  }

  /** What the machine keeps of a value that a program names. */
  static TimedRegister of(Register named) {
    return named == Register.NONE ? NONE : (TimedRegister) named;
  }

  /** Who waits for a value: classes of one sort, so that telling them costs no look-up. */
  abstract static class Reader {
    /** A value that it waits for is there. */
    abstract void isThere(TimedRegister value);
  }

  /** The message slots that values may lie in. */
  abstract static class Slots {
    /** The array with the bytes of a slot. */
    abstract byte[] slotData(int slot);

    /** Where they begin there. */
    abstract int slotOffset(int slot);

    /** Nobody reads a slot from {@code timePs} on, now or later, when {@code op} was the last. */
    abstract void free(int slot, int op, long timePs);
  }
}
