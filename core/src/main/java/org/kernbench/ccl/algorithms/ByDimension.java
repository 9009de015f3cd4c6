package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Set;
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
import org.kernbench.device.Fold;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.CannotFoldException;
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
    return Set.of(CollectiveOp.ALL_REDUCE, CollectiveOp.REDUCE_SCATTER, CollectiveOp.ALL_GATHER);
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
      if (steps.get(a) == Step.HALVING_DOUBLING && Integer.bitCount(size) != 1) {
        throw new CollectiveException(
            """
            algorithms.%s.along: halving_doubling along dimension %s of %s places; expected a \
            power of two; use ring or direct there\
            """
                .formatted(config.name(), a, size));
      }
    }
    return new Serial(group, queues, config, axes, steps);
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

  private static final class Serial implements Schedule {
    private final Group group;
    private final IpcqSpec queues;
    private final AlgorithmConfig config;
    private final DimensionSteps how;
    private final Axes axes;
    private final List<Step> steps;

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
          join(wiring, a, line);
        }
      }
      return wiring.connections();
    }

    private void join(Wiring wiring, int a, int[] line) {
      int n = line.length;
      switch (steps.get(a)) {
        case RING -> {
          for (int i = 0; i < n; i++) {
            wiring.join(
                line[i], DimensionWalk.next(a), line[(i + 1) % n], DimensionWalk.previous(a));
          }
        }
        case DIRECT -> {
          for (int i = 0; i < n; i++) {
            for (int j = i + 1; j < n; j++) {
              wiring.join(
                  line[i],
                  DimensionWalk.peer(a, j - i, n),
                  line[j],
                  DimensionWalk.peer(a, i - j, n));
            }
          }
        }
        case HALVING_DOUBLING -> {
          for (int i = 0; i < n; i++) {
            for (int bit = 1; bit < n; bit *= 2) {
              if ((i & bit) == 0) {
                wiring.join(
                    line[i],
                    DimensionWalk.peer(a, bit, n),
                    line[i | bit],
                    DimensionWalk.peer(a, -bit, n));
              }
            }
          }
        }
      }
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      int blocks = blocks(call);
      return (tl, rank, vector, reduction) ->
          new DimensionWalk(axes, steps, how, call, blocks, tl, rank, vector, reduction).run();
    }

    /** Round each dimension every rank does what rank 0 does, with segments turned. */
    @Override
    public Fold.Turn turn(CollectiveCall call) {
      if (steps.stream().anyMatch(step -> step != Step.RING) || how.whole()) {
        throw new CannotFoldException(
            "by_dimension is folded where it goes round each dimension with scattered vectors; use"
                + " along: ring and vectors: scattered, or --fold off");
      }
      int blocks = blocks(call);
      if (call.elements() % ((long) group.size() * blocks) != 0) {
        throw new CannotFoldException(
            String.format(
                Locale.ROOT,
                "%s (%s) cuts %,d elements in %,d unequal segments; use a multiple of %,d",
                call.op().word(),
                config.name(),
                call.elements(),
                (long) group.size() * blocks,
                (long) group.size() * blocks));
      }
      List<Integer> sizes = new ArrayList<>();
      for (int a = 0; a < axes.count(); a++) {
        sizes.add(axes.axis(a).size());
      }
      return Fold.Turn.along(sizes, call.bytes() / blocks, blocks);
    }

    /**
     * How many parts of the vector go one after the other: as wanted, and so that slots hold them.
     */
    private int blocks(CollectiveCall call) {
      long most = mostPerMessage(call.dtype());
      long longest = 1;
      for (int a = 0; a < axes.count(); a++) {
        if (a == 0 || how.whole() || call.op() == CollectiveOp.ALL_GATHER) {
          longest = Math.max(longest, Math.ceilDiv(call.elements(), segmentsAtFirst(a)));
        }
      }
      long fitting = Math.ceilDiv(longest, most);
      return Math.toIntExact(Math.min(Math.max(1, call.elements()), fitting * how.splits()));
    }

    private int segmentsAtFirst(int a) {
      return steps.get(a) == Step.HALVING_DOUBLING ? 2 : axes.axis(a).size();
    }

    private long mostPerMessage(DType dtype) {
      long slot = Math.max(1, queues.slotBytes() / dtype.sizeBytes());
      return Math.min(slot * queues.slots(), config.elementsPerBlock().orElse(Integer.MAX_VALUE));
    }

    // ---- forecast ----

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
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
