package org.kernbench.eval;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.kernbench.ccl.CclConfig;
import org.kernbench.ccl.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.IpcqSpec;
import org.kernbench.machine.Machine;
import org.kernbench.nn.AdamW;
import org.kernbench.nn.Communication;
import org.kernbench.nn.DataParallel;
import org.kernbench.nn.Graph;
import org.kernbench.nn.Init;
import org.kernbench.nn.Mlp;
import org.kernbench.nn.Module;
import org.kernbench.nn.Optimizer;
import org.kernbench.nn.ParallelLayout;
import org.kernbench.nn.ParallelLayout.ContextExchange;
import org.kernbench.nn.SequencePart;
import org.kernbench.nn.Transformer;
import org.kernbench.nn.TransformerBlock;
import org.kernbench.nn.TransformerConfig;
import org.kernbench.nn.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

/**
 * {@code tp-mlp}, {@code transformer-block} and {@code train-step}: forward and backward pass of a
 * part of a transformer in a parallel layout, with what its collectives cost and how much of that
 * is exposed. Values are compared with the same part on one rank in f64.
 */
final class TrainingBench implements Bench {
  /** How much of a model. */
  enum Scope {
    /** The feed-forward part of a block. */
    MLP("tp-mlp", "feed-forward part of a transformer block, forward and backward"),
    /** One block. */
    BLOCK("transformer-block", "one transformer block, forward and backward"),
    /** A whole model with loss, gradient sums and AdamW. */
    STEP("train-step", "a training step of a transformer: loss, gradients, AdamW");

    private final String bench;
    private final String description;

    Scope(String bench, String description) {
      this.bench = bench;
      this.description = description;
    }
  }

  private static final TransformerConfig TINY_GPT =
      new TransformerConfig("tiny-gpt", 48, 2, 12, 12, 4, 96, 96, 512, TransformerConfig.Style.GPT);
  private static final TransformerConfig TINY_LLAMA =
      new TransformerConfig(
          "tiny-llama", 48, 2, 24, 12, 4, 96, 96, 512, TransformerConfig.Style.LLAMA);

  private static final Param<String> MODEL =
      Param.choice(
          "model",
          "tiny-gpt",
          List.of("tiny-gpt", "tiny-llama", "gpt2-small", "llama-3.1-8b"),
          "shape of the transformer");
  private static final Param<Integer> TOKENS =
      Param.integer("tokens", 48, 1, 1 << 20, "length of the sequence");
  private static final Param<Integer> BATCH =
      Param.integer("batch", 2, 1, 1 << 12, "samples over all data-parallel ranks");
  private static final Param<Integer> LAYERS =
      Param.integer("layers", 2, 1, 1024, "blocks of the model");
  private static final Param<Integer> VOCABULARY =
      Param.integer("vocabulary", 96, 2, 1 << 20, "ids of the vocabulary");
  private static final Param<Integer> TP = Param.integer("tp", 2, 1, 4096, "tensor-parallel ranks");
  private static final Param<Integer> CP =
      Param.integer("cp", 1, 1, 4096, "context-parallel ranks");
  private static final Param<Integer> DP = Param.integer("dp", 1, 1, 4096, "data-parallel ranks");
  private static final Param<String> SP =
      Param.choice("sp", "on", List.of("on", "off"), "sequence parallelism between tp regions");
  private static final Param<String> LEVEL =
      Param.choice(
          "rank_level",
          "pe",
          List.of("pe", "cube", "sip"),
          "what a rank owns; it computes on the first PE of it");
  private static final Param<String> DTYPE =
      Param.choice("dtype", "bf16", List.of("bf16", "f16", "f32", "f64"), "type of values");

