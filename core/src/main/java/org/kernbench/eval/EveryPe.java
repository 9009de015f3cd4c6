package org.kernbench.eval;

import java.util.List;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.torch.CollectiveBackend;
import org.kernbench.torch.Communicator;
import org.kernbench.torch.RankLevel;

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
