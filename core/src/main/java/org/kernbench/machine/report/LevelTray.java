package org.kernbench.machine.report;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.kernbench.config.Quantity;
import org.kernbench.machine.Machine;
import org.kernbench.machine.report.Svg.LineStyle;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.NodesSpec;

/**
 * Packages of a network of several dimensions: dimension 0 across, dimension 1 down, and each
 * further one as blocks beside or below each other, each dimension in its own colour. Of dimensions
 * 0 and 1 every link is drawn; of the further ones a bundle from block to block, and what is dead
 * or unequal in it on its own.
 */
final class LevelTray {
  private static final double SIP = MachineDiagram.SIP_SIZE;
  private static final double PITCH = 158;
  private static final double NIC_ROOM = 44;
  private static final double BLOCK_GAP = 96;
  private static final double FRAME_PAD = 26;
  private static final double BAR = 18;
  private static final String INK = "#1f2933";
  private static final String[] COLOURS = {
    "#c0392b", "#2c7fb8", "#7b5ea7", "#b8860b", "#3d8b37", "#d6619d", "#5d6d7e", "#8c564b"
  };

  private final Machine machine;
  private final Svg svg;
  private final List<Dimension> dimensions;
  private final boolean hasNics;
  private final int shown;

  /** From one place to the next along each dimension, and how far its places reach. */
  private final double[] pitch;

  private final double[] reachX;
  private final double[] reachY;
  private double left;
  private double top;
  private boolean dead;
  private boolean unequal;

  LevelTray(Machine machine, Svg svg, int shown) {
    this.machine = machine;
    this.svg = svg;
    this.shown = shown;
    this.dimensions = machine.dimensions();
    this.hasNics = machine.nodes().isPresent();
    int count = dimensions.size();
    this.pitch = new double[count];
    this.reachX = new double[count + 1];
    this.reachY = new double[count + 1];
    reachX[0] = SIP;
    reachY[0] = SIP + (hasNics ? NIC_ROOM : 0);
    for (int d = 0; d < count; d++) {
      double before = isAcross(d) ? reachX[d] : reachY[d];
      pitch[d] = before + (d < 2 ? PITCH - SIP : BLOCK_GAP);
      double reach = before + (places(d) - 1) * pitch[d];
      reachX[d + 1] = isAcross(d) ? reach : reachX[d];
      reachY[d + 1] = isAcross(d) ? reachY[d] : reach;
    }
  }

  double width() {
    return reachX[dimensions.size()];
  }

  double height() {
    return reachY[dimensions.size()];
  }

  /** The middle of a package. */
  double x(int sip) {
    return left + SIP / 2 + offset(sip, true);
  }

  /** The middle of a package. */
  double y(int sip) {
    return top + SIP / 2 + offset(sip, false);
  }

  boolean hasDead() {
    return dead;
  }

  boolean hasUnequal() {
    return unequal;
  }

  private static boolean isAcross(int dimension) {
    return dimension % 2 == 0;
  }

  private double offset(int sip, boolean across) {
    double offset = 0;
    for (int d = 0; d < dimensions.size(); d++) {
      offset += isAcross(d) == across ? machine.place(sip, d) * pitch[d] : 0;
    }
    return offset;
  }

  /** How many places of a dimension are shown. */
  private int places(int dimension) {
    return machine.place(shown - 1, dimension) == dimensions.get(dimension).size() - 1
            || (dimension + 1 < dimensions.size() && shown > stride(dimension + 1))
        ? dimensions.get(dimension).size()
        : machine.place(shown - 1, dimension) + 1;
  }

  private int stride(int dimension) {
    int stride = 1;
    for (int d = 0; d < dimension; d++) {
      stride = Math.multiplyExact(stride, dimensions.get(d).size());
    }
    return stride;
  }

  /** All but the packages themselves. */
  void draw(double atX, double atY) {
    left = atX;
    top = atY;
    for (int d = dimensions.size() - 1; d >= 2; d--) {
      drawBlocks(d);
    }
    drawLinks(true);
    drawLinks(false); // over those, so that what is dead one way is seen
    for (int d = Math.min(2, dimensions.size()) - 1; d >= 0; d--) {
      drawSwitches(d);
    }
    drawNics();
  }

  // ---- single links

