package org.kernbench.device.log;

import java.util.Arrays;

/** What rows of {@link OpRows} have in common, each different combination once, by number. */
final class RowKinds {
  private static final int INTS = 5; // what and member, bytes, place, line, work
  private static final int LONGS = 2; // serialisation, translation

  private int[] words = new int[4 * INTS];
  private long[] times = new long[4 * LONGS];
  private int size;

  /** Numbers by hash, -1 where there is none; at most half full. */
  private int[] table = none(16);

  private static int[] none(int length) {
    int[] table = new int[length];
    Arrays.fill(table, -1);
    return table;
  }

  /** The number of a combination, which is new if it has none. */
  int number(
      OpKind kind,
      Cause cause,
      int member,
      int bytes,
      int place,
      int line,
      int work,
      long serialisationPs,
      long translationPs) {
    int what = kind.ordinal() | (cause.ordinal() << 8) | (member << 16);
    int at =
        hash(what, bytes, place, line, work, serialisationPs, translationPs) & (table.length - 1);
    for (int n = table[at]; n >= 0; n = table[at]) {
      int w = n * INTS;
      if (words[w] == what
          && words[w + 1] == bytes
          && words[w + 2] == place
          && words[w + 3] == line
          && words[w + 4] == work
          && times[n * LONGS] == serialisationPs
          && times[n * LONGS + 1] == translationPs) {
        return n;
      }
      at = (at + 1) & (table.length - 1);
    }
    if (size * INTS == words.length) {
      words = Arrays.copyOf(words, words.length * 2);
      times = Arrays.copyOf(times, times.length * 2);
    }
    int w = size * INTS;
    words[w] = what;
    words[w + 1] = bytes;
    words[w + 2] = place;
    words[w + 3] = line;
    words[w + 4] = work;
    times[size * LONGS] = serialisationPs;
    times[size * LONGS + 1] = translationPs;
    table[at] = size++;
    if (size * 2 > table.length) {
      grow();
    }
    return size - 1;
  }

  private void grow() {
    table = none(table.length * 2);
    for (int n = 0; n < size; n++) {
      int w = n * INTS;
      int hash =
          hash(
              words[w],
              words[w + 1],
              words[w + 2],
              words[w + 3],
              words[w + 4],
              times[n * LONGS],
              times[n * LONGS + 1]);
      int at = hash & (table.length - 1);
      while (table[at] >= 0) {
        at = (at + 1) & (table.length - 1);
      }
      table[at] = n;
    }
  }

  private static int hash(
      int what,
      int bytes,
      int place,
      int line,
      int work,
      long serialisationPs,
      long translationPs) {
    long h = OpLog.mix(((long) what << 32) ^ bytes, ((long) place << 32) ^ line);
    h = OpLog.mix(h, ((long) work << 40) ^ serialisationPs);
    h = OpLog.mix(h, translationPs);
    return (int) (h ^ (h >>> 32));
  }

  /** No more are to come. */
  void close() {
    table = new int[0];
    words = Arrays.copyOf(words, size * INTS);
    times = Arrays.copyOf(times, size * LONGS);
  }

  OpKind kind(int n) {
    return OpLog.OpKinds.KINDS[words[n * INTS] & 0xFF];
  }

  Cause cause(int n) {
    return OpLog.OpKinds.CAUSES[(words[n * INTS] >>> 8) & 0xFF];
  }

  int member(int n) {
    return words[n * INTS] >>> 16;
  }

  int bytes(int n) {
    return words[n * INTS + 1];
  }

  int place(int n) {
    return words[n * INTS + 2];
  }

  int line(int n) {
    return words[n * INTS + 3];
  }

  int work(int n) {
    return words[n * INTS + 4];
  }

  long serialisationPs(int n) {
    return times[n * LONGS];
  }

  long translationPs(int n) {
    return times[n * LONGS + 1];
  }
}
