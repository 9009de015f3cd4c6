package org.kernbench.machine;

import java.util.List;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problem;
import org.kernbench.config.Problems;
import org.kernbench.config.Quantity;

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
    warnings.checkQueues();
    return warnings.found.sorted();
  }

  private void checkWayToHbm(LinkKind kind, String path, String what) {
    double way = machine.spec(kind).rate().bytesPerSecond();
    double slice = machine.hbm().rate().bytesPerSecond();
    if (way < slice) {
      add(
          path,
          what
              + " carries "
              + bandwidth(way)
              + ", less than a PE's slice of HBM gives, "
              + bandwidth(slice)
              + "; a PE gets at most "
              + percent(way, slice)
              + (kind == LinkKind.NOC ? " of another PE's slice" : " of its own"));
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
          "the port gives "
              + bandwidth(port)
              + "; the GEMM engine takes "
              + bandwidth(feed)
              + " of f16 operands and the DMA "
              + bandwidth(dma)
              + "; together at most "
              + percent(port, feed + dma)
              + " of their peak");
    }
  }

  /**
   * Slots x size per round trip, against the narrowest link; a few percent are not worth a word.
   */
  private void checkQueues() {
    for (Neighbours pair : Neighbours.of(machine)) {
      QueueReach reach = QueueReach.of(machine, pair.from(), pair.to());
      if (reach.queueBytesPerSecond() < WORTH_A_WARNING * reach.linkBytesPerSecond()) {
        add(
            "ipcq.slots",
            machine.ipcq().slots()
                + (machine.ipcq().slots() == 1 ? " slot x " : " slots x ")
                + size((double) machine.ipcq().slotBytes())
                + " are fewer bytes in flight than the way to "
                + pair.what()
                + " holds, "
                + size(reach.bytesInFlight())
                + "; one queue can reach at most "
                + bandwidth(reach.queueBytesPerSecond())
                + " of its "
                + bandwidth((double) reach.linkBytesPerSecond()));
      }
    }
  }

  private void add(String path, String message) {
    found.add(tree.positionOf(path), path, message);
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
