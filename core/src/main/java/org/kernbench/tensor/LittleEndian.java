package org.kernbench.tensor;

/**
 * Little-endian access to single elements. Plain shifts: C2 merges them into one load or store, and
 * no method handle has to be set up in a short run.
 */
final class LittleEndian {
  private LittleEndian() {}

  static short getShort(byte[] src, int at) {
    return (short) ((src[at] & 0xff) | src[at + 1] << 8);
  }

  static int getInt(byte[] src, int at) {
    return (src[at] & 0xff)
        | (src[at + 1] & 0xff) << 8
        | (src[at + 2] & 0xff) << 16
        | src[at + 3] << 24;
  }

  static long getLong(byte[] src, int at) {
    return (getInt(src, at) & 0xffffffffL) | (long) getInt(src, at + 4) << 32;
  }

  static void putShort(byte[] dst, int at, short value) {
    dst[at] = (byte) value;
    dst[at + 1] = (byte) (value >> 8);
  }

  static void putInt(byte[] dst, int at, int value) {
    dst[at] = (byte) value;
    dst[at + 1] = (byte) (value >> 8);
    dst[at + 2] = (byte) (value >> 16);
    dst[at + 3] = (byte) (value >> 24);
  }

  static void putLong(byte[] dst, int at, long value) {
    putInt(dst, at, (int) value);
    putInt(dst, at + 4, (int) (value >> 32));
  }
}
