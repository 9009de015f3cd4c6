package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.DimensionSteps;
import org.kernbench.ccl.DimensionSteps.Ends;
import org.kernbench.ccl.DimensionSteps.Step;
import org.kernbench.ccl.Reduction;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * The way of one chunk through the dimensions on one rank ({@link ByDimension}), a step at a time,
 * so that several can be under way.
 */
final class DimensionChunk {
  /** What {@link #step} returns when the chunk has come to the end of a dimension. */
  static final long ENDED = -1;

  private enum State {
    BEGIN,
    SEND,
    COME
  }

  private final DimensionParts parts;
  private final List<Step> steps;
  private final DimensionSteps how;
  private final Reduction reduction;
  private final DimensionRounds.Ways ways;
  private final Tl tl;

  /** What is to be done along one dimension after the other. */
  private final List<Phase> phases = new ArrayList<>();

  private int phase = -1;
  private int stage;
  private int lane;

  // of what is under way
  private State state = State.BEGIN;
  private @Nullable DimensionRounds rounds;
  private int round;
  private @Nullable Handle end;

  /** The sums so far of a chunk that is scattered along one dimension after the other. */
  private @Nullable Value held;

  /** Of an all-to-all, what is under way. */
  private final Map<Integer, ExchangeRounds.Block> blocks = new TreeMap<>();

  /**
   * All along one dimension.
   *
   * @param begins whether the end of a message is waited for first
   * @param stages one after the other
   * @param before when its turn comes
   * @param after when it has ended
   */
  private record Phase(
      int axis,
      boolean begins,
      List<Supplier<DimensionRounds>> stages,
      Runnable before,
      Runnable after) {}

  DimensionChunk(
      DimensionParts parts,
      List<Step> steps,
      DimensionSteps how,
      Reduction reduction,
      DimensionRounds.Ways ways) {
    this.parts = parts;
    this.steps = steps;
    this.how = how;
    this.reduction = reduction;
    this.ways = ways;
    this.tl = parts.tl();
    plan();
  }

  // ---- the phases ----

  private void plan() {
    int count = parts.axes().count();
    int[] all = new int[count];
    for (int a = 0; a < count; a++) {
      all[a] = a;
    }
    parts.use(all);
    switch (parts.call().op()) {
      case REDUCE_SCATTER -> {
        for (int a = 0; a < count; a++) {
          scatter(a, a == count - 1 ? this::keepSums : () -> {});
        }
      }
      case ALL_GATHER -> {
        for (int a = count - 1; a >= 0; a--) {
          gather(a, a == count - 1);
        }
      }
      case ALL_REDUCE -> {
        if (how.whole()) {
          for (int a : all) {
            turn(a, 0, () -> parts.use(a), a == count - 1);
          }
        } else {
          for (int a = 0; a < count - 1; a++) {
            scatter(a, () -> {});
          }
          turn(count - 1, count - 1, () -> {}, true);
          for (int a = count - 2; a >= 0; a--) {
            gather(a, false);
          }
        }
      }
      case ALL_TO_ALL -> {
        for (int a = 0; a < count; a++) {
          exchange(a, a == count - 1);
        }
      }
      case BROADCAST, REDUCE, GATHER, SCATTER, POINT_TO_POINT, BARRIER ->
          throw new IllegalStateException(
              "bug: " + parts.call().op() + " does not go by dimension");
    }
  }

  private void scatter(int i, Runnable after) {
    phases.add(
        new Phase(
            i,
            true,
            List.of(() -> scatterRounds(i)),
            () -> {},
            () -> {
              takeSums();
              after.run();
            }));
  }

  private ScatterRounds scatterRounds(int i) {
    Value before = held;
    return switch (steps.get(parts.axis(i))) {
      case RING -> new ScatterRounds.Ring(parts, i, lane, reduction, before);
      case DIRECT -> new ScatterRounds.Direct(parts, i, lane, reduction, before);
      case HALVING_DOUBLING -> new ScatterRounds.Halves(parts, i, lane, reduction, before);
      case DOUBLE_BINARY_TREE -> throw new IllegalStateException("bug: a tree does not scatter");
    };
  }

  /** The sums of the rounds that have ended are what goes on. */
  private void takeSums() {
    if (rounds instanceof ScatterRounds scatter) {
      parts.release(held);
      held = scatter.sum();
    }
  }

  /** A reduce-scatter has ended. */
  private void keepSums() {
    finishSums();
    parts.write(parts.unit(), 1, held);
    parts.release(held);
    held = null;
  }

  private void finishSums() {
    Value sums = held;
    if (sums != null) {
      held = reduction.finish(tl, sums);
    }
  }

  /** All-gather along a dimension; of an all-gather's first, what the rank gives is its own. */
  private void gather(int i, boolean first) {
    phases.add(
        new Phase(
            i,
            true,
            List.of(() -> gatherRounds(i, first ? given() : back(i))),
            () -> {},
            () -> {}));
  }

  private @Nullable Value given() {
    Value own = parts.own(parts.unit(), 1, null, parts.unit());
    parts.write(parts.unit(), 1, own);
    return own;
  }

  private @Nullable Value back(int i) {
    parts.readBack();
    int first = parts.first(i + 1);
    return parts.own(first, parts.width(i + 1), null, first);
  }

  private DimensionRounds gatherRounds(int i, @Nullable Value own) {
    return switch (steps.get(parts.axis(i))) {
      case RING -> new GatherRounds.Ring(parts, i, lane, own);
      case DIRECT -> new GatherRounds.Direct(parts, i, lane, own);
      case HALVING_DOUBLING -> new GatherRounds.Halves(parts, i, lane, own);
      case DOUBLE_BINARY_TREE -> throw new IllegalStateException("bug: a tree does not gather");
    };
  }

