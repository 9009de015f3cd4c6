package org.kernbench.ccl.flow;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.flow.FlowSchedule.Choice;
import org.kernbench.ccl.flow.FlowSchedule.Ready;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.collective.CollectiveCall;

/**
 * Forecasts of a call, drawn in one way, at many paces: first with a simple pace for each number of
 * chunks; then, for the best two numbers, with all ways for chunks to follow each other.
 */
final class PaceSearch {
  private static final int SMALLEST_MESSAGE_BYTES = 256;

  private final AlgorithmConfig config;
  private final IpcqSpec queues;
  private final CollectiveCall call;
  private final Ready drawing;
  private long effort;

  /**
   * @param effort actions that may be looked at; the first pace is tried in any case
   */
  PaceSearch(
      AlgorithmConfig config, IpcqSpec queues, CollectiveCall call, Ready drawing, long effort) {
    this.config = config;
    this.queues = queues;
    this.call = call;
    this.drawing = drawing;
    this.effort = effort;
  }

  /**
   * All that was tried, at least one.
   *
   * @param limitPs what is later need not be known, if there is no effort left to better it
   */
  List<Choice> all(long limitPs) {
    int longest = Math.max(1, drawing.steps().steps() - 1);
    List<Choice> all = new ArrayList<>();
    for (int chunks : chunkCounts()) {
      FlowCut cut = cut(call, drawing.steps().flow(), chunks);
      int together = config.subChunks().orElse(Math.min(4, Math.max(1, queues.slots() - 1)));
      FlowPace pace = new FlowPace(chunks, Math.min(chunks, together), longest, false);
      if (canAfford(pace)) {
        all.add(forecast(cut, pace, FlowForecast.NEVER));
      } else if (all.isEmpty()) {
        all.add(forecast(cut, pace, limitPs));
      }
    }
    all.sort(Comparator.comparingLong(Choice::ps));
    for (Choice start : List.copyOf(all.subList(0, Math.min(2, all.size())))) {
      for (FlowPace pace : paces(start.pace().chunks(), longest)) {
        if (canAfford(pace)) {
          all.add(forecast(start.cut(), pace, FlowForecast.NEVER));
        }
      }
    }
    drawing.forecast().forget();
    return all;
  }

  private List<FlowPace> paces(int chunks, int longest) {
    List<FlowPace> paces = new ArrayList<>();
    for (int together : togethers(chunks)) {
      List<Integer> aparts =
          together < chunks ? List.of(longest, (longest + 1) / 2, 1) : List.of(longest);
      for (int apart : aparts) {
        paces.add(new FlowPace(chunks, together, apart, false));
        paces.add(new FlowPace(chunks, together, apart, true));
      }
    }
    return paces;
  }

  private List<Integer> togethers(int chunks) {
    if (config.subChunks().isPresent()) {
      return List.of(Math.min(chunks, config.subChunks().getAsInt()));
    }
    List<Integer> result = new ArrayList<>();
    for (int c = 1; c <= Math.min(chunks, queues.slots()); c += c < 4 ? 1 : 2) {
      result.add(c);
    }
    return result;
  }

  private boolean canAfford(FlowPace pace) {
    return cost(pace) <= effort;
  }

  private Choice forecast(FlowCut cut, FlowPace pace, long limitPs) {
    effort -= cost(pace);
    FlowForecast forecast = drawing.forecast();
    long ps = forecast.timePs(cut, pace, call.dtype().sizeBytes(), limitPs);
    return new Choice(drawing, cut, pace, ps, ps != FlowForecast.NEVER && forecast.isExact());
  }

  private long cost(FlowPace pace) {
    long chunks = Math.min(pace.chunks(), drawing.forecast().followed(pace) * pace.together());
    return drawing.steps().all().size() * chunks;
  }

  /** Fewest first: whole messages of at most a slot each, then smaller ones. */
  List<Integer> chunkCounts() {
    Dataflow flow = drawing.steps().flow();
    int most = 1; // elements of the largest message of a vector in one chunk
    FlowCut whole = cut(call, flow, 1);
    for (Dataflow.Part p : flow.parts()) {
      if (p.kind == Dataflow.Kind.RECEIVED) {
        most = Math.max(most, whole.count(0, p.first, p.count));
      }
    }
    long bytes = (long) most * call.dtype().sizeBytes();
    int least = (int) Math.max(1, Math.ceilDiv(bytes, queues.slotBytes()));
    if (config.chunkBytes().isPresent()) {
      return List.of((int) Math.max(1, Math.ceilDiv(bytes, config.chunkBytes().getAsLong())));
    }
    if (drawing.hasRuns() && call.op().hasParts()) {
      return List.of(1);
    }
    List<Integer> counts = new ArrayList<>();
    counts.add(least);
    for (int m = least + 1;
        bytes / m >= SMALLEST_MESSAGE_BYTES && m <= 8 * least + 64;
        m += (m + 1) / 2) {
      counts.add(m);
    }
    return counts;
  }

  /** What each chunk has of each unit of a call. */
  static FlowCut cut(CollectiveCall call, Dataflow flow, int chunks) {
    return switch (call.op()) {
      case ALL_REDUCE, BROADCAST, REDUCE ->
          FlowCut.even(Math.toIntExact(call.elements()), chunks, flow.weights());
      case REDUCE_SCATTER, ALL_GATHER, GATHER, SCATTER ->
          FlowCut.shares(call.parts(), flow.weights(), chunks);
      case ALL_TO_ALL -> FlowCut.blocks(call.splits(), chunks);
      case POINT_TO_POINT, BARRIER ->
          throw new IllegalArgumentException(call.op() + " moves no vector");
    };
  }
}
