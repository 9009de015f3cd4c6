package org.kernbench.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.kernbench.config.UsageException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench new}: writes a commented file that runs as it is. */
@Command(
    name = "new",
    customSynopsis = "kernbench new bench|machine|collective NAME [--dir DIR]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = "Writes a commented file that runs as it is, for you to change.",
    parameterListHeading = "%n",
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench new bench my-bench && kernbench run MyBench.java",
      "  kernbench new machine my-machine && kernbench machine show my-machine.yaml",
      "  kernbench new collective my-ring"
    })
final class NewCommand implements Callable<Integer> {
  private static final Pattern NAME = Pattern.compile("[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*");

  /** What can be written. */
  enum Kind {
    /** A bench in a file of its own. */
    BENCH,
    /** A machine. */
    MACHINE,
    /** A collective algorithm. */
    COLLECTIVE
  }

  private final Terminal terminal;

  @Parameters(
      index = "0",
      paramLabel = "KIND",
      converter = Words.KindWord.class,
      completionCandidates = Words.KindWord.class,
      description = "bench, machine or collective.")
  private Kind kind = Kind.BENCH;

  @Parameters(index = "1", paramLabel = "NAME", description = "Its name, e.g. my-bench.")
  private String name = "";

  @Option(
      names = "--dir",
      paramLabel = "DIR",
      description = "Where to write it (default: the current directory).")
  private Path directory = Path.of("");

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  NewCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    if (!NAME.matcher(name).matches()) {
      throw new UsageException(
          """
          name "%s": expected letters and digits, words joined by - or _, e.g. my-%s\
          """
              .formatted(name, kind.name().toLowerCase(Locale.ROOT)));
    }
    Path file =
        directory.resolve(kind == Kind.MACHINE ? dashed() + ".yaml" : className() + ".java");
    write(file, text(file));
    terminal.out().println("wrote " + file + "; it runs as it is:");
    command(file).forEach(line -> terminal.out().println("  " + line));
    return 0;
  }

  private List<String> command(Path file) {
    return switch (kind) {
      case BENCH -> List.of("kernbench run " + file);
      case MACHINE -> List.of("kernbench run ccl-allreduce --topology " + file);
      case COLLECTIVE ->
          List.of(
              "kernbench run ccl-allreduce --class-path " + file + " \\",
              "  --ccl-set defaults.algorithm=%s --ccl-set algorithms.%s.class=own.%s"
                  .formatted(ownName(), ownName(), className()));
    };
  }

  private String text(Path file) {
    String template =
        switch (kind) {
          case BENCH -> "bench.java";
          case MACHINE -> "machine.yaml";
          case COLLECTIVE -> "collective.java";
        };
    return template(template)
        .replace("${name}", ownName())
        .replace("${Class}", className())
        .replace("${file}", file.toString());
  }

  private static String template(String name) {
    try (InputStream in = NewCommand.class.getResourceAsStream("/templates/" + name)) {
      if (in == null) {
        throw new IllegalStateException("no template " + name + " in this kernbench");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void write(Path file, String text) {
    try {
      Files.createDirectories(directory.toAbsolutePath());
      Files.writeString(file, text, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    } catch (FileAlreadyExistsException e) {
      throw new UsageException(
          file.equals(directory) || !Files.isRegularFile(file)
              ? "--dir " + directory + ": is no directory; name one that you can write to"
              : file + ": exists already; choose another name, or remove it first");
    } catch (IOException e) {
      throw new UsageException(
          file + ": cannot write there; name a directory that you can write to with --dir");
    }
  }

  /** Algorithms are keys of ccl.yaml, which are written with {@code _}; all else with {@code -}. */
  private String ownName() {
    return kind == Kind.COLLECTIVE ? dashed().replace('-', '_') : dashed();
  }

  private String dashed() {
    return name.replaceAll("([a-z0-9])([A-Z])", "$1-$2").replace('_', '-').toLowerCase(Locale.ROOT);
  }

  private String className() {
    StringBuilder all = new StringBuilder();
    for (String word : dashed().split("-")) {
      all.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
    }
    return all.toString();
  }
}
