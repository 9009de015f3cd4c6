package org.kernbench.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

final class SafeTensorsTest {
  @TempDir Path folder;

  private static byte[] bytes(int n) {
    byte[] bytes = new byte[n];
    for (int i = 0; i < n; i++) {
      bytes[i] = (byte) (7 * i + 1);
    }
    return bytes;
  }

  private Path file(String header, int dataBytes) throws IOException {
    byte[] json = header.getBytes(StandardCharsets.UTF_8);
    ByteBuffer all =
        ByteBuffer.allocate(8 + json.length + dataBytes).order(ByteOrder.LITTLE_ENDIAN);
    all.putLong(json.length).put(json).put(bytes(dataBytes));
    return Files.write(folder.resolve("x.safetensors"), all.array());
  }

  /** Byte for byte as the format's description has it. */
  @Test
  void write_twoTensors_givesTheFormatsBytes() throws IOException {
    Path file = folder.resolve("two.safetensors");
    Map<String, NpyArray> tensors = new LinkedHashMap<>();
    tensors.put("b", new NpyArray(DType.BF16, Shape.of(2), new byte[] {1, 2, 3, 4}));
    tensors.put("a", new NpyArray(DType.F32, Shape.of(1, 1), new byte[] {5, 6, 7, 8}));
    SafeTensors.write(file, tensors, Map.of("format", "pt"));
    String header =
        "{\"__metadata__\":{\"format\":\"pt\"},"
            + "\"a\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]},"
            + "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[4,8]}}";
    String padded = header + " ".repeat((8 - header.length() % 8) % 8);
    ByteBuffer expected =
        ByteBuffer.allocate(8 + padded.length() + 8).order(ByteOrder.LITTLE_ENDIAN);
    expected.putLong(padded.length()).put(padded.getBytes(StandardCharsets.UTF_8));
    expected.put(new byte[] {5, 6, 7, 8, 1, 2, 3, 4});
    assertThat(Files.readAllBytes(file)).isEqualTo(expected.array());
  }

  /** A reader of its own: YAML's, of which JSON is a part, and plain offsets. */
  @Test
  void write_everyType_isReadByAnotherReader() throws IOException {
    Path file = folder.resolve("all.safetensors");
    Map<String, NpyArray> tensors = new LinkedHashMap<>();
    for (DType type : DType.values()) {
      Shape shape = Shape.of(3, 2);
      tensors.put("of \"" + type + "\"", new NpyArray(type, shape, bytes(6 * type.sizeBytes())));
    }
    tensors.put("scalar", new NpyArray(DType.F64, Shape.of(), bytes(8)));
    tensors.put("empty", new NpyArray(DType.F64, Shape.of(0, 4), new byte[0]));
    SafeTensors.write(file, tensors, Map.of());

    ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    int length = (int) all.getLong();
    assertThat(length % 8).isZero();
    String header = new String(all.array(), 8, length, StandardCharsets.UTF_8);
    Map<?, ?> fields = (Map<?, ?>) new Load(LoadSettings.builder().build()).loadFromString(header);
    assertThat(fields.keySet()).isEqualTo(tensors.keySet());
    SafeTensors read = SafeTensors.open(file);
    tensors.forEach((name, tensor) -> {
      List<?> offsets = (List<?>) ((Map<?, ?>) fields.get(name)).get("data_offsets");
      byte[] data = new byte[(Integer) offsets.get(1) - (Integer) offsets.get(0)];
      all.get(8 + length + (Integer) offsets.get(0), data);
      assertThat(data).as(name).isEqualTo(tensor.bytes());
      try {
        NpyArray back = read.read(name);
        assertThat(back.bytes()).isEqualTo(tensor.bytes());
        assertThat(back.toString()).isEqualTo(tensor.toString());
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    });
  }

  @Test
  void open_headerOfOthers_blanksEscapesAndMetadata() throws IOException {
    Path file =
        file(
            " { \"w\\u00e4\\n\" : {\"shape\":[ 2 ],\"dtype\" : \"F16\",\"data_offsets\":[0 , 4]},"
                + "\"__metadata__\": {\"a\":\"b\"} }   ",
            4);
    SafeTensors read = SafeTensors.open(file);
    assertThat(read.names()).containsExactly("wä\n");
    assertThat(read.metadata()).containsExactly(Map.entry("a", "b"));
    assertThat(read.read("wä\n").bytes()).isEqualTo(bytes(4));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"x\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,4]}}|4|tensor x: dtype F4",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}|4|expected 8 bytes",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}|8|begins at byte 4",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}|9|is it cut short?",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}|4|0 or more",
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}|4|expected dtype, shape and data_offsets",
        "{\"x\":3}|0|expected a JSON object",
        "{\"x\":{},\"x\":{}}|0|each name once",
        "[1]|0|no JSON object",
        "{\"x\" 1}|0|character 5: Unexpected character ('1'",
        "{\"x|0|character 3: Unexpected end-of-input in property name",
        "{}{}|0|expected the end of the header",
        "{\"x\":nul}|0|character 5: Unrecognized token 'nul'",
        "{\"x\":null}|0|character 5: got null; expected a value",
        "{\"x\":01}|0|character 6: Invalid numeric value",
        "`  `|0|got the end; expected a value",
        "{\"x\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}|0|depth",
      })
  void open_damagedHeader_isRefusedWithThePlace(String header, int data, String message)
      throws IOException {
    Path file = file(header, data);
    assertThatThrownBy(() -> SafeTensors.open(file))
        .isInstanceOf(SafeTensorsFormatException.class)
        .hasMessageContaining("x.safetensors")
        .hasMessageContaining(message);
  }

  @Test
  void open_otherFile_isRefused() throws IOException {
    Path text = Files.writeString(folder.resolve("a.txt"), "this is no such file at all");
    assertThatThrownBy(() -> SafeTensors.open(text))
        .hasMessageContaining("is this a .safetensors file?");
    Path empty = Files.createFile(folder.resolve("empty"));
    assertThatThrownBy(() -> SafeTensors.open(empty)).hasMessageContaining("0 bytes");
  }

  @Test
  void read_unknownName_listsTheKnown() throws IOException {
    Path file = file("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    assertThatThrownBy(() -> SafeTensors.open(file).read("y"))
        .hasMessageContaining("no tensor y; there are [x]");
  }

  // ---- sizes and numbers that no file has ----

  private static final Path FOUND = Path.of("src/test/resources/bad-inputs");

  @ParameterizedTest
  @CsvSource({
    "overflow-2e61-elements-0-bytes, more than 9223372036854775807 bytes",
    "mod2e64, expected a list of numbers",
    "arith, more than 9223372036854775807 bytes",
  })
  void open_sizesThatOverflow_areErrors(String name, String message) {
    assertThatThrownBy(() -> SafeTensors.open(FOUND.resolve(name + ".safetensors")))
        .isInstanceOf(SafeTensorsFormatException.class)
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @CsvSource({"9, 1000000", "1e, 9", "1.5e, 9", "0.0, 30"})
  void open_numbersOfVeryManyDigits_areErrorsAtOnce(String digit, int times) throws IOException {
    String number = digit + "9".repeat(times);
    String header = "{\"x\":{\"dtype\":\"F32\",\"shape\":[" + number + "],\"data_offsets\":[0,4]}}";
    Path file = file(header, 4);
    assertTimeoutPreemptively(
        Duration.ofSeconds(5),
        () ->
            assertThatThrownBy(() -> SafeTensors.open(file))
                .isInstanceOf(SafeTensorsFormatException.class)
                .message()
                .hasSizeLessThan(1000));
  }
}
