package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.ConfigException;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/**
 * Nothing that a machine file says is passed over: a key that is not known is refused in every
 * section of the presets, and a value that means nothing at every key.
 */
final class EveryKeyRefusedTest {
  /** Any text will do there. */
  private static final Set<String> TEXTS = Set.of("description", "extends");

  private static Object preset(String name) throws IOException {
    String text = Files.readString(Path.of("../machines", name + ".yaml"));
    return new Load(LoadSettings.builder().build()).loadFromString(text);
  }

  private static void collect(Object node, String path, List<String> sections, List<String> keys) {
    switch (node) {
      case Map<?, ?> map -> {
        sections.add(path);
        map.forEach((key, value) ->
            collect(value, path.isEmpty() ? "" + key : path + "." + key, sections, keys));
      }
      case List<?> list -> {
        for (int i = 0; i < list.size(); i++) {
          collect(list.get(i), path + "[" + i + "]", sections, keys);
        }
      }
      case null, default -> keys.add(path);
    }
  }

  private static List<String> problems(String preset, String override) {
    ConfigException refused =
        catchThrowableOfType(ConfigException.class, () -> Machines.load(preset, List.of(override)));
    assertThat(refused).as("%s with %s", preset, override).isNotNull();
    return refused.problems().stream().map(Object::toString).toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"sip-2026", "tiny", "dgx-h100", "2x-dgx-h100", "torus-4x4x4", "kb-compat", "ring"})
  void load_unknownKeyInASection_isRefusedThere(String preset) throws IOException {
    List<String> sections = new ArrayList<>();
    collect(preset(preset), "", sections, new ArrayList<>());
    assertThat(sections).hasSizeGreaterThan(2);
    sections.remove("software.collective.protocols"); // whose keys are names that the file gives
    for (String section : sections) {
      String key = section.isEmpty() ? "zzz" : section + ".zzz";
      assertThat(problems(preset, key + "=1"))
          .anyMatch(problem -> problem.contains(key + ": unknown key"));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"sip-2026", "tiny", "dgx-h100", "2x-dgx-h100", "torus-4x4x4", "kb-compat", "ring"})
  void load_valueWithoutMeaning_isRefusedAtItsKey(String preset) throws IOException {
    List<String> keys = new ArrayList<>();
    collect(preset(preset), "", new ArrayList<>(), keys);
    keys.removeIf(TEXTS::contains);
    assertThat(keys).hasSizeGreaterThan(2);
    for (String key : keys) {
      assertThat(problems(preset, key + "=?"))
          .anyMatch(problem -> problem.contains(key + ": ") && problem.contains("\"?\""));
    }
  }
}
