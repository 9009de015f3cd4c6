package org.kernbench.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.UsageException;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.measured.Calibration;
import org.kernbench.eval.measured.CalibrationReport;
import org.kernbench.eval.measured.FitParameter;
import org.kernbench.eval.measured.MeasuredFile;
import org.kernbench.eval.output.WholeFile;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench calibrate}: values of a machine with which it is as measured. */
@Command(
    name = "calibrate",
    customSynopsis =
        "kernbench calibrate MEASURED.csv --topology FILE|PRESET --fit KEY=RANGE [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Finds values of a machine's keys with which simulated times are as measured ones.",
      "Writes a machine that extends it, and says how far off rows are that it has not looked at."
    },
    optionListHeading = "%nOptions%n",
    sortOptions = false,
    footerHeading = "%nExample%n",
    footer = {
      "  kernbench calibrate a100_matmul.csv --topology dgx-a100 --fit pe.gemm.efficiency=0.7..1 \\",
      "            --fit \"software.matmul.launch=5..40 us\" --holdout every:2 --out my-a100.yaml"
    })
final class CalibrateCommand implements Callable<Integer> {
  private final Terminal terminal;
  private final BenchRegistry benches;

  @Parameters(index = "0", arity = "0..1", paramLabel = "FILE", description = "The table, CSV.")
  private @Nullable String file;

  @Mixin private MeasuredChoice choice = new MeasuredChoice();

  @Option(
      names = "--fit",
      paramLabel = "KEY=FROM..TO",
      description = "A key of the machine and the range in which to look; may be repeated.")
  private List<String> fit = new ArrayList<>();

  @Option(
      names = "--holdout",
      paramLabel = "every:N",
      description = "Hold every N-th row out, to judge by (default: none).")
  private @Nullable String holdout;

  @Option(
      names = "--max-error",
      paramLabel = "PERCENT",
      description = "Refuse values with a larger mean error, of rows held out if there are any.")
  private @Nullable Double maxError;

  @Option(names = "--out", paramLabel = "FILE", description = "Where to write the machine, YAML.")
  private @Nullable Path out;

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  CalibrateCommand(Terminal terminal, BenchRegistry benches) {
    this.terminal = terminal;
    this.benches = benches;
  }

  @Override
  public Integer call() {
    MeasuredFile measured = choice.read(file, "calibrate");
    if (fit.isEmpty()) {
      throw new UsageException(
          """
          calibrate: nothing to fit; expected --fit key=from..to, e.g. --fit \
          pe.gemm.efficiency=0.7..1\
          """);
    }
    List<FitParameter> parameters = fit.stream().map(FitParameter::parse).toList();
    int every = every();
    if (measured.rows().size() - (every == 0 ? 0 : measured.rows().size() / every)
        < parameters.size()) {
      throw new UsageException(
          String.format(
              Locale.ROOT,
              "calibrate: %d keys for fewer rows than that; expected more rows or fewer --fit",
              parameters.size()));
    }
    if (out != null) {
      WholeFile.checkWritable("--out", out);
    }
    Calibration.Found found =
        choice.simulating(() ->
            Calibration.fit(
                measured,
                choice.machineName(),
                choice.simulator(benches, Optional.empty()),
                parameters,
                every,
                Optional.ofNullable(maxError)));
    terminal
        .out()
        .print(format.isJson() ? CalibrationReport.json(found) : CalibrationReport.text(found));
    if (out != null && found.refusal().isEmpty()) {
      WholeFile.write(
          out,
          CalibrationReport.yaml(
              found, choice.baseFrom(out), choice.overrides(), Main.versionText()));
      terminal.say("wrote " + out);
    }
    return Main.exitCode(found.refusal().isEmpty());
  }

  private int every() {
    if (holdout == null) {
      return 0;
    }
    if (holdout.matches("every:[1-9][0-9]{0,5}") && !holdout.equals("every:1")) {
      return Integer.parseInt(holdout.substring("every:".length()));
    }
    throw new UsageException(
        "--holdout: got \"" + holdout + "\"; expected every:N with N from 2, e.g. every:2");
  }
}
