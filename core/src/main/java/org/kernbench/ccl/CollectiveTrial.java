package org.kernbench.ccl;

import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * One collective of one algorithm on a machine of its own, measured and checked in every respect:
 * values against a reference in f64, the same bits on all ranks, nothing written beside the
 * results, bytes on the wire, time against the lower bound.
 */
public final class CollectiveTrial {
  private static final SimulatorOptions NO_LOG = SimulatorOptions.DEFAULT.withOpLogLimit(0);
  private static final int LATE_ELEMENTS = 4096;

  /**
   * What is asked of an algorithm.
   *
   * @param op what
   * @param reduce how elements combine, if they do
   * @param dtype of the elements
   * @param root for operations that have one
   * @param elements of the whole vector; of an all-to-all what each rank sends, in even blocks
   */
  public record Question(CollectiveOp op, ReduceKind reduce, DType dtype, int root, long elements) {
    /** An all-reduce. */
    public static Question allReduce(ReduceKind reduce, DType dtype, long elements) {
      return new Question(CollectiveOp.ALL_REDUCE, reduce, dtype, -1, elements);
    }

    /** What a call asks, in even parts: of an all-to-all, the elements for one rank. */
    public static Question like(CollectiveCall call, int ranks) {
      boolean exchange = call.op() == CollectiveOp.ALL_TO_ALL;
      long elements = exchange ? Math.ceilDiv(call.elements(), ranks) : call.elements();
      return new Question(call.op(), call.reduce(), call.dtype(), call.root(), elements);
    }

    /** Of the whole vector; of an all-to-all what each rank sends. */
    public long bytes() {
      return elements * dtype.sizeBytes();
    }

    @Override
    public String toString() {
      return "%s%s of %s %s%s"
          .formatted(
              op.word(),
              op.reduces() ? " " + reduce.name().toLowerCase(Locale.ROOT) : "",
              elements,
              dtype.code(),
              op.hasRoot() ? ", root " + root : "");
    }
  }

  /**
   * How values of all ranks compare with the reference.
   *
   * @param values how many were compared
   * @param wrong how many of them are off by more than allowed
   * @param maxError the largest deviation
   * @param allowed how large that one might be; of several deviations as large, the least; the
   *     largest if there is no deviation
   */
  public record Checked(long values, long wrong, double maxError, double allowed) {
    /** Of nothing. */
    public static final Checked NONE = new Checked(0, 0, 0, 0);

    /** Both together. */
    public Checked plus(Checked other) {
      return new Checked(
          values + other.values,
          wrong + other.wrong,
          Math.max(maxError, other.maxError),
          allowedOf(other));
    }

    private double allowedOf(Checked other) {
      if (maxError != other.maxError) {
        return maxError > other.maxError ? allowed : other.allowed;
      }
      return maxError == 0 || values == 0 || other.values == 0
          ? Math.max(allowed, other.allowed)
          : Math.min(allowed, other.allowed);
    }
  }

  /**
   * What came out.
   *
   * @param algorithm its name, with what it chose
   * @param ps time of the slowest rank
   * @param bound what no algorithm can beat
   * @param wireBytes that all ranks together sent
   * @param promisedBytes what the algorithm says it sends
   * @param predictedPs what the algorithm's closed form says
   * @param peakSlots most slots in use of a queue
   * @param launchPs from the host's call to the common start
   * @param checked how values compare with the reference
   * @param events that the simulation took
   * @param problems everything that is wrong, in words; empty if nothing is
   */
  public record Result(
      String algorithm,
      long ps,
      Bounds.Bound bound,
      long wireBytes,
      OptionalLong promisedBytes,
      OptionalLong predictedPs,
      int peakSlots,
      long launchPs,
      Checked checked,
      long events,
      List<String> problems) {
    /** Copies the list. */
    public Result {
      problems = List.copyOf(problems);
    }

    /** Bound over time: 1 is the best that can be. */
    public double efficiency() {
      return ps == 0 ? 1 : (double) bound.ps() / ps;
    }
  }

