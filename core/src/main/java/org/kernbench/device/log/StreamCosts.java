package org.kernbench.device.log;

import java.util.List;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.DmaSpec;
import org.kernbench.machine.spec.GemmSpec;

/**
 * What streaming tiles through a PE costs, for planners that predict instead of simulating.
 *
 * @param compute cost of commands on GEMM and MATH
 * @param bytesPerPs rate of the narrowest link from the PE's own slice of HBM to it
 * @param latencyPs time of a load or store of no bytes, set-up included
 * @param readQueues loads in progress at once
 * @param writeQueues stores in progress at once
 * @param dispatchPs time in which the tile scheduler issues a command
 * @param commandWindow commands of the tile scheduler in flight at once
 * @param tcmBytes TCM beside the message slots that the machine provides for
 * @param arrayRows rows of the matrix engine's array: outputs that it makes at once, along m
 * @param arrayColumns along n
 * @param tileM default tile of composite products along m; 0 if there is none
 * @param tileK along k
 * @param tileN along n
 * @param buffers default tiles of each operand in TCM; 0 if there is none
 */
public record StreamCosts(
    CostModel compute,
    double bytesPerPs,
    long latencyPs,
    int readQueues,
    int writeQueues,
    long dispatchPs,
    int commandWindow,
    long tcmBytes,
    int arrayRows,
    int arrayColumns,
    int tileM,
    int tileK,
    int tileN,
    int buffers) {
  private static final int SAMPLE_BYTES = 1 << 20;

  /**
   * What loads and stores of a PE move at most together, in bytes per picosecond: both pass the
   * port of its slice of HBM, and each the links of its own direction.
   */
  public static double bothWaysBytesPerPs(Machine machine, Pe pe) {
    double port = Double.POSITIVE_INFINITY;
    double links = 0;
    for (Route way :
        List.of(
            machine.route(machine.hbmNode(pe), machine.peNode(pe)),
            machine.route(machine.peNode(pe), machine.hbmNode(pe)))) {
      double narrowest = Double.POSITIVE_INFINITY;
      for (int link : way.links()) {
        double rate =
            (double) SAMPLE_BYTES
                / Math.max(1, machine.specOf(link).rate().durationPs(SAMPLE_BYTES));
        if (machine.linkKind(link).isMemoryPort()) {
          port = Math.min(port, rate);
        } else {
          narrowest = Math.min(narrowest, rate);
        }
      }
      links += narrowest;
    }
    return Math.min(port, links);
  }

  /** The costs of a PE. */
  public static StreamCosts of(Machine machine, Pe pe) {
    Route back = machine.route(machine.hbmNode(pe), machine.peNode(pe));
    Route there = machine.route(machine.peNode(pe), machine.hbmNode(pe));
    DmaSpec dma = machine.pe().dma();
    GemmSpec gemm = machine.pe().gemm();
    boolean slotsInTcm = machine.ipcq().bufferKind() == BufferKind.TCM;
    return new StreamCosts(
        new CostModel(machine.pe(pe.sip())),
        (double) SAMPLE_BYTES / Math.max(1, back.narrowest().durationPs(SAMPLE_BYTES)),
        dma.setupPs() + there.requestPs() + back.latencyPs(),
        dma.readQueues(),
        dma.writeQueues(),
        machine.pe().cpu().schedulerDispatchPs(),
        machine.pe().cpu().commandWindow(),
        machine.pe().tcm().sizeBytes() - (slotsInTcm ? machine.ipcq().bytesPerPe() : 0),
        gemm.rows(),
        gemm.columns(),
        gemm.hasDefaultTile() ? gemm.tileM() : 0,
        gemm.hasDefaultTile() ? gemm.tileK() : 0,
        gemm.hasDefaultTile() ? gemm.tileN() : 0,
        gemm.buffers());
  }
}
