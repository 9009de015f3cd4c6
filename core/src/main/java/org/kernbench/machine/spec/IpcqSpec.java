package org.kernbench.machine.spec;

import java.util.EnumMap;
import java.util.Map;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.Quantity;

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

  /** Reads {@code ipcq}. */
  public static IpcqSpec read(ConfigMap map) {
    int slots = map.integer("slots", 1, 1 << 20);
    long slotSize = map.size("slot_size");
    int directions = map.integer("directions", 1, 1 << 16);
    BufferKind buffers = map.choice("buffer_kind", BufferKind.values());
    long creditSize = map.size("credit_size");
    long creditOverhead = map.time("credit_overhead");
    SlotAccess access = map.choice("slot_access", SlotAccess.values());
    ConfigMap costs = map.map("serial_cost");
    Map<BufferKind, SlotCost> serialCost = new EnumMap<>(BufferKind.class);
    serialCost.put(BufferKind.TCM, SlotCost.read(costs.map("tcm")));
    serialCost.put(BufferKind.SRAM, SlotCost.read(costs.map("sram")));
    serialCost.put(BufferKind.HBM, SlotCost.read(costs.map("hbm")));
    costs.done();
    boolean awaitsCredit = map.flag("recv_awaits_credit");
    Backpressure backpressure = map.choice("backpressure", Backpressure.values());
    long poll = map.quantity("poll_interval", Quantity.TIME, 1);
    map.done();
    return new IpcqSpec(
        slots,
        slotSize,
        buffers,
        creditSize,
        access,
        awaitsCredit,
        backpressure,
        poll,
        serialCost,
        creditOverhead,
        directions);
  }

  /** Bytes of all slots of one PE. */
  public long bytesPerPe() {
    return slots * slotBytes * directions;
  }
}
