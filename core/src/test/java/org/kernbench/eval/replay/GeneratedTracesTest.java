package org.kernbench.eval.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.chakra.TraceSamples;
import org.kernbench.chakra.TraceSamples.Kind;
import org.kernbench.chakra.TraceWriter;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
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
 * Forty and more traces of steps, of 2 to 1,024 ranks, beside what follows from their layers and
 * from the time of one collective or message, which a host program takes that has no trace.
 */
class GeneratedTracesTest {
  private static final double LAYER_NS = 20_000;

  private static final double SLACK = 1e-4; // of the whole

  @TempDir private Path folder;

  private record Case(Kind kind, int ranks, int layers, long bytes) {}

  static Stream<Case> quick() {
    return Stream.of(Kind.values())
        .flatMap(kind ->
            Stream.of(
                new Case(kind, 2, 1, 4096),
                new Case(kind, 4, 3, 1 << 18),
                new Case(kind, 8, 2, 1 << 20)));
  }

  static Stream<Case> all() {
    List<Case> cases = new ArrayList<>();
    for (Kind kind : Kind.values()) {
      for (int ranks : List.of(2, 3, 6, 16)) {
        for (long bytes : List.of(6144L, 3L << 20)) {
          cases.add(new Case(kind, ranks, 2, bytes));
        }
      }
      cases.add(new Case(kind, 4, 12, 1 << 16));
      cases.add(new Case(kind, 64, 1, 1 << 18));
    }
    cases.add(new Case(Kind.DATA_PARALLEL, 1024, 1, 1 << 16));
    return cases.stream();
  }

  @ParameterizedTest
  @MethodSource("quick")
  void trace_takesWhatFollowsFromItsLayers(Case of) throws IOException {
    check(of);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("all")
  void manyTraces_takeWhatFollowsFromTheirLayers(Case of) throws IOException {
    check(of);
  }

  /** More launches under way than one queue of a driver has room for: each rank has its own. */
  @Test
  void pipelineOf48Stages_ofShortMessages_takesWhatFollows() throws IOException {
    check(new Case(Kind.PIPELINE, 48, 1, 4096));
  }

  private void check(Case of) throws IOException {
    for (int rank = 0; rank < of.ranks; rank++) {
      try (var out = Files.newOutputStream(folder.resolve("t." + rank + ".et"))) {
        TraceWriter.write(
            new TraceSamples(of.ranks, of.layers, of.bytes).nodes(of.kind, rank), out);
      }
    }
    double alone = aloneNs(of, true);
    double expected =
        switch (of.kind) {
          case DATA_PARALLEL -> dataParallelNs(of.layers, alone);
          case TENSOR_PARALLEL, EXPERTS ->
              2 * of.layers * 1.5 * LAYER_NS + (4 * of.layers - 1) * alone + aloneNs(of, false);
          case PIPELINE -> pipelineNs(of.ranks, of.layers * LAYER_NS, alone);
        };
    assertThat(replayNs(of) - beginNs(of)).isCloseTo(expected, within(expected * SLACK));
  }

  /** Sums one after the other, each when its layer is done backwards; then the optimizer. */
  private static double dataParallelNs(int layers, double sum) {
    double computed = layers * LAYER_NS;
    double summed = 0;
    for (int l = 0; l < layers; l++) {
      computed += 2 * LAYER_NS;
      summed = Math.max(summed, computed) + sum;
    }
    return Math.max(computed, summed) + LAYER_NS / 2;
  }

  /** Two micro-batches for each stage, all forwards, then all backwards. */
  private static double pipelineNs(int stages, double forward, double message) {
    double between = (stages - 1) * message;
    return (2 * stages + stages - 1) * 3 * forward + 2 * between;
  }

  private double replayNs(Case of) {
    RunOptions options =
        RunOptions.DEFAULT
            .withMode(Mode.TIME)
            .withTopology("ring")
            .withOverrides(overrides(of))
            .withParams(List.of("workload=" + folder.resolve("t")));
    var result = Runner.of("test", Progress.SILENT).run(new TraceReplayBench(), options);
    assertThat(result.problems()).isEmpty();
    return new BigDecimal(String.valueOf(result.metrics().get("crit_ns"))).doubleValue();
  }

  private static List<String> overrides(Case of) {
    return List.of("system.sips.count=" + of.ranks);
  }

  /** What the host takes before the first kernel. */
  private static double beginNs(Case of) {
    Machine machine = Machines.load("ring", overrides(of));
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      Launch launch =
          torch.launchAfter("c", tl -> tl.elapse(5_000), List.of(machine.peAt(0)), List.of());
      torch.await(launch);
      return launch.startPs() / 1e3;
    }
  }

  /**
   * One collective or message of the size. A computation waits for it, as in the trace for all but
   * the last: where two streams have something to do a PE chooses a command after all else that
   * happens in that picosecond, and where it ties with a message it comes second.
   */
  private static double aloneNs(Case of, boolean waitedFor) {
    Machine machine = Machines.load("ring", overrides(of));
    CollectiveLibrary library =
        CollectiveLibrary.open(
            machine,
            CclConfig.load(
                Optional.empty(),
                List.of(
                    "defaults.algorithm=ring",
                    "algorithms.ring.rank_level=sip",
                    "algorithms.ring.world_size=" + of.ranks)));
    try (Torch torch =
        Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME).withCollectives(library))) {
      torch.distributed().initProcessGroup();
      torch.multiprocessing().spawn(w -> once(of, w, waitedFor), of.ranks);
      torch.synchronize();
      return torch.distributed().history().getFirst().durationPs() / 1e3;
    }
  }

  private static void once(Case of, Worker w, boolean waitedFor) {
    int n = Math.toIntExact(of.bytes / 2);
    Tensor v = w.torch().empty(Shape.of(Math.ceilDiv(n, of.ranks) * of.ranks), DType.F16, "v");
    switch (of.kind) {
      case DATA_PARALLEL, TENSOR_PARALLEL ->
          waitFor(
              waitedFor,
              w,
              w.distributed().allReduceAsync(v.view(0, Shape.of(n), "whole"), ReduceKind.SUM));
      case EXPERTS -> {
        Tensor to = w.torch().empty(v.shape(), DType.F16, "to");
        waitFor(waitedFor, w, w.distributed().world().allToAllAsync(to, v));
      }
      case PIPELINE -> {
        Tensor part = v.view(0, Shape.of(n), "whole");
        if (w.rank() == 0) {
          w.distributed().isend(part, 1).await();
        } else if (w.rank() == 1) {
          w.distributed().irecv(part, 0).await();
        }
      }
    }
  }

  private static void waitFor(boolean waitedFor, Worker w, Work work) {
    work.await();
    if (!waitedFor) {
      return;
    }
    List<Launch> before = work.launch().stream().toList();
    Pe pe = w.torch().machine().peAt(w.rank());
    w.torch().launchAfter("next", tl -> tl.elapse(5_000), List.of(pe), before);
  }
}
