package org.kernbench.chakra;

import java.util.List;

/**
 * A named value of a node.
 *
 * @param kind of the value in the file
 * @param value {@link Long}, {@link Double}, {@link Boolean}, {@link String}, {@link #NOTHING}, or
 *     a list of these
 */
record Attribute(String name, Kind kind, Object value) {
  /** A name without a value. */
  static final Object NOTHING = new Object();

  /** The kinds of values, in the order of their field numbers, which come in pairs from 3 on. */
  enum Kind {
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    UINT32,
    UINT64,
    SINT32,
    SINT64,
    FIXED32,
    FIXED64,
    SFIXED32,
    SFIXED64,
    BOOL,
    STRING,
    BYTES;

    /** The field of a value of this kind; that of a list is the next. */
    int field() {
      return 3 + 2 * ordinal();
    }
  }

  boolean isTrueThroughout() {
    return value instanceof List<?> list && list.stream().allMatch(Boolean.TRUE::equals);
  }
}
