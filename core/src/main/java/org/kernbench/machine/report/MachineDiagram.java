package org.kernbench.machine.report;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.kernbench.config.Quantity;
import org.kernbench.machine.Link;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Node;
import org.kernbench.machine.NodeKind;
import org.kernbench.machine.Side;
import org.kernbench.machine.report.Svg.LineStyle;
import org.kernbench.machine.spec.DmaSpec;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.MathSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.machine.spec.SipTopology;

/**
 * Draws a machine as SVG: what the packages, cubes and PEs of the compiled graph are and how they
 * are joined. Nothing is drawn that is not in the graph or the description of the PE.
 */
public final class MachineDiagram {
  /** What to draw. */
  public enum View {
    /** Packages, the links between them, and the host. */
    TRAY,
    /** The cubes and IO chiplets of one package. */
    SIP,
    /** Routers, PEs and memories of one cube. */
    CUBE,
    /** Engines and memories of one PE. */
    PE
  }

  private static final int MAX_SIPS = 64;
  private static final double MARGIN = 30;
  private static final double HEADER = 62;
  private static final double LEGEND_ROW = 20;
  private static final double MIN_WIDTH = 520;

  static final LineStyle DEAD = new LineStyle("#9aa5b1", 2, true);
  static final LineStyle UNEQUAL = new LineStyle("#e0983a", 3, false);

  private static final String INK = "#1f2933";
  private static final String FAINT = "#616e7c";

  private final Machine machine;
  private final Svg svg = new Svg();
  private final Set<LinkKind> drawn = EnumSet.noneOf(LinkKind.class);

  private boolean dead;
  private boolean unequal;

  private MachineDiagram(Machine machine) {
    this.machine = machine;
  }

  /** One view of a machine as an SVG document. */
  public static String svg(Machine machine, View view) {
    MachineDiagram diagram = new MachineDiagram(machine);
    return switch (view) {
      case TRAY -> diagram.tray();
      case SIP -> diagram.sip();
      case CUBE -> diagram.cube();
      case PE -> diagram.pe();
    };
  }

  // ---- tray: packages on their grid, a circle, or a row under a switch

  static final double SIP_SIZE = 84;
  private static final double SIP_PITCH = 158;

  private String tray() {
    if (machine.sipTopology() == SipTopology.NETWORK) {
      return trayOfLevels();
    }
    int shown = Math.min(machine.sips(), MAX_SIPS);
    List<double[]> places = new ArrayList<>();
    for (int sip = 0; sip < shown; sip++) {
      places.add(sipPlace(sip, shown));
    }
    double right = 0;
    double bottom = 0;
    for (double[] place : places) {
      right = Math.max(right, place[0] + SIP_SIZE / 2);
      bottom = Math.max(bottom, place[1] + SIP_SIZE / 2);
    }
    if (machine.sipTopology() == SipTopology.SWITCH) {
      bottom += SIP_PITCH * 0.8;
    }
    double pad = 46;
    double width = Math.max(MIN_WIDTH, right + 2 * (MARGIN + pad));
    double left = (width - right) / 2;
    double top = HEADER + 64 + pad;
    titleOfTray(shown);

    svg.frame(left - pad, top - pad, right + 2 * pad, bottom + 2 * pad, "#9aa5b1");
    drawHost(width / 2, top - pad);
    drawSipLinks(places, left, top, bottom, right);
    for (int sip = 0; sip < shown; sip++) {
      drawSip(sip, left + places.get(sip)[0], top + places.get(sip)[1]);
    }
    return finish(width, top + bottom + pad + 16);
  }

  private void titleOfTray(int shown) {
    String some = shown < machine.sips() ? ", the first " + shown + " of " : ", ";
    title(
        "tray",
        name(machine.sipTopology())
            + some
            + machine.sips()
            + (machine.sips() == 1 ? " sip" : " sips"));
  }

