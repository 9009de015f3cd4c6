package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/**
 * Operations of a layer that nobody fitted anything to, beside rooflines computed outside ({@code
 * examples/layers}): none is quicker, and products that keep a GPU busy are near.
 */
final class LayerTest {
  private static final Path TABLE =
      Path.of(
          System.getProperty("basedir", "."), "..", "examples", "layers", "gpt3_layer_a100.csv");

  /**
   * What a copy reaches of the memory's rate, and a product of the clock: 0.9; half as much again.
   */
  private static final double NEAR = 1.35;

  @Test
  void products_ofALayer_areAboveTheirRooflineAndNear() {
    MeasuredFile all = MeasuredFile.read(TABLE.toString(), Optional.empty());
    List<MeasuredRow> products =
        all.rows().stream().filter(r -> r.bench().equals("matmul-composite")).distinct().toList();
    RowSimulator simulator =
        new RowSimulator(
            Runner.of("test", Progress.SILENT),
            BenchRegistry.standard()::find,
            RunOptions.DEFAULT.withTopology("dgx-a100"));
    Validation found = Validation.of(all.with(products), "dgx-a100", simulator, List.of());

    assertThat(found.rows()).hasSize(12);
    assertThat(found.rows())
        .allSatisfy(r -> assertThat(r.error() + 1).as(r.row().shown()).isBetween(1.0, NEAR));
  }
}
