package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/** A send or receive: a message of one or more fragments. */
final class MessageOp extends TransferOp {
  private @Nullable QueueEnd end;

  /** A receive that leaves the message in its slot. */
  boolean inPlace;

  boolean waitsForCredit;
  int fragments;
  int fragmentsStarted;
  int fragmentsDone;
  long firstFragment;

  /** It has been added up in a switch: what comes down is the sum. */
  boolean comesDown;

  /** Of copies that a switch hands out, how many are visible, and the time of the latest. */
  int copiesDone;

  long lastCopyPs;

  long channelFreePs;
  long copiedPs;
  int slot;

  /**
   * The bytes of a message, taken when it starts: its source may be a slot that is free again when
   * it arrives.
   */
  byte[] payload = Register.NO_DATA;

  int payloadOffset;

  MessageOp(int index, TimedPe pe) {
    super(index, pe);
  }

  void goesThrough(QueueEnd queueEnd) {
    end = queueEnd;
    fragments = queueEnd.unit().fragments(bytes);
  }

  QueueEnd end() {
    QueueEnd e = end;
    if (e == null) {
      throw new IllegalStateException("operation " + id + " is not a message");
    }
    return e;
  }

  /** Bytes of fragment {@code k}. */
  int fragmentBytes(int k, long slotBytes) {
    return fragments == 1 ? bytes : (int) Math.min(slotBytes, bytes - k * slotBytes);
  }

  @Override
  void clear(ProgramContext of) {
    super.clear(of);
    end = null;
    inPlace = false;
    waitsForCredit = false;
    comesDown = false;
    copiesDone = 0;
    lastCopyPs = 0;
    fragmentsStarted = 0;
    fragmentsDone = 0;
    payload = Register.NO_DATA;
  }
}
