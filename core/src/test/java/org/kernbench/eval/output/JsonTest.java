package org.kernbench.eval.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** JSON text, character by character. */
final class JsonTest {
  @Test
  void text_isEscaped() {
    assertThat(Json.write("a\"b\\c\n\t\u0001é")).isEqualTo("\"a\\\"b\\\\c\\n\\t\\u0001é\"\n");
  }

  @Test
  void numbers_keepTheirDigits() {
    assertThat(Json.write(new BigDecimal("1234.500"))).isEqualTo("1234.500\n");
    assertThat(Json.write(1e-7)).isEqualTo("1.0E-7\n");
    assertThat(Json.write(3.0)).isEqualTo("3\n");
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
    outer.put("none", Json.NULL);
    outer.put("empty", Map.of());

    assertThat(Json.write(outer))
        .isEqualTo(
            """
            {
              "list": [
                {"a": 1, "b": true}
              ],
              "none": null,
              "empty": {}
            }
            """);
  }
}
