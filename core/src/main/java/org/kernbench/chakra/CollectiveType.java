package org.kernbench.chakra;

import java.util.Locale;
import java.util.Optional;

/** The attribute {@code comm_type}; the order is that of the numbers in the files. */
public enum CollectiveType {
  ALL_REDUCE,
  REDUCE,
  ALL_GATHER,
  GATHER,
  SCATTER,
  BROADCAST,
  ALL_TO_ALL,
  REDUCE_SCATTER,
  REDUCE_SCATTER_BLOCK,
  BARRIER;

  private static final CollectiveType[] BY_CODE = values();

  static Optional<CollectiveType> of(long code) {
    return code >= 0 && code < BY_CODE.length ? Optional.of(BY_CODE[(int) code]) : Optional.empty();
  }

  /** For example {@code all_reduce}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
