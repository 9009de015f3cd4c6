package org.kernbench.ccl.dimensions;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.DimensionSteps;
import org.kernbench.ccl.DimensionSteps.Step;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.simulator.Fold;
import org.kernbench.machine.Turn;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * One dimension after the other, each finished before the next begins, with one message for each
 * segment: reduce-scatter along dimension 0, 1, ..., all-reduce along the last, all-gather back.
 *
 * <p>Time of an all-reduce of S bytes along a ring of p ranks, with {@code e} for the end of a
 * message, {@code o + L + s/B} for its way and {@code g(s)} for an addition: {@code e + 2 (p-1) (o
 * + L + S/(pB) + e) + (p-1) g(S/p)}; to all at once {@code 3 e + 2 (o + L + S/(pB)) + g}; in halves
 * the sum over k of {@code 2 (o + L + S/(2^k B) + e) + g(S/2^k)}, and e. A reduce-scatter and an
 * all-gather are a half each with an {@code e} of their own, and of several dimensions the sum
 * ({@code docs/spec/collectives.md} O20).
 */
public final class ByDimension implements CollectiveAlgorithm {

  /** The algorithm; has no state. */
  public ByDimension() {}

  @Override
  public String name() {
    return "by_dimension";
  }

  @Override
  public String description() {
    return "reduce-scatter along one dimension after the other, all-reduce along the last, and back";
  }

  @Override
  public Set<CollectiveOp> operations() {
    return Set.of(
        CollectiveOp.ALL_REDUCE,
        CollectiveOp.REDUCE_SCATTER,
        CollectiveOp.ALL_GATHER,
        CollectiveOp.ALL_TO_ALL);
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    Axes axes = Axes.of(group);
    DimensionSteps how = config.dimensionSteps();
    if (config.subChunks().orElse(1) != 1) {
      throw new CollectiveException(
          """
          algorithms.%s.sub_chunks: got %s, but each segment is one message here; use 1, or ring\
          """
              .formatted(config.name(), config.subChunks().getAsInt()));
    }
    List<Step> steps = new ArrayList<>();
    for (int a = 0; a < axes.count(); a++) {
      steps.add(how.along().size() == 1 ? how.along().getFirst() : step(config, axes, a));
      int size = axes.axis(a).size();
      boolean halves =
          steps.get(a) == Step.HALVING_DOUBLING || steps.get(a) == Step.DOUBLE_BINARY_TREE;
      if (halves && Integer.bitCount(size) != 1) {
        throw new CollectiveException(
            """
            algorithms.%s.along: %s along dimension %s of %s places; expected a \
            power of two; use ring or direct there\
            """
                .formatted(config.name(), word(steps.get(a)), a, size));
      }
    }
    return new Serial(group, queues, config, axes, steps);
  }

  private static String word(Step step) {
    return step.name().toLowerCase(Locale.ROOT);
  }

  private static Step step(AlgorithmConfig config, Axes axes, int axis) {
    List<Step> along = config.dimensionSteps().along();
    if (along.size() != axes.count()) {
      throw new CollectiveException(
          """
          algorithms.%s.along: got %s entries for %s dimensions of this group; expected one for \
          each, or one for all\
          """
              .formatted(config.name(), along.size(), axes.count()));
    }
    return along.get(axis);
  }

  /**
   * How often a rank holds its part of an all-to-all over several dimensions at most: what it has
   * read or what has come along the one before, the messages made of it, and what comes.
   */
  private static final int HELD_OF_EACH = 4;

  private static final class Serial implements Schedule {
    private final Group group;
    private final IpcqSpec queues;
    private final AlgorithmConfig config;
    private final DimensionSteps how;
    private final Axes axes;
    private final List<Step> steps;
    private final Map<Long, LinkCosts> costs = new ConcurrentHashMap<>();

    Serial(Group group, IpcqSpec queues, AlgorithmConfig config, Axes axes, List<Step> steps) {
      this.group = group;
      this.queues = queues;
      this.config = config;
      this.how = config.dimensionSteps();
      this.axes = axes;
      this.steps = steps;
    }

    @Override
    public List<QueuePlan.Connection> connections() {
      Wiring wiring = new Wiring(group);
      for (int a = 0; a < axes.count(); a++) {
        for (int[] line : axes.lines(a)) {
          for (int lane = 0; lane < lanes(); lane++) {
            DimensionQueues.join(wiring, steps.get(a), a, line, lane);
          }
        }
      }
      return wiring.connections();
    }

