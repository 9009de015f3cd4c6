package org.kernbench.eval.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.TraceNode;
import org.kernbench.chakra.Workload;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Work;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.ReduceKind;

/** Runs that are written as traces, read again and run, beside themselves. */
class TraceExportTest {
  private static final String MACHINE = "sip-2026";
  private static final int N = 1200;

  @TempDir private Path folder;

  /** A host program of six ranks, as a bench. */
  private record Program(String label, Body body, int mostRows) implements Bench {
    Program(String label, Body body) {
      this(label, body, 1 << 20);
    }

    private interface Body {
      void run(Worker worker, Map<String, ProcessGroup> groups);
    }

    @Override
    public String name() {
      return "program";
    }

    @Override
    public String description() {
      return label;
    }

    @Override
    public List<Param<?>> params() {
      return List.of();
    }

    @Override
    public Outcome run(BenchContext context) {
      Machine machine = context.machine();
      CollectiveLibrary library = library(machine);
      try (Torch torch =
          Torch.open(
              machine,
              TorchOptions.DEFAULT
                  .withMode(Mode.TIME)
                  .withSimulator(context.recording().withOpLogLimit(mostRows))
                  .withCollectives(library))) {
        torch.distributed().initProcessGroup(library.name());
        Map<String, ProcessGroup> groups =
            Map.of(
                "even", torch.distributed().newGroup(List.of(0, 2, 4)),
                "odd", torch.distributed().newGroup(List.of(1, 3, 5)),
                "pair", torch.distributed().newGroup(List.of(2, 5)));
        torch.multiprocessing().spawn(w -> body.run(w, groups), 6);
        torch.synchronize();
        return Outcome.on(machine)
            .time(torch.simulator().nowPs(), 0, "none")
            .opLog(torch.simulator().opLog());
      }
    }

    @Override
    public String toString() {
      return label;
    }
  }

  private static CollectiveLibrary library(Machine machine) {
    return CollectiveLibrary.open(
        machine,
        CclConfig.load(
            Optional.empty(),
            List.of(
                "defaults.algorithm=ring",
                "algorithms.ring.rank_level=sip",
                "algorithms.ring.world_size=6")));
  }

