package org.kernbench.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Unmatched;

/** {@code kernbench trace run}: bench {@code trace-replay} under a shorter name. */
@Command(
    name = "run",
    customSynopsis = "kernbench trace run FILES [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    parameterListHeading = "%n",
    description = {
      """
      Runs the traces of all ranks on a machine: computations last as recorded, collectives and \
      messages are simulated. It is bench trace-replay in mode time; all options of kernbench \
      run may follow.\
      """
    },
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench trace run traces/pipeline --topology dgx-h100 --format json",
      "  kernbench trace run traces/step --roofline --param algorithm=auto"
    })
final class TraceRunCommand implements Callable<Integer> {
  @Mixin private TraceCommand.Files traces = new TraceCommand.Files();

  @Option(
      names = {"--roofline", "--recompute"},
      description =
          """
          Computations last as num_ops and tensor_size take at this machine's peak in 16 bits, not \
          as recorded.\
          """)
  private boolean roofline;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  @Unmatched private List<String> others = new ArrayList<>();

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    List<String> args = new ArrayList<>(List.of("run", "trace-replay"));
    if (others.stream().noneMatch(o -> o.equals("--mode") || o.startsWith("--mode="))) {
      args.addAll(List.of("--mode", "time"));
    }
    List<String> files = others.stream().takeWhile(TraceCommand.Files::isOne).toList();
    args.addAll(List.of("--param", "workload=" + traces.files(files)));
    traces.groups().ifPresent(file -> args.addAll(List.of("--param", "groups=" + file)));
    if (roofline) {
      args.addAll(List.of("--param", "compute=roofline"));
    }
    args.addAll(others.subList(files.size(), others.size()));
    return spec.root().commandLine().execute(args.toArray(String[]::new));
  }
}
