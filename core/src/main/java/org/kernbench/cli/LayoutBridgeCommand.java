package org.kernbench.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.eval.layouts.BridgeForecast;
import org.kernbench.eval.layouts.BridgeForecast.Batch;
import org.kernbench.eval.layouts.BridgeForecast.Hardware;
import org.kernbench.eval.layouts.LaneForecast;
import org.kernbench.machine.Machine;
import org.kernbench.nn.bridge.BridgeLanes;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.BridgePlan;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code kernbench layout bridge}: what lies between two layouts of the same ranks. */
@Command(
    name = "bridge",
    customSynopsis = "kernbench layout bridge --src LAYOUT --dest LAYOUT [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Shows what a bridge between two modules does, on the same ranks or on ranks of their own.",
      """
      On the same ranks: where each rank is in both, which samples are its own, who gathers with \
      whom, how many bytes are sent and, on a machine, how long both passes take, with a lower \
      bound. Of modules on ranks of their own: the lanes, their leaders and the messages between \
      them.\
      """
    },
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      """
        kernbench layout bridge --src tp=1,dp=8 --dest tp=2,cp=2,dp=2 --batch 8 --tokens 256 \
      --hidden 1024\
      """,
      """
        kernbench layout bridge --src tp=4,dp=2 --dest tp=1,dp=8 --topology dgx-h100 \
      --rank-level sip\
      """
    })
final class LayoutBridgeCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Option(
      names = "--src",
      required = true,
      paramLabel = "LAYOUT",
      description = "Layout of the module that gives, e.g. tp=1,dp=8.")
  private String src = "";

  @Option(
      names = "--dest",
      required = true,
      paramLabel = "LAYOUT",
      description = "Layout of the module that takes, e.g. tp=2,cp=2,dp=2.")
  private String dest = "";

  @Option(
      names = "--batch",
      paramLabel = "N",
      description = "Samples of all replicas together (default: one for each).")
  private @Nullable Integer batch;

  @Option(names = "--tokens", paramLabel = "N", description = "Tokens of a sample (default: 256).")
  private int tokens = 256;

  @Option(
      names = "--hidden",
      paramLabel = "N",
      description = "Elements of a token (default: 1024).")
  private int hidden = 1024;

  @Option(names = "--dtype", paramLabel = "DTYPE", description = "Elements (default: bf16).")
  private String dtype = "bf16";

  @Option(
      names = "--source-cp",
      description = "The source may be context parallel: its ranks hold parts of the sequence.")
  private boolean sourceContext;

  @Option(names = "--no-time", description = "Plan only; no machine.")
  private boolean noTime;

  @Mixin private RankedMachine ranked = new RankedMachine();

  @Mixin private CclChoice collectives = new CclChoice();

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  LayoutBridgeCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    BridgeOptions options =
        sourceContext ? BridgeOptions.DEFAULT.withSourceContextParallel() : BridgeOptions.DEFAULT;
    RankGrid from = RankGrid.parse(src);
    RankGrid to = RankGrid.parse(dest);
    int samples = batch != null ? batch : Math.max(from.size(Dim.DP), to.size(Dim.DP));
    int fromEnd = from.offset() + from.size();
    int toEnd = to.offset() + to.size();
    boolean isApart = fromEnd <= to.offset() || toEnd <= from.offset();
    boolean isJson = format.isJson();
    Batch carried = new Batch(samples, tokens, hidden, type());
    String report;
    if (isApart) {
      BridgeLanes plan = new BridgeLanes(from, to, options);
      LaneForecast forecast = LaneForecast.of(plan, carried, hardware(Math.max(fromEnd, toEnd)));
      report = isJson ? forecast.json() : forecast.text();
    } else {
      BridgePlan plan = new BridgePlan(from, to, options);
      BridgeForecast forecast = BridgeForecast.of(plan, carried, hardware(fromEnd));
      report = isJson ? forecast.json() : forecast.text();
    }
    terminal.out().print(report);
    return 0;
  }

  private DType type() {
    try {
      return DType.parse(dtype);
    } catch (IllegalArgumentException e) {
      throw new UsageException("--dtype: " + e.getMessage());
    }
  }

  private Optional<Hardware> hardware(int world) {
    if (noTime) {
      return Optional.empty();
    }
    Machine machine = ranked.machine();
    RankLevel level = ranked.level();
    List<String> set = new ArrayList<>();
    set.add("defaults.algorithm=ring");
    set.addAll(collectives.overrides());
    Optional<Path> file = collectives.file();
    String algorithm = CclConfig.load(file, set).algorithm();
    set.add("algorithms." + algorithm + ".rank_level=" + level.name().toLowerCase(Locale.ROOT));
    set.add("algorithms." + algorithm + ".world_size=" + world);
    return Optional.of(new Hardware(machine, level, CclConfig.load(file, set)));
  }
}
