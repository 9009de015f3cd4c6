package org.kernbench.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Unmatched;

/** {@code kernbench trace export}: {@code run --export-chakra} under the name of its fellows. */
@Command(
    name = "export",
    customSynopsis = "kernbench trace export BENCH --out DIR [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    parameterListHeading = "%n",
    description = {
      """
      Runs a bench and writes what each rank launched as a trace. It is kernbench run with \
      --export-chakra; all options of that but --out may follow.\
      """
    },
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {"  kernbench trace export ccl-allreduce --out mine --param algorithm=ring"})
final class TraceExportCommand implements Callable<Integer> {
  @Parameters(arity = "1", paramLabel = "BENCH", description = "What to run: see kernbench list.")
  private String bench = "";

  @Option(
      names = "--out",
      required = true,
      paramLabel = "DIR",
      description = "Where to write name.0.et, name.1.et, ..")
  private String out = "";

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  @Unmatched private List<String> others = new ArrayList<>();

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    List<String> args = new ArrayList<>(List.of("run", bench, "--export-chakra", out));
    args.addAll(others);
    return spec.root().commandLine().execute(args.toArray(String[]::new));
  }
}
