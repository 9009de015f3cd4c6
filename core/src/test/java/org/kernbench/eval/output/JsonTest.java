package org.kernbench.eval.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** JSON text, character by character. */
final class JsonTest {
  @Test
  void text_isEscaped() {
    assertThat(Json.write("a\"b\\c\n\t\u0001é/")).isEqualTo("\"a\\\"b\\\\c\\n\\t\\u0001é/\"\n");
  }

  /** What no encoding has in one unit stays ASCII, halves of pairs too. */
  @Test
  void surrogates_areEscaped() {
    assertThat(Json.write("\ud83d\ude00")).isEqualTo("\"\\ud83d\\ude00\"\n");
  }

  @Test
  void numbers_keepTheirDigits() {
    assertThat(Json.write(new BigDecimal("1234.500"))).isEqualTo("1234.500\n");
    assertThat(Json.write(new BigDecimal("1E-9"))).isEqualTo("0.000000001\n");
    assertThat(Json.write(1e-7)).isEqualTo("1.0E-7\n");
    assertThat(Json.write(3.0)).isEqualTo("3\n");
    assertThat(Json.write(1e15)).isEqualTo("1.0E15\n");
    assertThat(Json.write(Long.MAX_VALUE)).isEqualTo("9223372036854775807\n");
  }

  @Test
  void infinity_isText() {
    assertThat(Json.write(Double.POSITIVE_INFINITY)).isEqualTo("\"Infinity\"\n");
  }

  @Test
  void nesting_isIndentedAndSmallObjectsStayOnALine() {
    Map<String, Object> inner = new LinkedHashMap<>();
    inner.put("a", 1);
    inner.put("b", true);
    Map<String, Object> outer = new LinkedHashMap<>();
    outer.put("list", List.of(inner));
    outer.put("numbers", List.of(List.of(1, 2), List.of(), List.of(1.5, 2)));
    outer.put("none", Json.NULL);
    outer.put("empty", Map.of());

    assertThat(Json.write(outer))
        .isEqualTo(
            """
            {
              "list": [
                {"a": 1, "b": true}
              ],
              "numbers": [
                [1, 2],
                [],
                [
                  1.5,
                  2
                ]
              ],
              "none": null,
              "empty": {}
            }
            """);
    assertThat(Json.compact(outer))
        .isEqualTo(
            """
            {"list":[{"a":1,"b":true}],"numbers":[[1,2],[],[1.5,2]],"none":null,"empty":{}}\
            """);
  }

  /** Values of any nesting, read by YAML's parser (every JSON text is one of YAML's). */
  @Test
  void anyValue_isReadByAnotherReaderInBothForms() {
    Random random = new Random(17);
    for (int i = 0; i < 300; i++) {
      Object value = value(random, 0);
      for (String text : List.of(Json.write(value), Json.compact(value))) {
        Object read = new Load(LoadSettings.builder().build()).loadFromString(text);
        assertThat(read).as(text).isEqualTo(value);
      }
    }
  }

  private static Object value(Random random, int depth) {
    return switch (random.nextInt(depth > 4 ? 4 : 6)) {
      case 0 -> random.nextInt();
      case 1 -> random.nextBoolean();
      case 2 -> random.nextGaussian();
      case 3 -> "x: \"" + (char) random.nextInt(0xA1, 0x250) + "\\ {[,\n\t" + random.nextInt(9);
      case 4 -> {
        List<Object> list = new ArrayList<>();
        for (int n = random.nextInt(4); n > 0; n--) {
          list.add(value(random, depth + 1));
        }
        yield list;
      }
      default -> {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int n = random.nextInt(4); n > 0; n--) {
          map.put("name " + n, value(random, depth + 1));
        }
        yield map;
      }
    };
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", " {\"a\": [1, {\"b\": null}]}\n", "{\"a\": 1, \"a\": 2}"})
  void isJsonObject_ofOne_isTrue(String text) {
    assertThat(Json.isJsonObject(text)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "null",
        "[]",
        "{",
        "{}}",
        "{}{}",
        "{a: 1}",
        "{'a': 1}",
        "{\"a\": 01}",
        "{\"a\": NaN}",
        "{\"a\": 1,}",
        "// no\n{}",
        "{\"a\": \"\n\"}",
        "{\"a\": tru}",
        "{\"a\": [}"
      })
  void isJsonObject_ofAnythingElse_isFalse(String text) {
    assertThat(Json.isJsonObject(text)).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"999, true", "1001, false", "1000000, false"})
  void isJsonObject_ofManyLevels_isJudgedAtOnce(int levels, boolean expected) {
    String text = "{\"a\":".repeat(levels) + "1" + "}".repeat(levels);
    assertThat(Json.isJsonObject(text)).isEqualTo(expected);
  }
}
