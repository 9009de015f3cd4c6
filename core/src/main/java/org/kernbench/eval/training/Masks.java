package org.kernbench.eval.training;

import java.util.Optional;
import org.kernbench.config.UsageException;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Param;
import org.kernbench.nn.autograd.Dropout;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.TwoModuleRecipe;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;

/**
 * Which values a step sets to zero at random.
 *
 * @param dropout the rates
 * @param as of one rank, a layout whose ranks draw masks as if each had the first rows and heads:
 *     the masks are those that all its ranks together then have
 */
record Masks(Dropout dropout, Optional<Repeated> as) {
  static final Masks NONE = new Masks(Dropout.NONE, Optional.empty());

  private static final long SEED = 1234;
  private static final String RANGE = "a number from 0 to below 1";

  static final Param<String> PARAM =
      Param.word(
          "dropout",
          "0",
          RANGE,
          """
          share of values that are set to zero after attention, after the feed-forward part, in \
          attention and among embeddings\
          """);

  /** What a user asked for. */
  static Masks of(BenchContext context) {
    return of("dropout", context.param(PARAM));
  }

  /**
   * One rate at all places.
   *
   * @param option its name
   * @throws UsageException if it is no rate
   */
  static Masks of(String option, String rate) {
    try {
      double share = Double.parseDouble(rate);
      if (share >= 0 && share < 1) {
        return share == 0 ? NONE : new Masks(Dropout.of(share, SEED), Optional.empty());
      }
    } catch (NumberFormatException e) {
      // reported below, like a number out of range
    }
    throw new UsageException(option + ": got \"" + rate + "\"; expected " + RANGE);
  }

  /** What decides how a rank computes. */
  Recipe recipe(ParallelLayout layout, Fault fault) {
    return as.<Recipe>map(r -> r).orElseGet(() -> TwoModuleRecipe.of(layout, fault));
  }

  /** These masks on one rank, as a layout has them if its ranks repeat each other's. */
  Masks as(Repeated layout) {
    return new Masks(dropout, Optional.of(layout));
  }

  /**
   * Numbers of rows and heads as they are counted from 0 on each rank.
   *
   * @param samples of a microbatch on a rank
   * @param divides whether tensor-parallel ranks have some of the rows each
   * @param heads of queries on a rank
   */
  record Repeated(int tokens, int samples, int tp, int cp, boolean divides, int heads)
      implements Recipe {
    @Override
    public long maskRow(SequencePart part, int sample, int position, int row) {
      int own = place(position) * samples + sample % samples;
      return divides ? own % (tokens / cp * samples / tp) : own;
    }

    /** Which of its rank's positions one is: a rank has two stretches of the sequence. */
    private int place(int position) {
      if (cp == 1) {
        return position;
      }
      int stretch = tokens / (2 * cp);
      return position / stretch < cp ? position % stretch : stretch + position % stretch;
    }

    @Override
    public long maskHead(int sample, int head, int all, int own) {
      return (long) sample % samples * heads + head % heads;
    }
  }
}