  private void drawSip(int sip, double x, double y) {
    box(x, y, SIP_SIZE, SIP_SIZE, NodeKind.ROUTER);
    svg.centred(x, y - 10, 15, INK, "sip " + sip);
    svg.centred(
        x, y + 9, 10.5, FAINT, machine.cubesPerSip() + plural(machine.cubesPerSip(), " cube"));
    int pes = machine.cubesPerSip() * machine.pesPerCube();
    svg.centred(x, y + 23, 10.5, FAINT, pes + plural(pes, " PE"));
  }

  private String trayOfLevels() {
    int shown = Math.min(machine.sips(), MAX_SIPS);
    LevelTray levels = new LevelTray(machine, svg, shown);
    double pad = 76; // wraps and switches lie round the packages
    double width = Math.max(MIN_WIDTH, levels.width() + 2 * (MARGIN + pad));
    double left = (width - levels.width()) / 2;
    double top = HEADER + 64 + pad;
    titleOfTray(shown);
    svg.frame(
        left - pad, top - pad, levels.width() + 2 * pad, levels.height() + 2 * pad, "#9aa5b1");
    drawHost(width / 2, top - pad);
    levels.draw(left, top);
    for (int sip = 0; sip < shown; sip++) {
      drawSip(sip, levels.x(sip), levels.y(sip));
    }
    dead = levels.hasDead();
    unequal = levels.hasUnequal();
    if (machine.nodes().isPresent()) {
      drawn.add(LinkKind.SIP_TO_NIC);
      drawn.add(LinkKind.NIC);
    }
    double legend = top + levels.height() + pad + 28;
    return finish(width, levels.legend(MARGIN, legend, LEGEND_ROW) - 12);
  }

  private double[] sipPlace(int sip, int shown) {
    double half = SIP_SIZE / 2;
    if (machine.sipTopology().isGrid()) {
      int width = machine.sipGridWidth();
      int row = sip / width;
      return new double[] {half + sip % width * SIP_PITCH, half + row * SIP_PITCH};
    }
    if (machine.sipTopology() == SipTopology.SWITCH || shown <= 2) {
      return new double[] {half + sip * SIP_PITCH * 0.75, half};
    }
    double radius = SIP_PITCH * 0.85 / (2 * Math.sin(Math.PI / shown));
    double angle = 2 * Math.PI * sip / shown - Math.PI / 2;
    return new double[] {
      half + radius * (1 + Math.cos(angle)), half + radius * (1 + Math.sin(angle))
    };
  }

  private void drawHost(double x, double frameTop) {
    LineStyle style = style(LinkKind.HOST_LINK);
    svg.line(x, HEADER + 34, x, frameTop, style);
    box(x, HEADER + 20, 110, 32, NodeKind.HOST);
    svg.centred(x, HEADER + 20, 13, INK, "host");
    svg.left(x + 10, HEADER + 56, 10.5, FAINT, "one link to each sip");
  }

  private void drawSipLinks(
      List<double[]> places, double left, double top, double bottom, double right) {
    double switchX = left + right / 2;
    double switchY = top + bottom - 20;
    boolean hasSwitch = machine.sipTopology() == SipTopology.SWITCH;
    for (int id = 0; id < machine.linkCount(); id++) {
      if (machine.linkKind(id) != LinkKind.SIP_TO_SIP) {
        continue;
      }
      Link link = machine.link(id);
      Node from = machine.node(link.fromNode());
      Node to = machine.node(link.toNode());
      if (from.sip() >= places.size() || to.sip() >= places.size()) {
        continue;
      }
      LineStyle style = sipLink(id);
      if (hasSwitch && to.kind() == NodeKind.SWITCH) {
        double[] place = places.get(from.sip());
        double x = left + place[0];
        double spread = (x - switchX) / Math.max(1, right) * 130;
        svg.line(x, top + place[1] + SIP_SIZE / 2, switchX + spread, switchY, style);
      } else if (!hasSwitch && (from.id() < to.id() || isOnlyUnequal(link))) {
        drawSipLink(places, left, top, from, to, style);
      }
    }
    if (hasSwitch) {
      box(switchX, switchY, 150, 40, NodeKind.SWITCH);
      boolean reduces = machine.dimensions().getFirst().reduces();
      svg.centred(switchX, switchY, 13, INK, reduces ? "switch, reduces" : "switch");
    }
  }

