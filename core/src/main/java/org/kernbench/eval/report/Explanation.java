package org.kernbench.eval.report;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Sensitivity;
import org.kernbench.eval.explain.Utilisation;
import org.kernbench.machine.Machine;

/**
 * Why a run took the time it took: its critical path by cause, place and kernel line, who waited
 * for whom, how busy engines and links were, and what each number of the machine is worth.
 *
 * @param result of the run
 * @param breakdown its critical path
 * @param utilisation over the time that the path covers
 * @param waits of all operations, the longest in sum first
 * @param sensitivities the strongest first
 */
public record Explanation(
    RunResult result,
    Breakdown breakdown,
    Utilisation utilisation,
    List<Wait> waits,
    List<Sensitivity> sensitivities) {

  /** Copies the lists. */
  public Explanation {
    waits = List.copyOf(waits);
    sensitivities = List.copyOf(sensitivities);
  }

  /**
   * Operations that waited for the same thing: from when they were issued to when they started, by
   * the last thing they waited for.
   *
   * @param who kind of the operations that waited and the kernel line that issued them
   * @param cause what they waited for last
   * @param by kind of the operations that ended the wait and the kernel line that issued them;
   *     empty if none did
   * @param operations how many waited
   * @param ps time waited in sum, picoseconds
   * @param longestPs the longest wait
   * @param longestOp the operation that waited longest, an id of the op log
   */
  public record Wait(
      String who,
      String cause,
      String by,
      int operations,
      long ps,
      long longestPs,
      int longestOp) {}

  /**
   * Explains a run.
   *
   * @throws UsageException if the run cannot be explained; the message says why
   */
  public static Explanation of(RunResult result) {
    Breakdown breakdown = result.path().orElseThrow(() -> notKnown(result));
    Machine machine = breakdown.machine();
    OpLog log = breakdown.log();
    return new Explanation(
        result,
        breakdown,
        Utilisation.of(machine, log, breakdown.beginPs(), breakdown.endPs()),
        waits(log),
        Sensitivity.of(machine, breakdown));
  }

  static UsageException notKnown(RunResult r) {
    String why =
        !r.problems().isEmpty()
            ? "the run failed: " + r.problems().getFirst()
            : r.mode().equals("values")
                ? "mode values has no time; run it in mode full or time"
                : r.breakdownNote().isEmpty()
                    ? "the bench records no operations"
                    : r.breakdownNote()
                        .replace(
                            Outcome.KEEPS_MORE,
                            """
                            ; this is all that memory has room for: run fewer ranks, calls or \
                            elements\
                            """);
    return new UsageException("cannot explain " + r.bench() + ": " + why);
  }

  /** Explains a launch that no bench ran. */
  public static Explanation of(Machine machine, Breakdown breakdown) {
    return of(RunResult.ofLaunch(machine, breakdown));
  }

  /** A copy whose sensitivities are simulated too. */
  public Explanation verified(Sensitivity.Simulation simulation, Progress progress) {
    List<Sensitivity> all = new ArrayList<>();
    for (int i = 0; i < sensitivities.size(); i++) {
      Sensitivity s = sensitivities.get(i);
      progress.at(i, sensitivities.size(), s.parameter().path());
      all.add(s.verified(breakdown, simulation));
    }
    progress.at(sensitivities.size(), sensitivities.size(), "");
    return new Explanation(result, breakdown, utilisation, waits, all);
  }

  private static List<Wait> waits(OpLog log) {
    Map<List<String>, Wait> sums = new LinkedHashMap<>();
    for (int id = 0; id < log.size(); id++) {
      if (!log.has(id) || log.startPs(id) <= log.issuePs(id)) {
        continue;
      }
      long ps = log.startPs(id) - log.issuePs(id);
      int by = log.causeOp(id);
      String who = described(log, id);
      String cause = log.cause(id).label();
      String whom = log.has(by) ? described(log, by) : "";
      int op = id;
      sums.merge(
          List.of(who, cause, whom),
          new Wait(who, cause, whom, 1, ps, ps, op),
          (a, b) ->
              new Wait(
                  who,
                  cause,
                  whom,
                  a.operations + 1,
                  a.ps + b.ps,
                  Math.max(a.longestPs, b.longestPs),
                  b.longestPs > a.longestPs ? b.longestOp : a.longestOp));
    }
    return sums.values().stream().sorted(Comparator.comparingLong(Wait::ps).reversed()).toList();
  }

  private static String described(OpLog log, int op) {
    String line = log.line(op);
    return line.isEmpty() ? log.kind(op).toString() : log.kind(op) + " " + line;
  }
}