    /** Sets of queues: one for each chunk that may be under way along a dimension. */
    private int lanes() {
      return Math.max(1, Math.min(how.activeChunks(), how.splits()));
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      check(call.op());
      int chunks = blocks(call);
      // a tree's ranks have no plan in common, so its chunks go one after the other
      boolean serial = how.activeChunks() == 0 || steps.contains(Step.DOUBLE_BINARY_TREE);
      return (tl, rank, vector, reduction) -> {
        List<DimensionChunk> own = new ArrayList<>();
        for (int c = 0; c < chunks; c++) {
          DimensionParts parts = new DimensionParts(axes, steps, call, tl, rank, vector, c, chunks);
          own.add(new DimensionChunk(parts, steps, how, reduction, this::messagePs));
        }
        new DimensionWalk(own, axes.count(), serial ? 0 : lanes()).run();
      };
    }

    /** Refuses steps that an operation cannot take. */
    private void check(CollectiveOp op) {
      for (int a = 0; a < steps.size(); a++) {
        boolean turns = op == CollectiveOp.ALL_REDUCE && (how.whole() || a == steps.size() - 1);
        boolean tree = steps.get(a) == Step.DOUBLE_BINARY_TREE && !turns;
        boolean halves = steps.get(a) == Step.HALVING_DOUBLING && op == CollectiveOp.ALL_TO_ALL;
        if (tree || halves) {
          throw new CollectiveException(
              """
              algorithms.%s.along: %s does not go by %s along dimension %s; expected ring or \
              direct there\
              """
                  .formatted(config.name(), op.word(), word(steps.get(a)), a));
        }
      }
    }

    /** What a message takes along the first line of an axis, as if it met nobody. */
    private long messagePs(int a, int distance, long bytes) {
      LinkCosts hop =
          costs.computeIfAbsent(
              a * (long) Integer.MAX_VALUE + distance,
              key -> {
                int[] line = axes.line(0, a);
                return between(line[0], line[distance % line.length]);
              });
      return hop.messagePs(bytes);
    }

    /** Along each dimension every rank does what rank 0 does, with segments turned. */
    @Override
    public Turn turn(CollectiveCall call) {
      return DimensionTurn.ofWhat(config.name(), axes, steps, call, blocks(call), how.whole());
    }

    @Override
    public Turn resultTurn(CollectiveCall call) {
      return DimensionTurn.ofResults(config.name(), axes, steps, call, blocks(call), how.whole());
    }

    /** The lines through the ranks of package 0: all others are joined alike. */
    @Override
    public QueuePlan representatives(Fold fold, IpcqSpec spec, CollectiveCall call) {
      turn(call); // steps that would join ranks in other ways are refused
      Wiring wiring = new Wiring(group);
      for (int a = 0; a < axes.count(); a++) {
        for (int rank = 0; rank < group.size(); rank++) {
          if (group.lead(rank).sip() == 0 && axes.place(rank, a) == 0) {
            for (int lane = 0; lane < lanes(); lane++) {
              joinFirst(wiring, a, axes.line(rank, a), lane);
            }
          }
        }
      }
      return new QueuePlan(spec, wiring.connections());
    }

    private void joinFirst(Wiring wiring, int a, int[] line, int lane) {
      if (axes.axis(a).level() == Axes.Level.SIP) {
        DimensionQueues.joinFirst(wiring, steps.get(a), a, line, lane);
      } else {
        DimensionQueues.join(wiring, steps.get(a), a, line, lane);
      }
    }

    /**
     * How many parts of the vector go one after the other: as wanted, and so that slots hold them.
     */
    private int blocks(CollectiveCall call) {
      long elements = elements(call);
      long most = mostPerMessage(call.dtype());
      long longest = 1;
      for (int a = 0; a < axes.count(); a++) {
        boolean first = a == 0 || steps.get(a) == Step.DOUBLE_BINARY_TREE;
        if (first || how.whole() || isWhole(call.op())) {
          longest = Math.max(longest, Math.ceilDiv(elements, segmentsAtFirst(a)));
        }
      }
      long fitting = Math.max(Math.ceilDiv(longest, most), heldTogether(call, longest));
      return Math.toIntExact(
          Math.min(Math.max(1, elements), equal(call, elements, fitting * how.splits())));
    }

    /** Some more blocks if all segments are of one length then. */
    private long equal(CollectiveCall call, long elements, long blocks) {
      boolean cuts = call.op() == CollectiveOp.ALL_REDUCE && elements % axes.ranks() == 0;
      for (long more = blocks; cuts && more <= 2 * blocks; more++) {
        if (elements % (axes.ranks() * more) == 0) {
          return more;
        }
      }
      return blocks;
    }

