package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What is read of a section, what is said of a wrong value, and that reading goes on after it. */
final class ConfigMapTest {
  private enum Colour {
    DEEP_RED,
    BLUE
  }

  private final Problems problems = new Problems();

  private ConfigMap map(String yaml) {
    return ConfigTree.parse("f.yaml", yaml, problems).root(problems);
  }

  private List<String> said() {
    return problems.sorted().stream().map(Problem::toString).toList();
  }

  private static Arguments good(
      String value, BiFunction<ConfigMap, String, Object> read, Object is) {
    return Arguments.of(value, read, is);
  }

  static List<Arguments> values() {
    return List.of(
        good("3", (m, k) -> m.integer(k, 3, 9), 3),
        good("9", (m, k) -> m.integer(k, 3, 9), 9),
        good("-5", (m, k) -> m.integer(k, -5, 9), -5),
        good("auto", (m, k) -> m.integerOr(k, "auto", 3, 9), 0),
        good("4", (m, k) -> m.integerOr(k, "auto", 3, 9), 4),
        good("0.85", (m, k) -> m.billionths(k), 850_000_000L),
        good("1", (m, k) -> m.billionths(k), 1_000_000_000L),
        good("1.000000000", (m, k) -> m.billionths(k), 1_000_000_000L),
        good("0.000000001", (m, k) -> m.billionths(k), 1L),
        good("true", (m, k) -> m.flag(k), true),
        good("false", (m, k) -> m.flag(k), false),
        good("2 KiB", (m, k) -> m.size(k), 2048L),
        good("1 B", (m, k) -> m.size(k), 1L),
        good("2 KiB", (m, k) -> m.sizeOr(k, "unlimited"), 2048L),
        good("3 GB/s", (m, k) -> m.bandwidth(k), 3_000_000_000L),
        good("0 ns", (m, k) -> m.time(k), 0L),
        good("1.5 ns", (m, k) -> m.time(k), 1500L),
        good("2 GHz", (m, k) -> m.frequency(k), 2_000_000_000L),
        good("deep-red", (m, k) -> m.choice(k, Colour.values()), Colour.DEEP_RED),
        good("blue", (m, k) -> m.choice(k, Colour.values()), Colour.BLUE),
        good("two words", (m, k) -> m.text(k), "two words"),
        good("[a, 8]", (m, k) -> m.texts(k), List.of("a", "8")),
        good("one", (m, k) -> m.texts(k), List.of("one")));
  }

  @ParameterizedTest
  @MethodSource("values")
  void value_thatFits_isRead(String value, BiFunction<ConfigMap, String, Object> read, Object is) {
    ConfigMap map = map("k: " + value);
    assertThat(read.apply(map, "k")).isEqualTo(is);
    map.done();
    assertThat(said()).isEmpty();
  }

  private static Arguments bad(
      String value, BiFunction<ConfigMap, String, Object> read, Object instead, String expected) {
    return Arguments.of(value, read, instead, expected);
  }

  static List<Arguments> wrongValues() {
    String whole = "a whole number from 3 to 9";
    String part = "a number above 0 and up to 1 of at most nine decimals, e.g. 0.85";
    return List.of(
        bad("2", (m, k) -> m.integer(k, 3, 9), 3, whole),
        bad("10", (m, k) -> m.integer(k, 3, 9), 3, whole),
        bad("3.5", (m, k) -> m.integer(k, 3, 9), 3, whole),
        bad("\"-\"", (m, k) -> m.integer(k, 3, 9), 3, whole),
        bad("1234567890123456789", (m, k) -> m.integer(k, 3, 9), 3, whole),
        bad("many", (m, k) -> m.integerOr(k, "auto", 3, 9), 3, whole + ", or auto"),
        bad("0", (m, k) -> m.billionths(k), 1_000_000_000L, part),
        bad("1.000000001", (m, k) -> m.billionths(k), 1_000_000_000L, part),
        bad("0.0000000001", (m, k) -> m.billionths(k), 1_000_000_000L, part),
        bad("-0.5", (m, k) -> m.billionths(k), 1_000_000_000L, part),
        bad("half", (m, k) -> m.billionths(k), 1_000_000_000L, part),
        bad("yes", (m, k) -> m.flag(k), false, "true or false"),
        bad("0 B", (m, k) -> m.size(k), 1L, Quantity.SIZE.expectation() + ", above 0"),
        bad(
            "lots",
            (m, k) -> m.sizeOr(k, "unlimited"),
            1L,
            Quantity.SIZE.expectation() + ", or unlimited"),
        bad("0 GB/s", (m, k) -> m.bandwidth(k), 1L, Quantity.BANDWIDTH.expectation() + ", above 0"),
        bad("0 Hz", (m, k) -> m.frequency(k), 1L, Quantity.FREQUENCY.expectation() + ", above 0"),
        bad(
            "9 B",
            (m, k) -> m.quantity(k, Quantity.SIZE, 10),
            10L,
            Quantity.SIZE.expectation() + ", at least 10 B"),
        bad("-1 ns", (m, k) -> m.time(k), 0L, Quantity.TIME.expectation() + ", 0 or more"),
        bad(
            "bleu",
            (m, k) -> m.choice(k, Colour.values()),
            Colour.DEEP_RED,
            "deep_red or blue; did you mean blue?"));
  }