  private static RunResult run(Bench bench, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            bench,
            RunOptions.DEFAULT
                .withMode(Mode.TIME)
                .withTopology(MACHINE)
                .withParams(List.of(params)));
  }

  private RunResult again(String name, String... params) {
    List<String> all = new ArrayList<>(List.of(params));
    all.add("workload=" + folder.resolve(name));
    return run(new TraceReplayBench(), all.toArray(String[]::new));
  }

  private static Tensor vector(Worker w, int elements) {
    return w.torch().empty(Shape.of(elements), DType.F16, "v");
  }

  private static ProcessGroup mine(Worker w, Map<String, ProcessGroup> groups) {
    return groups.get(w.rank() % 2 == 0 ? "even" : "odd");
  }

  static Stream<Program> onlyCommunication() {
    return Stream.of(
        new Program(
            "one all-reduce",
            (w, g) -> w.distributed().allReduceAsync(vector(w, N), ReduceKind.SUM).await()),
        new Program(
            "three all-reduces of other lengths",
            (w, g) -> {
              Tensor v = vector(w, 4 * N);
              for (int n : List.of(6, N, 4 * N)) {
                w.distributed()
                    .allReduceAsync(v.view(0, Shape.of(n), "part"), ReduceKind.SUM)
                    .await();
              }
            }),
        new Program(
            "reduce-scatter and all-gather",
            (w, g) -> {
              Tensor whole = vector(w, N);
              Tensor part = vector(w, N / 6);
              w.distributed().world().reduceScatterAsync(part, whole, ReduceKind.SUM).await();
              w.distributed().world().allGatherAsync(whole, part).await();
            }),
        new Program(
            "reduce and broadcast with a root",
            (w, g) -> {
              Tensor v = vector(w, N);
              w.distributed().world().reduceAsync(v, 4, ReduceKind.SUM).await();
              w.distributed().world().broadcastAsync(v, 4).await();
            }),
        new Program(
            "all-to-all",
            (w, g) -> w.distributed().world().allToAllAsync(vector(w, N), vector(w, N)).await()),
        new Program(
            "groups of three side by side, then a pair, then all",
            (w, g) -> {
              Tensor v = vector(w, N);
              mine(w, g).allReduceAsync(v, ReduceKind.SUM).await();
              if (w.rank() == 2 || w.rank() == 5) {
                g.get("pair").allReduceAsync(v, ReduceKind.SUM).await();
              }
              w.distributed().allReduceAsync(v, ReduceKind.SUM).await();
            }),
        new Program(
            "a message handed on from rank to rank",
            (w, g) -> {
              Tensor v = vector(w, N);
              if (w.rank() > 0) {
                w.distributed().irecv(v, w.rank() - 1).await();
              }
              if (w.rank() < 5) {
                w.distributed().isend(v, w.rank() + 1).await();
              }
            }));
  }

  @ParameterizedTest
  @MethodSource("onlyCommunication")
  void communication_writtenAndRead_takesTheSameTime(Program program) {
    RunResult first = run(program);
    TraceExport.write(first, folder);
    RunResult second = again("program");

    assertThat(second.metrics().get("crit_ns")).isEqualTo(first.metrics().get("crit_ns"));
    assertThat(second.metrics().get("mended")).isEqualTo(mendedNames(program));
  }

  /** An absent group stands for all ranks and is counted as mended; groups are named. */
  private Object mendedNames(Program program) {
    long worlds =
        Workload.load(folder.resolve("program").toString(), Optional.empty()).traces().stream()
            .flatMap(t -> t.nodes().stream())
            .filter(n -> n.type() == NodeType.COMM_COLL && n.comm().group().isEmpty())
            .count();
    return worlds;
  }

  /** Forward and backward of two layers, each half followed by a sum that the next one needs. */
  @Test
  void kernelsAndSums_writtenAndRead_takeTheSameTime_andAreInTheSameOrder() {
    Program program =
        new Program(
            "halves",
            (w, g) -> {
              Tensor v = vector(w, N);
              Pe pe = v.shardSpecs().getFirst().place();
              List<Launch> last = List.of();
              for (int half = 0; half < 8; half++) {
                List<Launch> before = last;
                long ps = 1_000_000L * (half + 1 + w.rank());
                Launch done =
                    w.torch().launchAfter("half " + half, tl -> tl.elapse(ps), List.of(pe), before);
                v.orderAfter(done);
                Work work = w.distributed().allReduceAsync(v, ReduceKind.SUM);
                work.await();
                last = List.of(work.launch().orElseThrow());
              }
            });
    RunResult first = run(program);
    TraceExport.write(first, folder);
    RunResult second = again("program");

    assertThat(second.metrics().get("crit_ns")).isEqualTo(first.metrics().get("crit_ns"));
    for (var trace :
        Workload.load(folder.resolve("program").toString(), Optional.empty()).traces()) {
      assertThat(trace.nodes().stream().map(TraceNode::type))
          .containsExactlyElementsOf(
              Stream.generate(() -> List.of(NodeType.COMP, NodeType.COMM_COLL))
                  .limit(8)
                  .flatMap(List::stream)
                  .toList());
    }
  }

  private static final int PRODUCTS = 3;
  private static final int INNER = 512;

  private static int rows(int kernel) {
    return 32 * (kernel + 1);
  }

  private static int columns(int rank) {
    return 16 * (rank + 1);
  }

  private static long operations(int kernel, int rank) {
    long results = (long) rows(kernel) * columns(rank);
    return 2 * results * INNER + results;
  }

  private static long memoryBytes(int kernel, int rank) {
    int m = rows(kernel);
    int n = columns(rank);
    return 2L * (m * INNER + INNER * n + m * n);
  }

  /** On each rank products of other sizes, one after the other, each plus one. */
  private static Program products() {
    return new Program(
        "products",
        (w, g) -> {
          for (int i = 0; i < PRODUCTS; i++) {
            int m = rows(i);
            int n = columns(w.rank());
            Tensor a = w.torch().empty(Shape.of(m, INNER), DType.F16, "a" + i);
            Tensor b = w.torch().empty(Shape.of(INNER, n), DType.F16, "b" + i);
            Tensor c = w.torch().empty(Shape.of(m, n), DType.F16, "c" + i);
            w.torch()
                .launch(
                    "product " + i,
                    tl -> tl.store(c, tl.dot(tl.load(a), tl.load(b)).add(1).cast(DType.F16)),
                    a,
                    b,
                    c);
          }
        });
  }

  @Test
  void kernels_areWrittenWithWhatTheyComputeAndMove() {
    RunResult first = run(products());
    assertThat(TraceExport.write(first, folder).isCounted()).isTrue();
    long bytes = 0;
    for (var trace :
        Workload.load(folder.resolve("program").toString(), Optional.empty()).traces()) {
      assertThat(trace.nodes()).hasSize(PRODUCTS);
      for (int i = 0; i < PRODUCTS; i++) {
        TraceNode node = trace.nodes().get(i);
        assertThat(node.operations()).as("%s", node).isEqualTo(operations(i, trace.rank()));
        assertThat(node.memoryBytes()).as("%s", node).isEqualTo(memoryBytes(i, trace.rank()));
        bytes += node.memoryBytes();
      }
    }
    OpLog log = first.log().orElseThrow();
    assertThat(bytes).isEqualTo(log.bytes(OpKind.LOAD) + log.bytes(OpKind.STORE));
  }

  @Test
  void products_writtenAndRunByTheRoofline_takeWhatItSaysByHand() {
    TraceExport.write(run(products()), folder);
    RunResult second = again("program", "compute=roofline", "rank_level=pe");

    Machine machine = Machines.load(MACHINE, List.of());
    double peak = machine.pe().gemm().peakFlops();
    double memory = machine.hbm().rate().bytesPerSecond();
    double ns = 0;
    int byMemory = 0;
    for (int i = 0; i < PRODUCTS; i++) { // rank 5 has the largest
      double computes = operations(i, 5) / peak * 1e9;
      double moves = memoryBytes(i, 5) / memory * 1e9;
      byMemory += moves > computes ? 1 : 0;
      ns += Math.max(computes, moves);
    }
    assertThat(byMemory).isBetween(1, PRODUCTS);
    assertThat(Double.parseDouble(String.valueOf(second.metrics().get("compute_ns"))))
        .isCloseTo(ns, within(PRODUCTS * 0.001)); // each is rounded to a picosecond
  }

  /** Room for all 18 launches, not for what is in them. */
  @Test
  void kernels_ofARunThatKeptFewerRows_haveNoCounts_andThatIsSaid() {
    RunResult first = run(new Program("products", products().body, PRODUCTS * 6 + 2));
    TraceExport.Written written = TraceExport.write(first, folder);
    assertThat(written.isCounted()).isFalse();
    assertThat(written.text())
        .endsWith("; no num_ops and tensor_size: not all operations were kept");
    for (var trace :
        Workload.load(folder.resolve("program").toString(), Optional.empty()).traces()) {
      assertThat(trace.nodes()).hasSize(PRODUCTS).allMatch(n -> n.operations() == 0);
    }
  }

  @Test
  void nothingToWrite_isRefused() {
    Bench without = new Program("none", (w, g) -> {});
    assertThatThrownBy(() -> TraceExport.write(run(without), folder))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("keeps no launches");
  }

  /** Messages between PEs would be one computation of one rank. */
  @ParameterizedTest
  @CsvSource({"hello-send, ''", "collective, op=all_to_all"})
  void messagesOfNoRanks_areRefused(String bench, String param) {
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.TIME).withTopology("ring");
    if (!param.isEmpty()) {
      options = options.withPoint("1").withParams(List.of(param, "max_size=16B"));
    }
    RunResult result =
        Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find(bench), options);
    assertThatThrownBy(() -> TraceExport.write(result, folder))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("messages of bench " + bench + " are between PEs");
  }

  /** A single launch, too, is read again with the host's work for it. */
  @Test
  void oneCollective_isObservedAlike() {
    RunOptions host =
        RunOptions.DEFAULT
            .withMode(Mode.TIME)
            .withTopology(MACHINE)
            .withOverrides(List.of("software.collective.launch=5 us"));
    Runner runner = Runner.of("test", Progress.SILENT);
    RunResult first =
        runner.run(
            BenchRegistry.standard().find("ccl-allreduce"),
            host.withParams(List.of("algorithm=ring", "rank_level=sip", "n_elem=1200")));
    TraceExport.write(first, folder);
    RunResult second =
        runner.run(
            new TraceReplayBench(),
            host.withParams(List.of("workload=" + folder.resolve("ccl-allreduce"))));

    assertThat(second.metrics().get("observed_ns")).isEqualTo(first.metrics().get("observed_ns"));
  }
}
