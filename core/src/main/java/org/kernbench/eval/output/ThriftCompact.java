package org.kernbench.eval.output;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Writes fields of structures in Thrift's compact protocol, as far as Parquet's descriptions need
 * it: numbers, text, lists, structures in each other. Fields go up.
 *
 * @see <a href="https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md">
 *     Thrift compact protocol</a>
 */
final class ThriftCompact {
  private static final int I32 = 5;
  private static final int I64 = 6;
  private static final int BINARY = 8;
  private static final int LIST = 9;
  private static final int STRUCT = 12;
  private static final int SHORT_LIST = 15;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final Deque<Integer> outer = new ArrayDeque<>();
  private int last;

  ThriftCompact raw(int b) {
    out.write(b);
    return this;
  }

  /** Seven bits in each byte, the lowest first. */
  ThriftCompact varint(long value) {
    long rest = value;
    while ((rest & ~0x7fL) != 0) {
      out.write((int) ((rest & 0x7f) | 0x80));
      rest >>>= 7;
    }
    out.write((int) rest);
    return this;
  }

  private ThriftCompact zigzag(long value) {
    return varint((value << 1) ^ (value >> 63));
  }

  private void field(int id, int type) {
    if (id <= last || id - last > 15) {
      throw new IllegalStateException("field " + id + " after " + last);
    }
    out.write(((id - last) << 4) | type);
    last = id;
  }

  ThriftCompact whole(int id, int value) {
    field(id, I32);
    return zigzag(value);
  }

  ThriftCompact whole64(int id, long value) {
    field(id, I64);
    return zigzag(value);
  }

  ThriftCompact text(int id, String text) {
    field(id, BINARY);
    return text(text);
  }

  private ThriftCompact text(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    varint(bytes.length);
    out.writeBytes(bytes);
    return this;
  }

  private void list(int id, int type, int size) {
    field(id, LIST);
    if (size < SHORT_LIST) {
      out.write((size << 4) | type);
    } else {
      out.write((SHORT_LIST << 4) | type);
      varint(size);
    }
  }

  /** A list of whole numbers. */
  ThriftCompact wholes(int id, int... values) {
    list(id, I32, values.length);
    for (int value : values) {
      zigzag(value);
    }
    return this;
  }

  /** A list of texts. */
  ThriftCompact texts(int id, String... texts) {
    list(id, BINARY, texts.length);
    for (String text : texts) {
      text(text);
    }
    return this;
  }

  /** Begins a list of so many structures; {@link #beginItem} begins each. */
  ThriftCompact structs(int id, int size) {
    list(id, STRUCT, size);
    return this;
  }

  /** Begins a structure in a field. */
  ThriftCompact begin(int id) {
    field(id, STRUCT);
    return beginItem();
  }

  ThriftCompact beginItem() {
    outer.push(last);
    last = 0;
    return this;
  }

  /** Ends the structure begun last, or the outermost one. */
  ThriftCompact end() {
    out.write(0);
    last = outer.isEmpty() ? 0 : outer.pop();
    return this;
  }

  byte[] toByteArray() {
    return out.toByteArray();
  }
}
