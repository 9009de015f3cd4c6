package org.kernbench.machine;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.config.ConfigException;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Position;
import org.kernbench.config.Problems;
import org.kernbench.config.Shown;
import org.kernbench.config.Suggest;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UserFile;

/** Loads machines: presets by name, files by path. */
public final class Machines {
  private static final List<String> PRESETS =
      List.of(
          "sip-2026",
          "sip-2026-compute",
          "sip-2026-hbm3e",
          "kb-compat",
          "dgx-a100",
          "dgx-h100",
          "2x-dgx-h100",
          "64x-dgx-h100",
          "tiny",
          "ring",
          "torus-4x4x4",
          "model-sips",
          "model-cubes");
  private static final String EXTENDS = "extends";

  /**
   * In place of a preset or path: overrides say everything, as {@link Machine#configText} does. No
   * file can have this name.
   */
  public static final String BARE = "\0";

  /** What every machine has. */
  private static final List<String> PARTS =
      List.of("system", "sip", "cube", "pe", "ipcq", "fabric");

  private Machines() {}

  /** Names of the presets, the default first, with one line on each. */
  public static Map<String, String> presets() {
    Map<String, String> result = new LinkedHashMap<>();
    for (String preset : PRESETS) {
      Problems problems = new Problems();
      ConfigTree tree = ConfigTree.parse(preset, presetText(preset), problems);
      result.put(preset, tree.topLevelText("description").orElse(""));
    }
    return result;
  }

  /**
   * Loads a machine.
   *
   * @param presetOrPath name of a preset ({@code -} and {@code _} are alike), path of a YAML file,
   *     or {@link #BARE}
   * @param overrides {@code path=value}, applied in order over the file
   * @throws ConfigException with every problem found
   */
  public static Machine load(String presetOrPath, List<String> overrides) {
    if (presetOrPath.equals(BARE)) {
      return ofText("resolved", overrides);
    }
    Problems problems = new Problems();
    Source source = open(presetOrPath, Path.of(""), new Position(presetOrPath, 1, 1), "", problems);
    return read(source, overrides, problems);
  }

  /**
   * Reads a machine from YAML text; files that it extends are looked up from the working directory.
   *
   * @param name name of the machine, and of the file in messages
   * @throws ConfigException with every problem found
   */
  public static Machine parse(String name, String yaml, List<String> overrides) {
    return read(new Source(name, name, yaml, Path.of("")), overrides, new Problems());
  }

  /**
   * The machine of which these are the lines of {@link Machine#configText}, in any order.
   *
   * @throws ConfigException with every problem found
   */
  public static Machine ofText(String name, List<String> lines) {
    Problems problems = new Problems();
    List<String> all = new ArrayList<>(lines);
    all.add("description=of its configuration"); // which is no part of that
    return read(name, name, ConfigTree.ofCanonicalLines(name, all, problems), problems);
  }

  /** A text and where it came from; relative paths inside it start at {@code directory}. */
  private record Source(String machineName, String file, String text, Path directory) {}

  private static Machine read(Source source, List<String> overrides, Problems problems) {
    ConfigTree tree = resolve(source, problems).overridden(overrides, problems);
    return read(source.machineName(), source.file(), tree, problems);
  }

  private static Machine read(String name, String file, ConfigTree tree, Problems problems) {
    try {
      return MachineReader.read(name, tree, problems);
    } catch (ArithmeticException e) {
      problems.add(
          new Position(file, 1, 1),
          "",
          "values so far apart cannot be simulated together: " + e.getMessage());
      throw new ConfigException(problems.sorted());
    }
  }

