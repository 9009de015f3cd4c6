package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whatever code, pages and decisions cite is there: see {@link Citations}. */
final class CitationsTest {
  private static final House HOUSE = new House();
  private static final Pattern CHANGES =
      Pattern.compile("(?:[Ss]upersedes|(?<!is )[Rr]eplaces|Changes|Mends) ([^.;]*)");
  private static final Pattern INDEXED =
      Pattern.compile("(?m)^\\| \\[(\\d{4})\\]\\((\\S+)\\) \\| (.*) \\|$");

  @Test
  void everyFile_citesOnlyWhatIsThere() {
    List<String> problems = new ArrayList<>();
    HOUSE.texts().forEach((file, text) -> problems.addAll(Citations.problems(HOUSE, file, text)));
    assertThat(problems).isEmpty();
  }

  @Test
  void everyPage_testMethodsWithoutTheirClass_areSomewhere() {
    List<String> missing = new ArrayList<>();
    HOUSE
        .texts()
        .forEach((file, text) -> {
          for (String method : file.endsWith(".md") ? Citations.methods(text) : List.<String>of()) {
            if (!HOUSE.hasTestMethod(method)) {
              missing.add(file + ": " + method);
            }
          }
        });
    assertThat(missing).isEmpty();
  }

  /** Each kind of citation, once wrong: a check that finds nothing would pass everything. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "docs/x.md | as in ADR 0999 | no such decision",
        "docs/x.md | ADRs [53](../scripts/gone) | no such file",
        "docs/adr/0001-x.md | superseded by 0999 | no such decision",
        "core/X.java | /** As {@code docs/spec/collectives.md} O99. */ | no such section or label",
        "core/X.java | /** As {@code docs/spec/megatron.md} 4.2 and 4.9. */ | 4.9: no such section",
        "core/X.java | /** As {@code docs/spec/fabric.md} 3. */ | no such page",
        "core/X.java | /** As {@code gemm.md}. */ | no such page",
        "core/X.java | /** The ring, O1. */ | say of what",
        "core/X.java | /** See section 4. */ | no such section here",
        "core/X.java | /** As the specification says. */ | not cited",
        "core/X.java | // held by {@code NoSuchTest} | no such test",
        "core/X.java | /** Run scripts/nothing. */ | no such file or folder",
        "docs/x.md | see [there](collectives.md#no-such-heading) | no such heading",
        "docs/x.md | see `RateTest.rate_isWrong` | no such test",
        "docs/x.md | `cli/NoCommand` reads it | no such type in that room",
        "docs/x.md | `sim.NoRate` | no such type in that room",
        "docs/x.md | `NoSuchClass` does | no such type",
        "docs/x.md | `machines/none.yaml` | no such file or folder",
        "docs/x.md | see other-guide.md | no such page",
      })
  void wrongCitation_isFound(String file, String text, String expected) {
    assertThat(Citations.problems(HOUSE, file, text)).singleElement().asString().contains(expected);
  }

  @Test
  void rightCitations_areNone() {
    assertThat(
            Citations.problems(
                HOUSE,
                "core/X.java",
                "/** As {@code docs/spec/megatron.md}\n * 4.2, 4.3 and 10.2, ADR 0019, {@code\n * RateTest}; O1 of"
                    + " {@code docs/spec/collectives.md} O1. */"))
        .isEmpty();
    assertThat(HOUSE.numbers("docs/spec/collectives.md")).contains("4.7", "O1", "O22");
    assertThat(HOUSE.texts().size()).isGreaterThan(500);
  }

  /** An index that leaves one out, or a decision that says not how it is held, is found. */
  @Test
  void decisions_areIndexedByTheirTitles() {
    Map<Integer, String> decisions = HOUSE.decisions();
    List<Integer> indexed = new ArrayList<>();
    Matcher row = INDEXED.matcher(HOUSE.texts().get("docs/adr/README.md"));
    while (row.find()) {
      int number = Integer.parseInt(row.group(1));
      indexed.add(number);
      String file = "docs/adr/" + row.group(2);
      assertThat(decisions.get(number)).isEqualTo(file);
      String title = HOUSE.texts().get(file).lines().findFirst().orElseThrow();
      assertThat(title.replaceFirst("^# 0*\\d+[:.] ", "")).as(file).isEqualTo(row.group(3));
    }
    assertThat(indexed).containsExactlyElementsOf(decisions.keySet());
  }

  /** Whoever reads a decision that another has changed is told of that at its head. */
  @Test
  void decisions_thatOthersChanged_nameThese() {
    List<String> silent = new ArrayList<>();
    HOUSE
        .decisions()
        .forEach((number, file) -> {
          Matcher change = CHANGES.matcher(head(file).replaceAll("\\([^)]*\\)", ""));
          while (change.find()) {
            for (int changed : numbers(change.group(1))) {
              if (!head(HOUSE.decisions().get(changed)).contains("%04d-".formatted(number))) {
                silent.add(file + " changes " + changed + ", whose status does not say so");
              }
            }
          }
        });
    assertThat(silent).isEmpty();
  }

  private static String head(String file) {
    String head = HOUSE.texts().get(file).split("\n## ")[0];
    return head.substring(head.indexOf('\n')).replaceAll("Date: [-0-9]+", "").replace('\n', ' ');
  }

  private static List<Integer> numbers(String words) {
    List<Integer> numbers = new ArrayList<>();
    Matcher number = Pattern.compile("\\b0*([1-9]\\d?)\\b").matcher(words);
    while (number.find()) {
      numbers.add(Integer.parseInt(number.group(1)));
    }
    return numbers;
  }

  /** Status at its beginning; at its end what would notice if it were no longer so. */
  @Test
  void decisions_sayTheirStatusAndNameATest() {
    List<String> without = new ArrayList<>();
    for (String file : HOUSE.decisions().values()) {
      String text = HOUSE.texts().get(file);
      int confirmed = text.indexOf("\nConfirmed by");
      String held = confirmed < 0 ? "" : text.substring(confirmed);
      if (!text.lines().limit(4).anyMatch(line -> line.contains("Status: "))) {
        without.add(file + ": no status in its first lines");
      }
      if (!held.matches("(?s).*(\\b[A-Z]\\w+Test\\b|`scripts/\\w+).*")) {
        without.add(file + ": no line \"Confirmed by\" with a test or a script");
      }
    }
    assertThat(without).isEmpty();
  }
}