  private static final Param<String> CONTEXT =
      Param.choice(
          "context",
          "all-gather",
          List.of("all-gather", "ring"),
          "how context-parallel ranks exchange keys and values");
  private static final Param<String> OVERLAP =
      Param.choice(
          "overlap",
          "on",
          List.of("on", "off"),
          "compute weight gradients beside collectives, and sum gradients beside the backward"
              + " pass");
  private static final Param<Integer> BUCKET =
      Param.integer("bucket", 4096, 1, 1 << 20, "size of a bucket of gradients, KiB");
  private static final Param<String> DIVIDED =
      Param.choice(
          "distributed_optimizer",
          "off",
          List.of("on", "off"),
          "divide the optimizer over the data-parallel ranks");

  private final Scope scope;

  TrainingBench(Scope scope) {
    this.scope = scope;
  }

  @Override
  public String name() {
    return scope.bench;
  }

  @Override
  public String description() {
    return scope.description;
  }

  @Override
  public List<Param<?>> params() {
    List<Param<?>> all = new ArrayList<>(List.of(MODEL, TOKENS, BATCH));
    if (scope == Scope.STEP) {
      all.addAll(List.of(LAYERS, VOCABULARY));
    }
    all.addAll(List.of(TP, CP, DP, SP, LEVEL, DTYPE, OVERLAP, BUCKET));
    if (scope != Scope.MLP) {
      all.add(CONTEXT);
    }
    if (scope == Scope.STEP) {
      all.add(DIVIDED);
    }
    return all;
  }

  /** Forwards and twice that backwards, attention left out. */
  @Override
  public double productFlops(Params params) {
    TransformerConfig c = model(params.get(MODEL));
    double heads = 2.0 * c.hidden() * c.headSize() * (c.heads() + c.keyHeads());
    double mlp = (c.style() == TransformerConfig.Style.LLAMA ? 3.0 : 2.0) * c.hidden() * c.ffn();
    double layers = scope == Scope.STEP ? params.get(LAYERS) : 1;
    return 6 * layers * (heads + mlp) * params.get(TOKENS) * params.get(BATCH);
  }

  private static TransformerConfig model(String name) {
    return switch (name) {
      case "tiny-gpt" -> TINY_GPT;
      case "tiny-llama" -> TINY_LLAMA;
      case "gpt2-small" -> TransformerConfig.gpt2Small();
      default -> TransformerConfig.llama8b();
    };
  }

  /** What is run. */
  private record Setup(
      TransformerConfig config,
      Scope scope,
      int tokens,
      int batch,
      int tp,
      int cp,
      int dp,
      boolean sp,
      DType dtype,
      ContextExchange context,
      DataParallel.Options data) {
    int ranks() {
      return tp * cp * dp;
    }

    Setup onOneRank() {
      return new Setup(
          config, scope, tokens, batch, 1, 1, 1, false, DType.F64, context, DataParallel.DEFAULT);
    }
  }

  @Override
  public Outcome run(BenchContext context) {
    TransformerConfig config = model(context.param(MODEL));
    if (scope == Scope.STEP) {
      config = config.with(context.param(LAYERS), context.param(VOCABULARY));
    }
    Setup setup =
        new Setup(
            config,
            scope,
            context.param(TOKENS),
            context.param(BATCH),
            context.param(TP),
            context.param(CP),
            context.param(DP),
            context.param(SP).equals("on"),
            DType.parse(context.param(DTYPE)),
            scope != Scope.MLP && context.param(CONTEXT).equals("ring")
                ? ContextExchange.RING
                : ContextExchange.ALL_GATHER,
            new DataParallel.Options(
                context.param(BUCKET) * 1024L,
                context.param(OVERLAP).equals("on"),
                scope == Scope.STEP && context.param(DIVIDED).equals("on")));
    check(setup);
    Machine machine = context.machine();
    CollectiveLibrary library = library(context, machine, setup);
    Outcome outcome = Outcome.on(machine);
    outcome
        .condition("ranks", setup.ranks())
        .condition("rank_level", context.param(LEVEL))
        .condition("layers_run", scope == Scope.STEP ? config.layers() : 1);
    try (Torch torch =
        Torch.open(
            machine,
            TorchOptions.DEFAULT
                .withMode(context.mode())
                .withSimulator(context.recording())
                .withCollectives(library))) {
      Program program = new Program(setup);
      torch.distributed().initProcessGroup(library.name());
      torch.multiprocessing().spawn(program::body, setup.ranks());
      torch.synchronize();
      report(outcome, torch, setup);
      if (context.mode() != Mode.TIME) {
        values(outcome, context, machine, setup, program);
      }
    }
    return outcome;
  }

