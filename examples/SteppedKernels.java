/*
 * A kernel that is asked for its commands step by step, and the same kernel in one piece.
 *
 * Each PE doubles its part of a tensor, tile by tile. In steps the kernel has no thread of its own,
 * which counts where there are thousands of PEs; what it does and the time that takes are the same.
 *
 * Run:      scripts/run-java examples/SteppedKernels.java
 * Expected: (checked by ExamplesTest)
 *   x[0, 0] = 4.0
 *   in one piece: 823.128 ns
 *   in steps:     823.128 ns
 */
import java.util.List;
import java.util.Locale;
import org.kernbench.device.Launch;
import org.kernbench.device.Steps;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Slice;
import org.kernbench.tl.SteppedKernel;
import org.kernbench.tl.Tl;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class SteppedKernels {
  private static final int TILES = 16;
  private static final int TILE = 2048;

  public static void main(String[] args) {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      Tensor x =
          torch.full(Shape.of(8 * TILES, TILE), DType.F16, 1, DpPolicy.rowWise(), "x"); // 8 PEs

      Kernel whole =
          tl -> {
            for (int i = 0; i < TILES; i++) {
              scaleTile(tl, x, i);
            }
          };
      SteppedKernel inSteps =
          tl ->
              new Steps() {
                private int tile;

                @Override
                public boolean next() {
                  scaleTile(tl, x, tile++);
                  return tile < TILES; // whether there is another step
                }
              };

      Launch first = torch.launch("whole", whole, x);
      torch.synchronize();
      Launch second = torch.launch("in steps", inSteps, x);
      print("x[0, 0] = %s", x.get(0, 0)); // waits for both
      print("in one piece: %.3f ns", first.criticalPs() / 1e3);
      print("in steps:     %.3f ns", second.criticalPs() / 1e3);
    }
  }

  private static void scaleTile(Tl tl, Tensor x, int tile) {
    try (Scope scope = tl.scope()) {
      Slice part = tl.shard(x).range(tile * TILE, TILE);
      tl.store(part, tl.load(part).mul(2));
    }
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
