package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.config.ConfigException;

/** A machine is in the lines of its text, whatever their order, lists and sections in them too. */
final class MachineTextTest {
  static List<String> machines() throws IOException {
    List<String> all = new ArrayList<>(Machines.presets().keySet());
    try (Stream<Path> files = Files.list(Path.of("../examples/machines"))) {
      files
          .filter(f -> f.toString().endsWith(".yaml"))
          .map(Path::toString)
          .sorted()
          .forEach(all::add);
    }
    return all;
  }

  private static List<String> shuffled(Machine machine, int seed) {
    List<String> lines = new ArrayList<>(machine.configText().lines().toList());
    Collections.shuffle(lines, new Random(seed));
    return lines;
  }

  @ParameterizedTest
  @MethodSource("machines")
  void text_readAgain_isTheMachine(String name) {
    Machine machine = Machines.load(name, List.of());
    Machine again = Machines.ofText(machine.name(), shuffled(machine, 1));
    assertThat(again.configText()).isEqualTo(machine.configText());
    assertThat(again.hash()).isEqualTo(machine.hash());
    assertThat(again.name()).isEqualTo(machine.name());
  }

  /** Lists of more than ten, of which the tenth comes before the second in the text. */
  @Test
  void listOfMany_keepsItsOrder() {
    List<String> steps = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      steps.add("pe.gemm.split_k[" + i + "]=" + (2 + 3 * i));
    }
    Machine machine = Machines.load("dgx-a100", steps);
    assertThat(machine.configText()).contains("pe.gemm.split_k[11]=35");
    assertThat(Machines.ofText("x", shuffled(machine, 2)).configText())
        .isEqualTo(machine.configText());
  }

  /** What a bench or a user sets beside them comes last. */
  @Test
  void bare_withOverrides_isTheMachineWithThem() {
    Machine machine = Machines.load("torus-4x4x4", List.of());
    List<String> lines = shuffled(machine, 3);
    lines.add("system.network[1].size=2");
    lines.add("pe.dma.setup=12 ns");
    assertThat(Machines.load(Machines.BARE, lines).hash())
        .isEqualTo(
            Machines.load("torus-4x4x4", List.of("system.network[1].size=2", "pe.dma.setup=12 ns"))
                .hash());
  }

  @Test
  void bare_withNothing_saysWhatIsMissing() {
    assertThatThrownBy(() -> Machines.load(Machines.BARE, List.of()))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("system");
  }
}
