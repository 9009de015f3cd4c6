/*
 * Ranks, groups and collectives: six packages as a 2 x 3 grid of ranks.
 *
 * Rows of the grid exchange by all-gather and reduce-scatter, columns by all-reduce, neighbours by
 * messages. All ranks create all groups, in the same order, and get the one that they are in.
 *
 * Run:      scripts/run-java examples/ProcessGroups.java
 * Expected: (checked by ExamplesTest)
 *   rank 0 has 2.0, then 9.0
 *   rank 0 got 5.0 from rank 5
 *     allGather of 192 B in group group 1 (cycle): 0.864 us
 *     reduceScatter of 192 B in group group 1 (cycle): 0.875 us
 *     allReduce of 64 B in group group 3 (ring): 0.869 us
 *     send and recv of 128 B in group world (direct): 0.922 us
 *   1 of 6 ranks failed
 *     rank 4: ranks disagree on what they do together:
 *         rank 0: allReduce #0 of group world: f32[8], SUM, at ProcessGroups.java
 *         rank 4: broadcast #0 of group world: f32[8], root 0, at ProcessGroups.java
 *         expected the same operation, shape, dtype and reduction on every rank of the group, in the same order
 */
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.P2POp;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.SpawnException;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Work;
import org.kernbench.torch.Worker;

public final class ProcessGroups {
  public static void main(String[] args) {
    Machine machine = Machines.load("sip-2026", List.of());
    CclConfig ccl = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=ring"));
    TorchOptions options =
        TorchOptions.DEFAULT.withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup();
      torch.multiprocessing().spawn(ProcessGroups::grid, 6);
      torch.distributed().history().stream()
          .filter(run -> run.ranks().contains(0))
          .forEach(run -> print("  %s: %.3f us", run, run.durationPs() / 1e6));
      try {
        torch.multiprocessing().spawn(ProcessGroups::disagree, 6);
      } catch (SpawnException e) {
        print("%s", e.getMessage().replaceAll("[.]java:\\d+", ".java")); // without line numbers
      }
    }
  }

  private static void grid(Worker worker) {
    Torch torch = worker.torch();
    Distributed dist = worker.distributed();
    int rank = worker.rank();
    ProcessGroup row =
        dist.newSubgroupsByEnumeration(List.of(List.of(0, 1, 2), List.of(3, 4, 5))).own();
    ProcessGroup column =
        dist.newSubgroupsByEnumeration(List.of(List.of(0, 3), List.of(1, 4), List.of(2, 5))).own();

    Tensor mine = torch.full(Shape.of(2, 8), DType.F32, rank, "mine");
    Tensor whole = torch.empty(Shape.of(6, 8), DType.F32, "whole");
    row.allGather(whole, mine); // [2, 8] of each of three ranks
    Tensor part = torch.empty(Shape.of(2, 8), DType.F32, "part");
    row.reduceScatter(part, whole, ReduceKind.SUM); // three times my own rows
    column.allReduce(part, ReduceKind.MAX);
    if (rank == 0) {
      print("rank 0 has %s, then %s", whole.get(5, 0), part.get(0, 0));
    }

    Tensor fromLeft = torch.empty(Shape.of(2, 8), DType.F32, "fromLeft");
    List<Work> works =
        dist.batchIsendIrecv(
            List.of(P2POp.isend(mine, (rank + 1) % 6), P2POp.irecv(fromLeft, (rank + 5) % 6)));
    works.forEach(Work::await);
    if (rank == 0) {
      print("rank 0 got %s from rank 5", fromLeft.get(0, 0));
    }
  }

  /** One rank calls something else: found when the calls meet, not as a hang. */
  private static void disagree(Worker worker) {
    Tensor t = worker.torch().zeros(Shape.of(8), DType.F32, "t");
    if (worker.rank() == 4) {
      worker.distributed().broadcast(t, 0);
    } else {
      worker.distributed().allReduce(t);
    }
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
