package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** Steps of a model whose rows of logits take a quarter of the TCM. */
final class WideVocabularyTest {
  /**
   * Gradients that are summed while the backward pass goes on have queues in the TCM. This stopped:
   * the kernel of the loss's gradient waited for room that nobody gave.
   */
  @Test
  void trainStep_queuesBesideWideRows_ends() {
    RunOptions options =
        RunOptions.DEFAULT
            .withTopology("tiny")
            .withMode(Mode.TIME)
            .withOverrides(List.of("pe.tcm.size=512 KiB", "ipcq.slot_size=4 KiB"))
            .withParams(
                List.of(
                    "vocabulary=32064",
                    "tokens=16",
                    "batch=2",
                    "layers=1",
                    "dp=2",
                    "tp=1",
                    "sp=off",
                    "rank_level=cube",
                    "spread=all"));

    RunResult result =
        Runner.of("test", Progress.SILENT)
            .run(BenchRegistry.standard().find("train-step"), options);

    assertThat(result.metrics()).containsKey("crit_ns");
  }
}
