package org.kernbench.device.check;

import org.jspecify.annotations.Nullable;

/** Bytes that a program, or the host, has read or written. */
final class MemoryAccess {
  /** The end of the load or store; null for the host. */
  final @Nullable OrderPoint moment;

  final boolean writes;

  /** Its place in the order in which accesses ended. */
  final long number;

  /** When it took effect: a load when it begins, a store when it ends. */
  final long timePs;

  final String line;

  MemoryAccess(@Nullable OrderPoint moment, boolean writes, long number, long timePs, String line) {
    this.moment = moment;
    this.writes = writes;
    this.number = number;
    this.timePs = timePs;
    this.line = line;
  }

  /** Who did it; null for the host. */
  @Nullable CheckedProgram program() {
    return moment == null ? null : moment.program;
  }
}
