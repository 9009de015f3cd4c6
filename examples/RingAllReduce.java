/*
 * A collective of your own: ring all-reduce over the eight PEs of a cube, with messages.
 *
 * Each PE holds one row of x and wants the sum of all rows. A queue plan joins neighbours: what goes
 * out to "E" comes in from "W" of the next PE. Reduce-scatter: p - 1 times, a segment comes in, the
 * own numbers are added, and it goes on. All-gather: p - 1 times, a finished segment comes in, is
 * stored, and goes on.
 *
 * A slot holds 16 KiB here, so a segment is one message; longer messages take several slots.
 *
 * Run:      scripts/run-java examples/RingAllReduce.java
 * Expected: (checked by ExamplesTest)
 *   8 ranks, 32768 bytes each; every sum is right: true
 *   time 844.414 ns, bound 301.177 ns (memory)
 */
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class RingAllReduce {
  private static final int RANKS = 8;
  private static final int ELEMENTS = 8192;
  private static final int SEGMENT = ELEMENTS / RANKS;

  public static void main(String[] args) {
    Machine machine = Machines.load("sip-2026", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      List<Pe> ring = new ArrayList<>();
      for (int pe = 0; pe < RANKS; pe++) {
        ring.add(new Pe(0, 0, pe));
      }
      torch.simulator().install(new QueuePlan(machine.ipcq(), neighbours(ring)));

      // One row per PE of cube 0; row r holds r + 1.
      float[] rows = new float[RANKS * ELEMENTS];
      for (int i = 0; i < rows.length; i++) {
        rows[i] = i / ELEMENTS + 1;
      }
      Tensor x =
          torch.from(
              rows,
              Shape.of(RANKS, ELEMENTS),
              DType.F32,
              DpPolicy.rowWise().withCubes(1).withPes(RANKS),
              "x");

      Launch launch = torch.launch("ring all-reduce", tl -> allReduce(tl, tl.shard(x)), x);

      boolean right = true;
      for (float sum : x.toFloats()) { // waits for the kernel
        right &= sum == 36; // 1 + 2 + ... + 8
      }
      long bytes = x.sizeBytes() / RANKS;
      print("%d ranks, %d bytes each; every sum is right: %s", RANKS, bytes, right);
      Bounds.Bound bound = Bounds.allReduce(machine, ring, bytes);
      print(
          "time %.3f ns, bound %.3f ns (%s)",
          launch.criticalPs() / 1e3, bound.ps() / 1e3, bound.kind());
    }
  }

  private static List<QueuePlan.Connection> neighbours(List<Pe> ring) {
    List<QueuePlan.Connection> connections = new ArrayList<>();
    for (int i = 0; i < ring.size(); i++) {
      connections.add(
          new QueuePlan.Connection(ring.get(i), "E", ring.get((i + 1) % ring.size()), "W"));
    }
    return connections;
  }

  /** Segment i is the one that rank i sends first. */
  private static void allReduce(Tl tl, Shard row) {
    int me = tl.programId(0);
    tl.send("E", tl.load(row.range(me * SEGMENT, SEGMENT)));
    for (int step = 1; step < RANKS; step++) {
      int at = Math.floorMod(me - step, RANKS) * SEGMENT;
      Value own = tl.load(row.range(at, SEGMENT));
      Value sum = tl.recv("W", Shape.of(SEGMENT), DType.F32).add(own);
      tl.send("E", sum);
      if (step == RANKS - 1) { // all have added theirs: the last send began the all-gather
        tl.store(row.range(at, SEGMENT), sum);
      }
    }
    for (int step = 1; step < RANKS; step++) {
      int at = Math.floorMod(me + 1 - step, RANKS) * SEGMENT;
      Value done = tl.recv("W", Shape.of(SEGMENT), DType.F32);
      if (step < RANKS - 1) {
        tl.send("E", done);
      }
      tl.store(row.range(at, SEGMENT), done);
    }
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }
}
