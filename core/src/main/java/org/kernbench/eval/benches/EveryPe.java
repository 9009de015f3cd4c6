package org.kernbench.eval.benches;

import java.util.List;
import org.kernbench.config.UsageException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.placement.RankLevel;

/** Makes every PE a device, so that tensors can be put on any; opens no process group. */
record EveryPe(Machine machine) implements CollectiveBackend {
  @Override
  public String name() {
    return "none";
  }

  @Override
  public RankLevel rankLevel() {
    return RankLevel.PE;
  }

  @Override
  public int worldSize() {
    return machine.peCount();
  }

  @Override
  public Communicator connect(List<Pe> leadPes) {
    throw new UsageException("this bench opens no process group");
  }
}
