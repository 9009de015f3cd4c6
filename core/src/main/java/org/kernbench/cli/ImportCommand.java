package org.kernbench.cli;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.eval.output.WholeFile;
import org.kernbench.eval.report.RunFolder;
import org.kernbench.machine.astra.AstraImport;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code kernbench import}: files of other simulators as machines. */
@Command(
    name = "import",
    customSynopsis = "kernbench import astra [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = "Makes machines and collectives of files of other simulators.",
    optionListHeading = "%n",
    commandListHeading = "%nCommands%n")
final class ImportCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  /** The command with its subcommands. */
  static CommandLine with(Terminal terminal) {
    CommandLine line = new CommandLine(new ImportCommand());
    line.addSubcommand(new Astra(terminal));
    return line;
  }

  @Override
  public Integer call() {
    throw new CommandLine.ParameterException(
        spec.commandLine(), "missing command; expected import astra");
  }

  /** {@code kernbench import astra}: network and system files of ASTRA-sim. */
  @Command(
      name = "astra",
      customSynopsis = "kernbench import astra --network FILE --system FILE [OPTIONS]",
      synopsisHeading = "Usage: ",
      descriptionHeading = "%n",
      description = {
        """
        Makes a machine and a ccl.yaml of a network file and a system file of ASTRA-sim, and \
        says what became of each key.\
        """
      },
      optionListHeading = "%n",
      footerHeading = "%nExamples%n",
      footer = {
        "  kernbench import astra --network network.yml --system system.json --out imported",
        "  kernbench run ccl-allreduce --topology imported/machine.yaml --ccl imported/ccl.yaml"
      })
  static final class Astra implements Callable<Integer> {
    private final Terminal terminal;

    @Option(
        names = "--network",
        required = true,
        paramLabel = "FILE",
        description = "The network file, YAML: topology, npus_count, bandwidth, latency.")
    private Path network = Path.of("");

    @Option(
        names = "--system",
        required = true,
        paramLabel = "FILE",
        description = "The system file, JSON.")
    private Path system = Path.of("");

    @Option(
        names = "--out",
        paramLabel = "DIR",
        description = "Where to write machine.yaml and ccl.yaml (default: shown only).")
    private @Nullable Path out;

    @Option(
        names = "--whole-ns",
        description = "Cuts times to whole nanoseconds as that tool does, to the same figures.")
    private boolean wholeNs;

    @Option(
        names = "--congestion-aware",
        description =
            """
            As its congestion-aware network: switches pass on whole messages (default: its \
            congestion-unaware one, as far as messages do not meet).\
            """)
    private boolean congestionAware;

    @Option(
        names = {"-h", "--help"},
        usageHelp = true,
        description = "Show this help.")
    boolean help;

    Astra(Terminal terminal) {
      this.terminal = terminal;
    }

    @Override
    public Integer call() {
      AstraImport imported =
          AstraImport.of(
              network,
              system,
              congestionAware ? AstraImport.Congestion.AWARE : AstraImport.Congestion.UNAWARE,
              wholeNs);
      terminal.out().print(imported.report());
      Path directory = out;
      if (directory == null) {
        terminal.out().print("\n# machine.yaml\n" + imported.machine());
        terminal.out().print("\n# ccl.yaml\n" + imported.ccl());
        return 0;
      }
      RunFolder.create(directory);
      Map<String, WholeFile.Content> files = new LinkedHashMap<>();
      files.put("machine.yaml", to -> to.write(utf8(imported.machine())));
      files.put("ccl.yaml", to -> to.write(utf8(imported.ccl())));
      WholeFile.writeAll(directory, files);
      Path machine = directory.resolve("machine.yaml");
      Path ccl = directory.resolve("ccl.yaml");
      terminal.out().println("wrote " + machine + " and " + ccl + "; run with");
      terminal
          .out()
          .println("  kernbench run ccl-allreduce --topology " + machine + " --ccl " + ccl);
      terminal
          .out()
          .println(
              """
              other operations: run collective --param op=all_gather --param \
              algorithm=astra_all_gather\
              """);
      return 0;
    }

    private static byte[] utf8(String text) {
      return text.getBytes(StandardCharsets.UTF_8);
    }
  }
}
