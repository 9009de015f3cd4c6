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
    if (!params.contains("tokens=")) {
      all.add("tokens=24");
    }
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

  private static final String FINE = "layers=1 tp=2 sp=off model=tiny-llama f8=current ";

  /**
   * In which of two neighbours in 8 bits a value falls depends on its last bit: with some of these
   * lengths a layout falls in others than one rank.
   */
  @ParameterizedTest
  @CsvSource({"f32, 16", "f32, 24", "f32, 40", "f64, 16", "f64, 24", "f64, 40"})
  void fineValues_thatFallInOtherNeighbours_areRight(String dtype, int tokens) {
    RunResult result =
        run("train-step", Mode.VALUES, FINE + "dtype=" + dtype + " tokens=" + tokens);
    assertThat(result.problems()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "f32, skip-row-sum",
    "f32, skip-column-sum",
    "f32, skip-gradient-sum",
    "f64, skip-row-sum",
    "f64, skip-gradient-sum",
  })
  void mistakes_inFineValues_areWrong(String dtype, String mistake) {
    String params = FINE + "dp=2 dtype=" + dtype + " inject=" + mistake;
    assertThat(run("train-step", Mode.VALUES, params).problems())
        .singleElement()
        .asString()
        .startsWith("wrong values");
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
