package org.kernbench.cli;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.kernbench.cli.pages.LocalPages;
import org.kernbench.config.UsageException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench ui}: a local page over runs and sweeps, until it is stopped. */
@Command(
    name = "ui",
    customSynopsis = "kernbench ui [DIR] [--port N]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Serves a local page over the runs and sweeps of a folder, until it is stopped.",
      """
      The list, their reports, and two runs beside each other, for a browser on this computer \
      alone;\
      """,
      "nothing can be changed or started from there. Ctrl-C stops it."
    },
    optionListHeading = "%n",
    footerHeading = "%nExample%n",
    footer = {
      "  kernbench run ccl-allreduce --out results/a && kernbench ui results",
    })
final class UiCommand implements Callable<Integer> {
  private static final int LAST_PORT = 65_535;

  private final Terminal terminal;

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "DIR",
      description = "The folder, looked through four levels down (default: this one).")
  private String directory = ".";

  @Option(
      names = "--port",
      paramLabel = "N",
      description =
          "Where to listen on 127.0.0.1 (default: ${DEFAULT-VALUE}; 0: any that is free).")
  private int port = 8025;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  UiCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws InterruptedException {
    BenchOptions.checkNotBlank("DIR", directory);
    if (port < 0 || port > LAST_PORT) {
      throw new UsageException(
          "--port: got " + port + "; expected 0 to " + LAST_PORT + ", 0 for any that is free");
    }
    try (LocalPages pages = LocalPages.open(Path.of(directory), port)) {
      terminal.out().println(pages.address() + "  (Ctrl-C stops it)");
      terminal.flush();
      new CountDownLatch(1).await();
    }
    return 0;
  }
}