  private static void check(Setup s) {
    if (s.batch % s.dp != 0) {
      throw new UsageException(
          "batch is " + s.batch + ", dp " + s.dp + "; expected a batch that dp divides");
    }
    checkTensorParallel(s);
    checkTokens(s);
  }

  private static void checkTensorParallel(Setup s) {
    TransformerConfig c = s.config;
    Map<String, Integer> divided = new LinkedHashMap<>();
    if (s.scope != Scope.MLP) {
      divided.put("heads", c.heads());
      divided.put("heads of keys", c.keyHeads());
    }
    divided.put("inner features", c.ffn());
    if (s.scope == Scope.STEP) {
      divided.put("ids", c.vocabulary());
    }
    int most = divided.values().stream().reduce(0, TrainingBench::commonDivisor);
    if (most % s.tp != 0) {
      List<String> each = new ArrayList<>();
      divided.forEach((what, n) -> each.add(n + " " + what));
      throw new UsageException(
          "tp is "
              + s.tp
              + "; expected a divisor of "
              + most
              + ", so that every rank has as many of "
              + String.join(", ", each));
    }
  }

  private static void checkTokens(Setup s) {
    int rows = s.sp ? s.cp * s.tp : s.cp;
    int chunks = s.cp > 1 ? 2 * s.cp : 1;
    int multiple = rows / commonDivisor(rows, chunks) * chunks;
    if (s.tokens % multiple != 0) {
      throw new UsageException(
          "tokens is "
              + s.tokens
              + "; expected a multiple of "
              + multiple
              + ", so that every rank has as many");
    }
    boolean learnsPositions =
        s.scope == Scope.STEP && s.config.style() == TransformerConfig.Style.GPT;
    if (learnsPositions && s.tokens > s.config.maxSequence()) {
      throw new UsageException(
          "tokens is "
              + s.tokens
              + "; expected at most "
              + s.config.maxSequence()
              + ", the positions that "
              + s.config.name()
              + " learns");
    }
  }

  private static int commonDivisor(int a, int b) {
    return b == 0 ? a : commonDivisor(b, a % b);
  }

  private static CollectiveLibrary library(BenchContext context, Machine machine, Setup setup) {
    CclConfig ccl =
        context.ccl(
            List.of(
                "defaults.algorithm=ring",
                "algorithms.ring.rank_level=" + context.param(LEVEL),
                "algorithms.ring.world_size=" + setup.ranks()));
    return CollectiveLibrary.open(machine, ccl);
  }

  /** The program of every rank, and what comes out of it. */
  private static final class Program {
    private final Setup setup;
    private final Map<Integer, double[]> outputs = new TreeMap<>();
    private double loss;

    Program(Setup setup) {
      this.setup = setup;
    }

    void body(Worker w) {
      Setup s = setup;
      ParallelLayout layout =
          ParallelLayout.create(w.distributed(), s.tp, s.cp, s.dp, s.sp).with(s.context);
      Init init = new Init(w.torch(), s.dtype, 7, 0.02);
      SequencePart part = new SequencePart(s.tokens, s.cp, layout.cp().rank());
      switch (s.scope) {
        case MLP -> {
          Mlp mlp = new Mlp("mlp", s.config, layout, init);
          pass(w, layout, part, mlp, mlp::forward);
        }
        case BLOCK -> {
          TransformerBlock block = new TransformerBlock("layer", s.config, layout, init);
          pass(w, layout, part, block, (graph, x) -> block.forward(graph, x, part));
        }
        case STEP -> step(w, layout, part, init);
      }
    }

    private interface Forward {
      Variable of(Graph graph, Variable x);
    }

