package org.kernbench.machine;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.FabricSpec;
import org.kernbench.machine.spec.HbmSpec;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.LaunchSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkOverride;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.NodesSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.machine.spec.SlowPackage;
import org.kernbench.machine.spec.SoftwareSpec;
import org.kernbench.machine.spec.SramSpec;
import org.kernbench.machine.spec.WrapPairs;

/** The values of a machine's configuration, bound and checked. */
record MachineConfig(
    String name,
    String description,
    SystemConfig system,
    CubeConfig cube,
    Map<LinkKind, LinkSpec> links,
    LaunchSpec launch,
    HbmSpec hbm,
    SramSpec sram,
    PeSpec pe,
    IpcqSpec ipcq,
    FabricSpec fabric,
    SoftwareSpec software) {

  /**
   * Packages and the cubes in each.
   *
   * @param dimensions of the network, innermost first; empty where {@code topology} says it all
   * @param nodes how packages are put together to nodes with NICs, if they are
   * @param sumShareBillionths of a switch that {@code topology} names, as {@link
   *     Dimension#sumShareBillionths}
   * @param sipLink what links between packages are without them
   */
  record SystemConfig(
      int sips,
      SipTopology topology,
      int gridWidth,
      int gridHeight,
      WrapPairs wrapPairs,
      int cubesWidth,
      int cubesHeight,
      List<LinkOverride> overrides,
      List<SlowPackage> slow,
      List<Dimension> dimensions,
      Optional<NodesSpec> nodes,
      long sumShareBillionths,
      LinkSpec sipLink) {}

  /** The router mesh of a cube and the PEs on it. */
  record CubeConfig(int nocWidth, int nocHeight, int corners, int pesPerCorner) {
    int pes() {
      return corners * pesPerCorner;
    }
  }
}
