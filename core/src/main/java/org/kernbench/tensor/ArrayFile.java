package org.kernbench.tensor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** What all readers of arrays refuse: files without an end, and sizes that no array has. */
final class ArrayFile {
  /** As many as NumPy has. */
  static final int MOST_AXES = 64;

  private static final int SHOWN = 200;

  private ArrayFile() {}

  /** Refuses a directory, a device or a pipe; what is not there is for the reader to miss. */
  static void checkOrdinary(Path file) throws IOException {
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      throw new IOException(file + " is no ordinary file");
    }
  }

  /** Why a shape cannot be, or null if it can: too many axes, or more bytes than {@code most}. */
  static @Nullable String refusal(int[] dims, DType dtype, long most) {
    if (dims.length > MOST_AXES) {
      return dims.length + " axes; expected at most " + MOST_AXES;
    }
    long bytes = dtype.sizeBytes();
    boolean empty = false;
    for (int dim : dims) {
      empty |= dim == 0;
    }
    for (int dim : dims) {
      if (!empty && bytes > most / Math.max(1, dim)) {
        return "more than " + most + " bytes; expected at most so many";
      }
      bytes *= empty ? 1 : dim;
    }
    return null;
  }

  /** Why so many bytes cannot be read, or null if they can. */
  static @Nullable String noRoom(long bytes) {
    long most = Math.min(Integer.MAX_VALUE - 16, Runtime.getRuntime().maxMemory());
    return bytes <= most
        ? null
        : "needs " + bytes + " bytes of memory in one piece; there can be at most " + most;
  }

  /** A text of a file in a message. */
  static String shown(String text) {
    return text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "…";
  }
}
