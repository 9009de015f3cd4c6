package org.kernbench.tensor;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * NumPy files: {@code .npy} (format versions 1 to 3) and {@code .npz}. Writes the bytes that {@code
 * numpy.save} writes.
 *
 * <p>f64, f32, f16, i8, i32, i64 and bool exist on both sides. Big-endian and Fortran-order files
 * are read and turned into the order used here. NumPy has no bf16 and no 8-bit floats: cast to f32,
 * which holds them exactly, before writing, and back after reading.
 *
 * @see <a href="https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html">format</a>
 */
public final class Npy {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
  private static final int ALIGNMENT = 64;
  private static final int LONGEST_HEADER = 1 << 20;

  /** NumPy leaves room for the first extent to grow to this many digits. */
  private static final int GROWTH_DIGITS = 21;

  private static final Pattern DESCR = Pattern.compile("'descr'\\s*:\\s*'([^']*)'");
  private static final Pattern ORDER = Pattern.compile("'fortran_order'\\s*:\\s*(True|False)");
  private static final Pattern SHAPE = Pattern.compile("'shape'\\s*:\\s*\\(([0-9L,\\s]*)\\)");

  private Npy() {}

  /**
   * Reads one array.
   *
   * @throws NpyFormatException if the file is not an array of a type known here
   */
  public static NpyArray read(Path file) throws IOException {
    ArrayFile.checkOrdinary(file);
    try (InputStream in = Files.newInputStream(file)) {
      return parse(file.toString(), in);
    }
  }

  /**
   * Reads all arrays of an {@code .npz} archive, by name (without {@code .npy}), in file order.
   *
   * @throws NpyFormatException if an entry is not an array of a type known here
   */
  public static Map<String, NpyArray> readArchive(Path file) throws IOException {
    ArrayFile.checkOrdinary(file);
    Map<String, NpyArray> arrays = new LinkedHashMap<>();
    long bytes = 0;
    try (ZipFile zip = new ZipFile(file.toFile())) {
      for (ZipEntry entry : Collections.list(zip.entries())) {
        String where = file + "!" + entry.getName();
        try (InputStream in = zip.getInputStream(entry)) {
          if (in == null) {
            throw new NpyFormatException(where + ": cannot be found in the archive");
          }
          NpyArray array = parse(where, in);
          bytes += array.bytes().length;
          if (bytes > Runtime.getRuntime().maxMemory()) {
            throw new NpyFormatException(where + ": the arrays so far fill the memory");
          }
          arrays.put(entry.getName().replaceFirst("\\.npy$", ""), array);
        }
      }
    } catch (IllegalArgumentException e) {
      throw new NpyFormatException(file + ": is no archive of arrays: " + e.getMessage());
    } catch (EOFException e) {
      throw new NpyFormatException(file + ": ends early");
    }
    return Collections.unmodifiableMap(arrays);
  }

  /**
   * Writes one array: {@code bytes} are its little-endian elements, last axis contiguous.
   *
   * @throws NpyFormatException if NumPy has no such type
   * @throws ShapeException if the number of bytes is not that of the shape
   */
  public static void write(Path file, DType dtype, Shape shape, byte[] bytes) throws IOException {
    NpyArray array = new NpyArray(dtype, shape, bytes);
    byte[] header = header(file.toString(), array);
    try (OutputStream out = Files.newOutputStream(file)) {
      out.write(header);
      out.write(bytes);
    }
  }

