/*
 * kernbench as a library: how long an all-reduce over six packages takes, for three rates of their
 * links. Beside it a pom.xml and a build.gradle.kts that have kernbench as their only dependency.
 *
 * Run:      mvn -q compile exec:exec, or gradle run, in this folder; here: scripts/run-java examples/library/HowLong.java
 * Expected: (checked by ExamplesTest)
 *   100 GB/s: 19832.277 ns
 *   200 GB/s: 16044.728 ns
 *   400 GB/s: 15960.343 ns
 */
package library;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

public final class HowLong {
  public static void main(String[] args) {
    for (int rate : new int[] {100, 200, 400}) {
      Machine machine =
          Machines.load(
              "ring",
              List.of(
                  "system.sips.count=6",
                  "system.links.sip_to_sip.bandwidth=" + rate + " GB/s"));
      System.out.printf(Locale.ROOT, "%d GB/s: %.3f ns%n", rate, allReduceNs(machine));
    }
  }

  private static double allReduceNs(Machine machine) {
    CclConfig ccl = CclConfig.load(Optional.empty(), List.of("defaults.algorithm=ring"));
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(Mode.TIME)
            .withCollectives(CollectiveLibrary.open(machine, ccl));
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup();
      torch
          .multiprocessing()
          .spawn(
              worker -> {
                Torch rank = worker.torch();
                rank.distributed().allReduce(rank.zeros(Shape.of(1 << 19), DType.F16, "gradient"));
              },
              torch.distributed().getWorldSize());
      var run = torch.distributed().history().getFirst();
      return (run.endPs() - run.startPs()) / 1e3;
    }
  }
}
