package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.eval.Bench;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machines;

/**
 * Every page for readers, followed to the letter in an empty folder. A block {@code console} shows
 * commands with what they print, which is compared; speed and line numbers are not. A block {@code
 * sh} has commands that must end well. A block with the name of a file is saved under it. A block
 * that says {@code slow} runs in the slow part, one that says {@code not run: REASON} nowhere.
 * {@code -Dgolden.update=true} rewrites what is shown.
 */
final class GuidesTest {
  private static final String PROMPT = "$ ";

  /** Programs that a block may start; others must say why they are not run. */
  private static final Set<String> RUNS = Set.of("./kernbench", "sed", "cat", "ls", "head", "grep");

  @TempDir private Path folder;

  static List<String> pages() {
    return Guide.names();
  }

  static Stream<String> slowPages() {
    return Guide.names().stream()
        .filter(name -> Guide.read(name).blocks().stream().anyMatch(Guide.Block::isSlow));
  }

  @ParameterizedTest
  @MethodSource("pages")
  void page_followed_doesWhatItShows(String name) throws Exception {
    follow(Guide.read(name), false);
  }

  @Tag("slow")
  @Timeout(value = 30, unit = TimeUnit.MINUTES)
  @ParameterizedTest
  @MethodSource("slowPages")
  void page_followedWithWhatTakesLong_doesWhatItShows(String name) throws Exception {
    follow(Guide.read(name), true);
  }

  private void follow(Guide guide, boolean slow) throws Exception {
    Desk desk = new Desk(folder);
    List<String> real = new ArrayList<>(guide.lines());
    int shift = 0;
    for (Guide.Block block : guide.blocks()) {
      if (block.isFile()) {
        desk.save(block.about(), block.lines());
      } else if (block.hasCommands() && !block.isNotRun() && (slow || !block.isSlow())) {
        List<String> now = block.isConsole() ? console(desk, block) : commands(desk, guide, block);
        if (!Boolean.getBoolean("golden.update")) {
          compare(guide, block, now);
        }
        int from = block.first() + shift;
        real.subList(from, from + block.lines().size()).clear();
        real.addAll(from, keepingWhatWasMeasured(now, block.lines()));
        shift += now.size() - block.lines().size();
      }
    }
    if (Boolean.getBoolean("golden.update")) {
      Files.writeString(Guide.ROOT.resolve(guide.name()), String.join("\n", real) + "\n");
    }
  }

  /** Lines that differ in speed alone stay as they are shown. */
  private static List<String> keepingWhatWasMeasured(List<String> now, List<String> shown) {
    Map<String, String> alike = new HashMap<>();
    shown.forEach(line -> alike.put(unmeasured(line), line));
    return now.stream().map(line -> alike.getOrDefault(unmeasured(line), line)).toList();
  }

  private static void compare(Guide guide, Guide.Block block, List<String> now) {
    assertThat(now.stream().map(GuidesTest::masked))
        .as("%s:%d (scripts/goldens rewrites it)", guide.name(), block.first())
        .isEqualTo(block.lines().stream().map(GuidesTest::masked).toList());
  }

  private static List<String> console(Desk desk, Guide.Block block) throws Exception {
    List<String> real = new ArrayList<>();
    for (String line : block.lines()) {
      if (line.startsWith(PROMPT)) {
        real.add(line);
        real.addAll(desk.run(line.substring(PROMPT.length())).lines());
      }
    }
    return real;
  }

  private static List<String> commands(Desk desk, Guide guide, Guide.Block block) throws Exception {
    for (String command : block.commands()) {
      Desk.Outcome outcome = desk.run(command);
      assertThat(outcome.exitCode())
          .as("%s: %s: %s", guide.name(), command, outcome.lines())
          .isZero();
    }
    return block.lines();
  }

