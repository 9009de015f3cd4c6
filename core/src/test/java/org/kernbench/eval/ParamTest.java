package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.eval.Param.Kind;
import org.kernbench.machine.Pe;

/** What values of parameters are read as, at the limits of what they may be. */
final class ParamTest {
  private static final Param<Integer> COUNT = Param.integer("n", 4, -2, 9000, "how many");
  private static final Param<Long> SIZE = Param.size("s", "2 KiB", 16, 1 << 20, "how large");

  private enum Colour {
    DEEP_RED,
    BLUE
  }

  private static void refused(Param<?> param, String text, String message) {
    assertThatIllegalArgumentException().isThrownBy(() -> param.read(text)).withMessage(message);
  }

  @Test
  void counts_areReadFromTheLeastToTheMost() {
    assertThat(COUNT.read("-2")).isEqualTo(-2);
    assertThat(COUNT.read(" 9000 ")).isEqualTo(9000);
    assertThat(COUNT.defaultValue()).isEqualTo(4);
    assertThat(COUNT.defaultText()).isEqualTo("4");
    assertThat(COUNT.range()).isEqualTo("-2 to 9000");
    assertThat(COUNT.allowed().kind()).isEqualTo(Kind.COUNT);
    assertThat(COUNT.allowed().least()).hasValue(-2);
    assertThat(COUNT.allowed().most()).hasValue(9000);
    refused(COUNT, "-3", "got \"-3\"; expected a whole number from -2 to 9000");
    refused(COUNT, "9001", "got \"9001\"; expected a whole number from -2 to 9000");
    refused(COUNT, "1.0", "got \"1.0\"; expected a whole number from -2 to 9000");
    refused(COUNT, "99999999999", "got \"99999999999\"; expected a whole number from -2 to 9000");
  }

  /** A prefix is answered with both numbers that it may mean. */
  @ParameterizedTest
  @CsvSource({
    "4K, 4096, 4000",
    "2 Mi, 2097152, 2000000",
    "3GB, 3221225472, 3000000000",
    "1 tib, 1099511627776, 1000000000000"
  })
  void count_withAPrefix_saysBothNumbers(String text, String binary, String decimal) {
    refused(
        COUNT,
        text,
        "got \"%s\"; expected a whole number from -2 to 9000, a count without a unit: %s or %s"
            .formatted(text, binary, decimal));
  }

  @Test
  void sizes_areReadFromTheLeastToTheMost() {
    assertThat(SIZE.read("16 B")).isEqualTo(16);
    assertThat(SIZE.read("1 MiB")).isEqualTo(1 << 20);
    assertThat(SIZE.defaultValue()).isEqualTo(2048);
    assertThat(SIZE.range()).isEqualTo("16 B to 1 MiB");
    assertThat(SIZE.allowed().least()).hasValue(16);
    refused(SIZE, "15 B", "got \"15 B\"; expected a size from 16 B to 1 MiB");
    refused(SIZE, "1048577 B", "got \"1048577 B\"; expected a size from 16 B to 1 MiB");
  }

  @Test
  void choices_areWordsInAnyCase() {
    Param<Colour> colour = Param.choice("c", Colour.BLUE, Colour.class, "which");

    assertThat(colour.read("deep_red")).isEqualTo(Colour.DEEP_RED);
    assertThat(colour.read("Deep-Red")).isEqualTo(Colour.DEEP_RED);
    assertThat(colour.read("BLUE")).isEqualTo(Colour.BLUE);
    assertThat(colour.allowed().choices()).containsExactly("deep_red", "blue");
    assertThat(colour.defaultText()).isEqualTo("blue");
    refused(colour, "bleu", "got \"bleu\"; expected one of deep_red, blue; did you mean blue?");
    Param<Colour> one = Param.choice("c", Colour.BLUE, List.of(Colour.BLUE), "which");
    refused(one, "deep_red", "got \"deep_red\"; expected one of blue");
  }

  @Test
  void switches_areOnOrOff() {
    Param<Boolean> on = Param.onOff("x", true, "whether");

    assertThat(on.defaultText()).isEqualTo("on");
    assertThat(on.read("off")).isFalse();
    assertThat(on.read("ON")).isTrue();
    assertThat(on.allowed().kind()).isEqualTo(Kind.SWITCH);
    assertThat(Param.shown(true)).isEqualTo("on");
    assertThat(Param.shown(false)).isEqualTo("off");
    assertThat(Param.shown(Colour.DEEP_RED)).isEqualTo("deep_red");
    assertThat(Param.shown(7)).isEqualTo(7);
    refused(on, "yes", "got \"yes\"; expected one of on, off");
  }

  @ParameterizedTest
  @CsvSource({"1.2.3", "sip1.cube2.pe3", "1.cube2.3"})
  void pes_areReadWithAndWithoutTheirWords(String text) {
    Param<Pe> pe = Param.pe("p", new Pe(0, 1, 2), "where");

    assertThat(pe.read(text)).isEqualTo(new Pe(1, 2, 3));
    assertThat(pe.defaultText()).isEqualTo("sip0.cube1.pe2");
    refused(pe, "1.2", "got \"1.2\"; expected a PE, e.g. sip0.cube1.pe2");
    refused(pe, "1.2.-3", "got \"1.2.-3\"; expected a PE, e.g. sip0.cube1.pe2");
  }

  @Test
  void words_areAnythingButNothing() {
    Param<String> word = Param.word("w", "none", "a name", "what");

    assertThat(word.read(" a b ")).isEqualTo("a b");
    refused(word, "  ", "got nothing; expected a name");
    Param<String> picky = word.refusing("all", "name one");
    refused(picky, "ALL", "got \"ALL\"; name one");
    assertThat(picky.read("some")).isEqualTo("some");
    assertThat(picky.defaultText()).isEqualTo("none");
    Param<Optional<String>> elsewhere = word.orFrom("ccl.yaml");
    assertThat(elsewhere.defaultText()).isEqualTo("from ccl.yaml");
    assertThat(elsewhere.defaultValue()).isEmpty();
    assertThat(elsewhere.read("x")).contains("x");
    assertThat(elsewhere.name()).isEqualTo("w");
    assertThat(elsewhere.description()).isEqualTo("what");
  }
}
