/*
 * Products and softmax on tensors that lie over ranks in different ways (DTensor), and what each
 * has to send for that.
 *
 * Every operation looks up its rules for each dimension of the mesh, and follows the one whose
 * operands are quickest to bring where it wants them. What it brings is explained, with the line
 * that asked.
 *
 * Run:      scripts/run-java examples/PlacedOperators.java
 * Expected: (checked by ExamplesTest)
 *   PlacedOperators.java:62: matmul: tp: Replicate, Shard(1) -> Shard(1); dp: Shard(0), Replicate -> Shard(0)
 *   PlacedOperators.java:62: gelu: tp: Shard(1) -> Shard(1); dp: Shard(0) -> Shard(0)
 *   PlacedOperators.java:62: matmul: tp: Shard(1), Shard(0) -> Partial(sum); dp: Shard(0), Replicate -> Shard(0)
 *     left in parts: 1024 bytes, predicted 281.280 ns, when it is needed
 *   PlacedOperators.java:63: softmax: tp: Replicate -> Replicate; dp: Shard(0) -> Shard(0)
 *     operand 0: tp: Partial(sum) -> Replicate: all_reduce, 2048 bytes
 *     sent 2048 bytes, predicted 562.560 ns
 *   lies as [Replicate, Shard(0)]; 8 rows sum to 8
 */
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.placements.DeviceMesh;
import org.kernbench.nn.placements.DistributedTensor;
import org.kernbench.nn.placements.PlacedOperations;
import org.kernbench.nn.placements.Placement;
import org.kernbench.nn.placements.Placement.Replicate;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class PlacedOperators {
  public static void main(String[] args) {
    Machine machine = Machines.load("ring", List.of("system.sips.count=4"));
    CclConfig ccl = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=ring"));
    TorchOptions options =
        TorchOptions.DEFAULT.withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup();
      torch.multiprocessing().spawn(PlacedOperators::layers, 4);
    }
  }

  /** Each rank makes the same calls. */
  private static void layers(Worker worker) {
    DeviceMesh mesh = DeviceMesh.create(worker.distributed(), RankGrid.parse("tp=2,dp=2"));
    PlacedOperations ops = new PlacedOperations(worker.torch(), mesh);
    Placement all = new Replicate();

    // Samples are divided over dp, weights over tp: by columns, then by rows.
    DistributedTensor x = random(worker, mesh, Shape.of(8, 32), all, new Shard(0));
    DistributedTensor up = random(worker, mesh, Shape.of(32, 64), new Shard(1), all);
    DistributedTensor down = random(worker, mesh, Shape.of(64, 32), new Shard(0), all);
    DistributedTensor y = ops.matmul(ops.gelu(ops.matmul(x, up)), down);
    DistributedTensor p = ops.softmax(y); // needs whole sums, so that they are formed here

    double[] whole = p.full();
    if (worker.rank() == 0) {
      System.out.print(ops.explain());
      double sum = 0;
      for (double v : whole) {
        sum += v;
      }
      System.out.println("lies as " + p.placements() + "; 8 rows sum to " + Math.round(sum));
    }
  }

  private static DistributedTensor random(
      Worker worker, DeviceMesh mesh, Shape shape, Placement... placements) {
    double[] values = new Random(1).doubles(shape.elements(), -1, 1).toArray();
    return DistributedTensor.distribute(
        worker.torch(), mesh, values, shape, DType.F32, List.of(placements));
  }
}
