package org.kernbench.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A page with commands: its fenced blocks, and what stands between.
 *
 * @param name from the root of the repository
 * @param lines of the page
 * @param blocks in order
 */
record Guide(String name, List<String> lines, List<Block> blocks) {
  static final Path ROOT = Path.of(System.getProperty("basedir", "."), "..");

  private static final String FENCE = "```";
  private static final Pattern SPAN = Pattern.compile("`(?:\\./)?kernbench ([^`…]+)`");

  /**
   * A fenced block.
   *
   * @param first line after its first fence, counted from 0
   * @param language first word after that fence
   * @param about the rest of that line: the name of a file, {@code slow}, {@code not run: REASON}
   * @param lines between the fences
   */
  record Block(int first, String language, String about, List<String> lines) {
    boolean isConsole() {
      return language.equals("console");
    }

    boolean hasCommands() {
      return isConsole() || language.equals("sh");
    }

    boolean isSlow() {
      return about.equals("slow");
    }

    boolean isNotRun() {
      return about.startsWith("not run: ") && about.length() > "not run: ".length() + 10;
    }

    /** Whether the block is a file that the reader is told to save under a name. */
    boolean isFile() {
      return about.matches("[\\w-]+\\.(yaml|yml|json|java|csv)");
    }

    /** Commands of a block of plain commands, lines that go on joined, without remarks. */
    List<String> commands() {
      return Stream.of(String.join("\n", lines).replaceAll("\\s*\\\\\n\\s*", " ").split("\n"))
          .map(line -> line.replaceFirst("\\s+# .*", ""))
          .filter(line -> !line.isBlank())
          .toList();
    }
  }

  static Guide read(String name) {
    try {
      List<String> lines = Files.readAllLines(ROOT.resolve(name));
      return new Guide(name, lines, blocks(lines));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** All pages for readers: not decisions, which tell how it was, and not norms. */
  static List<String> names() {
    List<String> names = new ArrayList<>(List.of("README.md", "CONTRIBUTING.md"));
    for (String folder : List.of("docs", "docs/validation")) {
      try (Stream<Path> files = Files.list(ROOT.resolve(folder))) {
        files
            .map(file -> folder + "/" + file.getFileName())
            .filter(name -> name.endsWith(".md"))
            .sorted()
            .forEach(names::add);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return names;
  }

  private static List<Block> blocks(List<String> lines) {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith(FENCE)) {
        String[] about = lines.get(i).substring(FENCE.length()).split(" ", 2);
        int first = ++i;
        while (!lines.get(i).equals(FENCE)) {
          i++;
        }
        List<String> inside = List.copyOf(lines.subList(first, i));
        blocks.add(new Block(first, about[0], about.length > 1 ? about[1] : "", inside));
      }
    }
    return blocks;
  }

  /** Commands in the text, between backquotes. */
  List<String> inlineCommands() {
    List<String> commands = new ArrayList<>();
    String text = String.join("\n", lines).replaceAll("(?ms)^```.*?^```$", "");
    Matcher span = SPAN.matcher(text);
    while (span.find()) {
      commands.add(span.group(1).replace("\n", " "));
    }
    return commands;
  }
}