  private LineStyle sipLink(int id) {
    if (machine.isDead(id)) {
      dead = true;
      return DEAD;
    }
    if (machine.isUnequal(id)) {
      unequal = true;
      return UNEQUAL;
    }
    return style(LinkKind.SIP_TO_SIP);
  }

  /** A link that is different while the one back is not: drawn over that. */
  private boolean isOnlyUnequal(Link link) {
    if (!machine.isUnequal(link.id())) {
      return false;
    }
    for (int id = 0; id < machine.linkCount(); id++) {
      if (machine.linkKind(id) == LinkKind.SIP_TO_SIP
          && machine.linkFrom(id) == link.toNode()
          && machine.linkTo(id) == link.fromNode()) {
        return !machine.isUnequal(id);
      }
    }
    return true;
  }

  private void drawSipLink(
      List<double[]> places, double left, double top, Node from, Node to, LineStyle style) {
    double x1 = left + places.get(from.sip())[0];
    double y1 = top + places.get(from.sip())[1];
    double x2 = left + places.get(to.sip())[0];
    double y2 = top + places.get(to.sip())[1];
    Side exit = Side.values()[from.index()];
    boolean facing = (x2 - x1) * exit.dx() + (y2 - y1) * exit.dy() > 0;
    boolean circle = !machine.sipTopology().isGrid() && places.size() > 2;
    if (circle || facing) {
      svg.line(x1, y1, x2, y2, style);
    } else if (exit.dx() != 0) {
      int row = from.sip() / machine.sipGridWidth();
      boolean lower = row > 0 && row * 2 >= machine.sipGridHeight();
      drawWrap(Math.min(x1, x2), Math.max(x1, x2), y1, lower, true, style);
    } else {
      int column = from.sip() % machine.sipGridWidth();
      boolean righter = column > 0 && column * 2 >= machine.sipGridWidth();
      drawWrap(Math.min(y1, y2), Math.max(y1, y2), x1, righter, false, style);
    }
  }

  /** A line out of one side, round the boxes, into the opposite side of the first one. */
  private void drawWrap(
      double low, double high, double across, boolean beyond, boolean alongX, LineStyle style) {
    double out = alongX ? 14 : 28;
    double start = high + SIP_SIZE / 2;
    double end = low - SIP_SIZE / 2;
    double beside = across + (beyond ? 1 : -1) * (SIP_SIZE / 2 + out);
    svg.path(
        alongX
            ? Svg.format(
                "M%s %sH%sV%sH%sV%sH%s", start, across, start + out, beside, end - out, across, end)
            : Svg.format(
                "M%s %sV%sH%sV%sH%sV%s",
                across, start, start + out, beside, end - out, across, end),
        new LineStyle(style.colour(), 1.8, false));
  }

  // ---- sip: cubes on their grid, IO chiplets around

  private static final double CUBE_SIZE = 92;
  private static final double CUBE_PITCH = 132;
  private static final double IO_DEPTH = 40;

