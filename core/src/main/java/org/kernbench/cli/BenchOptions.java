package org.kernbench.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.UserClasses;
import org.kernbench.eval.benches.BenchRegistry;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options that say what a run computes and on which machine: of every command that runs. */
final class BenchOptions {
  @Option(
      names = "--param",
      paramLabel = "name=value",
      description = "A parameter of the bench; may be repeated.")
  private List<String> params = new ArrayList<>();

  @Mixin private ClassPath classPath = new ClassPath();

  @Option(
      names = "--mode",
      paramLabel = "MODE",
      converter = Words.ModeWord.class,
      completionCandidates = Words.ModeWord.class,
      description = "full: values and time (default). time: no values. values: no time.")
  private Mode mode = Mode.FULL;

  @Option(
      names = "--point",
      paramLabel = "N|NAME",
      description =
          "Of a bench of several points: only this one, by its number in the table or its name.")
  private @Nullable String point;

  @Option(
      names = "--verify",
      description = "Also run in the other modes and compare: op logs and values must agree.")
  private boolean verify;

  @Option(
      names = "--topology",
      paramLabel = "FILE|PRESET",
      completionCandidates = Words.Presets.class,
      description = "The machine (default: the bench's own, for most benches sip-2026).")
  private @Nullable String topology;

  @Option(
      names = "--set",
      paramLabel = "path=value",
      description = "Changes one value of the machine, e.g. ipcq.slots=16; may be repeated.")
  private List<String> overrides = new ArrayList<>();

  @Mixin private CclChoice collectives = new CclChoice();

  /** The bench of a name or of a source file; a user's classes are at hand from now on. */
  Bench bench(String name, BenchRegistry standard) {
    return classPath.bench(name, standard);
  }

  /** The source file of that name that was given as {@code --class-path}, if it was. */
  Optional<String> namedSource(String bench) {
    String name = bench.substring(bench.lastIndexOf('/') + 1);
    return classPath.entries().stream()
        .filter(UserClasses::isSource)
        .filter(entry -> entry.endsWith(name))
        .map(Path::toString)
        .findFirst();
  }

  /** A user's classes, beside those of a bench's source file. */
  UserClasses userClasses(String bench) {
    return classPath.load(bench.endsWith(".java") ? List.of(Path.of(bench)) : List.of());
  }

  /** What was chosen. */
  RunOptions options() {
    return over(RunOptions.DEFAULT);
  }

  /** What was chosen, laid over what a file says. */
  RunOptions over(RunOptions file) {
    checkNotBlank("--topology", topology);
    checkNotBlank("--point", point);
    if (verify && mode != Mode.FULL) {
      throw new UsageException(
          """
          --verify compares all modes with mode full, so --mode cannot be given with it; leave \
          out one of the two\
          """);
    }
    Optional<Path> ccl = collectives.named().or(file::ccl);
    RunOptions all =
        new RunOptions(
            topology != null ? Optional.of(topology) : file.topology(),
            joined(file.overrides(), overrides),
            ccl.or(() -> CclConfig.inDirectory(Path.of(""))),
            joined(file.cclOverrides(), collectives.overrides()),
            joined(file.params(), params),
            mode != Mode.FULL ? mode : file.mode(),
            verify);
    Optional<String> one = point != null ? Optional.of(point) : file.point();
    return one.map(all::withPoint).orElse(all);
  }

  /** Whether the machine is the user's own choice. */
  boolean choseMachine() {
    return topology != null || !overrides.isEmpty();
  }

  static void checkNotBlank(String option, @Nullable Object value) {
    if (value != null && value.toString().isBlank()) {
      throw new UsageException(option + ": got nothing; expected a name, or leave the option out");
    }
  }

  private static List<String> joined(List<String> first, List<String> second) {
    List<String> all = new ArrayList<>(first);
    all.addAll(second);
    return all;
  }
}
