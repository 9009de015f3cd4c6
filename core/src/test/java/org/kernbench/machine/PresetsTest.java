package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.SipTopology;

class PresetsTest {
  static Stream<String> presets() {
    return Machines.presets().keySet().stream();
  }

  @ParameterizedTest
  @MethodSource("presets")
  void load_everyPreset_hasNoErrorsAndNoWarnings(String preset) {
    Machine machine = Machines.load(preset, List.of());
    assertThat(machine.name()).isEqualTo(preset);
    assertThat(machine.warnings()).isEmpty();
    assertThat(Machines.presets().get(preset)).isNotBlank();
  }

  @Test
  void presets_filesInMachines_areAllListed() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("../machines"))) {
      assertThat(files.map(f -> f.getFileName().toString().replace(".yaml", "")))
          .containsExactlyInAnyOrderElementsOf(Machines.presets().keySet());
    }
  }

  @Test
  void load_sip2026_hasTheSpecifiedSize() {
    Machine machine = Machines.load("sip-2026", List.of());
    assertThat(machine.sips()).isEqualTo(6);
    assertThat(machine.cubesPerSip()).isEqualTo(16);
    assertThat(machine.pesPerCube()).isEqualTo(8);
    assertThat(machine.peCount()).isEqualTo(768);
    assertThat(machine.sipGridWidth()).isEqualTo(3);
    assertThat(machine.sipGridHeight()).isEqualTo(2);
  }

  /** Published figures of the boxes: HBM bandwidth, dense f16 rate, NVLink each way. */
  @ParameterizedTest
  @CsvSource({"dgx-a100,2039,312,300", "dgx-h100,3350,989.4,450"})
  void load_referenceMachine_hasThePublishedRates(
      String preset, double hbm, double teraflops, double link) {
    Machine machine = Machines.load(preset, List.of());
    assertThat(machine.peCount()).isEqualTo(8);
    assertThat(machine.sipTopology()).isEqualTo(SipTopology.SWITCH);
    assertThat(machine.hbm().peakRate().bytesPerSecond() / 1e9).isEqualTo(hbm, within(1.0));
    assertThat(machine.pe().gemm().peakFlops() / 1e12).isEqualTo(teraflops, within(0.5));
    assertThat(machine.spec(LinkKind.SIP_TO_SIP).rate().bytesPerSecond() / 1e9).isEqualTo(link);
  }

  /** 1024 bits at 9.6 Gb/s. */
  @Test
  void load_hbm3e_hasTheBandwidthOfAStack() {
    Machine machine = Machines.load("sip-2026-hbm3e", List.of());
    assertThat(machine.hbm().peakRate().bytesPerSecond() * machine.pesPerCube())
        .isEqualTo(1_228_800_000_000L);
  }

  @Test
  void hash_sameMachineWrittenTwice_isEqualAndOtherMachineDiffers() {
    String hash = Machines.load("tiny", List.of()).hash();
    assertThat(hash).matches("[0-9a-f]{12}");
    assertThat(Machines.parse("mine", "description: x\nextends: tiny\n", List.of()).hash())
        .isEqualTo(hash);
    assertThat(Machines.load("tiny", List.of("ipcq.slots=4")).hash()).isNotEqualTo(hash);
  }
}
