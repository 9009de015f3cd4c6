package org.kernbench.nn.kernels;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.Spread;

/** Copies that are handed on from cube to cube. */
final class CopiesTest {
  /** Every copy has all elements, whatever the grid and however few rows there are. */
  @ParameterizedTest
  @CsvSource({
    "sip-2026, 4, 2, 0, 37, 5, FULL",
    "sip-2026, 4, 2, 1, 37, 5, VALUES",
    "sip-2026, 2, 3, 0, 64, 8, VALUES",
    "sip-2026, 1, 4, 0, 9, 3, FULL",
    "sip-2026, 3, 1, 0, 1, 6, VALUES",
    "sip-2026, 3, 1, 1, 50, 1, VALUES",
    "kb-compat, 4, 2, 1, 1024, 512, FULL",
    "kb-compat, 1, 4, 0, 1000, 512, FULL",
  })
  void everyCopy_hasAllElements(
      String machine, int wide, int high, int axis, int rows, int columns, Mode mode) {
    double[] values = new Random(rows).doubles(rows * columns, -1, 1).toArray();
    try (Torch torch = open(machine, wide, high, mode)) {
      Shape shape = Shape.of(rows, columns);
      Tensor x = Compute.spread(torch, "x", shape, DType.F64).copyInPlace(values);
      Compute compute = new Compute(torch, t -> t);
      Copies copies = new Copies(compute, "copies", shape, DType.F64, axis);
      make(compute, copies, x);
      List<Tensor> all = copies.tensors();
      assertThat(all).hasSize(axis == 0 ? high : wide);
      all.forEach(copy -> assertThat(copy.toDoubles()).isEqualTo(values));
    }
  }

  /**
   * In a row of n cubes, the link in the middle would carry {@code floor(n/2) ceil(n/2)} shares in
   * each direction if every cube fetched all of them: at the link's rate that takes longer than
   * handing on does, which carries {@code n - 1} in steps.
   */
  @Test
  void handingOn_isQuickerThanTheMiddleLinkAllowsOtherwise() {
    int cubes = 6;
    try (Torch torch = open("sip-2026", cubes, 1, Mode.TIME)) {
      Machine machine = torch.machine();
      Shape shape = Shape.of(cubes * 8 * 128, 1024);
      Tensor x = Compute.spread(torch, "x", shape, DType.F32);
      Compute compute = new Compute(torch, t -> t);
      make(compute, new Copies(compute, "copies", shape, DType.F32, 1), x);
      torch.synchronize();
      LaunchLog log = torch.simulator().opLog().launches();
      assertThat(log.size()).isEqualTo(cubes);
      List<Long> ends = new ArrayList<>();
      for (int i = 0; i < log.size(); i++) {
        ends.add(log.donePs(i));
      }
      double share = x.sizeBytes() / (double) cubes;
      double linkPs = share / LINK * 1e12;
      assertThat(machine.cubesPerSip()).isEqualTo(cubes);
      double took = ends.getLast() - ends.getFirst();
      assertThat(took).isGreaterThan((cubes - 1) * linkPs).isLessThan(9 * linkPs);
    }
  }

  /** Bytes per second of a link between cubes of sip-2026, in each direction. */
  private static final double LINK = 512e9;

  private static Torch open(String machine, int wide, int high, Mode mode) {
    TorchOptions options = TorchOptions.DEFAULT.withMode(mode).withSpread(Spread.ALL);
    List<String> grid =
        List.of("sip.cube_mesh.w=" + wide, "sip.cube_mesh.h=" + high, "fabric.chunk=32 KiB");
    return Torch.open(Machines.load(machine, grid), options);
  }

  private static void make(Compute compute, Copies copies, Tensor from) {
    copies.make(
        "copies",
        List.of(from),
        false,
        (tl, to, start, count) -> compute.copy(tl, from, to, start, count, new Pace(tl, false)));
  }
}
