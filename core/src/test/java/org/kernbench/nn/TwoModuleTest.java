package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.nn.Microbatches.Masks;

/** The model of two modules: on one rank against loops over numbers, and its special cases. */
final class TwoModuleTest {
  private static void assertPlain(TwoModuleConfig config, List<Microbatch> data) {
    LayoutRun one = TwoModules.oneRank(config, TwoModules.SGD, data, 0);
    Map<String, double[]> plain =
        new PlainTwoModule(config, one.rank(0).parameters).gradients(data);
    one.rank(0)
        .gradients
        .forEach((name, g) ->
            assertThat(g.finished()).as(name).containsExactly(plain.get(name), within(1e-13)));
  }

  @ParameterizedTest
  @CsvSource({"1,UNIFORM", "2,UNEVEN", "1,GAPS"})
  void oneRank_gradients_equalThePlainModel(int microbatches, Masks masks) {
    assertPlain(
        TwoModules.SMALL, Microbatches.random(TwoModules.SMALL, 4, 8, microbatches, masks, 1));
  }

  @Test
  void oneRankWithRotation_gradients_equalThePlainModel() {
    assertPlain(TwoModules.LLAMA, Microbatches.random(TwoModules.LLAMA, 2, 8, 1, Masks.UNEVEN, 2));
  }
}
