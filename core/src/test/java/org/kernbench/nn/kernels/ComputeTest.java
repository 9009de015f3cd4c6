package org.kernbench.nn.kernels;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.CompositeGemm;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

/** Products of a training step fill the array of the machine that they run on. */
final class ComputeTest {
  /**
   * Extents are multiples of each array, so that nothing but the choice of tiles can waste it; the
   * product is a whole wave of tiles of multiprocessors. A GPU is also taken as one array of its
   * cells.
   */
  @ParameterizedTest
  @CsvSource({
    "dgx-a100, pe.gemm.efficiency=1",
    "dgx-a100, pe.gemm.mode=chained;pe.gemm.efficiency=1",
    "sip-2026, ''",
    "sip-2026-compute, ''",
    "kb-compat, ''",
    "tiny, ''"
  })
  void matmul_anyMachine_fillsItsArray(String preset, String overrides) {
    assertThat(share(Machines.load(preset, overrides(overrides)))).isGreaterThan(0.99);
  }

  /** Products of training steps take what the same product takes as one composite command. */
  @ParameterizedTest
  @CsvSource({"1024, 1024, 1024", "2048, 1024, 4096", "8192, 2048, 2048"})
  void matmul_onMultiprocessors_takesWhatOneCommandTakes(int m, int k, int n) {
    Machine machine = Machines.load("dgx-a100", List.of());
    long steps = nnPs(machine, m, k, n);
    long composite = compositePs(machine, m, k, n);

    assertThat((double) steps).isBetween(0.95 * composite, 1.1 * composite);
  }

  /**
   * Blocks of a long formula are an eighth of a run, but no more than others take, of 32 KiB in
   * f32, and no less than half of that.
   */
  @ParameterizedTest
  @CsvSource({
    "4096, 4096", // all at once
    "5000, 4096",
    "32768, 4096", // an eighth would be as much
    "40000, 5000",
    "65536, 8192",
    "1000000, 8192"
  })
  void mapAllInto_anyLength_takesAnEighthWithinBounds(int elements, int block) {
    Machine machine = Machines.load("sip-2026", List.of("pe.tcm.size=2 MiB"));
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      var x = torch.empty(Shape.of(elements), DType.F32, "x");
      new Compute(torch, t -> t)
          .mapAllInto("twice", List.of(x), List.of(x), List.of(), (tl, v) -> List.of(v.get(0)));
      torch.synchronize();

      OpLog log = torch.simulator().opLog();
      List<Integer> loads =
          IntStream.range(0, log.size())
              .filter(id -> log.kind(id) == OpKind.LOAD)
              .mapToObj(log::bytes)
              .toList();
      assertThat(loads).hasSize(Math.ceilDiv(elements, block));
      assertThat(loads.getFirst()).isEqualTo(4 * block);
    }
  }

  private static long nnPs(Machine machine, int m, int k, int n) {
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      var a = torch.empty(Shape.of(m, k), DType.F16, "a");
      var b = torch.empty(Shape.of(k, n), DType.F16, "b");
      new Compute(torch, t -> t)
          .matmul("product", Compute.Matrix.of(a, m, k), Compute.Matrix.of(b, k, n), DType.F16);
      torch.synchronize();
      return torch.simulator().opLog().launches().donePs(0)
          - torch.simulator().opLog().launches().startPs(0);
    }
  }

  private static long compositePs(Machine machine, int m, int k, int n) {
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      var a = torch.empty(Shape.of(m, k), DType.F16, "a");
      var b = torch.empty(Shape.of(k, n), DType.F16, "b");
      var c = torch.empty(Shape.of(m, n), DType.F16, "c");
      var launch =
          torch.launch(
              "product",
              tl -> tl.composite(CompositeGemm.of(tl.ref(a), tl.ref(b)).into(tl.ref(c))),
              a,
              b,
              c);
      torch.await(launch);
      return launch.criticalPs();
    }
  }

  private static List<String> overrides(String text) {
    return text.isEmpty() ? List.of() : List.of(text.split(";"));
  }

  /** Of the cycles that the multiply-adds need on all cells, to those that the commands took. */
  private static double share(Machine machine) {
    int m = 2 * common(machine.pe().gemm().rows(), 128);
    int n = 2 * common(machine.pe().gemm().columns(), 128);
    int k = 4096;
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      var a = torch.empty(Shape.of(m, k), DType.F16, "a");
      var b = torch.empty(Shape.of(k, n), DType.F16, "b");
      new Compute(torch, t -> t)
          .matmul("product", Compute.Matrix.of(a, m, k), Compute.Matrix.of(b, k, n), DType.F16);
      torch.synchronize();
      double cycles = 0;
      OpLog log = torch.simulator().opLog();
      long fill = machine.pe().gemm().rows() + machine.pe().gemm().columns() - 2;
      double cyclePs = 1e12 / machine.pe().gemm().clockHz();
      for (int id = 0; id < log.size(); id++) {
        if (log.kind(id) == OpKind.GEMM) {
          cycles += (log.endPs(id) - log.startPs(id)) / cyclePs;
          boolean fills =
              switch (machine.pe().gemm().mode()) {
                case FILLED, CHAINED -> true;
                case FLAT, WAVES -> false;
              };
          cycles -= fills ? fill : 0; // filled and drained once, behind others
        }
      }
      double whole =
          (double) m * n * k / machine.pe().gemm().rows() / machine.pe().gemm().columns();
      return whole / cycles;
    }
  }

  private static int common(int a, int b) {
    int multiple = a;
    while (multiple % b != 0) {
      multiple += a;
    }
    return multiple;
  }
}
