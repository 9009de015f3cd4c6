package org.kernbench.torch;

import java.util.List;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.torch.placement.RankLevel;

/** Machines and runtimes that the tests of this room use. */
final class Runtimes {
  private Runtimes() {}

  /** One package of 2 x 2 cubes with 2 PEs each. */
  static Machine tiny() {
    return Machines.load("tiny", List.of());
  }

  /** Packages of one PE in a ring. */
  static Machine ring(int sips) {
    return Machines.load("ring", List.of("system.sips.count=" + sips));
  }

  static Torch open(Machine machine) {
    return Torch.open(machine, TorchOptions.DEFAULT);
  }

  /** A ring of as many ranks as packages, with the chain as collective algorithm. */
  static Torch openRing(int ranks, Mode mode) {
    Machine machine = ring(ranks);
    ChainBackend backend = new ChainBackend(machine, RankLevel.SIP, ranks);
    return Torch.open(machine, TorchOptions.DEFAULT.withMode(mode).withCollectives(backend));
  }
}
