package org.kernbench.eval.output;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import org.kernbench.config.UsageException;

/** Writes files under temporary names and moves them, so that a file that is there is whole. */
public final class WholeFile {
  private WholeFile() {}

  /** What is in it. */
  public interface Content {
    void to(OutputStream out) throws IOException;
  }

  /**
   * Refuses a file that cannot be written, before the work that is to fill it.
   *
   * @param option that names the file
   * @throws UsageException if the target is a directory, or the directory that it is to be in does
   *     not exist or cannot be written
   */
  public static void checkWritable(String option, Path target) {
    if (Files.isDirectory(target)) {
      throw new UsageException(
          option + " " + target + ": is a directory; expected the name of a file");
    }
    Path directory = target.toAbsolutePath().getParent();
    boolean writable =
        Files.exists(target)
            ? Files.isWritable(target)
            : directory != null && Files.isDirectory(directory) && Files.isWritable(directory);
    if (!writable) {
      throw new UsageException(
          option + " " + target + ": cannot write there; name a file that you can write");
    }
  }

  /**
   * Writes a text file, or replaces it.
   *
   * @throws OutputException if it cannot be written; what was there before is unchanged
   */
  public static void write(Path target, String text) {
    write(target, out -> out.write(text.getBytes(StandardCharsets.UTF_8)));
  }

  /**
   * Writes a file, or replaces it.
   *
   * @return its size in bytes
   * @throws OutputException if it cannot be written; what was there before is unchanged
   */
  public static long write(Path target, Content content) {
    try {
      return Files.isRegularFile(target) || Files.isDirectory(target) || !Files.exists(target)
          ? replace(Files.isSymbolicLink(target) ? target.toRealPath() : target, content)
          : pour(target, content);
    } catch (IOException e) {
      throw unwritten(target, e);
    }
  }

  /**
   * Writes several files of a directory, or replaces them: all or none.
   *
   * @throws OutputException if one cannot be written; what was there before is unchanged
   */
  public static void writeAll(Path directory, Map<String, Content> files) {
    Map<Path, Path> written = new LinkedHashMap<>();
    try {
      for (Map.Entry<String, Content> file : files.entrySet()) {
        Path named = directory.resolve(file.getKey());
        try {
          Path target = Files.isSymbolicLink(named) ? named.toRealPath() : named;
          Path temporary = temporary(target);
          written.put(temporary, target);
          pourNew(temporary, file.getValue());
        } catch (IOException e) {
          throw unwritten(named, e);
        }
      }
      for (Map.Entry<Path, Path> file : written.entrySet()) {
        try {
          move(file.getKey(), file.getValue());
        } catch (IOException e) {
          throw unwritten(file.getValue(), e);
        }
      }
    } finally {
      written.keySet().forEach(temporary -> temporary.toFile().delete());
    }
  }

  private static OutputException unwritten(Path target, IOException e) {
    return new OutputException(
        "cannot write " + target + " (" + reason(e) + "); what was there before is unchanged", e);
  }

  private static void pourNew(Path temporary, Content content) throws IOException {
    temporary.toFile().deleteOnExit(); // also when the run is interrupted
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(temporary))) {
      content.to(out);
    }
  }

  /** Into a device or a pipe, which must not be replaced by a file. */
  private static long pour(Path target, Content content) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    content.to(bytes);
    try (OutputStream out = Files.newOutputStream(target, StandardOpenOption.WRITE)) {
      bytes.writeTo(out);
    }
    return bytes.size();
  }

  private static long replace(Path target, Content content) throws IOException {
    Path temporary = temporary(target);
    try {
      pourNew(temporary, content);
      long size = Files.size(temporary);
      move(temporary, target);
      return size;
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  /** A name of this process's own; made with the user's usual permissions. */
  public static Path temporary(Path target) {
    return target.resolveSibling(
        "." + target.getFileName() + "." + ProcessHandle.current().pid() + ".tmp");
  }

  private static void move(Path from, Path to) throws IOException {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException e) {
      Files.move(from, to, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  public static String reason(IOException e) {
    String reason = e instanceof FileSystemException f ? f.getReason() : e.getMessage();
    return switch (e) {
      case AccessDeniedException denied -> "permission denied";
      case NoSuchFileException none -> "it does not exist and cannot be made";
      default -> reason == null ? "input or output error" : reason;
    };
  }
}
