package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.config.UsageException;

/**
 * Which classes of a user's files are benches, which of them is meant, and what tells code apart.
 */
final class UserClassesTest {
  private static final String BENCH =
      """
      %s implements org.kernbench.eval.Bench {
        %s
        public String name() { return "%s"; }
        public String description() { return "d"; }
        public java.util.List<org.kernbench.eval.Param<?>> params() { return java.util.List.of(); }
        public org.kernbench.eval.Outcome run(org.kernbench.eval.BenchContext c) { return null; }
      }
      """;

  @TempDir private Path directory;

  private Path write(String file, String... classes) throws IOException {
    return Files.writeString(directory.resolve(file), String.join("\n", classes));
  }

  private static String bench(String declaration, String body, String name) {
    return BENCH.formatted(declaration, body, name);
  }

  @Test
  void benchOf_severalInAFile_isThatNamedLikeTheFile() throws IOException {
    Path file =
        write(
            "Own.java",
            bench("class Another", "", "first"),
            bench("class Own", "", "mine"),
            bench("abstract class Base", "", "base"),
            bench("class Made", "Made(int size) {}", "made"));
    UserClasses classes = UserClasses.load(List.of(file));
    assertThat(classes.benchOf(file).name()).isEqualTo("mine");
    assertThat(classes.benches()).extracting(Bench::name).containsExactly("first", "mine");
    assertThat(classes.programsOf(file))
        .extracting(Class::getSimpleName)
        .containsExactly("Own", "Another", "Base", "Made");
  }

  @Test
  void benchOf_severalOfOtherNames_asksWhich() throws IOException {
    Path file = write("Own.java", bench("class A", "", "first"), bench("class B", "", "second"));
    UserClasses classes = UserClasses.load(List.of(file));
    assertThatThrownBy(() -> classes.benchOf(file))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            file
                + ": holds 2 benches, first, second; name one with --bench NAME --class-path "
                + file);
  }

  @Test
  void load_aClassThatCannotStart_saysWhy() throws IOException {
    Path fails =
        write("Own.java", bench("class Own", "Own() { throw new RuntimeException(\"no\"); }", "x"));
    assertThatThrownBy(() -> UserClasses.load(List.of(fails)))
        .isInstanceOf(UsageException.class)
        .hasMessage(fails + ": class Own failed to start: no");
    Path early =
        write(
            "Own.java", bench("class Own", "static int zero = 1 / Integer.parseInt(\"0\");", "x"));
    assertThatThrownBy(() -> UserClasses.load(List.of(early)))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith(early + ": class Own cannot be loaded: ")
        .hasMessageContaining("/ by zero");
  }

  /** Names and contents of all files of a directory, and where they lie in it. */
  @Test
  void hash_ofADirectory_changesWithEachFile() throws IOException {
    Path classes = Files.createDirectories(directory.resolve("classes/inner"));
    Path first = Files.writeString(classes.resolve("a"), "one");
    String before = hash();
    assertThat(before).isNotEmpty();
    assertThat(hash()).isEqualTo(before);
    Files.writeString(first, "two");
    String other = hash();
    assertThat(other).isNotEqualTo(before);
    Files.writeString(first, "one");
    assertThat(hash()).isEqualTo(before);
    Files.move(first, directory.resolve("classes/a"));
    assertThat(hash()).isNotIn(before, other);
    assertThat(UserClasses.load(List.of()).hash()).isEmpty();
  }

  private String hash() {
    return UserClasses.load(List.of(directory.resolve("classes"))).hash();
  }
}
