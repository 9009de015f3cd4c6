package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the README and the guides to explanations and layouts show is what the program does: each
 * command of a {@code console} block is run and its output compared; speed and line numbers are
 * not. Pipes into {@code sed -n A,Bp} are followed. {@code -Dgolden.update=true} rewrites the
 * outputs and the figures.
 */
final class ReadmeTest {
  private static final Path ROOT = Path.of(System.getProperty("basedir", "."), "..");

  /** What a built jar says; classes outside of one have no version. */
  private static final String VERSION = "0.1.0";

  private static final String PROMPT = "$ ./kernbench ";
  private static final Pattern SED = Pattern.compile("(.*) \\| sed -n (\\d+),(\\d+)p");
  private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|(\\S+)");

  @ParameterizedTest
  @ValueSource(strings = {"README.md", "docs/explain-guide.md", "docs/layout-guide.md"})
  void consoleBlocks_commands_printWhatIsShown(String page) throws IOException {
    Path file = ROOT.resolve(page);
    List<String> shown = Files.readAllLines(file);
    List<String> real = new ArrayList<>();
    boolean inBlock = false;
    boolean inOutput = false;
    for (String line : shown) {
      if (line.startsWith("```")) {
        inBlock = line.equals("```console");
        inOutput = false;
      }
      if (inBlock && line.startsWith(PROMPT)) {
        real.add(line);
        real.addAll(outputOf(line.substring(PROMPT.length())));
        inOutput = true;
      } else if (!inOutput) {
        real.add(line);
      }
    }
    if (Boolean.getBoolean("golden.update")) {
      Files.writeString(file, String.join("\n", real) + "\n");
      return;
    }
    assertThat(real.stream().map(ReadmeTest::masked))
        .as("%s (-Dgolden.update=true rewrites it)", page)
        .isEqualTo(shown.stream().map(ReadmeTest::masked).toList());
  }

  @Test
  void explainGuide_showsTheDifferenceThatIsTested() throws IOException {
    assertThat(Files.readString(ROOT.resolve("docs/explain-guide.md")))
        .contains(Files.readString(ROOT.resolve("core/src/test/resources/golden/output/diff.txt")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"tray", "sip", "cube"})
  void figure_ofTheDefaultMachine_isWhatDiagramDraws(String view) throws IOException {
    Path figure = ROOT.resolve("docs/figures/sip-2026-" + view + ".svg");
    String drawn = Session.of("machine", "diagram", "--view", view).out();
    if (Boolean.getBoolean("golden.update")) {
      Files.writeString(figure, drawn);
    }
    assertThat(Files.readString(figure)).isEqualToNormalizingNewlines(drawn);
  }

  private static List<String> outputOf(String command) {
    Matcher sed = SED.matcher(command);
    boolean piped = sed.matches();
    List<String> words = new ArrayList<>();
    Matcher word = WORD.matcher(piped ? sed.group(1) : command);
    while (word.find()) {
      words.add(word.group(1) != null ? word.group(1) : word.group(2));
    }
    Session session = Session.of(words.toArray(String[]::new));
    String released =
        session.out().replace("(kernbench development,", "(kernbench " + VERSION + ",");
    List<String> lines = (released + session.err()).lines().toList();
    return piped
        ? lines.subList(
            Integer.parseInt(sed.group(2)) - 1,
            Math.min(lines.size(), Integer.parseInt(sed.group(3))))
        : lines;
  }

  private static String masked(String line) {
    return line.replaceAll("\\.java:\\d+", ".java:LINE")
        .replaceAll(" events in [0-9,]+ ms", " events in MASKED ms")
        .replaceAll("[0-9]\\.[0-9]+e-1[0-9]", "ROUND-OFF")
        .replaceAll(", products by vector-\\d+", "")
        .replaceAll(" +", " ")
        .stripTrailing();
  }
}
