package org.kernbench.eval.training;

import java.util.function.Consumer;
import java.util.function.Function;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.Fold;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Folding;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.torch.placement.RankLevel;

/**
 * Whether data-parallel replicas do alike, so that one package can stand for all (ADR 0332).
 *
 * @param alike whether all have the samples of the first
 * @param folding what the user asks for
 */
record Replicas(boolean alike, Folding folding) {
  /**
   * As the parameters of a run say.
   *
   * @throws UsageException if samples that are alike make no sense in it
   */
  static Replicas of(BenchContext context, TransformerConfig config) {
    boolean alike = context.param(TrainingParams.SAMPLES) == TrainingParams.Samples.ALIKE;
    if (alike && context.mode() != Mode.TIME) {
      throw new UsageException(
          """
          samples=alike: values are compared with those of samples that differ; expected --mode \
          time, or samples=own\
          """);
    }
    if (alike && config.experts().isPresent()) {
      throw new UsageException(
          """
          samples=alike: experts get tokens by the number of a replica, so replicas differ all the \
          same; expected samples=own, or a model without experts\
          """);
    }
    return new Replicas(alike, context.folding());
  }

  /** Whether one package of a machine may stand for all: they are alike, and all take part. */
  boolean canFold(Machine machine, int ranks, RankLevel level) {
    if (!alike || ranks != level.devices(machine)) {
      return false;
    }
    try {
      Fold.of(machine);
      return true;
    } catch (CannotFoldException e) {
      return false;
    }
  }

  /** The program of a step. */
  TrainingProgram program(Setup setup) {
    TrainingProgram program = new TrainingProgram(setup);
    return alike ? program.withReplicasAlike() : program;
  }

  /**
   * Runs the ranks of one package for all, if that is exact and not declined, else all ranks.
   *
   * @param refused is told why it is not exact
   * @param run is told whether to run one package for all
   * @throws UsageException if it is not exact, and was asked for
   */
  <T> T run(Consumer<String> refused, Function<Boolean, T> run) {
    if (folding == Folding.OFF || (folding == Folding.AUTO && !alike)) {
      return run.apply(false);
    }
    try {
      if (!alike) {
        throw new CannotFoldException(
            "replicas have samples of their own; use samples=alike to fold");
      }
      return run.apply(true);
    } catch (CannotFoldException e) {
      if (folding == Folding.ON) {
        throw new UsageException("cannot fold: " + e.getMessage());
      }
      refused.accept(e.getMessage());
      return run.apply(false);
    }
  }
}
