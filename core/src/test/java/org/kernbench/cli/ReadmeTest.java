package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the README and the pages next to it show and say beside their commands, which {@link
 * GuidesTest} runs: figures, the kernel that the first run went through, scripts, where links lead.
 */
final class ReadmeTest {
  private static final Path ROOT = Path.of(System.getProperty("basedir", "."), "..");
  private static final Pattern KERNEL_LINE = Pattern.compile("(\\w+)\\.java:\\d+");
  private static final Pattern STEP = Pattern.compile("(?ms)^5\\. .*?(?=^6\\. )");

  @Test
  void explainGuide_showsTheDifferenceThatIsTested() throws IOException {
    assertThat(Files.readString(ROOT.resolve("docs/explain-guide.md")))
        .contains(Files.readString(ROOT.resolve("core/src/test/resources/golden/output/diff.txt")));
  }

  /** The kernel that the path of one run names is the one whose lines the first run shows. */
  @Test
  void pathOfOneRun_kernelsItNames_areThoseThatTheFirstRunShows() throws IOException {
    String readme = Files.readString(ROOT.resolve("README.md"));
    List<String> shown = all(KERNEL_LINE, readme.substring(0, readme.indexOf("## Where to go")));
    Matcher step = STEP.matcher(readme);
    assertThat(step.find()).isTrue();
    String kernels = step.group().substring(step.group().indexOf("The kernel is"));
    List<String> named = all(Pattern.compile("`ccl/algorithms/(\\w+)`"), kernels);
    assertThat(named).contains(shown.getFirst()).allMatch(shown::contains);
  }

  /**
   * A virtual machine that runs the first command loads every class that the path of one run names,
   * the first of steps 1 to 4 in their order; later ones are made when the machine is opened.
   */
  @Test
  void pathOfOneRun_filesItNames_takePartInThatOrder(@TempDir Path folder) throws Exception {
    Path log = folder.resolve("loaded.txt");
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-Xlog:class+load:file=" + log,
            "-cp",
            System.getProperty("java.class.path"),
            Main.class.getName(),
            "run",
            "--bench",
            "ccl-allreduce");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("shown.txt").toFile())
            .start();
    assertThat(process.waitFor()).isZero();
    List<String> loaded = all(Pattern.compile("org\\.kernbench\\.(\\S+) "), Files.readString(log));
    String readme = Files.readString(ROOT.resolve("README.md"));
    String path = readme.substring(readme.indexOf("## The path of one run"));
    List<String> named =
        all(
                Pattern.compile("`([a-z]+/[\\w/]+)`"),
                path.replace("`core/src/main/java/org/kernbench`", ""))
            .stream()
            .map(file -> file.replace('/', '.'))
            .toList();
    assertThat(named).hasSizeGreaterThan(15).allMatch(loaded::contains);
    List<String> first =
        List.of(
            "cli.RunCommand",
            "eval.Runner",
            "machine.Machines",
            "eval.benches.AllReduceRun",
            "torch.ProcessGroup");
    assertThat(named.stream().filter(first::contains).toList()).isEqualTo(first);
    assertThat(loaded.stream().filter(first::contains).toList()).isEqualTo(first);
  }

  /** The table for developers has every script, and no other. */
  @Test
  void tableForDevelopers_hasEveryScript() throws IOException {
    String page = Files.readString(ROOT.resolve("CONTRIBUTING.md"));
    String table = page.substring(page.indexOf("## Commands"));
    try (Stream<Path> scripts = Files.list(ROOT.resolve("scripts"))) {
      Set<String> names =
          scripts
              .map(script -> script.getFileName().toString())
              .filter(name ->
                  !name.contains(".") && Files.isRegularFile(ROOT.resolve("scripts/" + name)))
              .collect(Collectors.toCollection(TreeSet::new));
      assertThat(new TreeSet<>(all(Pattern.compile("`scripts/([\\w-]+)"), table))).isEqualTo(names);
    }
  }

  @Test
  void tableOfExamples_hasEveryExample() throws IOException {
    Path folder = ROOT.resolve("examples");
    try (Stream<Path> files = Files.walk(folder)) {
      Set<String> names =
          files
              .map(file -> folder.relativize(file).toString())
              .filter(name -> name.endsWith(".java"))
              .collect(Collectors.toCollection(TreeSet::new));
      String page = Files.readString(ROOT.resolve("docs/programs.md"));
      String rows = String.join("\n", page.lines().filter(l -> l.startsWith("| [")).toList());
      assertThat(
              new TreeSet<>(all(Pattern.compile("\\(\\.\\./examples/([\\w/]+\\.java)\\)"), rows)))
          .isEqualTo(names);
    }
  }

  private static List<String> all(Pattern pattern, String text) {
    List<String> found = new ArrayList<>();
    Matcher matcher = pattern.matcher(text);
    while (matcher.find()) {
      found.add(matcher.group(1));
    }
    return found;
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
}
