package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.DimensionSteps.Step;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Turn;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * How ranks that go by dimension name the bytes of their vectors, for running one of them for all
 * where every package is a rank (ADR 0109, 0213): along each dimension rank 0's segments, turned by
 * the place of the rank.
 *
 * <p>An all-reduce cuts its vector along the first dimension first, so a place of the first has the
 * largest part. The parts of other operations lie in the order of their ranks, so a place of the
 * last has.
 */
final class DimensionTurn {
  /** Of places within a package: no shift changes them. */
  private static final int NEVER = Integer.MAX_VALUE;

  private final String name;
  private final Axes axes;
  private final List<Step> steps;
  private final CollectiveCall call;
  private final int blocks;

  private DimensionTurn(
      String name, Axes axes, List<Step> steps, CollectiveCall call, int blocks, boolean whole) {
    this.name = name;
    this.axes = axes;
    this.steps = steps;
    this.call = call;
    this.blocks = blocks;
    check(whole);
  }

  /** Of the vectors that are read. */
  static Turn ofWhat(
      String name, Axes axes, List<Step> steps, CollectiveCall call, int blocks, boolean whole) {
    DimensionTurn turn = new DimensionTurn(name, axes, steps, call, blocks, whole);
    return call.op() == CollectiveOp.ALL_GATHER ? Turn.NONE : turn.ofAll();
  }

  /** Of the vectors that results go to. */
  static Turn ofResults(
      String name, Axes axes, List<Step> steps, CollectiveCall call, int blocks, boolean whole) {
    DimensionTurn turn = new DimensionTurn(name, axes, steps, call, blocks, whole);
    return call.op() == CollectiveOp.REDUCE_SCATTER ? Turn.NONE : turn.ofAll();
  }

  private Turn ofAll() {
    List<Turn.Level> levels = new ArrayList<>();
    int stride = 1;
    for (int a = 0; a < axes.count(); a++) {
      int size = axes.axis(a).size();
      boolean shifts = axes.axis(a).level() == Axes.Level.SIP;
      levels.add(new Turn.Level(size, shifts ? stride : NEVER));
      stride *= shifts ? size : 1;
    }
    long bytes = call.op() == CollectiveOp.ALL_TO_ALL ? call.bytes() / call.ranks() : call.bytes();
    return call.op() == CollectiveOp.ALL_REDUCE
        ? Turn.along(levels, bytes / blocks, blocks)
        : Turn.along(levels.reversed(), bytes, 1);
  }

  private void check(boolean whole) {
    if (whole && axes.count() > 1) {
      throw new CannotFoldException(
          """
          %s with whole vectors cuts the same bytes along each dimension anew, so ranks have no \
          names for them in common; use vectors: scattered, or --fold off\
          """
              .formatted(name));
    }
    for (int a = 0; a < axes.count(); a++) {
      if (axes.axis(a).level() == Axes.Level.MIXED) {
        throw new CannotFoldException(
            "%s takes the ranks as one line, which no shift keeps; let all packages take part"
                .formatted(name));
      }
    }
    for (Step step : steps) {
      if (step != Step.RING && step != Step.DIRECT) {
        throw new CannotFoldException(
            "%s goes by %s, on which ranks have other partners by their numbers; use along: ring or direct, or --fold off"
                .formatted(name, step.name().toLowerCase(Locale.ROOT)));
      }
    }
    long parts = (long) axes.ranks() * (call.op() == CollectiveOp.ALL_REDUCE ? blocks : 1);
    if (call.elements() % parts != 0) {
      throw new CannotFoldException(
          String.format(
              Locale.ROOT,
              "%s (%s) cuts %,d elements in %,d unequal segments; use a multiple of %,d",
              call.op().word(),
              name,
              call.elements(),
              parts,
              parts));
    }
  }
}