  /** What a block may start, and the words after its fence: a typing mistake would skip it. */
  @ParameterizedTest
  @MethodSource("pages")
  void blocks_whatTheyStartAndSay_isKnown(String name) {
    for (Guide.Block block : Guide.read(name).blocks()) {
      if (!block.hasCommands() || block.isNotRun()) {
        continue;
      }
      assertThat(block.about()).as("%s:%d", name, block.first()).isIn("", "slow");
      List<String> commands =
          block.isConsole()
              ? block.lines().stream()
                  .filter(l -> l.startsWith(PROMPT))
                  .map(l -> l.substring(2))
                  .toList()
              : block.commands();
      assertThat(commands).as("%s:%d", name, block.first()).isNotEmpty();
      for (String command : commands) {
        assertThat(RUNS).as("%s: %s", name, command).contains(command.split(" ")[0]);
      }
    }
  }

  /** Commands in the text: their options, benches, parameters and machines are there. */
  @ParameterizedTest
  @MethodSource("pages")
  void inlineCommands_areOnesThatTheProgramKnows(String name) {
    Guide guide = Guide.read(name);
    for (String command : guide.inlineCommands()) {
      String one = command.replaceAll("(\\w)(\\|\\w+)+", "$1"); // of the words that it may be
      List<String> words = new ArrayList<>(Desk.words(one));
      int end =
          Stream.of("|", "&&", ">")
              .mapToInt(words::indexOf)
              .filter(i -> i >= 0)
              .min()
              .orElse(words.size());
      words = new ArrayList<>(words.subList(0, end));
      known(guide, command, words);
      if (!words.contains("--help")) {
        words.add("--help");
      }
      Session session = Session.of(words.toArray(String[]::new));
      assertThat(session.exitCode())
          .as("%s: kernbench %s: %s", name, command, session.err())
          .isZero();
    }
  }

  private static void known(Guide guide, String command, List<String> words) {
    BenchRegistry benches = BenchRegistry.standard();
    boolean runs = Set.of("run", "explain", "sweep").contains(words.getFirst());
    for (int i = 1; i < words.size(); i++) {
      String word = words.get(i);
      boolean named = words.get(i - 1).equals("--bench") || (runs && i == 1);
      if (named && word.matches("[a-z][a-z0-9-]+")) {
        assertThat(benches.all().stream().map(Bench::name))
            .as("%s: %s", guide.name(), command)
            .contains(word);
      }
      if (words.get(i - 1).equals("--topology") && word.matches("[a-z0-9-]+")) {
        assertThat(Machines.presets().keySet()).as("%s: %s", guide.name(), command).contains(word);
      }
    }
  }

  /** That the pages are all there, and the check sees commands in them. */
  @Test
  void pages_haveCommandsOfEachKind() {
    Set<String> kinds = new TreeSet<>();
    int inline = 0;
    for (String name : pages()) {
      Guide guide = Guide.read(name);
      inline += guide.inlineCommands().size();
      guide.blocks().stream()
          .filter(Guide.Block::hasCommands)
          .forEach(b -> kinds.add(b.language()));
    }
    assertThat(kinds).containsExactly("console", "sh");
    assertThat(inline).isGreaterThan(50);
  }

  /** A page that shows what is not so, in each way, is found. */
  @Test
  void wrongPage_isFound() throws Exception {
    Desk desk = new Desk(folder);
    desk.save("my.yaml", List.of("extends: tiny", "nonsense: 3"));

    assertThat(desk.run("./kernbench machine validate my.yaml").exitCode()).isEqualTo(2);
    assertThat(desk.run("./kernbench machine validate my.yaml").lines().getFirst())
        .startsWith("kernbench: my.yaml:2:1: nonsense");
    assertThat(desk.run("./kernbench machine validate other.yaml").exitCode()).isEqualTo(2);
    assertThat(desk.run("./kernbench list | sed -n 1p").lines()).hasSize(1);
    assertThat(desk.run("cat my.yaml && cat other.yaml").exitCode()).isNotZero();
    assertThat(desk.run("./kernbench new bench my-bench && ls").lines()).contains("MyBench.java");
  }

  private static String masked(String line) {
    return unmeasured(line)
        .replaceAll("\\.java:\\d+", ".java:LINE")
        .replaceAll(" +", " ")
        .stripTrailing();
  }

  private static String unmeasured(String line) {
    return line.replaceAll(" events in [0-9,]+ ms", " events in MASKED ms")
        .replaceAll("[0-9]\\.[0-9]+e-1[0-9]", "ROUND-OFF")
        .replaceAll(", products by vector-\\d+", "");
  }
}
