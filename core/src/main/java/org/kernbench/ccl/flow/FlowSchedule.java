package org.kernbench.ccl.flow;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CallPacing;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.SlotWalk;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.ProtocolTime;
import org.kernbench.device.simulator.Fold;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.Splits;

/**
 * A collective that is drawn as a {@link Dataflow}. For each call it forecasts the time of the
 * drawings that the algorithm offers and of several paces, and takes the best.
 */
public final class FlowSchedule implements Schedule {
  /** Actions that may be looked at to choose a pace; beyond that fewer paces are tried. */
  static final long EFFORT = 1_500_000;

  /** Forecasts up to this factor above the least are simulated too. */
  private static final double NEAR = 1.15;

  /** Numbers of chunks, and ways to follow each other for one of these, at most. */
  private static final int MOST_SIMULATED = 4;

  /** What may be simulated for one choice, in bytes of all ranks' vectors. */
  private static final long SIMULATED_BYTES = 64L << 20;

  /**
   * A drawing, ready to run.
   *
   * @param hasRuns whether messages carry several units, which must lie one behind the other then
   */
  record Ready(FlowSteps steps, FlowForecast forecast, boolean hasRuns) {
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

  /**
   * A way to do a call, and its forecast.
   *
   * @param isExact whether the forecast is the closed form
   */
  record Choice(Ready drawing, FlowCut cut, FlowPace pace, long ps, boolean isExact) {
    /** Whether all goes in the same order, whatever leaves its slot when. */
    boolean isLike(Choice other) {
      return drawing == other.drawing
          && pace.chunks() == other.pace.chunks()
          && pace.together() == other.pace.together()
          && pace.apart() == other.pace.apart();
    }

    /** Whether it is drawn and cut as another one is. */
    boolean hasPartsOf(Choice other) {
      return drawing == other.drawing && pace.chunks() == other.pace.chunks();
    }
  }

  private final Group group;
  private final IpcqSpec queues;
  private final AlgorithmConfig config;
  private final DrawnAlgorithm.Artist artist;
  private final Set<CollectiveOp> operations;
  private final long effort;
  private final Map<Subject, List<Dataflow>> flows = new HashMap<>();
  private final Map<Subject, List<Ready>> drawings = new HashMap<>();
  private final Map<Question, List<Choice>> forecasts = new HashMap<>();
  private final Map<Question, Choice> choices = new HashMap<>();
  private @Nullable FlowSchedule first;

  FlowSchedule(
      Group group,
      IpcqSpec queues,
      AlgorithmConfig config,
      DrawnAlgorithm.Artist artist,
      Set<CollectiveOp> operations) {
    this(group, queues, config, artist, operations, EFFORT);
  }

