package org.kernbench.cli;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.UsageException;
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
    private static final Pattern ONE_RANK = Pattern.compile("\\.\\d+\\.(et|json)(\\.gz)?$");

    @Parameters(
        arity = "1",
        paramLabel = "FILES",
        description =
            "folder/name of name.0.et, name.1.et, .. (or .json, or .gz), the folder, or all files.")
    private String first = "";

    @Option(
        names = "--groups",
        paramLabel = "FILE",
        description =
            "Process groups, a JSON file {\"name\": [ranks], ..} (default: name.groups.json).")
    private @Nullable String groups;

    /** Whether a word is the file of one rank. */
    static boolean isOne(String word) {
      return ONE_RANK.matcher(word).find();
    }

    /**
     * What the traces have in common, if each is named.
     *
     * @param others that are named after the first
     * @throws UsageException if they have no name in common
     */
    String files(List<String> others) {
      if (others.isEmpty()) {
        return first;
      }
      String name = ONE_RANK.matcher(first).replaceFirst("");
      for (String other : others) {
        if (!ONE_RANK.matcher(other).replaceFirst("").equals(name)) {
          throw new UsageException(
              "got traces %s and %s; expected those of one run, name.0.et, name.1.et, .."
                  .formatted(first, other));
        }
      }
      return name;
    }

    Optional<String> groups() {
      return Optional.ofNullable(groups);
    }
  }
}
