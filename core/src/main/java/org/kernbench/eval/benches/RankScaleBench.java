package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.IntBinaryOperator;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.output.Digest;
import org.kernbench.machine.Machine;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.SubGroups;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Work;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;

/**
 * {@code rank-scale}: thousands of cooperative ranks that make many collective calls each, in
 * groups of a few and across them, as a parallel training step does; shows what the host side
 * costs.
 *
 * <p>The ranks stand in rows of {@code group}. In turn they all-reduce in their row, all-gather in
 * it, all-reduce in their column and pass a tensor to the next rank of the row.
 */
final class RankScaleBench implements Bench {
  /** Operations whose rows are kept; beyond, memory would be spent on a path nobody can read. */
  private static final int KEPT_OPERATIONS = 1 << 16;

  private static final int ELEMENTS = 4;

  private static final Param<Integer> RANKS =
      Param.integer("ranks", 256, 2, 16384, "number of ranks, one PE each");

  private static final Param<Integer> GROUP =
      Param.integer("group", 8, 1, 64, "ranks in a row; divides the ranks");

  private static final Param<Integer> CALLS =
      Param.integer("calls", 20, 1, 10_000, "collective calls of each rank");

  @Override
  public String name() {
    return "rank-scale";
  }

  @Override
  public String description() {
    return "many ranks that make many collective calls; try --mode values --param ranks=4096";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(RANKS, GROUP, CALLS);
  }

  @Override
  public Outcome run(BenchContext context) {
    int ranks = context.param(RANKS);
    int row = context.param(GROUP);
    if (ranks % row != 0) {
      throw new UsageException(
          "--param group: got %s, which does not divide %s ranks; use a divisor"
              .formatted(row, ranks));
    }
    CclConfig config = context.cclWith(List.of("defaults.algorithm=ring"));
    Machine machine = context.machine("ring", List.of("system.sips.count=" + ranks));
    RingScaleBench.checkPackages(machine, ranks);
    CollectiveLibrary library = CollectiveLibrary.open(machine, config);
    SimulatorOptions recording = context.recording(KEPT_OPERATIONS);
    Outcome outcome = Outcome.on(machine);
    ValueCheck.Comparison comparison = new ValueCheck.Comparison(0);
    Digest digest = new Digest();
    try (Torch torch =
        Torch.open(machine, new TorchOptions(context.mode(), recording, Optional.of(library)))) {
      Program program = Program.of(ranks, row, context.param(CALLS));
      torch.distributed().initProcessGroup();
      boolean values = context.mode() != Mode.TIME;
      int[] expected = values ? program.expected() : new int[0];
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor x = program.run(w);
                if (values) {
                  double[] got = x.toDoubles();
                  comparison.add(w.rank(), got, (rank, i) -> expected[rank]);
                  digest.add(got);
                }
              },
              ranks);
      OpLog log = torch.simulator().opLog();
      List<CollectiveRun> history = torch.distributed().history();
      outcome
          .condition("collectives", history.size())
          .simulated(
              torch.simulator().eventCount(), context.mode() == Mode.VALUES ? "" : log.hash());
      if (values) {
        outcome.values(comparison.result(), digest.text());
      }
      if (context.mode() != Mode.VALUES) {
        long first = history.stream().mapToLong(CollectiveRun::startPs).min().orElse(0);
        long last = history.stream().mapToLong(CollectiveRun::endPs).max().orElse(0);
        Bounds.Bound bound =
            history.stream() // no run is quicker than one of its calls
                .filter(run -> run.op() == CollectiveOp.ALL_REDUCE)
                .findFirst()
                .map(run -> Bounds.allReduce(machine, run.launch().pes(), run.bytes()))
                .orElse(new Bounds.Bound(0, "none"));
        outcome.time(last - first, bound.ps(), bound.kind());
        history.stream()
            .max(Comparator.comparingLong(CollectiveRun::endPs))
            .ifPresent(run -> outcome.explained(log, first, run.launch(), run.queues().spec()));
      }
    }
    return outcome;
  }

  /** What each rank does. */
  private record Program(
      int ranks, int calls, int row, List<List<Integer>> rows, List<List<Integer>> columns) {

    static Program of(int ranks, int row, int calls) {
      return new Program(
          ranks,
          calls,
          row,
          lists(ranks / row, row, (list, i) -> list * row + i),
          lists(row, ranks / row, (list, i) -> i * row + list));
    }

    Tensor run(Worker w) {
      Distributed d = w.distributed();
      SubGroups along = d.newSubgroupsByEnumeration(rows);
      SubGroups across = d.newSubgroupsByEnumeration(columns);
      Tensor x = w.torch().full(Shape.of(ELEMENTS), DType.I32, value(w.rank()), "x");
      Tensor all = w.torch().zeros(Shape.of(ELEMENTS * row), DType.I32, "all");
      Tensor from = w.torch().zeros(Shape.of(ELEMENTS), DType.I32, "from");
      ProcessGroup mine = along.own();
      for (int call = 0; call < calls; call++) {
        switch (call % 4) {
          case 0 -> mine.allReduce(x, ReduceKind.MAX);
          case 1 -> mine.allGather(all, x);
          case 2 -> across.own().allReduce(x, ReduceKind.MAX);
          default -> pass(mine, x, from);
        }
      }
      return x;
    }

    private void pass(ProcessGroup g, Tensor x, Tensor from) {
      if (g.size() == 1) {
        return;
      }
      int next = g.globalRank((g.rank() + 1) % g.size());
      int previous = g.globalRank((g.rank() + g.size() - 1) % g.size());
      Work send = g.isend(x, next);
      Work receive = g.irecv(from, previous);
      receive.await();
      send.await();
    }

    /** Any numbers that are not in the order of the ranks. */
    private static int value(int rank) {
      return Math.floorMod(rank * 7919 + 13, 1_000_003);
    }

    /** With one call the greatest of the row, with three the greatest of all. */
    int[] expected() {
      int[] greatest = new int[ranks];
      int block = calls < 3 ? row : ranks;
      for (int first = 0; first < ranks; first += block) {
        int most = 0;
        for (int i = first; i < first + block; i++) {
          most = Math.max(most, value(i));
        }
        Arrays.fill(greatest, first, first + block, most);
      }
      return greatest;
    }

    private static List<List<Integer>> lists(int count, int size, IntBinaryOperator rank) {
      List<List<Integer>> lists = new ArrayList<>();
      for (int list = 0; list < count; list++) {
        List<Integer> ranks = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
          ranks.add(rank.applyAsInt(list, i));
        }
        lists.add(List.copyOf(ranks));
      }
      return List.copyOf(lists);
    }
  }
}
