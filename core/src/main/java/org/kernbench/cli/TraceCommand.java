package org.kernbench.cli;

import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kernbench trace}: Chakra execution traces of other systems. */
@Command(
    name = "trace",
    customSynopsis = "kernbench trace lint|run|export|sample [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = "Checks, runs and makes Chakra execution traces, one file per rank.",
    optionListHeading = "%n",
    commandListHeading = "%nCommands%n")
final class TraceCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  /** The command with its subcommands. */
  static CommandLine with(Terminal terminal) {
    CommandLine line = new CommandLine(new TraceCommand());
    line.addSubcommand(new TraceLintCommand(terminal));
    line.addSubcommand(new TraceRunCommand());
    line.addSubcommand(new TraceExportCommand());
    line.addSubcommand(new TraceSampleCommand(terminal));
    return line;
  }

  @Override
  public Integer call() {
    throw new CommandLine.ParameterException(
        spec.commandLine(),
        "missing command; expected trace %s"
            .formatted(String.join(" or trace ", spec.subcommands().keySet())));
  }

  /** Which traces a command is about. */
  static final class Files {
    @Parameters(
        arity = "1",
        paramLabel = "FILES",
        description = "folder/name of name.0.et, name.1.et, .. (or .json, or .gz), or the folder.")
    private String files = "";

    @Option(
        names = "--groups",
        paramLabel = "FILE",
        description =
            "Process groups, a JSON file {\"name\": [ranks], ..} (default: name.groups.json).")
    private @Nullable String groups;

    String files() {
      return files;
    }

    Optional<String> groups() {
      return Optional.ofNullable(groups);
    }
  }
}
