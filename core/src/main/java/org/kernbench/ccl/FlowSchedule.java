package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.IpcqSpec;
import org.kernbench.torch.CollectiveCall;
import org.kernbench.torch.CollectiveOp;
import org.kernbench.torch.Part;
import org.kernbench.torch.Splits;

/**
 * A collective that is drawn as a {@link Dataflow}. For each call it forecasts the time of the
 * drawings that the algorithm offers and of several paces, and takes the best.
 */
final class FlowSchedule implements Schedule {
  /** Actions that may be looked at to choose a pace; beyond that fewer paces are tried. */
  private static final long EFFORT = 1_500_000;

  private static final int SMALLEST_MESSAGE_BYTES = 256;

  /**
   * A drawing, ready to run.
   *
   * @param hasRuns whether messages carry several units, which must lie one behind the other then
   */
  private record Ready(FlowSteps steps, FlowForecast forecast, boolean hasRuns) {
    static Ready of(Group group, IpcqSpec queues, Dataflow flow) {
      FlowSteps steps = new FlowSteps(flow);
      boolean hasRuns = flow.parts().stream().anyMatch(FlowSchedule::isRun);
      return new Ready(steps, new FlowForecast(group, queues, steps), hasRuns);
    }
  }

  /** What drawings depend on. */
  private record Subject(CollectiveOp op, int root) {}

  /** What the choice depends on besides. */
  private record Question(
      Subject subject, int elementBytes, long elements, List<Part> parts, Splits splits) {}

  /** The best found. */
  private record Choice(Ready drawing, FlowCut cut, FlowPace pace, long ps) {}

  private final Group group;
  private final IpcqSpec queues;
  private final AlgorithmConfig config;
  private final DrawnAlgorithm.Artist artist;
  private final Set<CollectiveOp> operations;
  private final Map<Subject, List<Dataflow>> flows = new HashMap<>();
  private final Map<Subject, List<Ready>> drawings = new HashMap<>();
  private final Map<Question, Choice> choices = new HashMap<>();

  FlowSchedule(
      Group group,
      IpcqSpec queues,
      AlgorithmConfig config,
      DrawnAlgorithm.Artist artist,
      Set<CollectiveOp> operations) {
    this.group = group;
    this.queues = queues;
    this.config = config;
    this.artist = artist;
    this.operations = operations;
  }

  @Override
  public List<QueuePlan.Connection> connections() {
    CollectiveOp op = new TreeSet<>(operations).first();
    return connections(new Subject(op, op.hasRoot() ? 0 : -1));
  }

  @Override
  public List<QueuePlan.Connection> connections(CollectiveCall call) {
    return connections(subject(call));
  }

  private List<QueuePlan.Connection> connections(Subject subject) {
    Set<QueuePlan.Connection> all = new LinkedHashSet<>();
    for (Dataflow each : flows(subject)) {
      all.addAll(FlowSteps.connections(each, group));
    }
    return List.copyOf(all);
  }

  /** Whether the other would do a call in just the same ways. */
  boolean isLike(FlowSchedule other, CollectiveCall call) {
    List<Dataflow> own = flows(subject(call));
    List<Dataflow> others = other.flows(subject(call));
    if (own.size() != others.size()
        || !config.chunkBytes().equals(other.config.chunkBytes())
        || !config.subChunks().equals(other.config.subChunks())) {
      return false;
    }
    for (int i = 0; i < own.size(); i++) {
      if (!own.get(i).isLike(others.get(i))) {
        return false;
      }
    }
    return true;
  }

  @Override
  public RankProgram program(CollectiveCall call) {
    Choice best = choose(call);
    return new FlowKernel(best.drawing.steps, best.cut, best.pace, call.dtype());
  }

  @Override
  public OptionalLong predictPs(CollectiveCall call) {
    long ps = choose(call).ps;
    return ps == FlowForecast.NEVER ? OptionalLong.empty() : OptionalLong.of(ps);
  }

  @Override
  public boolean isForecastExact(CollectiveCall call) {
    Choice best = choose(call);
    best.drawing.forecast.timePs(best.cut, best.pace, call.dtype().sizeBytes());
    return best.ps != FlowForecast.NEVER && best.drawing.forecast.isExact();
  }

  @Override
  public OptionalLong wireBytes(CollectiveCall call) {
    Choice best = choose(call);
    long elements = 0;
    for (Dataflow.Part p : best.drawing.steps.flow().parts()) {
      if (p.kind == Dataflow.Kind.RECEIVED) {
        for (int chunk = 0; chunk < best.cut.chunks(); chunk++) {
          elements += best.cut.count(chunk, p.first, p.count);
        }
      }
    }
    return OptionalLong.of(elements * call.dtype().sizeBytes());
  }

  // ---- the choice ----

  private Subject subject(CollectiveCall call) {
    return new Subject(call.op(), call.root());
  }

  private static boolean adjoin(List<Part> parts) {
    for (int i = 1; i < parts.size(); i++) {
      if (parts.get(i).start() != parts.get(i - 1).end()) {
        return false;
      }
    }
    return true;
  }

  private List<Dataflow> flows(Subject subject) {
    return flows.computeIfAbsent(subject, s -> List.copyOf(artist.draw(s.op, s.root)));
  }

  private List<Ready> drawings(Subject subject) {
    return drawings.computeIfAbsent(
        subject, s -> flows(s).stream().map(flow -> Ready.of(group, queues, flow)).toList());
  }

  /** Those whose runs of units lie one behind the other. */
  private List<Ready> usable(CollectiveCall call, Subject subject) {
    boolean runs = !call.op().hasParts() || adjoin(call.parts());
    return drawings(subject).stream().filter(d -> runs || !d.hasRuns).toList();
  }

