package org.kernbench.cli;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.kernbench.cli.text.ExplanationText;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.report.Explanation;
import org.kernbench.eval.report.ExplanationJson;
import org.kernbench.eval.report.Recording;
import org.kernbench.eval.report.RunFolder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kernbench explain}: why a run took the time it took. */
@Command(
    name = "explain",
    customSynopsis = "kernbench explain RUN|BENCH [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Says where the time of a run went and what each number of the machine is worth.",
      """
      Critical path by kernel, cause, place and kernel line, who waited for whom, how busy \
      engines\
      """,
      "and links were, and what 1 %% more or less of each number of the machine does to the time.",
      "RUN is a folder that `run --out` wrote; a bench is run on the spot, of several points the",
      "slowest."
    },
    optionListHeading = "%n",
    sortOptions = false,
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench run ccl-allreduce --out allreduce && kernbench explain allreduce",
      "  kernbench explain hello-send --param n_elem=8192 --verify-sensitivities",
      "  kernbench explain ccl-allreduce --set system.links.sip_to_sip.bandwidth=\"100 GB/s\""
    })
final class ExplainCommand implements Callable<Integer> {
  private final Terminal terminal;
  private final BenchRegistry benches;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "RUN",
      description = "Folder of a run, or a bench.")
  private @Nullable String run;

  @Mixin private BenchOptions benchOptions = new BenchOptions();

  @Option(
      names = "--verify-sensitivities",
      description = "Also simulates each changed machine and compares.")
  private boolean verifySensitivities;

  @Option(
      names = "--rows",
      paramLabel = "N",
      description = "Rows of each table (default: ${DEFAULT-VALUE}; 0: all).")
  private int rows = 12;

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-q", "--quiet"},
      description = "No progress.")
  private boolean quiet;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  /** The options by heading, as the help shows them. */
  static Map<String, List<String>> groups() {
    Map<String, List<String>> groups = new LinkedHashMap<>();
    groups.put("What to run", List.of("--param", "--point", "--class-path", "--mode"));
    groups.put("On which machine", List.of("--topology", "--set", "--ccl", "--ccl-set"));
    groups.put(
        "Output", List.of("--verify-sensitivities", "--rows", "--format", "--quiet", "--help"));
    return groups;
  }

  ExplainCommand(Terminal terminal, BenchRegistry benches) {
    this.terminal = terminal;
    this.benches = benches;
  }

  @Override
  public Integer call() {
    if (run == null || run.isBlank()) {
      throw new UsageException(
          """
          nothing to explain; expected the folder of a run (see kernbench run --out) or a bench \
          (see kernbench list)\
          """);
    }
    Words.checkRows(rows);
    String chosen = run;
    ProgressLine line = new ProgressLine(terminal, quiet);
    Explanation explanation;
    try {
      explanation = RunCommand.onVirtualThread(() -> explain(chosen, line));
    } finally {
      line.clear();
    }
    terminal
        .out()
        .print(
            format.isJson()
                ? ExplanationJson.write(explanation)
                : ExplanationText.write(explanation, rows == 0 ? Integer.MAX_VALUE : rows));
    return Main.exitCode(explanation.result().isOk());
  }

  private Explanation explain(String name, Progress progress) {
    Runner runner = Runner.of(Main.versionText(), progress);
    if (RunFolder.isFolder(name)) {
      checkNothingChosen(name);
      Recording recording = RunFolder.read(name);
      Explanation explanation = recording.from(name, Explanation::of);
      return verifySensitivities
          ? verified(explanation, trusted(name, recording), recording.options(), runner, progress)
          : explanation;
    }
    RunOptions options = benchOptions.options();
    RunResult result = runner.runToExplain(benchOptions.bench(name, benches), options);
    Explanation explanation = Explanation.of(result);
    return verifySensitivities
        ? verified(
            explanation,
            name,
            result.point().map(options::withPoint).orElse(options),
            runner,
            progress)
        : explanation;
  }

  /** A run that is over was made with options of its own. */
  private void checkNothingChosen(String folder) {
    List<String> chosen =
        Stream.of("What to run", "On which machine")
            .flatMap(group -> groups().getOrDefault(group, List.of()).stream())
            .filter(name -> !name.equals("--class-path"))
            .toList();
    for (OptionSpec option : spec.commandLine().getParseResult().matchedOptions()) {
      String given = option.longestName();
      if (chosen.contains(given)) {
        throw new UsageException(
            """
            %s: %s is a run that is over, made with options of its own; leave it out, or \
            name a bench instead of the folder\
            """
                .formatted(given, folder));
      }
    }
  }

  /**
   * The bench of a recording. A folder may come from anybody, so it names no code to compile and
   * run: a source file must stand on the command line too.
   */
  private String trusted(String folder, Recording recording) {
    String bench = recording.bench();
    if (!bench.endsWith(".java")) {
      return bench;
    }
    return benchOptions
        .namedSource(bench)
        .orElseThrow(() ->
            new UsageException(
                """
                --verify-sensitivities: the run in %s was of %s, and code is taken from the \
                command line only, never from a folder; add --class-path %s if you trust that \
                file\
                """
                    .formatted(folder, bench, bench)));
  }

  private Explanation verified(
      Explanation explanation, String name, RunOptions options, Runner runner, Progress progress) {
    Bench bench = benchOptions.bench(name, benches);
    return explanation.verified(runner.simulationOf(bench, options), progress);
  }
}
