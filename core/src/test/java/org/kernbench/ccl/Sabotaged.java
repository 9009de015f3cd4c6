package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;

/** Any algorithm with a flaw put between it and the device: its kernels are as they are. */
public record Sabotaged(CollectiveAlgorithm inner, Flaw flaw) implements WrappedAlgorithm {
  public enum Flaw {
    /** Two queues lead to each other's peer. */
    WRONG_NEIGHBOUR,
    /** What does not begin at 0 is read one element too early. */
    SEGMENT_OFF_BY_ONE,
    /** Rank 1 gives zeros: its contribution is left out. */
    MISSING_REDUCTION,
    /** Promises that one slot is enough. */
    TOO_FEW_SLOTS,
    /** Promises that one slot more is needed than is. */
    TOO_MANY_SLOTS,
    /** Counts a byte too few. */
    WRONG_COUNT,
    /** Forecasts a hundredth too much, and claims to be exact. */
    NOT_EXACT,
    /** Forecasts four times as long. */
    LONG_FORECAST
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    return new Broken(inner.plan(group, queues, config), flaw);
  }

  private record Broken(Schedule inner, Flaw flaw) implements Schedule {
    @Override
    public List<QueuePlan.Connection> connections() {
      return crossed(inner.connections());
    }

    @Override
    public List<QueuePlan.Connection> connections(CollectiveCall call) {
      return crossed(inner.connections(call));
    }

    private List<QueuePlan.Connection> crossed(List<QueuePlan.Connection> right) {
      List<QueuePlan.Connection> result = new ArrayList<>(right);
      for (int i = 0; flaw == Flaw.WRONG_NEIGHBOUR && i < right.size(); i++) {
        for (int j = i + 1; j < right.size(); j++) {
          QueuePlan.Connection x = right.get(i);
          QueuePlan.Connection y = right.get(j);
          if (new HashSet<Pe>(List.of(x.a(), y.a(), x.b(), y.b())).size() == 4) {
            result.set(i, new QueuePlan.Connection(x.a(), x.aDirection(), y.b(), y.bDirection()));
            result.set(j, new QueuePlan.Connection(y.a(), y.aDirection(), x.b(), x.bDirection()));
            return result;
          }
        }
      }
      return result;
    }

    @Override
    public RankProgram program(CollectiveCall call) {
      RankProgram right = inner.program(call);
      return (tl, rank, vector, reduction) ->
          right.run(tl, rank, new Wrong(vector, flaw, rank), reduction);
    }

    @Override
    public OptionalLong wireBytes(CollectiveCall call) {
      OptionalLong bytes = inner.wireBytes(call);
      return flaw == Flaw.WRONG_COUNT && bytes.isPresent()
          ? OptionalLong.of(bytes.getAsLong() - 1)
          : bytes;
    }

    @Override
    public OptionalInt leastSlots(CollectiveCall call) {
      OptionalInt least = inner.leastSlots(call);
      return switch (flaw) {
        case TOO_FEW_SLOTS -> OptionalInt.of(1);
        case TOO_MANY_SLOTS -> OptionalInt.of(least.orElse(1) + 1);
        default -> least;
      };
    }

    @Override
    public OptionalLong predictPs(CollectiveCall call) {
      OptionalLong right = inner.predictPs(call);
      return right.isEmpty()
          ? right
          : switch (flaw) {
            case NOT_EXACT -> OptionalLong.of(right.getAsLong() + right.getAsLong() / 100);
            case LONG_FORECAST -> OptionalLong.of(4 * right.getAsLong());
            default -> OptionalLong.empty();
          };
    }

    @Override
    public boolean isForecastExact(CollectiveCall call) {
      return flaw == Flaw.NOT_EXACT;
    }
  }

  private record Wrong(Payload inner, Flaw flaw, int rank) implements Payload {
    @Override
    public Value read(Tl tl, int start, int count) {
      boolean early = flaw == Flaw.SEGMENT_OFF_BY_ONE && start > 0;
      try {
        Value value = inner.read(tl, early ? start - 1 : start, count);
        if (flaw != Flaw.MISSING_REDUCTION || rank != 1) {
          return value;
        }
        tl.release(value);
        return tl.zeros(value.shape(), value.dtype());
      } catch (IndexOutOfBoundsException e) {
        return inner.read(tl, start, count); // begins elsewhere
      }
    }

    @Override
    public void write(Tl tl, int start, int count, Value value) {
      inner.write(tl, start, count, value);
    }

    @Override
    public Value readBack(Tl tl, int start, int count) {
      return inner.readBack(tl, start, count);
    }
  }
}
