package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/** A value in the TCM or in a message slot of one PE: written once, immutable, freed after its last reader. */
public final class Register {
  /** Stands for an operand that is not there. */
  public static final Register NONE = new Register(0, false);

  static {
    NONE.ready = true;
  }

  private static final byte[] NO_DATA = new byte[0];

  final int bytes;

  /** Whether the bytes count against the TCM of the PE (a zero-copy message does not: its slot was reserved at install). */
  final boolean inTcm;

  byte[] data = NO_DATA;
  int dataOffset;
  boolean ready;
  long readyPs;
  int producer = -1;
  int line;
  int readers;
  boolean released;
  @Nullable QueueEnd slotQueue;
  int slot = -1;

  // neighbours in the list of unreleased registers of the program
  @Nullable Register previous;
  @Nullable Register next;

  Register(int bytes, boolean inTcm) {
    this.bytes = bytes;
    this.inTcm = inTcm;
  }

  /** Whether the program has given it up. */
  public boolean isReleased() {
    return released;
  }

  /** Size in bytes. */
  public int bytes() {
    return bytes;
  }
}
