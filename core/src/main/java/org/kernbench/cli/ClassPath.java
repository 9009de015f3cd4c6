package org.kernbench.cli;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.kernbench.eval.Bench;
import org.kernbench.eval.UserClasses;
import org.kernbench.eval.benches.BenchRegistry;
import picocli.CommandLine.Option;

/** The option {@code --class-path}, of every command that may run a user's classes. */
final class ClassPath {
  @Option(
      names = "--class-path",
      paramLabel = "PATH",
      description =
          """
          Classes of your own: jars, directories of classes, .java files (compiled on the fly), \
          joined by : or repeated. Also KERNBENCH_CLASS_PATH.\
          """)
  private List<String> given = new ArrayList<>();

  /**
   * The bench of a name, or of a source file, with the classes at hand.
   *
   * @param name of a bench, or of a {@code .java} file
   * @param standard the benches that come with kernbench
   */
  Bench bench(String name, BenchRegistry standard) {
    if (name.endsWith(".java")) {
      Path source = Path.of(name);
      return load(List.of(source)).benchOf(source);
    }
    if (entries().isEmpty()) {
      return standard.find(name);
    }
    return standard.with(load(List.of()).benches()).find(name);
  }

  /** Loads the classes, and lets whatever runs in this thread find them by name. */
  UserClasses load(List<Path> sources) {
    List<Path> entries = entries();
    sources.stream().filter(s -> !entries.contains(s)).forEach(entries::add);
    UserClasses classes = UserClasses.load(entries);
    Thread.currentThread().setContextClassLoader(classes.loader());
    return classes;
  }

  /**
   * Loads the classes that were named, without sources of its own; does nothing if there are none.
   */
  void loadIfGiven() {
    if (!entries().isEmpty()) {
      load(List.of());
    }
  }

  /** What was named, by the option and by the environment. */
  List<Path> entries() {
    List<String> all = new ArrayList<>(given);
    String environment = System.getenv("KERNBENCH_CLASS_PATH");
    if (environment != null) {
      all.add(environment);
    }
    List<Path> entries = new ArrayList<>();
    for (String each : all) {
      for (String entry : each.split(File.pathSeparator)) {
        if (!entry.isBlank()) {
          entries.add(Path.of(entry));
        }
      }
    }
    return entries;
  }
}
