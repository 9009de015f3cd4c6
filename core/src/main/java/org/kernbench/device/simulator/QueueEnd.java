package org.kernbench.device.simulator;

import java.util.function.IntUnaryOperator;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.reuse.MemoQueues;
import org.kernbench.machine.Pe;

/**
 * One direction of one PE: the ring it receives into, and its view of the credits for the peer's
 * ring.
 *
 * <p>Fragment number {@code k} travels in slot {@code k mod slots} of the receiver. The sender may
 * use the slot from the time its credit is back; the receiver sees the fragment when data and
 * metadata have both been written, which is one step ({@link #deliver}).
 */
final class QueueEnd extends TimedRegister.Slots implements MemoQueues.End {
  static final long NEVER = Long.MAX_VALUE;

  // a slot number's record: four longs, so that a message touches one cache line at each end
  private static final int STRIDE = 4;
  private static final int CREDIT_PS = 0; // of the peer's slot
  private static final int VISIBLE_PS = 1; // of the own slot
  private static final int OPS = 2; // that freed the peer's slot, that filled the own one
  private static final int BYTES = 3; // of the fragment in the own slot; negative if more follow
  private static final long LOW = 0xFFFF_FFFFL;

  final int id;
  final int peIndex;
  final Pe pe;
  final String direction;

  /** The PE at the other end. */
  final Pe peerPe;

  /** Its place among those of the PE, which decides on the message channel that it shares. */
  final int ordinal;

  final int slots;
  private final long[] ring;

  @Nullable QueueEnd peer;

  /** The set of queues that it belongs to. */
  @Nullable MessageUnit unit;

  /** The message channel that serves sends, and the in-order queue of receives. */
  @Nullable Engine channel;

  @Nullable Engine receiver;

  /** The way of the data to the peer's slots, and the time a credit takes back to the peer. */
  FabricRoute out = FabricRoute.EMPTY;

  /** The way of a switch's sums to the slots of this end. */
  FabricRoute down = FabricRoute.EMPTY;

  long creditLatencyPs;

  /** For slots in SRAM or HBM: how the owner of this end reads its own slots. */
  FabricRoute slotRead = FabricRoute.EMPTY;

  long slotReadRequestPs;

  // fragments sent to the peer, and the place in the ring of the slot for the next; places are kept
  // beside the counts, for a division by the number of slots takes longer than all else
  private long sent;
  private int sentAt;

  /** The place in the ring of the slot that is taken next. */
  private int takenAt;

  private long delivered;

  // how many slots of the peer were in use when each fragment started, which is known when it is
  // known which credits were back by then, often only later: fragments looked at so far; the oldest
  // whose credit was not back when the last of them started; the places of these in the ring; by
  // slot, the start of the fragment that took it last. Until all have been in use at once
  private long counted;
  private int countedAt;
  private long oldestOut;
  private int oldestOutAt;
  private final long[] startsPs;
  private int slotsInUsePeak;

  /** Whether a send was not started because no credit was there. */
  boolean creditWanted;

  /** Where what is sent here is added up, and as which member; null if it goes to a peer. */
  MessageUnit.@Nullable Station station;

  int member;

  /** A message that has started and has fragments to go; its channel is held meanwhile. */
  @Nullable MessageOp sending;

  /** Fragments of the messages that the program has asked for. */
  private long asked;

  /** A program that waits for a message here or elsewhere. */
  @Nullable Issuer selecting;

  /** A receive that has taken fragments and waits for the next. */
  @Nullable MessageOp receiving;

  /** When the last serial slot write ends, and which fragment of which operation it wrote. */
  long writeFreePs;

  int writtenBy = -1;
  int writtenNumber;

  private final byte[][] slotData;
  private final int[] slotOffset;

  QueueEnd(int id, int peIndex, Pe pe, String direction, Pe peerPe, int ordinal, int slots) {
    this.id = id;
    this.peIndex = peIndex;
    this.pe = pe;
    this.direction = direction;
    this.peerPe = peerPe;
    this.ordinal = ordinal;
    this.slots = slots;
    this.ring = new long[slots * STRIDE];
    this.startsPs = new long[slots];
    this.slotData = new byte[slots][];
    this.slotOffset = new int[slots];
    for (int s = 0; s < slots; s++) {
      slotData[s] = TimedRegister.NO_DATA;
      ring[s * STRIDE + VISIBLE_PS] = NEVER;
      ring[s * STRIDE + OPS] = LOW << 32;
    }
  }