  private String sip() {
    double meshWidth = (machine.cubeMeshWidth() - 1) * CUBE_PITCH + CUBE_SIZE;
    double meshHeight = (machine.cubeMeshHeight() - 1) * CUBE_PITCH + CUBE_SIZE;
    double gap = 34;
    double around = gap + IO_DEPTH;
    double width = Math.max(MIN_WIDTH, meshWidth + 2 * (around + MARGIN));
    double left = (width - meshWidth) / 2;
    double top = HEADER + around + 8;
    title(
        "sip",
        "%s%s and four IO chiplets; %s of HBM"
            .formatted(
                machine.cubesPerSip(),
                plural(machine.cubesPerSip(), " cube"),
                bandwidth(
                    (double) machine.hbm().peakRate().bytesPerSecond()
                        * machine.pesPerCube()
                        * machine.cubesPerSip())));
    for (int id = 0; id < machine.linkCount(); id++) {
      LinkKind kind = machine.linkKind(id);
      boolean inSip = kind == LinkKind.CUBE_TO_CUBE || kind == LinkKind.CUBE_TO_IO;
      if (inSip && machine.node(machine.link(id).fromNode()).sip() == 0) {
        drawCubeLink(machine.link(id), left, top, meshWidth, meshHeight);
      }
    }
    for (int cube = 0; cube < machine.cubesPerSip(); cube++) {
      drawCubeBox(cube, left, top);
    }
    for (Side side : Side.values()) {
      double x = left + meshWidth / 2 + side.dx() * (meshWidth / 2 + gap + IO_DEPTH / 2);
      double y = top + meshHeight / 2 + side.dy() * (meshHeight / 2 + gap + IO_DEPTH / 2);
      boolean upright = side.dx() != 0;
      box(x, y, upright ? IO_DEPTH : meshWidth, upright ? meshHeight : IO_DEPTH, NodeKind.IO);
      svg.centred(x, y, 12, INK, side == Side.N && !upright ? "IO N, host" : "IO " + side);
    }
    return finish(width, top + meshHeight + around + 18);
  }

  private void drawCubeLink(
      Link link, double left, double top, double meshWidth, double meshHeight) {
    Node from = machine.node(link.fromNode());
    Node to = machine.node(link.toNode());
    if (from.kind() == NodeKind.IO || (to.kind() != NodeKind.IO && from.id() > to.id())) {
      return;
    }
    double x1 = cubeX(from.cube(), left);
    double y1 = cubeY(from.cube(), top);
    double x2 = to.cube() >= 0 ? cubeX(to.cube(), left) : x1;
    double y2 = to.cube() >= 0 ? cubeY(to.cube(), top) : y1;
    if (to.kind() == NodeKind.IO) {
      Side side = Side.values()[to.index()];
      x2 = side.dx() == 0 ? x1 : side.dx() > 0 ? left + meshWidth + 40 : left - 40;
      y2 = side.dy() == 0 ? y1 : side.dy() > 0 ? top + meshHeight + 40 : top - 40;
    }
    svg.line(x1, y1, x2, y2, style(link.kind()));
  }

  private double cubeX(int cube, double left) {
    return left + CUBE_SIZE / 2 + cube % machine.cubeMeshWidth() * CUBE_PITCH;
  }

  private double cubeY(int cube, double top) {
    int row = cube / machine.cubeMeshWidth();
    return top + CUBE_SIZE / 2 + row * CUBE_PITCH;
  }

  private void drawCubeBox(int cube, double left, double top) {
    double x = cubeX(cube, left);
    double y = cubeY(cube, top);
    box(x, y, CUBE_SIZE, CUBE_SIZE, NodeKind.ROUTER);
    svg.centred(x, y - 18, 14, INK, "cube " + cube);
    svg.centred(x, y + 4, 10.5, FAINT, machine.pesPerCube() + plural(machine.pesPerCube(), " PE"));
    double hbm = (double) machine.hbm().sizeBytes() * machine.pesPerCube();
    svg.centred(x, y + 20, 10.5, FAINT, size(hbm) + " HBM");
  }

  // ---- cube: routers, what hangs on them, die-to-die ports

  private static final double ROUTER_PITCH = 150;

