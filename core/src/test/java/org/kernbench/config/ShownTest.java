package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Words of a user's in messages, and how many messages there are. */
final class ShownTest {
  @Test
  void text_upTo200Characters_isWhole_andOneMoreIsShortened() {
    assertThat(Shown.text("a".repeat(200))).isEqualTo("a".repeat(200));
    assertThat(Shown.text("a".repeat(201))).isEqualTo("a".repeat(60) + "… (201 characters)");
    assertThat(Shown.text("")).isEmpty();
  }

  @Test
  void controlCharacters_areEscaped_lineEndsOfMessagesStay() {
    String all = "a\u001b[31m\n\tb\u007f\u0080\u009f\u00a0 ~é";
    assertThat(Shown.text(all))
        .isEqualTo("a\\u001b[31m\\u000a\\u0009b\\u007f\\u0080\\u009f\u00a0 ~é");
    assertThat(Shown.message(all)).isEqualTo("a\\u001b[31m\n\tb\\u007f\\u0080\\u009f\u00a0 ~é");
    String plain = "nothing to see";
    assertThat(Shown.message(plain)).isSameAs(plain);
    assertThat(Shown.message("x".repeat(500))).hasSize(500);
  }

  @Test
  void problems_beyondAHundred_areCounted() {
    Problems problems = new Problems();
    for (int i = 1; i <= 100; i++) {
      assertThat(problems.isFull()).isFalse();
      problems.add(new Position("f", i, 2), "k" + i, "wrong");
    }
    assertThat(problems.isFull()).isTrue();
    assertThat(problems.sorted()).hasSize(100);
    problems.add(new Position("f", 101, 2), "k101", "wrong");
    problems.add(new Position("f", 102, 2), "k102", "wrong");
    List<Problem> told = problems.sorted();
    assertThat(told).hasSize(101);
    assertThat(told.getLast()).hasToString("f:100:2: and 2 more problems; mend those above first");
    assertThat(told.get(99)).hasToString("f:100:2: k100: wrong");
  }

  /** The least number of insertions, deletions, replacements and swaps, by trying them all. */
  @Test
  void distance_randomWords_isTheLeastNumberOfEdits() {
    SplittableRandom random = new SplittableRandom(9);
    for (int i = 0; i < 3000; i++) {
      String a = word(random);
      String b = word(random);
      assertThat(Suggest.distance(a, b)).as("%s and %s", a, b).isEqualTo(edits(a, b));
    }
  }

  private static String word(SplittableRandom random) {
    StringBuilder word = new StringBuilder();
    for (int length = random.nextInt(7); length > 0; length--) {
      word.append((char) ('a' + random.nextInt(3)));
    }
    return word.toString();
  }

  private static int edits(String a, String b) {
    if (a.isEmpty() || b.isEmpty()) {
      return a.length() + b.length();
    }
    int same = a.charAt(0) == b.charAt(0) ? 0 : 1;
    int least = same + edits(a.substring(1), b.substring(1));
    least = Math.min(least, 1 + edits(a.substring(1), b));
    least = Math.min(least, 1 + edits(a, b.substring(1)));
    if (a.length() > 1
        && b.length() > 1
        && a.charAt(0) == b.charAt(1)
        && a.charAt(1) == b.charAt(0)) {
      least = Math.min(least, 1 + edits(a.substring(2), b.substring(2)));
    }
    return least;
  }

  /** Of two letters one may differ, of up to eight two, of nine three; of pages none. */
  @Test
  void nearest_mistakesThatAreStillTakenForAName_andOneMore() {
    assertThat(Suggest.nearest("ax", List.of("ab"))).contains("ab");
    assertThat(Suggest.nearest("xy", List.of("ab"))).isEmpty();
    assertThat(Suggest.nearest("abx", List.of("abc"))).contains("abc");
    assertThat(Suggest.nearest("axy", List.of("abc"))).isEmpty();
    assertThat(Suggest.nearest("abcdefxy", List.of("abcdefgh"))).contains("abcdefgh");
    assertThat(Suggest.nearest("abcdexyz", List.of("abcdefgh"))).isEmpty();
    assertThat(Suggest.nearest("abcdefxyz", List.of("abcdefghi"))).contains("abcdefghi");
    assertThat(Suggest.nearest("abcdewxyz", List.of("abcdefghi"))).isEmpty();
    assertThat(Suggest.nearest("abcdef", List.of("abcdefghi"))).contains("abcdefghi");
    assertThat(Suggest.nearest("abcde", List.of("abcdefghi"))).isEmpty();
    assertThat(Suggest.nearest("abc", List.of("abd", "abx", "abc"))).contains("abc");
    assertThat(Suggest.nearest("abc", List.of("abd", "abx"))).contains("abd");
    String page = "a".repeat(200);
    assertThat(Suggest.nearest(page, List.of(page))).contains(page);
    assertThat(Suggest.nearest(page + "a", List.of(page + "a"))).isEmpty();
    assertThat(Suggest.hint("ax", List.of("ab"))).isEqualTo("; did you mean ab?");
    assertThat(Suggest.hint("xy", List.of("ab"))).isEmpty();
    assertThat(Suggest.nearest("a", List.of())).isEqualTo(Optional.empty());
  }
}
