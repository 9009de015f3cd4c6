package org.kernbench.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.config.ConfigException;
import org.kernbench.config.UsageException;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.device.check.Findings;
import org.kernbench.device.log.LogDifference;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Sensitivity;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.output.OutputException;
import org.kernbench.machine.MachineException;
import org.kernbench.machine.SimulationException;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.tensor.Numerics;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.SpawnException;

/**
 * Runs benches and judges what they measured: values, lower bound, work done, agreement of the
 * modes.
 *
 * <p>A user's error in the choice of machine, configuration or parameters is thrown ({@link
 * UsageException}, {@link org.kernbench.config.ConfigException}); what goes wrong while the
 * simulated program runs is the {@link RunResult.Status status} of the result. Anything else that
 * is thrown is a bug.
 */
public final class Runner {
  private final String version;
  private final Progress progress;
  private final Inputs inputs = new Inputs();
  private final boolean explains;

  /** Whether options are meant for many benches, some of which have no use for them. */
  private final boolean ofMany;

  private Runner(String version, Progress progress, boolean explains, boolean ofMany) {
    this.version = version;
    this.progress = progress;
    this.explains = explains;
    this.ofMany = ofMany;
  }

  /** A runner that writes {@code version} into results and tells {@code progress} how far it is. */
  public static Runner of(String version, Progress progress) {
    return new Runner(version, progress, false, false);
  }

  /** A runner that lets benches record all that an explanation needs, as far as memory goes. */
  public Runner explaining() {
    return new Runner(version, progress, true, ofMany);
  }

  /** A runner of benches with the same options, which does not ask whether each needs them all. */
  public Runner ofMany() {
    return new Runner(version, progress, explains, true);
  }

  /**
   * Runs a bench.
   *
   * @throws UsageException if the parameters are wrong
   * @throws org.kernbench.config.ConfigException if the machine or the collective configuration is
   */
  public RunResult run(Bench bench, RunOptions options) {
    if (options.reuse() == Reuse.VERIFY) {
      return verifiedReuse(bench, options);
    }
    Params params = Params.read(bench, options.params());
    Attempt attempt = attempt(bench, options, params, false);
    if (attempt.deadlock().isPresent() && !attempt.context().capturesLines()) {
      // once more, so that the report can name the kernel's lines
      Attempt withLines = attempt(bench, options, params, true);
      attempt = withLines.deadlock().isPresent() ? withLines : attempt;
    }
    RunResult result = checked(bench, attempt, judge(bench, options, params, attempt));
    return options.verify() && result.isOk()
        ? verified(bench, options, params, attempt, result)
        : result;
  }

  /** What {@link Bench#productFlops} says of a run; 0 if it computes no values. */
  public static double productFlops(Bench bench, RunOptions options) {
    return options.mode() == Mode.TIME
        ? 0
        : bench.productFlops(Params.read(bench, options.params()));
  }

  /**
   * Runs a bench so that its time can be explained; of a bench of several points, if the options
   * choose none, the slowest.
   *
   * @return with the critical path, if there is one, and the name of the point
   */
  public RunResult runToExplain(Bench bench, RunOptions options) {
    RunResult result = explaining().run(bench, options);
    return result.point().isPresent() && options.point().isEmpty()
        ? explaining().run(bench, options.withPoint(result.point().get()))
        : result;
  }

  /**
   * Simulates a run with one more override of its machine, and gives its time; empty if it does not
   * end well there.
   */
  public Sensitivity.Simulation simulationOf(Bench bench, RunOptions options) {
    Params params = Params.read(bench, options.params());
    return override -> {
      List<String> all = new ArrayList<>(options.overrides());
      all.add(override);
      Attempt attempt = quietly(bench, options.withOverrides(all), params);
      return attempt
          .outcome()
          .filter(o -> o.critPs() > 0)
          .map(o -> new Sensitivity.Changed(o.critPs(), o.breakdown()));
    };
  }

  /** Without values where the program allows it: times are the same. */
  private Attempt quietly(Bench bench, RunOptions options, Params params) {
    try {
      Attempt attempt = attempt(bench, options.withMode(Mode.TIME), params, false);
      return attempt.outcome().isPresent()
          ? attempt
          : attempt(bench, options.withMode(Mode.FULL), params, false);
    } catch (UsageException e) {
      return attempt(bench, options.withMode(Mode.FULL), params, false);
    }
  }

  /** One run of a bench: an outcome, or the error that ended it. */
  private record Attempt(
      BenchContext context,
      Optional<Outcome> outcome,
      Optional<RuntimeException> error,
      double wallMs) {
    Optional<DeadlockException> deadlock() {
      return error.flatMap(Runner::deadlockIn);
    }
  }

