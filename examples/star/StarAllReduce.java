/*
 * A collective algorithm of your own, plugged in by name: everyone sends to rank 0, which adds and
 * sends the sum to everyone. The configuration names the class; everything else (process group,
 * value check, bound, breakdown) is as for the built-in algorithms.
 *
 * Run:      scripts/run-java examples/star/StarAllReduce.java
 * In a bench, which checks every value and says where the time went:
 *           ./kernbench run ccl-allreduce --class-path examples/star/StarAllReduce.java \
 *             --ccl-set defaults.algorithm=star --ccl-set algorithms.star.class=star.StarAllReduce
 * Is it right everywhere?
 *           ./kernbench conformance star.StarAllReduce --class-path examples/star/StarAllReduce.java
 * Expected: (checked by ExamplesTest)
 *   rank 0: x[0] = 21.0, x[9999] = 21.0
 *   rank 1: x[0] = 21.0, x[9999] = 21.0
 *   rank 2: x[0] = 21.0, x[9999] = 21.0
 *   rank 3: x[0] = 21.0, x[9999] = 21.0
 *   rank 4: x[0] = 21.0, x[9999] = 21.0
 *   rank 5: x[0] = 21.0, x[9999] = 21.0
 *   star all-reduce over 6 ranks: 3090.437 ns
 */
package star;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Segments;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

public final class StarAllReduce implements CollectiveAlgorithm {
  /** What a ccl.yaml would say. */
  private static final List<String> CONFIGURATION =
      List.of("defaults.algorithm=star", "algorithms.star.class=star.StarAllReduce");

  public StarAllReduce() {}

  @Override
  public String name() {
    return "star";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return new Star(group);
  }

  private record Star(Group group) implements Schedule {
    private static final int BLOCK = 4096; // elements at a time, so that operands fit the TCM

    /** What rank r sends to its "centre" arrives at rank 0 from "r", and the other way round. */
    @Override
    public List<QueuePlan.Connection> connections() {
      List<QueuePlan.Connection> rays = new ArrayList<>();
      for (int r = 1; r < group.size(); r++) {
        rays.add(new QueuePlan.Connection(group.lead(r), "centre", group.lead(0), "" + r));
      }
      return rays;
    }

    /** A promise that conformance checks: each other rank sends its vector and is sent the sum. */
    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      return OptionalLong.of(2L * (group.size() - 1) * call.bytes());
    }

    /** Another: nobody sends a second block before the first has come back. */
    @Override
    public OptionalInt leastSlots(CollectiveCall call) {
      return OptionalInt.of(1);
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      DType dtype = call.dtype();
      Segments blocks = Segments.ofAtMost(0, Math.toIntExact(call.elements()), BLOCK);
      return (tl, rank, vector, reduction) -> {
        for (int b = 0; b < blocks.parts(); b++) {
          if (rank == 0) {
            centre(tl, vector, reduction, blocks.start(b), blocks.count(b), dtype);
          } else {
            ray(tl, vector, blocks.start(b), blocks.count(b), dtype);
          }
        }
      };
    }

    private void centre(
        Tl tl, Payload vector, Reduction reduction, int start, int count, DType dtype) {
      Value sum = vector.read(tl, start, count);
      for (int r = 1; r < group.size(); r++) {
        sum = reduction.fold(tl, sum, tl.recv("" + r, Shape.of(count), dtype));
      }
      sum = reduction.finish(tl, sum); // divides, if it is an average
      for (int r = 1; r < group.size(); r++) {
        tl.send("" + r, sum);
      }
      vector.write(tl, start, count, sum);
      tl.release(sum);
    }

    private static void ray(Tl tl, Payload vector, int start, int count, DType dtype) {
      Value own = vector.read(tl, start, count);
      tl.send("centre", own);
      vector.giveBack(tl, own);
      Value sum = tl.recv("centre", Shape.of(count), dtype);
      vector.write(tl, start, count, sum);
      tl.release(sum);
    }
  }

  public static void main(String[] args) {
    Machine machine = Machines.load("sip-2026", List.of());
    CclConfig ccl = CclConfig.load(Optional.empty(), CONFIGURATION);
    CollectiveLibrary library = CollectiveLibrary.open(machine, ccl);
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withCollectives(library))) {
      Distributed dist = torch.distributed();
      dist.initProcessGroup("ahbm");
      torch.multiprocessing().spawn(StarAllReduce::rank, dist.getWorldSize());
      print(
          "%s all-reduce over %d ranks: %.3f ns",
          dist.algorithm(),
          dist.getWorldSize(),
          dist.history().getLast().launch().criticalPs() / 1e3);
    }
  }

  private static void rank(Worker worker) {
    Tensor x = worker.torch().full(Shape.of(10_000), DType.F32, worker.rank() + 1, "x");
    worker.distributed().allReduce(x);
    print("rank %d: x[0] = %s, x[9999] = %s", worker.rank(), x.get(0), x.get(9999));
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
