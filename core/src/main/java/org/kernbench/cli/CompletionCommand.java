package org.kernbench.cli;

import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.cli.text.ParameterCompletion;
import org.kernbench.config.UsageException;
import org.kernbench.eval.benches.BenchRegistry;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kernbench completion}: the script that completes commands and options in a shell. */
@Command(
    name = "completion",
    customSynopsis = "kernbench completion [bash|zsh]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Prints a script with which bash and zsh complete commands, options and values.",
      "It knows benches, machines, and names and values of parameters, too."
    },
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  source <(kernbench completion)                              this shell, bash or zsh",
      "  echo 'source <(kernbench completion)' >> ~/.zshrc",
      "  kernbench completion > ~/.local/share/bash-completion/completions/kernbench",
    })
final class CompletionCommand implements Callable<Integer> {
  private static final List<String> SHELLS = List.of("bash", "zsh");

  private final Terminal terminal;
  private final BenchRegistry benches;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      arity = "0..1",
      paramLabel = "SHELL",
      hidden = true,
      description = "For whom; both read the same script.")
  private @Nullable String shell;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  CompletionCommand(Terminal terminal, BenchRegistry benches) {
    this.terminal = terminal;
    this.benches = benches;
  }

  @Override
  public Integer call() {
    if (shell != null && !SHELLS.contains(shell)) {
      throw new UsageException(
          "completion: got \"%s\"; expected bash or zsh, for which there is one script"
              .formatted(shell));
    }
    CommandLine root = spec.root().commandLine();
    // Started as ./kernbench the command completes just as well.
    String commands = AutoComplete.bash("kernbench", root).replaceAll("(?m)^# on .*\n", "");
    terminal.out().print(commands.replaceAll("(?m)^complete .*\n", ""));
    terminal.out().print(new ParameterCompletion(benches).script());
    return 0;
  }
}
