package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The guides to collectives, English and Korean, quote {@code examples/star/StarAllReduce.java}
 * line by line: each line of theirs is in it, but for spaces, braces, {@code @Override} and
 * remarks.
 */
final class AuthorGuideTest {
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```java\\n(.*?)^```$");

  @ParameterizedTest
  @ValueSource(strings = {"collective-author-guide.md", "collective-author-guide.ko.md"})
  void everyLineQuoted_isInTheExample(String guide) throws IOException {
    String example = bare(Files.readString(House.ROOT.resolve("examples/star/StarAllReduce.java")));
    Matcher block = BLOCK.matcher(Files.readString(House.ROOT.resolve("docs/" + guide)));
    int lines = 0;
    while (block.find()) {
      for (String line : block.group(1).lines().toList()) {
        assertThat(example).as("%s: %s", guide, line).contains(bare(line));
        lines++;
      }
    }
    assertThat(lines).isGreaterThan(20);
  }

  private static String bare(String java) {
    return java.replaceAll("(?m)//.*$|@Override|[\\s{}]", "");
  }
}
