package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** Training steps whose linear layers multiply in 8 bits have what one rank has, in any layout. */
final class F8StepTest {
  private static RunResult run(String bench, Mode mode, String params) {
    List<String> all = new ArrayList<>(Arrays.asList(params.split(" ")));
    all.add("tokens=24");
    RunOptions options = RunOptions.DEFAULT.withMode(mode).withParams(all);
    return Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find(bench), options);
  }

  @ParameterizedTest
  @CsvSource({
    "train-step, layers=1 tp=1",
    "train-step, layers=2 tp=2 cp=2 dp=2 batch=4",
    "train-step, layers=1 tp=2 sp=off model=tiny-llama dtype=f32",
    "train-step, layers=2 tp=1 dp=4 batch=4 zero=2 recompute=full",
    "transformer-block, tp=4 dp=2",
    "tp-mlp, tp=4 model=tiny-llama",
  })
  void values_areThoseOfOneRank(String bench, String params) {
    RunResult result = run(bench, Mode.VALUES, params + " f8=current");
    assertThat(result.problems()).isEmpty();
  }

  /** It is another computation than that in 16 bits. */
  @Test
  void values_areNotThoseOfSixteenBits() {
    String layout = "layers=1 tp=1";
    assertThat(
            run("train-step", Mode.VALUES, layout + " f8=current")
                .values()
                .orElseThrow()
                .compared())
        .isNotEqualTo(run("train-step", Mode.VALUES, layout).values().orElseThrow().compared());
  }

  @Test
  void microbatches_whereValuesAreCompared_areRefused() {
    assertThatThrownBy(
            () -> run("train-step", Mode.VALUES, "tp=1 microbatches=2 batch=2 f8=current"))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("f8 with 2 microbatches: each has scales of its own");
    assertThat(run("train-step", Mode.TIME, "tp=1 microbatches=2 batch=2 f8=current").problems())
        .isEmpty();
  }
}
