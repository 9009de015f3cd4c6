package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.machine.spec.ProtocolsSpec;
import org.kernbench.machine.spec.SoftwareSpec;
import org.kernbench.machine.spec.WavesSpec;

/** Keys that a machine may leave out: each is found where it belongs, and bad values are told. */
final class SoftwareTest {
  private static Machine with(String... overrides) {
    return Machines.load("sip-2026", List.of(overrides));
  }

  @Test
  void software_leftOut_addsNothing() {
    assertThat(with().software()).isEqualTo(SoftwareSpec.NONE);
    assertThat(with().pe().gemm().waves()).isEmpty();
    assertThat(with().pe().gemm().sustainedHz()).isEqualTo(with().pe().gemm().clockHz());
  }

  @Test
  void software_everyKey_isFoundWhereItBelongs() {
    SoftwareSpec software =
        with(
                "software.synchronise=3 ns",
                "software.matmul.launch=5 ns",
                "software.softmax.resident_row=7 KiB",
                "software.collective.protocols.ll.base=11 ns",
                "software.collective.protocols.ll.step=13 ns",
                "software.collective.protocols.ll.tree_step=17 ns",
                "software.collective.protocols.ll.share=0.19",
                "software.collective.channels.from=23 GB/s",
                "software.collective.channels.at_1mib=29 GB/s")
            .software();

    assertThat(software.synchronisePs()).isEqualTo(3000);
    assertThat(software.of(OperationClass.MATMUL).launchPs()).isEqualTo(5000);
    assertThat(software.of(OperationClass.SOFTMAX).residentRowBytes()).isEqualTo(7 << 10);
    assertThat(software.of(OperationClass.OTHER)).isEqualTo(SoftwareSpec.OfOperation.NONE);
    ProtocolsSpec protocols = software.collective().orElseThrow();
    assertThat(protocols.protocols())
        .containsExactly(new ProtocolsSpec.Protocol("ll", 11_000, 13_000, 17_000, 190_000_000));
    assertThat(protocols.rampBytesPerSecond(0)).isEqualTo(23e9);
    assertThat(protocols.rampBytesPerSecond(1 << 20)).isEqualTo(29e9);
    assertThat(protocols.rampBytesPerSecond(4 << 20)).isEqualTo(35e9);
  }

  @Test
  void waves_everyKey_isFoundWhereItBelongs() {
    var gemm =
        with(
                "pe.gemm.mode=waves",
                "pe.gemm.units=31",
                "pe.gemm.macs=37",
                "pe.gemm.tiles=64x32",
                "pe.gemm.split_k=[3, 4]",
                "pe.gemm.l2_width=41 B",
                "pe.gemm.efficiency=0.5")
            .pe()
            .gemm();

    assertThat(gemm.waves())
        .contains(new WavesSpec(31, 37, List.of(new WavesSpec.Block(64, 32)), List.of(3, 4), 41));
    assertThat(gemm.peakFlops()).isEqualTo(2.0 * 31 * 37 * 2e9);
    assertThat(gemm.sustainedHz()).isEqualTo(1_000_000_000);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "dgx-a100 | pe.gemm.tiles=256 | got \"256\"; expected rows x columns of a tile",
        "dgx-a100 | pe.gemm.units=0 | pe.gemm.units: got \"0\"",
        "dgx-a100 | pe.gemm.split_k=0 | expected whole numbers from 1 to 999",
        "dgx-a100 | pe.gemm.efficiency=1.1 | a number above 0 and up to 1",
        "sip-2026 | pe.gemm.mode=waves | pe.gemm.units: missing",
        "sip-2026 | software.matmull.launch=1 us | did you mean matmul",
        "dgx-a100 | software.collective.channels.at_1mib=1 kB/s | expected at least the rate of small",
        "dgx-a100 | software.collective.protocols.ll.share=0 | a number above 0 and up to 1"
      })
  void badValue_saysWhereAndWhatIsExpected(String preset, String override, String message) {
    assertThatThrownBy(() -> Machines.load(preset, List.of(override)))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(message);
  }
}
