package org.kernbench.eval;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.CclConfig;
import org.kernbench.config.ConfigException;
import org.kernbench.config.Problem;
import org.kernbench.device.Findings;
import org.kernbench.device.Mode;
import org.kernbench.device.SimulatorOptions;
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

  /** What the run computes. */
  public Mode mode() {
    return options.mode();
  }

  /**
   * How much to record: so many operations, or all that memory holds if the run is to be explained.
   *
   * @param operations whose rows are kept if nobody asks for an explanation
   */
  public SimulatorOptions recording(int operations) {
    SimulatorOptions recording =
        new SimulatorOptions(
            explains ? Math.max(operations, EXPLAINED_OPERATIONS) : operations, captureLines);
    return options.check() ? recording.checkedBy(findings) : recording;
  }

  /** What to record by default. */
  public SimulatorOptions recording() {
    return recording(SimulatorOptions.DEFAULT.opLogLimit());
  }

  /** What the checked execution has found; empty if nobody asked for it. */
  Optional<Findings> findings() {
    return options.check() ? Optional.of(findings) : Optional.empty();
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
    for (String own : overrides) {
      checkNotUndone(own);
    }
    List<String> all = new ArrayList<>(overrides);
    all.addAll(options.overrides());
    machine = inputs.machine(options.topology().orElse(otherwise), List.copyOf(all));
    return machine;
  }

  private void checkNotUndone(String own) {
    String path = own.substring(0, own.indexOf('=') + 1);
    for (String given : options.overrides()) {
      if (given.replace(" ", "").startsWith(path) && !given.equals(own)) {
        throw new UsageException(
            "--set "
                + given
                + ": the bench sets "
                + own.substring(0, own.indexOf('='))
                + " itself; leave this out");
      }
    }
  }

  /** The machine that was asked for last. */
  Optional<Machine> machineInUse() {
    return Optional.ofNullable(machine);
  }

  /** The user's file of collectives, if the bench asked for it. */
  Optional<Path> cclInUse() {
    return usesCcl ? options.ccl() : Optional.empty();
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

  /** A problem of an override, under the name of the option that it came from. */
  private Problem asGiven(Problem p) {
    if (!p.file().equals("--set")) {
      return p;
    }
    int own = p.line() - options.cclOverrides().size();
    return own > 0
        ? new Problem("--param", own, p.column(), p.path(), p.message())
        : new Problem("--ccl-set", p.line(), p.column(), p.path(), p.message());
  }
}