  private Choice choose(CollectiveCall call) {
    Question question =
        new Question(
            subject(call),
            call.dtype().sizeBytes(),
            call.elements(),
            call.op().hasParts() ? call.parts() : List.of(),
            call.splits());
    return choices.computeIfAbsent(question, q -> best(call, q.subject));
  }

  private Choice best(CollectiveCall call, Subject subject) {
    Choice best = null;
    List<Ready> ready = usable(call, subject);
    for (Ready drawing : ready) {
      Choice choice = best(call, drawing, EFFORT / ready.size());
      if (best == null || choice.ps < best.ps) {
        best = choice;
      }
    }
    if (best == null) {
      throw new IllegalStateException("no way to do " + call.op());
    }
    return best.ps == FlowForecast.NEVER ? inSmallSteps(call, subject) : best;
  }

  /**
   * What needs the fewest slots: one chunk after the other, no slot held for longer than it takes
   * to copy what is in it.
   *
   * @throws CollectiveException if those are more than there are, or they leave no TCM
   */
  private Choice inSmallSteps(CollectiveCall call, Subject subject) {
    Choice best = null;
    int least = Integer.MAX_VALUE;
    long tcm = 0;
    for (Ready drawing : usable(call, subject)) {
      tcm = drawing.forecast.tcmBytes();
      for (int chunks : chunkCounts(call, drawing)) {
        FlowCut cut = cut(call, drawing.steps.flow(), chunks);
        FlowPace pace = new FlowPace(chunks, 1, Math.max(1, drawing.steps.steps() - 1), true);
        drawing.forecast.timePs(cut, pace, call.dtype().sizeBytes());
        if (drawing.forecast.fitsTcm()) {
          int slots = leastSlots(call, drawing, cut, pace);
          best = slots < least ? new Choice(drawing, cut, pace, FlowForecast.NEVER) : best;
          least = Math.min(least, slots);
          break;
        }
      }
    }
    if (best == null) {
      throw new CollectiveException(
          "algorithm "
              + config.name()
              + ": "
              + call.op().word()
              + " over "
              + group.size()
              + " ranks: its message slots leave "
              + Math.max(0, tcm)
              + " bytes of TCM; use fewer or smaller slots (slots, slot_size), another buffer_kind"
              + " or another algorithm");
    }
    if (least > queues.slots()) {
      throw new CollectiveException(
          "algorithm "
              + config.name()
              + ": "
              + call.op().word()
              + " over "
              + group.size()
              + " ranks needs "
              + least
              + " message slots per direction, queues have "
              + queues.slots()
              + "; use slots: "
              + least
              + ", or another algorithm");
    }
    return best;
  }

  private int leastSlots(CollectiveCall call, Ready drawing, FlowCut cut, FlowPace pace) {
    QueuePlan plan = new QueuePlan(queues, drawing.steps.connections(group));
    FlowKernel kernel = new FlowKernel(drawing.steps, cut, pace, call.dtype());
    return SlotWalk.least(group, plan, kernel, call).orElse(Integer.MAX_VALUE);
  }

  /**
   * Looks for a pace: first the number of chunks, with a simple one; then, for the best two
   * numbers, how they follow each other.
   */
  private Choice best(CollectiveCall call, Ready drawing, long effort) {
    int longest = Math.max(1, drawing.steps.steps() - 1);
    Search search = new Search(drawing, call.dtype().sizeBytes(), effort);
    List<Choice> simple = new ArrayList<>();
    for (int chunks : chunkCounts(call, drawing)) {
      FlowCut cut = cut(call, drawing.steps.flow(), chunks);
      int together = config.subChunks().orElse(Math.min(4, Math.max(1, queues.slots() - 1)));
      FlowPace pace = new FlowPace(chunks, Math.min(chunks, together), longest, false);
      if (simple.isEmpty() || search.canAfford(pace)) {
        simple.add(search.of(cut, pace));
      }
    }
    simple.sort(Comparator.comparingLong(Choice::ps));
    Choice best = simple.get(0);
    for (Choice start : simple.subList(0, Math.min(2, simple.size()))) {
      for (FlowPace pace : paces(start.pace.chunks(), longest)) {
        if (search.canAfford(pace)) {
          Choice choice = search.of(start.cut, pace);
          best = choice.ps < best.ps ? choice : best;
        }
      }
    }
    return best;
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

  /** Forecasts, as long as there is time. */
  private static final class Search {
    private final Ready drawing;
    private final int elementBytes;
    private long effort;

    Search(Ready drawing, int elementBytes, long effort) {
      this.drawing = drawing;
      this.elementBytes = elementBytes;
      this.effort = effort;
    }

    boolean canAfford(FlowPace pace) {
      return cost(pace) <= effort;
    }

    Choice of(FlowCut cut, FlowPace pace) {
      effort -= cost(pace);
      return new Choice(drawing, cut, pace, drawing.forecast.timePs(cut, pace, elementBytes));
    }

    private long cost(FlowPace pace) {
      long chunks = Math.min(pace.chunks(), drawing.forecast.followed(pace) * pace.together());
      return drawing.steps.all().size() * chunks;
    }
  }

  /** Fewest first: whole messages of at most a slot each, then smaller ones. */
  private List<Integer> chunkCounts(CollectiveCall call, Ready drawing) {
    Dataflow flow = drawing.steps.flow();
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
    if (drawing.hasRuns && call.op().hasParts()) {
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

  private static FlowCut cut(CollectiveCall call, Dataflow flow, int chunks) {
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

  private static boolean isRun(Dataflow.Part p) {
    return p.count > 1 && p.kind != Dataflow.Kind.OWN;
  }
}
