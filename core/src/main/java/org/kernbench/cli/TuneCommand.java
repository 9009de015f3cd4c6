package org.kernbench.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.Tuner;
import org.kernbench.ccl.library.TuningTable;
import org.kernbench.config.Quantity;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.WholeFile;
import org.kernbench.eval.report.CollectiveJson;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code kernbench tune}: compares collective algorithms by simulation and writes a table. */
@Command(
    name = "tune",
    customSynopsis = "kernbench tune [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description =
        """
        Simulates the algorithms that forecasts find promising, size by size, and writes a table \
        that algorithm: auto goes by.\
        """,
    optionListHeading = "%n")
final class TuneCommand implements Callable<Integer> {
  private static final String DEFAULT = "sip-2026";

  @Option(
      names = "--topology",
      paramLabel = "FILE|PRESET",
      completionCandidates = Words.Presets.class,
      description = "The machine (default: sip-2026).")
  String topology = DEFAULT;

  @Option(
      names = "--set",
      paramLabel = "path=value",
      description = "Changes one value of it; may be repeated.")
  List<String> overrides = new ArrayList<>();

  @Mixin private CclChoice collectives = new CclChoice();

  @Mixin private ClassPath classPath = new ClassPath();

  @Option(
      names = "--op",
      paramLabel = "OP",
      split = ",",
      description = "Operations, e.g. all_reduce,all_gather (default: all_reduce).")
  List<String> ops = List.of("all_reduce");

  @Option(
      names = "--sizes",
      paramLabel = "SIZE",
      split = ",",
      description = "Sizes of the vector (default: 16 B to 64 MiB).")
  List<String> sizes = List.of("16 B", "2 KiB", "16 KiB", "96 KiB", "1 MiB", "8 MiB", "64 MiB");

  @Option(names = "--dtype", paramLabel = "DTYPE", description = "Elements (default: f16).")
  String dtype = "f16";

  @Option(
      names = "--rank-level",
      paramLabel = "LEVEL",
      description = "What a rank owns: pe, cube or sip (default: sip).")
  String rankLevel = "sip";

  @Option(
      names = "--ranks",
      paramLabel = "N",
      description = "Ranks (default: all devices; of PEs those of a cube).")
  @Nullable Integer ranks;

  @Option(names = "--all", description = "Simulate every algorithm, hopeless ones as well.")
  boolean all;

