package org.kernbench.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.eval.layouts.LayoutCheck;
import org.kernbench.eval.layouts.PipelineCheck;
import org.kernbench.eval.training.PipelineComparison;
import org.kernbench.eval.training.TwoModuleStep;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.Spread;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench layout check}: do layouts compute the same gradients? */
@Command(
    name = "check",
    customSynopsis = {
      "kernbench layout check ENCODER:LANGUAGE[:sp] ... [OPTIONS]",
      "       kernbench layout check LAYOUT[:sp] ... [OPTIONS]"
    },
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Trains a model in each layout and on one rank, in f64, and compares all gradients.",
      """
      They equal those of one rank on the same data within 1e-10, norms within 1e-9, replicas to \
      the bit; where they differ it names the first wrong tensor, the rank and the likely cause. \
      Of two modules, an encoder and a language model, it also predicts the time of a step and how \
      much communication is exposed. Layouts without a second module are of one language model, \
      which may be cut into stages (pp); no time is predicted for these, and their ranks are \
      numbered tp first, then cp, dp and pp, in whatever order these are given. Exit code 1 if a \
      layout differs.\
      """
    },
    optionListHeading = "%n",
    sortOptions = false,
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench layout check tp=2,dp=4:tp=4,dp=2 tp=2,dp=4:tp=2,cp=2,dp=2:sp",
      "  kernbench layout check tp=4,dp=2:tp=1,cp=2,dp=4 --inject skip-cp-reduce",
      "  kernbench layout check tp=2,pp=2 pp=4 --schedule zb-v --microbatches 8"
    })
final class LayoutCheckCommand implements Callable<Integer> {
  private static final int FAILED = 1;

  private final Terminal terminal;

  @Parameters(
      arity = "1..*",
      paramLabel = "ENCODER:LANGUAGE[:sp]",
      description =
          """
          Layouts of the two modules, on the same ranks or, with offset=, each on its own; sp: with \
          sequence parallelism in the language model.\
          """)
  private List<String> layouts = new ArrayList<>();

  @Option(
      names = "--model",
      paramLabel = "MODEL",
      description = "tiny-gpt (default), tiny-llama, or of one model tiny-moe, which has experts.")
  private String model = "tiny-gpt";

  @Option(
      names = "--samples",
      paramLabel = "N",
      description = "Samples of a microbatch over all ranks (default: one or more for each dp).")
  private @Nullable Integer samples;

  @Option(
      names = "--tokens",
      paramLabel = "N",
      description =
          "Tokens of a sample (default: 16, of one model 12, or more that all layouts can divide).")
  private @Nullable Integer tokens;

  @Option(
      names = "--microbatches",
      paramLabel = "N",
      description =
          "Microbatches of a step (default: 1; of one model twice as many as it has stages).")
  private @Nullable Integer microbatches;

  @Option(
      names = "--schedule",
      paramLabel = "SCHEDULE",
      description =
          """
          Of a model in stages: gpipe, 1f1b (default), interleaved, zb-h1, zb-v, dualpipe, or a \
          file.csv.\
          """)
  private @Nullable String schedule;

  @Option(
      names = "--vpp",
      paramLabel = "N",
      description = "Stages of a rank in the interleaved schedule (default: 1).")
  private int vpp = 1;

  @Option(names = "--tied", description = "Stages: the head's weight is the embedding's table.")
  private boolean tied;

  @Option(
      names = "--recompute",
      paramLabel = "WHAT",
      description = "Stages: activations made again backwards: none (default), attention or full.")
  private String recompute = "none";

  @Option(
      names = "--zero",
      paramLabel = "N",
      description =
          """
          One model: what data-parallel ranks divide: 1 the optimizer, 2 gradients, too, 3 \
          parameters, too (default: 0, nothing).\
          """)
  private int zero;

  @Option(
      names = "--dropout",
      paramLabel = "RATE",
      description =
          """
          One model: share of values that are set to zero, by masks that must be the same in all \
          layouts (default: 0).\
          """)
  private String dropout = "0";

  @Option(
      names = "--masks",
      paramLabel = "MASKS",
      description =
          """
          Two modules: which tokens count: uniform, uneven (default), or gaps, which leave ranks \
          without any.\
          """)
  private @Nullable String masks;

  @Option(names = "--frozen-encoder", description = "Trains projector and language model only.")
  private boolean frozen;

  @Option(
      names = "--steps",
      paramLabel = "N",
      description = "Also compares parameters after so many steps of SGD (default: 0).")
  private int steps;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Two modules: of weights and data (default: 7).")
  private @Nullable Long seed;

