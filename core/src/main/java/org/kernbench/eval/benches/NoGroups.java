package org.kernbench.eval.benches;

import java.util.List;
import org.kernbench.config.UsageException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.placement.RankLevel;

/**
 * Makes every PE, cube or package a device, so that tensors can be put on any; opens no process
 * group.
 */
record NoGroups(Machine machine, RankLevel rankLevel) implements CollectiveBackend {
  @Override
  public String name() {
    return "none";
  }

  @Override
  public int worldSize() {
    return switch (rankLevel) {
      case PE -> machine.peCount();
      case CUBE -> machine.sips() * machine.cubesPerSip();
      case SIP -> machine.sips();
    };
  }

  @Override
  public Communicator connect(List<Pe> leadPes) {
    throw new UsageException("this bench opens no process group");
  }
}
