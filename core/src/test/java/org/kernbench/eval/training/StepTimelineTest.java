package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.eval.training.StepTimeline.Share;
import org.kernbench.eval.training.StepTimeline.Stage;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.machine.spec.SoftwareSpec;
import org.kernbench.nn.pipeline.PipelineSchedule;
import org.kernbench.nn.pipeline.ScheduleTimes;
import org.kernbench.nn.pipeline.Schedules;

/** Closed forms of queues and pipelines; a call's first number is its time in ps here. */
final class StepTimelineTest {
  private static StepCall call(long ps) {
    return new StepCall.Stream(OperationClass.OTHER, ps, 0);
  }

  private static CallTimes.Time time(StepCall call) {
    return switch (call) {
      case StepCall.Stream s -> new CallTimes.Time(s.read(), 1);
      case StepCall.Transfer t -> new CallTimes.Time(t.bytes(), 1);
      case StepCall.Product p -> new CallTimes.Time(p.m(), 1);
      case StepCall.AllReduce a -> new CallTimes.Time(a.bytes(), 1);
    };
  }

  private static SoftwareSpec host(long ps) {
    Map<OperationClass, SoftwareSpec.OfOperation> all = new EnumMap<>(OperationClass.class);
    all.put(OperationClass.OTHER, new SoftwareSpec.OfOperation(ps, Long.MAX_VALUE));
    return new SoftwareSpec(0, all, Optional.empty());
  }

  private static StepTimeline line(
      PipelineSchedule schedule, long hostPs, List<Stage> stages, long transferPs) {
    StepTimeline line =
        new StepTimeline(
            StepTimelineTest::time,
            host(hostPs),
            schedule,
            stages,
            new StepCall.Transfer(1, transferPs));
    line.passes();
    return line;
  }

  /** n calls back to back with host work h and kernels of d end after max(h + n d, n h + d). */
  @ParameterizedTest
  @CsvSource({"10, 100, 7", "100, 10, 7", "50, 50, 1", "0, 30, 4"})
  void calls_backToBack_takeTheLongerOfHostAndDevice(long h, long d, int n) {
    List<StepCall> half = Collections.nCopies(n, call(d));
    StepTimeline line =
        line(Schedules.GPIPE.of(1, 1, 1), h, List.of(new Stage(half, List.of())), 0);

    assertThat(line.endPs()).isEqualTo(Math.max(h + n * d, n * h + d));
    assertThat(line.ps(0, Share.COMPUTE)).isEqualTo(n * d);
    assertThat(line.ps(0, Share.HOST)).isEqualTo(line.endPs() - n * d);
  }

  /** Without host work it is the schedule's own forecast, which the tests of schedules check. */
  @ParameterizedTest
  @CsvSource({
    "ONE_F_ONE_B, 1, 3, 0", "ONE_F_ONE_B, 2, 5, 0", "ONE_F_ONE_B, 4, 8, 9",
    "ONE_F_ONE_B, 4, 2, 3", "GPIPE, 3, 4, 0", "GPIPE, 4, 4, 11"
  })
  void pipeline_withoutHost_takesWhatItsScheduleSays(
      Schedules schedule, int p, int m, long transfer) {
    PipelineSchedule plan = schedule.of(p, m, 1);
    List<Stage> stages =
        Collections.nCopies(p, new Stage(List.of(call(100)), List.of(call(150), call(50))));
    StepTimeline line = line(plan, 0, stages, transfer);

    assertThat(line.endPs())
        .isEqualTo(ScheduleTimes.of(plan, new ScheduleTimes.Costs(100, 150, 50, transfer)).end());
  }

  /** (m + p - 1) (f + b): Narayanan et al. 2021. */
  @Test
  void oneFOneB_ofEqualStages_isThePublishedTime() {
    List<Stage> stages = Collections.nCopies(4, new Stage(List.of(call(100)), List.of(call(200))));

    assertThat(line(Schedules.ONE_F_ONE_B.of(4, 8, 1), 0, stages, 0).endPs())
        .isEqualTo((8 + 4 - 1) * 300);
  }

  /** Nothing of a rank's time is lost or counted twice, whatever bounds it. */
  @ParameterizedTest
  @CsvSource({"0, 0", "5, 40", "60, 7", "300, 100"})
  void shares_ofEachRank_sumToTheStep(long h, long transfer) {
    List<Stage> stages = new ArrayList<>();
    for (int r = 0; r < 3; r++) {
      stages.add(
          new Stage(
              List.of(call(30 + r), new StepCall.AllReduce(2, 1, 11)),
              List.of(call(77), call(20 * r))));
    }
    StepTimeline line = line(Schedules.ONE_F_ONE_B.of(3, 5, 1), h, stages, transfer);
    line.afterwards(1, List.of(call(500)), Share.OPTIMIZER);
    line.meet();

    for (int r = 0; r < 3; r++) {
      long sum = 0;
      for (Share share : Share.values()) {
        sum += line.ps(r, share);
      }
      assertThat(sum).as("stage " + r).isEqualTo(line.endPs());
    }
    assertThat(line.ps(0, Share.COMMUNICATION)).isEqualTo(5 * 11);
  }

  /**
   * A host that has waited for a message makes its calls only then; one of a single stage runs on.
   */
  @Test
  void receiving_holdsTheHost() {
    List<Stage> stages =
        Collections.nCopies(
            2, new Stage(List.of(call(1000)), List.of(call(10), call(10), call(10))));
    StepTimeline line = line(Schedules.ONE_F_ONE_B.of(2, 1, 1), 100, stages, 0);

    // stage 0: h + f; stage 1: h + f behind it, then b bound by the host where the queue is empty
    assertThat(line.ps(1, Share.HOST)).isGreaterThanOrEqualTo(100);
    assertThat(line.endPs()).isGreaterThan(2 * 1000 + 6 * 10 + 3 * 100);
  }
}
