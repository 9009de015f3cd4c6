package org.kernbench.machine.report;

import org.kernbench.config.Quantity;
import org.kernbench.machine.Machine;
import org.kernbench.machine.NodeKind;
import org.kernbench.machine.report.Svg.LineStyle;
import org.kernbench.machine.spec.DmaSpec;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.MathSpec;
import org.kernbench.machine.spec.PeSpec;

/** The view of one PE: its engines around the TCM, from the description of the PE alone. */
final class PeView {
  private final Machine machine;
  private final Sheet sheet;

  PeView(Machine machine) {
    this.machine = machine;
    this.sheet = new Sheet(machine);
  }

  /** The view as an SVG document. */
  String drawn() {
    PeSpec pe = machine.pe();
    double width = 660;
    sheet.title("PE", "engines, scratch memory and the way to the router");
    double top = Sheet.HEADER + 20;
    sheet.svg.frame(Sheet.MARGIN, top, width - 2 * Sheet.MARGIN - 110, 322, "#9aa5b1");
    LineStyle command = new LineStyle("#9aa5b1", 1.2, true);
    LineStyle data = new LineStyle("#4c78a8", 2.4, false);
    double engineX = 250;
    double tcmX = 440;
    double[] rows = {top + 56, top + 129, top + 202, top + 275};
    for (int i = 0; i < 4; i++) {
      sheet.svg.path(Svg.format("M%s %sH%sV%sH%s", 120.0, rows[1], 160.0, rows[i], 190.0), command);
      sheet.svg.line(engineX, rows[i], tcmX, rows[i], data);
    }
    LineStyle fabric = sheet.style(LinkKind.PE_TO_ROUTER);
    sheet.svg.path(Svg.format("M%s %sV%sH%s", engineX, rows[0], top + 14, width - 62), fabric);
    sheet.svg.line(width - 62, top + 14, width - 62, rows[1] - 24, fabric);

    block(
        97,
        rows[1],
        112,
        64,
        NodeKind.M_CPU,
        "CPU",
        Sheet.time(pe.cpu().dispatchPs()) + " per command",
        Sheet.name(pe.cpu().issue()));
    DmaSpec dma = pe.dma();
    block(
        engineX,
        rows[0],
        150,
        56,
        NodeKind.IO,
        "DMA",
        "%s read, %s write, %s message"
            .formatted(dma.readQueues(), dma.writeQueues(), dma.messageChannels()),
        "setup " + Sheet.time(dma.setupPs()) + ", message " + Sheet.time(dma.messageOverheadPs()));
    GemmSpec gemm = pe.gemm();
    block(
        engineX,
        rows[1],
        150,
        56,
        NodeKind.PE,
        "GEMM",
        "%s x %s at %s"
            .formatted(
                gemm.rows(),
                gemm.columns(),
                Quantity.FREQUENCY.formatRounded((double) gemm.clockHz(), 2)),
        Quantity.round(gemm.peakFlops() / 1e12, 2) + " TFLOP/s, " + Sheet.name(gemm.mode()));
    MathSpec math = pe.math();
    block(
        engineX,
        rows[2],
        150,
        56,
        NodeKind.PE,
        "MATH",
        "%s B per cycle at %s"
            .formatted(
                math.lanesBytesPerCycle(),
                Quantity.FREQUENCY.formatRounded((double) math.clockHz(), 2)),
        "start " + math.startupCycles() + " cycles, slot " + Sheet.name(pe.accelSlot()));
    IpcqSpec ipcq = machine.ipcq();
    block(
        engineX,
        rows[3],
        150,
        56,
        NodeKind.SWITCH,
        "queues",
        "%s x %s slots x %s"
            .formatted(ipcq.directions(), ipcq.slots(), Sheet.size((double) ipcq.slotBytes())),
        "in " + Sheet.name(ipcq.bufferKind()) + ", " + Sheet.name(ipcq.slotAccess()));
    block(
        tcmX,
        (rows[0] + rows[3]) / 2,
        104,
        275,
        NodeKind.SRAM,
        "TCM",
        Sheet.size((double) pe.tcm().sizeBytes()),
        Sheet.bandwidth((double) pe.tcm().rate().bytesPerSecond()),
        Sheet.time(pe.tcm().latencyPs()));
    block(width - 62, rows[1], 84, 48, NodeKind.ROUTER, "router", "NoC");
    return sheet.finish(width, top + 336);
  }

  private void block(
      double x,
      double y,
      double width,
      double height,
      NodeKind kind,
      String title,
      String... lines) {
    sheet.box(x, y, width, height, kind);
    double lead = lines.length * 7.0;
    sheet.svg.centred(x, y - lead, 13, Sheet.INK, title);
    for (int i = 0; i < lines.length; i++) {
      sheet.svg.centred(x, y - lead + 15 + i * 13.5, 10, Sheet.FAINT, lines[i]);
    }
  }
}
