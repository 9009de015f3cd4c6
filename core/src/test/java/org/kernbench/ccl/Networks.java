package org.kernbench.ccl;

import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.torch.placement.RankLevel;

/** Small networks of packages with one PE each. */
public final class Networks {
  /** The shipped configuration. */
  public static final CclConfig CONFIG = CclConfig.load(Optional.empty(), List.of());

  private Networks() {}

  /** Packages in a network whose links are all alike. */
  public static Machine of(String topology, int packages, int gbPerS, int latencyNs) {
    return Machines.load(
        "ring",
        List.of(
            "system.sips.topology=" + topology,
            "system.sips.count=" + packages,
            "system.links.sip_to_sip.bandwidth=" + gbPerS + " GB/s",
            "system.links.sip_to_sip.latency=" + latencyNs + " ns"));
  }

  /** One of 360. */
  public static Machine drawn(Random random) {
    return of(
        one(random, List.of("ring_1d", "torus_2d", "mesh_2d_no_wrap", "fully_connected", "switch")),
        one(random, List.of(2, 3, 4, 5, 6, 8)),
        one(random, List.of(25, 50, 100, 200)),
        one(random, List.of(100, 250, 1000)));
  }

  /** An algorithm of the shipped configuration over all packages; a new one knows no other call. */
  public static CollectiveTrial trial(Machine machine, String algorithm) {
    return CollectiveTrial.of(
        machine,
        CollectiveLibrary.algorithm(CONFIG, algorithm),
        CONFIG.of(algorithm),
        RankLevel.SIP,
        Bed.leads(machine, RankLevel.SIP, machine.sips()));
  }

  /** One of several. */
  public static <T> T one(Random random, List<T> of) {
    return of.get(random.nextInt(of.size()));
  }
}
