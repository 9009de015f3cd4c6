package org.kernbench.eval.training;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.kernbench.machine.spec.SoftwareSpec;
import org.kernbench.nn.pipeline.Action;
import org.kernbench.nn.pipeline.PipelineSchedule;

/**
 * The time of a step from those of its calls: each rank of a pipeline has a host, which works for
 * {@code launch} before each call and goes on, and a device, which takes calls in order, each when
 * the host has made it and what it needs is there.
 *
 * <p>All of a rank's time is told apart: it computes, communicates, runs the optimizer, waits for
 * its host, or waits for other stages.
 */
final class StepTimeline {
  /** What a rank's time goes into. */
  enum Share {
    COMPUTE,
    COMMUNICATION,
    OPTIMIZER,
    HOST,
    BUBBLE
  }

  /**
   * What a rank does in an action.
   *
   * @param forward of a microbatch
   * @param backward the same backwards, with what is made again before
   */
  record Stage(List<StepCall> forward, List<StepCall> backward) {
    Stage {
      forward = List.copyOf(forward);
      backward = List.copyOf(backward);
    }
  }

  private final Function<StepCall, CallTimes.Time> times;
  private final SoftwareSpec software;
  private final PipelineSchedule schedule;
  private final List<Stage> stages;
  private final StepCall transfer;
  private final long[] host;
  private final long[] device;
  private final List<Map<Share, Long>> shares;
  private final Map<Action, Long> ends = new HashMap<>();
  private final Map<StepCall, CallTimes.Time> used = new LinkedHashMap<>();

  /**
   * @param times of each distinct call, asked once
   * @param stages by rank of the pipeline
   * @param transfer of activations or their gradients from a stage to the next
   */
  StepTimeline(
      Function<StepCall, CallTimes.Time> times,
      SoftwareSpec software,
      PipelineSchedule schedule,
      List<Stage> stages,
      StepCall transfer) {
    this.times = times;
    this.software = software;
    this.schedule = schedule;
    this.stages = List.copyOf(stages);
    this.transfer = transfer;
    int p = schedule.ranks();
    this.host = new long[p];
    this.device = new long[p];
    this.shares =
        java.util.stream.IntStream.range(0, p)
            .<Map<Share, Long>>mapToObj(r -> new EnumMap<>(Share.class))
            .toList();
  }

  /** Forwards and backwards, as the schedule says. */
  void passes() {
    int[] at = new int[schedule.ranks()];
    boolean moved = true;
    while (moved) {
      moved = false;
      for (int r = 0; r < at.length; r++) {
        List<Action> own = schedule.actions(r);
        while (at[r] < own.size()
            && schedule.needs(own.get(at[r])).stream().allMatch(ends::containsKey)) {
          act(r, own.get(at[r]++));
          moved = true;
        }
      }
    }
  }

  private void act(int rank, Action a) {
    long ready = 0;
    for (Action need : schedule.needs(a)) {
      ready = Math.max(ready, ends.getOrDefault(need, 0L));
    }
    switch (a.kind()) {
      case FORWARD -> compute(rank, ready, stages.get(rank).forward);
      case BACKWARD -> compute(rank, ready, stages.get(rank).backward);
      case INPUT_GRADIENT, WEIGHT_GRADIENT ->
          throw new IllegalArgumentException("a schedule that parts the backward pass");
      case SEND_ACTIVATION, SEND_GRADIENT -> host[rank] += launchPs(transfer);
      case RECEIVE_ACTIVATION, RECEIVE_GRADIENT -> received(rank, ready + ps(transfer));
    }
    boolean received =
        a.kind() == Action.Kind.RECEIVE_ACTIVATION || a.kind() == Action.Kind.RECEIVE_GRADIENT;
    ends.put(a, a.kind().isMessage() ? received ? ready + ps(transfer) : ready : device[rank]);
  }

  /**
   * The host waits for a message and for all before it, so it makes no calls ahead: Megatron-LM
   * synchronises the device after it has received ({@code p2p_communication.py}).
   */
  private void received(int rank, long arrivedPs) {
    host[rank] = Math.max(host[rank] + launchPs(transfer), Math.max(arrivedPs, device[rank]));
  }

  private void compute(int rank, long ready, List<StepCall> calls) {
    waitUntil(rank, ready, Share.BUBBLE);
    for (StepCall call : calls) {
      perform(rank, call, call.isCommunication() ? Share.COMMUNICATION : Share.COMPUTE);
    }
  }

  /** What each rank does after its last pass, counted as a share. */
  void afterwards(int rank, List<StepCall> calls, Share share) {
    for (StepCall call : calls) {
      perform(rank, call, share);
    }
  }

  /** All ranks wait for the slowest, as a norm over all gradients makes them. */
  void meet() {
    long latest = endPs();
    for (int r = 0; r < device.length; r++) {
      waitUntil(r, latest, Share.BUBBLE);
      host[r] = Math.max(host[r], latest);
    }
  }

  private void perform(int rank, StepCall call, Share share) {
    host[rank] += launchPs(call);
    waitUntil(rank, host[rank], Share.HOST);
    long ps = ps(call);
    device[rank] += ps;
    shares.get(rank).merge(share, ps, Long::sum);
  }

  private void waitUntil(int rank, long ps, Share share) {
    if (ps > device[rank]) {
      shares.get(rank).merge(share, ps - device[rank], Long::sum);
      device[rank] = ps;
    }
  }

  private long ps(StepCall call) {
    return used.computeIfAbsent(call, times).ps();
  }

  /** The distinct calls of the step with what they took, in the order in which they came first. */
  Map<StepCall, CallTimes.Time> used() {
    return used;
  }

  private long launchPs(StepCall call) {
    return software.of(call.kind()).launchPs();
  }

  /** When the last rank is done. */
  long endPs() {
    long end = 0;
    for (long each : device) {
      end = Math.max(end, each);
    }
    return end;
  }

  /** A share of a rank's time, ps; those of a rank sum to {@link #endPs} after a last meeting. */
  long ps(int rank, Share share) {
    return shares.get(rank).getOrDefault(share, 0L);
  }

  /** The mean over ranks. */
  double meanPs(Share share) {
    long sum = 0;
    for (int r = 0; r < device.length; r++) {
      sum += ps(r, share);
    }
    return (double) sum / device.length;
  }
}
