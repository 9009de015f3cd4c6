package org.kernbench.eval.output;

import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Rows as an Apache Parquet file: flat columns that may lack values, in plain encoding, without
 * compression. The same rows give the same bytes.
 *
 * <p>A column is of 64-bit integers if all its values are written as whole numbers, of doubles if
 * all are numbers, of truth if all are true or false, and of text otherwise. In a column of numbers
 * or truth an empty text is no value; so is a key that a row has not.
 *
 * @see <a href="https://github.com/apache/parquet-format">Parquet format 2</a>
 */
public final class Parquet {
  private static final byte[] MAGIC = "PAR1".getBytes(StandardCharsets.US_ASCII);
  private static final int ROWS_OF_A_GROUP = 100_000;
  private static final int PLAIN = 0;
  private static final int RLE = 3;
  private static final int OPTIONAL = 1;

  private Parquet() {}

  /** Types of columns, with the numbers that the format gives them. */
  private enum Type {
    TRUTH(0),
    WHOLE(2),
    NUMBER(5),
    TEXT(6);

    private final int code;

    Type(int code) {
      this.code = code;
    }
  }

  /** A column, and where each of its pieces lies. */
  private record Column(String name, Type type, List<Piece> pieces) {}

  /** The values of one group of rows: where its page begins, its bytes, and rows. */
  private record Piece(long offset, int bytes, int rows) {}

  /** The bytes of a file. */
  public static byte[] write(List<? extends Map<String, ?>> rows) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(MAGIC);
    Set<String> names = new LinkedHashSet<>();
    rows.forEach(row -> names.addAll(row.keySet()));
    List<Column> columns = new ArrayList<>();
    names.forEach(name -> columns.add(new Column(name, type(name, rows), new ArrayList<>())));
    for (int from = 0; from < rows.size(); from += ROWS_OF_A_GROUP) {
      var group = rows.subList(from, Math.min(rows.size(), from + ROWS_OF_A_GROUP));
      for (Column column : columns) {
        int offset = out.size();
        page(column, group, out);
        column.pieces.add(new Piece(offset, out.size() - offset, group.size()));
      }
    }
    byte[] footer = footer(columns, rows.size());
    out.writeBytes(footer);
    out.writeBytes(little(4).putInt(footer.length).array());
    out.writeBytes(MAGIC);
    return out.toByteArray();
  }

  private static Type type(String name, List<? extends Map<String, ?>> rows) {
    boolean whole = true;
    boolean number = true;
    boolean truth = true;
    boolean any = false;
    for (Map<String, ?> row : rows) {
      Object value = row.get(name);
      if (value == null || value == Json.NULL || value.equals("")) {
        continue;
      }
      any = true;
      whole &= isWhole(value);
      number &= value instanceof Number;
      truth &= value instanceof Boolean;
    }
    if (!any || (!truth && !number)) {
      return Type.TEXT;
    }
    return truth ? Type.TRUTH : whole ? Type.WHOLE : Type.NUMBER;
  }

  private static boolean isWhole(Object value) {
    return value instanceof Integer
        || value instanceof Long
        || (value instanceof BigDecimal d && d.scale() <= 0 && d.toBigInteger().bitLength() < 64);
  }

  private static @Nullable Object value(Column column, Map<String, ?> row) {
    Object value = row.get(column.name);
    if (value == null || value == Json.NULL) {
      return null;
    }
    return column.type != Type.TEXT && value.equals("") ? null : value;
  }

  // ---- pages ----

  private static void page(
      Column column, List<? extends Map<String, ?>> rows, ByteArrayOutputStream out) {
    ByteArrayOutputStream values = new ByteArrayOutputStream();
    ThriftCompact present = new ThriftCompact();
    BitSet truths = new BitSet();
    int known = 0;
    int run = 0;
    boolean ofPresent = false;
    for (Map<String, ?> row : rows) {
      Object value = value(column, row);
      if (run > 0 && ofPresent != (value != null)) {
        present.varint((long) run << 1).raw(ofPresent ? 1 : 0);
        run = 0;
      }
      ofPresent = value != null;
      run++;
      if (value != null) {
        switch (column.type) {
          case TRUTH -> truths.set(known, (Boolean) value);
          case WHOLE -> values.writeBytes(little(8).putLong(((Number) value).longValue()).array());
          case NUMBER ->
              values.writeBytes(little(8).putDouble(((Number) value).doubleValue()).array());
          case TEXT -> {
            byte[] text = value.toString().getBytes(StandardCharsets.UTF_8);
            values.writeBytes(little(4).putInt(text.length).array());
            values.writeBytes(text);
          }
        }
        known++;
      }
    }
    present.varint((long) run << 1).raw(ofPresent ? 1 : 0);
    if (column.type == Type.TRUTH) {
      byte[] bits = new byte[(known + 7) / 8];
      byte[] set = truths.toByteArray(); // without the last bytes that are 0
      System.arraycopy(set, 0, bits, 0, set.length);
      values.writeBytes(bits);
    }
    byte[] levels = present.toByteArray();
    int size = 4 + levels.length + values.size();
    ThriftCompact header = new ThriftCompact();
    header.whole(1, 0).whole(2, size).whole(3, size); // a data page; as large when unpacked
    header.begin(5).whole(1, rows.size()).whole(2, PLAIN).whole(3, RLE).whole(4, RLE).end();
    header.end();
    out.writeBytes(header.toByteArray());
    out.writeBytes(little(4).putInt(levels.length).array());
    out.writeBytes(levels);
    out.writeBytes(values.toByteArray());
  }

  private static ByteBuffer little(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  // ---- the description at the end ----

  private static byte[] footer(List<Column> columns, int rows) {
    ThriftCompact t = new ThriftCompact();
    t.whole(1, 1); // version
    t.structs(2, columns.size() + 1);
    t.beginItem().text(4, "rows").whole(5, columns.size()).end();
    for (Column c : columns) {
      t.beginItem().whole(1, c.type.code).whole(3, OPTIONAL).text(4, c.name);
      if (c.type == Type.TEXT) {
        t.whole(6, 0).begin(10).begin(1).end().end(); // UTF-8, in the old words and in the new
      }
      t.end();
    }
    t.whole64(3, rows);
    int groups = columns.isEmpty() ? 0 : columns.getFirst().pieces.size();
    t.structs(4, groups);
    for (int g = 0; g < groups; g++) {
      long bytes = 0;
      t.beginItem().structs(1, columns.size());
      for (Column c : columns) {
        Piece piece = c.pieces.get(g);
        bytes += piece.bytes;
        t.beginItem().whole64(2, piece.offset).begin(3);
        t.whole(1, c.type.code).wholes(2, PLAIN, RLE).texts(3, c.name).whole(4, 0);
        t.whole64(5, piece.rows).whole64(6, piece.bytes).whole64(7, piece.bytes);
        t.whole64(9, piece.offset).end().end();
      }
      t.whole64(2, bytes).whole64(3, columns.getFirst().pieces.get(g).rows).end();
    }
    t.text(6, "kernbench").end();
    return t.toByteArray();
  }
}
