package org.kernbench.eval.traffic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The search for saturation, on networks whose latency is a formula. */
final class TrafficCurveTest {
  private final List<Double> quiet = new ArrayList<>();
  private final List<Double> ran = new ArrayList<>();

  private static TrafficPoint point(double load, double meanPs, long late) {
    long[] latencies = new long[400];
    Arrays.fill(latencies, Math.round(meanPs));
    return new TrafficPoint(load, load, load, latencies, late, 1_000, 0, 1);
  }

  private TrafficCurve curve(DoubleUnaryOperator meanPs, double most) {
    return TrafficCurve.toSaturation(
        load -> {
          ran.add(load);
          return point(load, meanPs.applyAsDouble(load), 0);
        },
        load -> {
          quiet.add(load);
          return point(load, meanPs.applyAsDouble(load), 0);
        },
        most);
  }

  /** A step at some load: steps of a tenth to behind it, then five times half of the last step. */
  @ParameterizedTest
  @CsvSource({"0.37", "0.05", "0.81", "0.999"})
  void saturation_isFoundWithinA64thOfAStep(double step) {
    TrafficCurve found = curve(load -> load < step ? 1_000 : 3_001, 1);

    assertThat(found.saturation()).isCloseTo(step, within(0.1 / 64 + 1e-9));
    assertThat(found.zeroLoadPs()).isEqualTo(1_000);
    assertThat(quiet).containsExactly(0.02);
    int steps = (int) Math.ceil(step * 10);
    assertThat(ran).hasSize(steps + 5);
    for (int i = 0; i < steps; i++) {
      assertThat(ran.get(i)).isEqualTo((i + 1) / 10.0);
    }
    assertThat(found.points()).hasSize(1 + steps + 5);
    assertThat(found.points().stream().map(TrafficPoint::load)).isSorted();
  }

  /** Three times the quiet latency is not yet saturated; a picosecond more is. */
  @Test
  void saturated_isMoreThanThreeTimesTheQuietLatency() {
    assertThat(curve(load -> load < 0.5 ? 1_000 : 3_000, 1).saturation()).isZero();
    assertThat(curve(load -> load < 0.5 ? 1_000 : 3_001, 1).saturation()).isPositive();
    assertThat(point(0.5, 3_000, 0).isSaturated(1_000)).isFalse();
    assertThat(point(0.5, 3_000, 1).isSaturated(1_000)).isTrue();
  }

  @Test
  void loads_endWhereNoMoreCanBeOffered() {
    TrafficCurve found = curve(load -> 1_000, 0.35);

    assertThat(ran).containsExactly(0.1, 0.2, 0.3);
    assertThat(found.saturation()).isZero();
    assertThat(found.points()).hasSize(4);
    quiet.clear();
    ran.clear();
    assertThat(curve(load -> 1_000, 0.01).points()).hasSize(1);
    assertThat(quiet).containsExactly(0.01);
    assertThat(ran).isEmpty();
    assertThat(curve(load -> 1_000, 1).points()).hasSize(11);
  }

  /** Where the lowest load is too much, half of it and so on; then a tenth of what is not. */
  @Test
  void machine_thatIsSaturatedAtOnce_isSearchedBelow() {
    TrafficCurve found =
        TrafficCurve.toSaturation(
            load -> {
              ran.add(load);
              return point(load, 1_000, load > 0.004 ? 5 : 0);
            },
            load -> {
              quiet.add(load);
              return point(load, 1_000, load > 0.004 ? 5 : 0);
            },
            1);

    assertThat(quiet).containsExactly(0.02, 0.01, 0.005, 0.0025, 0.00025);
    assertThat(ran).hasSize(5);
    assertThat(found.saturation()).isCloseTo(0.004, within(0.0025 / 64 + 1e-9));
    assertThat(found.zeroLoadPs()).isEqualTo(1_000);
  }

  @Test
  void loads_thatAreGiven_areRunInTheirOrder_andSayNothingOfSaturation() {
    TrafficCurve found =
        TrafficCurve.at(List.of(0.1, 0.5), load -> point(load, 1_000 + 9_000 * load, 0));

    assertThat(found.points().stream().map(TrafficPoint::load)).containsExactly(0.1, 0.5);
    assertThat(found.zeroLoadPs()).isEqualTo(1_900);
    assertThat(found.saturation()).isZero();
    assertThat(TrafficCurve.at(List.of(0.1), load -> point(load, 7_000, 1)).zeroLoadPs())
        .as("late packets say nothing: what they would take alone")
        .isEqualTo(1_000);
  }
}
