package org.kernbench.eval;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.ConfigException;
import org.kernbench.config.FilesRead;
import org.kernbench.config.Problem;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.Reused;
import org.kernbench.device.check.Findings;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;

/** What a bench gets: its parameters, and the machine and configuration that the user chose. */
public final class BenchContext {
  private static final String DEFAULT_MACHINE = "sip-2026";

  /** With the moves of their chunks about 3 GB. */
  private static final int EXPLAINED_OPERATIONS = 10_000_000;

  private final Inputs inputs;
  private final RunOptions options;
  private final Params params;
  private final Progress progress;
  private final boolean captureLines;
  private final boolean explains;
  private final Findings findings = new Findings();
  private @Nullable Machine machine;
  private boolean usesCcl;
  private boolean asksForFolding;
  private final List<String> points = new ArrayList<>();
  private String ran = "";
  private String slowest = "";
  private long slowestPs;
  private long launches;
  private long simulatedLaunches;

  BenchContext(
      Inputs inputs,
      RunOptions options,
      Params params,
      Progress progress,
      boolean captureLines,
      boolean explains) {
    this.inputs = inputs;
    this.options = options;
    this.params = params;
    this.progress = progress;
    this.captureLines = captureLines;
    this.explains = explains;
  }

  /** The value of a parameter that the bench declares. */
  public <T> T param(Param<T> param) {
    return params.get(param);
  }

  /** As {@link Params#isGiven}. */
  public boolean isGiven(Param<?> param) {
    return params.isGiven(param);
  }

  /** What the run computes. */
  public Mode mode() {
    return options.mode();
  }

  /**
   * Whether one package may be simulated for all ({@code --fold}); off where values are computed,
   * an explanation is wanted, or the execution is checked.
   */
  public Folding folding() {
    asksForFolding = true;
    boolean possible = options.mode() == Mode.TIME && !options.check() && !explains;
    if (!possible && options.folding() == Folding.ON) {
      throw new UsageException(
          """
          --fold on: one package stands for all only in mode time, without --check and \
          --verify-reuse, and not to be explained; leave one of them out, or use --mode time\
          """);
    }
    return possible ? options.folding() : Folding.OFF;
  }

  /**
   * Refuses {@code --fold on} of a bench that never folds.
   *
   * @param bench its name
   */
  void checkFolding(String bench) {
    if (options.folding() == Folding.ON && !asksForFolding) {
      throw new UsageException(
          "--fold on: bench %s simulates every package; expected one that folds, e.g. ring-scale, or leave it out"
              .formatted(bench));
    }
  }

  /**
   * Refuses a choice of collectives that the bench has not looked at; the file that lies in the
   * directory chooses nothing.
   *
   * @param bench its name
   */
  void checkCollectives(String bench) {
    Optional<Path> file = options.ccl().filter(f -> !isOfDirectory(f));
    if (!usesCcl && (file.isPresent() || !options.cclOverrides().isEmpty())) {
      String what =
          file.map(f -> "--ccl " + f).orElseGet(() -> "--ccl-set " + options.cclOverrides().get(0));
      throw new UsageException(
          "%s: bench %s runs no collective that this could change; leave it out"
              .formatted(what, bench));
    }
  }

  private static boolean isOfDirectory(Path file) {
    return CclConfig.inDirectory(Path.of(""))
        .filter(here -> here.toAbsolutePath().equals(file.toAbsolutePath()))
        .isPresent();
  }

  /**
   * How much to record: so many operations, or all that memory holds if the run is to be explained.
   *
   * @param operations whose rows are kept if nobody asks for an explanation
   */
  public SimulatorOptions recording(int operations) {
    int kept = explains ? Math.max(operations, EXPLAINED_OPERATIONS) : operations;
    return checked(new SimulatorOptions(kept, captureLines));
  }

  private SimulatorOptions checked(SimulatorOptions recording) {
    boolean may = options.mode() == Mode.TIME && !options.check();
    SimulatorOptions watched = progress.watch().map(recording::showing).orElse(recording);
    return (options.check() ? watched.checkedBy(findings) : watched)
        .reusing(may && options.reuse() != Reuse.OFF)
        .telling(this::count);
  }

  private synchronized void count(Reused reused) {
    launches += reused.launches() + reused.simulated();
    simulatedLaunches += reused.simulated();
  }

  /** What became of launches in the simulations that have ended. */
  synchronized Outcome.Launches launches() {
    return new Outcome.Launches(launches, simulatedLaunches);
  }

  /** What to record by default. */
  public SimulatorOptions recording() {
    return recording(SimulatorOptions.DEFAULT.opLogLimit());
  }

  /** What the checked execution has found; empty if nobody asked for it. */
  Optional<Findings> findings() {
    return options.check() ? Optional.of(findings) : Optional.empty();
  }

  /**
   * Whether a bench of several points is to run this one: all of them, unless the user chose one.
   * Asked for each point in the order of the table. Points run on simulators of their own.
   *
   * @param point its name, such as {@code torus_2d n_elem=512}
   */
  public boolean runs(String point) {
    points.add(point);
    boolean chosen =
        options
            .point()
            .map(p -> p.equals(Integer.toString(points.size())) || sameName(p, point))
            .orElse(true);
    if (chosen) {
      ran = point;
    }
    return chosen;
  }

  private static boolean sameName(String given, String name) {
    return Suggest.fold(given.strip()).equals(Suggest.fold(name));
  }

  /** Says how long a point took, in picoseconds; the slowest is the one to explain. */
  public void took(String point, long ps) {
    if (slowest.isEmpty() || ps > slowestPs) {
      slowest = point;
      slowestPs = ps;
    }
  }

