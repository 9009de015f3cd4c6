package org.kernbench.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.kernbench.cli.process.VectorProcess;
import org.kernbench.cli.text.ResultText;
import org.kernbench.config.Problem;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.DeviceRun;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Illustrated;
import org.kernbench.eval.Reuse;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.output.WholeFile;
import org.kernbench.eval.replay.TraceExport;
import org.kernbench.eval.report.Artefacts;
import org.kernbench.eval.report.ResultCsv;
import org.kernbench.eval.report.ResultJson;
import org.kernbench.eval.report.RunFolder;
import org.kernbench.eval.report.TraceFile;
import org.kernbench.nn.autograd.Fault;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kernbench run}: one bench, once. */
@Command(
    name = "run",
    customSynopsis = "kernbench run --bench NAME [OPTIONS] or kernbench run FILE.java [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = "Runs one bench and reports values, time, lower bound, and where the time went.",
    optionListHeading = "%n",
    sortOptions = false,
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench run --bench ccl-allreduce",
      "  kernbench run ccl-allreduce --param algorithm=ring --param n_elem=8192 --format json",
      "  kernbench run milestone-1h-ccl --out figures",
      "  kernbench run MyBench.java --param rows=4096          (kernbench new bench my-bench)",
      "  kernbench run ring-scale --mode time --param ranks=1024 --param \"bytes=1 MiB\"",
      "",
      "Benches, their parameters, presets and algorithms: kernbench list"
    })
final class RunCommand implements Callable<Integer> {
  private static final String INJECT = "inject";

  private final Terminal terminal;
  private final BenchRegistry benches;

  @Parameters(index = "0", arity = "0..1", paramLabel = "NAME", hidden = true)
  private @Nullable String name;

  @Option(
      names = "--bench",
      paramLabel = "NAME",
      completionCandidates = Words.Benches.class,
      description = "The bench, or a .java file that holds one; also without --bench.")
  private @Nullable String bench;

  @Mixin private BenchOptions benchOptions = new BenchOptions();

  @Option(
      names = "--device",
      paramLabel = "all|sip:N",
      description =
          "Of benches that run on one package (default: sip:0): another one, or each in turn.")
  private @Nullable String device;

  @Option(
      names = "--check",
      description =
          "Looks for races, reads of memory that nobody has written, and lost messages; slower.")
  private boolean check;

  @Option(
      names = "--fold",
      paramLabel = "auto|on|off",
      converter = Words.FoldingWord.class,
      completionCandidates = Words.FoldingWord.class,
      description =
          """
          In mode time: one package for all where that gives every row (auto, default); else an \
          error (on); or every package (off).\
          """)
  private Folding folding = Folding.AUTO;

  @Option(
      names = "--reuse",
      paramLabel = "auto|off",
      converter = Words.ReuseWord.class,
      completionCandidates = Words.ReuseWord.class,
      description =
          """
          In mode time: what came of a launch stands for others that do the same, on its PEs or \
          in another package, with the same rows (auto, default); or every launch is simulated \
          (off).\
          """)
  private Reuse reuse = Reuse.AUTO;

  @Option(
      names = "--verify-reuse",
      description =
          """
          In mode time: runs with --reuse off and auto, and compares all operations, chunks on \
          links, launches and the critical path.\
          """)
  private boolean verifyReuse;

