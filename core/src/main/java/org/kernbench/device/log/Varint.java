package org.kernbench.device.log;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.StreamCorruptedException;

/** Whole numbers in as few bytes as they need: seven bits each, small magnitudes first. */
final class Varint {
  private Varint() {}

  static void write(DataOutput out, long value) throws IOException {
    long rest = (value << 1) ^ (value >> 63); // the sign goes to the lowest bit
    while ((rest & ~0x7FL) != 0) {
      out.writeByte((int) (rest & 0x7F) | 0x80);
      rest >>>= 7;
    }
    out.writeByte((int) rest);
  }

  static long read(DataInput in) throws IOException {
    long value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      int next = in.readUnsignedByte();
      value |= (long) (next & 0x7F) << shift;
      if (next < 0x80) {
        return (value >>> 1) ^ -(value & 1);
      }
    }
    throw new StreamCorruptedException("a number without an end");
  }

  static int readCount(DataInput in) throws IOException {
    long count = read(in);
    if (count < 0 || count > Integer.MAX_VALUE) {
      throw new StreamCorruptedException("a count of " + count);
    }
    return (int) count;
  }
}
