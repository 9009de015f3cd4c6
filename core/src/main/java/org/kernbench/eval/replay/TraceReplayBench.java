package org.kernbench.eval.replay;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.Repairs;
import org.kernbench.chakra.TraceException;
import org.kernbench.chakra.TraceGraph;
import org.kernbench.chakra.TraceSamples;
import org.kernbench.chakra.TraceStep;
import org.kernbench.chakra.Workload;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.placement.RankLevel;

/**
 * {@code trace-replay}: Chakra execution traces, one file per rank, on this machine. Computations
 * last as recorded, or as the roofline says; collectives and messages are simulated.
 */
public final class TraceReplayBench implements Bench {
  private static final String SAMPLE = "sample:";
  private static final long PROBE_PS = 1_000_000;

  private static final Param<String> WORKLOAD =
      Param.word(
          "workload",
          SAMPLE + "data_parallel",
          """
          folder/name of files name.0.et, name.1.et, .., or sample:data_parallel, \
          tensor_parallel, pipeline, experts\
          """,
          "the traces of all ranks");
  private static final Param<Optional<String>> GROUPS =
      Param.word("groups", "", "a JSON file {\"name\": [ranks]}", "process groups")
          .orFrom("name.groups.json");

  /** What a size in a trace counts. */
  private enum Side {
    INPUT,
    OUTPUT
  }

  /** How long computations take. */
  private enum Compute {
    RECORDED,
    ROOFLINE
  }

  private static final Param<Side> SIZE =
      Param.choice(
          "comm_size",
          Side.INPUT,
          Side.class,
          "what comm_size counts of a gather, scatter or reduce-scatter: what a rank gives or gets");
  private static final Param<Compute> COMPUTE =
      Param.choice(
          "compute",
          Compute.RECORDED,
          Compute.class,
          """
          how long computations take: as recorded, or num_ops and tensor_size at this machine's \
          peak in 16 bits\
          """);
  private static final Param<String> ALGORITHM =
      Param.word("algorithm", "ring", "a name in ccl.yaml", "algorithm of all-reduces");
  private static final Param<RankLevel> LEVEL =
      Param.choice("rank_level", RankLevel.SIP, RankLevel.class, "what a rank owns");
  private static final Param<DType> DTYPE =
      Param.choice(
          "dtype",
          DType.F16,
          List.of(DType.F64, DType.F32, DType.F16, DType.BF16, DType.I8),
          "type of what is sent");

  @Override
  public String name() {
    return "trace-replay";
  }

  @Override
  public String description() {
    return "Chakra execution traces of all ranks: recorded computations, simulated communication";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(WORKLOAD, GROUPS, SIZE, COMPUTE, ALGORITHM, LEVEL, DTYPE);
  }

