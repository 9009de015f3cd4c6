/*
 * ${name}: a bench of your own. As it stands it doubles a matrix on every processing element of a
 * package; put your kernel in its place.
 *
 *   kernbench run ${file}
 *   kernbench run ${file} --param rows=4096 --topology tiny --format json
 *   kernbench sweep ${file} --vary rows=64,256,1024 --out ${name}
 */
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class ${Class} implements Bench {
  private static final int COLUMNS = 64;

  /** Shown by --help of wrong values, set by --param rows=4096, varied by sweep --vary rows=64,128. */
  private static final Param<Integer> ROWS =
      Param.integer("rows", 1024, 8, 1 << 16, "rows of the matrix, laid over the PEs");

  @Override
  public String name() {
    return "${name}";
  }

  @Override
  public String description() {
    return "doubles a matrix, each PE its own rows";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(ROWS);
  }

  @Override
  public Outcome run(BenchContext context) {
    Machine machine = context.machine(); // --topology and --set
    int rows = context.param(ROWS);
    TorchOptions options =
        new TorchOptions(context.mode(), context.recording().withLines(), Optional.empty());
    try (Torch torch = Torch.open(machine, options)) {
      Shape shape = Shape.of(rows, COLUMNS);
      Tensor x = torch.full(shape, DType.F16, 1.5, DpPolicy.rowWise(), "x");
      Tensor y = torch.full(shape, DType.F16, 0, DpPolicy.rowWise(), "y");

      // The kernel: runs once on each PE, on the rows that lie there.
      Launch launch = torch.launch("${name}", tl -> tl.store(y, tl.load(x).mul(2)), x, y);
      torch.await(launch);

      Outcome outcome = Outcome.on(machine);
      if (context.mode() != Mode.TIME) { // every value against what it should be
        double[] expected = new double[rows * COLUMNS];
        Arrays.fill(expected, 3.0);
        outcome.values(y.toDoubles(), expected, 0);
      }
      if (context.mode() == Mode.VALUES) {
        return outcome.simulated(torch.simulator().eventCount(), "");
      }
      // The time beside a bound that no program can beat; then where the time went.
      return outcome
          .simulated(torch.simulator().eventCount(), torch.simulator().opLog().hash())
          .time(launch.criticalPs(), boundPs(machine, y, launch), "HBM bandwidth")
          .opLog(torch.simulator().opLog())
          .breakdown(
              Breakdown.of(machine, torch.simulator().opLog(), launch, machine.ipcq()));
    }
  }

  /** Some PE must read its share of the matrix over the narrowest link between its HBM and itself. */
  private static long boundPs(Machine machine, Tensor matrix, Launch launch) {
    Pe pe = launch.pes().getFirst();
    long bytes = matrix.sizeBytes() / launch.pes().size();
    long narrowest = 0;
    for (int link : machine.route(machine.hbmNode(pe), machine.peNode(pe)).links()) {
      narrowest = Math.max(narrowest, machine.link(link).rate().durationPs(bytes));
    }
    return narrowest;
  }
}
