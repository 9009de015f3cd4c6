package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.nn.Microbatches.Masks;

/** The mutation matrix of {@code megatron.md} 12.4: every fault is found, and named. */
final class LayoutFaultTest {
  private static final List<Microbatch> DATA =
      Microbatches.random(TwoModules.SMALL, 4, 8, 1, Masks.UNEVEN, 3);

  @ParameterizedTest
  @EnumSource
  void fault_isFoundAndNamed(Fault fault) {
    TwoModuleLayout layout =
        switch (fault) {
          case ZERO_PAD, CANONICAL_SLICES ->
              TwoModules.layout("tp=4,dp=2", "tp=1,cp=2,dp=4", false);
          default -> TwoModules.layout("tp=2,dp=4", "tp=2,cp=2,dp=2", true);
        };
    LayoutVerdict verdict =
        TwoModules.check(layout, TwoModules.SMALL, TwoModules.SGD.withFault(fault), DATA, 0);
    if (fault == Fault.NONE) {
      assertThat(verdict.first()).isEmpty();
    } else {
      assertThat(verdict.first().orElseThrow().cause()).isEqualTo(fault.cause());
    }
  }
}
