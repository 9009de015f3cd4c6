/*
 * Ring attention: a sequence is divided over processing elements; queries stay, keys and values go
 * round. While a PE attends to one block, the next one is on its way.
 *
 * Maximum, sum and weighted values are kept per query and rescaled when a block brings a larger
 * score (online softmax), so no PE ever sees the whole row of scores.
 *
 * Run:      scripts/run-java examples/RingAttention.java
 * Expected: (checked by ExamplesTest)
 *   8 ranks, 32 queries and keys each: 2510.590 ns
 *   largest error below 2^-10: true
 */
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.DpPolicy;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class RingAttention {
  private static final int RANKS = 8;
  private static final int SEQUENCE = 256;
  private static final int BLOCK = SEQUENCE / RANKS;
  private static final int HEAD = 64;

  public static void main(String[] args) {
    Machine machine = Machines.load("sip-2026", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      DpPolicy rows = DpPolicy.rowWise().withCubes(1).withPes(RANKS);
      Shape shape = Shape.of(SEQUENCE, HEAD);
      Tensor q = torch.from(random(1), shape, DType.F16, rows, "q");
      Tensor k = torch.from(random(2), shape, DType.F16, rows, "k");
      Tensor v = torch.from(random(3), shape, DType.F16, rows, "v");
      Tensor y = torch.zeros(shape, DType.F16, rows, "y");

      List<QueuePlan.Connection> ring = new ArrayList<>();
      for (int r = 0; r < RANKS; r++) {
        Pe next = new Pe(0, 0, (r + 1) % RANKS);
        ring.add(new QueuePlan.Connection(new Pe(0, 0, r), "E", next, "W"));
      }
      QueueSet queues = torch.simulator().install(new QueuePlan(machine.ipcq(), ring));

      Launch launch =
          torch.launch("ring-attention", tl -> attend(tl, q, k, v, y), queues, q, k, v, y);

      double error = worst(y.toDoubles(), q.toDoubles(), k.toDoubles(), v.toDoubles());
      System.out.println(
          String.format(
              Locale.ROOT,
              "%d ranks, %d queries and keys each: %.3f ns",
              RANKS,
              BLOCK,
              launch.criticalPs() / 1e3));
      System.out.println("largest error below 2^-10: " + (error < 0x1p-10));
    }
  }

  private static void attend(Tl tl, Tensor q, Tensor k, Tensor v, Tensor y) {
    Value query = tl.load(q);
    Value keys = tl.load(k);
    Value values = tl.load(v);
    Value largest = tl.full(Shape.of(BLOCK, 1), Double.NEGATIVE_INFINITY, DType.F32);
    Value sum = tl.zeros(Shape.of(BLOCK, 1), DType.F32);
    Value weighted = tl.zeros(Shape.of(BLOCK, HEAD), DType.F32);
    for (int step = 0; step < RANKS; step++) {
      Value nextKeys = keys;
      Value nextValues = values;
      if (step < RANKS - 1) {
        tl.send("E", keys); // on its way before the products begin
        tl.send("E", values);
        nextKeys = tl.recv("W", Shape.of(BLOCK, HEAD), DType.F16);
        nextValues = tl.recv("W", Shape.of(BLOCK, HEAD), DType.F16);
      }
      Value scores = tl.dot(query, keys.trans(), DType.F32).mul(1 / Math.sqrt(HEAD));
      Value most = largest.maximum(scores.max(1).expandDims(1));
      Value p = scores.sub(most).exp();
      Value fade = largest.sub(most).exp();
      sum = sum.mul(fade).add(p.sum(1).expandDims(1));
      weighted = tl.dot(p.cast(DType.F16), values, weighted.mul(fade));
      largest = most;
      tl.release(keys); // its slot is free for the sender as soon as the products have read it
      tl.release(values);
      keys = nextKeys;
      values = nextValues;
    }
    tl.store(y, weighted.div(sum).cast(DType.F16));
  }

  private static double[] random(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    double[] values = new double[SEQUENCE * HEAD];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextDouble(-1, 1);
    }
    return values;
  }

  /** Largest difference from attention in f64. */
  private static double worst(double[] y, double[] q, double[] k, double[] v) {
    double worst = 0;
    for (int i = 0; i < SEQUENCE; i++) {
      double[] p = new double[SEQUENCE];
      double sum = 0;
      for (int j = 0; j < SEQUENCE; j++) {
        for (int c = 0; c < HEAD; c++) {
          p[j] += q[i * HEAD + c] * k[j * HEAD + c] / Math.sqrt(HEAD);
        }
        p[j] = Math.exp(p[j]);
        sum += p[j];
      }
      for (int c = 0; c < HEAD; c++) {
        double want = 0;
        for (int j = 0; j < SEQUENCE; j++) {
          want += p[j] / sum * v[j * HEAD + c];
        }
        worst = Math.max(worst, Math.abs(y[i * HEAD + c] - want));
      }
    }
    return worst;
  }
}