  private String cube() {
    double spanX = (machine.nocWidth() - 1) * ROUTER_PITCH;
    double spanY = (machine.nocHeight() - 1) * ROUTER_PITCH;
    double around = 92;
    double width = Math.max(MIN_WIDTH, spanX + 2 * (around + 24 + MARGIN));
    double left = (width - spanX) / 2;
    double top = HEADER + around + 20;
    title(
        "cube",
        "%s%s on a mesh of %s x %s routers; %s of HBM"
            .formatted(
                machine.pesPerCube(),
                plural(machine.pesPerCube(), " PE"),
                machine.nocWidth(),
                machine.nocHeight(),
                bandwidth(
                    (double) machine.hbm().peakRate().bytesPerSecond() * machine.pesPerCube())));
    svg.frame(left - around, top - around, spanX + 2 * around, spanY + 2 * around, "#9aa5b1");
    for (int id = 0; id < machine.linkCount(); id++) {
      Link link = machine.link(id);
      Node from = machine.node(link.fromNode());
      Node to = machine.node(link.toNode());
      if (from.sip() == 0 && from.cube() == 0) {
        if (to.cube() == 0) {
          drawInCube(link.kind(), from, to, left, top);
        } else {
          drawPort(link.kind(), from, to, left, top, around, spanX, spanY);
        }
      }
    }
    for (int id = 0; id < machine.nodeCount() && machine.node(id).cube() == 0; id++) {
      drawNode(machine.node(id), left, top);
    }
    return finish(width, top + spanY + around + 26);
  }

  private void drawInCube(LinkKind kind, Node from, Node to, double left, double top) {
    if (from.id() < to.id() || kind == LinkKind.PE_TO_ROUTER) {
      svg.line(nodeX(from, left), nodeY(from, top), nodeX(to, left), nodeY(to, top), style(kind));
    }
  }

  private void drawPort(
      LinkKind kind,
      Node from,
      Node to,
      double left,
      double top,
      double around,
      double spanX,
      double spanY) {
    Side side = side(from, to);
    double x = nodeX(from, left);
    double y = nodeY(from, top);
    double endX = side.dx() == 0 ? x : side.dx() > 0 ? left + spanX + around : left - around;
    double endY = side.dy() == 0 ? y : side.dy() > 0 ? top + spanY + around : top - around;
    svg.line(x, y, endX, endY, style(kind));
    box(endX, endY, side.dx() == 0 ? 64 : 24, side.dx() == 0 ? 24 : 64, NodeKind.IO);
    svg.centred(endX, endY, 12, INK, side.name());
  }

  /** The side on which a link leaves cube 0. */
  private Side side(Node from, Node to) {
    if (to.kind() == NodeKind.IO) {
      return Side.values()[to.index()];
    }
    return to.cube() == from.cube() + 1 && machine.cubeMeshWidth() > 1 ? Side.E : Side.S;
  }

  private static double nodeX(Node node, double left) {
    return left + node.x() * ROUTER_PITCH;
  }

  private static double nodeY(Node node, double top) {
    return top + node.y() * ROUTER_PITCH;
  }

  private void drawNode(Node node, double left, double top) {
    double x = nodeX(node, left);
    double y = nodeY(node, top);
    switch (node.kind()) {
      case ROUTER -> {
        box(x, y, 30, 22, NodeKind.ROUTER);
        svg.centred(
            x,
            y,
            9,
            FAINT,
            node.index() % machine.nocWidth() + "," + node.index() / machine.nocWidth());
      }
      case PE -> labelled(x, y, 48, "PE " + node.index(), node.kind());
      case HBM -> labelled(x, y, 54, "HBM " + node.index(), node.kind());
      case SRAM -> labelled(x, y, 54, "SRAM", node.kind());
      case M_CPU -> labelled(x, y, 54, "M_CPU", node.kind());
      case HBM_CONTROLLER, SRAM_CONTROLLER -> box(x, y, 9, 9, node.kind());
      case IO, HOST, SWITCH, NIC -> throw new AssertionError("not inside a cube");
    }
  }

  private void labelled(double x, double y, double width, String label, NodeKind kind) {
    box(x, y, width, 24, kind);
    svg.centred(x, y, 11, INK, label);
  }

  // ---- pe: engines around the TCM

