package org.kernbench.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.kernbench.chakra.TraceException;
import org.kernbench.chakra.Workload;
import org.kernbench.config.UsageException;
import org.kernbench.eval.replay.TraceLint;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench trace lint}: what is in traces, and whether they can be run. */
@Command(
    name = "lint",
    customSynopsis = "kernbench trace lint FILES [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    parameterListHeading = "%n",
    description = {
      """
      Reads the traces of all ranks, says what was mended and what they hold, and checks that no \
      rank waits for ever. Exit code 2 if they cannot be run.\
      """
    },
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench trace sample pipeline --out traces",
      "  kernbench trace lint traces/pipeline"
    })
final class TraceLintCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Mixin private TraceCommand.Files traces = new TraceCommand.Files();

  @Parameters(arity = "0..*", index = "1..*", hidden = true)
  private List<String> others = new ArrayList<>();

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  TraceLintCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    try {
      TraceLint lint = TraceLint.of(Workload.load(traces.files(others), traces.groups()));
      terminal.out().print(format.isJson() ? lint.json() : lint.text());
      return 0;
    } catch (TraceException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }
}
