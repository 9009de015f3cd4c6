package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.training.TrainingBench.Scope;
import org.kernbench.machine.Machine;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Mistake;
import org.kernbench.nn.compare.LayoutVerdict;
import org.kernbench.nn.compare.StageCheck;
import org.kernbench.nn.compare.StageCheck.Doubt;
import org.kernbench.nn.compare.StageCheck.Guess;
import org.kernbench.nn.compare.StepRecord;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.nn.pipeline.Action;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.nn.pipeline.PipelineSchedule;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.Spread;

/** One step of a model in stages beside the same step on one rank, in f64. */
public final class PipelineComparison {
  /** So large that gradients are not shrunk, and a wrong one changes no other. */
  private static final double UNBOUNDED = 1e30;

  private final Machine machine;
  private final Spread spread;
  private final Ccl ccl;
  private final Setup setup;

  /** Configures collectives for a number of ranks. */
  @FunctionalInterface
  public interface Ccl {
    /** The configuration for so many ranks. */
    CclConfig of(int ranks);
  }

  /**
   * What is trained.
   *
   * @param layers of the model
   * @param tokens of a sample
   * @param batch samples of a step
   * @param dropout share of values that are set to zero, as users of {@code train-step} write it
   */
  public record Task(String model, int layers, int tokens, int batch, String dropout) {
    /** One that sets none to zero. */
    public Task(String model, int layers, int tokens, int batch) {
      this(model, layers, tokens, batch, "0");
    }
  }

  /**
   * In which layout.
   *
   * @param sp sequence parallelism
   * @param schedule as users of {@code train-step} write it
   * @param experts over which ranks experts are divided
   * @param zero what data- and context-parallel ranks divide
   */
  public record Layout(
      int tp,
      int cp,
      int dp,
      int pp,
      boolean sp,
      int microbatches,
      String schedule,
      int vpp,
      boolean tied,
      Recompute recompute,
      ExpertGroups.Sizes experts,
      Zero zero) {
    /** One that divides neither optimizer nor more. */
    public Layout(
        int tp,
        int cp,
        int dp,
        int pp,
        boolean sp,
        int microbatches,
        String schedule,
        int vpp,
        boolean tied,
        Recompute recompute,
        ExpertGroups.Sizes experts) {
      this(tp, cp, dp, pp, sp, microbatches, schedule, vpp, tied, recompute, experts, Zero.NONE);
    }

    /** A copy with another stage of ZeRO, 0 to 3. */
    public Layout withZero(int stage) {
      if (stage < 0 || stage >= Zero.values().length) {
        throw new UsageException("--zero: got " + stage + "; expected 0 to 3");
      }
      return new Layout(
          tp,
          cp,
          dp,
          pp,
          sp,
          microbatches,
          schedule,
          vpp,
          tied,
          recompute,
          experts,
          Zero.values()[stage]);
    }

    /** The stage of ZeRO, 0 to 3. */
    public int zeroStage() {
      return zero.ordinal();
    }

    /** Number of ranks. */
    public int ranks() {
      return tp * cp * dp * pp;
    }
  }

  private PipelineComparison(Machine machine, Spread spread, Ccl ccl, Setup setup) {
    this.machine = machine;
    this.spread = spread;
    this.ccl = ccl;
    this.setup = setup;
  }

  /**
   * Compares a layout with one rank.
   *
   * @param spread which PEs of a rank's device compute
   * @param fault a mistake to make in the layout
   * @throws UsageException if the layout cannot be, or leaves no room for the mistake
   */
  public static LayoutVerdict of(
      Machine machine, Spread spread, Ccl ccl, Task task, Layout layout, Fault fault) {
    TransformerConfig config = TrainingBench.shape(task.model, task.layers);
    Pipe pipe =
        Pipe.of(
            new Pipe.Asked(layout.pp, layout.microbatches, layout.schedule, layout.vpp, Pipe.EVEN),
            task.layers,
            layout.tied,
            layout.recompute);
    Setup setup =
        new Setup(
            config,
            Scope.STEP,
            task.tokens,
            task.batch,
            layout.tp,
            layout.cp,
            layout.dp,
            layout.sp,
            DType.F64,
            DType.F64,
            ContextExchange.ALL_GATHER,
            DataParallel.DEFAULT.with(layout.zero),
            fault,
            pipe.withNorm(UNBOUNDED),
            layout.experts,
            Optional.empty(),
            Masks.of("--dropout", task.dropout),
            false);
    TrainingBench.check(setup);
    Injection.check(setup);
    return new PipelineComparison(machine, spread, ccl, setup).verdict();
  }

  private LayoutVerdict verdict() {
    Setup one = setup.onOneRank(DType.F64);
    return StageCheck.of(run(setup), run(one), guesses(one), doubts(one));
  }

