package org.kernbench.device;

/** The operations of one {@link World}, for the {@link OpLog}: their ids, number and hash. */
final class OpTally {
  /** Ids that a world takes at a time while others take some too. */
  private static final int BLOCK = 1024;

  private final OpLog log;
  private int nextId;
  private int idsEnd;

  /** Operations that have ended. */
  long completed;

  /** The sum of their hashes, in which their order does not matter. */
  long hash;

  OpTally(OpLog log) {
    this.log = log;
  }

  /** An id that no other world has. */
  int newId() {
    if (nextId == idsEnd) {
      nextId = log.reserve(BLOCK);
      idsEnd = nextId + BLOCK;
    }
    return nextId++;
  }

  /** Counts what another has. */
  void add(OpTally other) {
    completed += other.completed;
    hash += other.hash;
  }
}
