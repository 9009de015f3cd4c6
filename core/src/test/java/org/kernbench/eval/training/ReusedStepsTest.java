package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
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
        "tp=1 sp=off",
        "tp=2",
        "tp=4 layers=3",
        "tp=2 model=tiny-llama",
        "tp=2 dp=2 overlap=off",
        "tp=2 cp=2 context=ring",
        "tp=2 pp=2 microbatches=2 layers=4",
        "tp=2 layers=3 dropout=0.1 sp=off",
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

  /** Replicas and stages, each a whole package; packages do alike at once, or one after another. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "dp=3 batch=3 layers=3 overlap=off",
        "dp=2 pp=2 microbatches=2 batch=4 layers=4",
        "dp=2 batch=2 layers=2 dropout=0.1",
      })
  void rows_ofPackages_areThoseOfEveryLaunchSimulated(String params) {
    assertRowsOfPackages(params);
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(
      strings = {
        "dp=4 batch=4 layers=3",
        "pp=4 microbatches=4 batch=4 layers=4",
        "dp=2 batch=2 layers=3 zero=1",
      })
  void rows_ofMorePackages_areThoseOfEveryLaunchSimulated(String params) {
    assertRowsOfPackages(params);
  }

  private static void assertRowsOfPackages(String params) {
    RunResult each = run(packages(params, Reuse.OFF));
    OpLog log = each.log().orElseThrow();
    assertThat(log.isComplete()).isTrue();
    RunResult again = run(packages(params, Reuse.AUTO));
    assertThat(LogDifference.between(log, again.log().orElseThrow(), each.machine().orElseThrow()))
        .isEmpty();
    assertThat(again.sim().opLogHash()).isEqualTo(each.sim().opLogHash());
  }

  @Test
  void reuse_ofReplicas_simulatesLessThanHalf() {
    RunResult one = run(packages("dp=1 batch=1 layers=2 overlap=off", Reuse.AUTO));
    RunResult four = run(packages("dp=4 batch=4 layers=2 overlap=off", Reuse.AUTO));
    RunResult each = run(packages("dp=4 batch=4 layers=2 overlap=off", Reuse.OFF));
    assertThat(each.sim().events()).isGreaterThan(3 * one.sim().events());
    assertThat(four.sim().events()).isLessThan(each.sim().events() / 2);
  }

  private static RunOptions packages(String params, Reuse reuse) {
    return options("rank_level=sip tp=1 sp=off " + params, reuse)
        .withTopology("tiny")
        .withOverrides(List.of("system.sips.count=4"));
  }

  @Test
  void verified_namesWhatWasCompared() {
    RunResult result = run("tp=2", Reuse.VERIFY);
    assertThat(result.status()).isEqualTo(RunResult.Status.OK);
    assertThat(result.verified().toString()).contains("the same").contains("operations");
  }

  @Test
  void verified_inAnotherMode_isRefused() {
    RunOptions full = RunOptions.DEFAULT.withReuse(Reuse.VERIFY);
    assertThatThrownBy(() ->
            Runner.of("", Progress.SILENT).run(new TrainingBench(TrainingBench.Scope.STEP), full))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("use --mode time");
  }

  @Test
  void difference_isNamedByItsRow() {
    RunResult a = run("tp=2", Reuse.OFF);
    RunResult b = run("tp=2 tokens=52", Reuse.OFF);
    assertThat(
            LogDifference.between(
                a.log().orElseThrow(), b.log().orElseThrow(), a.machine().orElseThrow()))
        .hasValueSatisfying(d -> assertThat(d).contains("command").contains("; then "));
  }

  @Test
  void reuse_ofLayersThatRepeat_simulatesThemOnce() {
    RunResult two = run("tp=1 sp=off layers=2", Reuse.AUTO);
    RunResult six = run("tp=1 sp=off layers=6", Reuse.AUTO);
    RunResult each = run("tp=1 sp=off layers=6", Reuse.OFF);
    assertThat(six.sim().events()).isLessThan(each.sim().events() / 2);
    assertThat(six.sim().events()).isLessThan(2 * two.sim().events());
    assertThat(six.params().get("reuse").toString())
        .contains(" of ")
        .contains("first of their kind");
    assertThat(each.params()).doesNotContainKey("reuse");
  }

  private static RunResult run(String params, Reuse reuse) {
    return run(options(params, reuse));
  }

  private static RunOptions options(String params, Reuse reuse) {
    return RunOptions.DEFAULT
        .withMode(Mode.TIME)
        .withParams(List.of(params.split(" ")))
        .withReuse(reuse);
  }

  private static RunResult run(RunOptions options) {
    return Runner.of("", Progress.SILENT)
        .explaining()
        .run(new TrainingBench(TrainingBench.Scope.STEP), options);
  }
}
