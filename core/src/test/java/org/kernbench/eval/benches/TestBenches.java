package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectivePlan;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.placement.RankLevel;

/** Benches that go wrong, each in one way. */
public final class TestBenches {
  private TestBenches() {}

  /** All of them. */
  public static BenchRegistry registry() {
    return BenchRegistry.of(
        List.of(
            bench("no-work", c -> Outcome.on(c.machine("tiny", List.of()))),
            bench("wrong-values", TestBenches::wrongValues),
            bench("bound-violated", TestBenches::boundViolated),
            bench("ranks-differ", TestBenches::ranksDiffer),
            bench("too-few-slots", TestBenches::tooFewSlots),
            bench("both-receive", c -> kernels(c, TestBenches::bothReceive)),
            bench("message-missing", c -> kernels(c, TestBenches::messageMissing)),
            bench("message-sizes-differ", c -> kernels(c, TestBenches::messageSizesDiffer)),
            bench("tcm-too-small", TestBenches::tcmTooSmall),
            bench("tcm-full", TestBenches::tcmFull),
            bench("hbm-full", TestBenches::hbmFull),
            bench("looks-at-data", c -> kernels(c, TestBenches::looks)),
            bench(
                "no-queue",
                c -> kernels(c, tl -> tl.send("north", tl.zeros(Shape.of(4), DType.F16)))),
            bench("released-twice", c -> kernels(c, TestBenches::releasedTwice)),
            bench("shapes-differ", c -> kernels(c, TestBenches::shapesDiffer)),
            bench("race", TestBenches::race),
            bench("message-left", c -> kernels(c, TestBenches::messageLeft)),
            bench("never-written", c -> tensor(c, (tl, x) -> tl.store(x, tl.load(x).add(1)))),
            bench("out-of-range", c -> tensor(c, (tl, x) -> tl.load(tl.shard(x).range(60, 8)))),
            bench("own-recording", c -> chain(c, rank -> false)),
            bench("no-process-group", c -> ranks(c, w -> w.distributed().barrier())),
            bench(
                "ranks-disagree", c -> ranksInGroup(c, w -> allReduce(w, 8 + w.rank(), DType.F16))),
            bench(
                "ranks-disagree-on-dtype",
                c -> ranksInGroup(c, w -> allReduce(w, 8, w.rank() == 1 ? DType.F32 : DType.F16))),
            bench("rank-missing", c -> ranksInGroup(c, TestBenches::rankMissing)),
            bench("out-of-memory", c -> ranks(c, TestBenches::outOfMemory)),
            bench(
                "bug",
                c -> {
                  throw new IllegalStateException("the bench has a bug");
                })));
  }

  private static Bench bench(String name, Function<BenchContext, Outcome> body) {
    return new Bench() {
      @Override
      public String name() {
        return name;
      }

      @Override
      public String description() {
        return "goes wrong";
      }

      @Override
      public List<Param<?>> params() {
        return List.of();
      }

      @Override
      public Outcome run(BenchContext context) {
        return body.apply(context);
      }
    };
  }

  // ---- results that must be refused ----

  private static Outcome wrongValues(BenchContext c) {
    return chain(c, rank -> rank == 2);
  }

  private static Outcome boundViolated(BenchContext c) {
    return chain(c, rank -> false).time(1_999, 2_000, "latency");
  }

  private static Outcome ranksDiffer(BenchContext c) {
    return chain(c, rank -> false)
        .problem("ranks 0 and 3 hold different results; expected the same bits on all");
  }

  private static Outcome chain(BenchContext c, Function<Integer, Boolean> forgets) {
    Machine machine = c.machine("tiny", List.of());
    return new AllReduceRun(
            machine, 8, DType.F16, Pattern.RANK, c.mode(), SimulatorOptions.DEFAULT.withLines())
        .run(new Chain(machine.ipcq(), forgets));
  }

  /** Four cubes in a line: sums to the last, and back; some ranks forget to add their own. */
  record Chain(IpcqSpec queues, Function<Integer, Boolean> forgets) implements CollectiveBackend {
    @Override
    public String name() {
      return "chain";
    }

