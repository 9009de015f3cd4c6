package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** {@code mimo-train-step} of modules on ranks of their own, with pipelines. */
final class ModulePipelinesBenchTest {
  private static final String SMALL =
      "tokens=24 spread=lead encoder_layers=2 language_layers=3 microbatches=2";

  private static RunResult run(Mode mode, String params) {
    RunOptions options =
        RunOptions.DEFAULT
            .withMode(mode)
            .withParams(new ArrayList<>(Arrays.asList(params.split(" "))));
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find("mimo-train-step"), options);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "encoder=tp=1,pp=2,dp=1 language=tp=2,pp=2,dp=1,offset=2",
        "encoder=tp=1,pp=1,dp=2 language=tp=1,cp=2,pp=2,dp=1,offset=2 schedule=gpipe",
        "encoder=tp=2,pp=2,dp=1 language=tp=1,pp=2,dp=2,offset=4 schedule=zb-h1"
            + " language_stage_layers=1,2 model=tiny-llama distributed_optimizer=on",
      })
  void values_inTheDefaultType_areThoseOfOneRank(String params) {
    RunResult result = run(Mode.VALUES, SMALL + " " + params);
    assertThat(result.problems()).isEmpty();
    assertThat(result.status()).isEqualTo(RunResult.Status.OK);
  }

  @ParameterizedTest
  @CsvSource({"lose-microbatch", "swap-stages"})
  void mistakes_inTheDefaultType_areFound(String fault) {
    for (String layout :
        List.of(
            "encoder=tp=1,pp=2,dp=1 language=tp=1,dp=1,offset=2",
            "encoder=tp=1,dp=1 language=tp=1,pp=2,dp=1,offset=1")) {
      RunResult result = run(Mode.VALUES, SMALL + " " + layout + " inject=" + fault);
      assertThat(result.status()).as(layout).isEqualTo(RunResult.Status.WRONG_VALUES);
    }
  }

  @Test
  void result_saysBubbleAndMemory_ofBothModulesStages() {
    RunResult result =
        run(Mode.TIME, SMALL + " encoder=tp=1,pp=2,dp=1 language=tp=2,pp=2,dp=1,offset=2");
    assertThat(result.params()).containsEntry("stages", 4).containsEntry("order", "1f1b");
    assertThat(result.metrics()).containsKeys("pipeline_ns", "bubble_pct");
    for (String byRank : List.of("idle_by_rank", "held_by_rank")) {
      assertThat(String.valueOf(result.metrics().get(byRank)).split(" ")).as(byRank).hasSize(4);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "encoder=tp=1,pp=2,dp=1 language=tp=1,pp=2,dp=1 | encoder (tp=1,pp=2,dp=1) has pp 2;"
            + " expected 1: colocated modules have no pipeline, modules on ranks of their own",
        "encoder=tp=1,dp=1 language=tp=1,dp=1 schedule=gpipe | schedule is gpipe, but both modules"
            + " are on the same ranks, where they have no pipeline; expected the language model on"
            + " ranks of its own, e.g. with offset=1",
        "encoder=tp=1,pp=2,dp=1 language=tp=1,pp=2,dp=1,offset=2 schedule=zb-v | schedule zb-v:"
            + " ranks 0 to 1 of the pipeline have the encoder",
        "encoder=tp=1,pp=2,dp=1 language=tp=1,dp=1,offset=2 schedule=1f2b | schedule: got"
            + " \"1f2b\"; expected one of gpipe, 1f1b",
        "encoder=tp=1,pp=3,dp=1 language=tp=1,dp=1,offset=3 | encoder: 2 layers on 3 stages",
        "encoder=tp=1,pp=2,dp=1 language=tp=1,dp=1,offset=2 encoder_stage_layers=1,2 |"
            + " encoder_stage_layers: got 2 numbers with sum 3; expected 2",
        "encoder=tp=1,pp=2,dp=1 language=tp=1,dp=1,offset=2 encoder_stage_layers=1,0,1 |"
            + " encoder: stages of [1, 0, 1] blocks; expected 2 stages of 2 blocks together",
        "encoder=tp=1,pp=2,dp=1 language=tp=1,dp=1,offset=2 frozen=on | frozen encoder"
            + " tp=1,pp=2,dp=1: its stages before the projector have nothing to train",
        "encoder=tp=1,cp=2,dp=1 language=tp=1,dp=1,offset=2 | has cp 2; expected 1",
        "encoder=tp=1,dp=2 language=tp=1,dp=2,offset=1 | expected the same: both modules lie on the same ranks",
        "encoder=tp=1,pp=2,dp=1 language=tp=1,dp=1,offset=2 inject=swap-slots | each module has"
            + " ranks of its own; it shows in the bridge",
        "encoder=tp=1,dp=1 language=tp=1,dp=1,offset=1 inject=swap-stages | it needs modules on"
            + " ranks of their own, and pp above 1 in one of them",
        "encoder=tp=1,dp=1 language=tp=1,dp=1 inject=lose-microbatch | it needs modules on ranks"
            + " of their own, and microbatches above 1",
      })
  void whatCannotBe_isRefusedBeforeTheRun(String params, String message) {
    assertThatThrownBy(() -> run(Mode.TIME, SMALL + " " + params))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(message);
  }

  /** Two ranks that wait for each other over the bridge; and a file that has too few ranks. */
  @Test
  void filesThatCannotBe_areRefusedBeforeTheRun(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("stuck.csv");
    String layout = "encoder=tp=1,dp=1 language=tp=1,dp=1,offset=1 schedule=" + file;
    Files.writeString(file, "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
    assertThatThrownBy(() -> run(Mode.TIME, SMALL + " " + layout))
        .hasMessageContaining("stuck.csv: deadlock: 0RECV_B0 (rank 0, action ");
    Files.writeString(file, "0F0,0F1,0B0,0B1\n");
    assertThatThrownBy(() -> run(Mode.TIME, SMALL + " " + layout))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining(
            "1 ranks and 2 microbatches, but both modules' pp add up to 2 and microbatches 2");
  }
}
