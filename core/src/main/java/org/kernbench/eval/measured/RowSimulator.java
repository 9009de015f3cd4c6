package org.kernbench.eval.measured;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.kernbench.config.ConfigException;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Folding;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.explain.Breakdown;

/**
 * Simulates measured rows on a machine, each once for the same changes of the machine; some at a
 * time, if it may.
 */
public final class RowSimulator {
  private final Runner runner;
  private final Function<String, Bench> benches;
  private final RunOptions options;
  private final int jobs;
  private final Optional<RowJournal> journal;
  private final Map<List<Object>, Simulated> known = new ConcurrentHashMap<>();

  /**
   * @param benches finds a bench by name
   * @param options machine and collectives; parameters are those of the rows
   */
  public RowSimulator(Runner runner, Function<String, Bench> benches, RunOptions options) {
    this(runner, benches, options, 1, Optional.empty());
  }

  /**
   * Simulates several rows at a time.
   *
   * @param jobs so many at most, 1 or more
   * @param journal keeps what was simulated; empty: nothing does
   */
  public RowSimulator(
      Runner runner,
      Function<String, Bench> benches,
      RunOptions options,
      int jobs,
      Optional<RowJournal> journal) {
    this.runner = runner.ofMany();
    this.benches = benches;
    this.options = options.withMode(Mode.TIME);
    this.jobs = jobs;
    this.journal = journal;
  }

  /** Simulates rows; what comes out has their order. */
  List<Simulated> simulate(List<MeasuredRow> rows, List<String> changes) {
    return InParallel.map(rows, jobs, row -> simulate(row, changes));
  }

  /**
   * What the simulator says of a row.
   *
   * @param kernelPs critical time
   * @param observedPs as the host sees it
   * @param why what most of the time was spent on
   */
  public record Simulated(double kernelPs, double observedPs, String why) {
    /** The time that was measured. */
    public double ps(MeasuredRow row) {
      return switch (row.metric()) {
        case KERNEL -> kernelPs;
        case OBSERVED -> observedPs;
        case REPEATED -> Math.max(kernelPs, observedPs - kernelPs);
      };
    }
  }

  /** Where the machine comes from. */
  public RunOptions options() {
    return options;
  }

  /**
   * Simulates a row.
   *
   * @param changes {@code path=value} over the machine, after those of the row
   * @throws UsageException with the row's place, if it cannot be run
   */
  public Simulated simulate(MeasuredRow row, List<String> changes) {
    List<Object> key = List.of(row.bench(), row.params(), row.overrides(), changes);
    Simulated found = known.get(key);
    if (found == null) {
      found =
          journal.isPresent()
              ? journal.get().row(key.toString(), () -> run(row, changes))
              : run(row, changes);
      known.put(key, found);
    }
    return found;
  }

  /** Whether the machine of a row may be changed so. */
  boolean takes(MeasuredRow row, String change) {
    try {
      simulate(row, List.of(change));
      return true;
    } catch (ConfigException | UsageException e) {
      return false;
    }
  }

  private List<String> overrides(MeasuredRow row, List<String> changes) {
    List<String> overrides = new ArrayList<>(options.overrides());
    overrides.addAll(row.overrides());
    overrides.addAll(changes);
    return overrides;
  }

  private Simulated run(MeasuredRow row, List<String> changes) {
    List<String> overrides = overrides(row, changes);
    RunResult result;
    try {
      Bench bench = benches.apply(row.bench());
      result =
          runner.run(
              bench,
              options.withParams(row.params()).withOverrides(overrides).withFolding(Folding.AUTO));
    } catch (UsageException e) {
      throw new UsageException(row.where() + ": " + e.getMessage());
    }
    if (!result.isOk()
        || !(result.metrics().get("crit_ns") instanceof BigDecimal crit)
        || !(result.metrics().get("observed_ns") instanceof BigDecimal seen)) {
      throw new UsageException(
          row.where() + ": the simulated run failed: " + String.join("; ", result.problems()));
    }
    double observed = seen.doubleValue() * 1e3;
    double kernel = crit.doubleValue() * 1e3;
    return new Simulated(kernel, observed, why(result, kernel, observed, row));
  }

  private static String why(RunResult result, double crit, double observed, MeasuredRow row) {
    if (result.metrics().get("spent") instanceof String spent) {
      return spent;
    }
    List<String> parts = new ArrayList<>();
    double host =
        switch (row.metric()) {
          case KERNEL -> 0;
          case OBSERVED -> (observed - crit) / observed;
          case REPEATED -> observed > 2 * crit ? 1 : 0;
        };
    if (host >= 0.01) {
      parts.add(String.format(Locale.ROOT, "host %.0f %%", 100 * host));
    }
    for (Breakdown.Share share : result.breakdown().stream().limit(2).toList()) {
      double of = share.share() * (1 - host);
      if (of >= 0.01) {
        parts.add(
            String.format(
                Locale.ROOT, "%s %.0f %% at %s", share.cause().text(), 100 * of, share.place()));
      }
    }
    if (result.breakdown().isEmpty()) {
      String bound = String.valueOf(result.metrics().getOrDefault("bound_kind", ""));
      parts.add(
          String.format(
              Locale.ROOT,
              "kernel %.0f %% (bound by %s: %.0f %% of it)",
              100 * (1 - host),
              bound,
              100
                  * (result.metrics().get("bound_ns") instanceof BigDecimal least
                      ? least.doubleValue() * 1e3
                      : 0)
                  / crit));
    }
    return String.join(", ", parts);
  }
}
