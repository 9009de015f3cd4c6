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
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench layout check}: do layouts compute the same gradients? */
@Command(
    name = "check",
    customSynopsis = "kernbench layout check ENCODER:LANGUAGE[:sp] ... [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Trains an encoder and a language model in each layout, in f64, and compares all gradients",
      "with those of one rank on the same data: within 1e-10, norms within 1e-9, replicas to the",
      "bit. Where they differ it names the first wrong tensor, the rank and the likely cause. Also",
      "predicts the time of a step and how much communication is exposed. Exit code 1 if a layout",
      "differs."
    },
    optionListHeading = "%n",
    sortOptions = false,
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench layout check tp=2,dp=4:tp=4,dp=2 tp=2,dp=4:tp=2,cp=2,dp=2:sp",
      "  kernbench layout check tp=4,dp=2:tp=1,cp=2,dp=4 --inject skip-cp-reduce"
    })
final class LayoutCheckCommand implements Callable<Integer> {
  private static final int FAILED = 1;

  private final Terminal terminal;

  @Parameters(
      arity = "1..*",
      paramLabel = "ENCODER:LANGUAGE[:sp]",
      description =
          "Layouts of the two modules on the same ranks; sp: with sequence parallelism in the"
              + " language model.")
  private List<String> layouts = new ArrayList<>();

  @Option(
      names = "--model",
      paramLabel = "MODEL",
      description = "tiny-gpt (default) or tiny-llama: the style of the language model.")
  private String model = "tiny-gpt";

  @Option(
      names = "--samples",
      paramLabel = "N",
      description = "Samples of a microbatch over all ranks (default: one or more for each dp).")
  private @Nullable Integer samples;

  @Option(
      names = "--tokens",
      paramLabel = "N",
      description = "Tokens of a sample (default: 16 or more that all layouts can divide).")
  private @Nullable Integer tokens;

  @Option(
      names = "--microbatches",
      paramLabel = "N",
      description = "Microbatches of a step (default: 1).")
  private int microbatches = 1;

  @Option(
      names = "--masks",
      paramLabel = "MASKS",
      description =
          "Which tokens count: uniform, uneven (default), or gaps, which leave ranks without any.")
  private String masks = "uneven";

  @Option(names = "--frozen-encoder", description = "Trains projector and language model only.")
  private boolean frozen;

  @Option(
      names = "--steps",
      paramLabel = "N",
      description = "Also compares parameters after so many steps of SGD (default: 0).")
  private int steps;

  @Option(names = "--seed", paramLabel = "N", description = "Of weights and data (default: 7).")
  private long seed = 7;

  @Option(
      names = "--inject",
      paramLabel = "FAULT",
      converter = Words.FaultWord.class,
      completionCandidates = Words.FaultWord.class,
      description = "Puts a mistake in, to see it found: ${COMPLETION-CANDIDATES}.")
  private Fault fault = Fault.NONE;

  @Option(names = "--no-time", description = "Values only.")
  private boolean noTime;

  @Option(names = "--dtype", paramLabel = "DTYPE", description = "Of a timed step (default: bf16).")
  private String dtype = "bf16";

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
    List<TwoModuleLayout> all = layouts.stream().map(LayoutCheckCommand::layout).toList();
    LayoutCheck check = LayoutCheck.of(all, problem(all), hardware());
    terminal.out().print(format.isJson() ? check.json() : check.text());
    return check.isEqual() ? 0 : FAILED;
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
        atLeast(1, "--microbatches", microbatches),
        Words.choice("--masks", masks, Microbatches.Masks.values()),
        frozen,
        atLeast(0, "--steps", steps),
        seed,
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

  private LayoutCheck.Hardware hardware() {
    Optional<Path> file = collectives.file();
    DType type;
    try {
      type = DType.parse(dtype);
    } catch (IllegalArgumentException e) {
      throw new UsageException("--dtype: " + e.getMessage());
    }
    return new LayoutCheck.Hardware(
        ranked.machine(),
        ranked.level(),
        set -> {
          List<String> changes = new ArrayList<>(collectives.overrides());
          changes.addAll(set);
          return CclConfig.load(file, changes);
        },
        type,
        !noTime);
  }
}