  /** Whether anything can go through it; programs do not know one through which nothing can. */
  boolean isUsed() {
    return !direction.equals(QueuePlan.Connection.NONE);
  }

  @Override
  public int peIndex() {
    return peIndex;
  }

  @Override
  public Engine channel() {
    return present(channel);
  }

  @Override
  public Engine receiver() {
    return present(receiver);
  }

  QueueEnd peer() {
    return present(peer);
  }

  MessageUnit unit() {
    return present(unit);
  }

  private <T> T present(@Nullable T part) {
    if (part == null) {
      throw new IllegalStateException("bug: queue " + this + " is not connected");
    }
    return part;
  }

  // ---- towards the peer ----

  private int next(int at) {
    return at + STRIDE == ring.length ? 0 : at + STRIDE;
  }

  /**
   * Whether it is known when the next slot will be free; if not, the sender's channel is to be
   * tried again when it is.
   */
  boolean findsCredit() {
    boolean found = hasCredit();
    creditWanted |= !found;
    return found;
  }

  /** Whether it is known when the next slot will be free. */
  boolean hasCredit() {
    return ring[sentAt + CREDIT_PS] != NEVER;
  }

  /** When the credit for the next slot is, or will be, here. */
  long creditPs() {
    return ring[sentAt + CREDIT_PS];
  }

  /** The operation that freed the next slot; -1 if it was never used. */
  int creditOp() {
    return (int) (ring[sentAt + OPS] >> 32);
  }

  @Override
  public long fragmentsSent() {
    return sent;
  }

  /** Uses the credit for the next fragment, which starts at {@code startPs}. */
  void takeCredit(long startPs) {
    if (slotsInUsePeak < slots) {
      countSlots();
      startsPs[sentAt / STRIDE] = startPs;
      if (counted == sent && isCountable(startPs)) {
        count();
      }
    }
    ring[sentAt + CREDIT_PS] = NEVER;
    sentAt = next(sentAt);
    sent++;
  }

  /** Looks at the fragments that have started, as far as it is known. */
  private void countSlots() {
    while (counted < sent && isCountable(startsPs[countedAt / STRIDE])) {
      count();
    }
  }

  /** Whether it is known which credits were back when the next fragment to look at started. */
  private boolean isCountable(long startPs) {
    while (oldestOut < counted && ring[oldestOutAt + CREDIT_PS] <= startPs) {
      oldestOut++;
      oldestOutAt = next(oldestOutAt);
    }
    return oldestOut == counted || ring[oldestOutAt + CREDIT_PS] != NEVER;
  }

  private void count() {
    counted++;
    countedAt = next(countedAt);
    slotsInUsePeak = (int) Math.max(slotsInUsePeak, counted - oldestOut);
  }

  /**
   * Most slots of the peer that were in use at once: filled, or their credit under way, or between
   * two such; for a ring has to have room for all of these.
   */
  int slotsInUsePeak() {
    if (slotsInUsePeak == slots) {
      return slots;
    }
    countSlots();
    // what is left has started while the oldest was out, whose credit has not set out yet
    return counted == sent ? slotsInUsePeak : (int) Math.max(slotsInUsePeak, sent - oldestOut);
  }

  /** Slots of the peer that this end may not use at a time. */
  int slotsInUse(long timePs) {
    int used = 0;
    for (int i = CREDIT_PS; i < ring.length; i += STRIDE) {
      if (ring[i] > timePs) {
        used++;
      }
    }
    return used;
  }

  /** The peer has freed a slot; the credit arrives at {@code arrivalPs}. */
  void returnCredit(int slot, long arrivalPs, int byOp) {
    int at = slot * STRIDE;
    ring[at + CREDIT_PS] = arrivalPs;
    ring[at + OPS] = ((long) byOp << 32) | (ring[at + OPS] & LOW);
  }

  // ---- from the peer ----

  /** Data and metadata of a fragment become visible together. */
  void deliver(int slot, long nowPs, int op, int bytes, boolean last) {
    delivered++;
    int at = slot * STRIDE;
    ring[at + VISIBLE_PS] = nowPs;
    ring[at + OPS] = (ring[at + OPS] & (LOW << 32)) | (op & LOW);
    ring[at + BYTES] = last ? bytes : ~bytes;
  }

  /** The program asks for the next message. */
  void ask(int fragments) {
    asked += fragments;
  }

  /** When the next message that nobody has asked for begins to be visible; NEVER if not known. */
  long unaskedPs() {
    return delivered > asked ? ring[(int) (asked % slots) * STRIDE + VISIBLE_PS] : NEVER;
  }

