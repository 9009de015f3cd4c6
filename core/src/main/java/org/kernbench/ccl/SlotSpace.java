package org.kernbench.ccl;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.kernbench.config.Quantity;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;

/**
 * Whether the message slots of a group fit the memory they are in: the machine's own settings were
 * checked when it was read, those of {@code ccl.yaml} come later. Slots in the TCM are counted by
 * the device, together with what else is there.
 */
public final class SlotSpace {
  private SlotSpace() {}

  /** Checks slots that are not in the TCM. */
  public static void check(
      Machine machine, IpcqSpec queues, List<QueuePlan.Connection> connections) {
    check(machine, queues, connections, UnaryOperator.identity());
  }

  /**
   * Checks slots that are not in the TCM.
   *
   * @param home the PE that has the slots of a PE: where packages are folded that of package 0
   */
  public static void check(
      Machine machine,
      IpcqSpec queues,
      List<QueuePlan.Connection> connections,
      UnaryOperator<Pe> home) {
    if (queues.bufferKind() == BufferKind.TCM) {
      return;
    }
    boolean sram = queues.bufferKind() == BufferKind.SRAM;
    long size = sram ? machine.sram().sizeBytes() : machine.hbm().sizeBytes();
    long fitting = size / queues.slotBytes() / queues.slots(); // queues that one memory can hold
    Map<Pe, Integer> ends = new LinkedHashMap<>();
    for (QueuePlan.Connection c : connections) {
      for (Pe receiver : c.isOneEnd(home) ? List.of(c.a()) : c.receivers()) {
        Pe pe = home.apply(receiver);
        Pe memory = sram ? new Pe(pe.sip(), pe.cube(), 0) : pe;
        int count = ends.merge(memory, 1, Integer::sum);
        if (count > fitting) {
          throw new CollectiveException(
              """
              %s: message slots, %s x %s for each direction, do not fit %s of %s; use fewer \
              or smaller slots (slots, slot_size) or another buffer_kind\
              """
                  .formatted(
                      pe,
                      queues.slots(),
                      text(queues.slotBytes()),
                      sram ? "the cube's SRAM" : "the PE's HBM slice",
                      text(size)));
        }
      }
    }
  }

  /**
   * Checks that slots in the TCM fit with room left for an operand: for those who choose, or
   * refuse, before the device does.
   *
   * @throws CollectiveException if they do not fit
   */
  public static void checkTcm(
      Machine machine, IpcqSpec queues, List<QueuePlan.Connection> connections) {
    if (queues.bufferKind() != BufferKind.TCM) {
      return;
    }
    long size = machine.pe().tcm().sizeBytes();
    long each = queues.slots() * queues.slotBytes();
    Map<Pe, Integer> ends = new LinkedHashMap<>();
    for (QueuePlan.Connection c : connections) {
      for (Pe pe : c.receivers()) {
        int count = ends.merge(pe, 1, Integer::sum);
        if (count * each + queues.slotBytes() > size) {
          throw new CollectiveException(
              """
              %s: message slots, %s x %s for each of %s directions or more, leave no room for \
              operands in the TCM of %s; use fewer or smaller slots (slots, slot_size) or \
              another buffer_kind\
              """
                  .formatted(pe, queues.slots(), text(queues.slotBytes()), count, text(size)));
        }
      }
    }
  }

  private static String text(long bytes) {
    return Quantity.SIZE.formatRounded(bytes, 1);
  }
}
