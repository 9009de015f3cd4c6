package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that NumPy wrote (make_fixtures.py beside them) and headers written out by hand. */
class NpyTest {
  @TempDir Path directory;

  private static Path fixture(String name) {
    try {
      return Path.of(NpyTest.class.getResource(name).toURI());
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void read_filesOfNumPy_giveValues() throws IOException {
    NpyArray half = Npy.read(fixture("f16.npy"));
    assertThat(half).hasToString("f16 [2, 3]");
    assertThat(Operands.values(DType.F16, half.bytes()))
        .containsExactly(0, 0.125, 0.25, 0.375, 0.5, 0.625);
    NpyArray scalar = Npy.read(fixture("f32-scalar.npy"));
    assertThat(scalar).hasToString("f32 []");
    assertThat(Operands.values(DType.F32, scalar.bytes())).containsExactly(-2.5);
    assertThat(Operands.values(DType.F64, Npy.read(fixture("f64.npy")).bytes())).containsExactly(1);
    NpyArray wide = Npy.read(fixture("i64.npy"));
    assertThat(DType.I64.getLong(wide.bytes(), 8)).isEqualTo(1L << 62);
    assertThat(Npy.read(fixture("i8.npy")).bytes()).containsExactly(-3, -2, -1, 0, 1, 2, 3);
    assertThat(Npy.read(fixture("bool-empty.npy")).shape()).isEqualTo(Shape.of(0, 4));
    NpyArray second = Npy.read(fixture("f16-version2.npy"));
    assertThat(Operands.values(DType.F16, second.bytes())).containsExactly(1, 2);
  }

  @Test
  void read_fortranOrder_becomesRowMajor() throws IOException {
    NpyArray array = Npy.read(fixture("i32-fortran.npy"));
    assertThat(array).hasToString("i32 [2, 3, 4]");
    double[] expected = new double[24];
    Arrays.setAll(expected, i -> i);
    assertThat(Operands.values(DType.I32, array.bytes())).containsExactly(expected);
  }

  @Test
  void read_bigEndian_becomesLittleEndian() throws IOException {
    NpyArray array = Npy.read(fixture("f32-big-endian.npy"));
    assertThat(Operands.values(DType.F32, array.bytes()))
        .containsExactly(1.5, -2, 3, Double.POSITIVE_INFINITY);
  }

  /** Reading and writing what NumPy wrote gives NumPy's file back, byte for byte. */
  @ParameterizedTest
  @ValueSource(
      strings = {"f16.npy", "f64.npy", "f32-scalar.npy", "i64.npy", "bool-empty.npy", "i8.npy"})
  void write_whatNumPyWrote_givesTheSameFile(String name) throws IOException {
    NpyArray array = Npy.read(fixture(name));
    Path copy = directory.resolve(name);
    Npy.write(copy, array.dtype(), array.shape(), array.bytes());
    assertThat(copy).hasSameBinaryContentAs(fixture(name));
  }

  @Test
  void write_header_isAsSpecified() throws IOException {
    Path file = directory.resolve("x.npy");
    Npy.write(file, DType.F32, Shape.of(1), Operands.of(DType.F32, 1));
    byte[] bytes = Files.readAllBytes(file);
    String text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    assertThat(Arrays.copyOf(bytes, 10))
        .containsExactly(0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0);
    String header = new String(bytes, 10, 118, StandardCharsets.US_ASCII);
    assertThat(header).startsWith(text).endsWith(" \n").isEqualToIgnoringWhitespace(text);
    assertThat(Arrays.copyOfRange(bytes, 128, bytes.length)).containsExactly(0, 0, 0x80, 0x3f);
  }

  @Test
  void archive_ofNumPy_givesArraysByName() throws IOException {
    Map<String, NpyArray> arrays = Npy.readArchive(fixture("two.npz"));
    assertThat(arrays.keySet()).containsExactly("first", "second");
    assertThat(Operands.values(DType.I32, arrays.get("first").bytes())).containsExactly(0, 1, 2);
    assertThat(arrays.get("second")).hasToString("f16 [1, 1]");
  }

  @Test
  void archive_writtenTwice_isTheSameFileAndReadsBack() throws IOException {
    Map<String, NpyArray> arrays = new LinkedHashMap<>();
    for (DType t : new DType[] {DType.F64, DType.F32, DType.F16, DType.I8, DType.I32, DType.I64}) {
      arrays.put(t.code(), new NpyArray(t, Shape.of(3, 5), Operands.mixed(t, 15, 1)));
    }
    Path first = directory.resolve("first.npz");
    Path second = directory.resolve("second.npz");
    Npy.writeArchive(first, arrays);
    Npy.writeArchive(second, arrays);
    assertThat(first).hasSameBinaryContentAs(second);
    Map<String, NpyArray> read = Npy.readArchive(first);
    assertThat(read.keySet()).containsExactlyElementsOf(arrays.keySet());
    read.forEach((name, array) -> assertThat(array.bytes()).isEqualTo(arrays.get(name).bytes()));
  }

  @ParameterizedTest
  @CsvSource({
    "complex.npy, element type '<c8' has no counterpart; save as float64",
    "structured.npy, no descr (a plain type) in the header"
  })
  void read_unknownType_isAnErrorWithRemedy(String name, String message) {
    assertThatThrownBy(() -> Npy.read(fixture(name)))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining(name)
        .hasMessageContaining(message);
  }

  @Test
  void write_bf16_isAnErrorWithRemedy() {
    Path file = directory.resolve("x.npy");
    assertThatThrownBy(() -> Npy.write(file, DType.BF16, Shape.of(1), new byte[2]))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("NumPy has no bf16; cast to f32 first");
    assertThat(file).doesNotExist();
    assertThatThrownBy(() -> Npy.write(file, DType.F16, Shape.of(2), new byte[2]))
        .isInstanceOf(ShapeException.class)
        .hasMessage("f16 [2] needs 4 bytes; got 2");
  }

  @Test
  void read_brokenFiles_areErrors() throws IOException {
    byte[] good = Files.readAllBytes(fixture("f16.npy"));
    assertBroken(Arrays.copyOf(good, 3), "not a .npy file");
    assertBroken("hello, this is no array".getBytes(StandardCharsets.US_ASCII), "not a .npy file");
    assertBroken(Arrays.copyOf(good, 60), "the file ends inside its header");
    assertBroken(Arrays.copyOf(good, 137), "f16 [2, 3] needs 12 bytes after the header; found 9");
    byte[] future = good.clone();
    future[6] = 9;
    assertBroken(future, ".npy version 9; expected 1, 2 or 3");
  }

  private void assertBroken(byte[] content, String message) throws IOException {
    Path file = Files.write(directory.resolve("broken.npy"), content);
    assertThatThrownBy(() -> Npy.read(file))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageStartingWith(file.toString())
        .hasMessageContaining(message);
  }

  // ---- files that would take all of the memory, or all of the stack ----

  private static final Path FOUND = Path.of("src/test/resources/bad-inputs");

  private static byte[] headed(String shape, String dtype, boolean fortran, byte[] data) {
    String dict =
        "{'descr': '"
            + dtype
            + "', 'fortran_order': "
            + (fortran ? "True" : "False")
            + ", 'shape': ("
            + shape
            + ")}";
    byte[] header = dict.getBytes(StandardCharsets.ISO_8859_1);
    ByteBuffer all =
        ByteBuffer.allocate(12 + header.length + data.length).order(ByteOrder.LITTLE_ENDIAN);
    all.put((byte) 0x93).put("NUMPY".getBytes(StandardCharsets.US_ASCII)).put((byte) 2);
    all.put((byte) 0).putInt(header.length).put(header).put(data);
    return all.array();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1073741824, 1073741824, 2 | more than 2147483631 bytes",
        "2147483647, | more than 2147483631 bytes",
        "99999999999999999999, | is none, or is too large",
        "4294967296, 4294967296, 0 | is none, or is too large",
      })
  void read_shapesThatNoMemoryHolds_areErrors(String shape, String message) throws IOException {
    assertBroken(headed(shape, "<f8", false, new byte[0]), message);
  }

  @Test
  void read_moreAxesThanNumPyHas_isAnError() throws IOException {
    assertThatThrownBy(() -> Npy.read(FOUND.resolve("axes-20000.npy")))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("axes; expected at most 64");
    String ones = "1, ".repeat(64);
    Path most = Files.write(directory.resolve("m.npy"), headed(ones, "<f4", true, new byte[4]));
    assertThat(Npy.read(most).shape().rank()).isEqualTo(64);
  }

  @Test
  void read_headerThatIsLongerThanAnyNeeds_isAnError() throws IOException {
    assertBroken(headed("1, " + " ".repeat(2 << 20), "<f4", false, new byte[4]), "at most 1048576");
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 1606})
  void readArchive_thatIsSpoilt_isAnErrorWithAMessage(int number) {
    assertThatThrownBy(() -> Npy.readArchive(FOUND.resolve("fuzz-npz-" + number + ".npz")))
        .isInstanceOf(IOException.class)
        .message()
        .isNotBlank();
  }

  /** 256 MiB of zeros in a quarter of a megabyte: no more is inflated than the header asks for. */
  @Test
  void readArchive_entryThatGrowsBeyondItsShape_isNotReadToItsEnd() throws IOException {
    Path file = directory.resolve("bomb.npz");
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(file))) {
      out.putNextEntry(new ZipEntry("x.npy"));
      out.write(headed("2, 3", "<f4", false, new byte[24]));
      for (int i = 0; i < 256; i++) {
        out.write(new byte[1 << 20]);
      }
    }
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();

    assertThatThrownBy(() -> Npy.readArchive(file))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("needs 24 bytes after the header; found more");

    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(8 << 20);
  }

  @Test
  void read_pipe_isRefusedAtOnce() throws Exception {
    Path pipe = directory.resolve("pipe.npy");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    assertThatThrownBy(() -> Npy.read(pipe)).hasMessageContaining("is no ordinary file");
    assertThatThrownBy(() -> Npy.readArchive(pipe)).hasMessageContaining("is no ordinary file");
    assertThatThrownBy(() -> SafeTensors.open(pipe)).hasMessageContaining("is no ordinary file");
  }
}
