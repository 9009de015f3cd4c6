package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectivePlan;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** Runs kernels and collectives on a bare machine, without a host program. */
public final class Bed implements AutoCloseable {
  private static final QueuePlan NO_QUEUES =
      new QueuePlan(Machines.load("tiny", List.of()).ipcq(), List.of());

  public final Simulator simulator;
  private final Machine machine;
  private long next = 1 << 12;

  private Bed(Machine machine, Mode mode) {
    this.machine = machine;
    this.simulator = Simulator.open(machine, mode, SimulatorOptions.DEFAULT);
  }

  public static Bed open(Machine machine, Mode mode) {
    return new Bed(machine, mode);
  }

  /** The lead PEs of the first devices of a level. */
  public static List<Pe> leads(Machine machine, RankLevel level, int count) {
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      leads.add(
          switch (level) {
            case SIP -> new Pe(i, 0, 0);
            case CUBE -> new Pe(i / machine.cubesPerSip(), i % machine.cubesPerSip(), 0);
            case PE -> machine.peAt(i);
          });
    }
    return leads;
  }

  /** A vector on each PE. */
  public List<Shard> vectors(List<Pe> on, DType dtype, int elements) {
    List<Shard> shards = new ArrayList<>();
    for (Pe pe : on) {
      shards.add(new Shard("x", machine.addresses().hbm(pe, next), Shape.of(elements), dtype));
    }
    next += Math.ceilDiv((long) elements * dtype.sizeBytes(), 4096) * 4096 + 4096;
    return shards;
  }

  /** A vector on one PE. */
  public Shard vector(Pe on, DType dtype, long elements) {
    return vectors(List.of(on), dtype, Math.toIntExact(elements)).getFirst();
  }

  public void write(Shard shard, byte[] data) {
    simulator.write(shard.address(), data, 0, data.length);
  }

  public byte[] read(Shard shard) {
    byte[] data = new byte[Math.toIntExact(shard.shape().elements() * shard.dtype().sizeBytes())];
    simulator.read(shard.address(), data, 0, data.length);
    return data;
  }

  public Launch run(QueuePlan queues, List<Pe> on, Kernel kernel) {
    simulator.install(queues);
    LaunchGrid grid = new LaunchGrid(0, machine.sips());
    Launch launch = simulator.launch("test", on, port -> () -> kernel.run(new Tl(port, grid)));
    simulator.drive(launch);
    return launch;
  }

  public Launch allReduce(
      Communicator communicator, List<Pe> leads, ReduceKind reduce, List<Shard> shards) {
    CollectiveCall call = allReduce(reduce, shards);
    if (call.ranks() == 1 || call.elements() == 0) { // torch asks no communicator for these
      return run(NO_QUEUES, leads, tl -> {});
    }
    CollectivePlan plan = communicator.plan(call);
    return run(plan.queues(), leads, plan.kernel());
  }

  /** The call of an all-reduce, in place. */
  public static CollectiveCall allReduce(ReduceKind reduce, List<Shard> shards) {
    return CollectiveCall.inPlace(CollectiveOp.ALL_REDUCE, reduce, -1, shards);
  }

  /** Bytes of all operations of a kind, from the op log. */
  public long bytes(OpKind kind) {
    OpLog log = simulator.opLog();
    long bytes = 0;
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id) && log.kind(id) == kind) {
        bytes += log.bytes(id);
      }
    }
    return bytes;
  }

  @Override
  public void close() {
    simulator.close();
  }
}