  private final Machine machine;
  private final Group group;
  private final String name;
  private final Schedule schedule;
  private final IpcqSpec queues;
  private @Nullable Bounds bounds; // made when first asked for: cuts take a while

  private CollectiveTrial(
      Machine machine, Group group, String name, Schedule schedule, IpcqSpec queues) {
    this.machine = machine;
    this.group = group;
    this.name = name;
    this.schedule = schedule;
    this.queues = queues;
  }

  /**
   * Binds an algorithm to a group, once for any number of questions.
   *
   * @param config what {@code ccl.yaml} says about the algorithm
   * @param leads by rank, the PEs that take part; at least two
   * @throws CollectiveException if it refuses the group, or its slots do not fit
   */
  public static CollectiveTrial of(
      Machine machine,
      CollectiveAlgorithm algorithm,
      AlgorithmConfig config,
      RankLevel level,
      List<Pe> leads) {
    Group group = new Group(machine, level, leads);
    IpcqSpec queues = config.queues(machine.ipcq());
    Schedule schedule = algorithm.plan(group, queues, config);
    return new CollectiveTrial(machine, group, config.name(), schedule, queues);
  }

  /** A schedule that is bound to its group already. */
  public static CollectiveTrial of(Group group, String name, Schedule schedule, IpcqSpec queues) {
    return new CollectiveTrial(group.machine(), group, name, schedule, queues);
  }

  /** Whether messages wait in a memory that nothing but messages and values uses. */
  public boolean hasSlotsInTcm() {
    return queues.bufferKind() == BufferKind.TCM;
  }

  /** What {@code auto} chose for the calls so far; empty of any other algorithm. */
  public List<AutoChoice> choices() {
    return schedule.choices();
  }

  /** The schedule that is tried. */
  public Schedule schedule() {
    return schedule;
  }

  /**
   * Runs a call.
   *
   * @param mode full: everything is checked; time: all but the values
   * @throws CollectiveException if the algorithm refuses the call
   */
  public Result run(Question question, Mode mode) {
    return run(question, mode, queues, SimulatorOptions.DEFAULT);
  }

  /**
   * Runs a call and records what is asked for, or checks it.
   *
   * @throws CollectiveException if the algorithm refuses the call
   */
  public Result run(Question question, Mode mode, SimulatorOptions recording) {
    return run(question, mode, queues, recording);
  }

  /** Sees a call that is done. */
  @FunctionalInterface
  public interface Observer {
    /**
     * @param log the operations of the call
     * @param launch its kernel
     * @param queues that it used
     */
    void done(OpLog log, Launch launch, IpcqSpec queues);
  }

  /**
   * Runs a collective with the queues it was bound with, recorded as asked and shown to an
   * observer.
   */
  public Result run(Question question, Mode mode, SimulatorOptions recording, Observer observer) {
    return run(question, mode, queues, recording, observer);
  }

  /**
   * The time of a call alone, in picoseconds, with nothing checked.
   *
   * @throws CollectiveException if the algorithm refuses the call
   */
  public long timePs(Question question) {
    try (Simulator simulator = Simulator.open(machine, Mode.TIME, NO_LOG)) {
      TrialData data = new TrialData(machine, group, question);
      QueuePlan plan = plan(data.call, queues);
      return launch(simulator, simulator.install(plan), data.call).criticalPs();
    }
  }

  /** Runs a collective with other queues than the algorithm was bound with, say fewer slots. */
  public Result run(Question question, Mode mode, IpcqSpec spec) {
    return run(question, mode, spec, SimulatorOptions.DEFAULT);
  }

  private Result run(Question question, Mode mode, IpcqSpec spec, SimulatorOptions recording) {
    // Nobody sees the rows, and what is counted does not come from them.
    return run(question, mode, spec, recording.withOpLogLimit(0), (log, launch, used) -> {});
  }

