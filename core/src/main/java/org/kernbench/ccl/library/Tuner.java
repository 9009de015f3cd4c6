package org.kernbench.ccl.library;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.torch.placement.RankLevel;

/**
 * Compares algorithms by simulation: which is the fastest for a call, and how good was the choice
 * by closed forms ({@code algorithm: auto}).
 */
public final class Tuner {
  /** Those that a trusted forecast gives more than this times the best are not simulated. */
  private static final double HOPELESS = Auto.TRUSTED;

  private final Machine machine;
  private final CclConfig ccl;
  private final RankLevel level;
  private final List<Pe> leads;
  private final boolean all;
  private final Map<String, CollectiveTrial> trials = new LinkedHashMap<>();
  private final Map<String, SteadyForecast> forecasts = new LinkedHashMap<>();

  /**
   * An algorithm at one size.
   *
   * @param algorithm its name
   * @param predictedPs forecast, if there is one that can be trusted
   * @param ps by simulation; empty if that was not worth it, or came to a deadlock
   */
  public record Candidate(String algorithm, OptionalLong predictedPs, OptionalLong ps) {}

  /**
   * What was found for one call.
   *
   * @param question the call
   * @param bound of its time
   * @param auto what the closed forms choose
   * @param candidates all that accept the group, the fastest by simulation first
   */
  public record Comparison(
      CollectiveTrial.Question question,
      Bounds.Bound bound,
      String auto,
      List<Candidate> candidates) {
    /** The fastest by simulation. */
    public Candidate best() {
      return candidates.getFirst();
    }

    /** Time of the closed forms' choice over the best time. */
    public double autoOverBest() {
      for (Candidate c : candidates) {
        if (c.algorithm.equals(auto) && c.ps.isPresent()) {
          return c.ps.getAsLong() / (double) best().ps.orElseThrow();
        }
      }
      return Double.POSITIVE_INFINITY;
    }
  }

  /**
   * A comparison of all algorithms of a configuration.
   *
   * @param level what a rank owns
   * @param leads by rank, the PEs that take part; at least two
   * @param all whether to simulate also what the closed forms call hopeless or say nothing about
   * @throws org.kernbench.config.ConfigException if the class of an algorithm cannot be made
   */
  public Tuner(Machine machine, CclConfig ccl, RankLevel level, List<Pe> leads, boolean all) {
    this.machine = machine;
    this.ccl = ccl;
    this.level = level;
    this.leads = List.copyOf(leads);
    this.all = all;
    ccl.names().forEach(name -> CollectiveLibrary.algorithm(ccl, name));
  }

  /**
   * Compares the algorithms for a call, in mode time.
   *
   * @throws CollectiveException if none can do it
   */
  public Comparison compare(CollectiveTrial.Question question) {
    Map<String, CollectiveTrial> able = new LinkedHashMap<>();
    Map<String, OptionalLong> predicted = new LinkedHashMap<>();
    long least = Long.MAX_VALUE;
    for (String name : ccl.names(question.op())) {
      if (!name.equals(Auto.NAME)) {
        CollectiveTrial trial = trial(name, question);
        if (trial != null) {
          able.put(name, trial);
          OptionalLong ps = forecast(name, trial, question);
          predicted.put(name, ps);
          least = Math.min(least, ps.orElse(Long.MAX_VALUE));
        }
      }
    }
    if (able.isEmpty()) {
      throw new CollectiveException(
          "no algorithm can do " + question.op().word() + " with " + leads.size() + " ranks");
    }
    CollectiveTrial auto =
        CollectiveTrial.of(machine, new Auto(ccl), ccl.of(Auto.NAME), level, leads);
    String chosen = auto.chosen(question);
    List<Candidate> candidates = new ArrayList<>();
    for (Map.Entry<String, CollectiveTrial> each : able.entrySet()) {
      OptionalLong forecast = predicted.getOrDefault(each.getKey(), OptionalLong.empty());
      boolean hopeless = forecast.isPresent() && forecast.getAsLong() / HOPELESS > least;
      OptionalLong ps =
          all || !hopeless || each.getKey().equals(chosen)
              ? simulated(each.getValue(), question)
              : OptionalLong.empty();
      candidates.add(new Candidate(each.getKey(), forecast, ps));
    }
    candidates.sort(Comparator.comparingLong(c -> c.ps.orElse(Long.MAX_VALUE)));
    if (candidates.getFirst().ps.isEmpty()) {
      throw new CollectiveException(
          """
          every algorithm that can do %s comes to a deadlock with these slots; use more \
          of them (ipcq.slots)\
          """
              .formatted(question));
    }
    return new Comparison(question, auto.bound(question), chosen, List.copyOf(candidates));
  }

  private OptionalLong forecast(
      String name, CollectiveTrial trial, CollectiveTrial.Question question) {
    return forecasts
        .computeIfAbsent(name, n -> new SteadyForecast(trial))
        .ps(question, leads.size());
  }

  private static OptionalLong simulated(CollectiveTrial trial, CollectiveTrial.Question question) {
    try {
      return OptionalLong.of(trial.run(question, Mode.TIME).ps());
    } catch (DeadlockException e) {
      return OptionalLong.empty();
    }
  }

  private @Nullable CollectiveTrial trial(String name, CollectiveTrial.Question question) {
    CollectiveAlgorithm algorithm = CollectiveLibrary.algorithm(ccl, name);
    if (!algorithm.operations().contains(question.op())) {
      return null;
    }
    try {
      CollectiveTrial known = trials.get(name);
      if (known == null) {
        known = CollectiveTrial.of(machine, algorithm, ccl.of(name), level, leads);
        trials.put(name, known);
      }
      known.predictPs(question);
      return known;
    } catch (CollectiveException e) {
      return null; // refuses the group, or the call
    }
  }
}
