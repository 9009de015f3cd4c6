package org.kernbench.torch;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectivePlan;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** The plainest all-reduce: partial results walk down to rank 0, the result walks back up. */
record ChainBackend(Machine machine, RankLevel rankLevel, int worldSize)
    implements CollectiveBackend {
  @Override
  public String name() {
    return "ahbm";
  }

  @Override
  public Communicator connect(List<Pe> leadPes) {
    List<QueuePlan.Connection> links = new ArrayList<>();
    for (int r = 0; r + 1 < leadPes.size(); r++) {
      links.add(new QueuePlan.Connection(leadPes.get(r), "up", leadPes.get(r + 1), "down"));
    }
    QueuePlan plan = new QueuePlan(machine.ipcq(), links);
    return new Communicator() {
      @Override
      public String algorithm() {
        return "chain";
      }

      @Override
      public Optional<QueuePlan> firstQueues() {
        return Optional.of(plan);
      }

      @Override
      public CollectivePlan plan(CollectiveCall call) {
        return new CollectivePlan("chain", plan, tl -> chain(tl, call, leadPes.indexOf(tl.pe())));
      }
    };
  }

  private static void chain(Tl tl, CollectiveCall call, int rank) {
    boolean isBarrier = call.op() == CollectiveOp.BARRIER;
    Value mine = isBarrier ? tl.zeros(Shape.of(1), DType.I8) : tl.load(call.input(rank).all());
    boolean isLast = rank == call.ranks() - 1;
    if (!isLast) {
      mine = combine(call.reduce(), mine, tl.recv("up", mine.shape(), mine.dtype()));
    }
    Value result = mine;
    if (rank > 0) {
      tl.send("down", mine);
      result = tl.recv("down", mine.shape(), mine.dtype());
    } else if (call.reduce() == ReduceKind.AVG) {
      result = mine.div(call.ranks());
    }
    if (!isLast) {
      tl.send("up", result);
    }
    if (isBarrier) {
      tl.await(result);
    } else {
      tl.store(call.output(rank).all(), result);
    }
  }

  private static Value combine(ReduceKind kind, Value a, Value b) {
    BinaryOp op = kind.combine();
    return switch (op) {
      case MUL -> a.mul(b);
      case MINIMUM -> a.minimum(b);
      case MAXIMUM -> a.maximum(b);
      default -> a.add(b);
    };
  }
}
