package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.training.TrainingBench.Scope;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Tensor;

/** What memory is for is told by who asked for it, whatever its name: weights are all weights. */
final class MemoryTextTest {
  private static final DType TYPE = DType.BF16;

  private static Setup setup(
      TransformerConfig config, int tokens, int tp, int pp, Recompute recompute) {
    Pipe pipe =
        Pipe.of(new Pipe.Asked(pp, 2, "1f1b", 1, Pipe.EVEN), config.layers(), false, recompute);
    return new Setup(
        config,
        Scope.STEP,
        tokens,
        2,
        tp,
        1,
        1,
        true,
        TYPE,
        TYPE,
        ContextExchange.ALL_GATHER,
        DataParallel.DEFAULT,
        Fault.NONE,
        pipe,
        ExpertGroups.Sizes.NONE,
        Optional.empty(),
        Masks.NONE,
        false);
  }

  /** Elements of the parameters of all ranks. */
  private static long elements(Setup s) {
    AtomicLong all = new AtomicLong();
    Ranks.run(
        s.tp(),
        Mode.TIME,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), s.tp(), 1, 1, true);
          LayerSplit split = LayerSplit.even(s.config().layers(), s.pipe().pp());
          for (int stage = 0; stage < s.pipe().pp(); stage++) {
            Init init = new Init(w.torch(), TYPE, 7, 0.1);
            new TransformerStage(s.config(), layout, init, split.range(stage, s.pipe().tied()))
                .parameters().stream()
                    .map(Parameter::shape)
                    .forEach(shape -> all.addAndGet(shape.elements()));
          }
        });
    return all.get();
  }

  @ParameterizedTest
  @CsvSource({
    "tiny-gpt, 1, 1, NONE",
    "tiny-gpt, 2, 1, NONE",
    "tiny-gpt, 1, 2, NONE",
    "tiny-gpt, 1, 1, FULL",
    "tiny-llama, 2, 2, FULL",
  })
  void weights_areTheParameters_ofAnyNumberOfTokens(
      String model, int tp, int pp, Recompute recompute) {
    for (int tokens : new int[] {16, 64}) {
      Setup s = setup(TrainingBench.shape(model, 2), tokens, tp, pp, recompute);
      TrainingProgram program = new TrainingProgram(s);
      Ranks.run(s.ranks(), Mode.TIME, program::body);
      long elements = elements(s);
      MemoryText memory = program.memory().orElseThrow();

      String what = tokens + " tokens: " + memory.line();
      assertThat(memory.held()).as(what).containsEntry(Tensor.Purpose.PARAMETER, 2 * elements);
      // buckets that ranks sum are filled up to equal parts
      long filledUp = tp > 1 ? 4 * elements / 256 : 0;
      assertThat(memory.held().get(Tensor.Purpose.GRADIENT))
          .as(what)
          .isBetween(4 * elements, 4 * elements + filledUp);
      assertThat(memory.held()).as(what).containsEntry(Tensor.Purpose.OPTIMIZER, 12 * elements);
      assertThat(memory.held().values().stream().mapToLong(Long::longValue).sum())
          .as(what)
          .isLessThanOrEqualTo(
              memory.use().byTensor().values().stream().mapToLong(Long::longValue).sum());
    }
  }
}
