package org.kernbench.machine.spec;

/** When a PE's CPU issues its next command. */
public enum IssuePolicy {
  /** As soon as the last one is dispatched; engines work side by side. */
  OVERLAPPED,
  /** When the last one has finished. */
  SERIAL
}
