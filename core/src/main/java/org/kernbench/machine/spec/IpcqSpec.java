package org.kernbench.machine.spec;

import java.util.Map;

/**
 * The queues between PEs.
 *
 * @param slots slots per direction
 * @param slotBytes size of a slot
 * @param bufferKind memory of the slots
 * @param creditBytes size of a credit on the wire
 * @param slotAccess when slot memory is charged
 * @param recvAwaitsCredit whether a receiver waits until its credit has arrived
 * @param backpressure how a sender waits for a slot
 * @param pollIntervalPs interval of polling, ps
 * @param serialCost cost of a slot access by memory, used with serial access only
 * @param creditOverheadPs time to emit a credit, ps
 * @param directions directions that memory is reserved for on each PE
 */
public record IpcqSpec(
    int slots,
    long slotBytes,
    BufferKind bufferKind,
    long creditBytes,
    SlotAccess slotAccess,
    boolean recvAwaitsCredit,
    Backpressure backpressure,
    long pollIntervalPs,
    Map<BufferKind, SlotCost> serialCost,
    long creditOverheadPs,
    int directions) {
  /** Copies the map. */
  public IpcqSpec {
    serialCost = Map.copyOf(serialCost);
  }

  /** Bytes of all slots of one PE. */
  public long bytesPerPe() {
    return slots * slotBytes * directions;
  }
}
