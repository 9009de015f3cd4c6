package org.kernbench.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SuggestTest {
  private static final List<String> KEYS =
      List.of("bandwidth", "latency", "count", "topology", "w");

  @ParameterizedTest
  @CsvSource({"bandwith, bandwidth", "latnecy, latency", "Cuont, count", "to-pology, topology"})
  void nearest_smallMistake_findsTheName(String word, String expected) {
    assertThat(Suggest.nearest(word, KEYS)).contains(expected);
  }

  @ParameterizedTest
  @CsvSource({"colour", "xylophone", "bandwidthlatencycount", "www", "top"})
  void nearest_nothingAlike_isEmpty(String word) {
    assertThat(Suggest.nearest(word, KEYS)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"'', abc, 3", "abc, abc, 0", "ab, ba, 1", "kitten, sitting, 3", "abcd, acbd, 1"})
  void distance_knownPairs_isDamerauLevenshtein(String a, String b, int expected) {
    assertThat(Suggest.distance(a, b)).isEqualTo(expected);
    assertThat(Suggest.distance(b, a)).isEqualTo(expected);
  }
}
