package org.kernbench.eval.report;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

/**
 * A protobuf message that is being written, its fields in the order in which they are set.
 *
 * @param <M> the kind of message, which says what fields it may have
 * @see <a href="https://protobuf.dev/programming-guides/encoding/">the encoding</a>
 */
final class ProtoMessage<M> {
  /** A field of messages of kind {@code M}. */
  sealed interface Field<M> {
    /** The number that stands for it. */
    int number();
  }

  /** A whole number, seven bits a byte. */
  record Varint<M>(int number) implements Field<M> {}

  /** A whole number in eight bytes. */
  record Fixed<M>(int number) implements Field<M> {}

  /** A floating-point number in eight bytes. */
  record Real<M>(int number) implements Field<M> {}

  /** A text in UTF-8. */
  record Text<M>(int number) implements Field<M> {}

  /** A message of kind {@code N}. */
  record Message<M, N>(int number) implements Field<M> {}

  private static final int VARINT = 0;
  private static final int EIGHT_BYTES = 1;
  private static final int LENGTH_THEN_BYTES = 2;

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  ProtoMessage<M> set(Varint<M> field, long value) {
    tag(field, VARINT);
    varint(value);
    return this;
  }

  ProtoMessage<M> set(Fixed<M> field, long value) {
    tag(field, EIGHT_BYTES);
    eightBytes(value);
    return this;
  }

  ProtoMessage<M> set(Real<M> field, double value) {
    tag(field, EIGHT_BYTES);
    eightBytes(Double.doubleToRawLongBits(value));
    return this;
  }

  ProtoMessage<M> set(Text<M> field, String value) {
    byte[] text = value.getBytes(StandardCharsets.UTF_8);
    tag(field, LENGTH_THEN_BYTES);
    varint(text.length);
    bytes.writeBytes(text);
    return this;
  }

  <N> ProtoMessage<M> set(Message<M, N> field, ProtoMessage<N> value) {
    tag(field, LENGTH_THEN_BYTES);
    varint(value.bytes.size());
    bytes.writeBytes(value.bytes.toByteArray());
    return this;
  }

  void writeTo(OutputStream out) throws IOException {
    bytes.writeTo(out);
  }

  private void tag(Field<M> field, int wireType) {
    varint((long) field.number() << 3 | wireType);
  }

  private void eightBytes(long value) {
    for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE) {
      bytes.write((int) (value >>> shift));
    }
  }

  private void varint(long value) {
    long rest = value;
    while ((rest & ~0x7FL) != 0) {
      bytes.write((int) ((rest & 0x7F) | 0x80));
      rest >>>= 7;
    }
    bytes.write((int) rest);
  }
}
