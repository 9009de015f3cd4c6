package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.ReduceKind;

/** Which vectors are so short that they are simulated at once. */
final class SteadyForecastTest {
  /**
   * All ranks together at most twice 256 KiB of each rank, but twice 512 KiB at least and twice 4
   * MiB at most.
   */
  @ParameterizedTest
  @CsvSource({
    "1, 1048576",
    "2, 1048576",
    "3, 1572864",
    "4, 2097152",
    "16, 8388608",
    "17, 8388608",
    "64, 8388608"
  })
  void isShort_upToItsLimit(int ranks, long allBytes) {
    long most = allBytes / ranks;
    assertThat(SteadyForecast.isShort(question(most), ranks)).isTrue();
    assertThat(SteadyForecast.isShort(question(most + 1), ranks)).isFalse();
  }

  private static CollectiveTrial.Question question(long bytes) {
    return CollectiveTrial.Question.allReduce(ReduceKind.SUM, DType.I8, bytes);
  }
}