  private Attempt attempt(Bench bench, RunOptions options, Params params, boolean lines) {
    BenchContext context =
        new BenchContext(inputs, options, params, progress, lines || explains, explains);
    long begin = System.nanoTime();
    Optional<Outcome> outcome = Optional.empty();
    Optional<RuntimeException> error = Optional.empty();
    try (LockWatch watch = LockWatch.start()) {
      outcome = Optional.of(made(bench, context));
    } catch (RuntimeException | Error e) {
      error = Optional.of(programError(e));
    }
    return new Attempt(context, outcome, error, (System.nanoTime() - begin) / 1e6);
  }

  /** What a bench of a user may forget to return. */
  private static Outcome made(Bench bench, BenchContext context) {
    @Nullable Outcome made = bench.run(context);
    if (made == null) {
      throw new SimulationException(
          "bench %s returned null; expected what came of its run".formatted(bench.name()));
    }
    return made;
  }

  // ---- judging ----

  private RunResult judge(Bench bench, RunOptions options, Params params, Attempt attempt) {
    Outcome outcome = attempt.outcome().orElse(null);
    if (outcome == null) {
      return failed(bench, options, params, attempt);
    }
    List<String> problems = new ArrayList<>();
    attempt.context().checkPoint();
    attempt.context().checkFolding(bench.name());
    if (!ofMany) {
      attempt.context().checkCollectives(bench.name());
    }
    RunResult.Status status = check(bench, outcome, problems);
    RunResult result =
        new RunResult(
            version,
            bench.name(),
            Optional.of(outcome.breakdown().map(Breakdown::machine).orElse(outcome.machine())),
            word(options.mode()),
            conditions(params, outcome, attempt.context()),
            status,
            List.copyOf(problems),
            outcome.values(),
            metrics(outcome),
            outcome.breakdown().map(Breakdown::shares).orElse(List.of()),
            outcome.breakdownNote(),
            List.copyOf(outcome.rows()),
            new RunResult.Sim(
                outcome.events(),
                attempt.wallMs(),
                outcome.opLogHash(),
                numerics(options),
                outcome.scope(attempt.context().launches())),
            Map.of(),
            outcome.log(),
            outcome.breakdown());
    return result
        .at(attempt.context().slowestPoint())
        .choosing(outcome.choices())
        .keeping(outcome.files());
  }

  /** Adds what the checked execution has found, if it was asked for. */
  private static RunResult checked(Bench bench, Attempt attempt, RunResult result) {
    Optional<Findings> findings = attempt.context().findings();
    if (findings.isPresent() && findings.get().simulators() == 0 && result.isOk()) {
      throw new UsageException(
          """
          bench %s opens its machines without context.recording(), so nothing can be \
          checked; use that, or leave --check out\
          """
              .formatted(bench.name()));
    }
    return findings.map(result::checkedBy).orElse(result);
  }

  private RunResult failed(Bench bench, RunOptions options, Params params, Attempt attempt) {
    RuntimeException error = attempt.error().orElseThrow();
    Optional<DeadlockException> deadlock = attempt.deadlock();
    String message =
        String.valueOf(deadlock.map(d -> (RuntimeException) d).orElse(error).getMessage());
    return new RunResult(
        version,
        bench.name(),
        attempt.context().machineInUse(),
        word(options.mode()),
        params.forResult(),
        deadlock.isPresent() ? RunResult.Status.DEADLOCK : RunResult.Status.FAILED,
        List.of(message),
        Optional.empty(),
        Map.of(),
        List.of(),
        "",
        List.of(),
        new RunResult.Sim(0, attempt.wallMs(), "", numerics(options), SimulatedScope.nothing()),
        Map.of(),
        Optional.empty(),
        Optional.empty());
  }

  private static String numerics(RunOptions options) {
    return options.mode() == Mode.TIME ? "none" : Numerics.backEnd();
  }

  /** Whether this process computes products with vector instructions. */
  public static boolean hasVectors() {
    return !Numerics.backEnd().equals("plain");
  }

