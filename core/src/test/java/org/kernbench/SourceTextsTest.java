package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * How texts stand in the sources of the product: messages as formats, Javadoc that says it itself.
 */
final class SourceTextsTest {
  /** A line that goes on with a sum of texts: a format or a text block is meant (ADR 0090). */
  private static final Pattern SUM = Pattern.compile("(?m)^\\s*\\+ \"");

  /** A comment that sends its reader to another one, without saying to which. */
  private static final Pattern SAME = Pattern.compile("/\\*\\*\\s+(\\* )?The same\\b");

  @Test
  void textsOfSeveralLines_areFormatsOrTextBlocks() {
    assertThat(found(SUM)).isEmpty();
    assertThat(SUM.matcher("error(\n    \"a\"\n        + \" b\");").find()).isTrue();
    assertThat(SUM.matcher("long all = a\n    + b;").find()).isFalse();
  }

  @Test
  void javadoc_saysWhatItMeans() {
    assertThat(found(SAME)).isEmpty();
    assertThat(SAME.matcher("/** The same in feet. */").find()).isTrue();
    assertThat(SAME.matcher("/**\n   * The same in feet.\n */").find()).isTrue();
  }

  /** Files of the product and lines in which a pattern begins. */
  private static List<String> found(Pattern pattern) {
    List<String> found = new ArrayList<>();
    new House()
        .texts()
        .forEach((path, text) -> {
          if (path.startsWith("core/src/main/java/")) {
            Matcher matcher = pattern.matcher(text);
            while (matcher.find()) {
              long line = text.substring(0, matcher.start()).lines().count() + 1;
              found.add(path + ":" + line);
            }
          }
        });
    return found;
  }
}
