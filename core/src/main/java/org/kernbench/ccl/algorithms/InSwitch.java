package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.CallPacing;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.ProtocolTime;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.placement.RankLevel;

/**
 * Collectives in a switch that adds up and copies (NVLS, SHARP). In an all-reduce each rank sends
 * its vector up its port once, in pieces; the switch combines piece by piece in the order of the
 * ranks and sends each sum down to all. So every port carries the vector once each way, where any
 * other algorithm takes {@code 2 (n-1)/n} of it.
 *
 * <p>A reduce-scatter sends each sum to the rank whose part it is in, a reduce to its root; in an
 * all-gather and a broadcast the switch combines nothing, and sends what one rank gives to all
 * others. Sums have the same bits whatever the operation.
 *
 * <p>Over several dimensions an all-reduce goes level by level: {@link InSwitchLevels}.
 *
 * <p>A rank sends as many pieces ahead of what it takes as it has slots. Sent by all ranks
 * together: {@code n} vectors where something is combined, one otherwise. Time: O23 and O26 of
 * {@code docs/spec/collectives.md}.
 */
public final class InSwitch implements CollectiveAlgorithm {
  public static final String NAME = "in_switch";

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String description() {
    return "added up, or copied, in the switch that all ranks hang on, if it reduces";
  }

