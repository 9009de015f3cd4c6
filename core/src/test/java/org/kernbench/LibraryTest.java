package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import org.junit.jupiter.api.Test;

/** kernbench as a library of other projects: what {@code docs/releases.md} shows. */
final class LibraryTest {
  private static String read(String name) throws IOException {
    return Files.readString(House.ROOT.resolve(name));
  }

  private static String one(String pattern, String text) {
    Matcher found = Pattern.compile(pattern).matcher(text);
    assertThat(found.find()).as(pattern).isTrue();
    return found.group(1);
  }

  private static String block(String fence) throws IOException {
    return one("(?s)```" + fence + "\\R(.*?)```", read("docs/releases.md"));
  }

  /** The two projects depend on this version of this artefact; pages name it and no other. */
  @Test
  void version_isTheSameEverywhere() throws IOException {
    String version = one("<version>([\\d.]+)</version>", read("core/pom.xml"));

    assertThat(read("examples/library/pom.xml"))
        .contains(
            "<groupId>org.kernbench</groupId><artifactId>kernbench</artifactId><version>"
                + version
                + "</version>");
    assertThat(read("examples/library/build.gradle.kts"))
        .contains("\"org.kernbench:kernbench:" + version + "\"");
    assertThat(read("docs/releases.md")).contains("kernbench-" + version + ".jar");
    assertThat(read("README.md")).contains("(kernbench " + version + ", mode full)");
    assertThat(one("\n## ([\\d.]+)", read("CHANGELOG.md"))).isEqualTo(version);
    for (String module : List.of(".", "bench", "cluster", "site")) {
      String pom = read(module + "/pom.xml");
      assertThat(one("<version>([\\d.]+)</version>", pom)).as(module).isEqualTo(version);
    }
    assertThat(read("examples/library/HowLong.java")).contains("package library;");
  }

  /** What Maven Central asks of a POM. */
  @Test
  void pom_hasWhatARepositoryAsksFor() throws IOException {
    assertThat(read("pom.xml") + read("core/pom.xml"))
        .contains("<licenses>", "<scm>", "<developers>", "<organization>", "<url>")
        .contains("<description>");
  }

  /** The archive's launcher takes the options of the virtual machine from the launcher here. */
  @Test
  void release_takesTheLaunchersOptions() throws IOException {
    assertThat(read("scripts/release")).contains("^jvm_flags='").doesNotContain("-XX:FreqInline");
    assertThat(one("(?s)jvm_flags='\\R(.*?)'", read("kernbench"))).contains("-XX:FreqInlineSize");
  }

  @Test
  void jshell_linesOfThePage_giveWhatItShows() throws IOException {
    List<String> given = new ArrayList<>();
    try (JShell shell = JShell.builder().executionEngine("local").build()) {
      shell.eval("import java.util.*;");
      for (String path : System.getProperty("java.class.path").split(":")) {
        shell.addToClasspath(path);
      }
      SourceCodeAnalysis analysis = shell.sourceCodeAnalysis();
      String rest = block("java jshell");
      while (!rest.isBlank()) {
        SourceCodeAnalysis.CompletionInfo next = analysis.analyzeCompletion(rest);
        for (SnippetEvent event : shell.eval(next.source())) {
          assertThat(event.status()).as(next.source()).isEqualTo(Snippet.Status.VALID);
          assertThat(event.exception()).as(next.source()).isNull();
          if (event.snippet().subKind() == Snippet.SubKind.TEMP_VAR_EXPRESSION_SUBKIND) {
            given.add(event.value());
          }
        }
        rest = next.remaining();
      }
    }
    assertThat(String.join("\n", given) + "\n").isEqualTo(block("text jshell"));
  }
}