    /**
     * So many blocks that a rank has room for all that it holds at once in an all-to-all: round a
     * ring what it has read for all others before the first of it has gone, from each to each what
     * has come, too; over several dimensions that of one beside what is made of it for the next.
     *
     * @param longest elements of the longest message, were it one block
     */
    private long heldTogether(CollectiveCall call, long longest) {
      if (call.op() != CollectiveOp.ALL_TO_ALL) {
        return 1;
      }
      int times = axes.count() > 1 ? HELD_OF_EACH : steps.getFirst() == Step.RING ? 1 : 2;
      long ends = 0;
      for (int a = 0; a < axes.count(); a++) {
        int others = axes.axis(a).size() - 1;
        ends += steps.get(a) == Step.RING ? Math.min(2, others) : others;
      }
      boolean inTcm = queues.bufferKind() == BufferKind.TCM;
      long slots = inTcm ? ends * lanes() * queues.slots() * queues.slotBytes() : 0;
      long room = group.machine().pe().tcm().sizeBytes() - slots;
      long held = times * elements(call) + longest;
      return room <= 0 ? 1 : Math.ceilDiv(held * call.dtype().sizeBytes(), room);
    }

    /** Whether messages of the last dimension may be as long as those of the first. */
    private static boolean isWhole(CollectiveOp op) {
      return op == CollectiveOp.ALL_GATHER || op == CollectiveOp.ALL_TO_ALL;
    }

    /** What a rank has at the beginning, or at the end. */
    private static long elements(CollectiveCall call) {
      return call.op() == CollectiveOp.ALL_TO_ALL ? call.splits().sent(0) : call.elements();
    }

    private int segmentsAtFirst(int a) {
      return switch (steps.get(a)) {
        case HALVING_DOUBLING -> 2;
        case DOUBLE_BINARY_TREE -> 1;
        case RING, DIRECT -> axes.axis(a).size();
      };
    }

    private long mostPerMessage(DType dtype) {
      long slot = Math.max(1, queues.slotBytes() / dtype.sizeBytes());
      return Math.min(slot * queues.slots(), config.elementsPerBlock().orElse(Integer.MAX_VALUE));
    }

    // ---- forecast ----

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
      if (call.op() == CollectiveOp.ALL_TO_ALL || steps.contains(Step.DOUBLE_BINARY_TREE)) {
        return OptionalLong.empty();
      }
      int blocks = blocks(call);
      double bytes = (double) call.bytes() / blocks;
      long ps = 0;
      int count = axes.count();
      boolean allReduce = call.op() == CollectiveOp.ALL_REDUCE;
      for (int a = 0; a < count; a++) {
        boolean turning = how.whole() || a == count - 1;
        if (call.op() != CollectiveOp.ALL_GATHER) {
          ps += how.endpointDelayPs() + halfPs(a, bytes, true);
        }
        if (call.op() != CollectiveOp.REDUCE_SCATTER) {
          ps += (allReduce && turning ? 0 : how.endpointDelayPs()) + halfPs(a, bytes, false);
        }
        bytes = how.whole() && allReduce ? bytes : bytes / axes.axis(a).size();
      }
      return OptionalLong.of(blocks * ps);
    }

    /** Scattering along an axis, or gathering, of a block of so many bytes. */
    private long halfPs(int a, double block, boolean reduces) {
      LinkCosts hop = worst(a);
      int n = axes.axis(a).size();
      long part = (long) Math.ceil(block / n);
      return switch (steps.get(a)) {
        case RING -> (n - 1) * (hop.messagePs(part) + endPs(part, reduces));
        case DIRECT ->
            hop.messagePs(part) + (n - 2) * hop.injection().durationPs(part) + endPs(part, reduces);
        case HALVING_DOUBLING -> {
          long ps = 0;
          for (double half = block / 2; half >= block / n; half /= 2) {
            long size = (long) Math.ceil(half);
            ps += hop.messagePs(size) + endPs(size, reduces);
          }
          yield ps;
        }
        case DOUBLE_BINARY_TREE -> throw new IllegalStateException("bug: a tree has no forecast");
      };
    }

    private long endPs(long bytes, boolean reduces) {
      if (!reduces) {
        return how.endpointDelayPs();
      }
      long waits = how.endpointDelayPs() + how.reductionPs(bytes);
      return Math.max(waits, LinkCosts.additionPs(LinkCosts.slowestPe(group), bytes));
    }

    /** The worst hop between neighbours of the first line along an axis. */
    private LinkCosts worst(int a) {
      int[] line = axes.line(0, a);
      LinkCosts worst = between(line[0], line[1]);
      for (int i = 1; i < line.length; i++) {
        worst = worst.worse(between(line[i], line[(i + 1) % line.length]));
      }
      return worst;
    }

    private LinkCosts between(int from, int to) {
      return LinkCosts.between(group.machine(), group.lead(from), group.lead(to));
    }
  }
}
