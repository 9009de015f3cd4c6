package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Whoever reads the README gets in two clicks to where a question is answered with a command. A
 * click follows a link of a page to a heading, or to a whole page; what is there is what stands
 * under that heading, and its links are the next clicks.
 */
final class TwoClicksTest {
  private static final Map<String, String> TEXTS = new House().texts();
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s:]+\\.md)(?:#([\\w-]+))?\\)");
  private static final Pattern OUTPUT = Pattern.compile("(?ms)^```.*?^```$");
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```(?:sh|console)$(.*?)^```$");

  /**
   * What a link leads to.
   *
   * @param page from the root on
   * @param anchor of a heading, or empty for the whole page
   */
  private record Place(String page, String anchor) {
    /** The sections of the place, each a heading and what stands under it. */
    List<String> sections() {
      List<String> sections = TwoClicksTest.sections(TEXTS.getOrDefault(page, ""));
      return anchor.isEmpty()
          ? sections
          : sections.stream().filter(s -> House.anchor(heading(s)).equals(anchor)).toList();
    }
  }

  private static String heading(String section) {
    return section.lines().findFirst().orElse("").replaceFirst("^#+ ", "");
  }

  /** Each heading of a page with its text down to the next of the same level or above. */
  private static List<String> sections(String page) {
    String plain =
        OUTPUT
            .matcher(page)
            .replaceAll(b -> Matcher.quoteReplacement(b.group().replaceAll("(?m)^#", "-")));
    List<String> sections = new ArrayList<>();
    Matcher heading = Pattern.compile("(?m)^(#+) .*$").matcher(plain);
    while (heading.find()) {
      Matcher next =
          Pattern.compile("(?m)^#{1," + heading.group(1).length() + "} ")
              .matcher(plain.substring(heading.end()));
      int end = next.find() ? heading.end() + next.start() : page.length();
      sections.add(page.substring(heading.start(), end));
    }
    return sections;
  }

  private static Set<Place> links(Place from) {
    Set<Place> places = new LinkedHashSet<>();
    Matcher link = LINK.matcher(String.join("\n", from.sections()));
    while (link.find()) {
      Path folder = Optional.ofNullable(Path.of(from.page()).getParent()).orElse(Path.of(""));
      String page = folder.resolve(link.group(1)).normalize().toString();
      places.add(new Place(page, Optional.ofNullable(link.group(2)).orElse("")));
    }
    return places;
  }

  private static Set<Place> within(int clicks) {
    Set<Place> reached = new LinkedHashSet<>(Set.of(new Place("README.md", "")));
    for (int i = 0; i < clicks; i++) {
      for (Place place : List.copyOf(reached)) {
        reached.addAll(links(place));
      }
    }
    reached.remove(new Place("README.md", ""));
    return reached;
  }

  /** Whether a section is headed so and has a block, which GuidesTest runs, with such a command. */
  private static boolean answers(Place place, Pattern heading, Pattern command) {
    return place.sections().stream()
        .filter(section -> heading.matcher(heading(section)).find())
        .flatMap(section -> BLOCK.matcher(section).results())
        .anyMatch(block -> command.matcher(block.group(1)).find());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1 | two nodes | kernbench run .* --topology two-nodes.yaml",
        "1 | Write a kernel | kernbench run MyBench.java",
        "1 | Run it first | kernbench .*StarAllReduce",
        "1 | Sweep over | kernbench sweep",
        "1 | One run, explained | kernbench explain",
        "1 | Compare with measured | kernbench validate",
        "1 | What is modelled, and what is not | kernbench run",
      })
  void question_inSoManyClicks_isAnsweredWithACommand(int clicks, String heading, String command) {
    Pattern asked = Pattern.compile(heading);
    Pattern wanted = Pattern.compile(command);

    assertThat(within(clicks)).anyMatch(place -> answers(place, asked, wanted));
  }

  /** The search does not find what is not there, nor what is three clicks away. */
  @Test
  void question_thatNoPageAnswers_isNotFound() {
    Set<Place> places = within(2);
    Pattern any = Pattern.compile(".*");

    assertThat(places.size()).isGreaterThan(30);
    assertThat(places).noneMatch(p -> answers(p, any, Pattern.compile("kernbench fly")));
    assertThat(places)
        .noneMatch(p -> answers(p, Pattern.compile("No such heading"), any))
        .doesNotContain(new Place("docs/cookbook.md", "no-such-heading"));
    assertThat(within(1)).doesNotContain(new Place("docs/validation/fabric.md", ""));
    assertThat(places).contains(new Place("docs/validation/fabric.md", ""));
  }

  @Test
  void readme_isShort() {
    assertThat(TEXTS.get("README.md").lines().count()).isLessThanOrEqualTo(120);
  }
}
