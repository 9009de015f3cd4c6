package org.kernbench.ccl.conformance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectivePlan;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Calls in which nothing may be sent, through the host's API: of vectors without elements, and in a
 * group of one rank. No message moves; a rank alone gets what it gave, bit for bit, and where that
 * is in place already, or nothing, no command is issued.
 */
final class IdleCalls {
  private final CollectiveAlgorithm algorithm;
  private final AlgorithmConfig config;
  private final BiConsumer<String, String> failure;
  private int cases;

  /**
   * @param failure told where and why, for each call that fails
   */
  IdleCalls(
      CollectiveAlgorithm algorithm, AlgorithmConfig config, BiConsumer<String, String> failure) {
    this.algorithm = algorithm;
    this.config = config;
    this.failure = failure;
  }

  /** Calls that were made. */
  int cases() {
    return cases;
  }

  /** Every operation with vectors without elements, among the ranks of a place. */
  void ofNothing(ConformancePlace place, List<DType> types) {
    List<Integer> devices = place.leads().stream().map(pe -> device(place, pe)).sorted().toList();
    int world = devices.getLast() + 1;
    OpLog log =
        run(
            place,
            world,
            worker -> {
              ProcessGroup group = worker.distributed().newGroup(devices);
              if (group.isMember()) {
                for (CollectiveOp op : operations()) {
                  for (DType type : types) {
                    call(place, worker.torch(), group, new Call(op, type, ReduceKind.MAX, 0));
                  }
                }
              }
            });
    if (log.completed() > 0) {
      failure.accept(place.name() + ", no elements", log.completed() + " commands; expected none");
    }
  }

  /** Every operation, type and reduction with one rank, for vectors of some lengths. */
  void alone(List<DType> types, int... lengths) {
    ConformancePlace place = ConformancePlace.alone();
    OpLog log =
        run(
            place,
            1,
            worker -> {
              for (Call call : callsAlone(types, lengths)) {
                call(place, worker.torch(), worker.distributed().world(), call);
              }
            });
    for (OpKind kind : OpKind.values()) {
      if (kind != OpKind.LOAD && kind != OpKind.STORE && log.completed(kind) > 0) {
        failure.accept(place.name(), "a " + kind + " command; expected copies only");
      }
    }
  }

  private List<Call> callsAlone(List<DType> types, int... lengths) {
    List<Call> calls = new ArrayList<>();
    for (CollectiveOp op : operations()) {
      for (ReduceKind kind : ReduceKind.values()) {
        if (op.reduces() || kind == ReduceKind.SUM) {
          for (DType type : types) {
            if (kind == ReduceKind.AVG && type.isInteger()) {
              continue; // the host refuses it
            }
            for (int length : lengths) {
              calls.add(new Call(op, type, kind, length));
            }
          }
        }
      }
    }
    return calls;
  }

  private Iterable<CollectiveOp> operations() {
    return new TreeSet<>(algorithm.operations());
  }

  private record Call(CollectiveOp op, DType type, ReduceKind reduce, int elements) {}

  // ---- one call ----

  private void call(ConformancePlace place, Torch torch, ProcessGroup group, Call c) {
    if (group.rank() == 0) {
      cases++;
    }
    Shape shape = Shape.of(c.elements);
    double[] values = new double[c.elements];
    Arrays.setAll(values, i -> 1 + i % 5);
    Tensor in = torch.from(values, shape, c.type, "in");
    byte[] given = in.toBytes();
    boolean inPlace =
        c.op == CollectiveOp.ALL_REDUCE
            || c.op == CollectiveOp.REDUCE
            || c.op == CollectiveOp.BROADCAST;
    Tensor out = inPlace ? in : torch.zeros(shape, c.type, "out");
    boolean isRoot = group.rank() == 0;
    int root = group.globalRank(0);
    switch (c.op) {
      case ALL_REDUCE -> group.allReduce(in, c.reduce);
      case REDUCE -> group.reduce(in, root, c.reduce);
      case BROADCAST -> group.broadcast(in, root);
      case REDUCE_SCATTER -> group.reduceScatter(out, in, c.reduce);
      case ALL_GATHER -> group.allGather(out, in);
      case ALL_TO_ALL -> group.allToAll(out, in);
      case GATHER -> {
        if (isRoot) {
          group.gather(out, in, root);
        } else {
          group.gather(in, root);
        }
      }
      case SCATTER -> {
        if (isRoot) {
          group.scatter(out, in, root);
        } else {
          group.scatter(out, root);
        }
      }
      case BARRIER -> {
        if (group.size() == 1) {
          group.barrier();
        }
      }
      case POINT_TO_POINT -> throw new IllegalArgumentException("bug: a message is no collective");
    }
    if (c.op != CollectiveOp.BARRIER && !Arrays.equals(out.toBytes(), given)) {
      failure.accept(place.name() + ", " + c, "the result differs from what the rank gave");
    }
  }

  // ---- the host program ----

  private static int device(ConformancePlace place, Pe pe) {
    int cube = pe.sip() * place.machine().cubesPerSip() + pe.cube();
    return switch (place.level()) {
      case SIP -> pe.sip();
      case CUBE -> cube;
      case PE -> place.machine().peIndex(pe);
    };
  }

  private OpLog run(ConformancePlace place, int world, Consumer<Worker> body) {
    CollectiveBackend backend = new Only(place, world);
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.FULL).withCollectives(backend);
    try (Torch torch = Torch.open(place.machine(), options)) {
      torch.distributed().initProcessGroup();
      torch.multiprocessing().spawn(body, world);
      return torch.simulator().opLog();
    }
  }

  /** The algorithm alone, for all that it can do. */
  private final class Only implements CollectiveBackend {
    private final ConformancePlace place;
    private final int world;

    Only(ConformancePlace place, int world) {
      this.place = place;
      this.world = world;
    }

    @Override
    public String name() {
      return "ahbm";
    }

    @Override
    public RankLevel rankLevel() {
      return place.level();
    }

    @Override
    public int worldSize() {
      return world;
    }

    @Override
    public Communicator connect(List<Pe> leadPes) {
      Group group = new Group(place.machine(), place.level(), leadPes);
      return new Communicator() {
        @Override
        public CollectivePlan plan(CollectiveCall call) {
          IpcqSpec queues = config.queues(place.machine().ipcq());
          Schedule schedule = algorithm.plan(group, queues, config);
          Schedule.RankProgram program = schedule.program(call);
          Reduction reduction = new Reduction(call.reduce(), group.size());
          return new CollectivePlan(
              config.name(),
              new QueuePlan(queues, schedule.connections(call)),
              tl -> {
                int rank = group.rankOf(tl.pe());
                program.run(tl, rank, Payload.of(call, rank), reduction);
              });
        }

        @Override
        public String algorithm() {
          return config.name();
        }
      };
    }
  }
}
