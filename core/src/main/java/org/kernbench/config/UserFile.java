package org.kernbench.config;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * The one door through which files that a user names are read: machines, collective configurations,
 * tables, sweeps, recordings, results. What comes through it is an ordinary file (a pipe may never
 * end and a device has no end), of a bounded size, and text is UTF-8. {@link FilesRead} learns of
 * each.
 */
public final class UserFile {
  /** Most bytes of a text that a person may have written. */
  public static final int LONGEST_TEXT = 16 << 20;

  private UserFile() {}

  /**
   * The path of a name.
   *
   * @throws UnreadableException if no file can have that name
   */
  public static Path path(String name) throws UnreadableException {
    try {
      return Path.of(name);
    } catch (InvalidPathException e) {
      throw new UnreadableException(true, "is no name that a file can have; expected a path");
    }
  }

  /**
   * Reads a text of at most {@link #LONGEST_TEXT} bytes.
   *
   * @param expected what the file should be, such as {@code a YAML file}
   */
  public static String text(Path file, String expected) throws UnreadableException {
    return text(file, LONGEST_TEXT, expected);
  }

  /** Reads a text that a program wrote, of at most so many bytes. */
  public static String text(Path file, long most, String expected) throws UnreadableException {
    byte[] bytes = bytes(file, most, expected);
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new UnreadableException(false, "is not UTF-8 text; expected " + expected);
    }
  }

  /** Reads a file of at most so many bytes; never more than an array holds. */
  public static byte[] bytes(Path file, long most, String expected) throws UnreadableException {
    int limit = (int) Math.min(most, Integer.MAX_VALUE - 16);
    FilesRead.note(file, FilesRead.NOTHING);
    checkOrdinary(file, expected);
    try (InputStream in = Files.newInputStream(file)) {
      if (Files.size(file) > limit) {
        throw tooLarge(limit, expected);
      }
      byte[] bytes = in.readNBytes(limit);
      if (in.read() >= 0) {
        throw tooLarge(limit, expected);
      }
      if (FilesRead.areNoted()) {
        FilesRead.note(file, FilesRead.hash(bytes));
      }
      return bytes;
    } catch (UnreadableException e) {
      throw e;
    } catch (NoSuchFileException e) {
      throw new UnreadableException(true, "no such file; expected " + expected);
    } catch (IOException e) {
      throw new UnreadableException(
          false, "cannot be read (" + reason(e) + "); expected " + expected);
    }
  }

  /** Refuses what is no ordinary file. */
  private static void checkOrdinary(Path file, String expected) throws UnreadableException {
    if (Files.isRegularFile(file)) {
      return;
    }
    if (Files.isDirectory(file)) {
      throw new UnreadableException(false, "is a directory; expected " + expected);
    }
    if (Files.exists(file)) {
      throw new UnreadableException(false, "is a device or a pipe; expected " + expected);
    }
    throw new UnreadableException(true, "no such file; expected " + expected);
  }

  private static UnreadableException tooLarge(int limit, String expected) {
    String most = limit < 1 << 20 ? limit + " bytes" : (limit >> 20) + " MiB";
    return new UnreadableException(
        false, "is larger than " + most + "; expected " + expected + " below that");
  }

  private static String reason(IOException e) {
    return e instanceof java.nio.file.AccessDeniedException
        ? "permission denied"
        : String.valueOf(e.getMessage());
  }
}
