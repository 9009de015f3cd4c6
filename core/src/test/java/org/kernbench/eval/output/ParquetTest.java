package org.kernbench.eval.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Files are read back by a reader of their own, written from the format's description, and by
 * Apache Arrow where a Python has it ({@code KERNBENCH_PYARROW} names that Python).
 */
final class ParquetTest {
  @TempDir private Path directory;

  /** Reads Thrift's compact protocol into maps of field numbers. */
  private static final class Reader {
    private final ByteBuffer in;

    Reader(byte[] bytes, int at) {
      in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
      in.position(at);
    }

    long varint() {
      long value = 0;
      for (int shift = 0; ; shift += 7) {
        byte b = in.get();
        value |= (long) (b & 0x7f) << shift;
        if (b >= 0) {
          return value;
        }
      }
    }

    Map<Integer, Object> struct() {
      Map<Integer, Object> fields = new LinkedHashMap<>();
      int id = 0;
      for (byte head = in.get(); head != 0; head = in.get()) {
        id += head >> 4 & 15;
        fields.put(id, value(head & 15));
      }
      return fields;
    }

    private Object value(int type) {
      return switch (type) {
        case 5, 6 -> {
          long z = varint();
          yield z >>> 1 ^ -(z & 1);
        }
        case 8 -> {
          byte[] text = new byte[(int) varint()];
          in.get(text);
          yield new String(text, StandardCharsets.UTF_8);
        }
        case 9 -> {
          int head = in.get() & 255;
          long size = head >> 4 == 15 ? varint() : head >> 4;
          List<Object> list = new ArrayList<>();
          for (long i = 0; i < size; i++) {
            list.add(value(head & 15));
          }
          yield list;
        }
        case 12 -> struct();
        default -> throw new AssertionError("type " + type);
      };
    }
  }

  @SuppressWarnings("unchecked") // what the reader above made
  private static List<Map<Integer, Object>> structs(Object list) {
    return (List<Map<Integer, Object>>) list;
  }

  @SuppressWarnings("unchecked")
  private static Map<Integer, Object> struct(Object struct) {
    return (Map<Integer, Object>) struct;
  }

  private static int whole(Object number) {
    return ((Long) number).intValue();
  }

  /** The columns of a file by name, with null where a row has no value. */
  private static Map<String, List<Object>> read(byte[] file) {
    assertThat(new String(file, 0, 4, StandardCharsets.US_ASCII)).isEqualTo("PAR1");
    assertThat(new String(file, file.length - 4, 4, StandardCharsets.US_ASCII)).isEqualTo("PAR1");
    ByteBuffer bytes = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    int length = bytes.getInt(file.length - 8);
    Reader reader = new Reader(file, file.length - 8 - length);
    Map<Integer, Object> footer = reader.struct();
    assertThat(reader.in.position()).isEqualTo(file.length - 8);
    List<Map<Integer, Object>> schema = structs(footer.get(2));
    assertThat(schema.getFirst().get(5)).isEqualTo((long) schema.size() - 1);
    Map<String, List<Object>> columns = new LinkedHashMap<>();
    long rows = 0;
    for (Map<Integer, Object> group : structs(footer.get(4))) {
      rows += (Long) group.get(3);
      long inGroup = 0;
      for (Map<Integer, Object> chunk : structs(group.get(1))) {
        Map<Integer, Object> of = struct(chunk.get(3));
        String name = (String) ((List<?>) of.get(3)).getFirst();
        List<Object> values = columns.computeIfAbsent(name, n -> new ArrayList<>());
        int before = values.size();
        page(file, whole(of.get(9)), whole(of.get(1)), whole(of.get(7)), values);
        assertThat(values.size() - before).isEqualTo(whole(of.get(5)));
        inGroup += (Long) of.get(7);
      }
      assertThat(group.get(2)).isEqualTo(inGroup);
    }
    assertThat(footer.get(3)).isEqualTo(rows);
    return columns;
  }