  @Option(names = "--out", paramLabel = "FILE", description = "Where to write the table.")
  @Nullable Path out;

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-q", "--quiet"},
      description = "No progress.")
  boolean quiet;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  private final Terminal terminal;
  private final List<Tuner.Comparison> found = new ArrayList<>();

  TuneCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try {
      classPath.loadIfGiven();
      run();
      return 0;
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private void run() {
    DType type = type(dtype);
    List<CollectiveOp> chosen = ops.stream().map(TuneCommand::op).distinct().toList();
    List<Long> vectors = sizes.stream().map(TuneCommand::size).toList();
    if (out != null) {
      WholeFile.checkWritable("--out", out);
    }
    Machine machine = Machines.load(topology, overrides);
    CclConfig config = CclConfig.load(collectives.file(), collectives.overrides());
    RankLevel level = Words.choice("--rank-level", rankLevel, RankLevel.values());
    List<Pe> leads = leads(machine, level);
    Tuner tuner = new Tuner(machine, config, level, leads, all);
    TuningTable table = new TuningTable(machine, level, leads.size());
    line(
        "machine %s, %d ranks of level %s, %s",
        machine.name(), leads.size(), level.name().toLowerCase(Locale.ROOT), type.code());
    for (CollectiveOp op : chosen) {
      tune(tuner, table, op, type, vectors);
    }
    if (out != null) {
      WholeFile.write(out, table.text());
      line("wrote %s", out);
    }
    if (format.isJson()) {
      terminal.out().print(CollectiveJson.tuning(machine, level, leads.size(), found));
    }
  }

  /** A line of text, if that is asked for. */
  private void line(String format, Object... arguments) {
    if (!this.format.isJson()) {
      terminal.out().printf(Locale.ROOT, format + "%n", arguments);
    }
  }

  private static long size(String text) {
    long bytes;
    try {
      bytes = Quantity.SIZE.parse(text);
    } catch (IllegalArgumentException e) {
      throw new UsageException("--sizes: " + e.getMessage());
    }
    if (bytes <= 0) {
      throw new UsageException("--sizes: got \"" + text.trim() + "\"; expected a positive size");
    }
    return bytes;
  }

  private static CollectiveOp op(String text) {
    CollectiveOp[] tunable =
        Arrays.stream(CollectiveOp.values())
            .filter(op -> op != CollectiveOp.POINT_TO_POINT)
            .toArray(CollectiveOp[]::new);
    return Words.choice("--op", text.trim(), tunable);
  }

  private static DType type(String text) {
    try {
      return DType.parse(text);
    } catch (IllegalArgumentException e) {
      throw new UsageException("--dtype: " + e.getMessage());
    }
  }

  private List<Pe> leads(Machine machine, RankLevel level) {
    int devices = level.devices(machine);
    if (devices < 2) {
      throw new UsageException(
          """
          --rank-level: machine %s has one device of level %s; expected a level, or a \
          machine, with two or more\
          """
              .formatted(machine.name(), rankLevel));
    }
    int usual = level == RankLevel.PE ? machine.pesPerCube() : devices;
    int n = ranks != null ? ranks : usual;
    if (n < 2 || n > devices) {
      throw new UsageException(
          "--ranks: got " + n + "; expected 2 to " + devices + ", the devices of this level");
    }
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      leads.add(
          switch (level) {
            case SIP -> new Pe(i, 0, 0);
            case CUBE -> new Pe(i / machine.cubesPerSip(), i % machine.cubesPerSip(), 0);
            case PE -> machine.peAt(i);
          });
    }
    return leads;
  }

  private void tune(
      Tuner tuner, TuningTable table, CollectiveOp op, DType type, List<Long> vectors) {
    line(
        "%n%-14s %12s  %-22s %14s %14s %6s  %-22s %6s",
        op.word(), "bytes", "fastest", "time ns", "bound ns", "%", "auto", "x best");
    for (long size : vectors) {
      long elements = Math.max(1, size / type.sizeBytes());
      long bytes = elements * type.sizeBytes();
      CollectiveTrial.Question question =
          new CollectiveTrial.Question(op, ReduceKind.SUM, type, op.hasRoot() ? 0 : -1, elements);
      Tuner.Comparison compared = compare(tuner, question, bytes);
      long ps = compared.best().ps().orElseThrow();
      found.add(compared);
      table.put(op, bytes, compared.best().algorithm());
      line(
          "%-14s %12d  %-22s %14.3f %14.3f %6.1f  %-22s %6.3f",
          "",
          bytes,
          compared.best().algorithm(),
          ps / 1e3,
          compared.bound().ps() / 1e3,
          100.0 * compared.bound().ps() / ps,
          compared.auto(),
          compared.autoOverBest());
      if (all) {
        compared.candidates().forEach(this::candidate);
      }
      terminal.out().flush();
    }
  }

  /** Shows how far it is: of long vectors each simulation takes seconds. */
  private Tuner.Comparison compare(Tuner tuner, CollectiveTrial.Question question, long bytes) {
    ProgressLine progress = new ProgressLine(terminal, quiet);
    try {
      return tuner.compare(
          question, (done, of, name) -> progress.at(done, of, name + " " + bytes + " B"));
    } finally {
      progress.clear();
    }
  }

  private void candidate(Tuner.Candidate c) {
    if (c.ps().isEmpty()) {
      line("%-14s %12s    %-22s %12s", "", "", c.algorithm(), "deadlock");
      return;
    }
    double ps = c.ps().getAsLong();
    String forecast =
        c.predictedPs().isPresent()
            ? String.format(Locale.ROOT, "x %.3f", c.predictedPs().getAsLong() / Math.max(1, ps))
            : "none";
    line("%-14s %12s    %-22s %12.3f   forecast %s", "", "", c.algorithm(), ps / 1e3, forecast);
  }
}
