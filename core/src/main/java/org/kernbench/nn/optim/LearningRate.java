package org.kernbench.nn.optim;

/**
 * The learning rate of each step: a straight way up to the peak, and a way down from there ({@code
 * OptimizerParamScheduler} of Megatron-LM). It depends on the number of the step only, so a run
 * that goes on from a {@link Checkpoint} goes on with its rate.
 *
 * @param peak rate after the warm-up
 * @param least rate after the decay, and below no step of it; {@code CONSTANT} has none
 * @param warmup steps of the way up: step s of these has {@code peak s / warmup}
 * @param total steps until the decay has ended, warm-up included
 * @param decay the way down
 */
public record LearningRate(double peak, double least, long warmup, long total, Decay decay) {
  /** Ways down. */
  public enum Decay {
    /** None. */
    CONSTANT,
    /** A straight line. */
    LINEAR,
    /** Half a period of a cosine. */
    COSINE,
    /** The peak times the root of warm-up over step. */
    INVERSE_SQUARE_ROOT
  }

  /** Checks the numbers. */
  public LearningRate {
    if (!(least >= 0 && peak >= least && peak < Double.POSITIVE_INFINITY)
        || warmup < 0
        || total < warmup) {
      throw new IllegalArgumentException(
          "learning rate from %s to %s, %s of %s steps up; expected finite rates, the peak not below the least, and no more steps up than in all"
              .formatted(peak, least, warmup, total));
    }
  }

  /** A rate that does not change. */
  public static LearningRate constant(double rate) {
    return new LearningRate(rate, rate, 0, 0, Decay.CONSTANT);
  }

  /**
   * The rate of a step.
   *
   * @param step its number, from 1
   */
  public double of(long step) {
    if (step <= warmup) {
      return peak * step / warmup;
    }
    if (decay == Decay.INVERSE_SQUARE_ROOT && step <= total) {
      return Math.max(least, peak * Math.sqrt(Math.max(1, warmup) / (double) step));
    }
    double done = total == warmup ? 1 : Math.min(1, (step - warmup) / (double) (total - warmup));
    return least + (peak - least) * rest(done);
  }

  private double rest(double done) {
    return switch (decay) {
      case CONSTANT -> 1;
      case INVERSE_SQUARE_ROOT -> 0; // after the decay
      case LINEAR -> 1 - done;
      case COSINE -> (1 + StrictMath.cos(Math.PI * done)) / 2;
    };
  }
}
