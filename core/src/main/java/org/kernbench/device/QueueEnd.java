package org.kernbench.device;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Pe;

/**
 * One direction of one PE: the ring it receives into, and its view of the credits for the peer's ring.
 *
 * <p>Fragment number {@code k} travels in slot {@code k mod slots} of the receiver. The sender may use the slot when its credit is back;
 * the receiver sees the fragment when data and metadata have both been written, which is one step ({@link #deliver}).
 */
final class QueueEnd {
  static final long NEVER = Long.MAX_VALUE;

  final int id;
  final int peIndex;
  final Pe pe;
  final String direction;
  final int ordinal;
  final int slots;
  @Nullable QueueEnd peer;

  /** The message channel that serves sends, and the in-order queue of receives. */
  @Nullable Engine channel;

  @Nullable Engine receiver;

  /** Route of the data towards the peer, and back-of-the-envelope latencies that depend on it. */
  Route out = Route.EMPTY;

  long creditLatencyPs;

  /** For slots in SRAM or HBM: how the owner of this end reads its own slots. */
  Route slotRead = Route.EMPTY;

  long slotReadRequestPs;

  // towards the peer
  /** Slots of the peer's ring that this end has filled and not got back. */
  int slotsInUse;

  long sent;
  final long[] creditPs;
  final int[] creditOp;

  // from the peer
  long taken;
  final long[] visiblePs;
  final int[] visibleOp;
  final int[] visibleBytes;
  final boolean[] lastFragment;
  private final byte[] @Nullable [] data;
  private final int[] dataOffset;

  int slotsInUsePeak;

  /** A message that has started and has fragments to go; its channel is held meanwhile. */
  @Nullable Op sending;

  /** A receive that has taken fragments and waits for the next. */
  @Nullable Op receiving;

  /** When the last serial slot write ends. */
  long writeFreePs;

  QueueEnd(int id, int peIndex, Pe pe, String direction, int ordinal, int slots) {
    this.id = id;
    this.peIndex = peIndex;
    this.pe = pe;
    this.direction = direction;
    this.ordinal = ordinal;
    this.slots = slots;
    this.creditPs = new long[slots];
    this.creditOp = new int[slots];
    this.visiblePs = new long[slots];
    this.visibleOp = new int[slots];
    this.visibleBytes = new int[slots];
    this.lastFragment = new boolean[slots];
    this.data = new byte[slots][];
    this.dataOffset = new int[slots];
    Arrays.fill(creditOp, -1);
    Arrays.fill(visiblePs, NEVER);
  }

  Engine channel() {
    return Objects.requireNonNull(channel);
  }

  Engine receiver() {
    return Objects.requireNonNull(receiver);
  }

  QueueEnd peer() {
    QueueEnd p = peer;
    if (p == null) {
      throw new IllegalStateException("queue " + direction + " of " + pe + " has no peer");
    }
    return p;
  }

  boolean hasCredit() {
    return creditPs[(int) (sent % slots)] != NEVER;
  }

  /** Takes the credit for the next fragment and returns the slot it will travel in. */
  int takeCredit() {
    int slot = (int) (sent++ % slots);
    creditPs[slot] = NEVER;
    slotsInUse++;
    slotsInUsePeak = Math.max(slotsInUsePeak, slotsInUse);
    return slot;
  }

  void returnCredit(int slot, long nowPs) {
    creditPs[slot] = nowPs;
    slotsInUse--;
  }

  /** Data and metadata of a fragment become visible together. */
  void deliver(int slot, long nowPs, int op, int bytes, boolean last) {
    visiblePs[slot] = nowPs;
    visibleOp[slot] = op;
    visibleBytes[slot] = bytes;
    lastFragment[slot] = last;
  }

  boolean hasMessage() {
    return visiblePs[(int) (taken % slots)] != NEVER;
  }

  /** Takes the next fragment and returns its slot, which stays occupied until the credit is sent. */
  int take() {
    int slot = (int) (taken++ % slots);
    visiblePs[slot] = NEVER;
    return slot;
  }

  /**
   * Puts a fragment into a slot. The bytes are those of the sender's value, not a copy: a register is written once, so nothing can
   * change them, and a message forwarded out of a slot that is free again keeps its own.
   */
  void put(int slot, byte[] bytes, int offset) {
    data[slot] = bytes;
    dataOffset[slot] = offset;
  }

  byte[] data(int slot) {
    return Objects.requireNonNull(data[slot], "nothing was put into the slot");
  }

  int dataOffset(int slot) {
    return dataOffset[slot];
  }

  @Override
  public String toString() {
    return pe + "." + direction;
  }
}
