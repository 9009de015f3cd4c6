package org.kernbench.ccl.algorithms;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CallPacing;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.placement.RankLevel;

/**
 * All-reduce in a switch that adds up (NVLS, SHARP): each rank sends its vector up its port once,
 * in pieces; the switch combines piece by piece in the order of the ranks and sends each sum down
 * to all. So every port carries the vector once each way, where any other algorithm takes {@code 2
 * (n-1)/n} of it.
 *
 * <p>A rank sends as many pieces ahead of the sums that it takes as it has slots. Sent by all ranks
 * together: {@code n} vectors; as many come down. Time ({@code docs/spec/collectives.md} O23).
 */
public final class InSwitch implements CollectiveAlgorithm {
  public static final String NAME = "in_switch";

  private static final String UP = "up";
  private static final String DOWN = "down";

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String description() {
    return "added up in the switch that all ranks hang on, if it reduces; up and down once";
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
          NAME
              + ": with finite buffers or routers nothing is added up on the way; expected"
              + " fabric.buffer: unlimited, or another algorithm");
    }
    return new Sums(group, queues, config, switchOf(group));
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
          NAME
              + ": not all ranks hang on one switch that reduces; expected packages along one"
              + " dimension of kind: switch with reduces: true, or another algorithm");
    }
    long packages = group.leads().stream().mapToInt(Pe::sip).distinct().count();
    if (packages < group.size()) {
      throw new CollectiveException(
          NAME
              + ": %s ranks are in %s packages and share their ports; expected one rank in each"
                  .formatted(group.size(), packages)
              + " (rank_level: sip), or another algorithm");
    }
    return machine.switchOf(first, found);
  }

  /** Bound to the ranks on a switch. */
  private static final class Sums implements Schedule {
    private final Group group;
    private final IpcqSpec queues;
    private final AlgorithmConfig config;
    private final int node;
    private final InSwitchForecast forecast;
    private final Map<List<Object>, List<QueuePlan.Connection>> wired = new HashMap<>();

    Sums(Group group, IpcqSpec queues, AlgorithmConfig config, int node) {
      this.group = group;
      this.queues = queues;
      this.config = config;
      this.node = node;
      this.forecast = new InSwitchForecast(group, queues, node);
    }

    @Override
    public List<QueuePlan.Connection> connections() {
      return connections(BinaryOp.ADD, DType.F32);
    }

    /** The switch has to be told how it combines. */
    @Override
    public List<QueuePlan.Connection> connections(CollectiveCall call) {
      return connections(call.reduce().combine(), call.dtype());
    }

    private List<QueuePlan.Connection> connections(BinaryOp op, DType type) {
      return wired.computeIfAbsent(
          List.of(op, type),
          key -> {
            QueuePlan.SwitchSum sums = new QueuePlan.SwitchSum(node, group.leads(), op, type);
            Wiring wiring = new Wiring(group);
            for (int rank = 0; rank < group.size(); rank++) {
              wiring.joinSums(rank, UP, DOWN, sums);
            }
            return wiring.connections();
          });
    }

    private Pieces pieces(CollectiveCall call) {
      int elements = Math.toIntExact(call.elements());
      int size = call.dtype().sizeBytes();
      int most = Math.min(elements, Pieces.fitting(queues, config, call.dtype()));
      if (config.chunkBytes().isPresent()) {
        long chunk = config.chunkBytes().getAsLong() / size;
        return new Pieces(0, elements, (int) Math.clamp(chunk, 1, most));
      }
      return new Pieces(0, elements, forecast.bestPiece(elements, most, size));
    }

    /** Of the machine's collective library, if it has one: one step, for nothing is passed on. */
    private Optional<CallPacing> pacing(CollectiveCall call) {
      Machine machine = group.machine();
      if (machine.software().collective().isEmpty() && config.protocol().isEmpty()) {
        return Optional.empty();
      }
      double port = machine.route(machine.peNode(group.lead(0)), node).narrowest().bytesPerSecond();
      return CallPacing.of(
          machine, config, new CallPacing.Question(call.bytes(), call.bytes(), 1, port, false));
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      Pieces pieces = pieces(call);
      Optional<CallPacing> pacing = pacing(call);
      int ahead = queues.slots();
      return (tl, rank, vector, reduction) -> {
        pacing.ifPresent(by -> by.begin(tl));
        for (int k = 0; k < pieces.pieces() + ahead; k++) {
          if (k >= ahead && pieces.count(k - ahead) > 0) {
            take(tl, vector, reduction, call.dtype(), pieces, k - ahead);
          }
          if (pieces.count(k) > 0) {
            Value given = vector.read(tl, pieces.start(k), pieces.count(k));
            if (pacing.isPresent()) {
              long bytes = (long) pieces.count(k) * call.dtype().sizeBytes();
              pacing.get().beforeSend(tl, bytes, k == 0);
            }
            tl.send(UP, given);
            vector.giveBack(tl, given);
          }
        }
      };
    }

    private static void take(
        Tl tl, Payload vector, Reduction reduction, DType dtype, Pieces pieces, int k) {
      Value sum = tl.recv(DOWN, Shape.of(pieces.count(k)), dtype);
      Value result = reduction.finish(tl, sum);
      vector.write(tl, pieces.start(k), pieces.count(k), result);
      tl.release(result);
    }

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
      long ps = forecast.ps(pieces(call), call.dtype().sizeBytes());
      double paced = pacing(call).map(CallPacing::expectedPs).orElse(0.0);
      return OptionalLong.of((long) Math.max(ps, paced));
    }

    /** No two messages are on one link: each rank has a port of its own. */
    @Override
    public boolean isForecastExact(CollectiveCall call) {
      return pacing(call).isEmpty();
    }

    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      return OptionalLong.of(group.size() * call.bytes());
    }
  }
}
