package org.kernbench.torch.collective;

import java.util.List;
import java.util.Optional;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tl.Shard;
import org.kernbench.torch.placement.RankLevel;

/**
 * Collectives that are told instead of performed, for a host program of which only matters what it
 * asks for: the algorithm of a call is its words, and its kernel does nothing.
 *
 * @param machine that ranks are on
 * @param backend which these stand for
 */
public record ToldCalls(Machine machine, CollectiveBackend backend) implements CollectiveBackend {
  @Override
  public String name() {
    return backend.name();
  }

  @Override
  public RankLevel rankLevel() {
    return backend.rankLevel();
  }

  @Override
  public int worldSize() {
    return backend.worldSize();
  }

  @Override
  public Communicator connect(List<Pe> leadPes) {
    return new Communicator() {
      @Override
      public CollectivePlan plan(CollectiveCall call) {
        return new CollectivePlan(told(call), new QueuePlan(machine.ipcq(), List.of()), tl -> {});
      }

      @Override
      public String algorithm() {
        return "told";
      }
    };
  }

  /** What may differ between ranks that do alike only if it differs in time. */
  private static String told(CollectiveCall call) {
    return "%s, %s of %s %s over %s, root %s, from %s to %s"
        .formatted(
            call.op().word(),
            call.reduce(),
            call.elements(),
            call.dtype().code(),
            call.ranks(),
            call.root(),
            place(call.inputs().getFirst()),
            place(call.outputs().getFirst()));
  }

  private static String place(Optional<Shard> shard) {
    return shard.map(s -> s.shape() + " at " + s.address()).orElse("nothing");
  }
}
