package org.kernbench.cli.process;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.lang.module.ModuleFinder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.kernbench.eval.Runner;

/**
 * A run in a second process that has the Vector API, for runs that multiply so much that its start
 * is repaid (ADR 0044): a process has the module from its start or never, having it costs every
 * start a tenth of a second, and the machine remarks on it on standard error.
 */
public final class VectorProcess {
  /** The remark; nothing else on standard error is held back. */
  static final String REMARK = "WARNING: Using incubator modules: " + JavaProcess.VECTOR_MODULE;

  /** From how many 10^9 operations on; a system property moves it, for tests and measurements. */
  private static final double FROM_GFLOP = 25;

  private static final int INTERRUPTED = 130;

  private VectorProcess() {}

  /** Whether a run with so many operations in products should run there rather than here. */
  public static boolean pays(double productFlops) {
    String moved = System.getProperty("kernbench.vectorFromGflop");
    double from = moved == null ? FROM_GFLOP : Double.parseDouble(moved);
    return productFlops >= from * 1e9
        && productFlops > 0
        && !Runner.hasVectors()
        && ModuleFinder.ofSystem().find(JavaProcess.VECTOR_MODULE).isPresent();
  }

  /**
   * Runs a command line there, with this process's standard streams.
   *
   * @return its exit code
   */
  public static int run(List<String> args, OutputStream err) throws IOException {
    Process process =
        JavaProcess.command(JavaProcess.Kind.VECTOR, args)
            .redirectInput(Redirect.INHERIT)
            .redirectOutput(Redirect.INHERIT)
            .start();
    Thread end = new Thread(process::destroy, "end of the second process");
    Runtime.getRuntime().addShutdownHook(end);
    try {
      copyWithout(REMARK, process.getErrorStream(), err);
      int code = process.waitFor();
      Runtime.getRuntime().removeShutdownHook(end);
      return code;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return INTERRUPTED;
    }
  }

  /** Copies bytes as they come, but for the first line that is the remark. */
  static void copyWithout(String remark, InputStream in, OutputStream out) throws IOException {
    byte[] unwanted = remark.getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream held = new ByteArrayOutputStream(); // a line that may become the remark
    boolean isLineStart = true;
    for (int b = in.read(); b >= 0; b = in.read()) {
      if (isLineStart && held.size() == unwanted.length && (b == '\n' || b == '\r')) {
        if (b == '\n') {
          in.transferTo(out);
          return;
        }
        continue;
      }
      if (isLineStart && held.size() < unwanted.length && b == unwanted[held.size()]) {
        held.write(b);
        continue;
      }
      held.writeTo(out);
      held.reset();
      isLineStart = b == '\n';
      out.write(b);
      out.flush();
    }
    held.writeTo(out);
    out.flush();
  }
}
