package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** Which parameters of a training step fit together, and what is said of those that do not. */
class TrainingParamsTest {
  private static RunResult run(String bench, String params) {
    Runner runner = Runner.of("test", Progress.SILENT);
    return runner.run(
        BenchRegistry.standard().find(bench),
        RunOptions.DEFAULT
            .withParams(params == null ? List.of() : List.of(params.split(" ")))
            .withMode(Mode.TIME));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "train-step | zero=3 | zero=3 divides over the data-parallel ranks, dp x cp, which is one here; expected dp or cp above 1, or zero=0",
        "train-step | zero=1 tp=1 | zero=1 divides over",
        "train-step | distributed_optimizer=on | distributed_optimizer=on divides over",
        "train-step | loss_scale=dynamic | loss_scale: got \"dynamic\"; one step does not change its factor; expected the factor that it has",
        "train-step | loss_scale=0 | loss_scale: got \"0\"; expected a whole number from 1 to 16777216",
        "train-step | grad_dtype=bf16 dtype=f32 | grad_dtype is bf16, dtype f32; expected grad_dtype=f32, or both bf16",
        "train-step | dp=4 batch=6 | batch is 6, dp 4; expected a batch that dp divides",
        "train-step | dp=2 batch=6 microbatches=2 | batch is 6, dp 2, microbatches 2; expected a batch that dp x microbatches, 4, divides",
        "train-step | tp=5 sp=off | expected",
        "train-step | cp=2 tp=8 context=ulysses | context=ulysses divides heads over tp x cp, 8 x 2; expected a divisor of 12 heads of keys",
      })
  void parametersThatDoNotFit_areRefused(String bench, String params, String message) {
    assertThatThrownBy(() -> run(bench, params))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message);
  }
}
