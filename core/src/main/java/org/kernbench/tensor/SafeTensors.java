package org.kernbench.tensor;

import java.io.IOException;
import java.io.OutputStream;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonWriteFeature;

/**
 * A {@code .safetensors} file: eight bytes with the length of a header, the header in JSON, and the
 * elements of all tensors one behind the other, little-endian and row-major. Opening it reads and
 * checks the header; each tensor's bytes are read when it is asked for.
 *
 * @see <a href="https://huggingface.co/docs/safetensors">format</a>
 */
public final class SafeTensors {
  private static final int LENGTH_BYTES = Long.BYTES;
  private static final int ALIGNMENT = 8;
  private static final long LONGEST_HEADER = 100_000_000;
  private static final String METADATA = "__metadata__";

  private final Path file;
  private final long dataAt;
  private final Map<String, Entry> entries;
  private final Map<String, String> metadata;

  private SafeTensors(
      Path file, long dataAt, Map<String, Entry> entries, Map<String, String> metadata) {
    this.file = file;
    this.dataAt = dataAt;
    this.entries = entries;
    this.metadata = metadata;
  }

  private record Entry(DType dtype, Shape shape, long begin, long end) {}

  private static String name(DType dtype) {
    return switch (dtype) {
      case F64 -> "F64";
      case F32 -> "F32";
      case F16 -> "F16";
      case BF16 -> "BF16";
      case F8E4M3 -> "F8_E4M3";
      case F8E5M2 -> "F8_E5M2";
      case I8 -> "I8";
      case I32 -> "I32";
      case I64 -> "I64";
      case BOOL -> "BOOL";
    };
  }

  // ---- writing ----

