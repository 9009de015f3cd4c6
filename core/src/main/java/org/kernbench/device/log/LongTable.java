package org.kernbench.device.log;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.Arrays;

/** Rows of longs that only grow, in chunks, so that growing copies nothing but a list of chunks. */
final class LongTable {
  private static final int CHUNK_SHIFT = 12;
  private static final int CHUNK = 1 << CHUNK_SHIFT;

  private final int columns;
  private long[][] chunks = new long[4][];
  private int rows;

  LongTable(int columns) {
    this.columns = columns;
  }

  int rows() {
    return rows;
  }

  /** Adds a row of zeros and returns its number. */
  int add() {
    int chunk = rows >>> CHUNK_SHIFT;
    if (chunk == chunks.length) {
      chunks = Arrays.copyOf(chunks, chunk * 2);
    }
    if ((rows & CHUNK - 1) == 0) {
      chunks[chunk] = new long[CHUNK * columns];
    }
    return rows++;
  }

  long get(int row, int column) {
    return chunks[row >>> CHUNK_SHIFT][(row & CHUNK - 1) * columns + column];
  }

  /** Writes it column by column, each value as its difference to the one above. */
  void write(DataOutput out) throws IOException {
    Varint.write(out, rows);
    for (int column = 0; column < columns; column++) {
      long above = 0;
      for (int row = 0; row < rows; row++) {
        long value = get(row, column);
        Varint.write(out, value - above);
        above = value;
      }
    }
  }

  /** Adds the rows that {@link #write} wrote; the table is empty before. */
  void read(DataInput in) throws IOException {
    int count = Varint.readCount(in);
    for (int column = 0; column < columns; column++) {
      long above = 0;
      for (int row = 0; row < count; row++) {
        above += Varint.read(in);
        if (column == 0) {
          add(); // only now: a count may promise what never comes
        }
        set(row, column, above);
      }
    }
  }

  void set(int row, int column, long value) {
    chunks[row >>> CHUNK_SHIFT][(row & CHUNK - 1) * columns + column] = value;
  }
}