  private Result run(
      Question question, Mode mode, IpcqSpec spec, SimulatorOptions options, Observer observer) {
    try (Simulator simulator = Simulator.open(machine, mode, options)) {
      TrialData data = new TrialData(machine, group, question);
      boolean values = mode != Mode.TIME;
      if (values) {
        data.write(simulator);
      }
      CollectiveCall call = data.call;
      QueuePlan plan = plan(call, spec);
      QueueSet set = simulator.install(plan);
      Launch launch = launch(simulator, set, call);
      observer.done(simulator.opLog(), launch, spec);
      TrialJudgement judgement = new TrialJudgement(group, data);
      if (values) {
        judgement.values(simulator);
      }
      if (question.op == CollectiveOp.BARRIER) {
        for (int late = 0; late < group.size(); late++) {
          judgement.barrier(late, barrier(data, mode, plan, schedule.program(call), late));
        }
      }
      return result(judgement, simulator, launch, simulator.peakSlots(set));
    }
  }

  /**
   * What came out of a call of which one package stood for all.
   *
   * @param note what was folded, and how that was checked
   */
  public record Folded(Result result, String note) {}

  /**
   * Runs a call in mode {@code time}, one package for all (ADR 0109), and shows it to an observer.
   *
   * @throws CannotFoldException if packages are not alike or do not do alike, with the reason
   * @throws CollectiveException if the algorithm refuses the call
   */
  public Folded runFolded(Question question, SimulatorOptions recording, Observer observer) {
    if (question.op == CollectiveOp.BARRIER) {
      throw new CannotFoldException(
          "a barrier is tried with one rank that comes late, so ranks do not do alike");
    }
    TrialData data = new TrialData(machine, group, question);
    try (FoldedCall call = FoldedCall.of(group, schedule, queues, data.call, recording)) {
      observer.done(call.simulator().opLog(), call.launch(), queues);
      int peakSlots = call.simulator().peakSlots(call.queues());
      Result result =
          result(new TrialJudgement(group, data), call.simulator(), call.launch(), peakSlots);
      return new Folded(result, call.note());
    }
  }

  private QueuePlan plan(CollectiveCall call, IpcqSpec spec) {
    QueuePlan plan = new QueuePlan(spec, schedule.connections(call));
    SlotSpace.check(machine, spec, plan.connections());
    SlotSpace.checkTcm(machine, spec, plan.connections());
    return plan;
  }

  private Launch launch(Simulator simulator, QueueSet set, CollectiveCall call) {
    Schedule.RankProgram program = schedule.program(call);
    Reduction reduction = new Reduction(call.reduce(), group.size());
    LaunchGrid grid = new LaunchGrid(0, machine.sips());
    Launch launch =
        simulator.launch(
            LaunchRequest.of("trial", group.leads()).with(set),
            port ->
                () -> {
                  Tl tl = new Tl(port, grid);
                  int rank = group.rankOf(tl.pe());
                  program.run(tl, rank, Payload.of(call, rank), reduction);
                });
    simulator.drive(launch);
    return launch;
  }

  /** When each rank leaves a barrier to which one comes late, which is the last time. */
  private double[] barrier(
      TrialData data, Mode mode, QueuePlan plan, Schedule.RankProgram program, int late) {
    double[] times = new double[group.size() + 1];
    if (mode == Mode.VALUES) {
      return times;
    }
    Shard vector = data.shard(late, TrialData.FIRST_BYTE, LATE_ELEMENTS);
    Reduction none = new Reduction(ReduceKind.SUM, group.size());
    LaunchGrid grid = new LaunchGrid(0, machine.sips());
    try (Simulator simulator = Simulator.open(machine, mode, SimulatorOptions.DEFAULT)) {
      QueueSet set = simulator.install(plan);
      simulator.drive(
          simulator.launch(
              LaunchRequest.of("barrier", group.leads()).with(set),
              port ->
                  () -> {
                    Tl tl = new Tl(port, grid);
                    int rank = group.rankOf(tl.pe());
                    if (rank == late) {
                      tl.await(tl.load(vector.all()));
                      times[group.size()] = tl.clock();
                    }
                    program.run(tl, rank, Payload.of(data.call, rank), none);
                    times[rank] = tl.clock();
                  }));
    }
    return times;
  }

