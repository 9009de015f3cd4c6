package org.kernbench.machine;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problem;
import org.kernbench.config.Problems;
import org.kernbench.config.Quantity;
import org.kernbench.machine.spec.FabricSpec;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkSpec;

/**
 * Finds parts of a valid machine that cannot keep up with each other, and says what that implies.
 */
final class MachineWarnings {
  private static final double WORTH_A_WARNING = 0.95;

  private final Machine machine;
  private final ConfigTree tree;
  private final Problems found = new Problems();

  private MachineWarnings(Machine machine, ConfigTree tree) {
    this.machine = machine;
    this.tree = tree;
  }

  static List<Problem> of(Machine machine, ConfigTree tree) {
    MachineWarnings warnings = new MachineWarnings(machine, tree);
    warnings.checkWayToHbm(
        LinkKind.HBM_LINK, "cube.links.hbm_to_router.bandwidth", "the link of a slice");
    warnings.checkWayToHbm(
        LinkKind.ROUTER_TO_PE, "cube.links.pe_to_router.bandwidth", "the link of a PE");
    warnings.checkWayToHbm(LinkKind.NOC, "cube.noc.bandwidth", "a router link");
    warnings.checkTcm();
    warnings.checkBuffers();
    warnings.checkQueues();
    return warnings.found.sorted();
  }

  private void checkWayToHbm(LinkKind kind, String path, String what) {
    double way = machine.spec(kind).rate().bytesPerSecond();
    double slice = machine.hbm().rate().bytesPerSecond();
    if (way < slice) {
      add(
          path,
          List.of("cube.hbm.channels", "cube.hbm.channel_bandwidth", "cube.hbm.efficiency"),
          """
          %s carries %s, less than a PE's slice of HBM gives, %s; a PE gets at most %s%s\
          """
              .formatted(
                  what,
                  bandwidth(way),
                  bandwidth(slice),
                  percent(way, slice),
                  kind == LinkKind.NOC ? " of another PE's slice" : " of its own"));
    }
  }

  private void checkTcm() {
    GemmSpec gemm = machine.pe().gemm();
    double feed =
        (double) (gemm.rows() + gemm.columns()) * MachineReader.GEMM_OPERAND_BYTES * gemm.clockHz();
    double dma = machine.spec(LinkKind.ROUTER_TO_PE).rate().bytesPerSecond();
    double port = machine.pe().tcm().rate().bytesPerSecond();
    if (port < feed + dma) {
      add(
          "pe.tcm.bandwidth",
          List.of("pe.gemm.rows", "pe.gemm.columns", "pe.gemm.clock", "cube.links.pe_to_router"),
          """
          the port gives %s; the GEMM engine takes %s of f16 operands and the DMA %s; \
          together at most %s of their peak\
          """
              .formatted(
                  bandwidth(port), bandwidth(feed), bandwidth(dma), percent(port, feed + dma)));
    }
  }

  /** A buffer against bandwidth x round trip of the link before it: a credit takes as long back. */
  private void checkBuffers() {
    FabricSpec fabric = machine.fabric();
    if (!fabric.isBuffered()) {
      return;
    }
    Map<LinkKind, String> keys = new LinkedHashMap<>();
    keys.put(LinkKind.PE_TO_ROUTER, "cube.links.pe_to_router");
    keys.put(LinkKind.HBM_LINK, "cube.links.hbm_to_router");
    keys.put(LinkKind.SRAM_LINK, "cube.links.sram_to_router");
    keys.put(LinkKind.NOC, "cube.noc");
    keys.put(LinkKind.CUBE_TO_CUBE, "sip.links.cube_to_cube");
    keys.put(LinkKind.CUBE_TO_IO, "sip.links.cube_to_io");
    keys.put(LinkKind.SIP_TO_SIP, "system.links.sip_to_sip");
    keys.put(LinkKind.HOST_LINK, "system.links.host_to_sip");
    keys.forEach((kind, key) -> {
      LinkSpec link = machine.spec(kind);
      long roundTripPs = 2 * link.latencyPs();
      double reach = fabric.bufferBytes() * 1e12 / roundTripPs;
      if (reach < WORTH_A_WARNING * link.rate().bytesPerSecond()) {
        add(
            "fabric.buffer",
            List.of(key + ".latency", key + ".bandwidth"),
            """
            %s are fewer bytes than a round trip of %s holds, %s; that link can reach at \
            most %s of its %s per virtual channel\
            """
                .formatted(
                    size((double) fabric.bufferBytes()),
                    key,
                    size(link.rate().bytesPerSecond() * (roundTripPs / 1e12)),
                    bandwidth(reach),
                    bandwidth((double) link.rate().bytesPerSecond())));
      }
    });
  }

  /**
   * Slots x size per round trip, against the narrowest link; a few percent are not worth a word.
   */
  private void checkQueues() {
    for (Neighbours pair : Neighbours.of(machine)) {
      QueueReach reach = QueueReach.of(machine, pair.from(), pair.to());
      if (reach.queueBytesPerSecond() < WORTH_A_WARNING * reach.linkBytesPerSecond()) {
        boolean overridden =
            IntStream.of(machine.route(pair.from(), pair.to()).links())
                .anyMatch(machine::isUnequal);
        add(
            "ipcq.slots",
            List.of(
                "ipcq.slot_size",
                "pe.dma.message_overhead",
                overridden ? "system.sips.links" : "ipcq.slot_size",
                "system.network",
                "system.nodes",
                "system.links.sip_to_sip.latency",
                "system.links.sip_to_sip.bandwidth",
                "sip.links.cube_to_cube.latency",
                "sip.links.cube_to_cube.bandwidth",
                "cube.noc.latency",
                "cube.noc.bandwidth"),
            """
            %s%s%s are fewer bytes in flight than the way to %s holds, %s; one queue can \
            reach at most %s of its %s\
            """
                .formatted(
                    machine.ipcq().slots(),
                    machine.ipcq().slots() == 1 ? " slot x " : " slots x ",
                    size((double) machine.ipcq().slotBytes()),
                    pair.what(),
                    size(reach.bytesInFlight()),
                    bandwidth(reach.queueBytesPerSecond()),
                    bandwidth((double) reach.linkBytesPerSecond())));
      }
    }
  }

  /**
   * Says it where the user can do something: at the number itself, but if that is the preset's and
   * another that it is compared with was written by the user, then there.
   *
   * @param others numbers that it is compared with
   */
  private void add(String path, List<String> others, String message) {
    String place = nearest(tree, path, others);
    found.add(tree.positionOf(place), place, message);
  }

  /** Of numbers that do not fit each other, the one written nearest to the user. */
  static String nearest(ConfigTree tree, String path, List<String> others) {
    String place = path;
    for (String other : others) {
      if (tree.contains(other) && written(tree, other) > written(tree, place)) {
        place = other;
      }
    }
    return place;
  }

  /** How near to the user a number was written: in a preset, in another file, with an override. */
  private static int written(ConfigTree tree, String path) {
    String file = tree.positionOf(path).file();
    return file.startsWith("--") ? 2 : Machines.isPresetFile(file) ? 0 : 1;
  }

  private static String bandwidth(double bytesPerSecond) {
    return Quantity.BANDWIDTH.formatRounded(bytesPerSecond, 1);
  }

  private static String size(double bytes) {
    return Quantity.SIZE.formatRounded(bytes, 1);
  }

  private static String percent(double part, double whole) {
    return Math.round(100 * part / whole) + " %";
  }
}
