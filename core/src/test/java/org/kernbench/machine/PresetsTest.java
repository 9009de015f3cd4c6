package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

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

  @Test
  void hash_sameMachineWrittenTwice_isEqualAndOtherMachineDiffers() {
    String hash = Machines.load("tiny", List.of()).hash();
    assertThat(hash).matches("[0-9a-f]{12}");
    assertThat(Machines.parse("mine", "description: x\nextends: tiny\n", List.of()).hash())
        .isEqualTo(hash);
    assertThat(Machines.load("tiny", List.of("ipcq.slots=4")).hash()).isNotEqualTo(hash);
  }
}
