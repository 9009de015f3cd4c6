package org.kernbench.eval.explain;

/**
 * The kinds of moments that a run goes through. With the row of a log that it belongs to, a moment
 * is one {@code long}, its key.
 */
enum Moment {
  /** Between two costs of one step; belongs to nothing. */
  BETWEEN,
  /** An operation is complete. */
  END,
  /** The last byte of a send has left its channel. */
  LEFT,
  /** The array of a product is free for the next, though its sums have not left it. */
  FREED,
  /** An operation starts. */
  START,
  /** A part of an operation ends: its fragment is visible, or taken. */
  PART_END,
  /** A part of an operation begins. */
  PART_START,
  /** The head of a chunk enters a link: of a service. */
  HEAD_IN,
  /** The tail of a chunk has entered a link: of a service. */
  TAIL_IN,
  /** The host calls for a launch. */
  CALLED,
  /** A launch starts on all its PEs. */
  STARTED,
  /** A PE is done with a launch: of a row of its log. */
  DONE_THERE,
  /** All PEs are done with a launch. */
  DONE;

  private static final Moment[] KINDS = values();

  /** The key of the moment of this kind that belongs to a row. */
  long of(int index) {
    return ((long) ordinal() << 32) | (index & 0xFFFF_FFFFL);
  }

  static Moment kind(long key) {
    return KINDS[(int) (key >>> 32)];
  }

  static int index(long key) {
    return (int) key;
  }
}
