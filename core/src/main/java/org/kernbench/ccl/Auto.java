package org.kernbench.ccl;

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
import org.kernbench.device.QueuePlan;
import org.kernbench.device.SimulationException;
import org.kernbench.machine.IpcqSpec;
import org.kernbench.torch.CollectiveCall;
import org.kernbench.torch.CollectiveOp;
import org.kernbench.torch.Part;
import org.kernbench.torch.RankLevel;

/**
 * Chooses for each call the fastest algorithm: forecasts by the closed forms, with the machine's
 * own numbers and the slots that there are, say in which order to try and whom to leave out;
 * simulation of the call alone decides. Or the one that a table says, which {@code kernbench tune}
 * has made ({@link TuningTable}).
 *
 * <p>Candidates are all algorithms of the configuration that can do the operation and accept the
 * group and the call. A simulation costs less than the search for a pace that every forecast needs,
 * so it adds little; for vectors too long for that (gigabytes over all ranks) the forecasts decide
 * after the first few.
 */
final class Auto implements CollectiveAlgorithm {
  static final String NAME = "auto";

  /** Factor by which forecasts are at most too high. */
  private static final long HOPELESS = 4;

  /** Up to this size also algorithms that forecast nothing: those of whole vectors. */
  private static final long WHOLE_BYTES = 64 << 10;

  /**
   * What is simulated for one choice, in bytes of all ranks' vectors; and what a message counts.
   */
  private static final long EFFORT_BYTES = 4L << 30;

  private static final long MESSAGE_BYTES = 4096;

  private final CclConfig ccl;
  private final Optional<TuningTable> table;

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
    return new Choosing(ccl, group, queues, table);
  }

  /** A candidate for a call; a forecast of 0 is none. */
  private record Entrant(String name, Schedule schedule, long forecastPs) {}

  /** What a choice depends on. */
  private record Key(
      CollectiveOp op, int root, int elementBytes, long elements, List<Part> parts) {}

  private static final class Choosing implements Schedule {
    private final CclConfig ccl;
    private final Group group;
    private final IpcqSpec queues;
    private final Optional<TuningTable> table;
    private final Map<String, Optional<Schedule>> planned = new LinkedHashMap<>();
    private final Map<CollectiveOp, Map<String, Schedule>> candidates =
        new EnumMap<>(CollectiveOp.class);
    private final Map<Key, String> chosen = new HashMap<>();

    Choosing(CclConfig ccl, Group group, IpcqSpec queues, Optional<TuningTable> table) {
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
              if (!(algorithm instanceof Auto) && algorithm.operations().contains(o)) {
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
        known = find(call);
        chosen.put(key, known);
      }
      return known;
    }

    private String find(CollectiveCall call) {
      Map<String, Schedule> able = candidates(call.op());
      if (able.isEmpty()) {
        throw new CollectiveException(
            "auto: no algorithm can do "
                + call.op().word()
                + " in this group of "
                + group.size()
                + " ranks; those of the configuration are "
                + String.join(", ", ccl.names(call.op())));
      }
      Optional<String> tabled = table.flatMap(t -> t.algorithm(call.op(), call.bytes()));
      if (tabled.isPresent() && able.containsKey(tabled.get())) {
        return tabled.get();
      }
      return fastest(call, able);
    }

    /** Simulates what the forecasts find promising, the most promising first. */
    private String fastest(CollectiveCall call, Map<String, Schedule> able) {
      CollectiveTrial.Question question = CollectiveTrial.Question.like(call, group.size());
      List<Entrant> entrants = entrants(call, able);
      String best = entrants.isEmpty() ? able.keySet().iterator().next() : entrants.get(0).name;
      if (entrants.size() < 2) {
        return best;
      }
      long effort = 0;
      long least = Long.MAX_VALUE;
      for (Entrant each : entrants) {
        if (effort > EFFORT_BYTES || each.forecastPs / HOPELESS > least) {
          break;
        }
        effort += group.size() * (call.bytes() + MESSAGE_BYTES * group.size());
        OptionalLong ps = simulated(question, each);
        if (ps.isPresent() && ps.getAsLong() < least) {
          least = ps.getAsLong();
          best = each.name;
        }
      }
      return best;
    }

    /** Those without a forecast, then by forecast; of several that would do the same, the first. */
    private List<Entrant> entrants(CollectiveCall call, Map<String, Schedule> able) {
      List<Entrant> entrants = new ArrayList<>();
      List<FlowSchedule> drawn = new ArrayList<>();
      able.forEach((name, schedule) -> {
        if (schedule instanceof FlowSchedule flow) {
          if (drawn.stream().anyMatch(known -> known.isLike(flow, call))) {
            return;
          }
          drawn.add(flow);
        }
        if (fits(schedule, call)) {
          OptionalLong ps = forecast(schedule, call);
          if (ps.isPresent() || call.bytes() <= WHOLE_BYTES) {
            entrants.add(new Entrant(name, schedule, ps.orElse(0)));
          }
        }
      });
      entrants.sort(Comparator.comparingLong(Entrant::forecastPs));
      return entrants;
    }

    private OptionalLong simulated(CollectiveTrial.Question question, Entrant entrant) {
      try {
        CollectiveTrial trial = CollectiveTrial.of(group, entrant.name, entrant.schedule, queues);
        return OptionalLong.of(trial.timePs(question));
      } catch (CollectiveException | SimulationException e) {
        return OptionalLong.empty(); // refuses this very call, or cannot end with these slots
      }
    }

    private static OptionalLong forecast(Schedule schedule, CollectiveCall call) {
      try {
        return schedule.predictPs(call);
      } catch (CollectiveException e) {
        return OptionalLong.empty(); // refuses this very call
      }
    }

    private boolean fits(Schedule schedule, CollectiveCall call) {
      try {
        List<QueuePlan.Connection> connections = schedule.connections(call);
        SlotSpace.check(group.machine(), queues, connections);
        SlotSpace.checkTcm(group.machine(), queues, connections);
        return true;
      } catch (CollectiveException e) {
        return false;
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
