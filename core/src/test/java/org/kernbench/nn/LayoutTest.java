package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.nn.TrainingRun.How;
import org.kernbench.nn.TrainingRun.Result;
import org.kernbench.nn.TrainingRun.Setup;
import org.kernbench.nn.TrainingRun.Training;

/**
 * Loss and gradients of a small transformer do not depend on the layout: each is compared with the
 * run on one rank, in f64, before any optimizer.
 */
final class LayoutTest {
  private static final TransformerConfig GPT =
      new TransformerConfig("gpt", 24, 2, 12, 12, 2, 48, 24, 24, TransformerConfig.Style.GPT);
  private static final TransformerConfig LLAMA =
      new TransformerConfig("llama", 24, 2, 24, 12, 2, 36, 24, 24, TransformerConfig.Style.LLAMA);
  private static final int SEQUENCE = 24;
  private static final int SAMPLES = 4;

  private static final int STEPS = 3;

  /** Runs on one rank, by configuration and training. */
  private static final Map<List<Object>, Result> ONE_RANK =
      new java.util.concurrent.ConcurrentHashMap<>();

  private static Setup setup(
      TransformerConfig config, Training training, int tp, int cp, int dp, boolean sp) {
    return new Setup(
        config, SEQUENCE, SAMPLES, STEPS, training, tp, cp, dp, sp, How.PLAIN, Recipe.STANDARD);
  }

  private static Result oneRank(TransformerConfig config, Training training) {
    return ONE_RANK.computeIfAbsent(
        List.of(config, training),
        k -> TrainingRun.of(setup(config, training, 1, 1, 1, false)));
  }

  /** Every layout runs one style with one optimizer; together both of both occur in each kind. */
  @ParameterizedTest
  @CsvSource({
    "2,1,1,true", "1,2,1,false", "1,1,2,false", // 2 ranks
    "2,2,1,true", "2,1,2,false", "1,4,1,false", // 4
    "6,1,1,true", "3,2,1,false", "1,3,2,false", // 6
    "2,2,2,true", "12,1,1,true", "4,2,2,true", // 8, 12, 16
  })
  void layout_lossGradientsAndSteps_equalOneRank(int tp, int cp, int dp, boolean sp) {
    check(tp, cp, dp, sp);
  }

  /** The rest of the grid; together 36 layouts. */
  @Tag("slow")
  @ParameterizedTest
  @CsvSource({
    "2,1,1,false", "4,1,1,false", "4,1,1,true", "2,2,1,false", "2,1,2,true", "1,2,2,false",
    "1,1,4,false", "6,1,1,false", "3,2,1,true", "2,3,1,true", "3,1,2,true", "1,6,1,false",
    "4,2,1,true", "2,4,1,true", "2,2,2,false", "4,1,2,true", "1,2,4,false", "6,2,1,false",
    "3,4,1,true", "3,2,2,true", "2,3,2,true", "2,4,2,true", "2,2,4,true", "4,1,4,false",
  })
  void layoutGrid_lossGradientsAndSteps_equalOneRank(int tp, int cp, int dp, boolean sp) {
    check(tp, cp, dp, sp);
  }

  private static void check(int tp, int cp, int dp, boolean sp) {
    TransformerConfig config = (tp + cp + (sp ? 1 : 0)) % 2 == 0 ? GPT : LLAMA;
    Training training = (tp + dp) % 2 == 0 ? Training.SGD : Training.ADAM;
    Result expected = oneRank(config, training);
    Result got = TrainingRun.of(setup(config, training, tp, cp, dp, sp));
    assertThat(got.unequal()).as("replicas").isEmpty();
    assertThat(TrainingRun.lossError(got, expected)).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.grads(), expected.grads())).as("gradients").isLessThan(1e-10);
    // Adam divides by the size of the gradient, so elements whose gradient is nearly zero magnify
    // its rounding; SGD does not
    assertThat(TrainingRun.worst(got.parameters(), expected.parameters()))
        .as("after steps")
        .isLessThan(training == Training.SGD ? 1e-10 : 1e-6);
  }
}
