package org.kernbench.ccl.algorithms;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CallPacing;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.RingOrder;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Segments;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Steps;
import org.kernbench.device.log.ProtocolTime;
import org.kernbench.device.simulator.Fold;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Turn;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.placement.RankLevel;

/**
 * Ring all-reduce: reduce-scatter, then all-gather, each in {@code p - 1} steps of one segment.
 *
 * <p>Shape: {@code x: [n]} on each of {@code p} ranks; overwritten. Sent by all ranks together:
 * {@code 2 (p - 1) n} elements. Order: segment by segment along the ring, so identical on all
 * ranks.
 *
 * <p>Time, with {@code o} of channel time per message, latency {@code L}, bandwidth {@code B} and
 * {@code gamma} of addition per byte ({@code docs/spec/collectives.md} O1): {@code 2 (p-1) (o + L +
 * S/(pB)) + (p-1) gamma S/p}. With segments in {@code c} sub-chunks the latency hides behind the
 * other sub-chunks (O2).
 *
 * @see <a href="https://doi.org/10.1016/j.jpdc.2008.09.002">Patarasuk and Yuan, 2009</a>
 */
public final class RingAllReduce implements CollectiveAlgorithm {
  private static final String NEXT = "E";
  private static final String PREVIOUS = "W";

  /** The algorithm; has no state. */
  public RingAllReduce() {}

  @Override
  public String name() {
    return "ring";
  }

  @Override
  public String description() {
    return "reduce-scatter, then all-gather, along a cycle of any number of ranks";
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return ManyRings.wanted(this, group, queues, config)
        .orElseGet(() -> one(group, queues, config));
  }

  private static Schedule one(Group group, IpcqSpec queues, AlgorithmConfig config) {
    int c = config.subChunks().orElse(0);
    if (c > queues.slots()) {
      throw new CollectiveException(
          """
          algorithms.%s.sub_chunks: got %s, but queues have %s slots; all ranks send a \
          whole segment before they receive, which needs a slot for each sub-chunk: use \
          at most %s sub_chunks, or more slots\
          """
              .formatted(config.name(), c, queues.slots(), queues.slots()));
    }
    return new Ring(group, queues, config);
  }

  private static final class Ring implements Schedule {
    private final Group group;
    private final IpcqSpec queues;
    private final AlgorithmConfig config;
    private final RingOrder order;
    private final int p;

    Ring(Group group, IpcqSpec queues, AlgorithmConfig config) {
      this.group = group;
      this.queues = queues;
      this.config = config;
      this.order = RingOrder.of(group);
      this.p = group.size();
    }

    @Override
    public List<QueuePlan.Connection> connections() {
      Wiring wiring = new Wiring(group);
      for (int i = 0; i < p; i++) {
        wiring.join(order.rankAt(i), NEXT, order.rankAt((i + 1) % p), PREVIOUS);
      }
      return wiring.connections();
    }

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
      int elements = Math.toIntExact(call.elements());
      RingPlan plan = RingPlan.choose(group, order, queues, config, elements, call.dtype());
      double paced = pacing(call).map(CallPacing::expectedPs).orElse(0.0);
      return OptionalLong.of((long) Math.max(plan.ps(), paced));
    }

    /** Of the machine's collective library, if it has one. */
    private Optional<CallPacing> pacing(CollectiveCall call) {
      if (group.machine().software().collective().isEmpty() && config.protocol().isEmpty()) {
        return Optional.empty();
      }
      ProtocolTime.Wire wire =
          new ProtocolTime.Wire(
              call.bytes(), group.lead(order.rankAt(0)), group.lead(order.rankAt(1)), 1, false);
      return CallPacing.of(
          group.machine(),
          config,
          new CallPacing.Question(2.0 * (p - 1) / p * call.bytes(), 2 * (p - 1), wire));
    }

