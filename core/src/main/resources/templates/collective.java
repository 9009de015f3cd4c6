/*
 * ${name}: a collective algorithm of your own. As it stands everyone sends to rank 0, which adds and
 * sends the sum to everyone; put your schedule in its place.
 *
 *   kernbench run ccl-allreduce --class-path ${file} \
 *     --ccl-set defaults.algorithm=${name} --ccl-set algorithms.${name}.class=own.${Class}
 *
 * The bench compares every value on every rank with sums in f64, and says what the time went to.
 */
package own;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Segments;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.placement.RankLevel;

public final class ${Class} implements CollectiveAlgorithm {
  public ${Class}() {}

  @Override
  public String name() {
    return "${name}";
  }

  /** What a rank owns if ccl.yaml does not say: a PE, a cube, or a package (SIP). */
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

    /** The queues: what rank r sends to its "centre" arrives at rank 0 from "r", and back. */
    @Override
    public List<QueuePlan.Connection> connections() {
      List<QueuePlan.Connection> rays = new ArrayList<>();
      for (int r = 1; r < group.size(); r++) {
        rays.add(new QueuePlan.Connection(group.lead(r), "centre", group.lead(0), "" + r));
      }
      return rays;
    }

    /** What each rank does with its vector. */
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
}