  @Override
  public Outcome run(BenchContext context) {
    if (context.mode() == Mode.VALUES) {
      throw new UsageException(
          "trace-replay: a trace has no values, only time; use --mode time (or full)");
    }
    try {
      return run(context, workload(context));
    } catch (TraceException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  private static Workload workload(BenchContext context) {
    String from = context.param(WORKLOAD);
    if (!from.startsWith(SAMPLE)) {
      return Workload.load(from, context.param(GROUPS));
    }
    String name = Suggest.fold(from.substring(SAMPLE.length()));
    List<String> known = new ArrayList<>();
    for (TraceSamples.Kind kind : TraceSamples.Kind.values()) {
      if (Suggest.fold(kind.name()).equals(name)) {
        return new TraceSamples(4, 4, 1 << 20).workload(kind);
      }
      known.add(kind.name().toLowerCase(Locale.ROOT));
    }
    throw new UsageException(
        "--param workload: got \"%s\"; expected %s of %s%s"
            .formatted(from, SAMPLE, String.join(", ", known), Suggest.hint(name, known)));
  }

  private static Outcome run(BenchContext context, Workload workload) {
    Machine machine = context.machine();
    TraceGraph graph = TraceGraph.of(workload);
    RankLevel level = context.param(LEVEL);
    checkRanks(machine, level, graph.ranks());
    TraceVectors vectors =
        new TraceVectors(context.param(DTYPE), context.param(SIZE) == Side.OUTPUT);
    StepTimes times =
        new StepTimes(machine, level, vectors, context.param(COMPUTE) == Compute.ROOFLINE);
    List<TraceStep> order = graph.inOrder(times::leastPs);
    TraceReplay replay = new TraceReplay(order, graph.ranks(), times, vectors, overheadPs(machine));
    Outcome outcome =
        Outcome.on(machine).condition("ranks", graph.ranks()).condition("rank_level", word(level));
    CollectiveLibrary library = library(context, machine, graph.ranks());
    try (Torch torch =
        Torch.open(
            machine,
            TorchOptions.DEFAULT
                .withMode(Mode.TIME)
                .withSimulator(context.recording())
                .withCollectives(library))) {
      torch.distributed().initProcessGroup(library.name());
      replay.makeGroups(torch);
      torch.multiprocessing().spawn(replay::body, graph.ranks());
      torch.synchronize();
      report(outcome, torch, graph, replay, times);
    }
    mended(outcome, workload.repairs(), order, vectors);
    return outcome;
  }

  private static String word(RankLevel level) {
    return level.name().toLowerCase(Locale.ROOT);
  }

  private static void checkRanks(Machine machine, RankLevel level, int ranks) {
    int devices = level.devices(machine);
    if (ranks > devices) {
      throw new UsageException(
          """
          the traces have %s ranks, machine %s has %s of level %s; expected as many at least: \
          another --topology, or --param rank_level\
          """
              .formatted(ranks, machine.name(), devices, word(level)));
    }
  }

  private static CollectiveLibrary library(BenchContext context, Machine machine, int ranks) {
    String name = context.param(ALGORITHM);
    CclConfig ccl =
        context.ccl(
            List.of(
                "defaults.algorithm=" + name,
                "algorithms." + name + ".rank_level=" + word(context.param(LEVEL)),
                "algorithms." + name + ".world_size=" + ranks));
    return CollectiveLibrary.open(machine, ccl);
  }

  /** What the shortest kernel takes beside the time that it lets pass: it is in no trace. */
  private static long overheadPs(Machine machine) {
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      Launch launch =
          torch.launchAfter(
              "probe", tl -> tl.elapse(PROBE_PS), List.of(machine.peAt(0)), List.of());
      torch.await(launch);
      return launch.criticalPs() - PROBE_PS;
    }
  }

  // ---- what came out ----

  private static void report(
      Outcome outcome, Torch torch, TraceGraph graph, TraceReplay replay, StepTimes times) {
    if (graph.steps().stream().noneMatch(step -> replay.launch(step) != null)) {
      throw new UsageException(
          """
          nothing in the traces takes time (%s steps); expected collectives, messages or \
          computations with a duration, or --roofline (compute=roofline) for computations that \
          say num_ops and tensor_size\
          """
              .formatted(graph.steps().size()));
    }
    outcome.simulated(torch.simulator().eventCount(), torch.simulator().opLog().hash());
    long end = 0;
    long[] computing = new long[graph.ranks()];
    Map<List<Object>, Sum> sums = new LinkedHashMap<>();
    Map<Launch, CollectiveRun> runs = new IdentityHashMap<>();
    torch.distributed().history().forEach(run -> runs.put(run.launch(), run));
    for (TraceStep step : graph.steps()) {
      Launch launch = replay.launch(step);
      if (launch == null) {
        continue;
      }
      end = Math.max(end, launch.endPs());
      CollectiveRun run = runs.get(launch);
      if (run == null) {
        computing[step.ranks().getFirst()] += launch.criticalPs();
      } else {
        sums.computeIfAbsent(key(step, run), k -> new Sum()).add(step, run, times);
      }
    }
    long busiest = 0;
    for (long each : computing) {
      busiest = Math.max(busiest, each);
    }
    long chain = graph.longestChainPs(times::leastPs);
    outcome.time(end, Math.max(chain, busiest), chain >= busiest ? "longest chain" : "compute");
    long exposed = 0;
    for (Map.Entry<List<Object>, Sum> each : sums.entrySet()) {
      outcome.row(each.getValue().row(each.getKey()));
      exposed += each.getValue().exposedPs;
    }
    outcome
        .metric("steps", graph.steps().size())
        .metric("compute_ns", Numbers.ns(busiest))
        .metric("waiting_ns", Numbers.ns(end - busiest))
        .metric("exposed_all_ns", Numbers.ns(exposed));
    IpcqSpec queues =
        torch.distributed().history().stream()
            .findFirst()
            .map(run -> run.queues().spec())
            .orElse(torch.machine().ipcq());
    outcome.explainedRun(torch.simulator().opLog(), queues);
  }

  private static List<Object> key(TraceStep step, CollectiveRun run) {
    boolean isMessage = step.type() == NodeType.COMM_SEND;
    Object what = isMessage ? "message" : step.node().comm().collective();
    return List.of(what, step.ranks().size(), step.bytes(), run.algorithm());
  }

  private static void mended(
      Outcome outcome, Repairs repairs, List<TraceStep> order, TraceVectors vectors) {
    long padded =
        order.stream().filter(s -> s.type().isCommunication() && !vectors.isExact(s)).count();
    outcome.metric("mended", repairs.count() + padded);
  }

  /** Communication of one kind and size. */
  private static final class Sum {
    private long calls;
    private long timePs;
    private long longestPs;
    private long exposedPs;
    private long boundPs;

    void add(TraceStep step, CollectiveRun run, StepTimes times) {
      calls++;
      timePs += run.durationPs();
      longestPs = Math.max(longestPs, run.durationPs());
      exposedPs += run.exposedPs();
      boundPs += times.leastPs(step);
    }

    Map<String, Object> row(List<Object> key) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("operation", key.get(0).toString());
      row.put("ranks", key.get(1));
      row.put("bytes", key.get(2));
      row.put("algorithm", key.get(3));
      row.put("calls", calls);
      row.put("time_ns", Numbers.ns(timePs));
      row.put("longest_ns", Numbers.ns(longestPs));
      row.put("exposed_ns", Numbers.ns(exposedPs));
      row.put("bound_ns", Numbers.ns(boundPs));
      return row;
    }
  }
}
