package org.kernbench.chakra;

import java.util.Optional;

/** What a node of a trace is; the order is that of the numbers in the files. */
public enum NodeType {
  INVALID,
  METADATA,
  MEM_LOAD,
  MEM_STORE,
  COMP,
  COMM_SEND,
  COMM_RECV,
  COMM_COLL,
  STORAGE,
  BATCH,
  CHECKPOINT;

  private static final NodeType[] BY_CODE = values();

  /** The type of a number in a file; empty if there is none. */
  static Optional<NodeType> of(long code) {
    return code >= 0 && code < BY_CODE.length ? Optional.of(BY_CODE[(int) code]) : Optional.empty();
  }

  /** Whether a device computes or moves its own memory meanwhile. */
  public boolean isLocalWork() {
    return this == COMP || this == MEM_LOAD || this == MEM_STORE;
  }

  /** Whether several ranks meet in it. */
  public boolean isCommunication() {
    return this == COMM_SEND || this == COMM_RECV || this == COMM_COLL;
  }
}
