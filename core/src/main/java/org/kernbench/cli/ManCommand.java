package org.kernbench.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code kernbench man}: the manual page, in the language of {@code man}, from the same options and
 * texts as {@code --help}.
 */
@Command(
    name = "man",
    customSynopsis = "kernbench man",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = "Prints the manual page of all commands (roff).",
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench man | man -l -",
      "  kernbench man > ~/.local/share/man/man1/kernbench.1"
    })
final class ManCommand implements Callable<Integer> {
  private final Terminal terminal;
  private final StringBuilder page = new StringBuilder();

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  ManCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    CommandSpec root = spec.root();
    page.setLength(0);
    page.append(".TH KERNBENCH 1 \"\" \"kernbench ").append(Main.versionText()).append("\"\n");
    section("NAME");
    text("kernbench - distributed accelerator programs on machines that do not exist yet");
    section("SYNOPSIS");
    text(String.join(" ", root.usageMessage().customSynopsis()));
    section("DESCRIPTION");
    text(String.join(" ", root.usageMessage().description()));
    section("OPTIONS");
    options(root);
    section("COMMANDS");
    commands(root);
    section("ENVIRONMENT");
    environment();
    section("EXIT STATUS");
    term("0", "ok");
    term("1", "failed: wrong values, bound violated, deadlock, error in the simulated program");
    term("2", "usage or configuration");
    terminal.out().print(page);
    return 0;
  }

  private void commands(CommandSpec parent) {
    for (Map.Entry<String, CommandLine> each : parent.subcommands().entrySet()) {
      CommandSpec command = each.getValue().getCommandSpec();
      if (command.usageMessage().hidden()) {
        continue;
      }
      page.append(".SS ").append(escaped(command.qualifiedName())).append('\n');
      text(String.join(" ", command.usageMessage().description()));
      for (String synopsis : command.usageMessage().customSynopsis()) {
        page.append(".PP\n.B ").append(escaped(synopsis)).append('\n');
      }
      for (PositionalParamSpec p : command.positionalParameters()) {
        if (!p.hidden()) {
          term(p.paramLabel(), String.join(" ", p.description()));
        }
      }
      options(command);
      examples(command);
      commands(command);
    }
  }

  private void options(CommandSpec command) {
    for (OptionSpec option : command.options()) {
      if (!option.hidden()) {
        String names = String.join(", ", option.names());
        String label = option.arity().max() == 0 ? "" : " " + option.paramLabel();
        term(names + label, String.join(" ", option.description()));
      }
    }
  }

  private void examples(CommandSpec command) {
    List<String> lines = new ArrayList<>();
    for (String line : command.usageMessage().footer()) {
      lines.add(escaped(line.stripTrailing()));
    }
    if (!lines.isEmpty()) {
      page.append(".PP\n.nf\n").append(String.join("\n", lines)).append("\n.fi\n");
    }
  }

  private void environment() {
    term("KERNBENCH_CLASS_PATH", "classes of your own, like --class-path");
    term("KERNBENCH_JAVA_HOME", "the JDK to use, 25 or later");
    term("KERNBENCH_JAVA_OPTS", "extra options for the Java virtual machine, e.g. -Xmx8g");
    term("NO_COLOR", "when not empty: no colours");
  }

  private void section(String title) {
    page.append(".SH ").append(title.toUpperCase(Locale.ROOT)).append('\n');
  }

  private void term(String term, String text) {
    page.append(".TP\n.B ").append(escaped(term)).append('\n');
    text(text);
  }

  private void text(String text) {
    page.append(escaped(text.strip().replaceAll("\\s+", " "))).append('\n');
  }

  /** A backslash, a dash and a line that begins with a dot or a quote mean something in roff. */
  private static String escaped(String text) {
    String safe = text.replace("\\", "\\e").replace("-", "\\-").replace("%n", " ");
    return safe.startsWith(".") || safe.startsWith("'") ? "\\&" + safe : safe;
  }
}
