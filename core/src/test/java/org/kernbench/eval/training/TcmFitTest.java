package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
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

/**
 * A TCM on which a model's kernels cannot run is refused before the run, with one that is enough.
 */
final class TcmFitTest {
  private static final Pattern NEAREST = Pattern.compile("pe\\.tcm\\.size=(\\d+) KiB$");

  private static RunResult run(String bench, long tcmKib, String... more) {
    List<String> params = new ArrayList<>(List.of("tp=1", "sp=off", "batch=1"));
    params.addAll(List.of(more));
    return runWith(bench, tcmKib, params);
  }

  private static RunResult runWith(String bench, long tcmKib, List<String> params) {
    List<String> machine =
        List.of("pe.tcm.size=" + tcmKib + " KiB", "ipcq.slots=2", "ipcq.slot_size=1 KiB");
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(bench),
            RunOptions.DEFAULT.withMode(Mode.TIME).withParams(params).withOverrides(machine));
  }

  /** What the message names runs, and is no more than half as large again as what does not. */
  @ParameterizedTest
  @CsvSource({
    "transformer-block, 256, '256 KiB, is too small for model gpt2-small in bf16: kernel layer.attention'",
    "transformer-block, 64, 'attention finds no room for'",
    "tp-mlp, 16, 'product of 128 x 768 and 768 x 3072 in bf16: tiles of one GEMM array, 64 x 64, need 25088 bytes of TCM beside message queues, a PE has 8192; expected a larger one'"
  })
  void run_tooSmallTcm_isRefusedWithTheNearestThatRuns(String bench, long tcmKib, String why) {
    String[] small = {"model=gpt2-small", "tokens=128"};
    Throwable refused = catchThrowable(() -> run(bench, tcmKib, small));
    assertThat(refused).isInstanceOf(UsageException.class).hasMessageContaining(why);
    Matcher nearest = NEAREST.matcher(String.valueOf(refused.getMessage()));
    assertThat(nearest.find()).isTrue();
    long enough = Long.parseLong(nearest.group(1));
    assertThat(run(bench, enough, small).isOk()).isTrue();
    assertThatThrownBy(() -> run(bench, enough / 3 * 2 / 2, small))
        .isInstanceOf(UsageException.class);
  }

  /** Two modules, and experts: one that is refused, with one that runs. */
  @ParameterizedTest
  @CsvSource({
    "mimo-train-step, 64, 'model=tiny-gpt;encoder_layers=1;language_layers=1;tokens=200;encoder=tp=1,dp=1;language=tp=1,dp=1;samples=1', 'tiny-vit and tiny-gpt in bf16: kernel layers.0.attention.attention finds no room'",
    "transformer-block, 32, 'tp=1;sp=off;batch=1;model=tiny-moe;tokens=8', 'GEMM array'",
    "transformer-block, 48, 'tp=1;batch=1;model=tiny-gpt;tokens=130;dtype=f32', 'model tiny-gpt in f32: a kernel has a value of 65536 B'",
    "transformer-block, 32, 'tp=1;model=tiny-gpt;tokens=8;dtype=f16;rank_level=cube', 'GEMM array'",
  })
  void run_twoModulesOrExperts_areRefusedWithTheNearestThatRuns(
      String bench, long tcmKib, String params, String why) {
    assertRefused(bench, tcmKib, params, why);
  }

  /**
   * What takes some ten seconds each: two modules of usual size, and ranks that share a context.
   */
  @Tag("slow")
  @ParameterizedTest
  @CsvSource({
    "mimo-train-step, 64, 'model=vit-b-gpt2;encoder_layers=1;language_layers=1;tokens=200;encoder=tp=1,dp=1;language=tp=1,dp=1;samples=1', 'KiB'",
    "train-step, 256, 'tp=2;cp=2;model=tiny-deepseek;tokens=256;layers=1;dtype=f16;context=ulysses;rank_level=sip', 'kernel layer.attention.grad.dq finds no room'",
  })
  void run_largerModels_areRefusedWithTheNearestThatRuns(
      String bench, long tcmKib, String params, String why) {
    assertRefused(bench, tcmKib, params, why);
  }

  private static void assertRefused(String bench, long tcmKib, String params, String why) {
    List<String> all = List.of(params.split(";"));
    Throwable refused = catchThrowable(() -> runWith(bench, tcmKib, all));
    assertThat(refused).isInstanceOf(UsageException.class).hasMessageContaining(why);
    Matcher nearest = NEAREST.matcher(String.valueOf(refused.getMessage()));
    assertThat(nearest.find()).isTrue();
    assertThat(runWith(bench, Long.parseLong(nearest.group(1)), all).isOk()).isTrue();
  }

  @Test
  void run_smallModelOnTheSameTcm_runs() {
    assertThat(run("transformer-block", 64).isOk()).isTrue();
  }
}
