package org.kernbench.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.cli.text.ResultText;
import org.kernbench.config.Problem;
import org.kernbench.config.UsageException;
import org.kernbench.eval.figures.SvgPicture;
import org.kernbench.eval.output.WholeFile;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.report.MachineDiagram;
import org.kernbench.machine.report.MachineDifference;
import org.kernbench.machine.report.MachineReport;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kernbench machine}: looks at machines without running anything. */
@Command(
    name = "machine",
    customSynopsis = "kernbench machine show|validate|diagram|diff [FILE|PRESET] [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = "Shows, checks, draws or compares machines.",
    optionListHeading = "%n",
    commandListHeading = "%nCommands%n")
final class MachineCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  private final Terminal terminal;

  MachineCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    throw new CommandLine.ParameterException(
        spec.commandLine(),
        """
        missing command; expected machine show, machine validate, machine diagram or machine diff\
        """);
  }

  /** Which machine. */
  static final class Choice {
    private static final String DEFAULT = "sip-2026";

    @Parameters(
        arity = "0..1",
        paramLabel = "FILE|PRESET",
        completionCandidates = Words.Presets.class,
        description = "The machine (default: sip-2026).")
    @Nullable String name;

    @Option(
        names = "--topology",
        paramLabel = "FILE|PRESET",
        completionCandidates = Words.Presets.class,
        description = "The same as an option.")
    @Nullable String topology;

    @Option(
        names = "--set",
        paramLabel = "path=value",
        description = "Changes one value, e.g. ipcq.slots=16; may be repeated.")
    List<String> overrides = new ArrayList<>();

    @Option(
        names = {"-h", "--help"},
        usageHelp = true,
        description = "Show this help.")
    boolean help;

    Machine load() {
      if (name != null && topology != null && !name.equals(topology)) {
        throw new UsageException(
            "two machines given, " + name + " and --topology " + topology + "; expected one");
      }
      String chosen = name != null ? name : topology;
      return Machines.load(chosen != null ? chosen : DEFAULT, overrides);
    }
  }

  @Command(
      name = "show",
      synopsisHeading = "Usage: ",
      descriptionHeading = "%n",
      optionListHeading = "%n",
      parameterListHeading = "%n",
      description = "Shows what a machine is and what follows from its numbers.")
  int show(@CommandLine.Mixin Choice choice) {
    terminal.out().print(MachineReport.text(choice.load()));
    return 0;
  }

  @Command(
      name = "validate",
      synopsisHeading = "Usage: ",
      descriptionHeading = "%n",
      optionListHeading = "%n",
      parameterListHeading = "%n",
      description = "Checks a machine and reports all errors (exit code 2) and warnings.")
  int validate(@CommandLine.Mixin Choice choice) {
    Machine machine = choice.load();
    for (Problem warning : machine.warnings()) {
      terminal.out().println("warning: " + warning);
    }
    terminal
        .out()
        .println(
            "%s is valid: configuration %s, %s PEs, %s%s"
                .formatted(
                    machine.name(),
                    machine.hash(),
                    machine.peCount(),
                    machine.warnings().size(),
                    machine.warnings().size() == 1 ? " warning" : " warnings"));
    return 0;
  }

  @Command(
      name = "diagram",
      synopsisHeading = "Usage: ",
      descriptionHeading = "%n",
      optionListHeading = "%n",
      parameterListHeading = "%n",
      description = "Draws a machine as SVG or PNG, from its compiled graph.")
  int diagram(
      @CommandLine.Mixin Choice choice,
      @Option(
              names = "--view",
              paramLabel = "VIEW",
              defaultValue = "sip",
              converter = Words.ViewWord.class,
              completionCandidates = Words.ViewWord.class,
              description = "tray, sip (default), cube or pe.")
          MachineDiagram.View view,
      @Option(
              names = "--out",
              paramLabel = "FILE",
              description =
                  """
                  Where to write it: a name that ends in .svg or .png (default: SVG on standard \
                  output).\
                  """)
          @Nullable Path out) {
    boolean png = out != null && isPng(out);
    String svg = MachineDiagram.svg(choice.load(), view);
    if (out == null) {
      terminal.out().print(svg);
      return 0;
    }
    WholeFile.checkWritable("--out", out);
    if (png) {
      SvgPicture.writePng(out, svg);
    } else {
      WholeFile.write(out, svg);
    }
    terminal.out().println("wrote " + out);
    return 0;
  }

  /** Whether a file is to be PNG by its name, and not SVG; a name without an ending is SVG. */
  private static boolean isPng(Path out) {
    String name = String.valueOf(out.getFileName()).toLowerCase(Locale.ROOT);
    if (name.contains(".") && !name.endsWith(".svg") && !name.endsWith(".png")) {
      throw new UsageException(
          "--out %s: a diagram is SVG or PNG; expected a name that ends in .svg or .png"
              .formatted(out));
    }
    return name.endsWith(".png");
  }

  @Command(
      name = "diff",
      synopsisHeading = "Usage: ",
      descriptionHeading = "%n",
      optionListHeading = "%n",
      parameterListHeading = "%n",
      description = "Lists the values in which two machines differ, whoever says them.")
  int diff(
      @Parameters(
              index = "0",
              paramLabel = "FILE|PRESET",
              completionCandidates = Words.Presets.class,
              description = "One machine.")
          String first,
      @Parameters(
              index = "1",
              paramLabel = "FILE|PRESET",
              completionCandidates = Words.Presets.class,
              description = "The other.")
          String second,
      @Option(
              names = "--set",
              paramLabel = "path=value",
              description = "Changes one value of the other; may be repeated.")
          @Nullable List<String> overrides,
      @Option(
              names = {"-h", "--help"},
              usageHelp = true,
              description = "Show this help.")
          boolean asked) {
    Machine a = Machines.load(first, List.of());
    Machine b = Machines.load(second, overrides == null ? List.of() : overrides);
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("A", a.name(), "configuration " + a.hash()));
    table.add(List.of("B", b.name(), "configuration " + b.hash()));
    StringBuilder out = new StringBuilder();
    ResultText.table(out, table, 0);
    List<MachineDifference.Row> rows = MachineDifference.of(a, b);
    out.append('\n');
    if (rows.isEmpty()) {
      out.append("no value differs\n");
    } else {
      List<List<String>> values = new ArrayList<>();
      values.add(List.of("value", "A", "B"));
      rows.forEach(row -> values.add(List.of(row.path(), row.first(), row.second())));
      ResultText.table(out, values, 0);
    }
    terminal.out().print(out);
    return 0;
  }
}
