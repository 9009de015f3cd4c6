package org.kernbench.cli;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.UsageException;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.measured.MeasuredFile;
import org.kernbench.eval.measured.RowJournal;
import org.kernbench.eval.measured.RowSimulator;
import org.kernbench.eval.measured.Validation;
import org.kernbench.eval.measured.ValidationFolder;
import org.kernbench.eval.measured.ValidationReport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench validate}: measured runs beside simulated ones. */
@Command(
    name = "validate",
    customSynopsis = "kernbench validate MEASURED.csv --topology FILE|PRESET [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Simulates every row of a table of measured runs and says how far off each is, and why.",
      """
      Columns are bench, params, metric, value, unit, or a mapping beside the table says what \
      they are.\
      """
    },
    optionListHeading = "%nOptions%n",
    sortOptions = false,
    footerHeading = "%nExample%n",
    footer = "  kernbench validate a100_matmul.csv --topology dgx-a100")
final class ValidateCommand implements Callable<Integer> {
  private final Terminal terminal;
  private final BenchRegistry benches;

  @Parameters(index = "0", arity = "0..1", paramLabel = "FILE", description = "The table, CSV.")
  private @Nullable String file;

  @Mixin private MeasuredChoice choice = new MeasuredChoice();

  @Option(
      names = "--max-error",
      paramLabel = "PERCENT",
      description = "Fail (exit code 1) if the mean error is larger.")
  private @Nullable Double maxError;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Also write rows (JSON), two figures (SVG) and a section (Markdown) there.")
  private @Nullable Path out;

  @Option(
      names = "--resume",
      description = "Takes over the rows that are in the folder of --out and simulates the rest.")
  private boolean resume;

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  ValidateCommand(Terminal terminal, BenchRegistry benches) {
    this.terminal = terminal;
    this.benches = benches;
  }

  @Override
  public Integer call() {
    MeasuredFile measured = choice.read(file, "validate");
    String machine = choice.machineName();
    RowSimulator simulator = choice.simulator(benches, journal());
    Validation found =
        choice.simulating(() -> Validation.of(measured, machine, simulator, List.of()));
    if (out != null) {
      ValidationFolder.write(found, out);
    }
    terminal
        .out()
        .print(format.isJson() ? ValidationReport.json(found) : ValidationReport.text(found));
    return Main.exitCode(maxError == null || 100 * found.meanError() <= maxError);
  }

  /** The rows so far, in the folder of the results. */
  private Optional<RowJournal> journal() {
    if (out == null) {
      if (resume) {
        throw new UsageException(
            "--resume: from where? expected --out with the folder of the run that was stopped");
      }
      return Optional.empty();
    }
    ValidationFolder.make(out);
    Path rows = out.resolve(ValidationFolder.name(String.valueOf(file)) + ".rows");
    return Optional.of(RowJournal.open(rows, resume, choice.conditions()));
  }
}
