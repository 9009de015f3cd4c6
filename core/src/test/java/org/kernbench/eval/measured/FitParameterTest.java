package org.kernbench.eval.measured;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.Machines;

/** Values that a fit tries. */
final class FitParameterTest {
  /** Machines take times in whole picoseconds. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "pe.dma.setup=10..100 ns",
        "pe.dma.setup=16..64 ns",
        "pe.dma.setup=10000..100000 ps",
        "system.links.sip_to_sip.latency=0.1..3 us",
        "cube.hbm.latency=10..100 ns",
        "cube.hbm.efficiency=0.5..1",
        "system.links.sip_to_sip.bandwidth=200..300 GB/s"
      })
  void change_atAnyPosition_isOneThatAMachineTakes(String text) {
    FitParameter fit = FitParameter.parse(text);
    for (int i = 0; i <= 20; i++) {
      assertThat(Machines.load("tiny", List.of(fit.change(i / 20.0))).name()).isEqualTo("tiny");
    }
    assertThat(fit.value(1)).isGreaterThan(fit.value(0));
  }
}
