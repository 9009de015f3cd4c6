package org.kernbench.device.simulator;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.Watch;
import org.kernbench.device.log.OpKind;

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
  byte[] payload = TimedRegister.NO_DATA;

  int payloadOffset;

  MessageOp(int index, ProcessingElement pe) {
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
  void tells(Watch watch, long endPs) {
    if (kind() == OpKind.SEND) {
      watch.arrived(issuer().port(), end().id, bytes, line, endPs);
    }
  }

  @Override
  void injected(long timePs) {
    end().unit().injected(this, timePs);
  }

  @Override
  void delivered(World here, long timePs) {
    if (kind() == OpKind.SEND) {
      end().unit().arrived(this, timePs);
    } else {
      end().unit().copied(this, timePs);
    }
  }

  @Override
  void clear(Issuer of) {
    super.clear(of);
    end = null;
    inPlace = false;
    waitsForCredit = false;
    comesDown = false;
    copiesDone = 0;
    lastCopyPs = 0;
    fragmentsStarted = 0;
    fragmentsDone = 0;
    payload = TimedRegister.NO_DATA;
  }
}
