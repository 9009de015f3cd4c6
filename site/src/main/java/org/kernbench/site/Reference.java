package org.kernbench.site;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.cli.Commands;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machines;

/**
 * Pages, in Markdown, of what can be looked up: each asks the program, or a guide held by tests.
 */
final class Reference {
  private static final Pattern COMMAND = Pattern.compile("(?m)^  ([a-z]+)  +\\S");
  private static final Pattern KEY = Pattern.compile("(?m)^\\| (`[^|]*`) \\|([^|]*)\\|([^|]*)\\|");

  private Reference() {}

  /** Texts of the pages, by the file that each would be. */
  static Map<String, String> pages(String machineGuide) {
    Map<String, String> pages = new TreeMap<>();
    pages.put("reference/commands.md", commands());
    pages.put("reference/benches.md", benches());
    pages.put("reference/machines.md", machines());
    pages.put("reference/algorithms.md", algorithms());
    pages.put("reference/machine-keys.md", machineKeys(machineGuide));
    return pages;
  }

  // ---- commands ----

  private static String commands() {
    StringBuilder page = new StringBuilder("# Commands\n\nWhat `--help` of each prints.\n");
    Commands commands = new Commands();
    for (List<String> command : below(commands, List.of())) {
      page.append("\n## kernbench ").append(String.join(" ", command)).append("\n\n```text\n");
      page.append(help(commands, command).stripTrailing()).append("\n```\n");
    }
    return page.toString();
  }

  /** All commands below one, each followed by its own. */
  private static List<List<String>> below(Commands commands, List<String> above) {
    String help = help(commands, above);
    int list = help.indexOf("\nCommands\n");
    List<List<String>> all = new ArrayList<>();
    if (list < 0) {
      return all;
    }
    String end = help.substring(list + "\nCommands\n".length()).split("\n\n", 2)[0];
    Matcher name = COMMAND.matcher(end);
    while (name.find()) {
      List<String> command = new ArrayList<>(above);
      command.add(name.group(1));
      all.add(List.copyOf(command));
      all.addAll(below(commands, command));
    }
    return all;
  }

  private static String help(Commands commands, List<String> command) {
    List<String> line = new ArrayList<>(command);
    line.add("--help");
    return commands.run(line).out();
  }

  // ---- benches ----

  private static String benches() {
    StringBuilder page =
        new StringBuilder(
            """
            # Benches and their parameters

            For `kernbench run NAME --param name=value`, `sweep` and `explain`. Where a default comes from elsewhere, it says from where.
            """);
    for (Bench bench : BenchRegistry.standard().all()) {
      page.append("\n## ").append(bench.name()).append("\n\n");
      page.append(cell(bench.description())).append("\n");
      if (!bench.params().isEmpty()) {
        page.append("\n| parameter | takes | default | meaning |\n| --- | --- | --- | --- |\n");
        for (Param<?> p : bench.params()) {
          row(page, code(p.name()), cell(p.range()), cell(p.defaultText()), cell(p.description()));
        }
      }
    }
    return page.toString();
  }

  // ---- machines and algorithms ----

  private static String machines() {
    StringBuilder page =
        new StringBuilder(
            """
            # Machine presets

            For `--topology NAME`, and for `extends:` in a [machine file](../docs/machine-guide.md). What one is made of: `kernbench machine show NAME`.

            | preset | is |
            | --- | --- |
            """);
    Machines.presets().forEach((name, is) -> row(page, code(name), cell(is)));
    return page.toString();
  }

  private static String algorithms() {
    StringBuilder page =
        new StringBuilder(
            """
            # Collective algorithms

            For `--param algorithm=NAME`. Their closed forms: [collectives.md](../docs/spec/collectives.md); which one is chosen when:
            [collectives.md](../docs/collectives.md).

            | algorithm | does |
            | --- | --- |
            """);
    CollectiveLibrary.descriptions().forEach((name, does) -> row(page, code(name), cell(does)));
    return page.toString();
  }

  /** Every key of the tables of the guide, in the order of the alphabet, with where it stands. */
  static String machineKeys(String guide) {
    Map<String, String> rows = new TreeMap<>();
    Anchors anchors = new Anchors();
    for (String section : guide.split("(?m)^(?=#+ )")) {
      String heading = section.lines().findFirst().orElse("").replaceFirst("^#+ *", "");
      heading = withoutLinks(heading);
      String anchor = anchors.next(heading);
      Matcher key = KEY.matcher(section);
      while (section.contains("| key | type |") && key.find()) {
        rows.put(
            key.group(1),
            "| %s |%s|%s| [%s](../docs/machine-guide.md#%s) |%n"
                .formatted(
                    key.group(1), key.group(2), withoutLinks(key.group(3)), heading, anchor));
      }
    }
    return """
    # Keys of the machine file

    All of them in the order of the alphabet, with the value in `sip-2026`. What each means stands in the [guide](../docs/machine-guide.md), in the section
    named; how quantities are written: [the machine file](../docs/machine-guide.md#the-machine-file).

    | key | type | value | section |
    | --- | --- | --- | --- |
    """
        + String.join("", rows.values());
  }

  // ---- Markdown ----

  /** Links are seen from their own page, and so mean nothing on another. */
  private static String withoutLinks(String text) {
    return text.replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1");
  }

  private static void row(StringBuilder page, String... cells) {
    page.append("| ").append(String.join(" | ", cells)).append(" |\n");
  }

  private static String code(String name) {
    return "`" + name + "`";
  }

  /** A text that Markdown leaves as it is, also in a table. */
  private static String cell(String text) {
    return text.replaceAll("([\\\\`*_{}\\[\\]<>#|~])", "\\\\$1");
  }
}
