package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.MemoryAddress;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * How long each call of a training step takes on an idle machine, simulated the first time that
 * anyone asks. Threads may ask at once.
 */
final class CallTimes {
  private static final SimulatorOptions NO_LOG = SimulatorOptions.DEFAULT.withOpLogLimit(0);
  private static final DType DTYPE = DType.F16;
  private static final long FIRST_BYTE = 4096;

  /** Turns of a stream that overlap share TCM. */
  private static final int TURNS = 6;

  private static final int MOST_ELEMENTS = 1 << 28;

  private final Machine machine;
  private final CclConfig ccl;
  private final String algorithm;
  private final Map<StepCall, FutureTask<Time>> known = new ConcurrentHashMap<>();

  /**
   * @param algorithm of all-reduces
   */
  CallTimes(Machine machine, CclConfig ccl, String algorithm) {
    this.machine = machine;
    this.ccl = ccl;
    this.algorithm = algorithm;
  }

  /**
   * Of one call.
   *
   * @param ps its kernel's time, picoseconds
   * @param events that its simulation took
   */
  record Time(long ps, long events) {}

  /** The time of a call. */
  Time of(StepCall call) {
    FutureTask<Time> mine = new FutureTask<>(() -> simulated(call));
    FutureTask<Time> first = known.putIfAbsent(call, mine);
    FutureTask<Time> task = first == null ? mine : first;
    task.run(); // does nothing if it has run, or runs
    try {
      return task.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CancellationException("interrupted while " + call + " was simulated");
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException cause
          ? cause
          : new IllegalStateException(e.getCause());
    }
  }

  private Time simulated(StepCall call) {
    return switch (call) {
      case StepCall.Product p -> product(p);
      case StepCall.Stream s -> stream(s);
      case StepCall.AllReduce a -> allReduce(a);
      case StepCall.Transfer t -> transfer(t);
    };
  }

  // ---- kernels of one GPU ----

  /** Places in the memory of the first PE, one behind the other. */
  private final class Room {
    private long next = FIRST_BYTE;

    Shard matrix(int rows, int columns) {
      return shard((long) rows * columns, Shape.of(rows, columns));
    }

    Shard vector(int elements) {
      return shard(elements, Shape.of(elements));
    }

    private Shard shard(long elements, Shape shape) {
      if (elements > Integer.MAX_VALUE) {
        throw new UsageException(
            String.format(
                Locale.ROOT,
                "a matrix of %s, %,d elements, at one device; expected at most %,d: a larger tp",
                shape,
                elements,
                Integer.MAX_VALUE));
      }
      MemoryAddress at = machine.addresses().hbm(pe(0), next);
      next += Math.ceilDiv(elements * DTYPE.sizeBytes(), FIRST_BYTE) * FIRST_BYTE;
      return new Shard("x", at, shape, DTYPE);
    }
  }

  private static Pe pe(int sip) {
    return new Pe(sip, 0, 0);
  }

  private interface Body {
    void run(Tl tl);
  }

  private Time launched(Body body) {
    try (Simulator simulator = Simulator.open(machine, Mode.TIME, NO_LOG)) {
      LaunchGrid grid = new LaunchGrid(0, machine.sips());
      Launch launch =
          simulator.launch(
              LaunchRequest.of("call", List.of(pe(0))), port -> () -> body.run(new Tl(port, grid)));
      simulator.drive(launch);
      return new Time(launch.criticalPs(), simulator.eventCount());
    }
  }

  private Time product(StepCall.Product p) {
    Room room = new Room();
    List<Shard[]> operands = new ArrayList<>();
    for (int i = 0; i < p.batch(); i++) {
      operands.add(
          new Shard[] {
            room.matrix(p.m(), p.k()), room.matrix(p.k(), p.n()), room.matrix(p.m(), p.n())
          });
    }
    return launched(tl -> {
      for (Shard[] each : operands) {
        tl.composite(
            CompositeGemm.of(each[0].whole(), each[1].whole())
                .into(each[2].whole())
                .ofBatch(p.batch()));
      }
    });
  }

  /**
   * In turns of as much as fits TCM, reads and writes in the proportion of the whole. What is
   * longer than {@link #MOST_ELEMENTS} takes as often the time of an equal part of it.
   */
  private Time stream(StepCall.Stream s) {
    int size = DTYPE.sizeBytes();
    long most = Math.max(s.read(), s.written()) / size;
    long parts = Math.max(1, Math.ceilDiv(most, (long) MOST_ELEMENTS));
    if (parts > 1) {
      Time part = of(new StepCall.Stream(s.kind(), s.read() / parts, s.written() / parts));
      return new Time(parts * part.ps, part.events);
    }
    long room = Math.max(1, machine.pe().tcm().sizeBytes() / TURNS / size);
    int turns = (int) Math.max(1, Math.ceilDiv(most, room));
    int read = (int) (s.read() / size);
    int written = (int) (s.written() / size);
    Room places = new Room();
    Shard in = places.vector(Math.max(1, read));
    Shard out = places.vector(Math.max(1, written));
    return launched(tl -> {
      for (int turn = 0; turn < turns; turn++) {
        int from = part(read, turn, turns);
        int to = part(written, turn, turns);
        int loads = part(read, turn + 1, turns) - from;
        int stores = part(written, turn + 1, turns) - to;
        try (var scope = tl.scope()) {
          turn(tl, in, from, loads, out, to, stores);
        }
      }
    });
  }

  private static void turn(Tl tl, Shard in, int from, int loads, Shard out, int to, int stores) {
    int both = Math.min(loads, stores);
    if (both > 0) {
      tl.store(out.range(to, both), tl.load(in.range(from, both)).add(1));
    }
    if (loads > both) {
      tl.load(in.range(from + both, loads - both)).add(1);
    }
    if (stores > both) {
      tl.store(out.range(to + both, stores - both), tl.zeros(Shape.of(stores - both), DTYPE));
    }
  }

  private static int part(int all, int turn, int turns) {
    return (int) ((long) all * turn / turns);
  }

  // ---- messages ----

  private Time allReduce(StepCall.AllReduce a) {
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < a.ranks(); i++) {
      leads.add(pe(i * a.stride()));
    }
    long elements = Math.max(1, a.bytes() / DTYPE.sizeBytes());
    if (elements > Integer.MAX_VALUE - 8) {
      throw new UsageException(
          "gpt-step: an all-reduce of %s B; expected less than 4 GiB, use more pp or tp"
              .formatted(a.bytes()));
    }
    return trial(leads, elements);
  }

  private Time trial(List<Pe> leads, long elements) {
    try {
      return timed(algorithm, leads, CollectiveOp.ALL_REDUCE, elements);
    } catch (CollectiveException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  /** A broadcast to one other rank is a message of the same library. */
  private Time transfer(StepCall.Transfer t) {
    long elements = Math.max(1, t.bytes() / DTYPE.sizeBytes());
    return timed("line", List.of(pe(0), pe(t.stride())), CollectiveOp.BROADCAST, elements);
  }

  private Time timed(String name, List<Pe> leads, CollectiveOp op, long elements) {
    CollectiveTrial trial =
        CollectiveTrial.of(
            machine, CollectiveLibrary.algorithm(ccl, name), ccl.of(name), RankLevel.SIP, leads);
    CollectiveTrial.Result result =
        trial.run(
            new CollectiveTrial.Question(
                op, ReduceKind.SUM, DTYPE, op.hasRoot() ? 0 : -1, elements),
            Mode.TIME);
    return new Time(result.ps(), result.events());
  }
}
