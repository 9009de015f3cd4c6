package org.kernbench.nn;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.optim.Communication;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/** Runs a program on some ranks: by default one package of one PE each. */
public final class Ranks {
  /**
   * What a rank is.
   *
   * @param preset of the machine
   * @param changes of it beside the number of packages
   * @param level of a rank
   * @param perPackage ranks of a package
   */
  public record Devices(
      String preset, List<String> changes, RankLevel level, int perPackage, Spread spread) {
    private static final List<String> SMALL =
        List.of("system.sips.topology=ring_1d", "sip.cube_mesh.w=2", "sip.cube_mesh.h=1");
    private static final List<String> UNEVEN =
        List.of(
            "sip.cube_mesh.w=3",
            "sip.cube_mesh.h=2",
            "cube.noc.w=3",
            "cube.noc.h=3",
            "cube.pe_layout.corners=3",
            "cube.hbm.channels=12",
            "cube.memory_map.hbm_total_gb_per_cube=6");

    /** Packages of one PE. */
    public static final Devices ONE_PE =
        new Devices("ring", List.of(), RankLevel.SIP, 1, Spread.LEAD);

    /** PEs of packages of four. */
    public static final Devices PES = new Devices("tiny", SMALL, RankLevel.PE, 4, Spread.ALL);

    /** Cubes of two PEs. */
    public static final Devices CUBES = new Devices("tiny", SMALL, RankLevel.CUBE, 2, Spread.ALL);

    /** Packages of 2 x 1 cubes with two PEs each. */
    public static final Devices PACKAGES = new Devices("tiny", SMALL, RankLevel.SIP, 1, Spread.ALL);

    /** Packages of 3 x 2 cubes with three PEs each. */
    public static final Devices UNEVEN_PACKAGES =
        new Devices("tiny", UNEVEN, RankLevel.SIP, 1, Spread.ALL);

    private Machine machine(int ranks) {
      List<String> all = new ArrayList<>(changes);
      all.add("system.sips.count=" + Math.max(2, Math.ceilDiv(ranks, perPackage)));
      return Machines.load(preset, all);
    }
  }

  private Ranks() {}

  /** Runs a body on every rank; returns what the device did for them together. */
  public static List<CollectiveRun> run(int ranks, Mode mode, Consumer<Worker> body) {
    return run(Devices.ONE_PE, ranks, mode, body);
  }

  /** The same on other devices. */
  public static List<CollectiveRun> run(
      Devices devices, int ranks, Mode mode, Consumer<Worker> body) {
    return run(devices, ranks, mode, body, torch -> List.copyOf(torch.distributed().history()));
  }

  /** Runs a body on every rank in mode {@code time}; returns what they communicated. */
  public static Communication communication(int ranks, Consumer<Worker> body) {
    return run(Devices.ONE_PE, ranks, Mode.TIME, body, Communication::of);
  }

  private static <T> T run(
      Devices devices, int ranks, Mode mode, Consumer<Worker> body, Function<Torch, T> result) {
    Machine machine = devices.machine(ranks);
    String level = devices.level.name().toLowerCase(Locale.ROOT);
    CollectiveLibrary library =
        CollectiveLibrary.open(
            machine,
            CclConfig.load(
                Optional.empty(),
                List.of(
                    "defaults.algorithm=ring",
                    "algorithms.ring.rank_level=" + level,
                    "algorithms.ring.world_size=" + ranks)));
    TorchOptions options = TorchOptions.DEFAULT.withMode(mode).withSpread(devices.spread);
    try (Torch torch = Torch.open(machine, options.withCollectives(library))) {
      torch.distributed().initProcessGroup("ahbm");
      torch.multiprocessing().spawn(body, ranks);
      return result.apply(torch);
    }
  }
}
