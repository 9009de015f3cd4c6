package org.kernbench.eval;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.device.check.Finding;
import org.kernbench.device.check.Findings;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.report.ResultJson;
import org.kernbench.machine.Machine;

/**
 * The result of a run, as every output shows it.
 *
 * @param version of kernbench
 * @param bench its name
 * @param machine what it ran on; empty if the run ended before a machine was chosen
 * @param mode {@code full}, {@code time} or {@code values}
 * @param params parameters and derived conditions
 * @param status how it ended
 * @param problems what went wrong, one message each; empty if nothing
 * @param values what was compared; empty if the mode computes none
 * @param metrics {@code crit_ns}, {@code bound_ns}, … and the bench's own
 * @param breakdown where the critical time went; empty if not known
 * @param breakdownNote why the breakdown is empty
 * @param rows table of a bench of many points
 * @param sim what the simulator did
 * @param verified comparison of the modes, by name; empty if not asked for
 * @param log the operations, if they were kept
 * @param path the critical path, if it is known
 * @param checked what checked execution found; empty if nobody asked for it
 * @param point of a bench of several points the one that was chosen or, if none was, the slowest
 * @param choices what {@code auto} chose for the collective calls, and from what; empty if nothing
 *     was left to it
 * @param files of the bench's own, by name with ending, for a folder of the run
 */
