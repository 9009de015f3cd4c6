package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The table of keys in {@code docs/results.md} has the words and keys that results have. */
final class ResultsGuideTest {
  private static final Path BASE = Path.of(System.getProperty("basedir", "."));
  private static final Pattern CODE = Pattern.compile("`([a-z_]+)[^`]*`");
  private static final Pattern KEY = Pattern.compile("(?m)^  \"([a-z_]+)\":");

  @Test
  void statuses_areAllThere() throws IOException {
    Set<String> statuses = new TreeSet<>();
    Arrays.stream(RunResult.Status.values())
        .forEach(status -> statuses.add(status.name().toLowerCase(Locale.ROOT)));
    String row = page().lines().filter(l -> l.startsWith("| `status` |")).findFirst().orElseThrow();
    assertThat(all(CODE, row.substring("| `status` |".length()))).isEqualTo(statuses);
  }

  @Test
  void keysOfResults_areAllThere() throws IOException {
    Set<String> documented = all(CODE, page());
    for (String golden :
        List.of("ccl-allreduce", "ccl-latency-sweep", "hello-send", "wrong-values")) {
      Path file = BASE.resolve("src/test/resources/golden/output/" + golden + ".json");
      assertThat(documented).as(golden).containsAll(all(KEY, Files.readString(file)));
    }
  }

  private static String page() throws IOException {
    return Files.readString(BASE.resolve("../docs/results.md"));
  }

  private static Set<String> all(Pattern pattern, String text) {
    Set<String> found = new TreeSet<>();
    Matcher matcher = pattern.matcher(text);
    while (matcher.find()) {
      found.add(matcher.group(1));
    }
    return found;
  }
}
