package org.kernbench.ccl.library;

import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.machine.SimulationException;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * The forecasts of an algorithm for long vectors, as far as they can be trusted. A closed form
 * leaves out what some machines have, such as message slots in HBM or PEs that share a router, and
 * is off by up to a factor of 13 there. So it is compared with simulations of two short vectors,
 * one four times as long as the other. If the time is nearly the same multiple of it for both, so
 * near that it would still be if it drifted on as much with each further factor of four, a long
 * vector is forecast with that multiple; if not, or if the slots are in a memory that others load
 * from and store to, there is no forecast.
 *
 * <p>What is short enough to be simulated at once needs no forecast.
 */
public final class SteadyForecast {
  /**
   * Bytes of each rank's longer short vector, of few ranks: twice what the slots of a queue hold.
   */
  private static final long SHORT_BYTES_OF_RANK = 256 << 10;

  /** All ranks' bytes of the longer short vector, at least and at most; of the other a quarter. */
  private static final long LEAST_SHORT_BYTES = 512 << 10;

  private static final long MOST_SHORT_BYTES = 4 << 20;

  /** How often a vector is as long as the longer short one and is still simulated at once. */
  private static final long AT_ONCE = 2;

  /** Factor by which the multiple may have drifted at the length of a call. */
  private static final double STEADY = 1.25;

  /** How often a vector is as long as a shorter one with which the formula is compared. */
  private static final double STEP = 4;

  /** Time over formula of the longer short vector, and over the same ratio of the shorter. */
  private record Multiple(double ratio, double drift) {
    /** Whether it is near enough if it drifts on up to a vector that is longer. */
    boolean isSteady(double timesLonger) {
      double steps = StrictMath.log(timesLonger) / StrictMath.log(STEP);
      return StrictMath.pow(Math.max(drift, 1 / drift), Math.max(1, steps)) <= STEADY;
    }
  }

  private record Subject(CollectiveOp op, int root, int elementBytes) {}

  private final CollectiveTrial trial;
  private final Map<Subject, Multiple> multiples = new HashMap<>();

  public SteadyForecast(CollectiveTrial trial) {
    this.trial = trial;
  }

  /** Whether a vector is so short that simulating it costs no more than forecasting. */
  public static boolean isShort(CollectiveTrial.Question question, int ranks) {
    return question.bytes() * ranks <= AT_ONCE * shortBytes(ranks);
  }

  private static long shortBytes(int ranks) {
    return Math.clamp(SHORT_BYTES_OF_RANK * ranks, LEAST_SHORT_BYTES, MOST_SHORT_BYTES);
  }

  /**
   * The time that a call should take, picoseconds; empty if it is short, has no closed form, or one
   * that cannot be trusted.
   */
  public OptionalLong ps(CollectiveTrial.Question question, int ranks) {
    if (question.op() == CollectiveOp.BARRIER
        || question.op() == CollectiveOp.ALL_TO_ALL // what blocks of a p-th wait for says little
        || isShort(question, ranks)
        || !trial.hasSlotsInTcm()) {
      return OptionalLong.empty();
    }
    try {
      OptionalLong formula = trial.predictPs(question);
      if (formula.isEmpty()) {
        return formula;
      }
      Subject subject = new Subject(question.op(), question.root(), question.dtype().sizeBytes());
      Multiple multiple = multiples.computeIfAbsent(subject, s -> multiple(question, ranks));
      return multiple.isSteady((double) question.bytes() * ranks / shortBytes(ranks))
          ? OptionalLong.of(Math.round(formula.getAsLong() * multiple.ratio))
          : OptionalLong.empty();
    } catch (CollectiveException | SimulationException e) {
      return OptionalLong.empty(); // refuses this very call, or a short one
    }
  }

  /**
   * The time that a long call of an algorithm without a closed form may take, picoseconds: on the
   * line through simulations of two short vectors. Empty if these are refused.
   */
  OptionalLong straightPs(CollectiveTrial.Question question, int ranks) {
    CollectiveTrial.Question longer = shortened(question, ranks, shortBytes(ranks));
    CollectiveTrial.Question shorter =
        shortened(question, ranks, Math.round(shortBytes(ranks) / STEP));
    try {
      long ps = trial.timePs(longer);
      double psPerByte =
          (ps - trial.timePs(shorter)) / (double) Math.max(1, longer.bytes() - shorter.bytes());
      return OptionalLong.of(ps + Math.round(psPerByte * (question.bytes() - longer.bytes())));
    } catch (CollectiveException | SimulationException e) {
      return OptionalLong.empty();
    }
  }

  private Multiple multiple(CollectiveTrial.Question question, int ranks) {
    double longer = ratio(shortened(question, ranks, shortBytes(ranks)));
    double shorter = ratio(shortened(question, ranks, Math.round(shortBytes(ranks) / STEP)));
    return new Multiple(longer, longer / shorter);
  }

  private double ratio(CollectiveTrial.Question question) {
    OptionalLong formula = trial.predictPs(question);
    return formula.isEmpty()
        ? Double.NaN
        : trial.timePs(question) / (double) Math.max(1, formula.getAsLong());
  }

  private static CollectiveTrial.Question shortened(
      CollectiveTrial.Question q, int ranks, long bytes) {
    long elements = Math.max(1, bytes / ranks / q.dtype().sizeBytes());
    boolean exchange = q.op() == CollectiveOp.ALL_TO_ALL;
    long even = exchange ? Math.max(1, elements / ranks) * ranks : elements;
    return new CollectiveTrial.Question(q.op(), q.reduce(), q.dtype(), q.root(), even);
  }
}