public record RunResult(
    String version,
    String bench,
    Optional<Machine> machine,
    String mode,
    Map<String, Object> params,
    Status status,
    List<String> problems,
    Optional<ValueCheck> values,
    Map<String, Object> metrics,
    List<Breakdown.Share> breakdown,
    String breakdownNote,
    List<Map<String, Object>> rows,
    Sim sim,
    Map<String, String> verified,
    Optional<OpLog> log,
    Optional<Breakdown> path,
    Optional<Checked> checked,
    Optional<String> point,
    List<AutoChoice> choices,
    Map<String, Supplier<String>> files) {
  /** Version of the JSON that {@link ResultJson} writes. */
  public static final int SCHEMA = 1;

  /** How a run ended. */
  public enum Status {
    /** All checks passed. */
    OK,
    /** Values differ from what they should be. */
    WRONG_VALUES,
    /** The simulated time is below its lower bound: a bug in the simulator. */
    BOUND_VIOLATED,
    /** Nothing could move. */
    DEADLOCK,
    /** The simulated program did something impossible, or a check of the bench failed. */
    FAILED,
    /** Two modes disagree. */
    MODES_DISAGREE,
    /** Checked execution has found something. */
    CHECK_FAILED;

    /** The word that outputs show. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * What the simulator did.
   *
   * @param events handled (in mode {@code values}: commands executed)
   * @param wallMs wall-clock time of the run in milliseconds, without the start of the process
   * @param opLogHash over all operations; empty in mode {@code values}
   * @param numerics what computed products: {@code plain}, {@code vector-512}, {@code none}
   * @param scope what of the run was simulated, and what stands for the rest
   */
  public record Sim(
      long events, double wallMs, String opLogHash, String numerics, SimulatedScope scope) {
    /** Events per second of wall-clock time. */
    public long eventsPerSecond() {
      return wallMs <= 0 ? 0 : Math.round(events / wallMs * 1e3);
    }
  }

  /**
   * What a checked execution judged and found.
   *
   * @param findings the distinct ones, the first {@link Findings#KEPT}
   * @param left how many more there are
   * @param accesses loads, stores and host accesses judged
   * @param messages messages judged
   */
  public record Checked(List<Finding> findings, int left, long accesses, long messages) {
    /** Copies the list. */
    public Checked {
      findings = List.copyOf(findings);
    }

    static Checked of(Findings found) {
      return new Checked(found.list(), found.left(), found.accesses(), found.messages());
    }
  }

  /** A result whose execution was not checked. */
  public RunResult(
      String version,
      String bench,
      Optional<Machine> machine,
      String mode,
      Map<String, Object> params,
      Status status,
      List<String> problems,
      Optional<ValueCheck> values,
      Map<String, Object> metrics,
      List<Breakdown.Share> breakdown,
      String breakdownNote,
      List<Map<String, Object>> rows,
      Sim sim,
      Map<String, String> verified,
      Optional<OpLog> log,
      Optional<Breakdown> path) {
    this(
        version,
        bench,
        machine,
        mode,
        params,
        status,
        problems,
        values,
        metrics,
        breakdown,
        breakdownNote,
        rows,
        sim,
        verified,
        log,
        path,
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Map.of());
  }

  /** A copy of one point, or with a slowest point. */
  public RunResult at(Optional<String> newPoint) {
    return with(status, problems, rows, checked, newPoint);
  }

  /** A copy with another table. */
  RunResult withRows(List<Map<String, Object>> newRows) {
    return with(status, problems, newRows, checked, point);
  }

  /** A copy with another end. */
  private RunResult ending(Status newStatus, List<String> newProblems, Optional<Checked> found) {
    return with(newStatus, newProblems, rows, found, point);
  }

  private RunResult with(
      Status newStatus,
      List<String> newProblems,
      List<Map<String, Object>> newRows,
      Optional<Checked> found,
      Optional<String> newPoint) {
    return new RunResult(
        version,
        bench,
        machine,
        mode,
        params,
        newStatus,
        newProblems,
        values,
        metrics,
        breakdown,
        breakdownNote,
        newRows,
        sim,
        verified,
        log,
        path,
        found,
        newPoint,
        choices,
        files);
  }

  /** A copy with what {@code auto} chose. */
  RunResult choosing(List<AutoChoice> all) {
    return with(List.copyOf(all), files);
  }

  /** A copy with files of the bench's own. */
  RunResult keeping(Map<String, Supplier<String>> all) {
    return with(choices, Collections.unmodifiableMap(new LinkedHashMap<>(all)));
  }

  private RunResult with(List<AutoChoice> newChoices, Map<String, Supplier<String>> newFiles) {
    return new RunResult(
        version,
        bench,
        machine,
        mode,
        params,
        status,
        problems,
        values,
        metrics,
        breakdown,
        breakdownNote,
        rows,
        sim,
        verified,
        log,
        path,
        checked,
        point,
        newChoices,
        newFiles);
  }

  /** A copy after its execution was checked: findings are problems, after those there are. */
  RunResult checkedBy(Findings found) {
    List<String> all = new ArrayList<>(problems);
    found.list().forEach(f -> all.add(f.message()));
    if (found.left() > 0) {
      all.add("and " + found.left() + " more findings");
    }
    boolean fails = status == Status.OK && !found.isEmpty();
    return ending(
        fails ? Status.CHECK_FAILED : status, List.copyOf(all), Optional.of(Checked.of(found)));
  }

  /** The result of a launch that no bench ran: its critical path and nothing else. */
  public static RunResult ofLaunch(Machine machine, Breakdown path) {
    return new RunResult(
        "",
        "",
        Optional.of(machine),
        "time",
        Map.of(),
        Status.OK,
        List.of(),
        Optional.empty(),
        Map.of("crit_ns", Numbers.ns(path.totalPs())),
        path.shares(),
        "",
        List.of(),
        new Sim(0, 0, path.log().hash(), "none", SimulatedScope.everything(machine.sips())),
        Map.of(),
        Optional.of(path.log()),
        Optional.of(path));
  }

  /** Name of the machine; empty if there is none. */
  public String machineName() {
    return machine.map(Machine::name).orElse("");
  }

  /** Hash of the machine's configuration; empty if there is none. */
  public String machineHash() {
    return machine.map(Machine::hash).orElse("");
  }

  /** Whether all checks passed. */
  public boolean isOk() {
    return status == Status.OK;
  }
}
