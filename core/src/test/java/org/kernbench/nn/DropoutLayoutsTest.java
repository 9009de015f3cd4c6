package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.nn.autograd.Dropout;
import org.kernbench.nn.autograd.Layouts;
import org.kernbench.nn.autograd.Layouts.Layout;
import org.kernbench.nn.autograd.RotaryAngles;
import org.kernbench.nn.autograd.TrainingRun;
import org.kernbench.nn.autograd.TrainingRun.Result;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.tensor.DType;

/**
 * Three steps with dropout, and with stretched rotary angles and sharper scores, do not depend on
 * the layout, nor on what a rank is.
 */
class DropoutLayoutsTest {
  private static final Dropout RATES = new Dropout(0.3, 0.2, 0.1, 11, 0);

  private static final RotaryAngles STRETCHED =
      RotaryAngles.ofBase(50).with(new RotaryAngles.Yarn(4, 2, 0.5, 8)).with(1.1, 1.3);

  private static final Map<Setup, Result> ONE_RANK = new ConcurrentHashMap<>();

  private static Setup setup(Layout layout, int layers) {
    Setup plain = Layouts.setup(layout, layers);
    return new Setup(
        plain.config().with(STRETCHED),
        plain.sequence(),
        plain.samples(),
        plain.steps(),
        plain.training(),
        plain.tp(),
        plain.cp(),
        plain.dp(),
        plain.sp(),
        plain.how().with(RATES),
        plain.recipe());
  }

  private static void check(Setup setup) {
    Result expected = ONE_RANK.computeIfAbsent(setup.onOneRank(), TrainingRun::of);
    Result got = TrainingRun.of(setup);
    assertThat(got.unequal()).as("replicas").isEmpty();
    assertThat(TrainingRun.lossError(got, expected)).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.grads(), expected.grads())).isLessThan(1e-10);
    assertThat(TrainingRun.worst(got.parameters(), expected.parameters())).isLessThan(1e-10);
  }

  /** Each dimension, with keys gathered, in a ring, and with heads exchanged. */
  @ParameterizedTest
  @CsvSource({
    "2, 1, 1, false, ALL_GATHER",
    "2, 1, 1, true, ALL_GATHER",
    "1, 2, 2, false, RING",
    "2, 2, 1, true, ALL_TO_ALL",
    "1, 1, 3, false, ALL_GATHER",
    "3, 2, 1, true, RING",
  })
  void layout_threeSteps_equalOneRank(int tp, int cp, int dp, boolean sp, ContextExchange how) {
    Setup setup = setup(new Layout(tp, cp, dp, sp), 1);
    check(setup.with(setup.how().with(how)));
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("org.kernbench.nn.autograd.Layouts#all")
  void layoutGrid_threeSteps_equalOneRank(Layout layout) {
    check(setup(layout, 2));
  }

  /** Ranks that are PEs, cubes and packages have the same bits as ranks of one PE. */
  @Test
  void rankLevels_haveTheSameBits() {
    Setup setup = setup(new Layout(2, 1, 1, false), 1);
    Result one = TrainingRun.of(setup, Ranks.Devices.ONE_PE, DType.F32);
    for (Ranks.Devices devices :
        new Ranks.Devices[] {
          Ranks.Devices.PES, Ranks.Devices.CUBES, Ranks.Devices.UNEVEN_PACKAGES
        }) {
      Result other = TrainingRun.of(setup, devices, DType.F32);
      assertThat(other.losses()).containsExactly(one.losses());
      one.parameters()
          .forEach((name, values) ->
              assertThat(other.parameters().get(name)).as(name).containsExactly(values));
    }
  }

  /** Steps differ from each other and from one without. */
  @Test
  void losses_dependOnStepAndSeed() {
    Setup setup = setup(new Layout(1, 1, 1, false), 1);
    Result with = TrainingRun.of(setup);
    Result without = TrainingRun.of(setup.with(setup.how().with(Dropout.NONE)));
    Dropout other = new Dropout(0.3, 0.2, 0.1, 12, 0);
    Result seeded = TrainingRun.of(setup.with(setup.how().with(other)));
    assertThat(with.losses()[0]).isNotEqualTo(without.losses()[0]);
    assertThat(with.losses()[0]).isNotEqualTo(seeded.losses()[0]);
  }
}
