package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every algorithm does what it says, everywhere: a seeded part here, all of it when slow. */
final class ConformanceTest {
  private static final Conformance SUITE = new Conformance();

  static Stream<String> algorithms() {
    return CollectiveLibrary.builtIn().stream();
  }

  private static Conformance.Report run(String name, Conformance.Extent extent) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    return SUITE.run(
        CollectiveLibrary.algorithm(config, name), config.of(name), extent, name.hashCode());
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  void algorithm_seededPart_conforms(String name) {
    Conformance.Report report = run(name, Conformance.Extent.FAST);
    assertThat(report.failures()).isEmpty();
    assertThat(report.passes()).isTrue();
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  @Tag("slow")
  void algorithm_everything_conforms(String name) {
    Conformance.Report report = run(name, Conformance.Extent.FULL);
    System.out.println(name + ": " + report);
    assertThat(report.failures()).isEmpty();
    assertThat(report.passes()).isTrue();
  }

  private static Conformance.Report broken(BrokenAllReduce.Flaw flaw) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    return SUITE.run(
        new BrokenAllReduce(flaw), config.of("ring"), Conformance.Extent.FAST, flaw.ordinal());
  }

  /** Each way in which such programs are broken is found, by its own sign. */
  @ParameterizedTest
  @CsvSource({
    "WRONG_NEIGHBOUR, 'element'",
    "SEGMENT_OFF_BY_ONE, 'element'",
    "MISSING_REDUCTION, 'element'",
    "UNFINISHED, 'avg'",
    "TOO_FEW_SLOTS, 'says that 1 slots are enough, but deadlocks with 1'",
    "EXTRA_MESSAGE, 'its exact count is'",
    "RECEIVES_FIRST, 'deadlock'",
    "OWN_ORDER, 'hold different bits'",
  })
  void brokenAlgorithm_anyFlaw_isCaught(BrokenAllReduce.Flaw flaw, String sign) {
    Conformance.Report report = broken(flaw);
    assertThat(report.passes()).isFalse();
    assertThat(report.failures()).anyMatch(f -> f.contains(sign));
  }

  @Test
  void sameAlgorithm_withoutFlaw_conforms() {
    assertThat(broken(BrokenAllReduce.Flaw.NONE).failures()).isEmpty();
  }
}
