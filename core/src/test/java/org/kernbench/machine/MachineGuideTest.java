package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** {@code docs/machine-guide.md} has every key of the preset that has every key. */
final class MachineGuideTest {
  private static final Path ROOT = Path.of(System.getProperty("basedir", "."), "..");
  private static final Pattern ROW =
      Pattern.compile("\\| `([a-zA-Z0-9_.]+)` \\| (\\w+) \\| ([^|]*) \\| ([^|]*)\\|");
  private static final String NUMBER = "[0-9.]+";
  private static final Map<String, String> VALUES =
      Map.of(
          "number", NUMBER + "|auto|per_pe",
          "fraction", "[01][.]?[0-9]*",
          "time", NUMBER + " (ps|ns|us|ms)",
          "rate", NUMBER + " [kKMGT]?i?B/s|none|unlimited",
          "size", NUMBER + " [kKMGT]?i?B",
          "clock", NUMBER + " [kMG]?Hz",
          "choice", "[a-z0-9_]+",
          "flag", "true|false",
          "text", ".*");

  @Test
  void guide_everyKeyOfThePreset_isThereWithItsValue() throws IOException {
    Map<String, String> preset = new LinkedHashMap<>();
    flatten("", yaml("machines/sip-2026.yaml"), preset);

    assertThat(column(3)).isEqualTo(preset);
  }

  @Test
  void guide_everyType_fitsTheValue() throws IOException {
    Map<String, String> types = column(2);
    column(3)
        .forEach((key, value) -> {
          String type = types.get(key);
          assertThat(VALUES).as(key).containsKey(type);
          assertThat(value).as("%s, a %s", key, type).matches(VALUES.get(type));
        });
  }

  private static Map<String, String> column(int column) throws IOException {
    List<String> lines = Files.readAllLines(ROOT.resolve("docs/machine-guide.md"));
    Map<String, String> cells = new LinkedHashMap<>();
    for (String line : lines) {
      Matcher row = ROW.matcher(line);
      if (row.matches()) {
        assertThat(cells.put(row.group(1), row.group(column))).as(line).isNull();
      }
    }
    return cells;
  }

  private static Object yaml(String file) throws IOException {
    LoadSettings settings = LoadSettings.builder().build();
    return new Load(settings).loadFromString(Files.readString(ROOT.resolve(file)));
  }

  private static void flatten(String path, Object node, Map<String, String> into) {
    if (node instanceof Map<?, ?> map) {
      map.forEach(
          (key, value) -> flatten(path.isEmpty() ? "" + key : path + "." + key, value, into));
    } else {
      into.put(path, String.valueOf(node));
    }
  }
}
