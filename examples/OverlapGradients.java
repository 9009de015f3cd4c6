/*
 * Hiding communication: while the gradient of one layer is reduced, the next one is computed.
 *
 * The backward pass goes from the last layer to the first. `allReduceAsync` returns at once with a
 * Work; the reduction runs on the PEs' second program stream beside the kernels that are launched
 * meanwhile, and shares engines, memories and links with them. `await` orders what comes later
 * behind it.
 *
 * The same pass twice, first waiting for every reduction, then overlapping. Each reduction takes
 * longer when it shares its PE, but less of it is on the critical path; the last ones have nothing
 * left to hide behind.
 *
 * Run:      scripts/run-java examples/OverlapGradients.java
 * Expected: (checked by ExamplesTest)
 *   waiting for each: 45.846 us in all
 *     allReduce took  4.686 us,  0.000 of them hidden
 *     allReduce took  4.686 us,  0.000 of them hidden
 *     allReduce took  4.686 us,  0.000 of them hidden
 *     allReduce took  4.686 us,  0.000 of them hidden
 *   overlapping: 35.192 us in all
 *     allReduce took  9.082 us,  9.082 of them hidden
 *     allReduce took  9.925 us,  9.925 of them hidden
 *     allReduce took  4.724 us,  1.380 of them hidden
 *     allReduce took  4.686 us,  0.000 of them hidden
 */
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Work;
import org.kernbench.torch.Worker;

public final class OverlapGradients {
  private static final int LAYERS = 4;
  private static final int WIDTH = 256;
  private static final int SAMPLES = 512;

  public static void main(String[] args) {
    pass("waiting for each", false);
    pass("overlapping", true);
  }

  private static void pass(String what, boolean overlap) {
    Machine machine = Machines.load("sip-2026", List.of());
    CclConfig ccl = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=ring"));
    TorchOptions options =
        TorchOptions.DEFAULT.withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      Distributed dist = torch.distributed();
      dist.initProcessGroup();
      torch.multiprocessing().spawn(worker -> backward(worker, overlap), dist.getWorldSize());

      print("%s: %.3f us in all", what, torch.simulator().nowPs() / 1e6);
      for (CollectiveRun run : dist.history()) {
        print(
            "  %s took %6.3f us, %6.3f of them hidden",
            run.op().method(), run.durationPs() / 1e6, run.hiddenPs() / 1e6);
      }
    }
  }

  /** One rank: the gradients of all layers, last layer first. */
  private static void backward(Worker worker, boolean overlap) {
    Torch torch = worker.torch();
    Distributed dist = worker.distributed();
    List<Work> pending = new ArrayList<>();
    List<Tensor> gradients = new ArrayList<>();
    Tensor error = torch.full(Shape.of(SAMPLES, WIDTH), DType.F16, 0.01, "error");
    for (int layer = LAYERS - 1; layer >= 0; layer--) {
      Tensor input = torch.full(Shape.of(SAMPLES, WIDTH), DType.F16, worker.rank(), "x" + layer);
      Tensor gradient = torch.empty(Shape.of(WIDTH, WIDTH), DType.F16, "grad" + layer);
      gradients.add(gradient);
      torch.launch(
          "backward " + layer,
          tl -> product(tl, input, error, gradient),
          input,
          error,
          gradient);
      if (overlap) {
        pending.add(dist.allReduceAsync(gradient, ReduceKind.AVG));
      } else {
        dist.allReduce(gradient, ReduceKind.AVG);
        torch.synchronize(); // what an author does who wants to see each gradient at once
      }
    }
    for (Work work : pending) {
      work.await();
    }
    for (Tensor gradient : gradients) { // mean rank 2.5 x 0.01 x 512 samples
      if (Math.abs(gradient.get(7, 9) - 12.8) > 0.02) {
        throw new AssertionError(gradient + ": expected 12.8");
      }
    }
  }

  /** gradient = input^T error, 32 samples at a time, so that loads, products and messages mix. */
  private static void product(Tl tl, Tensor input, Tensor error, Tensor gradient) {
    Value sum = tl.zeros(Shape.of(WIDTH, WIDTH), DType.F32);
    for (int row = 0; row < SAMPLES; row += 32) {
      try (Scope turn = tl.scope()) {
        Value in = tl.load(tl.shard(input).block(row, 32, 0, WIDTH));
        Value up = tl.load(tl.shard(error).block(row, 32, 0, WIDTH));
        Value next = turn.keep(tl.dot(in.trans(), up, sum));
        tl.release(sum);
        sum = next;
      }
    }
    tl.store(gradient, sum.cast(DType.F16));
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