    private void pass(
        Worker w, ParallelLayout layout, SequencePart part, Module module, Forward forward) {
      int batch = setup.batch / setup.dp;
      int[] positions = positions(layout, part);
      Shape shape = Shape.of(positions.length, batch, setup.config.hidden());
      Torch torch = w.torch();
      boolean values = torch.simulator().mode() != Mode.TIME;
      DataParallel data = new DataParallel(torch, layout, module.parameters(), setup.data);
      try (Graph graph = Graph.of(torch).withOverlap(setup.data.overlap());
          Tensor x = torch.empty(shape, setup.dtype, "x");
          Tensor dy = torch.empty(shape, setup.dtype, "dy")) {
        if (values) {
          x.copyInPlace(activations(positions, layout, 1));
          dy.copyInPlace(activations(positions, layout, 2));
        }
        Variable y = forward.of(graph, graph.input(x));
        data.backward(graph, y, dy);
        if (values) {
          outputs.put(w.rank(), y.value().toDoubles());
        }
      }
    }

    /** Positions of the rows that the rank holds between tensor-parallel regions. */
    private int[] positions(ParallelLayout layout, SequencePart part) {
      int[] own = part.own();
      if (!layout.sequenceParallel()) {
        return own;
      }
      int each = own.length / layout.tp().size();
      return java.util.Arrays.copyOfRange(
          own, layout.tp().rank() * each, (layout.tp().rank() + 1) * each);
    }

    /** Values that depend on position, sample and column only, whatever the layout. */
    private double[] activations(int[] positions, ParallelLayout layout, int seed) {
      int batch = setup.batch / setup.dp;
      int hidden = setup.config.hidden();
      double[] values = new double[positions.length * batch * hidden];
      int at = 0;
      for (int position : positions) {
        for (int b = 0; b < batch; b++) {
          long sample = (long) layout.dp().rank() * batch + b;
          Random random = new Random((position * 65537L + sample) * 31 + seed);
          for (int i = 0; i < hidden; i++) {
            values[at++] = random.nextGaussian();
          }
        }
      }
      return values;
    }

    private void step(Worker w, ParallelLayout layout, SequencePart part, Init init) {
      Transformer model = new Transformer(setup.config, layout, init);
      int batch = setup.batch / setup.dp;
      int[] at = part.own();
      int[] ids = new int[at.length * batch];
      int[] targets = new int[ids.length];
      double[] mask = new double[ids.length];
      for (int i = 0; i < ids.length; i++) {
        int position = at[i / batch];
        int sample = layout.dp().rank() * batch + i % batch;
        ids[i] = id(position, sample);
        targets[i] = id(position + 1, sample);
        mask[i] = position == setup.tokens - 1 ? 0 : 1;
      }
      DataParallel data = new DataParallel(w.torch(), layout, model.parameters(), setup.data);
      try (Graph graph = Graph.of(w.torch()).withOverlap(setup.data.overlap());
          Optimizer optimizer = new AdamW(w.torch(), data.owned(), AdamW.Settings.of(1e-3))) {
        Variable sum = graph.weightedSum(model.forward(graph, ids, targets, batch, part), mask);
        data.backward(graph, sum);
        data.divideByTokens((int) java.util.Arrays.stream(mask).filter(m -> m > 0).count());
        data.clip(1);
        optimizer.step();
        data.gather();
        if (w.torch().simulator().mode() != Mode.TIME && layout.tp().rank() == 0) {
          double own = sum.value().get(0);
          loss += own;
        }
      }
    }

    private int id(int position, int sample) {
      return Math.floorMod(
          (position + 1) * 2654435761L + sample * 40503L, setup.config.vocabulary());
    }