  private static void page(byte[] file, int at, int type, int size, List<Object> values) {
    Reader header = new Reader(file, at);
    Map<Integer, Object> page = header.struct();
    int begin = header.in.position();
    assertThat(begin - at + whole(page.get(3))).isEqualTo(size);
    int count = whole(struct(page.get(5)).get(1));
    int levels = header.in.getInt();
    Reader present = new Reader(file, begin + 4);
    Reader body = new Reader(file, begin + 4 + levels);
    int read = 0;
    int bit = 0;
    int truths = body.in.position();
    while (read < count) {
      long run = present.varint();
      assertThat(run & 1).as("a run of equal levels").isZero();
      boolean there = present.in.get() == 1;
      for (long i = 0; i < run >> 1; i++, read++) {
        values.add(
            !there
                ? null
                : switch (type) {
                  case 0 -> (file[truths + bit / 8] >> bit++ % 8 & 1) == 1;
                  case 2 -> body.in.getLong();
                  case 5 -> body.in.getDouble();
                  case 6 -> {
                    byte[] text = new byte[body.in.getInt()];
                    body.in.get(text);
                    yield new String(text, StandardCharsets.UTF_8);
                  }
                  default -> throw new AssertionError("type " + type);
                });
      }
    }
    assertThat(present.in.position()).isEqualTo(begin + 4 + levels);
    int end = type == 0 ? truths + (bit + 7) / 8 : body.in.position();
    assertThat(end).isEqualTo(at + size);
  }

  private static List<Map<String, Object>> rows(int count) {
    List<Map<String, Object>> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("whole", i % 3 == 1 ? "" : (Object) (i * 1_000_000_007L - 5));
      row.put("number", i % 2 == 0 ? (Object) new BigDecimal("3003.352") : (Object) i);
      row.put("written whole", new BigDecimal(i)); // as a store of results gives them
      row.put("truth", i % 5 == 4 ? "" : (Object) (i % 3 == 0));
      row.put("text", "zeile " + i + " – ü\n\"");
      row.put("set:sip.links.x", i % 2 == 0 ? "" : (Object) "512 GB/s");
      if (i % 4 != 0) {
        row.put("sometimes", i);
      }
      for (int more = 0; more < 12; more++) { // lists of fifteen and more have another head
        row.put("c" + more, more);
      }
      rows.add(row);
    }
    return rows;
  }

  private static Object expected(String column, Object value) {
    boolean text = column.equals("text") || column.equals("set:sip.links.x");
    if (value == null || !text && value.equals("")) {
      return null;
    }
    if (column.equals("written whole")) {
      return ((Number) value).longValue();
    }
    return column.equals("number")
        ? (Object) ((Number) value).doubleValue()
        : value instanceof Integer n ? (Object) n.longValue() : value;
  }

  @Test
  void rows_areReadBack() {
    for (int count : new int[] {1, 7, 8, 9, 300, 100_001}) { // the last in two groups
      List<Map<String, Object>> rows = rows(count);

      Map<String, List<Object>> columns = read(Parquet.write(rows));

      for (String name : columns.keySet()) {
        List<Object> expected = new ArrayList<>();
        rows.forEach(row -> expected.add(expected(name, row.get(name))));
        assertThat(columns.get(name)).as("%s of %d", name, count).isEqualTo(expected);
      }
      if (count > 1) {
        assertThat(columns).hasSize(19);
      }
    }
  }

  @Test
  void noRows_areAFileOfNone() {
    assertThat(read(Parquet.write(List.of()))).isEmpty();
  }

  @Test
  void theSameRows_giveTheSameBytes() {
    assertThat(Parquet.write(rows(20))).isEqualTo(Parquet.write(rows(20)));
  }

  /** The other reader: what Arrow makes of a file, as JSON, is what was written. */
  @Test
  void arrow_readsTheSame() throws IOException, InterruptedException {
    String python = System.getenv("KERNBENCH_PYARROW");
    Assumptions.assumeTrue(python != null, "KERNBENCH_PYARROW names no Python with pyarrow");
    List<Map<String, Object>> rows = rows(300);
    Path file = directory.resolve("rows.parquet");
    Files.write(file, Parquet.write(rows));
    String program =
        "import sys, json, pyarrow.parquet as p; print(json.dumps(p.read_table(sys.argv[1])"
            + ".to_pydict(), ensure_ascii=False, separators=(',', ':')))";
    Process process =
        new ProcessBuilder(python, "-c", program, file.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(said).isZero();

    Map<String, List<Object>> own = read(Files.readAllBytes(file));
    Map<?, ?> arrow = (Map<?, ?>) JsonReader.read(said.getBytes(StandardCharsets.UTF_8));
    assertThat(arrow.keySet()).isEqualTo(own.keySet());
    own.forEach((name, values) ->
        assertThat(plain((List<?>) arrow.get(name))).as(name).isEqualTo(plain(values)));
  }

  /** With numbers as numbers, whether JSON writes them with a point or without. */
  private static List<Object> plain(List<?> values) {
    List<Object> plain = new ArrayList<>();
    for (Object v : values) {
      plain.add(v == null ? Json.NULL : v instanceof Number n ? (Object) n.doubleValue() : v);
    }
    return plain;
  }
}
