package org.kernbench.device.log;

import java.util.BitSet;

/** The operations of one {@code World}, for the {@link OpLog}: their ids, number and hash. */
public final class OpTally {
  /** Ids that a world takes at a time while others take some too. */
  private static final int BLOCK = 1024;

  private final OpLog log;
  private int nextId;
  private int idsEnd;

  /** Operations that have ended. */
  long completed;

  /** The sum of their hashes, in which their order does not matter. */
  long hash;

  /** Launches of which an operation is not kept. */
  private final BitSet cut = new BitSet();

  private int cutLast = LaunchLog.NONE;

  private final long[] operations = new long[OpKind.values().length];
  private final long[] bytes = new long[operations.length];

  public OpTally(OpLog log) {
    this.log = log;
  }

  /** An id that no other world has. */
  public int newId() {
    if (nextId == idsEnd) {
      nextId = log.reserve(BLOCK);
      idsEnd = nextId + BLOCK;
    }
    return nextId++;
  }

  /** Counts an operation that has ended. */
  void count(OpKind kind, int moved) {
    operations[kind.ordinal()]++;
    bytes[kind.ordinal()] += moved;
  }

  /** An operation of a launch has ended and is not kept. */
  void isNotKept(int launch) {
    if (launch != cutLast && launch >= 0) {
      cut.set(launch);
      cutLast = launch;
    }
  }

  /** Whether that was said of a launch. */
  boolean isCut(int launch) {
    return cut.get(launch);
  }

  /** Operations of a kind that have ended. */
  long operations(OpKind kind) {
    return operations[kind.ordinal()];
  }

  /** Bytes that they moved or computed. */
  long bytes(OpKind kind) {
    return bytes[kind.ordinal()];
  }

  /** Counts what another has. */
  public void add(OpTally other) {
    completed += other.completed;
    hash += other.hash;
    cut.or(other.cut);
    for (int kind = 0; kind < operations.length; kind++) {
      operations[kind] += other.operations[kind];
      bytes[kind] += other.bytes[kind];
    }
  }
}
