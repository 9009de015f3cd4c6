package org.kernbench.torch;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;

/** Runtimes with the real collectives. */
final class Rooms {
  private Rooms() {}

  /** Packages of one PE in a ring, a rank each. */
  static Torch ring(int ranks, Mode mode, String... settings) {
    return open(Machines.load("ring", List.of("system.sips.count=" + ranks)), mode, settings);
  }

  /** The same, with so few commands under way that TCM never holds one up. */
  static Torch ringOfShortWindows(int ranks, Mode mode) {
    return open(
        Machines.load("ring", List.of("system.sips.count=" + ranks, "pe.cpu.command_window=8")),
        mode);
  }

  /** A package of cubes with two PEs each, a rank for each cube. */
  static Torch cubes(int width, int height, Mode mode, String... settings) {
    List<String> all = new ArrayList<>(List.of(settings));
    all.add("algorithms.ring.rank_level=cube");
    List<String> mesh = List.of("sip.cube_mesh.w=" + width, "sip.cube_mesh.h=" + height);
    return open(Machines.load("tiny", mesh), mode, all.toArray(new String[0]));
  }

  static Torch open(Machine machine, Mode mode, String... settings) {
    List<String> all = new ArrayList<>(List.of("defaults.algorithm=ring"));
    all.addAll(List.of(settings));
    CollectiveLibrary library =
        CollectiveLibrary.open(machine, CclConfig.load(Optional.empty(), all));
    return Torch.open(machine, TorchOptions.DEFAULT.withMode(mode).withCollectives(library));
  }

  /** Runs ranks with a process group. */
  static void spawn(Torch torch, Consumer<Worker> body) {
    torch.distributed().initProcessGroup();
    torch.multiprocessing().spawn(body, torch.distributed().getWorldSize());
  }
}
