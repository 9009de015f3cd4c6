package org.kernbench.ccl.library;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.SlotSpace;
import org.kernbench.ccl.flow.FlowSchedule;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.placement.RankLevel;

/**
 * Chooses for each call the fastest algorithm: closed forms, with the machine's own numbers and the
 * slots that there are, say in which order to try; simulation of the call alone decides. Or the one
 * that a table says, which {@code kernbench tune} has made ({@link TuningTable}).
 *
 * <p>Candidates are all algorithms of the configuration that can do the operation and accept the
 * group and the call. A simulation costs less than the search for a pace that every forecast needs,
 * so it adds little. Only a forecast that can be trusted on this machine ({@link SteadyForecast})
 * leaves anybody out; for vectors too long to try all (gigabytes over all ranks) the first few are
 * simulated. What was tried and what came out is kept ({@link AutoChoice}).
 */
public final class Auto implements CollectiveAlgorithm {
  public static final String NAME = "auto";

  /** Factor by which forecasts that are trusted are at most too high. */
  public static final double TRUSTED = 1.5;

  /**
   * Up to this size algorithms that forecast nothing come first; of longer vectors last, and only
   * if two short ones do not say that they take too long.
   */
  private static final long WHOLE_BYTES = 64 << 10;

  /**
   * What is simulated for one choice, in bytes of all ranks' vectors; and what a message counts.
   */
  private static final long EFFORT_BYTES = 4L << 30;

  private static final long MESSAGE_BYTES = 4096;

  private final CclConfig ccl;
  private final Optional<TuningTable> table;
  private final List<AutoChoice> choices = new ArrayList<>();

