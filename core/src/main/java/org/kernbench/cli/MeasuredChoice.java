package org.kernbench.cli;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.measured.MeasuredFile;
import org.kernbench.eval.measured.RowJournal;
import org.kernbench.eval.measured.RowSimulator;
import org.kernbench.eval.output.Digest;
import org.kernbench.machine.Machines;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options that say which table is compared with which machine. */
final class MeasuredChoice {
  @Option(
      names = "--topology",
      paramLabel = "FILE|PRESET",
      completionCandidates = Words.Presets.class,
      description = "The machine that was measured.")
  private @Nullable String topology;

  @Option(
      names = "--set",
      paramLabel = "path=value",
      description = "Changes one value of it; may be repeated.")
  private List<String> overrides = new ArrayList<>();

  @Mixin private CclChoice collectives = new CclChoice();

  @Option(
      names = "--mapping",
      paramLabel = "FILE",
      description = "What the columns mean (default: the YAML file of the table's name beside it).")
  private @Nullable Path mapping;

  @Option(
      names = {"-j", "--jobs"},
      paramLabel = "N",
      description = "Rows at once (default: one per processor).")
  private @Nullable Integer jobs;

  /** Reads the table; what is wrong with it is said before the question for a machine. */
  MeasuredFile read(@Nullable String file, String command) {
    if (file == null || file.isBlank()) {
      throw new UsageException(command + " wants a table of measured runs; expected a CSV file");
    }
    MeasuredFile table = MeasuredFile.read(file, Optional.ofNullable(mapping));
    if (topology == null) {
      throw new UsageException(
          command + " " + file + ": which machine? expected --topology with a preset or a file");
    }
    return table;
  }

  /** The machine as given. */
  String topology() {
    return String.valueOf(topology);
  }

  /** What was given with {@code --set}. */
  List<String> overrides() {
    return overrides;
  }

  /** The machine as a file at another place names it. */
  String baseFrom(Path file) {
    if (Machines.presets().containsKey(topology()) || !Files.exists(Path.of(topology()))) {
      return topology();
    }
    Path topology = Path.of(topology()).toAbsolutePath().normalize();
    Path directory = file.toAbsolutePath().normalize().getParent();
    return (directory == null ? topology : directory.relativize(topology)).toString();
  }

  /** The machine's name; read once, so that what is wrong in it is said first. */
  String machineName() {
    return Machines.load(topology(), overrides).name();
  }

  private int jobs() {
    if (jobs != null && jobs < 1) {
      throw new UsageException("--jobs: got " + jobs + "; expected 1 or more");
    }
    return jobs == null ? Runtime.getRuntime().availableProcessors() : jobs;
  }

  /** Runs a body that simulates rows, with a processor for each at once. */
  <T> T simulating(Callable<T> body) {
    System.setProperty("jdk.virtualThreadScheduler.parallelism", Integer.toString(jobs()));
    return RunCommand.onVirtualThread(body);
  }

  /** All that decides what comes of a row, beside the row. */
  String conditions() {
    Digest digest = new Digest();
    digest.add(Main.versionText());
    digest.add(Machines.load(topology(), overrides).configText());
    digest.add(ccl().map(MeasuredChoice::text).orElse("") + collectives.overrides());
    return digest.text();
  }

  private static String text(Path file) {
    try {
      return UserFile.text(file, "a configuration of collectives, in YAML");
    } catch (UnreadableException e) {
      throw new UsageException("--ccl " + file + ": " + e.getMessage());
    }
  }

  private Optional<Path> ccl() {
    return collectives.named().or(() -> CclConfig.inDirectory(Path.of("")));
  }

  /** Simulates rows on the machine. */
  RowSimulator simulator(BenchRegistry benches, Optional<RowJournal> journal) {
    RunOptions options =
        RunOptions.DEFAULT
            .withTopology(topology())
            .withOverrides(overrides)
            .withCclOverrides(collectives.overrides());
    RunOptions all =
        new RunOptions(
            options.topology(),
            options.overrides(),
            ccl(),
            options.cclOverrides(),
            List.of(),
            options.mode(),
            false);
    return new RowSimulator(
        Runner.of(Main.versionText(), Progress.SILENT), benches::find, all, jobs(), journal);
  }
}
