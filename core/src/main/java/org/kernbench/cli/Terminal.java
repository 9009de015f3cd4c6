package org.kernbench.cli;

import java.io.BufferedWriter;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Supplier;
import org.kernbench.config.Shown;

/**
 * Where a command writes: results to {@code out}, everything else to {@code err}.
 *
 * @param out standard output
 * @param err standard error
 * @param colour whether text may carry colours
 * @param interactive whether a person watches standard error, so that lines may be redrawn
 * @param loss why some of the standard output was lost, once it has been flushed; empty if none was
 */
record Terminal(
    PrintWriter out,
    PrintWriter err,
    boolean colour,
    boolean interactive,
    Supplier<Optional<String>> loss) {
  /** The process's own, in UTF-8. Colours only on a terminal and without {@code NO_COLOR}. */
  static Terminal ofProcess() {
    boolean terminal = System.console() != null && System.console().isTerminal();
    String noColour = System.getenv("NO_COLOR");
    boolean dumb = "dumb".equals(System.getenv("TERM"));
    boolean colour = terminal && !dumb && (noColour == null || noColour.isEmpty());
    return on(
        new FileOutputStream(FileDescriptor.out),
        writer(new FileOutputStream(FileDescriptor.err)),
        colour,
        terminal && !dumb);
  }

  /** One whose standard output is a stream that may fail. */
  static Terminal on(OutputStream out, PrintWriter err, boolean colour, boolean interactive) {
    Watched watched = new Watched(out);
    return new Terminal(writer(watched), err, colour, interactive, watched::loss);
  }

  private static PrintWriter writer(OutputStream to) {
    return new PrintWriter(new BufferedWriter(new OutputStreamWriter(to, StandardCharsets.UTF_8)));
  }

  /**
   * A message for the user on standard error; further lines as they are. It may quote a file, so
   * what would steer the terminal is written as an escape.
   */
  void say(String message) {
    err.println("kernbench: " + Shown.message(message));
  }

  void flush() {
    out.flush();
    err.flush();
  }

  /** Remembers what a {@link PrintWriter} keeps to itself: why writing failed. */
  private static final class Watched extends FilterOutputStream {
    private Optional<String> loss = Optional.empty();

    Watched(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      try {
        out.write(bytes, offset, length);
      } catch (IOException e) {
        loss = Optional.of(String.valueOf(e.getMessage()));
        throw e;
      }
    }

    Optional<String> loss() {
      return loss;
    }
  }
}
