package org.kernbench.config;

import java.math.BigInteger;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collections;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Which files of the user's were read while something ran, and what they said. {@link UserFile}
 * notes each one where it reads it, so a new kind of file cannot be forgotten; a name that led
 * nowhere is noted too, because a file of that name would have changed the result.
 *
 * <p>What belongs to a call is noted whatever the call's depth, in the thread that made it. Calls
 * may be nested: what an inner one reads, the outer one has read as well.
 */
public final class FilesRead {
  /** What stands for the content of a file that is not there, or cannot be read. */
  public static final String NOTHING = "none";

  private static final ScopedValue<FilesRead> NOW = ScopedValue.newInstance();

  private final SortedMap<String, String> contents =
      Collections.synchronizedSortedMap(new TreeMap<>());

  private FilesRead() {}

  /**
   * A value, and what was read to get it.
   *
   * @param value what the call returned
   * @param files absolute path to hash of the content, or {@link #NOTHING}
   */
  public record Result<T>(T value, SortedMap<String, String> files) {
    /** Copies the map. */
    public Result {
      files = Collections.unmodifiableSortedMap(new TreeMap<>(files));
    }

    /** Notes the files again, for a call that takes the value over from an earlier one. */
    public T again() {
      if (NOW.isBound()) {
        NOW.get().contents.putAll(files);
      }
      return value;
    }
  }

  /** Calls, and says what was read; what the call throws is thrown. */
  public static <T> Result<T> during(Supplier<T> call) {
    FilesRead own = new FilesRead();
    try {
      T value = ScopedValue.where(NOW, own).call(call::get);
      return new Result<>(value, own.contents);
    } finally {
      if (NOW.isBound()) {
        NOW.get().contents.putAll(own.contents);
      }
    }
  }

  /** What a file says now: a hash, or {@link #NOTHING}. */
  public static String contentOf(Path file) {
    try {
      return hash(UserFile.bytes(file, Long.MAX_VALUE, "a file"));
    } catch (UnreadableException e) {
      return NOTHING;
    }
  }

  static void note(Path file, String content) {
    if (NOW.isBound()) {
      NOW.get().contents.put(file.toAbsolutePath().normalize().toString(), content);
    }
  }

  static boolean areNoted() {
    return NOW.isBound();
  }

  static String hash(byte[] content) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(content);
      return String.format(Locale.ROOT, "%064x", new BigInteger(1, digest)).substring(0, 32);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }
}
