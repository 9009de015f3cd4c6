package org.kernbench.cli;

import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.Writer;
import org.kernbench.eval.benches.BenchRegistry;

/**
 * What the launcher runs once after a build, for the virtual machine to remember which classes are
 * loaded (JEP 483). A later run starts with them.
 */
final class Training {
  private Training() {}

  /**
   * Runs command lines one after the other and shows nothing; the exit code is that of the first
   * that fails.
   *
   * @param args command lines, their words parted by single spaces
   */
  public static void main(String[] args) {
    BenchRegistry benches = BenchRegistry.standard();
    for (String line : args) {
      Terminal nowhere =
          Terminal.on(
              OutputStream.nullOutputStream(), new PrintWriter(Writer.nullWriter()), false, false);
      int exitCode = Main.execute(nowhere, benches, line.split(" "));
      if (exitCode != 0) {
        System.exit(exitCode);
      }
    }
  }
}
