/*
 * The PyTorch way: a process group, one rank per package, gradients averaged by all-reduce.
 *
 * Ranks run one at a time, in an order that the program alone decides, and give way where they wait,
 * so no rank needs locks and every run is the same. ccl.yaml says how collectives run; here the ring
 * is chosen, with a rank per package.
 *
 * Run:      scripts/run-java examples/DataParallelMean.java
 * Expected: (checked by ExamplesTest)
 *   rank 0 of 6 starts with 1.0
 *   rank 1 of 6 starts with 2.0
 *   rank 2 of 6 starts with 3.0
 *   rank 3 of 6 starts with 4.0
 *   rank 4 of 6 starts with 5.0
 *   rank 5 of 6 starts with 6.0
 *   rank 0 has the mean 3.5
 *   rank 1 has the mean 3.5
 *   rank 2 has the mean 3.5
 *   rank 3 has the mean 3.5
 *   rank 4 has the mean 3.5
 *   rank 5 has the mean 3.5
 *   ring all-reduce: 3961.039 ns
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
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class DataParallelMean {
  public static void main(String[] args) {
    Machine machine = Machines.load("sip-2026", List.of());
    CclConfig ccl = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=ring"));
    TorchOptions options =
        TorchOptions.DEFAULT.withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      Distributed dist = torch.distributed();
      dist.initProcessGroup("ahbm");
      torch.multiprocessing().spawn(DataParallelMean::train, dist.getWorldSize());
      print(
          "%s all-reduce: %.3f ns",
          dist.algorithm(), dist.history().getLast().launch().criticalPs() / 1e3);
    }
  }

  /** One rank. Its tensors lie on its own package. */
  private static void train(Worker worker) {
    Torch torch = worker.torch();
    Tensor gradient = torch.full(Shape.of(64, 128), DType.BF16, worker.rank() + 1, "gradient");
    print("rank %d of %d starts with %s", worker.rank(), worker.worldSize(), gradient.get(0, 0));

    worker.distributed().allReduce(gradient, ReduceKind.AVG);

    for (float mean : gradient.toFloats()) {
      if (mean != 3.5f) { // (1 + 2 + ... + 6) / 6, exact in bf16
        throw new AssertionError("rank " + worker.rank() + ": got " + mean + "; expected 3.5");
      }
    }
    print("rank %d has the mean %s", worker.rank(), gradient.get(63, 127));
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