  @Option(
      names = "--inject",
      paramLabel = "FAULT",
      converter = Words.FaultWord.class,
      completionCandidates = Words.FaultWord.class,
      description =
          """
          Of benches that train: puts a mistake in, to see the values wrong: \
          ${COMPLETION-CANDIDATES}.\
          """)
  private @Nullable Fault fault;

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      converter = Words.FormatWord.class,
      completionCandidates = Words.FormatWord.class,
      description = "text (default), json or csv, on standard output.")
  private Format format = Format.TEXT;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Also writes result.json and, of a single run, oplog.csv into this directory.")
  private @Nullable Path out;

  @Option(
      names = "--fast",
      description =
          """
          Of benches with figures: draws them again from the rows of the last run, without \
          simulating.\
          """)
  private boolean fast;

  @Option(
      names = "--trace",
      paramLabel = "FILE",
      description =
          """
          Writes every operation, message and link over time for ui.perfetto.dev; as Chrome's \
          JSON if the name ends in .json.\
          """)
  private @Nullable Path trace;

  @Option(
      names = "--export-chakra",
      paramLabel = "DIR",
      description =
          """
          Writes the kernels, collectives and messages of each rank as Chakra execution traces \
          into this directory, for kernbench trace and other simulators.\
          """)
  private @Nullable Path chakra;

  @Option(
      names = {"-q", "--quiet"},
      description = "No progress and no warnings.")
  private boolean quiet;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  /** The options by heading, as the help shows them. */
  static Map<String, List<String>> groups() {
    Map<String, List<String>> groups = new LinkedHashMap<>();
    groups.put(
        "What to run",
        List.of(
            "--bench",
            "--param",
            "--point",
            "--class-path",
            "--mode",
            "--verify",
            "--check",
            "--fold",
            "--reuse",
            "--verify-reuse",
            "--inject"));
    groups.put(
        "On which machine", List.of("--topology", "--set", "--device", "--ccl", "--ccl-set"));
    groups.put(
        "Output",
        List.of("--format", "--out", "--fast", "--trace", "--export-chakra", "--quiet", "--help"));
    return groups;
  }

  @Spec private CommandSpec spec = CommandSpec.create();

  RunCommand(Terminal terminal, BenchRegistry benches) {
    this.terminal = terminal;
    this.benches = benches;
  }

  @Override
  public Integer call() throws IOException {
    Bench chosen = benchOptions.bench(benchName(), benches);
    RunOptions options =
        injected(
            chosen,
            benchOptions
                .options()
                .withCheck(check)
                .withFolding(folding)
                .withReuse(verifyReuse ? Reuse.VERIFY : reuse));
    if (check && options.mode() == Mode.VALUES) {
      throw new UsageException(
          """
          --check: mode values has no order in time to check; use --mode full, or time for order \
          and messages only\
          """);
    }
    BenchOptions.checkNotBlank("--device", device);
    BenchOptions.checkNotBlank("--out", out);
    BenchOptions.checkNotBlank("--trace", trace);
    BenchOptions.checkNotBlank("--export-chakra", chakra);
    checkTrace(options);
    if (fast) {
      return drawAgain(chosen);
    }
    if (VectorProcess.pays(Runner.productFlops(chosen, options))) {
      List<String> args = spec.root().commandLine().getParseResult().originalArgs();
      terminal.flush();
      return VectorProcess.run(args, new FileOutputStream(FileDescriptor.err));
    }
    Optional<RunFolder> folder = folder(chosen, options);
    ProgressLine line = new ProgressLine(terminal, quiet);
    Runner runner = Runner.of(Main.versionText(), line);
    DeviceRun run;
    try {
      run = onVirtualThread(() -> run(runner, chosen, options));
    } finally {
      line.clear();
    }
    RunResult result = run.result();
    warn(result);
    show(result);
    if (folder.isPresent()) {
      folder.get().write(result, benchName(), run.options());
      if (chosen instanceof Illustrated illustrated && options.point().isEmpty()) {
        name(Artefacts.write(illustrated, result, folder.get()));
      }
    }
    if (trace != null) {
      writeTrace(result, trace);
    }
    if (chakra != null) {
      export(result, chakra);
    }
    for (String problem : result.problems()) {
      terminal.out().flush();
      terminal.say(problem);
    }
    return Main.exitCode(result.isOk());
  }

  /** The mistake is a parameter of the benches that can make it. */
  private RunOptions injected(Bench chosen, RunOptions options) {
    if (fault == null) {
      return options;
    }
    if (chosen.params().stream().noneMatch(p -> p.name().equals(INJECT))) {
      throw new UsageException(
          """
          --inject: bench %s makes no mistakes; expected one that trains, e.g. \
          transformer-block, train-step or mimo-train-step\
          """
              .formatted(chosen.name()));
    }
    List<String> params = new ArrayList<>(options.params());
    params.add(INJECT + "=" + fault.id());
    return options.withParams(params);
  }

  private DeviceRun run(Runner runner, Bench chosen, RunOptions options) {
    return device != null
        ? DeviceRun.of(runner, chosen, options, device)
        : new DeviceRun(options, runner.run(chosen, options));
  }

  private String benchName() {
    if (name != null && bench != null && !name.equals(bench)) {
      throw new UsageException(
          "two benches given, " + name + " and --bench " + bench + "; run takes one");
    }
    String chosen = name != null ? name : bench;
    if (chosen == null || chosen.isBlank()) {
      throw new UsageException("no bench given; expected --bench NAME, see kernbench list");
    }
    return chosen;
  }

  private void warn(RunResult result) {
    if (benchOptions.choseMachine() && !quiet) {
      result
          .machine()
          .ifPresent(m -> {
            for (Problem warning : m.warnings()) {
              terminal.say("warning: " + warning);
            }
          });
    }
  }

  /** Benches with figures write them also if no folder was named: that is what they are for. */
  private Optional<RunFolder> folder(Bench bench, RunOptions options) {
    Optional<Path> named = Optional.ofNullable(out);
    boolean drawn = bench instanceof Illustrated && options.point().isEmpty();
    return (drawn ? Optional.of(figures(bench)) : named).map(RunFolder::create);
  }

  private Path figures(Bench bench) {
    return out != null ? out : Path.of(bench.name());
  }

  private int drawAgain(Bench bench) {
    if (!(bench instanceof Illustrated illustrated)) {
      throw new UsageException("--fast: bench " + bench.name() + " has no figures; leave it out");
    }
    name(Artefacts.draw(illustrated, figures(bench)));
    return 0;
  }

  private void name(List<Path> files) {
    if (format == Format.TEXT) {
      terminal.out().println();
      files.forEach(file -> terminal.out().println("wrote       " + file));
    }
  }

  /** Before the run, whose result would be there without its trace. */
  private void checkTrace(RunOptions options) {
    if (trace == null && chakra == null) {
      return;
    }
    if (options.mode() == Mode.VALUES) {
      throw new UsageException(
          "%s: mode values keeps no operations to trace; use --mode full or time"
              .formatted(trace == null ? "--export-chakra" : "--trace"));
    }
    if (trace != null) {
      WholeFile.checkWritable("--trace", trace);
    }
  }

  private void export(RunResult result, Path folder) {
    String written = TraceExport.write(result, RunFolder.create(folder).directory()).text();
    if (!quiet) {
      terminal.say("chakra: " + folder + ", " + written);
    }
  }

  private void writeTrace(RunResult result, Path file) {
    TraceFile.Size size = TraceFile.write(result, file);
    if (!quiet) {
      terminal.say(
          String.format(
              Locale.ROOT,
              """
              trace: %s, %,d bytes: %,d slices on %,d tracks, %,d messages, %,d counter values; \
              open it at ui.perfetto.dev\
              """,
              file,
              size.bytes(),
              size.slices(),
              size.tracks(),
              size.flows(),
              size.samples()));
    }
  }

  private void show(RunResult result) {
    terminal
        .out()
        .print(
            switch (format) {
              case TEXT -> ResultText.write(result);
              case JSON -> ResultJson.write(result);
              case CSV -> ResultCsv.write(result);
            });
  }

  /**
   * Runs the whole simulation inside one virtual thread with one carrier, so that ranks and
   * kernels, which are virtual threads too, hand over in a few hundred nanoseconds.
   */
  static <T> T onVirtualThread(Callable<T> body) {
    String parallelism = "jdk.virtualThreadScheduler.parallelism";
    if (System.getProperty(parallelism) == null) {
      System.setProperty(parallelism, "1");
    }
    CompletableFuture<T> result = new CompletableFuture<>();
    Thread.ofVirtual()
        .name("kernbench")
        .start(() -> {
          try {
            result.complete(body.call());
          } catch (Throwable t) {
            result.completeExceptionally(t);
          }
        });
    try {
      return result.join();
    } catch (CompletionException e) {
      switch (e.getCause()) {
        case RuntimeException cause -> throw cause;
        case Error cause -> throw cause;
        case null, default -> throw e;
      }
    }
  }
}