    @Override
    public RankLevel rankLevel() {
      return RankLevel.CUBE;
    }

    @Override
    public int worldSize() {
      return 4;
    }

    @Override
    public Communicator connect(List<Pe> leads) {
      List<QueuePlan.Connection> connections = new ArrayList<>();
      for (int r = 1; r < leads.size(); r++) {
        connections.add(new QueuePlan.Connection(leads.get(r - 1), "up", leads.get(r), "down"));
      }
      QueuePlan plan = new QueuePlan(queues, connections);
      return new Communicator() {
        @Override
        public String algorithm() {
          return "chain";
        }

        @Override
        public Optional<QueuePlan> firstQueues() {
          return Optional.of(plan);
        }

        @Override
        public CollectivePlan plan(CollectiveCall call) {
          return new CollectivePlan(
              "chain", plan, tl -> run(tl, leads.indexOf(tl.pe()), leads.size() - 1, call));
        }
      };
    }

    private void run(Tl tl, int rank, int last, CollectiveCall call) {
      Shape shape = Shape.of(Math.toIntExact(call.elements()));
      Value sum = tl.load(call.input(rank).all());
      if (rank > 0) {
        Value below = tl.recv("down", shape, call.dtype());
        sum = forgets.apply(rank) ? below : sum.add(below);
      }
      if (rank < last) {
        tl.send("up", sum);
        sum = tl.recv("up", shape, call.dtype());
      }
      if (rank > 0) {
        tl.send("down", sum);
      }
      tl.store(call.input(rank).all(), sum);
    }
  }

  // ---- kernels that cannot run ----

  private static Outcome kernels(BenchContext c, Kernel kernel) {
    return kernels(c, List.of(), kernel);
  }

  /** A kernel on the two PEs of a cube, "out" of the first facing "in" of the second. */
  private static Outcome kernels(BenchContext c, List<String> overrides, Kernel kernel) {
    Machine machine = c.machine("tiny", overrides);
    Pe a = new Pe(0, 0, 0);
    Pe b = new Pe(0, 0, 1);
    SimulatorOptions recording = c.recording(1 << 16);
    try (Torch torch =
        Torch.open(machine, new TorchOptions(c.mode(), recording, Optional.empty()))) {
      torch
          .simulator()
          .install(
              new QueuePlan(machine.ipcq(), List.of(new QueuePlan.Connection(a, "out", b, "in"))));
      torch.await(torch.launch("kernel", kernel, List.of(a, b)));
      return Outcome.on(machine).simulated(torch.simulator().eventCount(), "");
    }
  }

  private static Outcome tooFewSlots(BenchContext c) {
    return kernels(
        c,
        List.of("ipcq.slots=2", "ipcq.slot_size=1 KiB"),
        tl -> {
          String peer = tl.programId(0) == 0 ? "out" : "in";
          Value x = tl.zeros(Shape.of(512), DType.F16);
          for (int i = 0; i < 4; i++) {
            tl.send(peer, x);
          }
          tl.awaitAll();
          for (int i = 0; i < 4; i++) {
            tl.recv(peer, x.shape(), x.dtype());
          }
        });
  }

  private static void bothReceive(Tl tl) {
    String peer = tl.programId(0) == 0 ? "out" : "in";
    Value x = tl.recv(peer, Shape.of(8), DType.F16);
    tl.send(peer, x);
  }

  private static void messageMissing(Tl tl) {
    if (tl.programId(0) == 1) {
      tl.recv("in", Shape.of(8), DType.F16);
    }
  }

  private static void messageSizesDiffer(Tl tl) {
    if (tl.programId(0) == 0) {
      tl.send("out", tl.zeros(Shape.of(8), DType.F16));
    } else {
      tl.recv("in", Shape.of(8), DType.F32);
    }
  }

  // ---- kernels that end, although they are wrong ----