  private void drawLinks(boolean alike) {
    Set<Long> pairs = new HashSet<>();
    for (int id = 0; id < machine.linkCount(); id++) {
      LinkKind kind = machine.linkKind(id);
      if (kind == LinkKind.SIP_TO_NIC && alike) {
        drawToNic(id);
      } else if (kind == LinkKind.SIP_TO_SIP && alike == isAlike(id)) {
        drawLink(id, alike, pairs);
      }
    }
  }

  private boolean isAlike(int id) {
    return !machine.isUnequal(id) && !machine.isDead(id);
  }

  /** Alike links that there are both ways are drawn once. */
  private void drawLink(int id, boolean alike, Set<Long> pairs) {
    int from = machine.homeOf(machine.linkFrom(id));
    int to = machine.homeOf(machine.linkTo(id));
    int d = machine.dimensionOf(id);
    boolean there = from < shown && to < shown;
    boolean toSwitch = to == machine.sips() && from < shown;
    boolean fromSwitch = from == machine.sips() && to < shown;
    if (fromSwitch ? alike : !there && !toSwitch) {
      return; // beside the way there, or not shown
    }
    long pair = (long) Math.min(from, to) << Integer.SIZE | Math.max(from, to);
    if (alike && (d >= 2 || (there && !pairs.add(pair)))) {
      return; // part of a bundle, or the way back
    }
    LineStyle style = style(id, d);
    if (toSwitch || fromSwitch) {
      drawToSwitch(toSwitch ? from : to, d, style);
    } else if (Math.abs(machine.place(from, d) - machine.place(to, d)) > 1) {
      drawArc(from, to, d, style);
    } else {
      svg.line(x(from), endY(from, d), x(to), endY(to, d), style);
    }
  }

  private LineStyle style(int id, int d) {
    if (machine.isDead(id)) {
      dead = true;
      return Sheet.DEAD;
    }
    if (machine.isUnequal(id)) {
      unequal = true;
      return Sheet.UNEQUAL;
    }
    return look(d);
  }

  private static LineStyle look(int d) {
    return new LineStyle(COLOURS[d % COLOURS.length], 2.5, false);
  }

  /** Links along a dimension between nodes begin at the NIC. */
  private double endY(int sip, int d) {
    return joinsNics(d) ? nicY(sip) : y(sip);
  }

  private boolean joinsNics(int d) {
    return hasNics && stride(d) >= machine.nodes().orElseThrow().packages();
  }

  /** Whether it is the first package that uses its NIC. */
  private boolean hasNic(int sip) {
    NodesSpec nodes = machine.nodes().orElseThrow();
    return sip % (nodes.packages() / nodes.nics()) == 0;
  }

  private double nicY(int sip) {
    return y(sip) + SIP / 2 + NIC_ROOM - 14;
  }

  private double halfHeight(int d) {
    return joinsNics(d) ? 9 : SIP / 2;
  }

  private double halfWidth(int d) {
    return joinsNics(d) ? 20 : SIP / 2;
  }

  /** Over what lies between: above a row, or on the left of a column. */
  private void drawArc(int from, int to, int d, LineStyle style) {
    double apart = Math.abs(machine.place(from, d) - machine.place(to, d));
    double bend = Math.min(24 + 9 * apart, 110);
    if (isAcross(d)) {
      double y = endY(from, d) - halfHeight(d);
      double middle = (x(from) + x(to)) / 2;
      svg.path(Svg.format("M%s %sQ%s %s %s %s", x(from), y, middle, y - bend, x(to), y), style);
    } else {
      double x = x(from) - halfWidth(d);
      double y1 = endY(from, d);
      double y2 = endY(to, d);
      svg.path(Svg.format("M%s %sQ%s %s %s %s", x, y1, x - bend, (y1 + y2) / 2, x, y2), style);
    }
  }

  // ---- switches of dimensions 0 and 1: a bar along what hangs on them

  private double barAt(int sip, int d) {
    return isAcross(d) ? endY(sip, d) - halfHeight(d) - 22 : x(sip) + SIP / 2 + 18;
  }