  /** With another limit of the actions that may be looked at to choose a pace. */
  FlowSchedule(
      Group group,
      IpcqSpec queues,
      AlgorithmConfig config,
      DrawnAlgorithm.Artist artist,
      Set<CollectiveOp> operations,
      long effort) {
    this.group = group;
    this.queues = queues;
    this.config = config;
    this.artist = artist;
    this.operations = operations;
    this.effort = effort;
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
  public boolean isLike(FlowSchedule other, CollectiveCall call) {
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
  public void follow(Schedule other) {
    first = other instanceof FlowSchedule drawn ? drawn : null;
  }

  @Override
  public RankProgram program(CollectiveCall call) {
    Choice best = choose(call);
    return new FlowKernel(
        best.drawing.steps,
        best.cut,
        best.pace,
        call.dtype(),
        pacing(best, call),
        artist.rings() > 0);
  }

  /** Of the machine's collective library; the busiest rank is taken to send its share of all. */
  private Optional<CallPacing> pacing(Choice choice, CollectiveCall call) {
    if (group.machine().software().collective().isEmpty() && config.protocol().isEmpty()) {
      return Optional.empty();
    }
    if (artist.rings() > 0) {
      return pacingOfRings(call);
    }
    double sent = 2.0 * (group.size() - 1) / group.size() * call.bytes();
    int steps = Math.max(1, choice.drawing.steps.steps() - 1);
    return CallPacing.of(
        group.machine(), config, new CallPacing.Question(sent, steps, wire(call, 1, true)));
  }

  private ProtocolTime.Wire wire(CollectiveCall call, int lanes, boolean tree) {
    return new ProtocolTime.Wire(call.bytes(), group.lead(0), group.lead(1), lanes, tree);
  }

  /** The pacing of rings, whatever way is chosen. */
  private Optional<CallPacing> pacingOfRings(CollectiveCall call) {
    int passes = call.op() == CollectiveOp.ALL_REDUCE ? 2 : 1;
    double sent = (double) passes * (group.size() - 1) / group.size() * call.bytes();
    return CallPacing.of(
        group.machine(),
        config,
        new CallPacing.Question(
            sent, passes * (group.size() - 1), wire(call, artist.rings(), false)));
  }

  @Override
  public OptionalLong predictPs(CollectiveCall call) {
    Question question = question(call);
    Choice known = choices.get(question);
    Choice choice =
        known == null
            ? chosenBefore(call).orElseGet(() -> forecasts(call, question).get(0))
            : known;
    long paced = (long) pacing(choice, call).map(CallPacing::expectedPs).orElse(0.0).doubleValue();
    return choice.ps == FlowForecast.NEVER
        ? OptionalLong.empty()
        : OptionalLong.of(Math.max(choice.ps, paced));
  }

  @Override
  public QueuePlan representatives(Fold fold, IpcqSpec spec, CollectiveCall call) {
    if (artist.rings() > 0) {
      throw new CannotFoldException(
          "%s (%s) goes round %s rings at once, on which packages do not do alike; use rings: 1, or --fold off"
              .formatted(call.op().word(), config.name(), artist.rings()));
    }
    return Schedule.super.representatives(fold, spec, call);
  }

  @Override
  public boolean isForecastExact(CollectiveCall call) {
    return group.machine().software().collective().isEmpty() && choose(call).isExact;
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

  private Question question(CollectiveCall call) {
    return new Question(
        subject(call),
        call.dtype().sizeBytes(),
        call.elements(),
        call.op().hasParts() ? call.parts() : List.of(),
        call.splits());
  }

  private Choice choose(CollectiveCall call) {
    Question question = question(call);
    Choice known = choices.get(question);
    if (known == null) {
      known = chosenBefore(call).orElseGet(() -> confirmed(call, forecasts(call, question)));
      choices.put(question, known);
    }
    return known;
  }

  /** What the schedule that is followed chooses, on the same drawing here. */
  private Optional<Choice> chosenBefore(CollectiveCall call) {
    FlowSchedule before = first;
    if (before == null || !before.isLike(this, call)) {
      return Optional.empty();
    }
    Choice choice = before.choose(call);
    int drawing = before.drawings(before.subject(call)).indexOf(choice.drawing);
    Ready here = drawings(subject(call)).get(drawing);
    return Optional.of(new Choice(here, choice.cut, choice.pace, choice.ps, false));
  }

  /** Of all paces of all drawings that were looked at; the best first. */
  private List<Choice> forecasts(CollectiveCall call, Question question) {
    return forecasts.computeIfAbsent(question, q -> forecasts(call, q.subject));
  }

  private List<Choice> forecasts(CollectiveCall call, Subject subject) {
    List<Ready> ready = usable(call, subject);
    if (artist.rings() > 0) {
      double copyPs = pacingOfRings(call).map(CallPacing::psPerByte).orElse(0.0);
      ready.forEach(drawing -> drawing.forecast.pacedBy(copyPs));
    }
    if (ready.isEmpty()) {
      throw new IllegalStateException("no way to do " + call.op());
    }
    List<Choice> all = new ArrayList<>();
    searched(call, ready).forEach(search -> all.addAll(search.all()));
    all.sort(Comparator.comparingLong(Choice::ps));
    return all.get(0).ps == FlowForecast.NEVER ? List.of(inSmallSteps(call, subject)) : near(all);
  }

  /**
   * Looks at the paces of all drawings. What effort is left when each has been looked at goes to
   * the best first: half of it to the numbers of chunks that its share left out, the rest to other
   * paces, and in the end to other numbers of chunks of the very best.
   */
  private List<PaceSearch> searched(CollectiveCall call, List<Ready> ready) {
    List<PaceSearch> searches =
        ready.stream().map(drawing -> new PaceSearch(config, queues, call, drawing)).toList();
    PaceSearch.Effort pool = new PaceSearch.Effort(effort);
    List<PaceSearch> order = new ArrayList<>(searches);
    order.sort(Comparator.comparingInt(PaceSearch::size));
    long least = FlowForecast.NEVER;
    int parts = 2 * order.size();
    for (PaceSearch search : order) {
      PaceSearch.Effort share = pool.share(parts--);
      search.sweep(share, least == FlowForecast.NEVER ? least : (long) (NEAR * least));
      pool.add(share);
      least = Math.min(least, search.bestPs());
    }
    order.sort(Comparator.comparingLong(PaceSearch::bestPs));
    PaceSearch.Effort half = pool.share(2);
    order.getFirst().sweep(half, FlowForecast.NEVER);
    pool.add(half);
    order.forEach(search -> search.refine(pool));
    order.sort(Comparator.comparingLong(PaceSearch::bestPs));
    order.getFirst().extend(pool);
    return searches;
  }

  /** The best and those near it. */
  private static List<Choice> near(List<Choice> sorted) {
    List<Choice> near = new ArrayList<>();
    for (Choice c : sorted) {
      if (c.ps > NEAR * sorted.get(0).ps) {
        break;
      }
      if (near.stream().noneMatch(known -> known.isLike(c))) {
        near.add(c);
      }
    }
    return near;
  }

  /**
   * The fastest by simulation of those near the best forecast, which may differ by a picosecond
   * where times differ by tenths: who meets whom on a link is guessed in a forecast. First the best
   * for each drawing and number of chunks, in which forecasts err most; then others like the
   * fastest of them. The best forecast where it is exact, or simulation would take long.
   */
  private Choice confirmed(CollectiveCall call, List<Choice> near) {
    Choice best = near.get(0);
    long each = Math.max(1, call.bytes()) * group.size();
    long most = Math.min(near.size(), SIMULATED_BYTES / each);
    if (most < 2 || best.isExact) {
      return best;
    }
    CollectiveTrial.Question question = CollectiveTrial.Question.like(call, group.size());
    List<Choice> different = new ArrayList<>();
    for (Choice c : near) {
      if (different.stream().noneMatch(c::hasPartsOf)) {
        different.add(c);
      }
    }
    Trials trials = new Trials(question);
    different.stream().limit(Math.min(MOST_SIMULATED, most)).forEach(trials::run);
    Choice fastest = trials.best();
    near.stream()
        .filter(c -> c != fastest && c.hasPartsOf(fastest))
        .limit(Math.min(MOST_SIMULATED, most) - 1)
        .forEach(trials::run);
    return trials.best();
  }

  /** The fastest so far; the first of equal ones. */
  private final class Trials {
    private final CollectiveTrial.Question question;
    private @Nullable Choice best;
    private long least = Long.MAX_VALUE;

    Trials(CollectiveTrial.Question question) {
      this.question = question;
    }

    void run(Choice choice) {
      long ps = simulatedPs(choice, question);
      if (best == null || ps < least) {
        best = choice;
        least = ps;
      }
    }

    Choice best() {
      return Objects.requireNonNull(best);
    }
  }

  private long simulatedPs(Choice choice, CollectiveTrial.Question question) {
    try {
      return CollectiveTrial.of(group, config.name(), new Paced(choice), queues).timePs(question);
    } catch (CollectiveException | SimulationException e) {
      return FlowForecast.NEVER; // the call itself will say what does not fit
    }
  }

  /** Any call at the pace of a choice. */
  private final class Paced implements Schedule {
    private final Choice choice;

    Paced(Choice choice) {
      this.choice = choice;
    }

    @Override
    public List<QueuePlan.Connection> connections() {
      return choice.drawing.steps.connections(group);
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      FlowSteps steps = choice.drawing.steps;
      FlowCut cut = PaceSearch.cut(call, steps.flow(), choice.pace.chunks());
      return new FlowKernel(
          steps, cut, choice.pace, call.dtype(), pacing(choice, call), artist.rings() > 0);
    }
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
      for (int chunks : new PaceSearch(config, queues, call, drawing).chunkCounts()) {
        FlowCut cut = PaceSearch.cut(call, drawing.steps.flow(), chunks);
        FlowPace pace = new FlowPace(chunks, 1, Math.max(1, drawing.steps.steps() - 1), true);
        drawing.forecast.timePs(cut, pace, call.dtype().sizeBytes());
        if (drawing.forecast.fitsTcm()) {
          int slots = leastSlots(call, drawing, cut, pace);
          best = slots < least ? new Choice(drawing, cut, pace, FlowForecast.NEVER, false) : best;
          least = Math.min(least, slots);
          break;
        }
      }
      drawing.forecast.forget();
    }
    if (best == null) {
      throw new CollectiveException(
          """
          algorithm %s: %s over %s ranks: its message slots leave %s bytes of TCM; use \
          fewer or smaller slots (slots, slot_size), another buffer_kind or another \
          algorithm\
          """
              .formatted(config.name(), call.op().word(), group.size(), Math.max(0, tcm)));
    }
    if (least > queues.slots()) {
      throw new CollectiveException(
          """
          algorithm %s: %s over %s ranks needs %s message slots per direction, queues \
          have %s; use slots: %s, or another algorithm\
          """
              .formatted(
                  config.name(), call.op().word(), group.size(), least, queues.slots(), least));
    }
    return best;
  }

  private int leastSlots(CollectiveCall call, Ready drawing, FlowCut cut, FlowPace pace) {
    QueuePlan plan = new QueuePlan(queues, drawing.steps.connections(group));
    FlowKernel kernel = new FlowKernel(drawing.steps, cut, pace, call.dtype());
    return SlotWalk.least(group, plan, kernel, call).orElse(Integer.MAX_VALUE);
  }

  private static boolean isRun(Dataflow.Part p) {
    return p.count > 1 && p.kind != Dataflow.Kind.OWN;
  }
}
