package org.kernbench.cli;

import java.io.ByteArrayOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.kernbench.eval.benches.BenchRegistry;

/** The command line for other programs: what it would print, and its exit code, as values. */
public final class Commands {
  private final BenchRegistry benches = BenchRegistry.standard();

  /** The commands of the benches that come along. */
  public Commands() {}

  /**
   * What a command says.
   *
   * @param code 0 ok, 1 failed, 2 usage or configuration
   * @param out what it writes to standard output
   * @param err what it writes to standard error: messages, each with place and remedy
   */
  public record Said(int code, String out, String err) {}

  /** Runs one command line; any number may follow one another. */
  public Said run(List<String> args) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    StringWriter err = new StringWriter();
    Terminal terminal = Terminal.on(out, new PrintWriter(err), false, false);
    int code = Main.execute(terminal, benches, args.toArray(String[]::new));
    return new Said(code, out.toString(StandardCharsets.UTF_8), err.toString());
  }

  /** What a command says that ends with this error. */
  public static Said error(Throwable error) {
    StringWriter err = new StringWriter();
    Terminal terminal =
        Terminal.on(new ByteArrayOutputStream(), new PrintWriter(err), false, false);
    int code = Main.report(terminal, error);
    terminal.flush();
    return new Said(code, "", err.toString());
  }

  /** The version of this program. */
  public static String version() {
    return Main.versionText();
  }

  /** Runs a body where ranks and kernels hand over quickest. */
  public static void onVirtualThread(Runnable body) {
    RunCommand.onVirtualThread(() -> {
      body.run();
      return 0;
    });
  }
}
