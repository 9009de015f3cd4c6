package org.kernbench.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code kernbench layout}: what parallel layouts mean, and what lies between two of them. */
@Command(
    name = "layout",
    customSynopsis = "kernbench layout groups|bridge|check [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description =
        """
        Shows which ranks form which groups, what a bridge between layouts does, and whether \
        layouts compute the same.\
        """,
    optionListHeading = "%n",
    commandListHeading = "%nCommands%n")
final class LayoutCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  /** The command with its subcommands. */
  static CommandLine with(Terminal terminal) {
    CommandLine line = new CommandLine(new LayoutCommand());
    line.addSubcommand(new LayoutGroupsCommand(terminal));
    line.addSubcommand(new LayoutBridgeCommand(terminal));
    line.addSubcommand(new LayoutCheckCommand(terminal));
    return line;
  }

  @Override
  public Integer call() {
    throw new CommandLine.ParameterException(
        spec.commandLine(),
        "missing command; expected layout %s"
            .formatted(String.join(" or layout ", spec.subcommands().keySet())));
  }
}