    /** Outputs of all ranks by position, sample and column. */
    double[] whole() {
      if (setup.scope == Scope.STEP) {
        return new double[] {loss};
      }
      int hidden = setup.config.hidden();
      int batch = setup.batch / setup.dp;
      double[] all = new double[setup.tokens * setup.batch * hidden];
      outputs.forEach((rank, y) -> {
        int t = rank % setup.tp;
        int c = rank / setup.tp % setup.cp;
        int d = rank / (setup.tp * setup.cp);
        int[] own = new SequencePart(setup.tokens, setup.cp, c).own();
        int each = setup.sp ? own.length / setup.tp : own.length;
        int first = setup.sp ? t * each : 0;
        for (int i = 0; i < each; i++) {
          for (int b = 0; b < batch; b++) {
            int to = (own[first + i] * setup.batch + d * batch + b) * hidden;
            System.arraycopy(y, (i * batch + b) * hidden, all, to, hidden);
          }
        }
      });
      return all;
    }
  }

  /**
   * Compares with the same part on one rank in f64, for values only. Allowed is what a few
   * roundings of the largest output make: intermediates are stored in the short type, sums are not;
   * the loss is computed from logits that were rounded once.
   */
  private static void values(
      Outcome outcome, BenchContext context, Machine machine, Setup setup, Program program) {
    Setup one = setup.onOneRank();
    Program reference = new Program(one);
    CollectiveLibrary library = library(context, machine, one);
    try (Torch torch =
        Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.VALUES).withCollectives(library))) {
      torch.distributed().initProcessGroup(library.name());
      torch.multiprocessing().spawn(reference::body, 1);
    }
    double[] expected = reference.whole();
    double largest = 0;
    for (double v : expected) {
      largest = Math.max(largest, Math.abs(v));
    }
    double roundings = setup.scope == Scope.MLP ? 4 : setup.scope == Scope.BLOCK ? 8 : 1;
    double allowed = Math.max(roundings * setup.dtype.unitRoundoff(), 1e-12) * largest;
    outcome.values(program.whole(), expected, allowed);
  }

  // ---- time ----

  private static void report(Outcome outcome, Torch torch, Setup setup) {
    boolean timed = torch.simulator().mode() != Mode.VALUES;
    outcome.simulated(
        torch.simulator().eventCount(), timed ? torch.simulator().opLog().hash() : "");
    if (!timed) {
      return;
    }
    long total = torch.simulator().nowPs();
    Bound bound = bound(torch.machine(), setup);
    outcome.time(total, bound.ps, bound.kind);
    CommunicationSums costs = new CommunicationSums(Communication.of(torch), setup.ranks());
    outcome
        .metric("comm_ns", Numbers.ns(costs.timePs()))
        .metric("exposed_ns", Numbers.ns(costs.exposedPs()))
        .metric("exposed_pct", Numbers.rounded(100.0 * costs.exposedPs() / total))
        .metric("rank_gflop", Numbers.rounded(flops(setup) / setup.ranks() / 1e9));
    costs.rows().forEach(outcome::row);
    IpcqSpec queues =
        torch.distributed().history().stream()
            .findFirst()
            .map(run -> run.queues().spec())
            .orElse(torch.machine().ipcq());
    outcome.explainedRun(torch.simulator().opLog(), queues);
  }

  private record Bound(long ps, String kind) {}

  /** Multiply-adds count twice; the backward pass costs twice the forward pass. */
  private static double flops(Setup s) {
    TransformerConfig c = s.config;
    double tokens = (double) s.tokens * s.batch;
    double keys = (s.tokens + 1) / 2.0; // a query sees half of them on average
    double forward =
        switch (s.scope) {
          case MLP -> TrainingFlops.mlp(c, tokens);
          case BLOCK -> TrainingFlops.block(c, tokens, keys);
          case STEP ->
              c.layers() * TrainingFlops.block(c, tokens, keys)
                  + TrainingFlops.linear(tokens, c.hidden(), c.vocabulary());
        };
    return 3 * forward;
  }

  /** The GEMM engines of all ranks at their peak, doing nothing else. */
  private static Bound bound(Machine machine, Setup s) {
    return new Bound(TrainingFlops.boundPs(machine, flops(s), s.ranks()), "compute");
  }
}
