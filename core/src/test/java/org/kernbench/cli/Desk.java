package org.kernbench.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An empty folder in which a reader types commands. {@code ./kernbench} runs inside the test, so
 * names of files are made absolute on the way in and short again on the way out; everything else,
 * pipes too, runs in a shell whose folder this is.
 */
final class Desk {
  /** What a built jar says; classes outside of one have no version. */
  private static final String VERSION = "0.2.0";

  private static final Pattern WORD = Pattern.compile("((?:[^\\s\"']|\"[^\"]*\"|'[^']*')+)");
  private static final Pattern PART = Pattern.compile("(?:[^|&\"']|\"[^\"]*\"|'[^']*')+");
  private static final Set<String> WRITES = Set.of("--out", "--trace", "--export-chakra", "--dir");

  private final Path folder;

  Desk(Path folder) {
    this.folder = folder;
  }

  /**
   * What a command did.
   *
   * @param exitCode of its last part
   * @param lines of both outputs, standard output first
   */
  record Outcome(int exitCode, List<String> lines) {}

  void save(String name, List<String> lines) throws IOException {
    Files.writeString(folder.resolve(name), String.join("\n", lines) + "\n");
  }

  /** Runs a line: parts joined by {@code &&} or by one pipe. */
  Outcome run(String line) throws IOException, InterruptedException {
    Outcome outcome = new Outcome(0, List.of());
    List<String> all = new ArrayList<>();
    for (String step : line.split(" && ")) {
      outcome = step(step);
      all.addAll(outcome.lines());
      if (outcome.exitCode() != 0) {
        break;
      }
    }
    return new Outcome(outcome.exitCode(), all);
  }

  private Outcome step(String step) throws IOException, InterruptedException {
    Matcher parts = PART.matcher(step);
    String first = parts.find() ? parts.group() : "";
    String pipe = parts.find() ? step.substring(parts.start()) : "";
    Outcome outcome =
        first.startsWith("./kernbench ")
            ? kernbench(words(first.substring("./kernbench ".length())))
            : shell(first, List.of());
    return pipe.isEmpty() ? outcome : shell(pipe, outcome.lines());
  }

  static List<String> words(String command) {
    List<String> words = new ArrayList<>();
    Matcher word = WORD.matcher(command);
    while (word.find()) {
      words.add(word.group(1).replaceAll("[\"']", ""));
    }
    return words;
  }

  private Outcome kernbench(List<String> words) {
    List<String> there = new ArrayList<>();
    String before = words.getFirst();
    for (String word : words) {
      there.add(place(before, word));
      before = word;
    }
    if (words.getFirst().equals("new")) {
      there.addAll(List.of("--dir", folder.toString()));
    }
    words.stream()
        .filter(word -> word.startsWith("milestone-") && !words.contains("--out"))
        .forEach(bench -> there.addAll(List.of("--out", folder.resolve(bench).toString())));
    Session session = Session.of(there.toArray(String[]::new));
    String said = (session.out() + session.err()).replace(folder + "/", "");
    said =
        said.replace(Guide.ROOT + "/", "")
            .replace("(kernbench development,", "(kernbench " + VERSION + ",");
    return new Outcome(session.exitCode(), said.lines().toList());
  }

  private String place(String before, String word) {
    int equals = word.indexOf('=');
    if (before.equals("--param") && equals > 0) {
      return word.substring(0, equals + 1) + place("", word.substring(equals + 1));
    }
    if (WRITES.contains(before) || Files.exists(folder.resolve(word))) {
      return folder.resolve(word).toString();
    }
    boolean shipped = word.contains("/") && Files.exists(Guide.ROOT.resolve(word));
    return shipped ? Guide.ROOT.resolve(word).toString() : word;
  }

  private Outcome shell(String command, List<String> input)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder("sh", "-c", command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .start();
    try (var stdin = process.getOutputStream()) {
      stdin.write(String.join("\n", input).concat("\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      // as head does, it has read enough
    }
    try (InputStream output = process.getInputStream()) {
      String said = new String(output.readAllBytes(), StandardCharsets.UTF_8);
      return new Outcome(process.waitFor(), said.lines().toList());
    }
  }
}