  /**
   * Chooses among the algorithms of a configuration.
   *
   * @throws org.kernbench.config.ConfigException if the class of one cannot be made, or the table
   *     has errors: known now, not when the first call comes
   */
  Auto(CclConfig ccl) {
    this.ccl = ccl;
    for (String name : ccl.names()) {
      if (!ccl.of(name).className().equals(NAME)) {
        CollectiveLibrary.algorithm(ccl, name);
      }
    }
    this.table = ccl.table().map(file -> TuningTable.read(file, ccl));
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String description() {
    return "the fastest by forecast and simulation, call by call, or by a table of kernbench tune";
  }

  static Set<CollectiveOp> all() {
    Set<CollectiveOp> all = EnumSet.allOf(CollectiveOp.class);
    all.remove(CollectiveOp.POINT_TO_POINT);
    return Collections.unmodifiableSet(all);
  }

  @Override
  public Set<CollectiveOp> operations() {
    return all();
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return new Choosing(ccl, group, queues, table, choices);
  }

  /** As tables, benches and users count them: of an all-to-all what each rank sends. */
  private static long bytes(CollectiveCall call) {
    return CollectiveTrial.Question.like(call, call.ranks()).bytes();
  }

  /** What was chosen for each kind of call so far, in the order of the calls. */
  List<AutoChoice> choices() {
    return List.copyOf(choices);
  }

  /** A candidate for a call. */
  private record Entrant(String name, Schedule schedule, OptionalLong formulaPs) {}

  /** What a choice depends on. */
  private record Key(
      CollectiveOp op, int root, int elementBytes, long elements, List<Part> parts) {}

  /** What is found out about the candidates for a call. */
  private static final class Found {
    private final CollectiveCall call;
    private final Map<String, AutoChoice.Candidate> candidates = new LinkedHashMap<>();

    Found(CollectiveCall call, Map<String, String> refusals) {
      this.call = call;
      refusals.forEach((name, why) -> left(name, OptionalLong.empty(), "refused: " + why));
    }

    void simulated(String name, OptionalLong forecast, OptionalLong ps) {
      candidates.put(name, new AutoChoice.Candidate(name, forecast, ps, ""));
    }

    void left(String name, OptionalLong forecast, String why) {
      candidates.put(name, new AutoChoice.Candidate(name, forecast, OptionalLong.empty(), why));
    }

    AutoChoice choice(String chosen, AutoChoice.Basis basis) {
      List<AutoChoice.Candidate> all = new ArrayList<>(candidates.values());
      if (!candidates.containsKey(chosen)) {
        all.add(new AutoChoice.Candidate(chosen, OptionalLong.empty(), OptionalLong.empty(), ""));
      }
      all.sort(
          Comparator.comparingLong(
                  (AutoChoice.Candidate c) -> c.simulatedPs().orElse(Long.MAX_VALUE))
              .thenComparing(c -> c.note().startsWith("refused"))
              .thenComparing(AutoChoice.Candidate::algorithm));
      return new AutoChoice(call.op(), bytes(call), chosen, basis, all);
    }
  }

  private static final class Choosing implements Schedule {
    private final CclConfig ccl;
    private final Group group;
    private final IpcqSpec queues;
    private final Optional<TuningTable> table;
    private final Map<String, Optional<Schedule>> planned = new LinkedHashMap<>();
    private final Map<CollectiveOp, Map<String, Schedule>> candidates =
        new EnumMap<>(CollectiveOp.class);
    private final Map<Key, String> chosen = new HashMap<>();
    private final Map<String, SteadyForecast> forecasts = new HashMap<>();
    private final Map<String, String> refusals = new HashMap<>();
    private final List<AutoChoice> choices;
    private @Nullable Choosing first;

    Choosing(
        CclConfig ccl,
        Group group,
        IpcqSpec queues,
        Optional<TuningTable> table,
        List<AutoChoice> choices) {
      this.choices = choices;
      this.ccl = ccl;
      this.group = group;
      this.queues = queues;
      this.table = table.filter(t -> t.isFor(group));
    }

    /** Those that accept the group, by name. */
    private Map<String, Schedule> candidates(CollectiveOp op) {
      return candidates.computeIfAbsent(
          op,
          o -> {
            Map<String, Schedule> able = new LinkedHashMap<>();
            for (String name : ccl.names(o)) {
              CollectiveAlgorithm algorithm = CollectiveLibrary.algorithm(ccl, name);
              if (!(algorithm instanceof Auto)
                  && algorithm.operations().contains(o)
                  && algorithm.isFor(group.machine())) {
                planned(name, algorithm).ifPresent(schedule -> able.put(name, schedule));
              }
            }
            return able;
          });
    }

    private Optional<Schedule> planned(String name, CollectiveAlgorithm algorithm) {
      return planned.computeIfAbsent(
          name,
          n -> {
            try {
              Schedule schedule = algorithm.plan(group, queues, ccl.of(n));
              SlotSpace.check(group.machine(), queues, schedule.connections());
              return Optional.of(schedule);
            } catch (CollectiveException e) {
              refusals.put(n, String.valueOf(e.getMessage()));
              return Optional.empty();
            }
          });
    }

    private String choose(CollectiveCall call) {
      Key key =
          new Key(
              call.op(),
              call.root(),
              call.dtype().sizeBytes(),
              call.elements(),
              call.op().hasParts() ? call.parts() : List.of());
      String known = chosen.get(key);
      if (known == null) {
        known = chosenBefore(call).orElseGet(() -> find(call));
        chosen.put(key, known);
      }
      return known;
    }

    /** What the schedule that is followed chooses, if that can be done here. */
    private Optional<String> chosenBefore(CollectiveCall call) {
      Choosing before = first;
      if (before == null) {
        return Optional.empty();
      }
      String choice = before.choose(call);
      Schedule here = candidates(call.op()).get(choice);
      if (here == null) {
        return Optional.empty();
      }
      here.follow(before.by(call));
      return Optional.of(choice);
    }

    @Override
    public void follow(Schedule other) {
      first = other instanceof Choosing choosing ? choosing : null;
    }

    private String find(CollectiveCall call) {
      Map<String, Schedule> able = candidates(call.op());
      if (able.isEmpty()) {
        throw new CollectiveException(
            """
            auto: no algorithm can do %s in this group of %s ranks; those of the \
            configuration are %s\
            """
                .formatted(
                    call.op().word(), group.size(), String.join(", ", ccl.names(call.op()))));
      }
      Found trials = new Found(call, refusals);
      Optional<String> tabled = table.flatMap(t -> t.algorithm(call.op(), bytes(call)));
      if (tabled.isPresent() && able.containsKey(tabled.get())) {
        choices.add(trials.choice(tabled.get(), AutoChoice.Basis.TABLE));
        return tabled.get();
      }
      return fastest(call, able, trials);
    }

    /** Simulates what the closed forms find promising, the most promising first. */
    private String fastest(CollectiveCall call, Map<String, Schedule> able, Found trials) {
      CollectiveTrial.Question question = CollectiveTrial.Question.like(call, group.size());
      List<Entrant> entrants = entrants(call, able, trials);
      String best = entrants.isEmpty() ? able.keySet().iterator().next() : entrants.get(0).name;
      if (entrants.size() < 2) {
        choices.add(trials.choice(best, AutoChoice.Basis.ONLY));
        return best;
      }
      long effort = 0;
      long least = Long.MAX_VALUE;
      for (Entrant each : entrants) {
        OptionalLong forecast =
            effort > EFFORT_BYTES ? OptionalLong.empty() : forecast(each, question);
        if (effort > EFFORT_BYTES) {
          trials.left(each.name, forecast, "not simulated: others before it took long");
          continue;
        }
        if (forecast.orElse(0) / TRUSTED > least) {
          trials.left(each.name, forecast, "not simulated: forecast over 1.5 times the best");
          continue;
        }
        effort += group.size() * (call.bytes() + MESSAGE_BYTES * group.size());
        OptionalLong ps = simulated(question, each, forecast, trials);
        if (ps.isPresent() && ps.getAsLong() < least) {
          least = ps.getAsLong();
          best = each.name;
        }
      }
      boolean none = least == Long.MAX_VALUE;
      choices.add(
          trials.choice(best, none ? AutoChoice.Basis.FORECAST : AutoChoice.Basis.SIMULATION));
      return best;
    }

    /** By their closed forms; of several that would do the same, the first. */
    private List<Entrant> entrants(CollectiveCall call, Map<String, Schedule> able, Found trials) {
      List<Entrant> entrants = new ArrayList<>();
      Map<String, FlowSchedule> drawn = new LinkedHashMap<>();
      able.forEach((name, schedule) -> {
        if (schedule instanceof FlowSchedule flow) {
          for (Map.Entry<String, FlowSchedule> known : drawn.entrySet()) {
            if (known.getValue().isLike(flow, call)) {
              trials.left(name, OptionalLong.empty(), "does the same as " + known.getKey());
              return;
            }
          }
          drawn.put(name, flow);
        }
        Optional<String> unfit = unfit(schedule, call);
        if (unfit.isPresent()) {
          trials.left(name, OptionalLong.empty(), "refused: " + unfit.get());
          return;
        }
        entrants.add(new Entrant(name, schedule, formula(schedule, call)));
      });
      long none = bytes(call) <= WHOLE_BYTES ? 0 : Long.MAX_VALUE;
      entrants.sort(Comparator.comparingLong(e -> e.formulaPs.orElse(none)));
      return entrants;
    }

    private CollectiveTrial trial(Entrant entrant) {
      return CollectiveTrial.of(group, entrant.name, entrant.schedule, queues);
    }

    private OptionalLong forecast(Entrant entrant, CollectiveTrial.Question question) {
      SteadyForecast forecast =
          forecasts.computeIfAbsent(entrant.name, n -> new SteadyForecast(trial(entrant)));
      return entrant.formulaPs.isPresent() || SteadyForecast.isShort(question, group.size())
          ? forecast.ps(question, group.size())
          : forecast.straightPs(question, group.size());
    }

    private OptionalLong simulated(
        CollectiveTrial.Question question, Entrant entrant, OptionalLong forecast, Found trials) {
      try {
        OptionalLong ps = OptionalLong.of(trial(entrant).timePs(question));
        trials.simulated(entrant.name, forecast, ps);
        return ps;
      } catch (DeadlockException e) {
        trials.left(entrant.name, forecast, "deadlocks with these slots");
      } catch (CollectiveException | SimulationException e) {
        trials.left(entrant.name, forecast, "refused: " + e.getMessage());
      }
      return OptionalLong.empty();
    }

    private static OptionalLong formula(Schedule schedule, CollectiveCall call) {
      try {
        return schedule.predictPs(call);
      } catch (CollectiveException e) {
        return OptionalLong.empty(); // refuses this very call
      }
    }

    /** Why message slots do not fit the machine; empty if they do. */
    private Optional<String> unfit(Schedule schedule, CollectiveCall call) {
      try {
        List<QueuePlan.Connection> connections = schedule.connections(call);
        SlotSpace.check(group.machine(), queues, connections);
        SlotSpace.checkTcm(group.machine(), queues, connections);
        return Optional.empty();
      } catch (CollectiveException e) {
        return Optional.of(String.valueOf(e.getMessage()));
      }
    }

    private Schedule by(CollectiveCall call) {
      Schedule schedule = candidates(call.op()).get(choose(call));
      if (schedule == null) {
        throw new IllegalStateException("bug: chose what is no candidate");
      }
      return schedule;
    }

    @Override
    public List<QueuePlan.Connection> connections() {
      return new ArrayList<>();
    }

    @Override
    public List<QueuePlan.Connection> connections(CollectiveCall call) {
      return by(call).connections(call);
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      return by(call).program(call);
    }

    @Override
    public List<AutoChoice> choices() {
      return List.copyOf(choices);
    }

    @Override
    public Optional<String> chosen(CollectiveCall call) {
      return Optional.of(choose(call));
    }

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
      return by(call).predictPs(call);
    }

    @Override
    public boolean isForecastExact(CollectiveCall call) {
      return by(call).isForecastExact(call);
    }

    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      return by(call).wireBytes(call);
    }
  }
}
