package org.kernbench.nn.kernels;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machines;
import org.kernbench.nn.kernels.OperandBound.Made;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.Spread;

/** Operands and copies on their way: no division of the work takes less than the bound. */
final class OperandBoundTest {
  private static Torch open(String machine, String... more) {
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.TIME).withSpread(Spread.ALL);
    return Torch.open(Machines.load(machine, List.of(more)), options);
  }

  private static long boundPs(Torch torch, Made... products) {
    return new OperandBound(new Compute(torch, t -> t)).leastPs(List.of(products));
  }

  /** A PE of 128 makes 479 x 479 sums; 8 TFLOP/s, and 256 GB/s through its link, in turn. */
  @Test
  void inTurn_isTheSumOfProductsLoadsAndStores() {
    try (Torch torch = open("kb-compat")) {
      double sums = 2048.0 * 14336 / 128;
      double seconds =
          sums * 4096 / (64 * 64 * 976.5625e6)
              + 2 * Math.sqrt(sums) * 4096 * 2 / 256e9
              + sums * 2 / 256e9;
      long stored = 2048L * 14336 * 2;
      assertThat(boundPs(torch, new Made(2048, 14336, 4096, 2, 4, 1, stored)) / 1e12)
          .isCloseTo(seconds, within(1e-3 * seconds));
    }
  }

  /**
   * Fewer PEs would load less, but each more: sums of a PE are as many as its link of 256 GB/s
   * brings operands for in the time in which memories of 217.6 GB/s give all of them.
   */
  @Test
  void overlapped_isWhereLinksOfPesAndMemoriesMeet() {
    try (Torch torch = open("sip-2026-compute")) {
      double each = 2.0 * 256 * 14336 * 2;
      double seconds = each / Math.sqrt(256e9 * 217.6e9);
      assertThat(boundPs(torch, new Made(2048, 4096, 14336, 2, 4, 1, 0)) / 1e12)
          .isCloseTo(seconds, within(1e-6 * seconds));
    }
  }

  /** Whatever blocks of one or two products PEs make, link, engine and memory take longer. */
  @ParameterizedTest
  @ValueSource(strings = {"kb-compat", "sip-2026-compute", "sip-2026"})
  void anyDivision_takesNoLess(String machine) {
    Random random = new Random(11);
    boolean serial = machine.equals("kb-compat");
    double macs =
        switch (machine) {
          case "kb-compat" -> 4e12;
          case "sip-2026" -> 8.192e12;
          default -> 32.768e12;
        };
    double hbm = serial ? 256e9 : 217.6e9;
    try (Torch torch = open(machine, "sip.cube_mesh.w=2", "sip.cube_mesh.h=1")) {
      int pes = torch.mesh().size();
      double closest = 0;
      for (int run = 0; run < 300; run++) {
        List<Made> products = new ArrayList<>();
        double[] multiplying = new double[pes];
        double[] loaded = new double[pes];
        double stored = 0;
        for (int i = 0; i <= random.nextInt(2); i++) {
          int k = 1 << random.nextInt(4, 13);
          int m = 64 << random.nextInt(6);
          int n = 64 << random.nextInt(6);
          int high = Math.min(m, 1 << random.nextInt(4, 9));
          int wide = Math.min(n, 1 << random.nextInt(4, 9));
          int first = random.nextInt(pes);
          int among = random.nextInt(4) == 0 ? 1 + random.nextInt(pes) : pes;
          for (int block = 0; block < m / high * (n / wide); block++) {
            int pe = (first + block % among) % pes;
            multiplying[pe] += (double) high * wide * k / macs;
            loaded[pe] += (high + wide) * 2.0 * k;
          }
          products.add(new Made(m, n, k, 2, 4, 1, 2L * m * n));
          stored += 2.0 * m * n;
        }
        double most = 0;
        double all = stored;
        for (int pe = 0; pe < pes; pe++) {
          double link = loaded[pe] / 256e9;
          double one = serial ? multiplying[pe] + link : Math.max(multiplying[pe], link);
          most = Math.max(most, one);
          all += loaded[pe];
        }
        double seconds = Math.max(most, all / (pes * hbm));
        double bound = boundPs(torch, products.toArray(Made[]::new)) / 1e12;
        if (!serial) { // there stores of each PE count as well
          assertThat(bound).isLessThanOrEqualTo(seconds);
        } else {
          assertThat(bound).isLessThanOrEqualTo(seconds + stored / pes / 256e9);
        }
        closest = Math.max(closest, bound / seconds);
      }
      assertThat(closest).isGreaterThan(0.95); // or it would say nothing
    }
  }

  /**
   * In 4 x 4 cubes each row needs a quarter of the rows in all its cubes. The first column holds a
   * quarter of the tensor, and its four cubes get the rest by four links of 512 GB/s.
   */
  @Test
  void copies_comeThroughTheLinksBetweenTwoColumns() {
    try (Torch torch = open("sip-2026")) {
      Compute compute = new Compute(torch, t -> t);
      Shape shape = Shape.of(2048, 1024);
      Tensor x = Compute.spread(torch, "x", shape, DType.BF16);
      Copies copies = new Copies(compute, "copies", shape, DType.BF16, 1);
      long bound =
          new CopyBound(torch.machine(), compute.mesh())
              .leastPs(copies.tensors().getFirst(), 1, List.of(x));
      double seconds = 0.75 * 2048 * 1024 * 2 / (4 * 512e9);
      assertThat(bound / 1e12).isCloseTo(seconds, within(1e-6 * seconds));
      copies.make(
          "copies",
          List.of(x),
          false,
          (tl, to, start, count) -> compute.copy(tl, x, to, start, count, new Pace(tl, false)));
      torch.synchronize();
      assertThat(torch.simulator().nowPs()).isGreaterThan(bound);
      assertThat(compute.work().get("copies").linksPs()).isEqualTo(bound);
    }
  }
}
