package org.kernbench.eval.program;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.Epilogue;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.DpPolicy;

/** Programs in Java that {@code python/tests/programs.py} has in Python, under the same names. */
public final class SamePrograms {
  private static final int RANKS = 8;
  private static final int BLOCK = 32;
  private static final int HEAD = 64;

  private SamePrograms() {}

  /** By name, the op-log hash and the time in picoseconds. */
  public static Map<String, String> run() {
    Map<String, String> all = new LinkedHashMap<>();
    all.put("vector_add", on("tiny", SamePrograms::vectorAdd));
    all.put("softmax", on("tiny", SamePrograms::softmax));
    all.put("gemm", on("tiny", SamePrograms::gemm));
    all.put("composite_gemm", on("tiny", SamePrograms::compositeGemm));
    all.put("flash_attention", on("tiny", SamePrograms::flashAttention));
    all.put("branch_on_data", on("tiny", SamePrograms::branchOnData));
    all.put("by_program_id", on("tiny", SamePrograms::byProgramId));
    all.put("put_and_signal", on("sip-2026", SamePrograms::putAndSignal));
    all.put("ring_all_reduce", on("sip-2026", SamePrograms::ringAllReduce));
    all.put("ring_attention", on("sip-2026", SamePrograms::ringAttention));
    all.put("all_reduce", collectively(SamePrograms::allReduce));
    all.put("training_step", collectively(SamePrograms::trainingStep));
    return all;
  }

  private static String on(String preset, Consumer<Torch> program) {
    try (Torch torch = Torch.open(Machines.load(preset, List.of()), TorchOptions.DEFAULT)) {
      return log(torch, program);
    }
  }

