package org.kernbench.ccl.library;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.ccl.CallPacing;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.flow.FlowSchedule;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.ProtocolTime;
import org.kernbench.device.simulator.Fold;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Turn;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * An algorithm that knows nothing of protocols, on a machine whose collective library has them:
 * each call pays the base, each message its step and its bytes at the protocol's rate. So {@code
 * auto} compares like with like.
 */
final class PacedAlgorithm implements CollectiveAlgorithm {
  private final CollectiveAlgorithm inner;

  PacedAlgorithm(CollectiveAlgorithm inner) {
    this.inner = inner;
  }

  @Override
  public String name() {
    return inner.name();
  }

  @Override
  public String description() {
    return inner.description();
  }

  @Override
  public Set<CollectiveOp> operations() {
    return inner.operations();
  }

  @Override
  public RankLevel defaultRankLevel() {
    return inner.defaultRankLevel();
  }

  @Override
  public OptionalInt defaultWorldSize() {
    return inner.defaultWorldSize();
  }

  @Override
  public boolean isFor(Machine machine) {
    return inner.isFor(machine);
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    Schedule schedule = inner.plan(group, queues, config);
    boolean plain = group.machine().software().collective().isEmpty();
    boolean paced = schedule instanceof FlowSchedule; // by itself
    return paced || (plain && config.protocol().isEmpty())
        ? schedule
        : new Paced(schedule, group, config);
  }

  private static final class Paced implements Schedule {
    private final Schedule inner;
    private final Group group;
    private final AlgorithmConfig config;

    Paced(Schedule inner, Group group, AlgorithmConfig config) {
      this.inner = inner;
      this.group = group;
      this.config = config;
    }

    private Optional<CallPacing> pacing(CollectiveCall call) {
      ProtocolTime.Wire wire =
          new ProtocolTime.Wire(call.bytes(), group.lead(0), group.lead(1), 1, false);
      return CallPacing.of(group.machine(), config, new CallPacing.Question(call.bytes(), 1, wire));
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      RankProgram program = inner.program(call);
      Optional<CallPacing> pacing = pacing(call);
      if (pacing.isEmpty()) {
        return program;
      }
      CallPacing by = pacing.get();
      if (program instanceof SteppedProgram stepped) {
        return (SteppedProgram)
            (tl, rank, vector, reduction) -> stepped.begin(paced(tl, by), rank, vector, reduction);
      }
      return (tl, rank, vector, reduction) -> program.run(paced(tl, by), rank, vector, reduction);
    }

    private static Tl paced(Tl tl, CallPacing by) {
      by.begin(tl);
      tl.beforeSends(bytes -> by.beforeSend(tl, bytes, true));
      return tl;
    }

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
      OptionalLong ps = inner.predictPs(call);
      long paced = Math.round(pacing(call).map(CallPacing::expectedPs).orElse(0.0));
      return ps.isPresent() ? OptionalLong.of(Math.max(ps.getAsLong(), paced)) : ps;
    }

    @Override
    public boolean isForecastExact(CollectiveCall call) {
      return pacing(call).isEmpty() && inner.isForecastExact(call);
    }

    @Override
    public OptionalLong formulaPs(CollectiveCall call) {
      return inner.formulaPs(call);
    }

    @Override
    public List<QueuePlan.Connection> connections() {
      return inner.connections();
    }

    @Override
    public List<QueuePlan.Connection> connections(CollectiveCall call) {
      return inner.connections(call);
    }

    @Override
    public Optional<String> chosen(CollectiveCall call) {
      return inner.chosen(call);
    }

    @Override
    public List<AutoChoice> choices() {
      return inner.choices();
    }

    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      return inner.wireBytes(call);
    }

    @Override
    public OptionalInt leastSlots(CollectiveCall call) {
      return inner.leastSlots(call);
    }

    @Override
    public QueuePlan representatives(Fold fold, IpcqSpec spec, CollectiveCall call) {
      return inner.representatives(fold, spec, call);
    }

    @Override
    public Turn turn(CollectiveCall call) {
      return inner.turn(call);
    }

    @Override
    public Turn resultTurn(CollectiveCall call) {
      return inner.resultTurn(call);
    }
  }
}
