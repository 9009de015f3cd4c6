package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Simulator;
import org.kernbench.device.SimulatorOptions;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;
import org.kernbench.torch.placement.RankLevel;

/**
 * One collective of one algorithm on a machine of its own, measured and checked in every respect:
 * values against a reference in f64, the same bits on all ranks, nothing written beside the
 * results, bytes on the wire, time against the lower bound.
 */
public final class CollectiveTrial {
  private static final SimulatorOptions NO_LOG = SimulatorOptions.DEFAULT.withOpLogLimit(0);
  private static final int LATE_ELEMENTS = 4096;
  private static final int GUARD_BYTES = 64;
  private static final byte GUARD = 0x5a;
  private static final long FIRST_BYTE = 4096;

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

    /** The same as a call, in even parts. */
    public static Question like(CollectiveCall call, int ranks) {
      boolean exchange = call.op() == CollectiveOp.ALL_TO_ALL;
      long elements = exchange ? Math.ceilDiv(call.elements(), ranks) : call.elements();
      return new Question(call.op(), call.reduce(), call.dtype(), call.root(), elements);
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
   * What came out.
   *
   * @param algorithm its name, with what it chose
   * @param ps time of the slowest rank
   * @param bound what no algorithm can beat
   * @param wireBytes that all ranks together sent
   * @param promisedBytes what the algorithm says it sends
   * @param predictedPs what the algorithm's closed form says
   * @param peakSlots most slots in use of a queue
   * @param maxError largest deviation from the reference
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
      double maxError,
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

  /** The same, recorded as asked and shown to an observer. */
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
      Data data = new Data(question);
      QueuePlan plan = plan(data.call, queues);
      return launch(simulator, simulator.install(plan), data.call).criticalPs();
    }
  }

  /** The same with other queues than the algorithm was bound with, say fewer slots. */
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
      Data data = new Data(question);
      boolean values = mode != Mode.TIME;
      if (values) {
        data.write(simulator);
      }
      CollectiveCall call = data.call;
      QueuePlan plan = plan(call, spec);
      QueueSet set = simulator.install(plan);
      Launch launch = launch(simulator, set, call);
      observer.done(simulator.opLog(), launch, spec);
      Check check = new Check(question, data, simulator, launch, call);
      if (values) {
        check.values();
      }
      if (question.op == CollectiveOp.BARRIER) {
        for (int late = 0; late < group.size(); late++) {
          check.barrier(late, barrier(data, mode, plan, schedule.program(call), late));
        }
      }
      return check.result(simulator.peakSlots(set));
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
      Data data, Mode mode, QueuePlan plan, Schedule.RankProgram program, int late) {
    double[] times = new double[group.size() + 1];
    if (mode == Mode.VALUES) {
      return times;
    }
    Shard vector = data.shard(late, FIRST_BYTE, LATE_ELEMENTS);
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
    return schedule.isForecastExact(new Data(question).call);
  }

  /** The least slots that the schedule says it needs. */
  public OptionalInt promisedSlots(Question question) {
    return schedule.leastSlots(new Data(question).call);
  }

  /** The least slots that its kernels need, by following them; see {@link SlotWalk}. */
  public OptionalInt leastSlots(Question question) {
    CollectiveCall call = new Data(question).call;
    QueuePlan plan = new QueuePlan(queues, schedule.connections(call));
    return SlotWalk.least(group, plan, schedule.program(call), call);
  }

  /** What the schedule chooses for a call; its own name if it does not choose. */
  public String chosen(Question question) {
    return schedule.chosen(new Data(question).call).orElse(name);
  }

  /** The time that the schedule forecasts; empty if it has no closed form. */
  public OptionalLong predictPs(Question question) {
    return schedule.predictPs(new Data(question).call);
  }

  /** The time by the schedule's formula; empty if it has none. */
  public OptionalLong formulaPs(Question question) {
    return schedule.formulaPs(new Data(question).call);
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
    List<Long> parts = parts(q).stream().map(p -> p.count() * q.dtype.sizeBytes()).toList();
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

  private List<Part> parts(Question q) {
    int p = group.size();
    List<Part> parts = new ArrayList<>();
    long start = 0;
    for (int rank = 0; rank < p; rank++) {
      long count = q.op.hasParts() ? q.elements / p + (rank < q.elements % p ? 1 : 0) : q.elements;
      parts.add(new Part(q.op.hasParts() ? start : 0, count));
      start += count;
    }
    return parts;
  }

  // ---- data ----

  /** The vectors of all ranks and what is in them. */
  private final class Data {
    final Question q;
    final List<Part> parts;
    final Splits splits;
    final CollectiveCall call;
    private final double[][] held;

    Data(Question q) {
      this.q = q;
      this.held = new double[group.size()][0];
      this.parts = parts(q);
      int p = group.size();
      boolean exchange = q.op == CollectiveOp.ALL_TO_ALL;
      this.splits = exchange ? Splits.even(p, q.elements / p) : Splits.NONE;
      List<Optional<Shard>> inputs = new ArrayList<>();
      List<Optional<Shard>> outputs = new ArrayList<>();
      long in = FIRST_BYTE;
      long most = Math.max(q.elements, 1) * q.dtype.sizeBytes();
      long out = in + Math.ceilDiv(most + GUARD_BYTES, 4096L) * 4096;
      boolean inPlace = q.op == CollectiveOp.ALL_REDUCE || q.op == CollectiveOp.BROADCAST;
      for (int rank = 0; rank < p; rank++) {
        inputs.add(gives(rank) ? Optional.of(shard(rank, in, inCount(rank))) : Optional.empty());
        outputs.add(
            gets(rank)
                ? Optional.of(shard(rank, inPlace ? in : out, outCount(rank)))
                : Optional.empty());
      }
      long elements = exchange ? (long) p * (q.elements / p) * p : q.elements;
      this.call =
          new CollectiveCall(
              q.op,
              q.reduce,
              q.dtype,
              q.op.hasRoot() ? q.root : -1,
              q.op == CollectiveOp.BARRIER ? 0 : elements,
              parts,
              splits,
              List.of(),
              inputs,
              outputs);
    }

    private Shard shard(int rank, long at, long count) {
      return new Shard(
          "x",
          machine.addresses().hbm(group.lead(rank), at),
          Shape.of(Math.toIntExact(count)),
          q.dtype);
    }

    boolean gives(int rank) {
      return switch (q.op) {
        case BROADCAST, SCATTER -> rank == q.root;
        case BARRIER, POINT_TO_POINT -> false;
        case ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, REDUCE, GATHER, ALL_TO_ALL -> true;
      };
    }

    boolean gets(int rank) {
      return switch (q.op) {
        case REDUCE, GATHER -> rank == q.root;
        case BARRIER, POINT_TO_POINT -> false;
        case ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, SCATTER, ALL_TO_ALL -> true;
      };
    }

    long inCount(int rank) {
      return switch (q.op) {
        case ALL_GATHER, GATHER -> parts.get(rank).count();
        case ALL_TO_ALL -> splits.sent(rank);
        case ALL_REDUCE, REDUCE_SCATTER, BROADCAST, REDUCE, SCATTER, POINT_TO_POINT, BARRIER ->
            q.elements;
      };
    }

    long outCount(int rank) {
      return switch (q.op) {
        case REDUCE_SCATTER, SCATTER -> parts.get(rank).count();
        case ALL_TO_ALL -> splits.received(rank);
        case ALL_REDUCE, ALL_GATHER, BROADCAST, REDUCE, GATHER, POINT_TO_POINT, BARRIER ->
            q.elements;
      };
    }

    /** Element of the whole vector that a rank's input begins with. */
    long inStart(int rank) {
      return q.op == CollectiveOp.ALL_GATHER || q.op == CollectiveOp.GATHER
          ? parts.get(rank).start()
          : 0;
    }

    long outStart(int rank) {
      return q.op == CollectiveOp.REDUCE_SCATTER || q.op == CollectiveOp.SCATTER
          ? parts.get(rank).start()
          : 0;
    }

    void write(Simulator simulator) {
      for (int rank = 0; rank < group.size(); rank++) {
        if (gets(rank)) {
          Shard out = call.output(rank);
          simulator.write(out.address(), guarded(out), 0, bytes(out) + GUARD_BYTES);
        }
        if (gives(rank)) {
          Shard in = call.input(rank);
          byte[] data = new byte[bytes(in)];
          for (int i = 0; i < in.shape().elements(); i++) {
            put(data, i, sample(rank, inStart(rank) + i));
          }
          simulator.write(in.address(), data, 0, data.length);
        }
      }
    }

    private byte[] guarded(Shard shard) {
      byte[] data = new byte[bytes(shard) + GUARD_BYTES];
      Arrays.fill(data, GUARD);
      return data;
    }

    int bytes(Shard shard) {
      return Math.toIntExact(shard.shape().elements() * q.dtype.sizeBytes());
    }

    private void put(byte[] data, int i, double value) {
      q.dtype.putDouble(data, i * q.dtype.sizeBytes(), value);
    }

    /** What a rank holds at a place of the whole vector, before rounding to the type. */
    double sample(int rank, long i) {
      int hash = (int) ((rank * 2654435761L + i * 40503L + (i >> 7) * 97L) >>> 3) & 0x7fff_ffff;
      boolean integer = q.dtype.isInteger();
      if (q.op.reduces() && q.reduce == ReduceKind.PRODUCT) {
        int sign = hash % 2 == 0 ? 1 : -1;
        int factor = q.dtype.sizeBytes() > 1 && hash % 3 == 0 ? 2 : 1; // else it would overflow
        return integer ? sign * factor : 1 + (hash % 101 - 50) / 400.0;
      }
      if (integer) {
        return hash % (q.dtype.sizeBytes() == 1 ? 13 : 2001)
            - (q.dtype.sizeBytes() == 1 ? 6 : 1000);
      }
      return (hash % 2001 - 1000) / 1000.0;
    }

    /** The sample as it is stored. */
    double held(int rank, long i) {
      if (held[rank].length == 0) {
        double[] all = new double[Math.toIntExact(q.elements)];
        for (int at = 0; at < all.length; at++) {
          all[at] = q.dtype.round(sample(rank, at));
        }
        held[rank] = all;
      }
      return held[rank][(int) i];
    }
  }

  // ---- checks ----

  private final class Check {
    private final Question q;
    private final Data data;
    private final Simulator simulator;
    private final Launch launch;
    private final CollectiveCall call;
    private final double factor; // of the rounding of as many results as there are ranks
    private final List<String> problems = new ArrayList<>();
    private double maxError;

    Check(Question q, Data data, Simulator simulator, Launch launch, CollectiveCall call) {
      this.q = q;
      this.data = data;
      this.simulator = simulator;
      this.launch = launch;
      this.call = call;
      double u = q.dtype.isInteger() ? 0 : q.dtype.unitRoundoff();
      this.factor = (Math.pow(1 + u, group.size() + 1.0) - 1) * (1 + 1e-9);
    }

    void values() {
      byte[] first = {};
      boolean alike =
          q.op == CollectiveOp.ALL_REDUCE
              || q.op == CollectiveOp.ALL_GATHER
              || q.op == CollectiveOp.BROADCAST;
      for (int rank = 0; rank < group.size(); rank++) {
        if (!data.gets(rank)) {
          continue;
        }
        Shard out = call.output(rank);
        byte[] got = new byte[data.bytes(out) + GUARD_BYTES];
        simulator.read(out.address(), got, 0, got.length);
        byte[] result = Arrays.copyOf(got, data.bytes(out));
        boolean same = alike && rank > 0 && Arrays.equals(first, result);
        if (!same) {
          compare(rank, got);
        }
        for (int i = data.bytes(out); i < got.length; i++) {
          if (got[i] != GUARD) {
            problem("rank %d: wrote byte %d beyond its result", rank, i - data.bytes(out));
            break;
          }
        }
        if (!alike || rank == 0) {
          first = result;
        } else if (!same) {
          problem("ranks 0 and %d hold different bits", rank);
        }
      }
    }

    /** Nobody leaves before the late one came. */
    void barrier(int late, double[] times) {
      double came = times[group.size()];
      for (int rank = 0; rank < group.size(); rank++) {
        if (came > 0 && times[rank] <= came) {
          problem(
              "rank %d left the barrier at %.3f ns, before rank %d came at %.3f ns",
              rank, times[rank], late, came);
        }
      }
    }

    private void problem(String format, Object... arguments) {
      if (problems.size() < 5) {
        problems.add(String.format(Locale.ROOT, format, arguments));
      }
    }

    private void compare(int rank, byte[] got) {
      long n = data.outCount(rank);
      int size = q.dtype.sizeBytes();
      for (int i = 0; i < n; i++) {
        double value = q.dtype.getDouble(got, i * size);
        Expected expected = expected(rank, i);
        double error = Math.abs(value - expected.value);
        maxError = Math.max(maxError, error);
        if (!(error <= expected.allowed)) {
          problem(
              "rank %d: element %d is %s; expected %s within %.3g",
              rank, data.outStart(rank) + i, value, expected.value, expected.allowed);
          return;
        }
      }
    }

    private record Expected(double value, double allowed) {}

    private Expected expected(int rank, int i) {
      long at = data.outStart(rank) + i;
      return switch (q.op) {
        case ALL_REDUCE, REDUCE, REDUCE_SCATTER -> reduced(at);
        case ALL_GATHER, GATHER -> new Expected(data.held(owner(at), at), 0);
        case BROADCAST, SCATTER -> new Expected(data.held(q.root, at), 0);
        case ALL_TO_ALL -> {
          long block = q.elements / group.size();
          int from = (int) (i / block);
          yield new Expected(data.held(from, rank * block + i % block), 0);
        }
        case BARRIER, POINT_TO_POINT -> new Expected(0, 0);
      };
    }

    private int owner(long at) {
      for (int rank = 0; rank < group.size(); rank++) {
        if (at >= data.parts.get(rank).start() && at < data.parts.get(rank).end()) {
          return rank;
        }
      }
      throw new IllegalStateException("bug: element " + at + " has no owner");
    }

    /** Every partial result is rounded, in whatever order: (1 + u)^p - 1 of what they amount to. */
    private Expected reduced(long at) {
      int p = group.size();
      double sum = 0;
      double absolute = 0;
      double product = 1;
      double least = Double.POSITIVE_INFINITY;
      double most = Double.NEGATIVE_INFINITY;
      for (int rank = 0; rank < p; rank++) {
        double x = data.held(rank, at);
        sum += x;
        absolute += Math.abs(x);
        product *= x;
        least = Math.min(least, x);
        most = Math.max(most, x);
      }
      double tiny = q.dtype.isInteger() ? 0 : p * q.dtype.minPositive() + absolute * 0x1p-50;
      return switch (q.reduce) {
        case SUM -> new Expected(sum, absolute * factor + tiny);
        case AVG ->
            q.dtype.isInteger()
                ? new Expected(sum < 0 ? Math.ceil(sum / p) : Math.floor(sum / p), 0)
                : new Expected(sum / p, absolute / p * factor + tiny);
        case PRODUCT ->
            new Expected(
                product,
                q.dtype.isInteger() ? 0 : Math.abs(product) * factor * (1 + 0x1p-40) + 2 * tiny);
        case MIN -> new Expected(least, 0);
        case MAX -> new Expected(most, 0);
      };
    }

    Result result(int peakSlots) {
      long sent = simulator.opLog().bytes(OpKind.SEND);
      boolean timed = simulator.mode() != Mode.VALUES;
      OptionalLong promised = schedule.wireBytes(call);
      if (promised.isPresent() && timed && promised.getAsLong() != sent) {
        problem("sent %d bytes; its exact count is %d", sent, promised.getAsLong());
      }
      long ps = timed ? launch.criticalPs() : 0;
      Bounds.Bound bound = bound(q);
      if (timed && ps < bound.ps()) {
        problem("took %d ps, below the lower bound of %d ps (%s)", ps, bound.ps(), bound.kind());
      }
      return new Result(
          schedule.chosen(call).map(c -> name + ":" + c).orElse(name),
          ps,
          bound,
          sent,
          promised,
          schedule.predictPs(call),
          peakSlots,
          maxError,
          simulator.eventCount(),
          problems);
    }
  }
}
