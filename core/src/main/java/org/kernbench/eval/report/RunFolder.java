package org.kernbench.eval.report;

import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.eval.output.OutputException;
import org.kernbench.eval.output.WholeFile;
import org.kernbench.machine.Machine;

/**
 * The folder of one run: {@code result.json}, {@code oplog.csv}, {@code run.log}, a {@link
 * Recording}, and {@code report.json} for {@link Report}. Files are written under temporary names
 * and then moved, so that a file that is there is whole and those of a folder are of one run.
 */
public final class RunFolder {
  private static final String RESULT = "result.json";
  private static final String RECORDING = "run.log";
  private static final String OPERATIONS = "oplog.csv";
  private static final long LONGEST = 64L << 20;

  private final Path directory;

  private RunFolder(Path directory) {
    this.directory = directory;
  }

  /**
   * Makes the folder, before the run that fills it.
   *
   * @throws UsageException if it cannot be made or written
   */
  public static RunFolder create(Path directory) {
    try {
      Files.createDirectories(directory);
      Path probe = WholeFile.temporary(directory.resolve("probe"));
      Files.createFile(probe);
      Files.delete(probe);
    } catch (FileAlreadyExistsException e) {
      throw new UsageException(
          "--out " + directory + ": is a file; expected a directory, or a name that is free");
    } catch (IOException e) {
      throw new UsageException(
          """
          --out %s: cannot write there (%s); name a directory that you can write to\
          """
              .formatted(directory, WholeFile.reason(e)));
    }
    return new RunFolder(directory);
  }

  /** Where it is. */
  public Path directory() {
    return directory;
  }

  /**
   * Writes the files of a result, and what it takes to explain it later or to run it again: all of
   * them or none. What an earlier run left here and this one does not have is removed, so that all
   * files are of one run.
   *
   * @throws OutputException if a file cannot be written; those of an earlier run are unchanged
   */
  public void write(RunResult result, String bench, RunOptions options) {
    Map<String, WholeFile.Content> files = new LinkedHashMap<>();
    files.put(RESULT, text(out -> out.write(ResultJson.write(result))));
    files.put("report.json", text(out -> out.write(ReportData.of(result))));
    if (result.log().isPresent() && result.machine().isPresent()) {
      OpLog log = result.log().get();
      Machine machine = result.machine().get();
      files.put(OPERATIONS, text(out -> ResultCsv.writeOpLog(log, machine, out)));
    }
    if (result.path().isPresent() && result.machine().isPresent()) {
      files.put(RECORDING, out -> new Recording(bench, options, result).write(out));
    }
    result
        .files()
        .forEach((name, content) -> files.put(name, text(out -> out.write(content.get()))));
    WholeFile.writeAll(directory, files);
    for (String name : List.of(OPERATIONS, RECORDING, "pipeline.svg", "pipeline.csv")) {
      if (!files.containsKey(name)) {
        remove(directory.resolve(name));
      }
    }
  }

  private static void remove(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new OutputException(
          "cannot remove " + file + ", which an earlier run left (" + WholeFile.reason(e) + ")", e);
    }
  }

  /** Whether a path is a directory, so that it cannot be the name of a bench. */
  public static boolean isFolder(String path) {
    try {
      return Files.isDirectory(Path.of(path));
    } catch (InvalidPathException e) {
      return false;
    }
  }

  /**
   * Reads what a run left in its folder.
   *
   * @throws UsageException if the folder holds no recording that this version reads, and why
   */
  public static Recording read(String directory) {
    Path folder = Path.of(directory);
    if (!Files.exists(folder.resolve(RECORDING))) {
      checkKept(folder);
    }
    return Recording.read(folder.resolve(RECORDING));
  }

  /** Refuses a run whose result says why no operations of it are kept. */
  private static void checkKept(Path folder) {
    Path file = folder.resolve(RESULT);
    if (!Files.isRegularFile(file)) {
      return;
    }
    Map<String, Object> result;
    try {
      result = JsonObject.read(UserFile.bytes(file, LONGEST, "a file of run --out")).scalars();
    } catch (UnreadableException | UsageException e) {
      return; // nothing that this program wrote: what is told is that the recording is missing
    }
    if ("values".equals(result.get("mode"))) {
      throw new UsageException(
          """
          %s: the run was in mode values, which simulates no operations and no time to explain; \
          run it again with --mode full or time\
          """
              .formatted(folder));
    }
    if (result.get("breakdown_note") instanceof String note && !note.isEmpty()) {
      throw new UsageException(
          "%s: the run has no critical path to explain: %s".formatted(folder, note));
    }
  }

  /** Writes one file. */
  public interface Content {
    void to(Writer out) throws IOException;
  }

  /** Writes a file under a temporary name and moves it. */
  public void write(String name, Content content) {
    WholeFile.write(directory.resolve(name), text(content));
  }

  private static WholeFile.Content text(Content content) {
    return bytes -> {
      try (Writer out = new OutputStreamWriter(bytes, StandardCharsets.UTF_8)) {
        content.to(out);
      }
    };
  }
}