  private static RunResult.Status check(Bench bench, Outcome outcome, List<String> problems) {
    if (outcome.events() == 0) {
      problems.add(
          """
          bench %s submitted no work; a bench launches at least one kernel or collective\
          """
              .formatted(bench.name()));
      return RunResult.Status.FAILED;
    }
    Optional<ValueCheck> values = outcome.values();
    if (values.isPresent() && !values.get().isCorrect()) {
      problems.add(wrongValues(values.get()));
      return RunResult.Status.WRONG_VALUES;
    }
    if (outcome.critPs() < outcome.boundPs()) {
      problems.add(
          """
          simulated time %s ns is below its lower bound %s ns (%s): one of the two is wrong%s\
          """
              .formatted(
                  Numbers.ns(outcome.critPs()),
                  Numbers.ns(outcome.boundPs()),
                  outcome.boundKind(),
                  isOfUser(bench)
                      ? "; the bound is the bench's"
                      : ", which is a bug in kernbench; please report it with this command"));
      return RunResult.Status.BOUND_VIOLATED;
    }
    if (!outcome.problem().isEmpty()) {
      problems.add(outcome.problem());
      return RunResult.Status.FAILED;
    }
    return RunResult.Status.OK;
  }

  /** Whether its class was compiled for a user, by a loader of its own. */
  private static boolean isOfUser(Bench bench) {
    return bench.getClass().getClassLoader() != Runner.class.getClassLoader();
  }

  private static String wrongValues(ValueCheck check) {
    ValueCheck.Mismatch m = check.first().orElseThrow();
    return String.format(
        Locale.ROOT,
        """
        wrong values: %d of %d; the first at rank %d, index %d%s: got %s, expected %s (allowed \
        difference %s)\
        """,
        check.wrong(),
        check.checked(),
        m.rank(),
        m.index(),
        m.tensor().isEmpty() ? "" : " of " + m.tensor(),
        plain(m.got()),
        plain(m.expected()),
        plain(m.allowed()));
  }

  private static String plain(double value) {
    return Double.isFinite(value) && value == Math.rint(value) && Math.abs(value) < 1e15
        ? Long.toString((long) value)
        : Double.toString(value);
  }

  private static Map<String, Object> conditions(
      Params params, Outcome outcome, BenchContext context) {
    Map<String, Object> all = new LinkedHashMap<>(params.forResult());
    all.putAll(outcome.conditions());
    all.putAll(context.cclInUse());
    if (context.choosesPoint()) {
      context.slowestPoint().ifPresent(point -> all.put("point", point));
    }
    return all;
  }

  private static Map<String, Object> metrics(Outcome outcome) {
    Map<String, Object> metrics = new LinkedHashMap<>();
    if (outcome.critPs() > 0) {
      metrics.put("crit_ns", Numbers.ns(outcome.critPs()));
      metrics.put("observed_ns", Numbers.ns(ObservedTime.of(outcome)));
      metrics.put("bound_ns", Numbers.ns(outcome.boundPs()));
      metrics.put("bound_kind", outcome.boundKind());
      metrics.put("efficiency", Numbers.ratio(outcome.boundPs(), outcome.critPs()));
    }
    metrics.putAll(outcome.metrics());
    return metrics;
  }

  // ---- launches that stand for others ----

  /** Runs with every launch simulated, and with what came of launches used again. */
  private RunResult verifiedReuse(Bench bench, RunOptions options) {
    if (options.mode() != Mode.TIME || options.check()) {
      throw new UsageException(
          """
          --verify-reuse: launches stand for others only in mode time, without --check; use \
          --mode time\
          """);
    }
    RunResult each = explaining().run(bench, options.withReuse(Reuse.OFF));
    RunResult again = explaining().run(bench, options.withReuse(Reuse.AUTO));
    if (!each.isOk() || !again.isOk()) {
      return again.isOk() ? each : again;
    }
    OpLog log = wholeLog(bench, each);
    List<String> problems = new ArrayList<>();
    LogDifference.between(log, wholeLog(bench, again), each.machine().orElseThrow())
        .ifPresent(problems::add);
    if (!each.metrics().equals(again.metrics())
        || !each.rows().equals(again.rows())
        || !each.breakdown().equals(again.breakdown())) {
      problems.add("metrics, rows or shares of the critical path differ");
    }
    String what = "every launch simulated, and launches used again";
    String how =
        problems.isEmpty()
            ? String.format(
                Locale.ROOT,
                "the same %,d operations, each with its chunks, and %,d launches",
                log.completed(),
                log.launches().size())
            : "differ";
    problems.replaceAll(p -> "launches used again differ from simulated ones, a bug: " + p);
    return verified(
        again,
        problems.isEmpty() ? again.status() : RunResult.Status.MODES_DISAGREE,
        problems,
        Map.of(what, how));
  }

  private static OpLog wholeLog(Bench bench, RunResult result) {
    OpLog log =
        result
            .log()
            .orElseThrow(() ->
                new UsageException(
                    "--verify-reuse: bench %s keeps no op log to compare".formatted(bench.name())));
    if (!log.isComplete()) {
      throw new UsageException(
          "--verify-reuse: the op log %s; compare a smaller run, with fewer layers for example"
              .formatted(log.lack()));
    }
    return log;
  }

