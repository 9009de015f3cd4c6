package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

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
}
