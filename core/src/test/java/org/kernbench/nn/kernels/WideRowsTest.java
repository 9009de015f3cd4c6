package org.kernbench.nn.kernels;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/** Rows of logits that do not fit the TCM. */
final class WideRowsTest {
  /** TCM of 64 KiB: three rows of {@link #COLUMNS} numbers of f64 do not fit. */
  private static final Ranks.Devices SMALL_TCM =
      new Ranks.Devices(
          "tiny",
          List.of(
              "system.sips.topology=ring_1d",
              "sip.cube_mesh.w=2",
              "sip.cube_mesh.h=1",
              "pe.tcm.size=64 KiB",
              "ipcq.slots=2",
              "ipcq.slot_size=1 KiB"),
          RankLevel.PE,
          4,
          Spread.ALL);

  private static final int COLUMNS = 3001;

  /** The fewest pieces of which four fit the room, by trying. */
  @ParameterizedTest
  @CsvSource({
    "64128, 1048576",
    "65536, 1048576",
    "65537, 1048576",
    "128256, 1048576",
    "3001, 32768",
    "7, 64",
    "5, 1"
  })
  void pieces_anyWidth_areTheFewestThatFit(int columns, long room) {
    int wanted = 1;
    while (wanted < columns && 4L * 4 * Math.ceilDiv(columns, wanted) > room) {
      wanted++;
    }
    assertThat(WideRows.pieces(columns, DType.F32, room)).isEqualTo(wanted);
  }

  /**
   * Loss and gradient are what their formulas say; targets lie in every piece, at edges, nowhere.
   */
  @ParameterizedTest
  @ValueSource(doubles = {0, 0.1})
  void crossEntropy_rowsWiderThanTcm_areWhatTheFormulaSays(double smoothing) {
    int[] targets = {0, 499, 750, 1024, 1500, 2250, 3000, -1};
    double[] logits = new Random(5).doubles((long) targets.length * COLUMNS, -4, 4).toArray();
    double[] upstream = new Random(6).doubles(targets.length, 0.5, 2).toArray();
    Ranks.run(
        SMALL_TCM,
        1,
        Mode.FULL,
        w -> {
          try (Graph g = Graph.of(w.torch())) {
            Shape shape = Shape.of(targets.length, COLUMNS);
            Variable x = g.input(g.own(w.torch().from(logits, shape, DType.F64, "logits")));
            Variable loss =
                g.crossEntropy(
                    x, targets, w.distributed().newGroup(List.of(0)), COLUMNS, smoothing);
            Shape each = Shape.of(targets.length);
            g.backward(loss, g.own(w.torch().from(upstream, each, DType.F64, "upstream")));
            double[] losses = loss.value().toDoubles();
            double[] grads = x.grad().orElseThrow().toDoubles();
            for (int row = 0; row < targets.length; row++) {
              double[] of = Arrays.copyOfRange(logits, row * COLUMNS, (row + 1) * COLUMNS);
              assertRow(
                  of, targets[row], smoothing, upstream[row], losses[row], grads, row * COLUMNS);
            }
          }
        });
  }

  /** By way of probabilities, without the maximum that the kernels subtract. */
  private static void assertRow(
      double[] x,
      int target,
      double smoothing,
      double upstream,
      double loss,
      double[] grads,
      int at) {
    double sum = Arrays.stream(x).map(Math::exp).sum();
    double s = smoothing * x.length / (x.length - 1.0);
    double expected = 0;
    for (int i = 0; i < x.length; i++) {
      double wanted = s / x.length + (i == target ? 1 - s : 0);
      double p = Math.exp(x[i]) / sum;
      assertThat(grads[at + i]).isCloseTo((p - wanted) * upstream, within(1e-12));
      expected -= wanted * Math.log(p);
    }
    if (target >= 0) {
      assertThat(loss).isCloseTo(expected, within(1e-10));
    }
  }
}
