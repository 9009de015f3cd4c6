package org.kernbench.eval.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;

final class JsonReaderTest {
  private static Object read(String text) {
    return JsonReader.read(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void read_everyKindOfValue() {
    assertThat(read("{\"a\": [1, -2.5e3, true, false, null, \"\\u00e9\\n\"], \"b\": {}}"))
        .isEqualTo(
            Map.of(
                "a", List.of(1L, -2500.0, true, false, Json.NULL, "é\n"),
                "b", Map.of()));
  }

  /** The writer is the oracle: what it writes is read as it was. */
  @Test
  void read_whatJsonWrites_givesItBack() {
    Random random = new Random(11);
    for (int i = 0; i < 300; i++) {
      Object value = value(random, 4);
      assertThat(read(Json.write(value))).isEqualTo(value);
      assertThat(read(Json.compact(value))).isEqualTo(value);
    }
  }

  private static Object value(Random random, int depth) {
    return switch (random.nextInt(depth > 0 ? 7 : 5)) {
      case 0 -> random.nextLong();
      case 1 -> random.nextInt() + 0.5; // a whole number is written without a point
      case 2 -> random.nextBoolean();
      case 3 -> Json.NULL;
      case 4 -> text(random);
      case 5 -> {
        List<Object> list = new ArrayList<>();
        for (int i = random.nextInt(4); i > 0; i--) {
          list.add(value(random, depth - 1));
        }
        yield list;
      }
      default -> {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = random.nextInt(4); i > 0; i--) {
          map.put(text(random) + i, value(random, depth - 1));
        }
        yield map;
      }
    };
  }

  private static String text(Random random) {
    StringBuilder s = new StringBuilder();
    for (int i = random.nextInt(6); i > 0; i--) {
      s.append((char) random.nextInt(0x500));
    }
    return s.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\"}",
        "{\"a\":1,}",
        "01",
        "nan",
        "NaN",
        "'a'",
        "{} {}",
        "1 2",
        "\"\\x\"",
        "{\"a\":1,\"a\":2}",
        "tru",
        "// c\n1",
        "\"a"
      })
  void read_whatIsNoJson_isAUsersError(String text) {
    assertThatThrownBy(() -> read(text))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("JSON: ");
  }

  @Test
  void read_tooDeep_isRefused_beforeTheStackEnds() {
    assertThat(read("[".repeat(200) + "]".repeat(200))).isInstanceOf(List.class);
    assertThatThrownBy(() -> read("[".repeat(100_000))).isInstanceOf(UsageException.class);
  }

  @Test
  void fields_ofAnotherType_areNamed_withWhatWasExpected() {
    JsonObject object =
        JsonObject.read(
            "{\"n\": 1.5, \"t\": 3, \"l\": [1, \"x\"]}".getBytes(StandardCharsets.UTF_8));
    assertThatThrownBy(() -> object.whole("n"))
        .hasMessage("message: n: got 1.5; expected a whole number below 2^31");
    assertThatThrownBy(() -> object.text("t")).hasMessage("message: t: got 3; expected text");
    assertThatThrownBy(() -> object.text("u")).hasMessage("message: u: got nothing; expected text");
    assertThatThrownBy(() -> object.wholes("l")).hasMessageContaining("got [1,\"x\"]");
    assertThat(object.number("n")).isEqualTo(1.5);
    assertThat(object.flag("missing")).isFalse();
  }
}
