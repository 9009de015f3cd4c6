package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** The order of problems, and which keys they concern. */
final class ProblemsTest {
  private final Problems problems = new Problems();

  private void add(String file, int line, int column, String path) {
    problems.add(new Position(file, line, column), path, "wrong");
  }

  @Test
  void sorted_byFirstFileThenLineThenColumn() {
    add("z", 2, 1, "a");
    add("y", 1, 1, "b");
    add("z", 1, 9, "c");
    add("z", 1, 2, "d");
    assertThat(problems.sorted().stream().map(Problem::path)).containsExactly("d", "c", "a", "b");
  }

  @Test
  void isClean_ofWhatIsInsideAroundOrBeside() {
    add("f", 1, 1, "system.sips");
    assertThat(problems.isClean("system.sips")).isFalse();
    assertThat(problems.isClean("system.sips.count")).isFalse();
    assertThat(problems.isClean("system")).isFalse();
    assertThat(problems.isClean("system.sip", "system.sips2", "pe")).isTrue();
    assertThat(problems.isClean("pe", "system.sips.w")).isFalse();
  }

  @Test
  void throwIfAny_onlyIfThereAre() {
    problems.throwIfAny();
    assertThat(problems.isEmpty()).isTrue();
    assertThat(problems.sorted()).isEmpty();
    add("f", 3, 4, "k");
    assertThatThrownBy(problems::throwIfAny)
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("f:3:4: k: wrong");
  }
}
