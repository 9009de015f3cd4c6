package org.kernbench.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.cli.process.WorkerProcess;
import org.kernbench.cli.text.SweepText;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.sweep.ResultStore;
import org.kernbench.eval.sweep.Sweep;
import org.kernbench.eval.sweep.SweepFolder;
import org.kernbench.eval.sweep.SweepRunner;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kernbench sweep}: one bench at every point of a grid. */
@Command(
    name = "sweep",
    customSynopsis = {
      "kernbench sweep --bench NAME --vary name=v1,v2,... [--vary ...] [OPTIONS]",
      "kernbench sweep FILE.yaml [OPTIONS]"
    },
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Runs one bench at every point of a grid, several at once.",
      """
      Each row is stored the moment its point is done; a sweep that was killed goes on with \
      --resume.\
      """
    },
    optionListHeading = "%n",
    sortOptions = false,
    footerHeading = "%nExamples%n",
    footer = {
      """
        kernbench sweep --bench ccl-allreduce --vary n_elem=64,1024,16384 --vary \
      algorithm=ring,tree\
      """,
      """
        kernbench sweep ccl-allreduce --vary "set:sip.links.cube_to_cube.latency=5 ns,10 ns" \
      --jobs 4\
      """,
      "  kernbench sweep examples/sweep.yaml --out results --resume",
      "",
      "Rows go to DIR/results.sqlite (docs/results-store.md), and when all are done to",
      "DIR/results.csv, .json and .parquet. What can vary: a parameter of the bench, topology,",
      "set:PATH (a value of the machine), ccl:PATH (a value of the collective configuration)."
    })
final class SweepCommand implements Callable<Integer> {
  private final Terminal terminal;
  private final BenchRegistry benches;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(index = "0", arity = "0..1", paramLabel = "NAME|FILE", hidden = true)
  private @Nullable String name;

  @Option(
      names = "--bench",
      paramLabel = "NAME",
      completionCandidates = Words.Benches.class,
      description = "The bench, or a .java file that holds one; also without --bench.")
  private @Nullable String bench;

  @Option(
      names = "--vary",
      paramLabel = "name=v1,v2,...",
      description = "What varies and its values; may be repeated: the grid is the product.")
  private List<String> vary = new ArrayList<>();

  @Mixin private BenchOptions benchOptions = new BenchOptions();

  @Option(
      names = {"-j", "--jobs"},
      paramLabel = "N",
      description = "Points at once, each in a process of its own (default: one per processor).")
  private @Nullable Integer jobs;

  @Option(names = "--out", paramLabel = "DIR", description = "Where results go (default: results).")
  private @Nullable Path out;