  @Override
  public Set<CollectiveOp> operations() {
    return Set.of(
        CollectiveOp.ALL_REDUCE,
        CollectiveOp.REDUCE_SCATTER,
        CollectiveOp.ALL_GATHER,
        CollectiveOp.REDUCE,
        CollectiveOp.BROADCAST);
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public boolean isFor(Machine machine) {
    return machine.dimensions().stream().anyMatch(Dimension::reduces);
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    Machine machine = group.machine();
    if (machine.fabric().isBuffered() || machine.fabric().router().isPresent()) {
      throw new CollectiveException(
          """
          %s: with finite buffers or routers nothing is added up on the way; expected \
          fabric.buffer: unlimited, or another algorithm\
          """
              .formatted(NAME));
    }
    Axes axes = Axes.of(group);
    return areLevels(axes)
        ? new InSwitchLevels(axes, levels(axes, queues, config))
        : new Sums(group, queues, config, switchOf(group), "");
  }

  /** Whether the ranks fill several dimensions of which one adds up, a package each. */
  private static boolean areLevels(Axes axes) {
    IntStream all = IntStream.range(0, axes.count());
    return axes.count() > 1
        && all.allMatch(a -> axes.axis(a).level() == Axes.Level.SIP)
        && IntStream.range(0, axes.count()).anyMatch(axes::isSumming);
  }

  /**
   * In switches where they add up; round the last dimension by a ring, and one other by a cycle.
   */
  private static List<InSwitchLevels.Level> levels(
      Axes axes, IpcqSpec queues, AlgorithmConfig config) {
    List<InSwitchLevels.Level> levels = new ArrayList<>();
    int cycles = 0;
    for (int a = 0; a < axes.count(); a++) {
      if (axes.isSumming(a)) {
        levels.add((line, phase) -> new Sums(line, queues, config, switchOf(line), phase + "_"));
      } else if (a == axes.count() - 1) {
        levels.add((line, phase) -> new RingAllReduce().plan(line, queues, config));
      } else {
        cycles++;
        levels.add((line, phase) -> new Cycle().plan(line, queues, config));
      }
    }
    if (cycles > 1) {
      throw new CollectiveException(
          """
          %s: %s dimensions before the last have no switch that reduces; expected one at most, \
          or another algorithm\
          """
              .formatted(NAME, cycles));
    }
    return levels;
  }

  /** The switch that all ranks hang on, each by a port of its own. */
  private static int switchOf(Group group) {
    Machine machine = group.machine();
    int found = -1;
    int first = group.lead(0).sip();
    for (int rank = 1; rank < group.size(); rank++) {
      int sip = group.lead(rank).sip();
      for (int d = 0; d < machine.dimensions().size(); d++) {
        if (machine.place(sip, d) != machine.place(first, d)) {
          found = found < 0 || found == d ? d : Integer.MAX_VALUE;
        }
      }
    }
    boolean reduces =
        found >= 0
            && found < machine.dimensions().size()
            && machine.dimensions().get(found).reduces();
    if (!reduces) {
      throw new CollectiveException(
          """
          %s: not all ranks hang on one switch that reduces; expected packages along one \
          dimension of kind: switch with reduces: true, or another algorithm\
          """
              .formatted(NAME));
    }
    long packages = group.leads().stream().mapToInt(Pe::sip).distinct().count();
    if (packages < group.size()) {
      throw new CollectiveException(
          """
          %s: %s ranks are in %s packages and share their ports; expected one rank in each \
          (rank_level: sip), or another algorithm\
          """
              .formatted(NAME, group.size(), packages));
    }
    return machine.switchOf(first, found);
  }

  /** Bound to the ranks on a switch. */
  private static final class Sums implements Schedule {
    private final Group group;
    private final IpcqSpec queues;
    private final AlgorithmConfig config;
    private final InSwitchForecast forecast;
    private final InSwitchQueues stations;

    Sums(Group group, IpcqSpec queues, AlgorithmConfig config, int node, String phase) {
      this.group = group;
      this.queues = queues;
      this.config = config;
      this.forecast = new InSwitchForecast(group, queues, node);
      this.stations = new InSwitchQueues(group, node, phase);
    }

    @Override
    public List<QueuePlan.Connection> connections() {
      return stations.connections(
          CollectiveOp.ALL_REDUCE, OptionalInt.empty(), BinaryOp.ADD, DType.F32);
    }

    /** The switch has to be told how it combines, and for whom. */
    @Override
    public List<QueuePlan.Connection> connections(CollectiveCall call) {
      OptionalInt root = call.op().hasRoot() ? OptionalInt.of(call.root()) : OptionalInt.empty();
      return stations.connections(call.op(), root, call.reduce().combine(), call.dtype());
    }

    /** By station, what goes through it, in pieces of one size. */
    private List<Pieces> pieces(CollectiveCall call) {
      boolean inParts =
          call.op() == CollectiveOp.REDUCE_SCATTER || call.op() == CollectiveOp.ALL_GATHER;
      List<Part> parts = inParts ? call.parts() : List.of(new Part(0, call.elements()));
      int longest = Math.toIntExact(parts.stream().mapToLong(Part::count).max().orElse(0));
      int piece = piece(call, parts.size(), longest);
      return parts.stream().map(part -> Pieces.of(part, piece)).toList();
    }

    private int piece(CollectiveCall call, int parts, int elements) {
      int size = call.dtype().sizeBytes();
      int most = Math.min(elements, Pieces.fitting(queues, config, call.dtype()));
      if (config.chunkBytes().isPresent()) {
        long chunk = config.chunkBytes().getAsLong() / size;
        return (int) Math.clamp(chunk, 1, Math.max(1, most));
      }
      return forecast.bestPiece(call.op(), parts, elements, Math.max(1, most), size);
    }

    /** Of the machine's collective library, if it has one: one step, for nothing is passed on. */
    private Optional<CallPacing> pacing(CollectiveCall call) {
      Machine machine = group.machine();
      if (machine.software().collective().isEmpty() && config.protocol().isEmpty()) {
        return Optional.empty();
      }
      ProtocolTime.Wire wire =
          new ProtocolTime.Wire(call.bytes(), group.lead(0), group.lead(1), 1, false);
      return CallPacing.of(machine, config, new CallPacing.Question(call.bytes(), 1, wire));
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      List<Pieces> stationPieces = pieces(call);
      Optional<CallPacing> pacing = pacing(call);
      return (tl, rank, vector, reduction) -> {
        pacing.ifPresent(by -> by.begin(tl));
        new InSwitchRank(
                tl, rank, call, vector, reduction, stations, stationPieces, queues.slots(), pacing)
            .run();
      };
    }

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
      long ps = forecast.ps(call.op(), pieces(call), call.dtype().sizeBytes());
      double paced = pacing(call).map(CallPacing::expectedPs).orElse(0.0);
      return OptionalLong.of((long) Math.max(ps, paced));
    }

    /**
     * Of an all-reduce no two messages are on one link, for each rank has a port of its own, and
     * none waits for a credit that comes over the network.
     */
    @Override
    public boolean isForecastExact(CollectiveCall call) {
      return call.op() == CollectiveOp.ALL_REDUCE && pacing(call).isEmpty();
    }

    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      return OptionalLong.of(call.op().reduces() ? group.size() * call.bytes() : call.bytes());
    }
  }
}
