package org.kernbench.eval.explain;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The tables of causes in the guides have the causes that there are, and no others. */
final class CausesInGuidesTest {
  private static final Path DOCS = Path.of(System.getProperty("basedir", "."), "../docs");
  private static final Pattern NAME = Pattern.compile("`([^`]+)`");

  @ParameterizedTest
  @ValueSource(strings = {"results.md", "explain-guide.md"})
  void table_ofCauses_hasEachAndNoOther(String page) throws IOException {
    Set<String> causes = new TreeSet<>(Set.of("contention")); // serialisation of other transfers
    Arrays.stream(PathCause.values()).forEach(cause -> causes.add(cause.text()));
    assertThat(table(Files.readString(DOCS.resolve(page)))).isEqualTo(causes);
  }

  /** First cells of the table whose head begins with the word cause. */
  private static Set<String> table(String page) {
    Set<String> names = new TreeSet<>();
    int head = page.indexOf("\n| cause |");
    assertThat(head).isNotNegative();
    for (String row :
        page.substring(head + 1).lines().skip(2).takeWhile(l -> l.startsWith("|")).toList()) {
      Matcher name = NAME.matcher(row.split("\\|")[1]);
      while (name.find()) {
        names.add(name.group(1));
      }
    }
    return names;
  }
}
