package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.FoldedCall;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** PEs at another place of each package do a call as the first ones do (ADR 0316). */
final class FollowTest {
  private static final int ELEMENTS = 6 * 1024;
  private static final Machine MACHINE = Machines.load("sip-2026", List.of());
  private static final CclConfig CONFIG = CclConfig.load(Optional.empty(), List.of());
  private static final Group NEAR = group(0, 0);
  private static final Group FAR = group(10, 5);

  private static Group group(int cube, int pe) {
    List<Pe> leads =
        IntStream.range(0, MACHINE.sips()).mapToObj(sip -> new Pe(sip, cube, pe)).toList();
    return new Group(MACHINE, RankLevel.SIP, leads);
  }

  private static IpcqSpec queues(String algorithm) {
    return CONFIG.of(algorithm).queues(MACHINE.ipcq());
  }

  private static Schedule plan(String algorithm, Group group) {
    return CollectiveLibrary.algorithm(CONFIG, algorithm)
        .plan(group, queues(algorithm), CONFIG.of(algorithm));
  }

  private static CollectiveTrial.Result run(String algorithm, Group group, Schedule schedule) {
    return CollectiveTrial.of(group, algorithm, schedule, queues(algorithm))
        .run(CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.F16, ELEMENTS), Mode.FULL);
  }

  private static CollectiveCall call(Group group, int elements) {
    return FoldedCall.sum(group, DType.F16, elements);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"ring_bidirectional", "torus_both_orders", "two_shot", "halving_doubling"})
  void drawing_ofAnotherPlace_isDoneAtThePaceOfTheFirst(String algorithm) {
    Schedule first = plan(algorithm, NEAR);
    Schedule alone = plan(algorithm, FAR);
    Schedule follower = plan(algorithm, FAR);
    follower.follow(first);

    CollectiveCall here = call(FAR, ELEMENTS);
    OptionalLong ps = follower.predictPs(here);
    assertThat(ps).isEqualTo(first.predictPs(call(NEAR, ELEMENTS)));
    assertThat(alone.predictPs(here)).as("what it would say of itself").isNotEqualTo(ps);
    assertThat(follower.isForecastExact(here)).isFalse();
    CollectiveTrial.Result result = run(algorithm, FAR, follower);
    assertThat(result.problems()).isEmpty();
    assertThat(follower.predictPs(here)).as("of what was done").isEqualTo(ps);
    assertThat(result.wireBytes()).isEqualTo(follower.wireBytes(here).orElseThrow());
    assertThat((double) result.ps()).isLessThan(1.1 * run(algorithm, FAR, alone).ps());
  }

  /** These trees take what links there are, also those inside packages. */
  @Test
  void otherDrawing_isChosenByItself() {
    OptionalLong alone = plan("packed_trees", FAR).predictPs(call(FAR, ELEMENTS));
    Schedule follower = plan("packed_trees", FAR);
    follower.follow(plan("packed_trees", NEAR));

    assertThat(follower.predictPs(call(FAR, ELEMENTS))).isEqualTo(alone);
    assertThat(run("packed_trees", FAR, follower).problems()).isEmpty();
  }

  @Test
  void auto_ofAnotherPlace_takesWhatTheFirstTook() {
    Schedule first = plan("auto", NEAR);
    Schedule follower = plan("auto", FAR);
    follower.follow(first);

    for (int elements : new int[] {6, ELEMENTS}) {
      assertThat(follower.chosen(call(FAR, elements)))
          .isEqualTo(first.chosen(call(NEAR, elements)));
      assertThat(follower.predictPs(call(FAR, elements)))
          .isEqualTo(first.predictPs(call(NEAR, elements)));
    }
    assertThat(first.choices()).hasSize(2);
    assertThat(follower.choices()).as("tried again").isEmpty();
    assertThat(run("auto", FAR, follower).problems()).isEmpty();
  }
}
