package org.kernbench.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.conformance.Conformance;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.ConfigException;
import org.kernbench.config.UsageException;
import org.kernbench.eval.report.CollectiveJson;
import org.kernbench.machine.Machines;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench conformance}: does a collective algorithm do what it says, everywhere? */
@Command(
    name = "conformance",
    customSynopsis = "kernbench conformance ALGORITHM|CLASS|all [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description =
        """
        Runs a collective algorithm over group sizes, shapes, vector lengths, types, operations, \
        sub-groups and slot memories, and checks values, bits, bytes, time and slots of each.\
        """,
    optionListHeading = "%n")
final class ConformanceCommand implements Callable<Integer> {
  private static final int FAILED = 1;

  /** Name of the user's class in the configuration. */
  private static final String OWN = "user";

  @Parameters(
      arity = "1",
      paramLabel = "ALGORITHM|CLASS",
      description = "A name in ccl.yaml, the class of an algorithm of your own, or all.")
  String subject = "";

  @Mixin private ClassPath classPath = new ClassPath();

  @Mixin private CclChoice collectives = new CclChoice();

  @Option(
      names = "--topology",
      paramLabel = "FILE|PRESET",
      completionCandidates = Words.Presets.class,
      description =
          """
          The groups of one machine: all packages, those along each dimension, cubes, PEs \
          (default: machines of many shapes).\
          """)
  @Nullable String topology;

  @Option(
      names = "--set",
      paramLabel = "path=value",
      description = "Changes one value of that machine; may be repeated.")
  List<String> overrides = new ArrayList<>();

  @Option(names = "--full", description = "Every combination, and 64 MiB: minutes, not seconds.")
  boolean full;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "What a run without --full draws (default: 1).")
  long seed = 1;

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  private final Terminal terminal;

  ConformanceCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try {
      classPath.loadIfGiven();
      return run();
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private int run() {
    List<String> set = new ArrayList<>(collectives.overrides());
    boolean isClass = subject.contains(".");
    if (isClass) {
      set.add("algorithms." + OWN + ".class=" + subject);
    }
    CclConfig config = CclConfig.load(collectives.file(), set);
    List<String> names =
        subject.equals("all")
            ? List.copyOf(CollectiveLibrary.builtIn())
            : List.of(isClass ? OWN : config.of(subject.replace('-', '_')).name());
    Conformance suite = suite();
    List<Conformance.Report> reports = new ArrayList<>();
    for (String name : names) {
      CollectiveAlgorithm algorithm = isClass ? own(config) : made(config, name);
      Conformance.Report report =
          suite
              .run(
                  algorithm,
                  config.of(name),
                  full ? Conformance.Extent.FULL : Conformance.Extent.FAST,
                  seed)
              .named(isClass ? algorithm.name() : name);
      reports.add(report);
      if (!format.isJson()) {
        print(report);
      }
    }
    if (format.isJson()) {
      terminal.out().print(CollectiveJson.conformance(reports));
    }
    boolean mayRefuse = topology != null && names.size() > 1;
    return reports.stream().allMatch(r -> r.passes() || (mayRefuse && r.refusedAll())) ? 0 : FAILED;
  }

  private Conformance suite() {
    if (topology != null) {
      return Conformance.on(Machines.load(topology, overrides));
    }
    if (!overrides.isEmpty()) {
      throw new UsageException(
          "--set changes a value of the machine of --topology, which is not given");
    }
    return new Conformance();
  }

  private static CollectiveAlgorithm made(CclConfig config, String name) {
    return CollectiveLibrary.algorithm(config, name);
  }

  /** The class that was named, of which the user knows no place in a configuration. */
  private static CollectiveAlgorithm own(CclConfig config) {
    try {
      return made(config, OWN);
    } catch (ConfigException e) {
      String why = e.problems().getFirst().message();
      throw new UsageException(why + "; --class-path says where classes of your own are");
    }
  }

  /** A line on the whole, and more of what there is. */
  void print(Conformance.Report report) {
    Conformance.Slots slots = report.slots();
    Conformance.Forecasts forecasts = report.forecasts();
    Conformance.Ratios ratios = report.ratios();
    line(
        "%-24s %s  %,d cases, %d failed, %d refused",
        report.algorithm(),
        report.passes() ? "ok  " : report.refusedAll() ? "none" : "FAIL",
        report.cases(),
        report.failed(),
        report.refused());
    if (ratios.most() > 0) {
      line(
          "  time     %.2f to %.2f times the bound%s",
          ratios.least(),
          ratios.most(),
          ratios.longVectors() > 0
              ? String.format(Locale.ROOT, "; 64 MiB from %.3f", ratios.longVectors())
              : "");
    }
    if (slots.counted() > 0) {
      line(
          "  slots    %d to %d needed, %d counts as measured",
          slots.least(), slots.most(), slots.counted());
    }
    String forecast = forecast(forecasts);
    if (!forecast.isEmpty()) {
      line("  forecast %s", forecast);
    }
    terminal.out().flush();
    report
        .refusals()
        .forEach((where, why) -> terminal.out().println("  refuses " + where + ": " + why));
    report.failures().forEach(failure -> terminal.out().println("  failed " + failure));
  }

  /** Of what there was to compare only: of no forecasts there is no worst one. */
  static String forecast(Conformance.Forecasts forecasts) {
    List<String> judged = new ArrayList<>();
    if (forecasts.exact() > 0) {
      judged.add(
          format("%d exact within %.3f %%", forecasts.exact(), 100 * forecasts.worstExact()));
    }
    if (forecasts.others() > 0) {
      judged.add(
          format("%d others within a factor of %.2f", forecasts.others(), forecasts.worstOther()));
    }
    List<String> all = new ArrayList<>();
    if (!judged.isEmpty()) {
      all.add(String.join(", ", judged));
    }
    if (forecasts.worstElsewhere() > 0) {
      all.add(
          format(
              "elsewhere %d within a factor of %.2f",
              forecasts.used(), forecasts.worstElsewhere()));
    }
    if (forecasts.notUsed() > 0) {
      all.add(format("%d not used: simulated instead", forecasts.notUsed()));
    }
    return String.join("; ", all);
  }

  private static String format(String format, Object... arguments) {
    return String.format(Locale.ROOT, format, arguments);
  }

  private void line(String format, Object... arguments) {
    terminal.out().printf(Locale.ROOT, format + "%n", arguments);
  }
}
