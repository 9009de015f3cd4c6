package org.kernbench.nn;

import java.util.List;
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

/** Runs a program on some ranks, one package of one PE each. */
public final class Ranks {
  private Ranks() {}

  /** Runs a body on every rank; returns what the device did for them together. */
  public static List<CollectiveRun> run(int ranks, Mode mode, Consumer<Worker> body) {
    return run(ranks, mode, body, torch -> List.copyOf(torch.distributed().history()));
  }

  /** Runs a body on every rank in mode {@code time}; returns what they communicated. */
  public static Communication communication(int ranks, Consumer<Worker> body) {
    return run(ranks, Mode.TIME, body, Communication::of);
  }

  private static <T> T run(int ranks, Mode mode, Consumer<Worker> body, Function<Torch, T> result) {
    Machine machine = Machines.load("ring", List.of("system.sips.count=" + Math.max(2, ranks)));
    CollectiveLibrary library =
        CollectiveLibrary.open(
            machine,
            CclConfig.load(
                Optional.empty(),
                List.of(
                    "defaults.algorithm=ring",
                    "algorithms.ring.rank_level=sip",
                    "algorithms.ring.world_size=" + ranks)));
    try (Torch torch =
        Torch.open(machine, TorchOptions.DEFAULT.withMode(mode).withCollectives(library))) {
      torch.distributed().initProcessGroup("ahbm");
      torch.multiprocessing().spawn(body, ranks);
      return result.apply(torch);
    }
  }
}
