package org.kernbench.eval.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.chakra.TraceNode;
import org.kernbench.chakra.TraceSamples;
import org.kernbench.chakra.TraceSamples.Kind;
import org.kernbench.chakra.TraceWriter;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Work;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.ReduceKind;

/**
 * What a trace takes, beside the same program written as a host program, and beside closed forms.
 */
class TraceReplayTest {
  private static final long LAYER_NS = 20_000;

  @TempDir private Path folder;

  private RunResult replay(Kind kind, int ranks, int layers, long bytes, String... more)
      throws IOException {
    for (int rank = 0; rank < ranks; rank++) {
      try (var out = Files.newOutputStream(folder.resolve("t." + rank + ".et"))) {
        TraceWriter.write(new TraceSamples(ranks, layers, bytes).nodes(kind, rank), out);
      }
    }
    return run(more);
  }

  private RunResult run(String... more) {
    List<String> params = new ArrayList<>(List.of("workload=" + folder.resolve("t")));
    params.addAll(List.of(more));
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.TIME).withParams(params);
    return Runner.of("test", Progress.SILENT).run(new TraceReplayBench(), options);
  }

  private static long critPs(RunResult result) {
    return ps(result, "crit_ns");
  }

  private static long ps(RunResult result, String metric) {
    return new java.math.BigDecimal(String.valueOf(result.metrics().get(metric)))
        .movePointRight(3)
        .longValueExact();
  }

  // ---- the same program, by hand ----

  private interface Program {
    void run(Worker worker, Tensor vector, Kernels kernels);
  }

  /** Computations of a rank. */
  private static final class Kernels {
    private final Torch torch;
    private final Pe pe;
    private final long overheadPs;

    Kernels(Torch torch, Pe pe, long overheadPs) {
      this.torch = torch;
      this.pe = pe;
      this.overheadPs = overheadPs;
    }

    Launch compute(long ns, Launch... after) {
      return torch.launchAfter(
          "c", tl -> tl.elapse(ns * 1000 - overheadPs), List.of(pe), List.of(after));
    }
  }

  private static long nativePs(int ranks, long bytes, Program program) {
    Machine machine = Machines.load("sip-2026", List.of());
    CclConfig ccl =
        CclConfig.load(
            Optional.empty(),
            List.of(
                "defaults.algorithm=ring",
                "algorithms.ring.rank_level=sip",
                "algorithms.ring.world_size=" + ranks));
    CollectiveLibrary library = CollectiveLibrary.open(machine, ccl);
    try (Torch torch =
        Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME).withCollectives(library))) {
      torch.distributed().initProcessGroup();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor vector = w.torch().empty(Shape.of((int) (bytes / 2)), DType.F16, "vector");
                Pe pe = vector.shardSpecs().getFirst().place();
                program.run(w, vector, new Kernels(w.torch(), pe, issuePs(machine)));
              },
              ranks);
      torch.synchronize();
      return torch.simulator().nowPs();
    }
  }

  /** From a kernel's start to the issue of its first command. */
  private static long issuePs(Machine machine) {
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      Launch launch =
          torch.launchAfter("c", tl -> tl.elapse(5_000), List.of(machine.peAt(0)), List.of());
      torch.await(launch);
      return launch.criticalPs() - 5_000;
    }
  }

  @ParameterizedTest
  @CsvSource({"2, 3, 4096", "4, 2, 65536", "6, 1, 1200"})
  void dataParallel_takesWhatTheSameHostProgramTakes(int ranks, int layers, long bytes)
      throws IOException {
    long byHand =
        nativePs(
            ranks,
            bytes,
            (w, vector, kernels) -> {
              for (int l = 0; l < layers; l++) {
                kernels.compute(LAYER_NS);
              }
              List<Launch> sums = new ArrayList<>();
              for (int l = 0; l < layers; l++) {
                vector.orderAfter(kernels.compute(2 * LAYER_NS));
                Work work = w.distributed().allReduceAsync(vector, ReduceKind.SUM);
                work.await();
                sums.add(work.launch().orElseThrow());
              }
              kernels.compute(LAYER_NS / 2, sums.toArray(Launch[]::new));
            });
    assertThat(critPs(replay(Kind.DATA_PARALLEL, ranks, layers, bytes))).isEqualTo(byHand);
  }

  @ParameterizedTest
  @CsvSource({"2, 2, 4096", "4, 1, 65536"})
  void tensorParallel_takesWhatTheSameHostProgramTakes(int ranks, int layers, long bytes)
      throws IOException {
    long byHand =
        nativePs(
            ranks,
            bytes,
            (w, vector, kernels) -> {
              Launch last = null;
              for (int half = 0; half < 4 * layers; half++) {
                long ns = half < 2 * layers ? LAYER_NS / 2 : LAYER_NS;
                vector.orderAfter(last == null ? kernels.compute(ns) : kernels.compute(ns, last));
                Work work = w.distributed().allReduceAsync(vector, ReduceKind.SUM);
                work.await();
                last = work.launch().orElseThrow();
              }
            });
    assertThat(critPs(replay(Kind.TENSOR_PARALLEL, ranks, layers, bytes))).isEqualTo(byHand);
  }

  /** GPipe with small messages: (batches + stages - 1) steps each way, and the messages between. */
  @Test
  void pipeline_isTheClosedForm_andItsMessages() throws IOException {
    int stages = 4;
    RunResult result = replay(Kind.PIPELINE, stages, 1, 2);
    long steps = 2 * stages + stages - 1;
    double ns = critPs(result) / 1e3;
    double ideal = steps * 3.0 * LAYER_NS;

    assertThat(ns).isBetween(ideal, ideal * 1.01);
    assertThat(ps(result, "bound_ns")).isLessThanOrEqualTo(critPs(result));
  }

  @Test
  void oneRank_isTheSumOfItsComputations_toThePicosecond() throws IOException {
    RunResult result = replay(Kind.DATA_PARALLEL, 1, 3, 64);
    assertThat(critPs(result) - launchPs()).isEqualTo((3 * 3 * LAYER_NS + LAYER_NS / 2) * 1000);
  }

  /** What the host takes before the first kernel. */
  private static long launchPs() {
    Machine machine = Machines.load("sip-2026", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      Launch launch =
          torch.launchAfter("c", tl -> tl.elapse(5_000), List.of(machine.peAt(0)), List.of());
      torch.await(launch);
      return launch.startPs();
    }
  }

  @Test
  void roofline_isOperationsOverThePeak() throws IOException {
    RunResult slow = replay(Kind.DATA_PARALLEL, 1, 1, 64, "compute=roofline", "rank_level=pe");
    RunResult quick = run("compute=roofline", "rank_level=sip");
    long overhead = launchPs();
    double ratio = (critPs(slow) - overhead) / (double) (critPs(quick) - overhead);

    assertThat(ratio).isBetween(127.9, 128.1); // PEs of a package
  }

  /** All operations, in groups and not, with vectors that their ranks do not divide. */
  @Test
  void everyOperation_runs_andNoneBeatsItsBound() throws IOException {
    for (org.kernbench.chakra.CollectiveType op : org.kernbench.chakra.CollectiveType.values()) {
      for (int rank = 0; rank < 3; rank++) {
        TraceNode node =
            new TraceNode(
                1,
                op.toString(),
                org.kernbench.chakra.NodeType.COMM_COLL,
                List.of(),
                0,
                0,
                false,
                0,
                0,
                java.util.OptionalLong.empty(),
                Optional.of(
                    new TraceNode.Communication(
                        op, 1001, "", java.util.OptionalLong.of(1), rank, rank, 0)));
        try (var out = Files.newOutputStream(folder.resolve("t." + rank + ".et"))) {
          TraceWriter.write(List.of(node), out);
        }
      }
      RunResult result = run();
      assertThat(ps(result, "bound_ns")).as(op.toString()).isPositive();
      assertThat(critPs(result)).as(op.toString()).isGreaterThan(ps(result, "bound_ns"));
    }
  }

  @Test
  void tooManyRanks_isRefusedWithARemedy() {
    assertThatThrownBy(() -> replay(Kind.DATA_PARALLEL, 7, 1, 64))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("the traces have 7 ranks, machine sip-2026 has 6 of level sip");
  }
}