  private void drawToSwitch(int sip, int d, LineStyle style) {
    if (d >= 2) { // an odd one of a bundle: to the edge of its block
      svg.line(x(sip), y(sip), x(sip) + PITCH / 2 - 12, y(sip) - PITCH / 2 + 12, style);
    } else if (isAcross(d)) {
      double beside = x(sip) - halfWidth(d) / 2; // of what leads down to this package
      svg.line(beside, endY(sip, d) - halfHeight(d), beside, barAt(sip, d), style);
    } else {
      svg.line(x(sip) + halfWidth(d), endY(sip, d), barAt(sip, d), endY(sip, d), style);
    }
  }

  private void drawSwitches(int d) {
    Dimension dimension = dimensions.get(d);
    if (dimension.kind() != DimensionKind.SWITCH) {
      return;
    }
    for (int sip = 0; sip < shown; sip++) {
      int last = Math.min(sip + (places(d) - 1) * stride(d), shown - 1);
      if (machine.place(sip, d) != 0 || (joinsNics(d) && !hasNic(sip))) {
        continue;
      }
      double at = barAt(sip, d);
      String name = dimension.reduces() ? "switch, reduces" : "switch";
      if (isAcross(d)) {
        double from = x(sip) - SIP / 2;
        double to = x(last) + SIP / 2;
        svg.box(from, at - BAR / 2, to - from, BAR, "#ffffff", COLOURS[d]);
        svg.centred((from + to) / 2, at, 10.5, INK, name);
      } else {
        double from = endY(sip, d) - 12;
        double to = endY(sip + (places(d) - 1) * stride(d), d) + 12;
        svg.box(at - 4, from, 8, to - from, "#ffffff", COLOURS[d]);
      }
    }
  }

  // ---- NICs

  /** Down from a package, and along to the NIC of another if that is shared. */
  private void drawToNic(int id) {
    int sip = machine.packageOf(machine.linkFrom(id));
    int owner = machine.homeOf(machine.linkTo(id));
    if (sip >= shown || owner >= shown) {
      return; // the way back, or not shown
    }
    LineStyle style = Sheet.look(LinkKind.SIP_TO_NIC);
    double y = nicY(owner);
    svg.path(Svg.format("M%s %sV%sH%s", x(sip), y(sip) + SIP / 2, y, x(owner)), style);
  }

  private void drawNics() {
    for (int sip = 0; sip < shown && hasNics; sip++) {
      if (hasNic(sip)) {
        svg.box(x(sip) - 20, nicY(sip) - 9, 40, 18, "#d8eef1", "#2a7f8e");
        svg.centred(x(sip), nicY(sip), 10.5, INK, "NIC");
      }
    }
  }

  // ---- dimensions from 2 on: blocks, and bundles between them

  private void drawBlocks(int d) {
    int stride = stride(d);
    int all = stride * dimensions.get(d).size();
    for (int first = 0; first < shown; first += stride) {
      frame(first, d);
    }
    for (int first = 0; first < shown; first += all) {
      List<Integer> blocks = new ArrayList<>();
      for (int i = 0; i < dimensions.get(d).size() && first + i * stride < shown; i++) {
        blocks.add(first + i * stride);
      }
      drawBundles(blocks, d);
    }
  }

  private void frame(int first, int d) {
    double pad = FRAME_PAD + 4 * (d - 2);
    svg.frame(
        x(first) - SIP / 2 - pad,
        y(first) - SIP / 2 - pad - 8,
        reachX[d] + 2 * pad,
        reachY[d] + 2 * pad + 8,
        COLOURS[d % COLOURS.length]);
  }

  private void drawBundles(List<Integer> blocks, int d) {
    Dimension dimension = dimensions.get(d);
    boolean closes = dimension.wraps() && blocks.size() == dimension.size();
    boolean full = dimension.kind() == DimensionKind.FULLY_CONNECTED;
    if (dimension.kind() == DimensionKind.SWITCH) {
      drawSwitchOfBlocks(blocks, d);
      return;
    }
    for (int i = 0; i < blocks.size(); i++) {
      for (int j = i + 1; j < blocks.size(); j++) {
        boolean next = j == i + 1;
        if (next || full || (closes && i == 0 && j == blocks.size() - 1)) {
          drawBundle(blocks.get(i), blocks.get(j), j - i, d);
        }
      }
    }
  }

  private LineStyle bundle(int d) {
    return new LineStyle(COLOURS[d % COLOURS.length], 6, false);
  }

