package org.kernbench.cli.pages;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.eval.output.JsonObject;

/**
 * The runs and sweeps in a folder and the folders in it, four levels down. Links are not followed,
 * so nothing outside can be named.
 */
final class Shelf {
  private static final String RUN = "result.json";
  private static final String SWEEP = "results.json";
  private static final int DEEPEST = 5; // the folder itself, four levels, and files in the last
  private static final int MOST = 2000;

  private final Path root;

  /**
   * @throws UsageException if it is no folder
   */
  Shelf(Path root) {
    try {
      this.root = root.toRealPath();
    } catch (IOException e) {
      throw new UsageException(root + ": no such folder; expected one with runs or sweeps in it");
    }
    if (!Files.isDirectory(this.root)) {
      throw new UsageException(root + ": is a file; expected a folder with runs or sweeps in it");
    }
  }

  /** Its name for people. */
  String name() {
    return root.toString();
  }

  /** The folder of a path that {@link #paths} has; nothing for any other text. */
  Optional<Path> folder(String path) {
    return paths().contains(path) ? Optional.of(root.resolve(path)) : Optional.empty();
  }

  /** Folders with a run or a sweep, from the root, with {@code /}; {@code .} is the root itself. */
  Set<String> paths() {
    Set<String> found = new TreeSet<>();
    try {
      Files.walkFileTree(
          root,
          Set.of(),
          DEEPEST,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
              String name = String.valueOf(file.getFileName());
              if (attributes.isRegularFile() && (name.equals(RUN) || name.equals(SWEEP))) {
                found.add(path(file));
              }
              return found.size() > MOST ? FileVisitResult.TERMINATE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) {
              return FileVisitResult.CONTINUE; // a folder that nobody may read has nothing to show
            }
          });
    } catch (IOException e) {
      throw new UsageException(root + ": cannot be read");
    }
    return found;
  }

  private String path(Path file) {
    String path = root.relativize(file.resolveSibling("")).toString().replace('\\', '/');
    return path.isEmpty() ? "." : path;
  }

  /** What the list shows. */
  Map<String, Object> json() {
    List<Object> entries = new ArrayList<>();
    Set<String> paths = paths();
    paths.stream().limit(MOST).forEach(path -> entries.add(entry(path)));
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("root", name());
    json.put("more", paths.size() > MOST);
    json.put("entries", entries);
    return json;
  }

  private Map<String, Object> entry(String path) {
    Path folder = root.resolve(path);
    boolean run = Files.isRegularFile(folder.resolve(RUN));
    Path file = folder.resolve(run ? RUN : SWEEP);
    Map<String, Object> entry = new LinkedHashMap<>();
    entry.put("path", path);
    entry.put("kind", run ? "run" : "sweep");
    entry.put("bench", "");
    entry.put("machine", "");
    entry.put("with", "");
    try {
      String text = UserFile.text(file, "a file that run --out or sweep --out wrote");
      JsonObject json = JsonObject.read(text.getBytes(StandardCharsets.UTF_8));
      entry.put("bench", json.textIfAny("bench").orElse(""));
      if (run) {
        run(entry, json);
      } else {
        sweep(entry, json);
      }
    } catch (UnreadableException | UsageException e) {
      entry.put("status", "cannot be read");
    }
    entry.put("written", written(file));
    return entry;
  }

  private static void run(Map<String, Object> entry, JsonObject json) {
    if (json.has("machine")) {
      entry.put("machine", json.object("machine").textIfAny("name").orElse(""));
    }
    if (json.has("params")) {
      List<String> with = new ArrayList<>();
      json.object("params").scalars().forEach((name, value) -> with.add(name + "=" + value));
      entry.put("with", String.join(" ", with));
    }
    entry.put("status", json.textIfAny("status").orElse("").replace('_', ' '));
    if (json.has("metrics")) {
      Map<String, Object> metrics = json.object("metrics").scalars();
      for (String time : List.of("crit_ns", "bound_ns")) {
        if (metrics.containsKey(time)) {
          entry.put(time, metrics.get(time));
        }
      }
    }
  }

  private static void sweep(Map<String, Object> entry, JsonObject json) {
    List<String> with = new ArrayList<>();
    if (json.has("axes")) {
      JsonObject axes = json.object("axes");
      for (String axis : axes.names()) {
        with.add(axis + "=" + String.join(",", axes.texts(axis)));
      }
    }
    entry.put("with", String.join(" ", with));
    List<JsonObject> rows = json.has("rows") ? json.objects("rows") : List.of();
    Set<String> machines = new TreeSet<>();
    int ok = 0;
    for (JsonObject row : rows) {
      row.textIfAny("machine").filter(m -> !m.isEmpty()).ifPresent(machines::add);
      ok += row.textIfAny("status").orElse("").equals("ok") ? 1 : 0;
    }
    entry.put("machine", String.join(", ", machines));
    entry.put("status", ok + " of " + rows.size() + " points ok");
  }

  private static String written(Path file) {
    try {
      return Files.getLastModifiedTime(file).toInstant().truncatedTo(ChronoUnit.SECONDS).toString();
    } catch (IOException e) {
      return "";
    }
  }
}