  /** Whether {@link #predictPs} claims to be exact; see {@link Schedule#isForecastExact}. */
  public boolean isForecastExact(Question question) {
    return schedule.isForecastExact(new TrialData(machine, group, question).call);
  }

  /** The least slots that the schedule says it needs. */
  public OptionalInt promisedSlots(Question question) {
    return schedule.leastSlots(new TrialData(machine, group, question).call);
  }

  /** The least slots that its kernels need, by following them; see {@link SlotWalk}. */
  public OptionalInt leastSlots(Question question) {
    CollectiveCall call = new TrialData(machine, group, question).call;
    QueuePlan plan = new QueuePlan(queues, schedule.connections(call));
    return SlotWalk.least(group, plan, schedule.program(call), call);
  }

  /** What the schedule chooses for a call; its own name if it does not choose. */
  public String chosen(Question question) {
    return schedule.chosen(new TrialData(machine, group, question).call).orElse(name);
  }

  /** The time that the schedule forecasts; empty if it has no closed form. */
  public OptionalLong predictPs(Question question) {
    return schedule.predictPs(new TrialData(machine, group, question).call);
  }

  /** The time by the schedule's formula; empty if it has none. */
  public OptionalLong formulaPs(Question question) {
    return schedule.formulaPs(new TrialData(machine, group, question).call);
  }

  private Bounds bounds() {
    Bounds known = bounds;
    if (known == null) {
      known = Bounds.of(machine, group.leads());
      bounds = known;
    }
    return known;
  }

  /** The lower bound of a call. */
  public Bounds.Bound bound(Question q) {
    Bounds bounds = bounds();
    long bytes = q.elements * q.dtype.sizeBytes();
    List<Long> parts =
        TrialData.parts(q, group.size()).stream()
            .map(p -> p.count() * q.dtype.sizeBytes())
            .toList();
    return switch (q.op) {
      case ALL_REDUCE -> bounds.allReduce(bytes);
      case REDUCE_SCATTER -> bounds.reduceScatter(parts);
      case ALL_GATHER -> bounds.allGather(parts);
      case BROADCAST -> bounds.broadcast(q.root, bytes);
      case REDUCE -> bounds.reduce(q.root, bytes);
      case GATHER -> bounds.gather(q.root, parts);
      case SCATTER -> bounds.scatter(q.root, parts);
      case ALL_TO_ALL -> {
        long block = q.elements / group.size() * q.dtype.sizeBytes();
        yield bounds.allToAll(
            Collections.nCopies(group.size(), Collections.nCopies(group.size(), block)));
      }
      case BARRIER, POINT_TO_POINT -> bounds.barrier();
    };
  }

  /** The bytes that a call counts for bandwidths: of the whole vector. */
  public long bytes(Question q) {
    return q.elements * q.dtype.sizeBytes();
  }

  private Result result(
      TrialJudgement judgement, Simulator simulator, Launch launch, int peakSlots) {
    CollectiveCall call = judgement.call();
    long sent = simulator.opLog().bytes(OpKind.SEND);
    boolean timed = simulator.mode() != Mode.VALUES;
    OptionalLong promised = schedule.wireBytes(call);
    if (promised.isPresent() && timed && promised.getAsLong() != sent) {
      judgement.problem("sent %d bytes; its exact count is %d", sent, promised.getAsLong());
    }
    long ps = timed ? launch.criticalPs() : 0;
    Bounds.Bound bound = bound(judgement.question());
    if (timed && ps < bound.ps()) {
      judgement.problem(
          "took %d ps, below the lower bound of %d ps (%s)", ps, bound.ps(), bound.kind());
    }
    return new Result(
        schedule.chosen(call).map(c -> name + ":" + c).orElse(name),
        ps,
        bound,
        sent,
        promised,
        schedule.predictPs(call),
        peakSlots,
        launch.startPs() - launch.enqueuedPs(),
        judgement.checked(),
        simulator.eventCount(),
        judgement.problems());
  }
}