  private static String collectively(Consumer<Torch> program) {
    Machine machine = Machines.load("sip-2026", List.of());
    CclConfig ccl = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=ring"));
    TorchOptions options =
        TorchOptions.DEFAULT.withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup("ahbm");
      return log(torch, program);
    }
  }

  private static String log(Torch torch, Consumer<Torch> program) {
    program.accept(torch);
    torch.synchronize();
    return torch.simulator().opLog().hash() + " " + torch.simulator().nowPs();
  }

  private static double[] ramp(int n, int period, double scale) {
    double[] values = new double[n];
    for (int i = 0; i < n; i++) {
      values[i] = (i % period - period / 2) * scale;
    }
    return values;
  }

  private static void vectorAdd(Torch torch) {
    Shape shape = Shape.of(4096, 64);
    Tensor x = torch.from(ramp(4096 * 64, 17, 0.5), shape, DType.F16, DpPolicy.rowWise(), "x");
    Tensor y = torch.from(ramp(4096 * 64, 23, 0.25), shape, DType.F16, DpPolicy.rowWise(), "y");
    Tensor z = torch.empty(shape, DType.F16, DpPolicy.rowWise(), "z");
    torch.launch("add", tl -> tl.store(z, tl.load(x).add(tl.load(y))), x, y, z);
  }

  private static void softmax(Torch torch) {
    Shape shape = Shape.of(64, 96);
    Tensor x = torch.from(ramp(64 * 96, 29, 0.125), shape, DType.F32, DpPolicy.rowWise(), "x");
    Tensor y = torch.empty(shape, DType.F32, DpPolicy.rowWise(), "y");
    torch.launch(
        "softmax",
        tl -> {
          Value v = tl.load(x);
          Value mask = tl.arange(0, 96).lt(90);
          Value hidden = tl.where(mask, v, Double.NEGATIVE_INFINITY);
          Value e = hidden.sub(hidden.max(1).expandDims(1)).exp();
          tl.store(y, e.div(e.sum(-1).expandDims(1)));
        },
        x,
        y);
  }

  private static void gemm(Torch torch) {
    Tensor a = torch.from(ramp(64 * 256, 13, 0.25), Shape.of(64, 256), DType.F16, "a");
    Tensor b = torch.from(ramp(256 * 64, 11, 0.25), Shape.of(256, 64), DType.F16, "b");
    Tensor c = torch.zeros(Shape.of(64, 64), DType.F16, "c");
    torch.launch(
        "gemm",
        tl -> {
          Shard left = tl.shard(a);
          Shard right = tl.shard(b);
          Value sums = tl.zeros(Shape.of(64, 64), DType.F32);
          Value x = tl.load(left.block(0, 64, 0, 64));
          Value y = tl.load(right.block(0, 64, 0, 64));
          for (int k = 64; k <= 256; k += 64) {
            Value nextX = k < 256 ? tl.load(left.block(0, 64, k, 64)) : x;
            Value nextY = k < 256 ? tl.load(right.block(k, 64, 0, 64)) : y;
            sums = tl.dotInPlace(sums, x, y);
            tl.release(x);
            tl.release(y);
            x = nextX;
            y = nextY;
          }
          tl.store(c, sums.cast(DType.F16));
        },
        a,
        b,
        c);
  }

  private static void compositeGemm(Torch torch) {
    Tensor a = torch.from(ramp(128 * 96, 13, 0.25), Shape.of(128, 96), DType.BF16, "a");
    Tensor b = torch.from(ramp(96 * 80, 11, 0.25), Shape.of(96, 80), DType.BF16, "b");
    Tensor bias = torch.from(ramp(80, 7, 1), Shape.of(80), DType.F32, "bias");
    Tensor c = torch.empty(Shape.of(128, 80), DType.BF16, "c");
    torch.launch(
        "composite",
        tl ->
            tl.await(
                tl.composite(
                    CompositeGemm.of(tl.ref(a), tl.load(b))
                        .into(tl.ref(c))
                        .tile(32, 48, 40)
                        .epilogue(Epilogue.bias(tl.load(bias)))
                        .epilogue(Epilogue.When.OUTPUT_TILE, Epilogue.relu()))),
        a,
        b,
        bias,
        c);
  }

  private static void flashAttention(Torch torch) {
    int queries = 64;
    int keys = 256;
    Tensor q =
        torch.from(ramp(queries * HEAD, 19, 0.0625), Shape.of(queries, HEAD), DType.F16, "q");
    Tensor k = torch.from(ramp(keys * HEAD, 23, 0.0625), Shape.of(keys, HEAD), DType.F16, "k");
    Tensor v = torch.from(ramp(keys * HEAD, 31, 0.0625), Shape.of(keys, HEAD), DType.F16, "v");
    Tensor y = torch.empty(Shape.of(queries, HEAD), DType.F16, "y");
    torch.launch(
        "flash attention",
        tl -> {
          Value query = tl.load(q);
          Value largest = tl.full(Shape.of(queries, 1), Double.NEGATIVE_INFINITY, DType.F32);
          Value sum = tl.zeros(Shape.of(queries, 1), DType.F32);
          Value weighted = tl.zeros(Shape.of(queries, HEAD), DType.F32);
          for (int at = 0; at < keys; at += 64) {
            try (Scope turn = tl.scope()) {
              Value kb = tl.load(tl.shard(k).block(at, 64, 0, HEAD));
              Value vb = tl.load(tl.shard(v).block(at, 64, 0, HEAD));
              Value scores = tl.dot(query, kb.trans(), DType.F32).mul(0.125);
              Value most = turn.keep(largest.maximum(scores.max(1).expandDims(1)));
              Value p = scores.sub(most).exp();
              Value fade = largest.sub(most).exp();
              sum = turn.keep(sum.mul(fade).add(p.sum(1).expandDims(1)));
              weighted = turn.keep(tl.dot(p.cast(DType.F16), vb, weighted.mul(fade)));
              largest = most;
            }
          }
          tl.store(y, weighted.div(sum).cast(DType.F16));
        },
        q,
        k,
        v,
        y);
  }

  private static void branchOnData(Torch torch) {
    Tensor x = torch.from(ramp(64, 5, 1), Shape.of(8, 8), DType.F32, DpPolicy.rowWise(), "x");
    Tensor y = torch.empty(Shape.of(8, 8), DType.F32, DpPolicy.rowWise(), "y");
    torch.launch(
        "branch",
        tl -> {
          Value v = tl.load(x);
          int steps = 0;
          while (steps < 6 && tl.item(v.reshape(8).abs().sum(0)) < 40) {
            v = v.mul(2);
            steps++;
          }
          tl.store(y, v.add(steps));
        },
        x,
        y);
  }

  private static void byProgramId(Torch torch) {
    Tensor x = torch.zeros(Shape.of(8, 32), DType.F32, DpPolicy.rowWise(), "x");
    torch.launch(
        "by id",
        tl -> {
          int id = tl.programId(1) * tl.numPrograms(0) + tl.programId(0);
          Value v = tl.full(Shape.of(1, 32), id, DType.F32);
          for (int i = 0; i < id; i++) {
            v = v.sqrt().add(tl.arange(0, 32).cast(DType.F32));
          }
          tl.store(x, v);
        },
        x);
  }

  private static List<Pe> ring() {
    List<Pe> ring = new ArrayList<>();
    for (int pe = 0; pe < RANKS; pe++) {
      ring.add(new Pe(0, 0, pe));
    }
    return ring;
  }

  private static void connect(Torch torch) {
    List<QueuePlan.Connection> all = new ArrayList<>();
    List<Pe> ring = ring();
    for (int i = 0; i < RANKS; i++) {
      all.add(new QueuePlan.Connection(ring.get(i), "E", ring.get((i + 1) % RANKS), "W"));
    }
    torch.simulator().install(new QueuePlan(torch.machine().ipcq(), all));
  }

  private static DpPolicy rows() {
    return DpPolicy.rowWise().withCubes(1).withPes(RANKS);
  }

  private static void putAndSignal(Torch torch) {
    connect(torch);
    Tensor box = torch.zeros(Shape.of(RANKS, 128), DType.F32, rows(), "box");
    Tensor out = torch.empty(Shape.of(RANKS, 128), DType.F32, rows(), "out");
    torch.launch(
        "put",
        tl -> {
          int me = tl.programId(0);
          Pe right = new Pe(0, 0, (me + 1) % RANKS);
          tl.put(tl.shard(box, right).whole(), tl.full(Shape.of(1, 128), me, DType.F32));
          tl.signal("E");
          tl.waitSignal("W", 1);
          tl.store(out, tl.load(box).mul(2));
        },
        box,
        out);
  }

  private static void ringAllReduce(Torch torch) {
    connect(torch);
    int segment = 256;
    int n = RANKS * segment;
    Tensor x = torch.from(ramp(RANKS * n, 37, 1), Shape.of(RANKS, n), DType.F32, rows(), "x");
    torch.launch(
        "ring",
        tl -> {
          int me = tl.programId(0);
          Shard mine = tl.shard(x);
          for (int step = 0; step < RANKS - 1; step++) {
            int out = Math.floorMod(me - step, RANKS);
            int in = Math.floorMod(me - step - 1, RANKS);
            tl.send("E", tl.load(mine.range(out * segment, segment)));
            Value got = tl.recv("W", Shape.of(segment), DType.F32);
            Value sum = tl.load(mine.range(in * segment, segment)).add(got);
            tl.await(tl.store(mine.range(in * segment, segment), sum));
            tl.release(got);
          }
          for (int step = 0; step < RANKS - 1; step++) {
            int out = Math.floorMod(me + 1 - step, RANKS);
            int in = Math.floorMod(me - step, RANKS);
            tl.send("E", tl.load(mine.range(out * segment, segment)));
            Value got = tl.recv("W", Shape.of(segment), DType.F32);
            tl.await(tl.store(mine.range(in * segment, segment), got));
            tl.release(got);
          }
        },
        x);
  }

  private static void ringAttention(Torch torch) {
    connect(torch);
    Shape shape = Shape.of(RANKS * BLOCK, HEAD);
    int n = RANKS * BLOCK * HEAD;
    Tensor q = torch.from(ramp(n, 19, 0.0625), shape, DType.F16, rows(), "q");
    Tensor k = torch.from(ramp(n, 23, 0.0625), shape, DType.F16, rows(), "k");
    Tensor v = torch.from(ramp(n, 31, 0.0625), shape, DType.F16, rows(), "v");
    Tensor y = torch.empty(shape, DType.F16, rows(), "y");
    torch.launch("attend", tl -> attend(tl, q, k, v, y), q, k, v, y);
  }

  private static void attend(Tl tl, Tensor q, Tensor k, Tensor v, Tensor y) {
    Value query = tl.load(q);
    Value keys = tl.load(k);
    Value values = tl.load(v);
    Value largest = tl.full(Shape.of(BLOCK, 1), Double.NEGATIVE_INFINITY, DType.F32);
    Value sum = tl.zeros(Shape.of(BLOCK, 1), DType.F32);
    Value weighted = tl.zeros(Shape.of(BLOCK, HEAD), DType.F32);
    for (int step = 0; step < RANKS; step++) {
      Value nextKeys = keys;
      Value nextValues = values;
      if (step < RANKS - 1) {
        tl.send("E", keys);
        tl.send("E", values);
        nextKeys = tl.recv("W", Shape.of(BLOCK, HEAD), DType.F16);
        nextValues = tl.recv("W", Shape.of(BLOCK, HEAD), DType.F16);
      }
      Value scores = tl.dot(query, keys.trans(), DType.F32).mul(0.125);
      Value most = largest.maximum(scores.max(1).expandDims(1));
      Value p = scores.sub(most).exp();
      Value fade = largest.sub(most).exp();
      sum = sum.mul(fade).add(p.sum(1).expandDims(1));
      weighted = tl.dot(p.cast(DType.F16), values, weighted.mul(fade));
      largest = most;
      tl.release(keys);
      tl.release(values);
      keys = nextKeys;
      values = nextValues;
    }
    tl.store(y, weighted.div(sum).cast(DType.F16));
  }

  private static void allReduce(Torch torch) {
    torch
        .multiprocessing()
        .spawn(
            worker -> {
              Tensor x =
                  worker.torch().full(Shape.of(64, 128), DType.BF16, worker.rank() + 1, "gradient");
              worker.distributed().allReduce(x, ReduceKind.AVG);
            },
            torch.distributed().getWorldSize());
  }

  private static void trainingStep(Torch torch) {
    torch.multiprocessing().spawn(SamePrograms::train, torch.distributed().getWorldSize());
  }

  private static void train(Worker worker) {
    Torch torch = worker.torch();
    int samples = 32;
    int inputs = 16;
    int hidden = 24;
    Tensor a =
        torch.from(ramp(inputs * hidden, 13, 0.0625), Shape.of(inputs, hidden), DType.F32, "a");
    Tensor b = torch.from(ramp(hidden, 7, 0.125), Shape.of(hidden, 1), DType.F32, "b");
    Tensor gradA = torch.empty(Shape.of(inputs, hidden), DType.F32, "grad a");
    Tensor gradB = torch.empty(Shape.of(hidden, 1), DType.F32, "grad b");
    Tensor loss = torch.empty(Shape.of(1), DType.F32, "loss");
    int period = 11 + worker.rank();
    Tensor x =
        torch.from(
            ramp(samples * inputs, period, 0.125), Shape.of(samples, inputs), DType.F32, "x");
    Tensor t = torch.from(ramp(samples, 5, 0.25), Shape.of(samples, 1), DType.F32, "t");
    for (int step = 0; step < 3; step++) {
      torch.launch(
          "gradients",
          tl -> {
            Value xs = tl.load(x);
            Value bs = tl.load(b);
            Value h = tl.dot(xs, tl.load(a));
            Value active = h.relu();
            Value error = tl.dot(active, bs).sub(tl.load(t));
            Value squares = error.mul(error).reshape(samples);
            tl.store(loss, squares.sum(0).mul(1.0 / samples).reshape(1));
            Value gradY = error.mul(2.0 / samples);
            tl.store(gradB, tl.dot(active.trans(), gradY));
            Value gradH = tl.where(h.gt(0), tl.dot(gradY, bs.trans()), 0.0);
            tl.store(gradA, tl.dot(xs.trans(), gradH));
          },
          x,
          t,
          a,
          b,
          gradA,
          gradB,
          loss);
      worker.distributed().allReduce(gradA, ReduceKind.AVG);
      worker.distributed().allReduce(gradB, ReduceKind.AVG);
      torch.launch("sgd a", tl -> sgd(tl, a, gradA), a, gradA);
      torch.launch("sgd b", tl -> sgd(tl, b, gradB), b, gradB);
      loss.get(0);
    }
  }

  private static void sgd(Tl tl, Tensor weights, Tensor gradient) {
    tl.store(weights, tl.load(weights).sub(tl.load(gradient).mul(0.125)));
  }
}