  /** Whether the user chose one point. */
  public boolean choosesPoint() {
    return options.point().isPresent();
  }

  /** How much to record of a point: nothing of many, everything of the one that the user chose. */
  public SimulatorOptions recordingOfPoint() {
    return choosesPoint() ? recording() : checked(new SimulatorOptions(0, captureLines));
  }

  /** The point that was chosen and ran, the slowest of all if none was; empty without points. */
  Optional<String> slowestPoint() {
    String found = choosesPoint() ? ran : slowest;
    return found.isEmpty() ? Optional.empty() : Optional.of(found);
  }

  /**
   * Refuses a chosen point that the bench does not have.
   *
   * @throws UsageException that lists those it has
   */
  void checkPoint() {
    options
        .point()
        .filter(p -> ran.isEmpty())
        .ifPresent(p -> {
          throw new UsageException("--point " + p + ": " + pointsThatThereAre(p));
        });
  }

  private String pointsThatThereAre(String given) {
    if (points.isEmpty()) {
      return "the bench has no points; leave it out";
    }
    String hint = Suggest.hint(given, points);
    return "expected 1 to %s or a name, such as \"%s\"%s"
        .formatted(points.size(), points.getFirst(), hint);
  }

  /** Whether to capture source lines: an earlier run of the same ended in a deadlock. */
  boolean capturesLines() {
    return captureLines;
  }

  /** Hears how far the bench is. */
  public Progress progress() {
    return progress;
  }

  /** The machine that the user chose, or the default one. */
  public Machine machine() {
    return machine(DEFAULT_MACHINE, List.of());
  }

  /**
   * The machine that the user chose, or the bench's own.
   *
   * @param otherwise preset if the user chose none
   * @param overrides {@code path=value}, applied before the user's
   * @throws UsageException if the user gives one of the same values, which would undo what the
   *     bench measures
   */
  public Machine machine(String otherwise, List<String> overrides) {
    checkNotUndone("--set", options.overrides(), overrides);
    List<String> all = new ArrayList<>(overrides);
    all.addAll(options.overrides());
    machine = inputs.machine(options.topology().orElse(otherwise), List.copyOf(all));
    return machine;
  }

  /**
   * The machine that the user chose, or the default one, with another value in one place; not that
   * of the run.
   */
  public Machine machineWith(String override) {
    List<String> all = new ArrayList<>(options.overrides());
    all.add(override);
    return inputs.machine(options.topology().orElse(DEFAULT_MACHINE), List.copyOf(all));
  }

  private static void checkNotUndone(String option, List<String> all, List<String> overrides) {
    for (String own : overrides) {
      String path = own.substring(0, own.indexOf('=') + 1);
      for (String given : all) {
        if (given.replace(" ", "").startsWith(path) && !given.replace(" ", "").equals(own)) {
          throw new UsageException(
              "%s %s: the bench sets %s itself; leave this out"
                  .formatted(option, given, own.substring(0, own.indexOf('='))));
        }
      }
    }
  }

  /** The machine that was asked for last. */
  Optional<Machine> machineInUse() {
    return Optional.ofNullable(machine);
  }

  /**
   * What the user says about collectives, if the bench asked for it: {@code ccl}, {@code
   * ccl_content}, a hash of the file, and {@code ccl:PATH} for each override.
   */
  Map<String, Object> cclInUse() {
    Map<String, Object> said = new LinkedHashMap<>();
    if (usesCcl) {
      options
          .ccl()
          .ifPresent(file -> {
            said.put("ccl", file.toString());
            said.put("ccl_content", FilesRead.contentOf(file));
          });
      for (String given : options.cclOverrides()) {
        int equals = given.indexOf('='); // the configuration was read, so there is one
        said.put("ccl:" + given.substring(0, equals).strip(), given.substring(equals + 1).strip());
      }
    }
    return said;
  }

  /**
   * The collective configuration that the user chose.
   *
   * @param overrides {@code path=value}, applied after the user's
   */
  public CclConfig ccl(List<String> overrides) {
    usesCcl = true;
    List<String> all = new ArrayList<>(options.cclOverrides());
    all.addAll(overrides);
    try {
      return inputs.ccl(options.ccl(), List.copyOf(all));
    } catch (ConfigException e) {
      throw new ConfigException(e.problems().stream().map(this::asGiven).toList());
    }
  }

  /**
   * The collective configuration of a bench that sets some values itself.
   *
   * @param overrides {@code path=value}
   * @throws UsageException if the user gives another of the same values, which would not count
   */
  public CclConfig cclWith(List<String> overrides) {
    checkNotUndone("--ccl-set", options.cclOverrides(), overrides);
    return ccl(overrides);
  }

  /**
   * Refuses values of the collective configuration that a bench never reads.
   *
   * @param paths how they begin
   * @param instead what to give in their place
   */
  public void refuseCcl(List<String> paths, String instead) {
    for (String given : options.cclOverrides()) {
      if (paths.stream().anyMatch(given.replace(" ", "")::startsWith)) {
        throw new UsageException(
            "--ccl-set %s: the bench does not read this; use %s".formatted(given, instead));
      }
    }
  }

  /** A problem of an override, under the name of the option that it came from. */
  private Problem asGiven(Problem p) {
    int own = p.line() - options.cclOverrides().size();
    return p.file().equals(CclConfig.OPTION) && own > 0
        ? new Problem("--param", own, p.column(), p.path(), p.message())
        : p;
  }
}