  // ---- modes ----

  /** Runs the other modes and compares: times must not depend on values, nor values on times. */
  private RunResult verified(
      Bench bench, RunOptions options, Params params, Attempt full, RunResult result) {
    Map<String, String> verified = new LinkedHashMap<>();
    List<String> problems = new ArrayList<>();
    String hash = full.outcome().orElseThrow().opLogHash();
    String values = full.outcome().orElseThrow().valuesHash();
    compare(Mode.TIME, "op log", hash, bench, options, params, verified, problems);
    try {
      compare(Mode.VALUES, "values", values, bench, options, params, verified, problems);
    } catch (UsageException e) {
      throw new UsageException(
          """
          --verify also runs mode values, which bench %s does not have: it measures time; leave \
          --verify away\
          """
              .formatted(bench.name()));
    }
    return verified(
        result,
        problems.isEmpty() ? result.status() : RunResult.Status.MODES_DISAGREE,
        problems,
        verified);
  }

  /** A copy that says what was compared. */
  private static RunResult verified(
      RunResult result,
      RunResult.Status status,
      List<String> problems,
      Map<String, String> verified) {
    return new RunResult(
        result.version(),
        result.bench(),
        result.machine(),
        result.mode(),
        result.params(),
        status,
        List.copyOf(problems),
        result.values(),
        result.metrics(),
        result.breakdown(),
        result.breakdownNote(),
        result.rows(),
        result.sim(),
        verified,
        result.log(),
        result.path(),
        result.checked(),
        result.point(),
        result.choices(),
        result.files());
  }

  private void compare(
      Mode mode,
      String what,
      String expected,
      Bench bench,
      RunOptions options,
      Params params,
      Map<String, String> verified,
      List<String> problems) {
    RunOptions every =
        options.withMode(mode).withCheck(false).withFolding(Folding.OFF).withReuse(Reuse.OFF);
    Attempt other = attempt(bench, every, params, false);
    String got =
        other.outcome().map(o -> mode == Mode.TIME ? o.opLogHash() : o.valuesHash()).orElse("");
    String name = "full and " + word(mode);
    if (got.equals(expected)) {
      verified.put(name, "same " + what + " " + expected);
      return;
    }
    verified.put(name, "differ");
    problems.add(
        """
        modes full and %s disagree: %s hash %s and %s; the program depends on the order \
        of simulated time, or this is a bug\
        """
            .formatted(
                word(mode),
                what,
                expected,
                got.isEmpty()
                    ? "none: " + other.error().map(Throwable::getMessage).orElse("no result")
                    : got));
  }

  // ---- errors ----

  /** The error of the simulated program, or of the user's code; anything else is thrown. */
  private static RuntimeException programError(Throwable e) {
    if (e instanceof RuntimeException known && isProgramError(known) && !isRefusal(known)) {
      return known;
    }
    if (!isRefusal(e) && !ranOutOfMemory(e)) {
      Optional<String> told = UserFault.message(e);
      if (told.isPresent()) {
        String ranks = e instanceof SpawnException s ? "\n" + s.getMessage() : "";
        return new SimulationException(told.get() + ranks);
      }
    }
    switch (e) {
      case RuntimeException r -> throw r;
      case Error r -> throw r;
      default -> throw new IllegalStateException(e);
    }
  }

  /** Whether the user chose what cannot be: that is no result. */
  private static boolean isRefusal(Throwable e) {
    return switch (e) {
      case UsageException u -> true;
      case ConfigException c -> true;
      case CollectiveException c -> true;
      case LayoutException l -> true;
      case OutputException o -> true;
      default -> false;
    };
  }

  private static boolean ranOutOfMemory(Throwable e) {
    return UserFault.chain(e).stream().anyMatch(OutOfMemoryError.class::isInstance);
  }

  /** Whether an error is the simulated program's, whose message is all that a user needs. */
  private static boolean isProgramError(Throwable e) {
    return switch (e) {
      case SpawnException s -> s.failures().values().stream().allMatch(Runner::isProgramError);
      case SimulationException s -> true;
      case MachineException s -> true;
      case ShapeException s -> true;
      case CollectiveException s -> true;
      default -> false;
    };
  }

  private static Optional<DeadlockException> deadlockIn(Throwable e) {
    return switch (e) {
      case DeadlockException d -> Optional.of(d);
      case SpawnException s ->
          s.failures().values().stream()
              .filter(DeadlockException.class::isInstance)
              .map(DeadlockException.class::cast)
              .findFirst();
      default -> Optional.empty();
    };
  }

  private static String word(Mode mode) {
    return mode.name().toLowerCase(Locale.ROOT);
  }
}
