package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/**
 * The tables of {@code examples/measured} stay as near as {@code docs/validation/hardware.md} says.
 */
final class MeasuredTablesTest {
  private static final Path TABLES =
      Path.of(System.getProperty("basedir", "."), "..", "examples", "measured");

  @ParameterizedTest
  @CsvSource({
    "a100_matmul, 0.06",
    "a100_softmax, 0.08",
    "a100_layernorm, 0.08",
    "a100_gelu, 0.08",
    "a100x4_allreduce, 0.10",
    "a100_vtrain_allreduce, 0.10"
  })
  void table_onItsMachine_isAsNearAsItWas(String name, double most) {
    MeasuredFile file =
        MeasuredFile.read(TABLES.resolve(name + ".csv").toString(), Optional.empty());
    RowSimulator simulator =
        new RowSimulator(
            Runner.of("test", Progress.SILENT),
            BenchRegistry.standard()::find,
            RunOptions.DEFAULT.withTopology("dgx-a100"));

    assertThat(Validation.of(file, "dgx-a100", simulator, java.util.List.of()).meanError())
        .isLessThan(most);
  }
}
