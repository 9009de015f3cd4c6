package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.device.log.LogDifference;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Progress;
import org.kernbench.eval.Reuse;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;

/**
 * Training steps whose launches are used again have the rows of those of which each is simulated.
 */
class ReusedStepsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "tp=4 model=gpt2-small layers=1",
        "tp=2",
        "tp=4 layers=3",
        "tp=2 model=tiny-llama",
        "tp=2 dp=2 overlap=off",
        "tp=2 cp=2 context=ring",
        "tp=2 dp=2 distributed_optimizer=on bucket=16"
      })
  void rows_ofATrainingStep_areThoseOfEveryLaunchSimulated(String params) {
    RunResult each = run(params, Reuse.OFF);
    RunResult again = run(params, Reuse.AUTO);
    OpLog log = each.log().orElseThrow();
    assertThat(log.isComplete()).isTrue();
    assertThat(LogDifference.between(log, again.log().orElseThrow(), each.machine().orElseThrow()))
        .isEmpty();
    assertThat(again.sim().opLogHash()).isEqualTo(each.sim().opLogHash());
  }

  private static RunResult run(String params, Reuse reuse) {
    RunOptions options =
        RunOptions.DEFAULT
            .withMode(Mode.TIME)
            .withParams(List.of(params.split(" ")))
            .withReuse(reuse);
    return Runner.of("", Progress.SILENT)
        .explaining()
        .run(new TrainingBench(TrainingBench.Scope.STEP), options);
  }
}
