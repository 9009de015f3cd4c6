package org.kernbench.machine.report;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.Link;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Node;
import org.kernbench.machine.NodeKind;
import org.kernbench.machine.Side;
import org.kernbench.machine.report.Svg.LineStyle;
import org.kernbench.machine.spec.LinkKind;
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
  private static final double MIN_WIDTH = 520;

  private final Machine machine;
  private final Sheet sheet;

  private MachineDiagram(Machine machine) {
    this.machine = machine;
    this.sheet = new Sheet(machine);
  }

  /** One view of a machine as an SVG document. */
  public static String svg(Machine machine, View view) {
    MachineDiagram diagram = new MachineDiagram(machine);
    return switch (view) {
      case TRAY -> diagram.tray();
      case SIP -> diagram.sip();
      case CUBE -> diagram.cube();
      case PE -> new PeView(machine).drawn();
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
    double width = Math.max(MIN_WIDTH, right + 2 * (Sheet.MARGIN + pad));
    double left = (width - right) / 2;
    double top = Sheet.HEADER + 64 + pad;
    titleOfTray(shown);

    sheet.svg.frame(left - pad, top - pad, right + 2 * pad, bottom + 2 * pad, "#9aa5b1");
    drawHost(width / 2, top - pad);
    drawSipLinks(places, left, top, bottom, right);
    for (int sip = 0; sip < shown; sip++) {
      drawSip(sip, left + places.get(sip)[0], top + places.get(sip)[1]);
    }
    return sheet.finish(width, top + bottom + pad + 16);
  }

  private void titleOfTray(int shown) {
    String some = shown < machine.sips() ? ", the first " + shown + " of " : ", ";
    sheet.title(
        "tray",
        Sheet.name(machine.sipTopology())
            + some
            + machine.sips()
            + (machine.sips() == 1 ? " sip" : " sips"));
  }

  private void drawSip(int sip, double x, double y) {
    sheet.box(x, y, SIP_SIZE, SIP_SIZE, NodeKind.ROUTER);
    sheet.svg.centred(x, y - 10, 15, Sheet.INK, "sip " + sip);
    sheet.svg.centred(
        x,
        y + 9,
        10.5,
        Sheet.FAINT,
        machine.cubesPerSip() + plural(machine.cubesPerSip(), " cube"));
    int pes = machine.cubesPerSip() * machine.pesPerCube();
    sheet.svg.centred(x, y + 23, 10.5, Sheet.FAINT, pes + plural(pes, " PE"));
  }

  private String trayOfLevels() {
    int shown = Math.min(machine.sips(), MAX_SIPS);
    LevelTray levels = new LevelTray(machine, sheet.svg, shown);
    double pad = 76; // wraps and switches lie round the packages
    double width = Math.max(MIN_WIDTH, levels.width() + 2 * (Sheet.MARGIN + pad));
    double left = (width - levels.width()) / 2;
    double top = Sheet.HEADER + 64 + pad;
    titleOfTray(shown);
    sheet.svg.frame(
        left - pad, top - pad, levels.width() + 2 * pad, levels.height() + 2 * pad, "#9aa5b1");
    drawHost(width / 2, top - pad);
    levels.draw(left, top);
    for (int sip = 0; sip < shown; sip++) {
      drawSip(sip, levels.x(sip), levels.y(sip));
    }
    if (levels.hasDead()) {
      sheet.dead();
    }
    if (levels.hasUnequal()) {
      sheet.unequal();
    }
    if (machine.nodes().isPresent()) {
      sheet.style(LinkKind.SIP_TO_NIC);
      sheet.style(LinkKind.NIC);
    }
    double legend = top + levels.height() + pad + 28;
    return sheet.finish(width, levels.legend(Sheet.MARGIN, legend, Sheet.LEGEND_ROW) - 12);
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
    double radius = SIP_PITCH * 0.85 / (2 * StrictMath.sin(Math.PI / shown));
    double angle = 2 * Math.PI * sip / shown - Math.PI / 2;
    return new double[] {
      half + radius * (1 + StrictMath.cos(angle)), half + radius * (1 + StrictMath.sin(angle))
    };
  }

  private void drawHost(double x, double frameTop) {
    LineStyle style = sheet.style(LinkKind.HOST_LINK);
    sheet.svg.line(x, Sheet.HEADER + 34, x, frameTop, style);
    sheet.box(x, Sheet.HEADER + 20, 110, 32, NodeKind.HOST);
    sheet.svg.centred(x, Sheet.HEADER + 20, 13, Sheet.INK, "host");
    sheet.svg.left(x + 10, Sheet.HEADER + 56, 10.5, Sheet.FAINT, "one link to each sip");
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
        sheet.svg.line(x, top + place[1] + SIP_SIZE / 2, switchX + spread, switchY, style);
      } else if (!hasSwitch && (from.id() < to.id() || isOnlyUnequal(link))) {
        drawSipLink(places, left, top, from, to, style);
      }
    }
    if (hasSwitch) {
      sheet.box(switchX, switchY, 150, 40, NodeKind.SWITCH);
      boolean reduces = machine.dimensions().getFirst().reduces();
      sheet.svg.centred(switchX, switchY, 13, Sheet.INK, reduces ? "switch, reduces" : "switch");
    }
  }

  private LineStyle sipLink(int id) {
    if (machine.isDead(id)) {
      return sheet.dead();
    }
    if (machine.isUnequal(id)) {
      return sheet.unequal();
    }
    return sheet.style(LinkKind.SIP_TO_SIP);
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
      sheet.svg.line(x1, y1, x2, y2, style);
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
    sheet.svg.path(
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
    double width = Math.max(MIN_WIDTH, meshWidth + 2 * (around + Sheet.MARGIN));
    double left = (width - meshWidth) / 2;
    double top = Sheet.HEADER + around + 8;
    sheet.title(
        "sip",
        "%s%s and four IO chiplets; %s of HBM"
            .formatted(
                machine.cubesPerSip(),
                plural(machine.cubesPerSip(), " cube"),
                Sheet.bandwidth(
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
      sheet.box(x, y, upright ? IO_DEPTH : meshWidth, upright ? meshHeight : IO_DEPTH, NodeKind.IO);
      sheet.svg.centred(
          x, y, 12, Sheet.INK, side == Side.N && !upright ? "IO N, host" : "IO " + side);
    }
    return sheet.finish(width, top + meshHeight + around + 18);
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
    sheet.svg.line(x1, y1, x2, y2, sheet.style(link.kind()));
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
    sheet.box(x, y, CUBE_SIZE, CUBE_SIZE, NodeKind.ROUTER);
    sheet.svg.centred(x, y - 18, 14, Sheet.INK, "cube " + cube);
    sheet.svg.centred(
        x, y + 4, 10.5, Sheet.FAINT, machine.pesPerCube() + plural(machine.pesPerCube(), " PE"));
    double hbm = (double) machine.hbm().sizeBytes() * machine.pesPerCube();
    sheet.svg.centred(x, y + 20, 10.5, Sheet.FAINT, Sheet.size(hbm) + " HBM");
  }

  // ---- cube: routers, what hangs on them, die-to-die ports

  private static final double ROUTER_PITCH = 150;

  private String cube() {
    double spanX = (machine.nocWidth() - 1) * ROUTER_PITCH;
    double spanY = (machine.nocHeight() - 1) * ROUTER_PITCH;
    double around = 92;
    double width = Math.max(MIN_WIDTH, spanX + 2 * (around + 24 + Sheet.MARGIN));
    double left = (width - spanX) / 2;
    double top = Sheet.HEADER + around + 20;
    sheet.title(
        "cube",
        "%s%s on a mesh of %s x %s routers; %s of HBM"
            .formatted(
                machine.pesPerCube(),
                plural(machine.pesPerCube(), " PE"),
                machine.nocWidth(),
                machine.nocHeight(),
                Sheet.bandwidth(
                    (double) machine.hbm().peakRate().bytesPerSecond() * machine.pesPerCube())));
    sheet.svg.frame(left - around, top - around, spanX + 2 * around, spanY + 2 * around, "#9aa5b1");
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
    return sheet.finish(width, top + spanY + around + 26);
  }

  private void drawInCube(LinkKind kind, Node from, Node to, double left, double top) {
    if (from.id() < to.id() || kind == LinkKind.PE_TO_ROUTER) {
      sheet.svg.line(
          nodeX(from, left), nodeY(from, top), nodeX(to, left), nodeY(to, top), sheet.style(kind));
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
    sheet.svg.line(x, y, endX, endY, sheet.style(kind));
    sheet.box(endX, endY, side.dx() == 0 ? 64 : 24, side.dx() == 0 ? 24 : 64, NodeKind.IO);
    sheet.svg.centred(endX, endY, 12, Sheet.INK, side.name());
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
        sheet.box(x, y, 30, 22, NodeKind.ROUTER);
        sheet.svg.centred(
            x,
            y,
            9,
            Sheet.FAINT,
            node.index() % machine.nocWidth() + "," + node.index() / machine.nocWidth());
      }
      case PE -> labelled(x, y, 48, "PE " + node.index(), node.kind());
      case HBM -> labelled(x, y, 54, "HBM " + node.index(), node.kind());
      case SRAM -> labelled(x, y, 54, "SRAM", node.kind());
      case M_CPU -> labelled(x, y, 54, "M_CPU", node.kind());
      case HBM_CONTROLLER, SRAM_CONTROLLER -> sheet.box(x, y, 9, 9, node.kind());
      case IO, HOST, SWITCH, NIC -> throw new AssertionError("not inside a cube");
    }
  }

  private void labelled(double x, double y, double width, String label, NodeKind kind) {
    sheet.box(x, y, width, 24, kind);
    sheet.svg.centred(x, y, 11, Sheet.INK, label);
  }

  private static String plural(int count, String noun) {
    return count == 1 ? noun : noun + "s";
  }
}
