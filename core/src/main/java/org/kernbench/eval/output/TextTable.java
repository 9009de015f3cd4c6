package org.kernbench.eval.output;

import java.util.ArrayList;
import java.util.List;

/** Columns of text under their headings, each as wide as it must be; numbers to the right. */
public final class TextTable {
  private static final String GAP = "  ";

  private final List<List<String>> rows = new ArrayList<>();
  private final boolean[] left;

  /** A table with headings; all columns are aligned to the right. */
  public TextTable(List<String> headings) {
    rows.add(List.copyOf(headings));
    left = new boolean[headings.size()];
  }

  /** Aligns columns to the left. */
  public TextTable left(int... columns) {
    for (int column : columns) {
      left[column] = true;
    }
    return this;
  }

  /** Adds a row, one cell for each heading. */
  public void add(List<String> row) {
    if (row.size() != left.length) {
      throw new IllegalArgumentException(row.size() + " cells in " + left.length + " columns");
    }
    rows.add(List.copyOf(row));
  }

  /** A line for each row, with a line end. */
  @Override
  public String toString() {
    int[] widths = new int[left.length];
    for (List<String> row : rows) {
      for (int c = 0; c < widths.length; c++) {
        widths[c] = Math.max(widths[c], row.get(c).length());
      }
    }
    StringBuilder text = new StringBuilder();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int c = 0; c < widths.length; c++) {
        String pad = " ".repeat(widths[c] - row.get(c).length());
        line.append(c == 0 ? "" : GAP);
        line.append(left[c] ? row.get(c) + pad : pad + row.get(c));
      }
      text.append(line.toString().stripTrailing()).append('\n');
    }
    return text.toString();
  }
}