  @Option(
      names = "--inject",
      paramLabel = "FAULT",
      converter = Words.FaultWord.class,
      completionCandidates = Words.FaultWord.class,
      description = "Puts a mistake in, to see it found: ${COMPLETION-CANDIDATES}.")
  private Fault fault = Fault.NONE;

  @Option(names = "--no-time", description = "Values only, as with one model always.")
  private boolean noTime;

  @Option(
      names = "--dtype",
      paramLabel = "DTYPE",
      description = "Two modules: of a timed step (default: bf16).")
  private @Nullable String dtype;

  @Option(
      names = "--spread",
      paramLabel = "PES",
      description =
          """
          Which PEs of a rank's device compute: all, those of its first cube, or the lead \
          (default: values on all, times on the quickest of these).\
          """)
  private @Nullable String spread;

  @Mixin private RankedMachine ranked = new RankedMachine();

  @Mixin private CclChoice collectives = new CclChoice();

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  LayoutCheckCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    if (layouts.stream().allMatch(LayoutCheckCommand::isOfOneModule)) {
      PipelineCheck check = stages();
      terminal.out().print(format.isJson() ? check.json() : check.text());
      return check.isEqual() ? 0 : FAILED;
    }
    refuseStages();
    List<TwoModuleLayout> all = layouts.stream().map(LayoutCheckCommand::layout).toList();
    LayoutCheck check = LayoutCheck.of(all, problem(all), hardware());
    terminal.out().print(format.isJson() ? check.json() : check.text());
    return check.isEqual() ? 0 : FAILED;
  }

  private static boolean isOfOneModule(String layout) {
    return !layout.replaceFirst(":sp$", "").contains(":");
  }

  private void refuseStages() {
    if (schedule != null
        || vpp != 1
        || tied
        || !recompute.equals("none")
        || zero != 0
        || !dropout.equals("0")) {
      throw new UsageException(
          """
          --schedule, --vpp, --tied, --recompute, --zero and --dropout are for layouts of one \
          model, e.g. tp=2,pp=2; leave them out, or the encoder\
          """);
    }
  }

  /** One model in stages. */
  private PipelineCheck stages() {
    if (frozen || steps > 0 || samples != null || masks != null || seed != null || dtype != null) {
      throw new UsageException(
          """
          --frozen-encoder, --steps, --samples, --masks, --seed and --dtype are for an encoder and \
          a language model, e.g. tp=2,dp=2:tp=2,dp=2; leave them out\
          """);
    }
    List<RankGrid> grids =
        layouts.stream().map(l -> RankGrid.parse(l.replaceFirst(":sp$", ""))).toList();
    for (RankGrid grid : grids) {
      if (grid.offset() != 0) {
        throw new UsageException(
            "layout %s: a model alone has the first ranks; leave offset out".formatted(grid));
      }
    }
    int factor = 1;
    int replicas = 1;
    int tokenFactor = 1;
    int pp = 1;
    for (RankGrid grid : grids) {
      int cp = size(grid, Dim.CP);
      if (!model.equals("tiny-moe") && size(grid, Dim.EP) * size(grid, Dim.ETP) > 1) {
        throw new UsageException(
            "layout %s: ep and etp are for models with experts; expected --model tiny-moe"
                .formatted(grid));
      }
      pp = Math.max(pp, size(grid, Dim.PP));
      factor = leastCommonMultiple(factor, size(grid, Dim.PP));
      replicas = leastCommonMultiple(replicas, size(grid, Dim.DP));
      tokenFactor = leastCommonMultiple(tokenFactor, (cp > 1 ? 2 * cp : 1) * size(grid, Dim.TP));
    }
    int count = microbatches == null ? 2 * factor : atLeast(1, "--microbatches", microbatches);
    // one block more than stages, so that these are not all alike
    int layers = Math.max(2, pp * Math.max(2, vpp) + 1);
    PipelineComparison.Task task =
        new PipelineComparison.Task(
            model,
            layers,
            atLeast(1, "--tokens", tokens == null ? roundUp(12, tokenFactor) : tokens),
            replicas * count,
            dropout);
    Recompute what = Words.choice("--recompute", recompute, Recompute.values());
    List<PipelineComparison.Layout> all = new ArrayList<>();
    for (int i = 0; i < grids.size(); i++) {
      RankGrid grid = grids.get(i);
      all.add(
          new PipelineComparison.Layout(
                  size(grid, Dim.TP),
                  size(grid, Dim.CP),
                  size(grid, Dim.DP),
                  size(grid, Dim.PP),
                  layouts.get(i).endsWith(":sp")
                      || (model.equals("tiny-moe") && size(grid, Dim.TP) > 1),
                  count,
                  schedule == null ? "1f1b" : schedule,
                  vpp,
                  tied,
                  what,
                  new ExpertGroups.Sizes(size(grid, Dim.EP), size(grid, Dim.ETP)))
              .withZero(zero));
    }
    LayoutCheck.Hardware hardware = hardware();
    return PipelineCheck.of(
        all,
        task,
        fault,
        hardware.machine(),
        hardware.level(),
        hardware.spread().orElse(Spread.ALL),
        ranks -> hardware.ccl().with(TwoModuleStep.world(hardware.level(), ranks)));
  }

  private static final List<Dim> KNOWN = List.of(Dim.TP, Dim.CP, Dim.DP, Dim.PP, Dim.EP, Dim.ETP);

  private static int size(RankGrid grid, Dim wanted) {
    for (String dim : grid.names()) {
      if (KNOWN.stream().noneMatch(known -> known.token().equals(dim))) {
        throw new UsageException(
            "layout " + grid + ": dimension " + dim + "; expected tp, cp, dp, pp, ep and etp");
      }
    }
    return grid.size(wanted);
  }

  private static TwoModuleLayout layout(String text) {
    String[] parts = text.split(":", -1);
    boolean sp = parts.length == 3 && parts[2].equals("sp");
    if (parts.length != 2 && !sp) {
      throw new UsageException(
          """
          layout "%s"; expected ENCODER:LANGUAGE or ENCODER:LANGUAGE:sp, e.g. \
          tp=2,dp=4:tp=2,cp=2,dp=2:sp\
          """
              .formatted(text));
    }
    return new TwoModuleLayout(RankGrid.parse(parts[0]), RankGrid.parse(parts[1]), sp);
  }

  private LayoutCheck.Problem problem(List<TwoModuleLayout> all) {
    TwoModuleConfig config =
        switch (model) {
          case "tiny-gpt" -> TwoModuleConfig.tinyGpt();
          case "tiny-llama" -> TwoModuleConfig.tinyLlama();
          default ->
              throw new UsageException(
                  "--model: got \"" + model + "\"; expected tiny-gpt or tiny-llama");
        };
    int sampleFactor = 1;
    int tokenFactor = 1;
    for (TwoModuleLayout layout : all) {
      sampleFactor = leastCommonMultiple(sampleFactor, layout.samplesFactor());
      tokenFactor = leastCommonMultiple(tokenFactor, layout.sequenceFactor());
    }
    return new LayoutCheck.Problem(
        config,
        atLeast(1, "--samples", samples == null ? roundUp(4, sampleFactor) : samples),
        atLeast(1, "--tokens", tokens == null ? roundUp(16, tokenFactor) : tokens),
        atLeast(1, "--microbatches", microbatches == null ? 1 : microbatches),
        Words.choice("--masks", masks == null ? "uneven" : masks, Microbatches.Masks.values()),
        frozen,
        atLeast(0, "--steps", steps),
        seed == null ? 7 : seed,
        fault);
  }

  private static int atLeast(int least, String option, int given) {
    if (given < least) {
      throw new UsageException(option + ": got " + given + "; expected " + least + " or more");
    }
    return given;
  }

  private static int leastCommonMultiple(int a, int b) {
    int multiple = a;
    while (multiple % b != 0) {
      multiple += a;
    }
    return multiple;
  }

  private static int roundUp(int least, int factor) {
    return Math.ceilDiv(least, factor) * factor;
  }

  private Optional<Spread> spread() {
    return Optional.ofNullable(spread).map(s -> Words.choice("--spread", s, Spread.values()));
  }

  private LayoutCheck.Hardware hardware() {
    Optional<Path> file = collectives.file();
    DType type;
    try {
      type = DType.parse(dtype == null ? "bf16" : dtype);
    } catch (IllegalArgumentException e) {
      throw new UsageException("--dtype: " + e.getMessage());
    }
    return new LayoutCheck.Hardware(
        ranked.machine(),
        ranked.level(),
        spread(),
        set -> {
          List<String> changes = new ArrayList<>(collectives.overrides());
          changes.addAll(set);
          return CclConfig.load(file, changes);
        },
        type,
        !noTime);
  }
}