  /** What is drawn for other values than it should be. */
  private void guessMasks(Setup one, List<Guess> all) {
    if (!setup.masks().dropout().isOn()) {
      return;
    }
    all.add(
        new Guess(
            Mistake.MASKS_REPEATED,
            "with masks drawn as if each rank and microbatch had the first rows and heads one rank has the same",
            () -> run(one.with(setup.masks().as(repeated())))));
    Recompute again = setup.pipe().recompute();
    if (again != Recompute.NONE) {
      Setup redrawn = one.with(one.pipe().with(again)).with(Fault.REDRAW_MASKS);
      all.add(
          new Guess(
              Mistake.MASKS_REDRAWN,
              "with other masks for what is recomputed one rank has the same",
              () -> run(redrawn)));
    }
  }

  private Masks.Repeated repeated() {
    return new Masks.Repeated(
        setup.tokens(),
        setup.batch() / setup.dp() / setup.pipe().microbatches(),
        setup.tp(),
        setup.cp(),
        setup.sp() && setup.tp() > 1,
        setup.config().heads() / setup.tp());
  }

  private static final String SPLIT =
      "ranks have different gradients of parameters that they all have; without dropout the layout has what one rank has";

  /** What no run on one rank can show: ranks that disagree, but not if nothing is dropped. */
  private List<Doubt> doubts(Setup one) {
    boolean whole = setup.tp() > 1 && !setup.sp() && setup.masks().dropout().isOn();
    return whole
        ? List.of(
            new Doubt(
                Mistake.MASKS_SPLIT,
                SPLIT,
                () ->
                    StageCheck.of(
                            run(setup.with(Masks.NONE)),
                            run(one.with(Masks.NONE)),
                            List.of(),
                            List.of())
                        .isEqual()))
        : List.of();
  }

  private List<Guess> guesses(Setup one) {
    List<Guess> all = new ArrayList<>();
    guessMasks(one, all);
    if (setup.config().experts().isPresent()) {
      all.add(
          new Guess(
              Mistake.WRONG_EXPERT,
              "with the first choice of sample 0, position 0 sent to the next expert in layer 0 one rank has the same",
              () -> run(one.with(Fault.WRONG_EXPERT))));
      all.add(
          new Guess(
              Mistake.ROUTER_GRADIENT_MISSING,
              "without what experts give back to their router one rank has the same",
              () -> run(one.with(Fault.SKIP_ROUTER_GRADIENT))));
    }
    if (setup.data().zero() == Zero.PARAMETERS) {
      all.add(
          new Guess(
              Mistake.PARAMETER_STALE,
              "the parameter before the optimizer's step is what the rank has after it",
              () -> run(one).unstepped()));
    }
    Optional<PipelineSchedule> schedule = setup.pipe().schedule();
    if (schedule.isPresent()) {
      int m = schedule.get().microbatches();
      for (int k = 0; k < m && m > 1; k++) {
        Setup without = one.with(one.pipe().without(samples(k, m)));
        all.add(
            new Guess(
                Mistake.MICROBATCH_LOST,
                "the sum without microbatch " + k + " is what the rank has",
                () -> run(without)));
      }
      LayerSplit split = setup.pipe().split().orElseThrow();
      for (int s = 0; s + 1 < schedule.get().depth(); s++) {
        Setup swapped = one.with(one.pipe().with(alone(split), split.exchanged(s)));
        all.add(
            new Guess(
                Mistake.STAGES_SWAPPED,
                "with the blocks of stages %s and %s exchanged one rank has the same"
                    .formatted(s, s + 1),
                () -> run(swapped)));
      }
    }
    return all;
  }

  /** The samples of a microbatch, on all data-parallel ranks. */
  private Set<Integer> samples(int microbatch, int microbatches) {
    int each = setup.batch() / setup.dp() / microbatches;
    Set<Integer> own = new TreeSet<>();
    for (int d = 0; d < setup.dp(); d++) {
      for (int i = 0; i < each; i++) {
        own.add((d * microbatches + microbatch) * each + i);
      }
    }
    return own;
  }

  /** All stages on one rank, the whole batch at once. */
  private static PipelineSchedule alone(LayerSplit split) {
    List<Action> actions = new ArrayList<>();
    int stages = split.blocks().size();
    for (int s = 0; s < stages; s++) {
      actions.add(new Action(s, Action.Kind.FORWARD, 0));
    }
    for (int s = stages - 1; s >= 0; s--) {
      actions.add(new Action(s, Action.Kind.BACKWARD, 0));
    }
    return PipelineSchedule.of("one rank", List.of(actions));
  }

  private StepRecord run(Setup of) {
    TrainingProgram program = new TrainingProgram(of).readingGathered();
    CollectiveLibrary library = CollectiveLibrary.open(machine, ccl.of(of.ranks()));
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.VALUES).withSpread(spread);
    try (Torch torch = Torch.open(machine, options.withCollectives(library))) {
      torch.distributed().initProcessGroup(library.name());
      torch.multiprocessing().spawn(program::body, of.ranks());
    }
    return program.record();
  }
}