  /** The file over the file it extends, and so on. */
  private static ConfigTree resolve(Source start, Problems problems) {
    List<String> seen = new ArrayList<>();
    List<ConfigTree> layers = new ArrayList<>();
    Source source = start;
    while (true) {
      seen.add(source.file());
      ConfigTree tree = ConfigTree.parse(source.file(), source.text(), problems);
      if (tree.isEmpty()) {
        problems.throwIfAny(); // a file that cannot be read lacks every key: no need to list them
        problems.add(
            new Position(source.file(), 1, 1),
            "",
            "is empty; expected a machine: \"extends: sip-2026\", for example, and what differs");
        problems.throwIfAny();
      }
      layers.add(tree.without(EXTENDS));
      if (!tree.has(EXTENDS)) {
        checkComplete(tree, source.file(), problems);
        break;
      }
      Position at = tree.topLevelPosition(EXTENDS);
      Optional<String> base = tree.topLevelText(EXTENDS);
      if (base.isEmpty()) {
        problems.add(
            at, EXTENDS, "expected the name of one preset or YAML file, e.g. extends: sip-2026");
        problems.throwIfAny();
      }
      source = open(base.get(), source.directory(), at, EXTENDS, problems);
      if (seen.contains(source.file())) {
        problems.add(
            at,
            EXTENDS,
            "a circle of files: %s extends %s; expected one of them to stand alone"
                .formatted(String.join(" extends ", seen), source.file()));
        problems.throwIfAny();
      }
    }
    ConfigTree result = layers.get(layers.size() - 1);
    for (int i = layers.size() - 2; i >= 0; i--) {
      result = result.overlaid(layers.get(i));
    }
    return result;
  }

  /** Refuses a file that extends nothing and leaves whole parts of a machine out. */
  private static void checkComplete(ConfigTree tree, String file, Problems problems) {
    List<String> lacking = PARTS.stream().filter(part -> !tree.has(part)).toList();
    if (!lacking.isEmpty()) {
      problems.add(
          new Position(file, 1, 1),
          EXTENDS,
          """
          missing; expected "extends: sip-2026", for example, and what differs: a file that extends \
          nothing has every key of a machine, and this one has no %s\
          """
              .formatted(String.join(", ", lacking)));
      problems.throwIfAny(); // what else is missing is of no interest
    }
  }

  private static Source open(
      String name, Path directory, Position at, String key, Problems problems) {
    Optional<String> preset = preset(name);
    if (preset.isPresent()) {
      String file = presetFile(preset.get());
      return new Source(preset.get(), file, presetText(preset.get()), directory);
    }
    try {
      Path path = directory.resolve(UserFile.path(name));
      String text = UserFile.text(path, "a YAML file");
      Path parent = path.getParent();
      String fileName = String.valueOf(path.getFileName());
      int dot = fileName.lastIndexOf('.');
      return new Source(
          dot > 0 ? fileName.substring(0, dot) : fileName,
          path.toString(),
          text,
          parent == null ? Path.of("") : parent);
    } catch (UnreadableException e) {
      String told = key.isEmpty() ? "" : "\"" + Shown.text(name) + "\" ";
      problems.add(at, key, e.isMissing() ? unknown(name) : told + e.getMessage());
    }
    throw new ConfigException(problems.sorted());
  }

  private static Optional<String> preset(String name) {
    String wanted = name.replace('_', '-');
    return PRESETS.contains(wanted) ? Optional.of(wanted) : Optional.empty();
  }

  private static String unknown(String name) {
    return "no preset and no file \"%s\"%s; expected a YAML file or one of %s"
        .formatted(Shown.text(name), Suggest.hint(name, PRESETS), String.join(", ", PRESETS));
  }

  /** Joined with concat, because the + of strings costs 8 ms of a cold start. */
  private static String presetFile(String preset) {
    return "machines/".concat(preset).concat(".yaml");
  }

  /** Whether it is the name that positions have for the file of a preset. */
  static boolean isPresetFile(String file) {
    return PRESETS.stream().anyMatch(preset -> presetFile(preset).equals(file));
  }

  private static String presetText(String preset) {
    String resource = "/".concat(presetFile(preset));
    try (InputStream in = Machines.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new AssertionError("preset " + preset + " is not packed with the program");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new AssertionError("preset " + preset + " cannot be read", e);
    }
  }
}