  /**
   * Writes an {@code .npz} archive of these arrays, in the order of the map, with fixed dates:
   * equal arrays give equal files.
   *
   * @throws NpyFormatException if NumPy has no such type
   */
  public static void writeArchive(Path file, Map<String, NpyArray> arrays) throws IOException {
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(file))) {
      for (Map.Entry<String, NpyArray> named : arrays.entrySet()) {
        ZipEntry entry = new ZipEntry(named.getKey() + ".npy");
        entry.setTimeLocal(LocalDateTime.of(1980, 1, 1, 0, 0));
        out.putNextEntry(entry);
        out.write(header(file + "!" + entry.getName(), named.getValue()));
        out.write(named.getValue().bytes());
        out.closeEntry();
      }
    }
  }

  private static byte[] header(String where, NpyArray array) throws NpyFormatException {
    int[] dims = array.shape().toArray();
    String tuple =
        Arrays.stream(dims).mapToObj(Integer::toString).collect(Collectors.joining(", "));
    String dict =
        "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s"
            .formatted(descr(where, array.dtype()), tuple, dims.length == 1 ? ",), }" : "), }");
    if (dims.length > 0) {
      dict += " ".repeat(GROWTH_DIGITS - Integer.toString(dims[0]).length());
    }
    int prefix = MAGIC.length + 4;
    int length = dict.length() + 1;
    int padding = ALIGNMENT - (prefix + length) % ALIGNMENT;
    String text = dict + " ".repeat(padding) + "\n";
    byte[] header = new byte[prefix + text.length()];
    System.arraycopy(MAGIC, 0, header, 0, MAGIC.length);
    header[MAGIC.length] = 1;
    LittleEndian.putShort(header, MAGIC.length + 2, (short) text.length());
    byte[] ascii = text.getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(ascii, 0, header, prefix, ascii.length);
    return header;
  }

  private static String descr(String where, DType dtype) throws NpyFormatException {
    return switch (dtype) {
      case F64 -> "<f8";
      case F32 -> "<f4";
      case F16 -> "<f2";
      case I8 -> "|i1";
      case I32 -> "<i4";
      case I64 -> "<i8";
      case BOOL -> "|b1";
      case BF16, F8E4M3, F8E5M2 ->
          throw new NpyFormatException(
              where + ": NumPy has no " + dtype + "; cast to f32 first, which holds it exactly");
    };
  }

  /** Reads no more than the header asks for, however much there is. */
  private static NpyArray parse(String where, InputStream in) throws IOException {
    int prefix = MAGIC.length + 4;
    byte[] start = in.readNBytes(prefix);
    if (start.length < prefix || !Arrays.equals(Arrays.copyOf(start, MAGIC.length), MAGIC)) {
      throw new NpyFormatException(where + ": not a .npy file (it does not start with \\x93NUMPY)");
    }
    int version = start[MAGIC.length];
    if (version < 1 || version > 3) {
      throw new NpyFormatException(where + ": .npy version " + version + "; expected 1, 2 or 3");
    }
    long length = Short.toUnsignedLong(LittleEndian.getShort(start, MAGIC.length + 2));
    if (version > 1) {
      byte[] more = in.readNBytes(2);
      length =
          more.length < 2
              ? Long.MAX_VALUE
              : length | Short.toUnsignedLong(LittleEndian.getShort(more, 0)) << Short.SIZE;
    }
    byte[] header = in.readNBytes((int) Math.min(length, LONGEST_HEADER));
    if (header.length < length) {
      throw new NpyFormatException(
          where
              + (header.length < LONGEST_HEADER
                  ? ": the file ends inside its header"
                  : ": a header of " + length + " bytes; expected at most " + LONGEST_HEADER));
    }
    return decode(where, new String(header, StandardCharsets.UTF_8), in);
  }

  private static NpyArray decode(String where, String dict, InputStream in) throws IOException {
    String descr = field(where, dict, DESCR, "descr (a plain type)");
    final boolean fortran = field(where, dict, ORDER, "fortran_order").equals("True");
    final DType dtype = dtype(where, descr);
    final Shape shape = shape(where, field(where, dict, SHAPE, "shape"), dtype);
    long expected = shape.elements() * dtype.sizeBytes();
    checkRoom(where, expected);
    byte[] bytes = in.readNBytes((int) expected);
    boolean more = in.read() >= 0;
    if (bytes.length < expected || more) {
      throw new NpyFormatException(
          "%s: %s %s needs %s bytes after the header; found %s"
              .formatted(where, dtype, shape, expected, more ? "more" : bytes.length));
    }
    if (descr.startsWith(">")) {
      swapBytes(bytes, dtype.sizeBytes());
    }
    return new NpyArray(dtype, shape, fortran ? rowMajor(dtype, shape, bytes) : bytes);
  }

  private static void checkRoom(String where, long bytes) throws NpyFormatException {
    String refusal = ArrayFile.noRoom(bytes);
    if (refusal != null) {
      throw new NpyFormatException(where + ": " + refusal);
    }
  }

  private static String field(String where, String dict, Pattern pattern, String name)
      throws NpyFormatException {
    Matcher matcher = pattern.matcher(dict);
    if (!matcher.find()) {
      throw new NpyFormatException(
          where + ": no " + name + " in the header " + ArrayFile.shown(dict.strip()));
    }
    return matcher.group(1);
  }

  private static Shape shape(String where, String tuple, DType dtype) throws NpyFormatException {
    String[] words = tuple.replace("L", "").strip().split("\\s*,\\s*");
    try {
      int[] dims =
          Arrays.stream(words).filter(w -> !w.isEmpty()).mapToInt(Integer::parseInt).toArray();
      String refusal = ArrayFile.refusal(dims, dtype, Integer.MAX_VALUE - 16);
      if (refusal != null) {
        throw new NpyFormatException(where + ": " + refusal);
      }
      return Shape.of(dims);
    } catch (NumberFormatException | ArithmeticException | ShapeException e) {
      throw new NpyFormatException(
          where + ": shape (" + ArrayFile.shown(tuple) + ") is none, or is too large");
    }
  }

  private static DType dtype(String where, String descr) throws NpyFormatException {
    return switch (descr.isEmpty() ? "" : descr.substring(1)) {
      case "f8" -> DType.F64;
      case "f4" -> DType.F32;
      case "f2" -> DType.F16;
      case "i1" -> DType.I8;
      case "i4" -> DType.I32;
      case "i8" -> DType.I64;
      case "b1" -> DType.BOOL;
      default ->
          throw new NpyFormatException(
              """
              %s: element type '%s' has no counterpart; save as float64, float32, float16, \
              int8, int32, int64 or bool, e.g. numpy.save(file, x.astype('float32'))\
              """
                  .formatted(where, ArrayFile.shown(descr)));
    };
  }

  private static void swapBytes(byte[] bytes, int size) {
    for (int at = 0; at < bytes.length; at += size) {
      for (int i = 0; i < size / 2; i++) {
        byte low = bytes[at + i];
        bytes[at + i] = bytes[at + size - 1 - i];
        bytes[at + size - 1 - i] = low;
      }
    }
  }

  private static byte[] rowMajor(DType dtype, Shape shape, byte[] columnMajor) {
    byte[] bytes = new byte[columnMajor.length];
    int[] reversed = new int[shape.rank()];
    Arrays.setAll(reversed, axis -> shape.dim(-1 - axis));
    long[] backwards = Shape.of(reversed).strides();
    long[] source = new long[shape.rank()];
    Arrays.setAll(source, axis -> backwards[source.length - 1 - axis]);
    Numerics.copyStrided(
        dtype.sizeBytes(), shape, columnMajor, 0, source, bytes, 0, shape.strides());
    return bytes;
  }
}
