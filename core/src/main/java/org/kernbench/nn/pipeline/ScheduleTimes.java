package org.kernbench.nn.pipeline;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.nn.pipeline.Action.Kind;

/**
 * When each action of a schedule would be done if all stages took the same: a rank does its actions
 * in order, each as soon as what it needs is there. No device, no contention; what a step takes on
 * a machine is never less with the same times.
 */
public final class ScheduleTimes {
  private final PipelineSchedule schedule;
  private final Costs costs;
  private final Map<Action, Long> ends = new HashMap<>();
  private long end;

  /**
   * What a stage takes for a microbatch, in any unit of time.
   *
   * @param forward F
   * @param input B, the gradient of the input
   * @param weight W, the gradients of weights; a whole backward pass takes {@code input + weight}
   * @param transfer c, from a rank to another; it keeps neither from computing
   */
  public record Costs(long forward, long input, long weight, long transfer) {
    /** Checks that no time is negative. */
    public Costs {
      if (forward < 0 || input < 0 || weight < 0 || transfer < 0) {
        throw new IllegalArgumentException("negative time; expected 0 or more");
      }
    }

    long of(Kind kind) {
      return switch (kind) {
        case FORWARD -> forward;
        case BACKWARD -> input + weight;
        case INPUT_GRADIENT -> input;
        case WEIGHT_GRADIENT -> weight;
        case SEND_ACTIVATION, RECEIVE_ACTIVATION, SEND_GRADIENT, RECEIVE_GRADIENT -> 0;
      };
    }
  }

  private ScheduleTimes(PipelineSchedule schedule, Costs costs) {
    this.schedule = schedule;
    this.costs = costs;
  }

  /** The times of a schedule. */
  public static ScheduleTimes of(PipelineSchedule schedule, Costs costs) {
    ScheduleTimes times = new ScheduleTimes(schedule, costs);
    int ranks = schedule.ranks();
    int[] at = new int[ranks];
    long[] free = new long[ranks];
    boolean moved = true;
    while (moved) {
      moved = false;
      for (int r = 0; r < ranks; r++) {
        List<Action> own = schedule.actions(r);
        while (at[r] < own.size() && times.isReady(own.get(at[r]))) {
          Action a = own.get(at[r]++);
          long done = Math.max(free[r], times.ready(a)) + costs.of(a.kind());
          times.ends.put(a, done);
          free[r] = a.kind().isMessage() ? free[r] : done; // receiving keeps no rank from working
          times.end = Math.max(times.end, done);
          moved = true;
        }
      }
    }
    return times;
  }

  private boolean isReady(Action a) {
    return schedule.needs(a).stream().allMatch(ends::containsKey);
  }

  private long ready(Action a) {
    long transfer =
        a.kind() == Kind.RECEIVE_ACTIVATION || a.kind() == Kind.RECEIVE_GRADIENT
            ? costs.transfer
            : 0;
    long latest = 0;
    for (Action need : schedule.needs(a)) {
      latest = Math.max(latest, ends.getOrDefault(need, 0L) + transfer);
    }
    return latest;
  }

  /** When an action is done. */
  public long end(Action a) {
    Long found = ends.get(a);
    if (found == null) {
      throw new IllegalArgumentException(a + " is not in schedule " + schedule.name());
    }
    return found;
  }

  /** When all is done. */
  public long end() {
    return end;
  }

  /** How long a rank computes. */
  public long busy(int rank) {
    return schedule.computed(rank).stream().mapToLong(a -> costs.of(a.kind())).sum();
  }
}
