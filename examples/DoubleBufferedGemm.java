/*
 * C = A B on one processing element, three times: waiting for every product before the next loads,
 * with the next tiles loaded behind each product, and as one composite operation.
 *
 * Nothing in the second kernel says "at the same time". A load is issued before the product that
 * does not need it, and runs on another engine; the product waits for its own operands only.
 *
 * Run:      scripts/run-java examples/DoubleBufferedGemm.java
 * Expected: (checked by ExamplesTest)
 *   one after the other   4160.384 ns, 29.9 % of the roofline; c[63, 63] = 128.0
 *   double-buffered       1688.376 ns, 73.6 % of the roofline; c[63, 63] = 128.0
 *   composite             1609.593 ns, 77.2 % of the roofline; c[63, 63] = 128.0
 *   composite with relu   1683.593 ns, 73.8 % of the roofline; c[63, 63] = 128.0
 */
import java.util.List;
import java.util.Locale;
import org.kernbench.device.Launch;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.tl.Epilogue;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class DoubleBufferedGemm {
  private static final int M = 64;
  private static final int K = 1024;
  private static final int N = 64;
  private static final int TILE = 64;

  public static void main(String[] args) {
    time(
        "one after the other",
        (a, b, c) ->
            tl -> {
              Shard left = tl.shard(a);
              Shard right = tl.shard(b);
              Value sums = tl.zeros(Shape.of(M, N), DType.F32);
              for (int k = 0; k < K; k += TILE) {
                Value x = tl.load(left.block(0, M, k, TILE));
                Value y = tl.load(right.block(k, TILE, 0, N));
                sums = tl.dotInPlace(sums, x, y);
                tl.await(sums);
                tl.release(x);
                tl.release(y);
              }
              tl.store(c, sums.cast(DType.F16));
            });
    time(
        "double-buffered",
        (a, b, c) ->
            tl -> {
              Shard left = tl.shard(a);
              Shard right = tl.shard(b);
              Value sums = tl.zeros(Shape.of(M, N), DType.F32);
              Value x = tl.load(left.block(0, M, 0, TILE));
              Value y = tl.load(right.block(0, TILE, 0, N));
              for (int k = TILE; k <= K; k += TILE) {
                Value nextX = k < K ? tl.load(left.block(0, M, k, TILE)) : x;
                Value nextY = k < K ? tl.load(right.block(k, TILE, 0, N)) : y;
                sums = tl.dotInPlace(sums, x, y);
                tl.release(x);
                tl.release(y);
                x = nextX;
                y = nextY;
              }
              tl.store(c, sums.cast(DType.F16));
            });
    time(
        "composite",
        (a, b, c) -> tl -> tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(b)).into(tl.ref(c))));
    time(
        "composite with relu",
        (a, b, c) ->
            tl ->
                tl.composite(
                    CompositeGemm.of(tl.ref(a), tl.ref(b))
                        .epilogue(Epilogue.relu())
                        .into(tl.ref(c))));
  }

  /** A kernel of three tensors. */
  private interface Gemm {
    Kernel of(Tensor a, Tensor b, Tensor c);
  }

  private static void time(String what, Gemm gemm) {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      Tensor a = torch.full(Shape.of(M, K), DType.F16, 0.5, "a");
      Tensor b = torch.full(Shape.of(K, N), DType.F16, 0.25, "b");
      Tensor c = torch.zeros(Shape.of(M, N), DType.F16, "c");
      Launch launch = torch.launch("gemm", gemm.of(a, b, c), a, b, c);
      double last = c.get(M - 1, N - 1); // waits for the kernel
      double bound = 2.0 * (M * K + K * N + M * N) / 217.6; // bytes at the rate of the slice
      System.out.println(
          String.format(
              Locale.ROOT,
              "%-20s %9.3f ns, %4.1f %% of the roofline; c[63, 63] = %s",
              what,
              launch.criticalPs() / 1e3,
              100e3 * bound / launch.criticalPs(),
              last));
    }
  }
}
