package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConfigTreeTest {
  private final Problems problems = new Problems();

  private ConfigTree parse(String yaml) {
    return ConfigTree.parse("f.yaml", yaml, problems);
  }

  @Test
  void overlaid_sectionsAndScalars_mergeAndReplace() {
    ConfigTree base = parse("a: {x: 1, y: 2}\nb: 3\n");
    ConfigTree upper = ConfigTree.parse("u.yaml", "a:\n  y: 5\nc: 6\n", problems);
    ConfigTree both = base.overlaid(upper);
    assertThat(both.canonicalText(List.of())).isEqualTo("a.x=1\na.y=5\nb=3\nc=6");
    assertThat(both.positionOf("a.y")).isEqualTo(new Position("u.yaml", 2, 6));
    assertThat(both.positionOf("a.x")).isEqualTo(new Position("f.yaml", 1, 8));
  }

  @Test
  void overridden_pathAndValue_hasThePositionInsideTheOverride() {
    ConfigTree tree = parse("a: {x: 1}\n").overridden(List.of("b=2", "a.x=7"), problems);
    assertThat(tree.canonicalText(List.of())).isEqualTo("a.x=7\nb=2");
    assertThat(tree.positionOf("a.x")).isEqualTo(new Position("--set", 2, 5));
  }

  @Test
  void parse_brokenSyntax_isOneProblemAtItsPlace() {
    parse("a: 1\nb: [1, 2\nc: 3\n");
    assertThat(problems.sorted()).hasSize(1);
    assertThat(problems.sorted().get(0).toString())
        .startsWith("f.yaml:3:")
        .contains("not valid YAML");
  }

  @Test
  void parse_tagsThatNameClasses_createNothing() {
    ConfigTree tree = parse("a: !!java.io.File [x]\nb: !java.lang.Runtime 3\n");
    assertThat(tree.topLevelText("b")).contains("3");
  }

  @Test
  void parse_manyAliases_isRefused() {
    StringBuilder bomb = new StringBuilder("a0: &a0 [x, x]\n");
    for (int i = 1; i < 30; i++) {
      bomb.append("a%d: &a%d [*a%d, *a%d]\n".formatted(i, i, i - 1, i - 1));
    }
    ConfigTree tree = parse(bomb.toString());
    assertThat(tree.topLevelText("a0")).isEmpty();
    assertThat(problems.isEmpty()).isFalse();
  }

  /** Eighteen times twice as many: 36 aliases stand for a quarter of a million values. */
  @Test
  void parse_aliasesThatStandForTooMuch_isOneProblemWhereItBecomesTooMuch() {
    StringBuilder bomb = new StringBuilder("first: 1\na0: &a0 [x, x]\n");
    for (int i = 1; i <= 17; i++) {
      bomb.append("a%d: &a%d [*a%d, *a%d]\n".formatted(i, i, i - 1, i - 1));
    }
    bomb.append("last: {b: *a17, c: *a17}\n");
    ConfigTree tree = parse(bomb.toString());
    assertThat(only()).contains("more than 100000 values (aliases counted each time)");
    assertThat(tree.topLevelText("first")).contains("1");
    assertThat(tree.has("a10")).isTrue();
    assertThat(tree.canonicalText(List.of("a16", "a15"))).startsWith("a0[0]=x\na0[1]=x\n");
    assertThat(tree.has("last")).isFalse();
  }

  /** Each alias is one level of the text, but as deep as what it stands for. */
  @Test
  void parse_aliasesThatNestTooDeeply_isOneProblem() {
    StringBuilder deep = new StringBuilder("a0: &a0 [[[[[[[[[[x]]]]]]]]]]\n");
    for (int i = 1; i <= 45; i++) {
      deep.append("a%d: &a%d [*a%d]\n".formatted(i, i, i - 1));
    }
    ConfigTree tree = parse(deep + "last: 1\n");
    assertThat(only()).startsWith("f.yaml:1:").contains("or 50 levels");
    assertThat(tree.has("a39")).isTrue();
    assertThat(tree.canonicalText(List.of())).contains("[0]=x\n", "[0]=\n");
    assertThat(tree.has("last")).isFalse();
  }

  @Test
  void parse_notAMapping_isAProblem() {
    parse("- 1\n- 2\n");
    assertThat(problems.sorted().get(0).message()).contains("expected keys");
  }

  @Test
  void root_emptyText_reportsEachMissingKeyOnce() {
    ConfigMap root = parse("").root(problems);
    ConfigMap section = root.map("link");
    assertThat(section.bandwidth("bandwidth")).isEqualTo(1);
    section.done();
    root.done();
    assertThat(problems.sorted()).hasSize(1);
    assertThatThrownBy(problems::throwIfAny)
        .isInstanceOf(ConfigException.class)
        .hasMessage("f.yaml:1:1: link: missing; expected a section of keys");
  }

  @Test
  void isClean_problemInsideOrAround_isNotClean() {
    problems.add(new Position("f", 1, 1), "a.b", "wrong");
    assertThat(problems.isClean("a")).isFalse();
    assertThat(problems.isClean("a.b.c")).isFalse();
    assertThat(problems.isClean("a.bc", "b")).isTrue();
  }

  private String only() {
    assertThat(problems.sorted()).hasSize(1);
    return problems.sorted().getFirst().toString();
  }

  @Test
  void parse_duplicateKey_namesBothLinesAndKeepsTheFirst() {
    ConfigTree tree = parse("a:\n  x: 1\n  y: 2\n  x: 3\n");
    assertThat(only()).isEqualTo("f.yaml:4:3: a.x: duplicate key; it already stands in line 2");
    assertThat(tree.canonicalText(List.of())).isEqualTo("a.x=1\na.y=2");
  }

  @Test
  void parse_keyThatIsNoWord_isOneProblemAndNothingIsRead() {
    ConfigTree tree = parse("[a, b]: 1\nc: 2\n");
    assertThat(only()).startsWith("f.yaml:1:1: not valid YAML: ").contains("key");
    assertThat(tree.isEmpty()).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "'a: {b: 1', 'not valid YAML: while parsing a flow mapping, expected'",
    "'a: @b', 'f.yaml:1:4: not valid YAML: while scanning for the next token, found'",
    "'a: b: c', ': not valid YAML: mapping values are not allowed here'"
  })
  void parse_notYaml_saysWhatIsReadIfThatIsKnown_andWhatIsWrong(String text, String said) {
    parse(text + "\n");
    assertThat(only()).contains(said).doesNotContain("null");
  }

  @Test
  void parse_anotherYaml_saysWhichIsExpected() {
    parse("%YAML 7.1\n---\na: 1\n");
    assertThat(only()).isEqualTo("f.yaml:1:1: says %YAML 7.1; expected 1.2, or no such line");
  }

  @Test
  void parse_characterThatYamlForbids_isAProblemOfTheFirstLine() {
    parse("a: \u0000\n");
    assertThat(only()).startsWith("f.yaml:1:1").contains("not valid YAML: ");
  }

  @Test
  void parse_depth_upToFiftyLevels() {
    for (int levels : new int[] {50, 51}) {
      parse("a: " + "[".repeat(levels) + "]".repeat(levels));
      assertThat(problems.isEmpty()).as("%d levels", levels).isEqualTo(levels == 50);
    }
    assertThat(only()).contains("more than 100000 values (aliases counted each time) or 50 levels");
  }

  @Test
  void overridden_listOfSections_isWhatAFileWouldSay() {
    ConfigTree file =
        parse(
            """
            a:
              - {kind: ring, size: 4, ways: [1, 2]}
              - {kind: switch, size: 2}
            b: {}
            """);
    String text = "a=[{kind: ring, size: 4, ways: [1, 2]}, {kind: switch,size: 2}]";
    ConfigTree set = parse("a: 1").overridden(List.of(text, "b={}"), problems);

    assertThat(set.plain()).isEqualTo(file.plain());
    assertThat(parse("a: 1").overridden(List.of("a={x}"), problems).plain())
        .isEqualTo(Map.of("a", "{x}"));
  }

  @Test
  void overridden_withoutPathOrValue_isAProblemAtItsNumber() {
    for (String wrong : List.of("a", "=1", ".a=1", "a.=1", "a..b=1")) {
      Problems own = new Problems();
      ConfigTree tree = parse("a: 1").overridden(List.of("b=2", wrong), own);
      assertThat(own.sorted()).hasSize(1);
      assertThat(own.sorted().getFirst().toString())
          .startsWith("--set:2:1: ")
          .endsWith("got \"" + wrong + "\"; expected path=value, e.g. system.sips.count=8");
      assertThat(tree.canonicalText(List.of())).isEqualTo("a=1\nb=2");
    }
  }

  @Test
  void positionOf_missingKey_isThatOfTheSectionAround() {
    ConfigTree tree = parse("a:\n  b: 1\nl: [p, q]\n");
    assertThat(tree.positionOf("a.c")).isEqualTo(tree.positionOf("a"));
    assertThat(tree.positionOf("a.b.c")).isEqualTo(tree.positionOf("a.b"));
    assertThat(tree.positionOf("x")).isEqualTo(new Position("f.yaml", 1, 1));
    assertThat(tree.topLevelPosition("x")).isEqualTo(new Position("f.yaml", 1, 1));
    assertThat(tree.topLevelPosition("l")).isEqualTo(new Position("f.yaml", 3, 4));
    assertThat(tree.has("a")).isTrue();
    assertThat(tree.has("b")).isFalse();
    assertThat(tree.isEmpty()).isFalse();
    assertThat(tree.without("a").canonicalText(List.of())).isEqualTo("l[0]=p\nl[1]=q");
    assertThat(tree.canonicalText(List.of("l"))).isEqualTo("a.b=1");
    assertThat(tree.topLevelText("a")).isEmpty();
  }

  @Test
  void plain_hasMapsListsAndTextsAsWritten() {
    Problems problems = new Problems();
    ConfigTree tree =
        ConfigTree.parse("f.yaml", "a: 1\nb:\n  c: [x, {d: 2.50}]\n  e: 'true'\n", problems);

    assertThat(tree.plain())
        .isEqualTo(
            Map.of("a", "1", "b", Map.of("c", List.of("x", Map.of("d", "2.50")), "e", "true")));
    assertThat(problems.sorted()).isEmpty();
  }

  @Test
  void text_ofAsManyCharactersAsAllowed_isRead_andOneMoreIsNot() {
    String comment = "a: 1\n#" + "x".repeat((1 << 20) - 6);
    Problems problems = new Problems();
    assertThat(ConfigTree.parse("f.yaml", comment, problems).plain()).isEqualTo(Map.of("a", "1"));
    assertThat(problems.sorted()).isEmpty();

    ConfigTree.parse("f.yaml", comment + "x", problems);

    assertThat(problems.sorted().getFirst().toString())
        .isEqualTo("f.yaml:1:1: has 1048577 characters; expected at most 1048576");
  }

  /**
   * One value more than is allowed is refused, wherever it stands, and none is dropped in silence.
   */
  @Test
  void values_ofASection_areReadUpToTheLimit_andOneMoreIsAProblem() {
    for (int count : new int[] {99_990, 100_100}) {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < count; i++) {
        text.append("k").append(i).append(": 1\n");
      }
      Problems found = new Problems();
      ConfigTree tree = ConfigTree.parse("f.yaml", text.toString(), found);

      assertThat(found.isEmpty()).as("%s values", count).isEqualTo(count < 100_000);
      assertThat(tree.has("k" + (count - 1))).isEqualTo(count < 100_000);
    }
  }

  /** A word is no place in a list, and neither is a number behind its end. */
  @Test
  void placeInAList_isANumberWithinIt() {
    Problems found = new Problems();
    ConfigTree tree = ConfigTree.parse("f.yaml", "a: [x, {b: y}]\n", found);

    Map<String, Object> first = Map.of("a", List.of("z", Map.of("b", "y")));
    assertThat(overridden(tree, "a[0]=z")).isEqualTo(first);
    assertThat(overridden(tree, "a.0=z")).isEqualTo(first);
    assertThat(overridden(tree, "a[1].b=z")).isEqualTo(Map.of("a", List.of("x", Map.of("b", "z"))));
    for (String wrong : List.of("a[2]=z", "a[first]=z", "a.x=z")) {
      assertThat(overridden(tree, wrong)).as(wrong).isNotEqualTo(first);
    }
  }

  @Test
  void overridden_valueInBrackets_isAList() {
    Problems found = new Problems();
    ConfigTree tree = ConfigTree.parse("f.yaml", "a: x\n", found);

    assertThat(overridden(tree, "a=[1, 2 GB/s,3]"))
        .isEqualTo(Map.of("a", List.of("1", "2 GB/s", "3")));
    assertThat(overridden(tree, "a=[]")).isEqualTo(Map.of("a", List.of()));
    assertThat(overridden(tree, "a=[")).isEqualTo(Map.of("a", "["));
  }

  private static Map<String, Object> overridden(ConfigTree tree, String change) {
    return tree.overridden(List.of(change), new Problems()).plain();
  }
}