  /** One problem with what was got and expected; the value to go on with is an allowed one. */
  @ParameterizedTest
  @MethodSource("wrongValues")
  void value_thatDoesNotFit_isOneProblem(
      String value, BiFunction<ConfigMap, String, Object> read, Object instead, String expected) {
    ConfigMap map = map("a: 1\nk: " + value);
    assertThat(read.apply(map, "k")).isEqualTo(instead);
    String got = value.replace("\"", "");
    assertThat(said()).containsExactly("f.yaml:2:4: k: got \"" + got + "\"; expected " + expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"k: [1] | a list", "k: {x: 1} | a section", "k: | nothing"})
  void scalar_thatIsNone_saysWhatItIs(String yaml, String what) {
    assertThat(map(yaml).text("k")).isEmpty();
    assertThat(said()).hasSize(1);
    assertThat(said().getFirst()).endsWith("k: got " + what + "; expected a text");
  }

  @Test
  void texts_withAListInside_areRefused() {
    assertThat(map("k: [a, [b]]").texts("k")).isEmpty();
    assertThat(said())
        .containsExactly("f.yaml:1:4: k: got a list; expected a list of values, e.g. [8, 32, 64]");
  }

  @Test
  void missing_isSaidOnce_andNotOfWhatIsInsideAMissingSection() {
    ConfigMap map = map("a: 1\n");
    map.integer("k", 3, 9);
    ConfigMap inner = map.map("inner");
    assertThat(inner.path("x")).isEqualTo("inner.x");
    assertThat(inner.integer("x", 3, 9)).isEqualTo(3);
    inner.problem("x", "not said");
    assertThat(said())
        .containsExactly(
            "f.yaml:1:1: k: missing; expected a whole number from 3 to 9",
            "f.yaml:1:1: inner: missing; expected a section of keys");
  }

  @Test
  void done_namesEachKeyThatNobodyAskedFor_withTheNearest() {
    ConfigMap map = map("latency: 1 ns\nlatncy: 2 ns\nzzz: 3\nhere: 4\nall: {p: 1}\n");
    map.time("latency");
    assertThat(map.has("here")).isTrue();
    assertThat(map.has("there")).isFalse();
    assertThat(map.map("all").keys()).containsExactly("p");
    map.done();
    assertThat(said())
        .containsExactly(
            "f.yaml:2:1: latncy: unknown key; did you mean latency?",
            "f.yaml:3:1: zzz: unknown key (known: latency, here, there, all)");
  }

  @Test
  void keys_countAsAskedFor() {
    ConfigMap map = map("a: 1\nb: 2\n");
    assertThat(map.keys()).containsExactly("a", "b");
    map.done();
    assertThat(problems.isEmpty()).isTrue();
    assertThat(map.isText("a", "1")).isTrue();
    assertThat(map.isText("a", "2")).isFalse();
    assertThat(map.at("b")).isEqualTo(new Position("f.yaml", 2, 4));
    assertThat(map.at("c")).isEqualTo(new Position("f.yaml", 1, 1));
  }

  /** Eighteen digits are read, and found too large; nineteen might not fit any number of ours. */
  @Test
  void integer_ofVeryManyDigits_isOneProblem() {
    for (String digits : List.of("9".repeat(18), "9".repeat(19), "-" + "9".repeat(19))) {
      Problems own = new Problems();
      ConfigMap map = ConfigTree.parse("f.yaml", "k: " + digits, own).root(own);
      assertThat(map.integer("k", 3, 9)).isEqualTo(3);
      assertThat(own.sorted()).hasSize(1);
      assertThat(own.sorted().getFirst().message())
          .isEqualTo("got \"" + digits + "\"; expected a whole number from 3 to 9");
    }
  }

  @Test
  void sections_ofAList_areReadEach_andOthersNamed() {
    ConfigMap map = map("all: [{a: 1}, 7, {b: 2}]\nword: x\n");

    List<ConfigMap> sections = map.maps("all");

    assertThat(sections).hasSize(2);
    assertThat(sections.get(0).integer("a", 0, 9)).isEqualTo(1);
    assertThat(sections.get(1).integer("b", 0, 9)).isEqualTo(2);
    assertThat(map.maps("word")).isEmpty();
    assertThat(said())
        .containsExactly(
            "f.yaml:1:15: all[1]: got \"7\"; expected a section of keys",
            "f.yaml:2:7: word: got \"x\"; expected a list of sections, e.g. [{...}, {...}]");
  }

  @Test
  void oneOf_joinsWords() {
    assertThat(ConfigMap.oneOf(List.of("a"))).isEqualTo("a");
    assertThat(ConfigMap.oneOf(List.of("a", "b"))).isEqualTo("a or b");
    assertThat(ConfigMap.oneOf(List.of("a", "b", "c"))).isEqualTo("a, b or c");
    assertThat(ConfigMap.join("", "k")).isEqualTo("k");
    assertThat(ConfigMap.join("p", "k")).isEqualTo("p.k");
  }
}
