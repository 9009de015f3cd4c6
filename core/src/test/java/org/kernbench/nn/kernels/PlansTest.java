package org.kernbench.nn.kernels;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.cli.Golden;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.Spread;

/** What kernels over a package plan, on machines of all sorts. */
final class PlansTest {
  private static final List<String> MACHINES =
      List.of("tiny", "sip-2026", "kb-compat", "sip-2026-compute", "dgx-a100", "model-cubes");
  private static final int[][] SHAPES = {
    {1, 1, 1}, {33, 65, 17}, {64, 4096, 4096}, {300, 395, 203}, {2048, 4096, 14336}, {2048, 64, 64}
  };

  private static Torch open(String machine, String... more) {
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.TIME).withSpread(Spread.ALL);
    return Torch.open(Machines.load(machine, List.of(more)), options);
  }

  /** Tiles, blocks, steps, bounds and ways of copies; reviewed, like all expected outputs. */
  @Test
  void plans_areAsReviewed() {
    StringBuilder text = new StringBuilder();
    for (String machine : MACHINES) {
      try (Torch torch = open(machine)) {
        Compute compute = new Compute(torch, t -> t);
        text.append(machine).append('\n');
        for (int axis = 0; axis < 2; axis++) {
          copies(text, compute, axis);
        }
        for (int[] shape : SHAPES) {
          for (DType type : List.of(DType.BF16, DType.F32, DType.F8E4M3)) {
            products(text, compute, shape, type);
          }
        }
      }
    }
    Golden.check("nn/plans.txt", text.toString());
  }

  private static void copies(StringBuilder text, Compute compute, int axis) {
    Torch torch = compute.torch();
    CopyCost cost = CopyCost.of(torch.machine(), compute.mesh(), axis);
    text.append("  copies along %s: %s\n".formatted(axis, cost));
    for (int rows : new int[] {1, 40, 3000}) {
      Shape shape = Shape.of(rows, 96);
      try (Tensor from = Compute.spread(torch, "x", shape, DType.BF16)) {
        Copies made = new Copies(compute, "copies", shape, DType.BF16, axis);
        long bound =
            new CopyBound(torch.machine(), compute.mesh())
                .leastPs(made.tensors().getFirst(), axis, List.of(from));
        long share = from.sizeBytes() / made.tensors().size();
        text.append(
            "    %s rows: at least %s ps, handed on %s\n"
                .formatted(rows, bound, cost.handsOn(share)));
        made.close();
      }
    }
  }

  private static void products(StringBuilder text, Compute compute, int[] shape, DType type) {
    GemmSpec gemm = compute.torch().machine().pe().gemm();
    text.append("  %s x %s x %s %s\n".formatted(shape[0], shape[1], shape[2], type));
    for (int outputs = 1; outputs <= 2; outputs++) {
      ProductPlan.Sizes sizes =
          new ProductPlan.Sizes(
              shape[0], shape[2], shape[1], type, outputs, outputs - 1, outputs == 2);
      String plan;
      try {
        ProductPlan made =
            ProductPlan.of(
                compute,
                sizes,
                compute.tile(gemm.rows()),
                compute.tile(gemm.columns()),
                (high, wide) -> TileGrid.of(shape[0], shape[2], high, wide, compute.mesh().size()));
        TileGrid grid = made.grid();
        int last = grid.places() - 1;
        plan =
            "%s, first %s, last %s, block %s"
                .formatted(
                    made,
                    grid.tilesOf(0, 0),
                    grid.tilesOf(0, last),
                    grid.firstBlock(last, made.down(), made.across()));
      } catch (TcmException e) {
        plan = e.getMessage();
      }
      text.append("    %s: %s\n".formatted(outputs, plan));
    }
    OperandBound.Made made =
        new OperandBound.Made(
            shape[0], shape[2], shape[1], type.sizeBytes(), 4, gemm.rate(8 * type.sizeBytes()), 0);
    text.append("    at least %s ps\n".formatted(new OperandBound(compute).leastPs(List.of(made))));
  }

  /** Bytes of every share on every link, counted cube by cube from their rows and columns. */
  @ParameterizedTest
  @CsvSource({
    "sip-2026, 4, 4",
    "sip-2026, 3, 2",
    "kb-compat, 5, 1",
    "sip-2026-compute, 1, 4",
    "kb-compat, 2, 3",
    "tiny, 1, 1"
  })
  void costOfCopies_isWhatTheFullestLinkCarries(String preset, int wide, int high) {
    try (Torch torch = open(preset, "sip.cube_mesh.w=" + wide, "sip.cube_mesh.h=" + high)) {
      Machine machine = torch.machine();
      int pes = torch.mesh().size() / wide / high;
      for (int axis = 0; axis < 2; axis++) {
        int copies = axis == 0 ? high : wide;
        Map<Integer, Double> all = new HashMap<>();
        double handedOn = 0;
        List<Long> longest = new ArrayList<>();
        for (int step = 1; step < copies; step++) {
          Map<Integer, Double> one = new HashMap<>();
          long most = 0;
          for (int to = 0; to < wide * high; to++) {
            int at = axis == 0 ? to / wide : to % wide;
            int stride = axis == 0 ? wide : 1;
            for (int share : new int[] {at - step, at + step}) {
              for (int pe = 0; pe < pes && share >= 0 && share < copies; pe++) {
                int near = to + (share < at ? -stride : stride);
                most = Math.max(most, carry(machine, new Pe(0, near, pe), new Pe(0, to, pe), one));
                carry(machine, new Pe(0, to + (share - at) * stride, pe), new Pe(0, to, pe), all);
              }
            }
          }
          handedOn += one.values().stream().mapToDouble(ps -> ps).max().orElse(0);
          longest.add(most);
        }
        CopyCost cost = CopyCost.of(machine, torch.mesh(), axis);
        double direct = all.values().stream().mapToDouble(ps -> ps).max().orElse(0);
        assertThat(cost.directPs()).isCloseTo(direct, within(1e-9 * direct));
        assertThat(cost.handedOnPs()).isCloseTo(handedOn, within(1e-9 * handedOn));
        assertThat(cost.stepsPs()).isEqualTo(longest.stream().mapToLong(ps -> ps).sum());
        assertThat(cost.oncePs()).isEqualTo(longest.stream().mapToLong(ps -> ps).max().orElse(0));
      }
    }
  }

  /** Adds a byte to each link on the way; how long one alone is under way, there and stored. */
  private static long carry(Machine machine, Pe from, Pe to, Map<Integer, Double> links) {
    Route there = machine.route(machine.hbmNode(from), machine.peNode(to));
    Route back = machine.route(machine.peNode(to), machine.hbmNode(to));
    for (Route route : List.of(there, back)) {
      for (int link : route.links()) {
        double each = machine.specOf(link).durationPs(1 << 20) / (double) (1 << 20);
        links.put(link, links.getOrDefault(link, 0.0) + each);
      }
    }
    return there.latencyPs() + back.latencyPs() + 2 * machine.pe().dma().setupPs();
  }
}