  @Option(names = "--resume", description = "Takes over rows that are there and runs the rest.")
  private boolean resume;

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      converter = Words.FormatWord.class,
      completionCandidates = Words.FormatWord.class,
      description = "text (default), json or csv, on standard output.")
  private Format format = Format.TEXT;

  @Option(
      names = {"-q", "--quiet"},
      description = "No progress and no warnings.")
  private boolean quiet;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  @Option(names = "--worker", hidden = true)
  private boolean worker;

  /** The options by heading, as the help shows them. */
  static Map<String, List<String>> groups() {
    Map<String, List<String>> groups = new LinkedHashMap<>();
    groups.put(
        "What to run",
        List.of("--bench", "--vary", "--param", "--point", "--class-path", "--mode", "--verify"));
    groups.put("On which machine", List.of("--topology", "--set", "--ccl", "--ccl-set"));
    groups.put("How", List.of("--jobs", "--resume"));
    groups.put("Output", List.of("--out", "--format", "--quiet", "--help"));
    return groups;
  }

  SweepCommand(Terminal terminal, BenchRegistry benches) {
    this.terminal = terminal;
    this.benches = benches;
  }

  /** What the options and the file say together. */
  private record Plan(Sweep sweep, int jobs, Path out) {}

  @Override
  public Integer call() {
    Plan plan = plan();
    if (worker) {
      return RunCommand.onVirtualThread(() -> WorkerProcess.serve(plan.sweep(), System.in));
    }
    SweepFolder folder = SweepFolder.create(plan.out());
    ProgressLine line = new ProgressLine(terminal, quiet);
    SweepRunner.Summary summary;
    List<Map<String, Object>> rows;
    List<String> warnings;
    try (ResultStore store = folder.open()) {
      SweepRunner runner = SweepRunner.of(plan.sweep(), store, line);
      try {
        summary = runner.run(resume, plan.jobs(), workers(plan));
      } finally {
        line.clear();
      }
      SweepFolder.Texts texts = folder.write(plan.sweep(), store);
      rows = texts.rows();
      warnings = texts.warnings();
      terminal
          .out()
          .print(
              switch (format) {
                case TEXT -> SweepText.write(plan.sweep(), rows, summary, folder);
                case JSON -> texts.json();
                case CSV -> texts.csv();
              });
    }
    terminal.out().flush();
    if (!quiet) {
      warnings.forEach(each -> terminal.say("warning: " + each));
    }
    for (String lost : summary.lost()) {
      terminal.say(lost);
    }
    if (summary.failed() > 0) {
      terminal.say(SweepText.failures(plan.sweep(), rows, summary));
    }
    boolean refused =
        !rows.isEmpty() && rows.stream().allMatch(row -> "refused".equals(row.get("status")));
    return refused && summary.lost().isEmpty() ? Main.USAGE : Main.exitCode(summary.isOk());
  }

  private Supplier<SweepRunner.Worker> workers(Plan plan) {
    if (plan.jobs() == 1) {
      SweepRunner.Worker here = SweepRunner.inPlace(plan.sweep());
      return () -> new OnVirtualThread(here);
    }
    List<String> command =
        new ArrayList<>(spec.root().commandLine().getParseResult().originalArgs());
    command.add("--worker");
    return () -> WorkerProcess.growing(command);
  }

  /** Runs points in this process, on one carrier as {@code run} does. */
  private record OnVirtualThread(SweepRunner.Worker worker) implements SweepRunner.Worker {
    @Override
    public org.kernbench.eval.sweep.SweepRow run(Sweep.Point point) {
      return RunCommand.onVirtualThread(() -> worker.run(point));
    }

    @Override
    public void close() {
      worker.close();
    }
  }

  private Plan plan() {
    BenchOptions.checkNotBlank("--out", out);
    if (jobs != null && jobs < 1) {
      throw new UsageException("--jobs: got " + jobs + "; expected 1 or more");
    }
    String chosen = name != null ? name : bench;
    if (name != null && bench != null && !name.equals(bench)) {
      throw new UsageException(
          "two benches given, " + name + " and --bench " + bench + "; sweep takes one");
    }
    if (chosen == null || chosen.isBlank()) {
      throw new UsageException("no bench given; expected --bench NAME, or a YAML file");
    }
    Sweep.Description file =
        chosen.endsWith(".yaml") || chosen.endsWith(".yml")
            ? Sweep.read(Path.of(chosen))
            : new Sweep.Description(
                chosen, RunOptions.DEFAULT, List.of(), Optional.empty(), Optional.empty());
    Bench swept = benchOptions.bench(file.bench(), benches);
    List<Sweep.Axis> axes = new ArrayList<>(file.axes());
    vary.forEach(each -> axes.add(Sweep.Axis.parse(each)));
    Sweep sweep =
        Sweep.of(
            swept,
            benchOptions.over(file.base()),
            axes,
            Main.versionText(),
            benchOptions.userClasses(file.bench()).hash());
    int processors = Runtime.getRuntime().availableProcessors();
    return new Plan(
        sweep,
        jobs != null ? jobs : file.jobs().orElse(processors),
        out != null ? out : file.out().orElse(Path.of("results")));
  }
}
