/*
 * A first kernel: y = a x + y, on every processing element of a package at once.
 *
 * The rows of x and y are laid over all PEs. The kernel runs once per PE and works on the part that
 * lies there: load both from HBM, multiply, add, store. Reading the result on the host waits for it.
 *
 * Run:      scripts/run-java examples/Axpy.java
 * Expected: (checked by ExamplesTest)
 *   8 PEs, each with [512, 64] of f16[4096, 64]
 *   y[0, 0] = 4.0, y[4095, 63] = 4.0
 *   kernel: 1382.846 ns; at 217.6 GB/s each HBM slice needs at least 903.529 ns
 */
import java.util.List;
import java.util.Locale;
import org.kernbench.device.Launch;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class Axpy {
  public static void main(String[] args) {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      Shape shape = Shape.of(4096, 64);
      Tensor x = torch.full(shape, DType.F16, 1.5, DpPolicy.rowWise(), "x");
      Tensor y = torch.full(shape, DType.F16, 1, DpPolicy.rowWise(), "y");

      Launch launch =
          torch.launch(
              "axpy",
              tl -> {
                Value scaled = tl.load(x).mul(2);
                tl.store(y, scaled.add(tl.load(y)));
              },
              x,
              y);

      print(
          "%d PEs, each with %s of %s%s",
          launch.pes().size(), y.shards().getFirst().shape(), y.dtype(), y.shape());
      print("y[0, 0] = %s, y[4095, 63] = %s", y.get(0, 0), y.get(4095, 63)); // waits for the kernel

      long bytesPerPe = 3 * y.sizeBytes() / launch.pes().size(); // two loads and a store
      double bound = bytesPerPe / 217.6; // bytes per ns
      print(
          "kernel: %.3f ns; at 217.6 GB/s each HBM slice needs at least %.3f ns",
          launch.criticalPs() / 1e3, bound);
    }
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
