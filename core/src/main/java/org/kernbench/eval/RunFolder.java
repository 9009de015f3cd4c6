package org.kernbench.eval;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.kernbench.device.OpLog;
import org.kernbench.machine.Machine;

/**
 * The folder of one run: {@code result.json} and {@code oplog.csv}. Each file is written under a
 * temporary name and then moved, so that a file that is there is whole.
 */
public final class RunFolder {
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
      Path probe = temporary(directory, "probe");
      Files.createFile(probe);
      Files.delete(probe);
    } catch (FileAlreadyExistsException e) {
      throw new UsageException(
          "--out " + directory + ": is a file; expected a directory, or a name that is free");
    } catch (IOException e) {
      throw new UsageException(
          "--out "
              + directory
              + ": cannot write there ("
              + reason(e)
              + "); name a directory that you can write to");
    }
    return new RunFolder(directory);
  }

  /** Where it is. */
  public Path directory() {
    return directory;
  }

  /**
   * Writes the files of a result.
   *
   * @throws OutputException if a file cannot be written; files written before are whole
   */
  public void write(RunResult result) {
    write("result.json", out -> out.write(ResultJson.write(result)));
    if (result.log().isPresent() && result.machine().isPresent()) {
      OpLog log = result.log().get();
      Machine machine = result.machine().get();
      write("oplog.csv", out -> ResultCsv.writeOpLog(log, machine, out));
    }
  }

  /** Writes one file. */
  interface Content {
    void to(Writer out) throws IOException;
  }

  /** Writes a file under a temporary name and moves it. */
  void write(String name, Content content) {
    Path target = directory.resolve(name);
    try {
      Path temporary = temporary(directory, name);
      temporary.toFile().deleteOnExit(); // also when the run is interrupted
      try {
        try (Writer out = Files.newBufferedWriter(temporary, StandardCharsets.UTF_8)) {
          content.to(out);
        }
        move(temporary, target);
      } finally {
        Files.deleteIfExists(temporary);
      }
    } catch (IOException e) {
      throw new OutputException(
          "cannot write " + target + " (" + reason(e) + "); what was there before is unchanged", e);
    }
  }

  /** A name of this process's own; made with the user's usual permissions. */
  private static Path temporary(Path directory, String name) {
    return directory.resolve("." + name + "." + ProcessHandle.current().pid() + ".tmp");
  }

  private static void move(Path from, Path to) throws IOException {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException e) {
      Files.move(from, to, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static String reason(IOException e) {
    String reason = e instanceof FileSystemException f ? f.getReason() : e.getMessage();
    return switch (e) {
      case AccessDeniedException denied -> "permission denied";
      case NoSuchFileException none -> "it does not exist and cannot be made";
      default -> reason == null ? "input or output error" : reason;
    };
  }
}