  private String pe() {
    PeSpec pe = machine.pe();
    double width = 660;
    title("PE", "engines, scratch memory and the way to the router");
    double top = HEADER + 20;
    svg.frame(MARGIN, top, width - 2 * MARGIN - 110, 322, "#9aa5b1");
    LineStyle command = new LineStyle("#9aa5b1", 1.2, true);
    LineStyle data = new LineStyle("#4c78a8", 2.4, false);
    double engineX = 250;
    double tcmX = 440;
    double[] rows = {top + 56, top + 129, top + 202, top + 275};
    for (int i = 0; i < 4; i++) {
      svg.path(Svg.format("M%s %sH%sV%sH%s", 120.0, rows[1], 160.0, rows[i], 190.0), command);
      svg.line(engineX, rows[i], tcmX, rows[i], data);
    }
    LineStyle fabric = style(LinkKind.PE_TO_ROUTER);
    svg.path(Svg.format("M%s %sV%sH%s", engineX, rows[0], top + 14, width - 62), fabric);
    svg.line(width - 62, top + 14, width - 62, rows[1] - 24, fabric);

    block(
        97,
        rows[1],
        112,
        64,
        NodeKind.M_CPU,
        "CPU",
        time(pe.cpu().dispatchPs()) + " per command",
        name(pe.cpu().issue()));
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
        "setup " + time(dma.setupPs()) + ", message " + time(dma.messageOverheadPs()));
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
        Quantity.round(gemm.peakFlops() / 1e12, 2) + " TFLOP/s, " + name(gemm.mode()));
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
        "start " + math.startupCycles() + " cycles, slot " + name(pe.accelSlot()));
    IpcqSpec ipcq = machine.ipcq();
    block(
        engineX,
        rows[3],
        150,
        56,
        NodeKind.SWITCH,
        "queues",
        ipcq.directions() + " x " + ipcq.slots() + " slots x " + size((double) ipcq.slotBytes()),
        "in " + name(ipcq.bufferKind()) + ", " + name(ipcq.slotAccess()));
    block(
        tcmX,
        (rows[0] + rows[3]) / 2,
        104,
        275,
        NodeKind.SRAM,
        "TCM",
        size((double) pe.tcm().sizeBytes()),
        bandwidth((double) pe.tcm().rate().bytesPerSecond()),
        time(pe.tcm().latencyPs()));
    block(width - 62, rows[1], 84, 48, NodeKind.ROUTER, "router", "NoC");
    return finish(width, top + 336);
  }

  private void block(
      double x,
      double y,
      double width,
      double height,
      NodeKind kind,
      String title,
      String... lines) {
    box(x, y, width, height, kind);
    double lead = lines.length * 7.0;
    svg.centred(x, y - lead, 13, INK, title);
    for (int i = 0; i < lines.length; i++) {
      svg.centred(x, y - lead + 15 + i * 13.5, 10, FAINT, lines[i]);
    }
  }

  // ---- common parts

  private void title(String what, String subtitle) {
    svg.title(MARGIN, 32, 18, INK, machine.name() + ": " + what);
    svg.left(MARGIN, 50, 12, FAINT, subtitle);
  }

  /** The legend of the links drawn, and the document. */
  private String finish(double width, double bottom) {
    double y = bottom + 12;
    for (LinkKind kind : drawn) {
      svg.line(MARGIN, y - 4, MARGIN + 34, y - 4, look(kind));
      svg.left(MARGIN + 44, y, 11.5, INK, describe(kind));
      y += LEGEND_ROW;
    }
    if (dead || unequal) {
      y = unequalLegend(y);
    }
    return svg.document(width, y + 6);
  }

  private double unequalLegend(double from) {
    double y = from;
    if (unequal) {
      svg.line(MARGIN, y - 4, MARGIN + 34, y - 4, UNEQUAL);
      svg.left(MARGIN + 44, y, 11.5, INK, "slower or farther than the others");
      y += LEGEND_ROW;
    }
    if (dead) {
      svg.line(MARGIN, y - 4, MARGIN + 34, y - 4, DEAD);
      svg.left(MARGIN + 44, y, 11.5, INK, "dead, both ways or one; messages go round");
      y += LEGEND_ROW;
    }
    svg.left(MARGIN + 44, y, 11.5, FAINT, String.join("; ", machine.unequalSipLinks()));
    return y + LEGEND_ROW;
  }

  private String describe(LinkKind kind) {
    String text =
        switch (kind) {
          case NOC -> "router to router";
          case PE_TO_ROUTER -> "PE to router";
          case ROUTER_TO_PE -> "router to PE, into its TCM";
          case HBM_LINK -> "HBM controller to router";
          case HBM_PORT -> "HBM slice, reads and writes share it";
          case SRAM_LINK -> "SRAM controller to router";
          case SRAM_PORT -> "SRAM, reads and writes share it";
          case M_CPU_LINK -> "M_CPU to router";
          case CUBE_TO_CUBE -> "cube to cube";
          case CUBE_TO_IO -> "cube to IO chiplet";
          case SIP_TO_SIP -> "sip to sip";
          case SIP_TO_NIC -> "sip to its NIC";
          case NIC -> "NIC";
          case HOST_LINK -> "host to sip";
        };
    LinkSpec spec = machine.spec(kind);
    String each = kind.isMemoryPort() ? ", " : " per direction, ";
    return "%s: %s%s%s"
        .formatted(
            text, bandwidth((double) spec.rate().bytesPerSecond()), each, time(spec.latencyPs()));
  }

  private LineStyle style(LinkKind kind) {
    drawn.add(kind);
    return look(kind);
  }

  static LineStyle look(LinkKind kind) {
    return switch (kind) {
      case NOC -> new LineStyle("#90a4ae", 2.5, false);
      case PE_TO_ROUTER, ROUTER_TO_PE -> new LineStyle("#4c78a8", 2, false);
      case HBM_LINK, HBM_PORT -> new LineStyle("#8e6bb1", kind == LinkKind.HBM_LINK ? 2 : 4, false);
      case SRAM_LINK, SRAM_PORT ->
          new LineStyle("#59a14f", kind == LinkKind.SRAM_LINK ? 2 : 4, false);
      case M_CPU_LINK -> new LineStyle("#e0983a", 1.5, true);
      case CUBE_TO_CUBE -> new LineStyle("#e1703c", 3, false);
      case CUBE_TO_IO -> new LineStyle("#b0532a", 2, false);
      case SIP_TO_SIP -> new LineStyle("#c0392b", 3, false);
      case SIP_TO_NIC, NIC -> new LineStyle("#2a7f8e", 2, false);
      case HOST_LINK -> new LineStyle("#52606d", 2, true);
    };
  }

  /** A box around its centre, in the colours of what it stands for. */
  private void box(double x, double y, double width, double height, NodeKind kind) {
    String fill =
        switch (kind) {
          case ROUTER -> "#eceff1";
          case PE -> "#dce6f2";
          case HBM, HBM_CONTROLLER -> "#e9ddf2";
          case SRAM, SRAM_CONTROLLER -> "#ddefe0";
          case M_CPU -> "#fbe9d0";
          case IO -> "#fde5d8";
          case HOST -> "#e4e7eb";
          case SWITCH -> "#f9dcdc";
          case NIC -> "#d8eef1";
        };
    String stroke =
        switch (kind) {
          case ROUTER -> "#78909c";
          case PE -> "#4c78a8";
          case HBM, HBM_CONTROLLER -> "#8e6bb1";
          case SRAM, SRAM_CONTROLLER -> "#59a14f";
          case M_CPU -> "#e0983a";
          case IO -> "#e1703c";
          case HOST -> "#52606d";
          case SWITCH -> "#c0392b";
          case NIC -> "#2a7f8e";
        };
    svg.box(x - width / 2, y - height / 2, width, height, fill, stroke);
  }

  private static String name(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  private static String plural(int count, String noun) {
    return count == 1 ? noun : noun + "s";
  }

  private static String bandwidth(double bytesPerSecond) {
    return Quantity.BANDWIDTH.formatRounded(bytesPerSecond, 2);
  }

  private static String size(double bytes) {
    return Quantity.SIZE.formatRounded(bytes, 1);
  }

  private static String time(long ps) {
    return Quantity.round(ps / 1000.0, 3) + " ns";
  }
}