  /** A kernel on the two PEs of a cube, each with 64 elements that nobody has written. */
  private static Outcome tensor(BenchContext c, BiConsumer<Tl, Tensor> kernel) {
    Machine machine = c.machine("tiny", List.of());
    try (Torch torch =
        Torch.open(machine, new TorchOptions(c.mode(), c.recording(), Optional.empty()))) {
      DpPolicy rows = DpPolicy.rowWise().withCubes(1);
      Tensor x = torch.empty(Shape.of(2, 64), DType.F16, rows, "x");
      torch.await(torch.launch("kernel", tl -> kernel.accept(tl, x), x));
      return Outcome.on(machine).simulated(torch.simulator().eventCount(), "");
    }
  }

  private static Outcome race(BenchContext c) {
    return tensor(
        c,
        (tl, x) -> {
          Value mine = tl.full(Shape.of(64), tl.programId(0), DType.F16);
          tl.store(tl.shard(x, new Pe(0, 0, 0)).all(), mine);
        });
  }

  private static void messageLeft(Tl tl) {
    Value x = tl.zeros(Shape.of(8), DType.F16);
    if (tl.programId(0) == 0) {
      tl.send("out", x);
      tl.send("out", x);
    } else {
      tl.recv("in", x.shape(), x.dtype());
    }
  }

  private static void looks(Tl tl) {
    Value x = tl.full(Shape.of(1), 3, DType.F32);
    if (tl.item(x) > 2) {
      tl.zeros(Shape.of(4), DType.F32);
    }
  }

  private static void releasedTwice(Tl tl) {
    Value x = tl.zeros(Shape.of(4), DType.F16);
    tl.release(x);
    tl.release(x);
  }

  private static void shapesDiffer(Tl tl) {
    tl.zeros(Shape.of(4), DType.F16).add(tl.zeros(Shape.of(8), DType.F16));
  }

  private static Outcome tcmTooSmall(BenchContext c) {
    return kernels(c, tl -> tl.zeros(Shape.of(1 << 20), DType.F32));
  }

  private static Outcome tcmFull(BenchContext c) {
    return kernels(
        c,
        tl -> {
          List<Value> kept = new ArrayList<>();
          for (int i = 0; i < 4; i++) {
            kept.add(tl.zeros(Shape.of(1 << 18), DType.F16));
          }
          Value sum = kept.getFirst();
          for (Value x : kept) {
            sum = sum.add(x);
          }
        });
  }

  private static Outcome hbmFull(BenchContext c) {
    Machine machine = c.machine("tiny", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(c.mode()))) {
      torch.empty(Shape.of(3 << 26), DType.F32, "weights");
      torch.empty(Shape.of(1 << 26), DType.F32, "activations");
      torch.empty(Shape.of(1 << 20), DType.F32, "gradients");
      return Outcome.on(machine);
    }
  }

  // ---- ranks that disagree ----

  private static Outcome ranks(BenchContext c, Consumer<Worker> body) {
    return ranks(c, false, body);
  }

  private static Outcome ranksInGroup(BenchContext c, Consumer<Worker> body) {
    return ranks(c, true, body);
  }

  private static Outcome ranks(BenchContext c, boolean group, Consumer<Worker> body) {
    Machine machine = c.machine("tiny", List.of());
    Chain chain = new Chain(machine.ipcq(), rank -> false);
    TorchOptions options = TorchOptions.DEFAULT.withMode(c.mode()).withCollectives(chain);
    try (Torch torch = Torch.open(machine, options)) {
      if (group) {
        torch.distributed().initProcessGroup("chain");
      }
      torch.multiprocessing().spawn(body, 4);
      return Outcome.on(machine);
    }
  }

  private static void allReduce(Worker w, int elements, DType dtype) {
    try (Tensor x = w.torch().full(Shape.of(elements), dtype, 1, "x")) {
      w.distributed().allReduce(x);
    }
  }

  private static void outOfMemory(Worker w) {
    throw new OutOfMemoryError("rank " + w.rank());
  }

  private static void rankMissing(Worker w) {
    if (w.rank() != 3) {
      allReduce(w, 8, DType.F16);
    }
  }
}
