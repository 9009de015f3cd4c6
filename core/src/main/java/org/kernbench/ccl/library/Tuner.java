package org.kernbench.ccl.library;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.placement.RankLevel;

/**
 * Compares algorithms by simulation: which is the fastest for a call, and how good was the choice
 * by closed forms ({@code algorithm: auto}).
 */
public final class Tuner {
  /** How far a forecast may be off. */
  private static final double FORECAST_OFF = Auto.TRUSTED;

  /**
   * How far a line through two shorter vectors may be above the time: 1.21 was the most of 40 on
   * the default machine, from 1 MiB on.
   */
  private static final double LINE_OFF = 1.3;

  /** Up to how many times as long as the longer one a vector may be for that. */
  private static final long LINE_REACHES = 16;

  private final Machine machine;
  private final CclConfig ccl;
  private final RankLevel level;
  private final List<Pe> leads;
  private final boolean all;
  private final Map<String, CollectiveTrial> trials = new LinkedHashMap<>();
  private final Map<String, SteadyForecast> forecasts = new LinkedHashMap<>();
  private final Map<String, List<Simulated>> simulated = new LinkedHashMap<>();

  /** Made when first asked for, and kept: it simulates too, and remembers what it did. */
  private @Nullable CollectiveTrial auto;

  /** A question, and the time that an algorithm took for it. */
  private record Simulated(CollectiveTrial.Question question, long ps) {
    boolean isLike(CollectiveTrial.Question other) {
      return question.op() == other.op()
          && question.reduce() == other.reduce()
          && question.dtype() == other.dtype()
          && question.root() == other.root();
    }

    long elements() {
      return question.elements();
    }
  }

  /** What an algorithm takes at least, if estimates are as near as they are trusted to be. */
  private record Able(
      String name, CollectiveTrial trial, OptionalLong forecastPs, double leastPs) {}

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
    return compare(question, (done, of, name) -> {});
  }

  /** Hears what a comparison does. */
  @FunctionalInterface
  public interface Listener {
    /**
     * A simulation begins.
     *
     * @param done algorithms that are done
     * @param of how many can do the call
     * @param name the one that begins
     */
    void begins(int done, int of, String name);
  }

  /** As {@link #compare(CollectiveTrial.Question)}, and tells how far it is. */
  public Comparison compare(CollectiveTrial.Question question, Listener listener) {
    List<Able> able = able(question);
    if (able.isEmpty()) {
      throw new CollectiveException(
          "no algorithm can do " + question.op().word() + " with " + leads.size() + " ranks");
    }
    listener.begins(0, able.size(), Auto.NAME);
    CollectiveTrial auto = auto();
    String chosen = auto.chosen(question);
    Map<String, OptionalLong> known = simulatedByAuto(auto, question);
    List<Candidate> candidates = new ArrayList<>();
    long best = Long.MAX_VALUE;
    for (Able each : able) {
      boolean isHopeless = each.leastPs > best && !each.name.equals(chosen);
      OptionalLong ps = known.getOrDefault(each.name, OptionalLong.empty());
      if (ps.isEmpty() && (all || !isHopeless)) {
        listener.begins(candidates.size(), able.size(), each.name);
        ps = simulated(each, question);
      }
      if (ps.isPresent()) {
        best = Math.min(best, ps.getAsLong());
        remember(each.name, question, ps.getAsLong());
      }
      candidates.add(new Candidate(each.name, each.forecastPs, ps));
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

  private CollectiveTrial auto() {
    CollectiveTrial known = auto;
    if (known == null) {
      known = CollectiveTrial.of(machine, new Auto(ccl), ccl.of(Auto.NAME), level, leads);
      auto = known;
    }
    return known;
  }

  /** The times that {@code auto} went by, of algorithms that have its queues. */
  private Map<String, OptionalLong> simulatedByAuto(
      CollectiveTrial auto, CollectiveTrial.Question question) {
    Map<String, OptionalLong> known = new LinkedHashMap<>();
    AutoChoice choice = auto.choices().isEmpty() ? null : auto.choices().getLast();
    if (choice != null && choice.op() == question.op() && choice.bytes() == question.bytes()) {
      IpcqSpec queues = ccl.of(Auto.NAME).queues(machine.ipcq());
      for (AutoChoice.Candidate each : choice.candidates()) {
        if (each.simulatedPs().isPresent()
            && ccl.of(each.algorithm()).queues(machine.ipcq()).equals(queues)) {
          known.put(each.algorithm(), each.simulatedPs());
        }
      }
    }
    return known;
  }

  private void remember(String name, CollectiveTrial.Question question, long ps) {
    simulated.computeIfAbsent(name, n -> new ArrayList<>()).add(new Simulated(question, ps));
  }

  /** Those that accept the call, the most promising first. */
  private List<Able> able(CollectiveTrial.Question question) {
    List<Able> able = new ArrayList<>();
    for (String name : ccl.names(question.op())) {
      CollectiveTrial trial = name.equals(Auto.NAME) ? null : trial(name, question);
      if (trial != null) {
        OptionalLong forecast = forecast(name, trial, question);
        double least = forecast.isPresent() ? forecast.getAsLong() / FORECAST_OFF : 0;
        least = Math.max(least, line(name, question) / LINE_OFF);
        able.add(new Able(name, trial, forecast, least));
      }
    }
    able.sort(Comparator.comparingDouble(Able::leastPs));
    return able;
  }

  /**
   * The time on the line through the two longest vectors that were simulated and are shorter than
   * this one, neither of them so short that latency is most of it; 0 if there is none.
   */
  private double line(String name, CollectiveTrial.Question question) {
    List<Simulated> shorter =
        simulated.getOrDefault(name, List.of()).stream()
            .filter(s -> s.isLike(question) && s.elements() < question.elements())
            .sorted(Comparator.comparingLong(Simulated::elements).reversed())
            .limit(2)
            .toList();
    if (shorter.size() < 2
        || SteadyForecast.isShort(shorter.getFirst().question, leads.size())
        || shorter.getFirst().elements() * LINE_REACHES < question.elements()) {
      return 0;
    }
    Simulated b = shorter.getFirst();
    Simulated a = shorter.getLast();
    double slope = (b.ps - a.ps) / (double) (b.elements() - a.elements());
    return b.ps + slope * (question.elements() - b.elements());
  }

  private OptionalLong forecast(
      String name, CollectiveTrial trial, CollectiveTrial.Question question) {
    return forecasts
        .computeIfAbsent(name, n -> new SteadyForecast(trial))
        .ps(question, leads.size());
  }

  private static OptionalLong simulated(Able able, CollectiveTrial.Question question) {
    try {
      return OptionalLong.of(able.trial.run(question, Mode.TIME).ps());
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
