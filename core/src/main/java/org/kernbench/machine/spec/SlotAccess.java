package org.kernbench.machine.spec;

/** When the memory behind a queue slot is charged. */
public enum SlotAccess {
  /** While data arrives. */
  STREAMED,
  /** After data has arrived, and again when it is read: {@link SlotCost}. */
  SERIAL
}
