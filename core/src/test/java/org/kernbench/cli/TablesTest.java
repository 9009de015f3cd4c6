package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tables that are cut say how much is left out, and still sum to the whole: against the same tables
 * with all rows.
 */
final class TablesTest {
  private static final Pattern NUMBER = Pattern.compile("[-+]?[\\d,]+\\.\\d{3} ns");

  @TempDir private static Path directory;
  private static String a;
  private static String b;

  @BeforeAll
  static void run() {
    a = written("a");
    b = written("b", "--set", "cube.hbm.latency=60 ns", "--set", "pe.dma.setup=30 ns");
  }

  private static String written(String name, String... options) {
    List<String> words = new ArrayList<>();
    words.addAll(List.of("run", "ccl-allreduce", "--topology", "tiny", "--param", "n_elem=1000"));
    words.addAll(List.of("--out", directory.resolve(name).toString()));
    words.addAll(List.of(options));
    Session session = Session.of(words.toArray(String[]::new));
    assertThat(session.exitCode()).as(session.err()).isZero();
    return directory.resolve(name).toString();
  }

  private static String out(String... words) {
    Session session = Session.of(words);
    assertThat(session.exitCode()).as(session.err()).isZero();
    return session.out();
  }

  /** The lines below a heading, without the head of the table. */
  private static List<String> rows(String text, String heading) {
    String behind = text.substring(text.indexOf("\n" + heading + "\n") + heading.length() + 2);
    int end = behind.indexOf("\n\n");
    return (end < 0 ? behind : behind.substring(0, end)).lines().skip(1).toList();
  }

  /** The times of a row, in picoseconds. */
  private static List<Long> times(String row) {
    List<Long> times = new ArrayList<>();
    Matcher numbers = NUMBER.matcher(row);
    while (numbers.find()) {
      String ns = numbers.group().replace(" ns", "").replace(",", "").replace("+", "");
      times.add(new BigDecimal(ns).movePointRight(3).longValueExact());
    }
    return times;
  }

  private static List<Long> sum(List<String> rows) {
    List<Long> sum = new ArrayList<>(times(rows.getFirst()));
    for (String row : rows.subList(1, rows.size())) {
      List<Long> more = times(row);
      sum.replaceAll(x -> x + more.removeFirst());
    }
    return sum;
  }

  private static int changed(List<String> rows) {
    return (int) rows.stream().filter(row -> times(row).getFirst() != 0).count();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 100})
  void diff_ofSoManyRows_saysHowManyMore_andSums(int rows) {
    String all = out("diff", a, b, "--rows", "0");
    String some = out("diff", a, b, "--rows", Integer.toString(rows));

    assertThat(some.lines().limit(3)).isEqualTo(all.lines().limit(3).toList());
    for (String heading : List.of("by resource and cause", "by place and cause")) {
      List<String> whole = rows(all, heading);
      List<String> parts = whole.subList(0, whole.size() - 1);
      assertThat(times(whole.getLast())).isEqualTo(sum(parts));

      List<String> cut = rows(some, heading);
      int shown = Math.min(rows, changed(parts));
      assertThat(cut).hasSize(shown + 2);
      assertThat(sum(cut.subList(0, shown + 1))).isEqualTo(times(cut.getLast()));
      assertThat(times(cut.getLast())).isEqualTo(times(whole.getLast()));
      String word = shown == changed(parts) ? " unchanged)" : " more)";
      assertThat(cut.get(shown)).contains("(" + (parts.size() - shown) + word);
    }
  }

  @Test
  void diff_ofMoreConditionsThanRows_saysHowManyMore() {
    assertThat(out("diff", a, b, "--rows", "1"))
        .contains("  … and 1 conditions (--rows 0)\n")
        .doesNotContain("pe.dma.setup  ");
    assertThat(out("diff", a, b, "--rows", "2")).doesNotContain("…");
    assertThat(out("diff", a, a)).contains("\nno condition differs\n");
    assertThat(out("diff", a, a)).contains("B - A       +0.000 ns, +0.00 %\n");
  }

  /** The change against the first run, which the sum has too. */
  @Test
  void diff_saysThePercentage() {
    String text = out("diff", a, b, "--rows", "0");
    List<Long> sum = times(rows(text, "by place and cause").getLast());

    double percent = 100.0 * sum.get(0) / sum.get(1);
    assertThat(text).contains(String.format(java.util.Locale.ROOT, ", %+.2f %%\n", percent));
    assertThat(sum.get(0)).isEqualTo(sum.get(2) - sum.get(1));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void explain_ofSoManyRows_saysHowManyMore_andSums(int rows) {
    String all = out("explain", a, "--rows", "0");
    String some = out("explain", a, "--rows", Integer.toString(rows));

    for (String heading :
        List.of(
            "critical path, by cause and resource",
            "critical path, by cause, place and kernel line")) {
      List<String> whole = rows(all, heading);
      List<String> cut = rows(some, heading);
      assertThat(cut).hasSize(rows + 1);
      for (int i = 0; i < rows; i++) {
        assertThat(cut.get(i).strip().replaceAll(" +", " "))
            .startsWith(whole.get(i).strip().replaceAll(" +", " ").split(" %")[0].substring(0, 1))
            .endsWith(whole.get(i).strip().replaceAll(" +", " ").replaceFirst(".*? % ", ""));
      }
      assertThat(sum(cut)).isEqualTo(sum(whole));
      assertThat(cut.getLast()).contains("(" + (whole.size() - rows) + " more)");
      assertThat(percent(cut)).isEqualByComparingTo("100");
      assertThat(percent(whole)).isEqualByComparingTo("100");
    }
    List<String> waits = rows(all, "who waited, between issue and start, over all operations");
    assertThat(rows(some, "who waited, between issue and start, over all operations"))
        .hasSize(rows + 1)
        .last()
        .isEqualTo("  … and " + (waits.size() - rows) + " kinds of waits (--rows 0)");
    assertThat(rows(some, "links"))
        .hasSize(rows + 1)
        .last()
        .isEqualTo("  … and " + (rows(all, "links").size() - rows) + " links (--rows 0)");
    assertThat(all).doesNotContain("…");
  }

  private static BigDecimal percent(List<String> rows) {
    return rows.stream()
        .map(row -> new BigDecimal(row.strip().split(" ")[0]))
        .reduce(BigDecimal.ZERO, BigDecimal::add);
  }
}