  /** The send of that message. */
  int unaskedOp() {
    return (int) ring[(int) (asked % slots) * STRIDE + OPS];
  }

  /** Fragments that the peer has sent and this end has, or had. */
  @Override
  public long fragmentsDelivered() {
    return delivered;
  }

  boolean hasMessage() {
    return ring[takenAt + VISIBLE_PS] != NEVER;
  }

  long visiblePs() {
    return ring[takenAt + VISIBLE_PS];
  }

  /** The send that filled the next slot. */
  int visibleOp() {
    return (int) ring[takenAt + OPS];
  }

  int visibleBytes() {
    long bytes = ring[takenAt + BYTES];
    return (int) (bytes < 0 ? ~bytes : bytes);
  }

  boolean isLastFragment() {
    return ring[takenAt + BYTES] >= 0;
  }

  /**
   * Takes the next fragment and returns its slot, which stays occupied until the credit is sent.
   */
  int take() {
    int at = takenAt;
    ring[at + VISIBLE_PS] = NEVER;
    takenAt = next(at);
    return at / STRIDE;
  }

  // ---- as what came of messages is used again ----

  /**
   * Whether nothing of this end is under way but credits, nothing waits in its slots and nobody for
   * it.
   */
  boolean isAtRest(long nowPs) {
    if (sent != peer().delivered
        || asked != delivered
        || sending != null
        || receiving != null
        || selecting != null
        || creditWanted
        || writeFreePs > nowPs) {
      return false;
    }
    for (int at = 0; at < ring.length; at += STRIDE) {
      if (ring[at + CREDIT_PS] == NEVER || ring[at + VISIBLE_PS] != NEVER) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void say(LongConsumer word, long nowPs) {
    for (int next = 0; next < slots; next++) {
      long left = ring[before(slots - next) + CREDIT_PS] - nowPs;
      if (left > 0) {
        word.accept(next);
        word.accept(left);
      }
    }
    word.accept(-1);
  }

  @Override
  public MemoQueues.@Nullable Passage passage(
      int sentSince, int deliveredSince, long sincePs, IntUnaryOperator rowOf) {
    int used = Math.min(sentSince, slots);
    long[] creditsPs = new long[used];
    int[] creditRows = new int[used];
    for (int i = 0; i < used; i++) {
      int at = before(used - i);
      creditsPs[i] = ring[at + CREDIT_PS] - sincePs;
      creditRows[i] = rowOf.applyAsInt((int) (ring[at + OPS] >> 32));
      if (creditRows[i] < 0) {
        return null;
      }
    }
    return new MemoQueues.Passage(sentSince, deliveredSince, creditsPs, creditRows);
  }

  /** The place in the ring of a slot for one of the fragments sent last, counted from 1. */
  private int before(int fragments) {
    return Math.floorMod(sentAt - fragments * STRIDE, ring.length);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Which slots were in use at once is not counted again: as many as when the same messages
   * passed here before.
   */
  @Override
  public void passes(MemoQueues.Passage again, long sincePs, IntUnaryOperator idOf) {
    if (slotsInUsePeak < slots) {
      countSlots();
    }
    sent += again.sent();
    sentAt = (int) ((sentAt + (long) again.sent() * STRIDE) % ring.length);
    for (int i = 0; i < again.credits(); i++) {
      int slot = before(again.credits() - i) / STRIDE;
      returnCredit(slot, again.creditPs(i) + sincePs, idOf.applyAsInt(again.creditRow(i)));
    }
    counted = sent;
    countedAt = sentAt;
    if (sent - oldestOut > slots) {
      oldestOut = sent - slots;
      oldestOutAt = sentAt;
    }
    delivered += again.delivered();
    asked += again.delivered();
    takenAt = (int) ((takenAt + (long) again.delivered() * STRIDE) % ring.length);
  }

  /**
   * Puts the bytes of a fragment into a slot. No copy is made, for an array is never changed once
   * it holds a value; what was in the slot before is gone for whoever still looks there.
   */
  void put(int slot, byte[] bytes, int offset) {
    slotData[slot] = bytes;
    slotOffset[slot] = offset;
  }

  @Override
  byte[] slotData(int slot) {
    return slotData[slot];
  }

  @Override
  int slotOffset(int slot) {
    return slotOffset[slot];
  }

  @Override
  void free(int slot, int op, long timePs) {
    unit().freeSlot(this, slot, op, timePs);
  }

  @Override
  public String toString() {
    return pe + "." + direction;
  }
}
