package org.kernbench.cli;

import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code kernbench completion}: the script that completes commands and options in a shell. */
@Command(
    name = "completion",
    customSynopsis = "kernbench completion",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = "Prints a script that completes commands and options in bash and zsh.",
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  source <(kernbench completion)                              this shell",
      "  kernbench completion > ~/.local/share/bash-completion/completions/kernbench",
    })
final class CompletionCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  CompletionCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    CommandLine root = spec.root().commandLine();
    // Started as ./kernbench the command completes just as well.
    terminal.out().print(AutoComplete.bash("kernbench", root).replaceAll("(?m)^# on .*\n", ""));
    return 0;
  }
}
