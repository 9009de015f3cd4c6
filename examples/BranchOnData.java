/*
 * A kernel that looks at data: Newton's iteration for a square root, until it no longer moves.
 *
 * item() gives the kernel a number that the machine has computed: the kernel waits until simulated
 * time has produced it, and may then branch on it. The same kernel takes different times for
 * different inputs. clock() is the simulated time on the PE.
 *
 * Such a kernel needs values, so it cannot run in mode `time`.
 *
 * Run:      scripts/run-java examples/BranchOnData.java
 * Expected: (checked by ExamplesTest)
 *     5 steps
 *   root of 2.0 is 1.414214, after 309.038 ns
 *     14 steps
 *   root of 1000000.0 is 1000.000000, after 579.038 ns
 */
import java.util.List;
import java.util.Locale;
import org.kernbench.device.Launch;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class BranchOnData {
  public static void main(String[] args) {
    Machine machine = Machines.load("tiny", List.of());
    for (double square : new double[] {2, 1e6}) {
      try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
        Tensor x = torch.full(Shape.of(1), DType.F32, square, "x");
        Launch launch = torch.launch("square root", tl -> squareRoot(tl, x), x);
        torch.await(launch);
        print("root of %s is %.6f, after %.3f ns", square, x.get(0), launch.criticalPs() / 1e3);
      }
    }
  }

  private static void squareRoot(Tl tl, Tensor x) {
    Value square = tl.load(x);
    Value root = square;
    for (int step = 1; ; step++) {
      Value next = square.div(root).add(root).mul(0.5);
      double moved = tl.item(next.sub(root).abs());
      root = next;
      if (moved < 1e-6 * tl.item(root)) {
        print("  %d steps", step);
        break;
      }
    }
    tl.store(x, root);
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
