package org.kernbench.cli;

import java.util.concurrent.Callable;
import org.kernbench.eval.probe.Probe;
import org.kernbench.machine.Machine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code kernbench probe}: what the paths of a machine can do. */
@Command(
    name = "probe",
    customSynopsis = "kernbench probe [FILE|PRESET] [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    parameterListHeading = "%n",
    description = {
      "Measures latency and bandwidth between every kind of place on a machine.",
      """
      Beside closed forms, link by link and in crowds; checks what holds on any machine that can \
      be\
      """,
      "built."
    },
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench probe",
      "  kernbench probe dgx-h100 --format csv",
      "  kernbench probe --set cube.hbm.fidelity=banked --set \"fabric.buffer=4 KiB\"",
      "",
      "Exit code 1 if a check fails."
    })
final class ProbeCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Mixin private MachineCommand.Choice choice = new MachineCommand.Choice();

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      converter = Words.FormatWord.class,
      completionCandidates = Words.FormatWord.class,
      description = "text (default), json or csv.")
  private Format format = Format.TEXT;

  ProbeCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    Machine machine = choice.load();
    Probe probe = Probe.of(machine);
    terminal
        .out()
        .print(
            switch (format) {
              case TEXT -> probe.text();
              case JSON -> probe.json();
              case CSV -> probe.csv();
            });
    terminal.out().flush();
    probe.problems().forEach(terminal::say);
    return Main.exitCode(probe.isOk());
  }
}