  /** All-reduce along one dimension, the others scattered or whole. */
  private void turn(int axis, int i, Runnable before, boolean last) {
    if (steps.get(axis) == Step.DOUBLE_BINARY_TREE) {
      phases.add(
          new Phase(
              axis,
              isLeaf(axis),
              List.of(() -> new TreeRounds(parts, i, lane, reduction, held, last)),
              before,
              () -> {
                held = null;
                parts.readBack();
              }));
      return;
    }
    if (steps.get(axis) == Step.DIRECT && how.ends() == Ends.ASTRA) {
      phases.add(
          new Phase(
              axis,
              true,
              List.of(() -> new DirectTurn(parts, i, lane, reduction, taken(), last, how, ways)),
              before,
              parts::readBack));
      return;
    }
    phases.add(
        new Phase(
            axis,
            true,
            List.of(() -> scatterRounds(i), () -> gatherRounds(i, turned(i, last))),
            before,
            parts::readBack));
  }

  /** The sums so far, which somebody else gives up. */
  private @Nullable Value taken() {
    Value sums = held;
    held = null;
    return sums;
  }

  /**
   * A leaf of a tree waits before its message, as at the beginning of a dimension; others do not.
   */
  private boolean isLeaf(int axis) {
    int place = parts.axes().place(parts.rank(), axis);
    int places = parts.axes().axis(axis).size();
    return DimensionQueues.children(parts.chunk() % 2, place, places).length == 0;
  }

  /** Between scattering and gathering: the sums are results, or go on to the next dimension. */
  private @Nullable Value turned(int i, boolean last) {
    takeSums();
    if (last) {
      finishSums();
    }
    int first = parts.first(i + 1);
    parts.write(first, parts.width(i + 1), held);
    Value own = held;
    held = null;
    return own;
  }

  private void exchange(int a, boolean last) {
    phases.add(
        new Phase(
            a,
            true,
            List.of(() ->
                steps.get(a) == Step.RING
                    ? new ExchangeRounds.Ring(parts, a, lane, blocks)
                    : new ExchangeRounds.Direct(parts, a, lane, blocks)),
            () -> {},
            () -> {
              if (last) {
                writeBlocks();
              }
            }));
  }

  private void writeBlocks() {
    int ranks = parts.call().ranks();
    for (int src : ExchangeRounds.further(parts.axes(), parts.rank(), 0, parts.axes().count())) {
      ExchangeRounds.Block block = blocks.remove(src * ranks + parts.rank());
      if (block != null) {
        parts.writeBlock(src, block.value());
        block.of().release(tl);
      }
    }
    Value own = parts.readBlock(parts.rank());
    if (own != null) {
      parts.writeBlock(parts.rank(), own);
      tl.release(own);
    }
  }

  // ---- one step at a time ----

  /** Goes on to the next dimension. Whether there is one. */
  boolean advance() {
    phase++;
    return phase < phases.size();
  }

  /** The axis of the dimension that it is to go along, or goes. */
  int axis() {
    return phases.get(phase).axis();
  }

  /** Begins with that dimension, on queues that are free. */
  void begin(int freeLane) {
    lane = freeLane;
    stage = 0;
    state = State.BEGIN;
    phases.get(phase).before().run();
  }

  /**
   * Does what is due.
   *
   * @return after how many picoseconds it goes on, as planned; {@link #ENDED} at the end of the
   *     dimension
   */
  long step() {
    return switch (state) {
      case BEGIN -> begin();
      case SEND -> send();
      case COME -> come();
    };
  }

  private long begin() {
    long ps = phases.get(phase).begins() ? how.endpointDelayPs() : 0;
    elapse(ps);
    next();
    return ps;
  }

  /** The next of its stages, which begins when what is waited for has ended. */
  private void next() {
    rounds = null;
    round = 0;
    state = State.SEND;
  }

  private void elapse(long ps) {
    end = ps > 0 ? tl.elapseInProtocol(ps) : null;
  }

  private long send() {
    Handle waited = end;
    if (waited != null) {
      tl.await(waited);
      end = null;
    }
    DimensionRounds now = rounds;
    if (now == null) {
      now = phases.get(phase).stages().get(stage).get();
      rounds = now;
    }
    if (round == now.count()) {
      now.done();
      return ended();
    }
    now.send(round);
    state = State.COME;
    return now.usualPs(round, ways);
  }

  private long ended() {
    Phase now = phases.get(phase);
    stage++;
    if (stage < now.stages().size()) {
      Supplier<DimensionRounds> following = now.stages().get(stage);
      DimensionRounds made = following.get();
      next();
      rounds = made;
      return send();
    }
    now.after().run();
    rounds = null;
    return ENDED;
  }

  private long come() {
    DimensionRounds now = rounds;
    if (now == null) {
      throw new IllegalStateException("bug: nothing is under way");
    }
    int elements = now.come(round);
    int bytes = parts.call().dtype().sizeBytes();
    if (elements >= 0) {
      elapse(how.endpointDelayPs() + chargePs(now, (long) elements * bytes));
    }
    now.use(round);
    long planned = now.hasEnd() ? how.endpointDelayPs() + chargePs(now, now.usualBytes(round)) : 0;
    round++;
    state = State.SEND;
    return planned;
  }

  /** What the reduction of a message of a round costs beside the machine's own. */
  private long chargePs(DimensionRounds now, long bytes) {
    if (!now.reduces()) {
      return 0;
    }
    if (now instanceof ScatterRounds.Halves && how.ends() == Ends.ASTRA) {
      return round == now.count() - 1 ? 0 : how.reductionPs(bytes / 2);
    }
    return how.reductionPs(bytes);
  }
}
