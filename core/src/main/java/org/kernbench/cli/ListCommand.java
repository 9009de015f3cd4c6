package org.kernbench.cli;

import java.util.Map;
import java.util.concurrent.Callable;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machines;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kernbench list}: what can be named on the command line. */
@Command(
    name = "list",
    customSynopsis = "kernbench list",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = "Lists benches with their parameters, machine presets and collective algorithms.",
    optionListHeading = "%n")
final class ListCommand implements Callable<Integer> {
  private final Terminal terminal;
  private final BenchRegistry benches;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  ListCommand(Terminal terminal, BenchRegistry benches) {
    this.terminal = terminal;
    this.benches = benches;
  }

  @Override
  public Integer call() {
    heading("Benches (kernbench run --bench NAME --param name=value)");
    for (Bench bench : benches.all()) {
      line("  " + bench.name() + "  ", 22, bench.description());
      for (Param<?> p : bench.params()) {
        line("    " + p.name() + "  ", 22, p.description());
        line("", 22, "  " + p.range() + "; default " + p.defaultText());
      }
    }
    heading("\nMachine presets (--topology NAME)");
    for (Map.Entry<String, String> preset : Machines.presets().entrySet()) {
      line("  " + preset.getKey() + "  ", 22, preset.getValue());
    }
    heading("\nCollective algorithms (--param algorithm=NAME)");
    CollectiveLibrary.descriptions().forEach((name, what) -> line("  " + name + "  ", 25, what));
    return 0;
  }

  private void heading(String text) {
    terminal.out().println(text);
  }

  private void line(String name, int width, String text) {
    terminal.out().println(name + " ".repeat(Math.max(0, width - name.length())) + text);
  }
}
