package org.kernbench.cli;

import java.io.BufferedWriter;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;

/**
 * Where a command writes: results to {@code out}, everything else to {@code err}.
 *
 * @param out standard output
 * @param err standard error
 * @param colour whether text may carry colours
 * @param interactive whether a person watches standard error, so that lines may be redrawn
 */
record Terminal(PrintWriter out, PrintWriter err, boolean colour, boolean interactive) {
  /** The process's own, in UTF-8. Colours only on a terminal and without {@code NO_COLOR}. */
  static Terminal ofProcess() {
    boolean terminal = System.console() != null && System.console().isTerminal();
    String noColour = System.getenv("NO_COLOR");
    boolean dumb = "dumb".equals(System.getenv("TERM"));
    boolean colour = terminal && !dumb && (noColour == null || noColour.isEmpty());
    return new Terminal(
        writer(FileDescriptor.out), writer(FileDescriptor.err), colour, terminal && !dumb);
  }

  private static PrintWriter writer(FileDescriptor to) {
    return new PrintWriter(
        new BufferedWriter(
            new OutputStreamWriter(new FileOutputStream(to), StandardCharsets.UTF_8)));
  }

  /** A message for the user on standard error; further lines as they are. */
  void say(String message) {
    err.println("kernbench: " + message);
  }

  void flush() {
    out.flush();
    err.flush();
  }
}
