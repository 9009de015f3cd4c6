package org.kernbench.eval.training;

import java.util.List;
import java.util.Optional;
import org.kernbench.config.ConfigException;
import org.kernbench.config.UsageException;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.device.ValueTooLargeException;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Param;
import org.kernbench.machine.Machine;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.TcmException;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.tensor.DType;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * Whether the kernels of models find room in the TCM of a PE. Where that is in doubt, one block of
 * each on few tokens is simulated before the run: what a kernel has at once depends on the widths
 * of the models, not on how many layers or tokens there are. If it cannot go on, the run is
 * refused, with the nearest TCM on which it can (ADR 0237).
 */
final class TcmFit {
  /** Queries and keys that attention has at once along each side, and that a trial has. */
  private static final int TILE = 128;

  /** Tiles of scores that attention has at once, and tiles of heads of each kind. */
  private static final int SCORES = 6;

  private static final int HEADS = 3;

  /** What is drawn for a mask, i64, and made of it. */
  private static final int MASKS = 6;

  /** Values as wide as a row that kernels by rows have at once, about. */
  private static final int ROWS = 12;

  /**
   * Arrays of the engine that products have of sums and of operands, where there is little room.
   */
  private static final int PRODUCTS = 6;

  /** Tiles of sums that products of experts have at once, and blocks of their operands. */
  private static final int EXPERT_SUMS = 4;

  private static final int EXPERT_BLOCKS = 6;

  /** The largest blocks of values are this part of a TCM. */
  private static final int BLOCK = 64;

  /** Eighths of its size to which a TCM that is too small is enlarged, one after the other. */
  private static final int[] LARGER = {10, 12, 16, 24, 32, 48, 64, 128, 256, 512};

  private final BenchContext context;
  private final Models models;
  private final Trial trial;

  /**
   * What is to find room.
   *
   * @param tokens of the longest sample
   */
  record Models(String name, List<TransformerConfig> all, DType dtype, int tokens, Masks masks) {}

  /** Simulates one block of each model. */
  @FunctionalInterface
  interface Trial {
    void run(Machine machine);
  }

  TcmFit(BenchContext context, Models models, Trial trial) {
    this.context = context;
    this.models = models;
    this.trial = trial;
  }

  /** Of one model in some layout. */
  static TcmFit of(BenchContext context, Setup setup, RankLevel level, Spread spread) {
    int most = 2 * TILE * setup.cp();
    int even = 2 * setup.cp() * setup.tp();
    int fewer = Math.min(setup.tokens(), Math.ceilDiv(most, even) * even);
    Setup one = setup.withoutValues().oneBlock(fewer);
    Models models =
        new Models(
            setup.config().name(),
            List.of(setup.config()),
            setup.dtype(),
            setup.tokens(),
            setup.masks());
    return new TcmFit(
        context,
        models,
        machine ->
            TwoModuleStep.run(
                machine,
                context.ccl(TwoModuleStep.world(level, one.ranks())),
                TorchOptions.DEFAULT.withMode(Mode.TIME).withSpread(spread),
                one.ranks(),
                new TrainingProgram(one)::body,
                torch -> {}));
  }

  /** Tokens of a trial, at most. */
  static int fewer(int tokens) {
    return Math.min(tokens, 2 * TILE);
  }

  /**
   * Refuses a TCM on which the model's kernels cannot run.
   *
   * @throws UsageException with what needs how much, and the nearest TCM that is enough
   */
  void check(Machine machine) {
    long size = machine.pe().tcm().sizeBytes();
    GemmSpec gemm = machine.pe().gemm();
    if (mostNeeded(size, (long) gemm.rows() * gemm.columns())
        <= size / 2) { // message queues take at most the other half
      return;
    }
    Optional<String> problem = problem(machine);
    if (problem.isEmpty()) {
      return;
    }
    for (int eighths : LARGER) {
      long larger = size * eighths / 8 / 1024 * 1024;
      if (larger > size && fits(larger)) {
        throw new UsageException(
            """
            %s; expected a larger one: the nearest of those tried that is enough is \
            pe.tcm.size=%s KiB\
            """
                .formatted(problem.get(), kib(larger)));
      }
    }
    throw new UsageException(problem.get() + "; 64 times as much is not enough either");
  }

  /** What kernels may have at once, rather more than less. */
  private long mostNeeded(long size, long array) {
    return models.all.stream().mapToLong(c -> mostNeeded(c, size, array)).max().orElse(0);
  }

  private long mostNeeded(TransformerConfig c, long size, long array) {
    long working = Compute.working(models.dtype).sizeBytes();
    long tile = Math.min(TILE, Math.max(1, models.tokens));
    int more = models.masks.dropout().isOn() ? MASKS : 0;
    long scores = (SCORES + more) * tile * tile + HEADS * tile * 2L * c.headSize();
    long rows = (long) (ROWS + more) * c.hidden();
    long products = (long) PRODUCTS * array;
    long experts = c.experts().isEmpty() ? 0 : (long) EXPERT_SUMS * TILE * TILE;
    long blocks = c.experts().isEmpty() ? 0 : EXPERT_BLOCKS * size / BLOCK;
    long most = Math.max(Math.max(scores, rows), products);
    return Math.max(most * working, experts * working + blocks);
  }

  private boolean fits(long tcmBytes) {
    try {
      return problem(context.machineWith("pe.tcm.size=" + kib(tcmBytes) + " KiB")).isEmpty();
    } catch (ConfigException e) {
      return false; // message queues do not fit
    }
  }

  private static long kib(long bytes) {
    return bytes / 1024;
  }

  /** What cannot run, if anything. */
  private Optional<String> problem(Machine machine) {
    try {
      trial.run(machine);
      return Optional.empty();
    } catch (SimulationException e) {
      return told(e, machine);
    }
  }

  /** In one sentence what of TCM an error is about; empty if it is about something else. */
  private Optional<String> told(Throwable error, Machine machine) {
    for (Throwable e = error; e != null; e = e.getCause()) {
      if (e instanceof TcmException product) {
        return Optional.of(product.problem());
      }
      if (e instanceof ValueTooLargeException value) {
        return Optional.of(told("a kernel has a value of " + value.bytes() + " B", machine));
      }
      if (e instanceof DeadlockException deadlock && deadlock.shortage().isPresent()) {
        return deadlock
            .shortage()
            .map(s ->
                told(
                    "kernel %s finds no room for %s B beside what it holds"
                        .formatted(s.kernel(), s.bytes()),
                    machine));
      }
    }
    return Optional.empty();
  }

  private String told(String why, Machine machine) {
    return "the TCM of a PE, %s KiB, is too small for model %s in %s: %s"
        .formatted(kib(machine.pe().tcm().sizeBytes()), models.name, Param.word(models.dtype), why);
  }
}