  /**
   * Writes a file. Wide elements come first, so that all are aligned; names of one width in their
   * order.
   *
   * @param metadata text by name, kept in the header
   */
  public static void write(Path file, Map<String, NpyArray> tensors, Map<String, String> metadata)
      throws IOException {
    List<Map.Entry<String, NpyArray>> inOrder = new ArrayList<>(tensors.entrySet());
    inOrder.sort(
        Comparator.comparingInt(
                (Map.Entry<String, NpyArray> e) -> -e.getValue().dtype().sizeBytes())
            .thenComparing(Map.Entry::getKey));
    byte[] header = header(inOrder, metadata).getBytes(StandardCharsets.UTF_8);
    ByteBuffer length = ByteBuffer.allocate(LENGTH_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    length.putLong(header.length);
    try (OutputStream out = Files.newOutputStream(file)) {
      out.write(length.array());
      out.write(header);
      for (Map.Entry<String, NpyArray> e : inOrder) {
        out.write(e.getValue().bytes());
      }
    }
  }

  private static String header(
      List<Map.Entry<String, NpyArray>> tensors, Map<String, String> metadata) {
    StringWriter text = new StringWriter();
    JsonFactory json =
        JsonFactory.builder()
            .disable(JsonWriteFeature.ESCAPE_FORWARD_SLASHES)
            .disable(JsonWriteFeature.WRITE_HEX_UPPER_CASE)
            .build();
    try (JsonGenerator out = json.createGenerator(ObjectWriteContext.empty(), text)) {
      out.writeStartObject();
      if (!metadata.isEmpty()) {
        out.writeObjectPropertyStart(METADATA);
        metadata.forEach(out::writeStringProperty);
        out.writeEndObject();
      }
      long at = 0;
      for (Map.Entry<String, NpyArray> e : tensors) {
        field(out, e.getKey(), e.getValue(), at);
        at += e.getValue().bytes().length;
      }
      out.writeEndObject();
    }
    int bytes = text.toString().getBytes(StandardCharsets.UTF_8).length;
    return text + " ".repeat(Math.floorMod(-bytes, ALIGNMENT));
  }

  private static void field(JsonGenerator out, String name, NpyArray array, long at) {
    out.writeObjectPropertyStart(name);
    out.writeStringProperty("dtype", name(array.dtype()));
    out.writeArrayPropertyStart("shape");
    for (int axis = 0; axis < array.shape().rank(); axis++) {
      out.writeNumber(array.shape().dim(axis));
    }
    out.writeEndArray();
    out.writeArrayPropertyStart("data_offsets");
    out.writeNumber(at);
    out.writeNumber(at + array.bytes().length);
    out.writeEndArray();
    out.writeEndObject();
  }

  // ---- reading ----

  /**
   * Reads the header of a file.
   *
   * @throws SafeTensorsFormatException if the file is damaged, or has a type that is not known here
   */
  public static SafeTensors open(Path file) throws IOException {
    ArrayFile.checkOrdinary(file);
    try (SeekableByteChannel in = Files.newByteChannel(file)) {
      long size = in.size();
      if (size < LENGTH_BYTES) {
        throw new SafeTensorsFormatException(
            file + ": " + size + " bytes; expected eight with the length of the header first");
      }
      long length = read(in, 0, LENGTH_BYTES).getLong();
      if (length < 2 || length > LONGEST_HEADER || length > size - LENGTH_BYTES) {
        throw new SafeTensorsFormatException(
            """
            %s: header of %s bytes in a file of %s; expected one that fits, of at most %s; \
            is this a .safetensors file?\
            """
                .formatted(file, Long.toUnsignedString(length), size, LONGEST_HEADER));
      }
      byte[] header = read(in, LENGTH_BYTES, (int) length).array();
      return parse(
          file,
          new String(header, StandardCharsets.UTF_8),
          LENGTH_BYTES + length,
          size - LENGTH_BYTES - length);
    }
  }

  private static ByteBuffer read(SeekableByteChannel in, long at, int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    in.position(at);
    while (buffer.hasRemaining() && in.read(buffer) >= 0) {
      continue;
    }
    return buffer.flip();
  }

  private static SafeTensors parse(Path file, String header, long dataAt, long dataBytes)
      throws SafeTensorsFormatException {
    if (!(HeaderJson.parse(file.toString(), header) instanceof Map<?, ?> map)) {
      throw new SafeTensorsFormatException(file + ": the header is no JSON object");
    }
    Map<String, Entry> entries = new LinkedHashMap<>();
    Map<String, String> metadata = new LinkedHashMap<>();
    for (Map.Entry<?, ?> field : map.entrySet()) {
      String name = String.valueOf(field.getKey());
      if (!(field.getValue() instanceof Map<?, ?> value)) {
        throw new SafeTensorsFormatException(
            "%s: %s: %s; expected a JSON object"
                .formatted(file, name, ArrayFile.shown(String.valueOf(field.getValue()))));
      }
      if (name.equals(METADATA)) {
        value.forEach((k, v) -> metadata.put(String.valueOf(k), String.valueOf(v)));
      } else {
        entries.put(name, entry(file + ": tensor " + name, value));
      }
    }
    checkCover(file, entries, dataBytes);
    return new SafeTensors(file, dataAt, entries, metadata);
  }

  private static Entry entry(String where, Map<?, ?> fields) throws SafeTensorsFormatException {
    if (!fields.keySet().equals(Set.of("dtype", "shape", "data_offsets"))) {
      throw new SafeTensorsFormatException(
          "%s: fields %s; expected dtype, shape and data_offsets"
              .formatted(where, ArrayFile.shown(fields.keySet().toString())));
    }
    DType dtype = null;
    for (DType known : DType.values()) {
      if (name(known).equals(fields.get("dtype"))) {
        dtype = known;
      }
    }
    if (dtype == null) {
      List<String> known = new ArrayList<>();
      for (DType d : DType.values()) {
        known.add(name(d));
      }
      throw new SafeTensorsFormatException(
          "%s: dtype %s; expected one of %s"
              .formatted(where, ArrayFile.shown(String.valueOf(fields.get("dtype"))), known));
    }
    long[] dims = numbers(where + ": shape", fields.get("shape"));
    long[] offsets = numbers(where + ": data_offsets", fields.get("data_offsets"));
    int[] extents = new int[dims.length];
    for (int i = 0; i < dims.length; i++) {
      if (dims[i] > Integer.MAX_VALUE) {
        throw new SafeTensorsFormatException(where + ": extent " + dims[i] + " is too large");
      }
      extents[i] = (int) dims[i];
    }
    String refusal = ArrayFile.refusal(extents, dtype, Long.MAX_VALUE);
    if (refusal != null) {
      throw new SafeTensorsFormatException(
          "%s: shape %s: %s"
              .formatted(where, ArrayFile.shown(String.valueOf(fields.get("shape"))), refusal));
    }
    Shape shape = Shape.of(extents);
    long bytes = shape.elements() * dtype.sizeBytes();
    if (offsets.length != 2 || offsets[1] - offsets[0] != bytes) {
      throw new SafeTensorsFormatException(
          "%s: %s %s lies at %s; expected %s bytes"
              .formatted(
                  where,
                  name(dtype),
                  shape,
                  ArrayFile.shown(String.valueOf(fields.get("data_offsets"))),
                  bytes));
    }
    return new Entry(dtype, shape, offsets[0], offsets[1]);
  }

  private static long[] numbers(String where, @org.jspecify.annotations.Nullable Object value)
      throws SafeTensorsFormatException {
    if (value instanceof List<?> list
        && list.stream().allMatch(v -> v instanceof BigDecimal n && n.signum() >= 0 && isLong(n))) {
      return list.stream().mapToLong(v -> ((BigDecimal) v).longValueExact()).toArray();
    }
    throw new SafeTensorsFormatException(
        "%s: %s; expected a list of numbers, 0 or more"
            .formatted(where, ArrayFile.shown(String.valueOf(value))));
  }

  private static boolean isLong(BigDecimal n) {
    return n.precision() - (long) n.scale() <= 18 && n.stripTrailingZeros().scale() <= 0;
  }

  /** Tensors follow one another from the first to the last byte of the data. */
  private static void checkCover(Path file, Map<String, Entry> entries, long dataBytes)
      throws SafeTensorsFormatException {
    List<Map.Entry<String, Entry>> inOrder = new ArrayList<>(entries.entrySet());
    inOrder.sort(
        Comparator.<Map.Entry<String, Entry>>comparingLong(e -> e.getValue().begin)
            .thenComparingLong(e -> e.getValue().end));
    long at = 0;
    for (Map.Entry<String, Entry> e : inOrder) {
      if (e.getValue().begin != at) {
        throw new SafeTensorsFormatException(
            """
            %s: tensor %s begins at byte %s of the data; expected %s, where the one before \
            ends\
            """
                .formatted(file, e.getKey(), e.getValue().begin, at));
      }
      at = e.getValue().end;
    }
    if (at != dataBytes) {
      throw new SafeTensorsFormatException(
          file + ": tensors take " + at + " bytes, there are " + dataBytes + "; is it cut short?");
    }
  }

  /** Names of the tensors, in the order of the header. */
  public Set<String> names() {
    return Collections.unmodifiableSet(entries.keySet());
  }

  /** Text that the header keeps. */
  public Map<String, String> metadata() {
    return Collections.unmodifiableMap(metadata);
  }

  /** Reads one tensor. */
  public NpyArray read(String name) throws IOException {
    Entry e = entries.get(name);
    if (e == null) {
      throw new SafeTensorsFormatException(
          file + ": no tensor " + name + "; there are " + entries.keySet());
    }
    String refusal = ArrayFile.noRoom(e.end - e.begin);
    if (refusal != null) {
      throw new SafeTensorsFormatException(file + ": tensor " + name + ": " + refusal);
    }
    try (SeekableByteChannel in = Files.newByteChannel(file)) {
      byte[] bytes = read(in, dataAt + e.begin, (int) (e.end - e.begin)).array();
      if (in.size() < dataAt + e.end) {
        throw new SafeTensorsFormatException(file + ": is shorter than when it was opened");
      }
      return new NpyArray(e.dtype, e.shape, bytes);
    }
  }
}
