/*
 * How a tensor lies over a device: splits of cubes and PEs, shards, and one address range for all.
 *
 * Run:      scripts/run-java examples/Placements.java
 * Expected: (checked by ExamplesTest)
 *   ragged [2, 7] over 8 PEs
 *     sip0.cube0.pe0 has [2, 2] from [0, 0]
 *     sip0.cube0.pe1 has [2, 2] from [0, 0]
 *     sip0.cube1.pe0 has [2, 2] from [0, 2]
 *     sip0.cube1.pe1 has [2, 2] from [0, 2]
 *     sip0.cube2.pe0 has [2, 2] from [0, 4]
 *     sip0.cube2.pe1 has [2, 2] from [0, 4]
 *     sip0.cube3.pe0 has [2, 1] from [0, 6]
 *     sip0.cube3.pe1 has [2, 1] from [0, 6]
 *   tiles [8, 8] over 8 PEs
 *     sip0.cube0.pe0 has [4, 2] from [0, 0]
 *     sip0.cube0.pe1 has [4, 2] from [0, 2]
 *     sip0.cube1.pe0 has [4, 2] from [0, 4]
 *     sip0.cube1.pe1 has [4, 2] from [0, 6]
 *   few [3] over 4 PEs
 *     sip0.cube0.pe0 has [1] from [0]
 *     sip0.cube0.pe1 has [1] from [1]
 *     sip0.cube1.pe0 has [1] from [2]
 *     sip0.cube1.pe1 has [0] from [3]
 *   refused: placement "sip=row_wise": sip=row_wise asks for a split across packages, which a placement does not have: a tensor lies on the one device that setDevice chooses; make one tensor per rank
 *   y[0] = 35.0, y[39] = 4.0
 *   16 translations, 8 not in a TLB; kernel 299.184 ns
 */
import java.util.List;
import java.util.Locale;
import org.kernbench.device.Launch;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.placement.DpPolicy.Split;
import org.kernbench.torch.placement.ShardSpec;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class Placements {
  public static void main(String[] args) {
    Machine machine = Machines.load("tiny", List.of()); // one package: 2 x 2 cubes of 2 PEs
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      // Seven columns over four cubes; in each cube both PEs hold a copy of its columns.
      DpPolicy columns = DpPolicy.of(Split.COLUMN_WISE, Split.REPLICATE);
      show(torch.zeros(Shape.of(2, 7), DType.F32, columns, "ragged"), 8);

      // Tiles: a grid of cubes, then of the PEs in each.
      show(torch.zeros(Shape.of(8, 8), DType.F32, DpPolicy.tiledRowMajor(), "tiles"), 4);

      // Fewer places than there are; shards may be empty.
      DpPolicy few = DpPolicy.parse("cube=row_wise pe=row_wise num_cubes=2");
      show(torch.zeros(Shape.of(3), DType.F32, few, "few"), 4);

      // A tensor belongs to one device. More devices: one tensor per rank.
      try {
        DpPolicy.parse("sip=row_wise");
      } catch (SimulationException e) {
        print("refused: %s", e.getMessage());
      }

      reverse(torch);
    }
  }

  private static void show(Tensor t, int shards) {
    print("%s %s over %d PEs", t.name(), t.shape(), t.shardSpecs().size());
    for (ShardSpec s : t.shardSpecs().subList(0, shards)) {
      print("  %s has %s from %s", s.place(), s.shape(), s.offset());
    }
  }

  /** Every PE reads another's shard by its address, and writes its own. */
  private static void reverse(Torch torch) {
    Tensor x = torch.from(upTo(40), Shape.of(40), DType.F32, DpPolicy.rowWise(), "x");
    Tensor y = torch.empty(Shape.of(40), DType.F32, DpPolicy.rowWise(), "y");
    Launch launch =
        torch.launch(
            "reverse",
            tl -> {
              int me = tl.programId(1) * tl.numPrograms(0) + tl.programId(0);
              long other = (7 - me) * 5L * Float.BYTES; // shards are 5 elements, one after another
              Value theirs = tl.load(x.address().plus(other), Shape.of(5), DType.F32);
              tl.store(y, theirs);
            },
            x,
            y);
    print("y[0] = %s, y[39] = %s", y.get(0), y.get(39)); // waits for the kernel
    MmuCounts mmu = torch.simulator().mmuCounts();
    print(
        "%d translations, %d not in a TLB; kernel %.3f ns",
        mmu.lookups(), mmu.misses(), launch.criticalPs() / 1e3);
  }

  private static double[] upTo(int n) {
    double[] values = new double[n];
    for (int i = 0; i < n; i++) {
      values[i] = i;
    }
    return values;
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
