package org.kernbench.nn.multimodal;

import java.util.Optional;
import java.util.stream.IntStream;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.nn.pipeline.PipelineSchedule;
import org.kernbench.nn.pipeline.Schedules;

/**
 * How microbatches go through two modules on ranks of their own. Their pipelines are one: its first
 * ranks have the encoder's stages, the others those of the language model, and the bridge lies
 * between two of its stages. So one schedule says what all do, and its check covers both.
 *
 * @param order the schedule of a number of ranks and microbatches
 * @param encoder blocks of each of the encoder's stages; empty for as even as can be
 * @param language blocks of each of the language model's
 */
public record ModulePipelines(
    Order order, Optional<LayerSplit> encoder, Optional<LayerSplit> language) {
  /** 1F1B, with as many blocks in each stage of a module. */
  public static final ModulePipelines DEFAULT = of(Schedules.ONE_F_ONE_B);

  /** Makes schedules. */
  @FunctionalInterface
  public interface Order {
    /**
     * The schedule of a step.
     *
     * @param ranks of both pipelines together
     * @throws LayoutException if there is none
     */
    PipelineSchedule of(int ranks, int microbatches);
  }

  /** A named schedule, with as many blocks in each stage of a module. */
  public static ModulePipelines of(Schedules named) {
    int chunks = named == Schedules.INTERLEAVED ? 2 : 1;
    Order order = (ranks, microbatches) -> named.of(ranks, microbatches, chunks);
    return new ModulePipelines(order, Optional.empty(), Optional.empty());
  }

  /** A copy with other blocks in each stage. */
  public ModulePipelines with(Optional<LayerSplit> ofEncoder, Optional<LayerSplit> ofLanguage) {
    return new ModulePipelines(order, ofEncoder, ofLanguage);
  }

  /**
   * The stages of both modules.
   *
   * @param schedule of all of them
   * @param encoder blocks of the encoder's, which are the first
   * @param language blocks of the language model's
   */
  record Stages(PipelineSchedule schedule, LayerSplit encoder, LayerSplit language) {
    /** How many stages the encoder has. */
    int ofEncoder() {
      return encoder.blocks().size();
    }
  }

  /**
   * The stages of a model.
   *
   * @param encoderRanks of the pipeline
   * @throws LayoutException if a rank would have stages of both modules, or a module cannot be cut
   *     into its stages
   */
  Stages stages(TwoModuleConfig model, int encoderRanks, int languageRanks, int microbatches) {
    PipelineSchedule schedule = order.of(encoderRanks + languageRanks, microbatches);
    int first = encoderStages(schedule, encoderRanks);
    return new Stages(
        schedule,
        split("encoder", encoder, model.encoder(), first),
        split("language model", language, model.language(), schedule.stages() - first));
  }

  /** The encoder's stages are the first, and the bridge lies where its ranks end. */
  private static int encoderStages(PipelineSchedule s, int ranks) {
    int count = (int) IntStream.range(0, s.stages()).filter(i -> s.rankOf(i) < ranks).count();
    boolean isInOrder =
        s.chains() == 1 && IntStream.range(0, count).allMatch(i -> s.rankOf(i) < ranks);
    if (!isInOrder || s.rankOf(count - 1) != ranks - 1 || s.rankOf(count) != ranks) {
      throw LayoutException.argument(
          """
          schedule %s: ranks 0 to %s of the pipeline have the encoder and %s to %s the language \
          model; expected the encoder's stages before all others, its last on rank %s and the \
          next on rank %s, as gpipe, 1f1b and zb-h1 have them\
          """
              .formatted(s.name(), ranks - 1, ranks, s.ranks() - 1, ranks - 1, ranks));
    }
    return count;
  }

  private static LayerSplit split(
      String module, Optional<LayerSplit> asked, TransformerConfig config, int stages) {
    LayerSplit split = asked.orElseGet(() -> even(module, config.layers(), stages));
    int sum = split.blocks().stream().mapToInt(Integer::intValue).sum();
    if (split.blocks().size() != stages || sum != config.layers()) {
      throw LayoutException.argument(
          "%s: stages of %s blocks; expected %s stages of %s blocks together"
              .formatted(module, split.blocks(), stages, config.layers()));
    }
    for (int i = 1; i + 1 < stages; i++) {
      if (split.blocks().get(i) == 0) {
        throw LayoutException.argument(
            "%s: stages of %s blocks; expected 1 or more in each but the first and the last"
                .formatted(module, split.blocks()));
      }
    }
    return split;
  }

  private static LayerSplit even(String module, int layers, int stages) {
    if (layers < stages) {
      throw LayoutException.argument(
          "%s: %s layers on %s stages; expected at least as many layers, or a smaller pp"
              .formatted(module, layers, stages));
    }
    return LayerSplit.even(layers, stages);
  }
}