  private void drawBundle(int a, int b, int apart, int d) {
    double pad = FRAME_PAD + 4 * (d - 2);
    double bend = 24 + 14.0 * apart;
    if (isAcross(d)) {
      double x1 = x(a) - SIP / 2 + reachX[d];
      double x2 = x(b) - SIP / 2;
      double middle = y(a) - SIP / 2 + reachY[d] / 2;
      double below = y(a) - SIP / 2 + reachY[d] + pad;
      svg.path(
          apart == 1
              ? Svg.format("M%s %sH%s", x1 + pad, middle, x2 - pad)
              : Svg.format(
                  "M%s %sQ%s %s %s %s",
                  x1 - reachX[d] / 2,
                  below,
                  (x1 + x2) / 2,
                  below + bend,
                  x2 + reachX[d] / 2,
                  below),
          bundle(d));
    } else {
      double y1 = y(a) - SIP / 2 + reachY[d];
      double y2 = y(b) - SIP / 2;
      double middle = x(a) - SIP / 2 + reachX[d] / 2;
      double beside = x(a) - SIP / 2 + reachX[d] + pad;
      svg.path(
          apart == 1
              ? Svg.format("M%s %sV%s", middle, y1 + pad, y2 - pad - 8)
              : Svg.format(
                  "M%s %sQ%s %s %s %s",
                  beside,
                  y1 - reachY[d] / 2,
                  beside + bend,
                  (y1 + y2) / 2,
                  beside,
                  y2 + reachY[d] / 2),
          bundle(d));
    }
  }

  private void drawSwitchOfBlocks(List<Integer> blocks, int d) {
    double pad = FRAME_PAD + 4 * (d - 2);
    int a = blocks.getFirst();
    int b = blocks.getLast();
    String name = stride(d) + " switches";
    if (isAcross(d)) {
      double at = y(a) - SIP / 2 + reachY[d] + pad + 22;
      for (int block : blocks) {
        double x = x(block) - SIP / 2 + reachX[d] / 2;
        svg.line(x, at - 22, x, at, bundle(d));
      }
      double from = x(a) - SIP / 2;
      double to = x(b) - SIP / 2 + reachX[d];
      svg.box(from, at - BAR / 2, to - from, BAR, "#ffffff", COLOURS[d % COLOURS.length]);
      svg.centred((from + to) / 2, at, 10.5, INK, name);
    } else {
      double at = x(a) - SIP / 2 + reachX[d] + pad + 20;
      for (int block : blocks) {
        double y = y(block) - SIP / 2 + reachY[d] / 2;
        svg.line(at - 20, y, at, y, bundle(d));
      }
      double from = y(a) - SIP / 2;
      double to = y(b) - SIP / 2 + reachY[d];
      svg.box(at - 5, from, 10, to - from, "#ffffff", COLOURS[d % COLOURS.length]);
    }
  }

  // ---- legend

  /** A row for each dimension, and for NICs; the next free line. */
  double legend(double x, double from, double row) {
    double y = from;
    for (int d = 0; d < dimensions.size(); d++) {
      svg.line(x, y - 4, x + 34, y - 4, d < 2 ? look(d) : bundle(d));
      svg.left(x + 44, y, 11.5, INK, describe(d));
      y += row;
    }
    return y;
  }

  private String describe(int d) {
    Dimension dimension = dimensions.get(d);
    StringBuilder text =
        new StringBuilder(
            "dimension %s: %s of %s%s, %s"
                .formatted(
                    d,
                    dimension.kind().name().toLowerCase(Locale.ROOT),
                    dimension.size(),
                    dimension.reduces() ? ", which reduces" : "",
                    link(dimension.link())));
    if (!dimension.fromSwitch().equals(dimension.link())) {
      text.append("; from the switch ").append(link(dimension.fromSwitch()));
    }
    if (joinsNics(d)) {
      text.append("; between NICs");
    }
    if (d >= 2) {
      text.append("; a bundle is ").append(stride(d)).append(" of them");
    }
    return text.toString();
  }

  private static String link(LinkSpec spec) {
    return "%s per direction, %s"
        .formatted(
            Quantity.BANDWIDTH.formatRounded((double) spec.rate().bytesPerSecond(), 2),
            Quantity.round(spec.latencyPs() / 1000.0, 3) + " ns");
  }
}