    /** Each link carries one hop, and all hops are alike, so all ranks are in step. */
    @Override
    public boolean isForecastExact(CollectiveCall call) {
      Machine m = group.machine();
      if (m.software().collective().isPresent()) {
        return false;
      }
      Set<LinkCosts> costs = new HashSet<>();
      Set<Integer> used = new HashSet<>();
      for (int i = 0; i < p; i++) {
        Pe here = group.lead(order.rankAt(i));
        Pe next = group.lead(order.rankAt((i + 1) % p));
        costs.add(LinkCosts.between(m, here, next));
        for (int link : m.route(here, next).links()) {
          if (!used.add(link)) {
            return false;
          }
        }
      }
      return costs.size() == 1;
    }

    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      return OptionalLong.of(2L * (p - 1) * call.bytes());
    }

    /** By number the first hop is every hop. */
    @Override
    public QueuePlan representatives(Fold fold, IpcqSpec spec, CollectiveCall call) {
      if (!group.isOfPackages() || !order.isByNumber()) {
        return Schedule.super.representatives(fold, spec, call);
      }
      Wiring wiring = new Wiring(group);
      wiring.join(0, NEXT, 1, PREVIOUS);
      return new QueuePlan(spec, wiring.connections());
    }

    /** Position {@code i} begins with segment {@code i} of every block. */
    @Override
    public Turn turn(CollectiveCall call) {
      int elements = Math.toIntExact(call.elements());
      RingPlan plan = RingPlan.choose(group, order, queues, config, elements, call.dtype());
      int blocks = Segments.ofAtMost(0, elements, plan.block()).parts();
      if (elements % ((long) p * blocks) != 0) {
        throw new CannotFoldException(
            String.format(
                Locale.ROOT,
                "%s (%s) cuts %,d elements in %,d unequal segments; use a multiple of %,d",
                call.op().word(),
                config.name(),
                elements,
                p * blocks,
                p * blocks));
      }
      long block = call.bytes() / blocks;
      return new Turn(0, block, block / p, blocks);
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      int elements = Math.toIntExact(call.elements());
      DType dtype = call.dtype();
      RingPlan plan = RingPlan.choose(group, order, queues, config, elements, dtype);
      Segments blocks = Segments.ofAtMost(0, elements, plan.block());
      Optional<CallPacing> pacing = pacing(call);
      SteppedProgram program =
          (tl, rank, vector, reduction) ->
              new Passes(
                  tl, vector, reduction, dtype, blocks, plan, p, order.positionOf(rank), pacing);
      return program;
    }
  }

  /**
   * What one rank does: for each block of the vector, one pass round the ring. Segment {@code i} of
   * a block is the one that position {@code i} sends first.
   */
  private static final class Passes implements Steps {
    private final Tl tl;
    private final Payload vector;
    private final Reduction reduction;
    private final Segments blocks;
    private final RingPlan plan;
    private final int p;
    private final int me;
    private final DType dtype;
    private final Optional<CallPacing> pacing;

    private @Nullable Value ahead;
    private int block;
    private int step;
    private Segments segments;
    private Shape shape = Shape.of(0);

    Passes(
        Tl tl,
        Payload vector,
        Reduction reduction,
        DType dtype,
        Segments blocks,
        RingPlan plan,
        int p,
        int me,
        Optional<CallPacing> pacing) {
      this.pacing = pacing;
      this.tl = tl;
      this.vector = vector;
      this.reduction = reduction;
      this.dtype = dtype;
      this.blocks = blocks;
      this.plan = plan;
      this.p = p;
      this.me = me;
      this.segments = blocks.of(0, p);
    }

    @Override
    public boolean next() {
      if (step == 0) {
        if (block == 0) {
          pacing.ifPresent(by -> by.begin(tl));
        }
        sendOwn(pieces(me));
      } else if (step < p) {
        reduceScatter(pieces(Math.floorMod(me - step, p)), step == p - 1);
      } else {
        int shared = step - p + 1;
        allGather(pieces(Math.floorMod(me + 1 - shared, p)), shared == p - 1);
      }
      step++;
      if (step < 2 * p - 1) {
        return true;
      }
      step = 0;
      block++;
      if (block == blocks.parts()) {
        return false;
      }
      segments = blocks.of(block, p);
      return true;
    }

    /** Segments have two lengths at most, one after the other for long: no new shape for each. */
    private Shape vector(int count) {
      if (shape.elements() != count) {
        shape = Shape.of(count);
      }
      return shape;
    }

    /**
     * The protocol's time for a piece: before it is received, since what computes goes in order.
     * The first piece of each step of the first block has no one before it that hides the step.
     */
    private void pace(Segments s, int piece) {
      if (pacing.isPresent()) {
        long bytes = (long) s.count(piece) * dtype.sizeBytes();
        pacing.get().beforeSend(tl, bytes, block == 0 && piece == 0);
      }
    }

    /** The own contribution to a segment; that to the next is read ahead where sends are paced. */
    private Value contribution(Segments s, boolean last) {
      Value mine = ahead != null ? ahead : vector.read(tl, s.start(), s.total());
      ahead = null;
      if (pacing.isPresent() && !last) {
        Segments next = pieces(Math.floorMod(me - step - 1, p));
        ahead = next.total() == 0 ? null : vector.read(tl, next.start(), next.total());
      }
      return mine;
    }

    private Segments pieces(int segment) {
      return segments.of(segment, plan.pieces());
    }

    private void sendOwn(Segments s) {
      for (int j = 0; j < s.parts() && s.count(j) > 0; j++) {
        pace(s, j);
        Value own = vector.read(tl, s.start(j), s.count(j));
        tl.send(NEXT, own);
        vector.giveBack(tl, own);
      }
    }

    /**
     * Adds the own contribution to what comes; the last step has the result and begins to spread
     * it. The contribution is read with one command for each segment, never for several: these
     * would begin anew where the vector ends, which is at another step on each rank.
     */
    private void reduceScatter(Segments s, boolean last) {
      if (s.total() == 0) {
        return;
      }
      Value mine = contribution(s, last);
      for (int j = 0; j < s.parts() && s.count(j) > 0; j++) {
        pace(s, j);
        Value partial = tl.recv(PREVIOUS, vector(s.count(j)), dtype);
        Value sum = reduction.combine(partial, mine.range(s.start(j) - s.start(), s.count(j)));
        tl.release(partial);
        if (last) {
          sum = reduction.finish(tl, sum);
        }
        tl.send(NEXT, sum);
        if (last) {
          vector.write(tl, s.start(j), s.count(j), sum);
        }
        tl.release(sum);
      }
      vector.giveBack(tl, mine);
    }

    private void allGather(Segments s, boolean last) {
      for (int j = 0; j < s.parts() && s.count(j) > 0; j++) {
        boolean copy = plan.copy() && !last;
        if (!last) {
          pace(s, j);
        }
        Value result =
            copy
                ? tl.recvCopy(PREVIOUS, vector(s.count(j)), dtype)
                : tl.recv(PREVIOUS, vector(s.count(j)), dtype);
        if (!last) {
          tl.send(NEXT, result);
        }
        vector.write(tl, s.start(j), s.count(j), result);
        tl.release(result);
      }
    }
  }
}
