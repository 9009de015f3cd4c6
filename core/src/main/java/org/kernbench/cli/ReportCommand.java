package org.kernbench.cli;

import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.UsageException;
import org.kernbench.eval.report.Report;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench report}: one HTML page about a run or a sweep. */
@Command(
    name = "report",
    customSynopsis = "kernbench report DIR [--out FILE] [--quiet]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Writes one HTML page about a run or a sweep.",
      """
      Conditions, results with bound and causes, timeline, use over time, links, curves and \
      figures\
      """,
      "of a folder that `run --out` or `sweep --out` wrote. It works offline and from disk."
    },
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench run ccl-allreduce --out allreduce && kernbench report allreduce",
      "  kernbench sweep examples/sweep.yaml --out results && kernbench report results"
    })
final class ReportCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Parameters(index = "0", arity = "0..1", paramLabel = "DIR", description = "The folder.")
  private @Nullable String directory;

  @Option(
      names = "--out",
      paramLabel = "FILE",
      description = "Where to write the page (default: DIR/report.html).")
  private @Nullable Path out;

  @Option(
      names = {"-q", "--quiet"},
      description = "Do not say what was written.")
  private boolean quiet;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  ReportCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    if (directory == null || directory.isBlank()) {
      throw new UsageException(
          "nothing to report; expected a folder that run --out DIR or sweep --out DIR wrote");
    }
    Path folder = Path.of(directory);
    Path page = out != null ? out : folder.resolve("report.html");
    long bytes = Report.write(folder, page);
    if (!quiet) {
      terminal
          .out()
          .println(String.format(Locale.ROOT, "wrote %s (%,d KiB)", page, (bytes + 1023) / 1024));
    }
    return 0;
  }
}
