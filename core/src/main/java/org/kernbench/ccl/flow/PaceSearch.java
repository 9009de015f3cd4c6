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
 * Forecasts of a call, drawn in one way, at many paces. A search has three parts, so that what is
 * not worth it can be left out: {@link #sweep} tries a simple pace for each number of chunks,
 * {@link #refine} all ways for chunks to follow each other for the best two numbers, and {@link
 * #extend} the other numbers for the best of these ways.
 */
final class PaceSearch {
  private static final int SMALLEST_MESSAGE_BYTES = 256;

  /** Actions that may still be looked at. */
  static final class Effort {
    private long left;

    Effort(long left) {
      this.left = left;
    }

    /** Part of what is left, for one of several; what it leaves is to be added again. */
    Effort share(int of) {
      Effort share = new Effort(left / of);
      left -= share.left;
      return share;
    }

    void add(Effort rest) {
      left += Math.max(0, rest.left);
    }
  }

  private final AlgorithmConfig config;
  private final IpcqSpec queues;
  private final CollectiveCall call;
  private final Ready drawing;
  private final int longest;
  private final List<Choice> all = new ArrayList<>();

  PaceSearch(AlgorithmConfig config, IpcqSpec queues, CollectiveCall call, Ready drawing) {
    this.config = config;
    this.queues = queues;
    this.call = call;
    this.drawing = drawing;
    this.longest = Math.max(1, drawing.steps().steps() - 1);
  }

  /** Actions of one chunk. */
  int size() {
    return drawing.steps().all().size();
  }

  /** All that was tried, in this order. */
  List<Choice> all() {
    return all;
  }

  /** The least time of all that was tried; {@link FlowForecast#NEVER} before. */
  long bestPs() {
    return all.stream().mapToLong(Choice::ps).min().orElse(FlowForecast.NEVER);
  }

  /**
   * The simple pace, group after group, for each number of chunks that has not been tried; for the
   * first of them in any case.
   *
   * @param limitPs what is later need not be known, if there is no effort to better it
   */
  void sweep(Effort effort, long limitPs) {
    for (int chunks : chunkCounts()) {
      int together = config.subChunks().orElse(Math.min(4, Math.max(1, queues.slots() - 1)));
      FlowPace pace = new FlowPace(chunks, Math.min(chunks, together), longest, false);
      if (isNew(pace) && canAfford(pace, effort)) {
        forecast(cut(chunks), pace, FlowForecast.NEVER, effort);
      } else if (all.isEmpty()) {
        forecast(cut(chunks), pace, limitPs, effort);
      }
    }
    drawing.forecast().forget();
  }

  /** Other paces for the best two numbers of chunks. */
  void refine(Effort effort) {
    List<Choice> sorted = sorted();
    for (Choice start : sorted.subList(0, Math.min(2, sorted.size()))) {
      for (FlowPace pace : paces(start.pace().chunks())) {
        if (canAfford(pace, effort)) {
          forecast(start.cut(), pace, FlowForecast.NEVER, effort);
        }
      }
    }
    drawing.forecast().forget();
  }

  /** Other numbers of chunks at the best pace. */
  void extend(Effort effort) {
    FlowPace best = sorted().getFirst().pace();
    for (int chunks : chunkCounts()) {
      FlowPace pace = new FlowPace(chunks, best.together(), best.apart(), best.copy());
      if (isNew(pace) && chunks >= pace.together() && canAfford(pace, effort)) {
        forecast(cut(chunks), pace, FlowForecast.NEVER, effort);
      }
    }
    drawing.forecast().forget();
  }

  private List<Choice> sorted() {
    return all.stream().sorted(Comparator.comparingLong(Choice::ps)).toList();
  }

  private FlowCut cut(int chunks) {
    return cut(call, drawing.steps().flow(), chunks);
  }

  private List<FlowPace> paces(int chunks) {
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

  private boolean isNew(FlowPace pace) {
    return all.stream().noneMatch(known -> known.pace().equals(pace));
  }

  private boolean canAfford(FlowPace pace, Effort effort) {
    return cost(pace) <= effort.left;
  }

  private void forecast(FlowCut cut, FlowPace pace, long limitPs, Effort effort) {
    effort.left -= cost(pace);
    FlowForecast forecast = drawing.forecast();
    long ps = forecast.timePs(cut, pace, call.dtype().sizeBytes(), limitPs);
    all.add(new Choice(drawing, cut, pace, ps, ps != FlowForecast.NEVER && forecast.isExact()));
  }

  private long cost(FlowPace pace) {
    long chunks = Math.min(pace.chunks(), drawing.forecast().followed(pace) * pace.together());
    return size() * chunks;
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
