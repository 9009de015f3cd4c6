package org.kernbench.eval.figures;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.FontMetrics;
import java.awt.Graphics2D;
import java.awt.geom.CubicCurve2D;
import java.awt.geom.Line2D;
import java.awt.geom.Rectangle2D;
import java.awt.geom.RoundRectangle2D;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.kernbench.machine.Link;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.LinkKind;

/** Packages and the links between them, side by side for several machines, from their graphs. */
public final class NetworkDiagram {
  private static final int WIDTH = 860;
  private static final int HEIGHT = 350;
  private static final double BOX = 38;
  private static final Color INK = new Color(0x22, 0x22, 0x22);
  private static final Color SOFT = new Color(0x66, 0x66, 0x66);
  private static final Color FILL = new Color(0xE3, 0xEE, 0xF6);
  private static final Color LINK = new Color(0x00, 0x72, 0xB2);

  private NetworkDiagram() {}

  /** A machine and the word above it. */
  public record Network(String title, Machine machine) {}

  /** Two packages that are linked, the lower number first. */
  private record Pair(int a, int b) {}

  public static Figure of(String name, List<Network> networks) {
    return new Figure(name, WIDTH, HEIGHT, (g, area) -> draw(g, networks));
  }

  private static void draw(Graphics2D g, List<Network> networks) {
    text(g, "The networks of packages", 22, 30, FigureFonts.bold(16), INK);
    double unit = 0;
    for (Network n : networks) {
      unit += columns(n);
    }
    double left = 30;
    double width = WIDTH - 2 * left;
    double at = left;
    for (Network n : networks) {
      double own = width * columns(n) / unit;
      network(g, n, at, own);
      at += own;
    }
    text(
        g,
        """
        A box is a package; a line is a pair of links, one each way. Curved: the ends of a row \
        or column meet. From the compiled graph.\
        """,
        22,
        HEIGHT - 16,
        FigureFonts.plain(10.5f),
        SOFT);
  }

  private static double columns(Network n) {
    return n.machine().sipGridWidth() + 0.8;
  }

  private static void network(Graphics2D g, Network n, double left, double width) {
    Machine m = n.machine();
    int columns = m.sipGridWidth();
    int rows = m.sipGridHeight();
    double step = Math.min(78, width / (columns + 0.4));
    double top = 208 - (rows - 1) * step / 2;
    double begin = left + (width - (columns - 1) * step) / 2;
    text(g, n.title(), begin - BOX / 2, 70, FigureFonts.bold(13), INK);
    text(
        g,
        columns + " x " + rows + ", " + pairs(m).size() + " link pairs",
        begin - BOX / 2,
        88,
        FigureFonts.plain(11),
        SOFT);
    g.setStroke(new BasicStroke(2));
    g.setColor(LINK);
    for (Pair p : pairs(m)) {
      link(g, p, columns, begin, top, step);
    }
    for (int sip = 0; sip < m.sips(); sip++) {
      int row = sip / columns;
      box(g, sip, begin + sip % columns * step, top + row * step);
    }
  }

  private static Set<Pair> pairs(Machine m) {
    Set<Pair> pairs = new LinkedHashSet<>();
    for (int id = 0; id < m.linkCount(); id++) {
      if (m.linkKind(id) == LinkKind.SIP_TO_SIP) {
        Link link = m.link(id);
        int a = m.node(link.fromNode()).sip();
        int b = m.node(link.toNode()).sip();
        pairs.add(new Pair(Math.min(a, b), Math.max(a, b)));
      }
    }
    return pairs;
  }

  private static void link(
      Graphics2D g, Pair p, int columns, double left, double top, double step) {
    int ax = p.a() % columns;
    int ay = p.a() / columns;
    int bx = p.b() % columns;
    int by = p.b() / columns;
    double x1 = left + ax * step;
    double y1 = top + ay * step;
    double x2 = left + bx * step;
    double y2 = top + by * step;
    if (Math.abs(ax - bx) + Math.abs(ay - by) <= 1) {
      g.draw(new Line2D.Double(x1, y1, x2, y2));
    } else if (ay == by) { // the ends of a row
      double bow = step * 0.75;
      g.draw(new CubicCurve2D.Double(x1, y1, x1, y1 - bow, x2, y2 - bow, x2, y2));
    } else { // the ends of a column; those of the left half to the left
      double bow = step * (ax < (columns - 1) / 2.0 ? -0.62 : 0.62);
      g.draw(new CubicCurve2D.Double(x1, y1, x1 + bow, y1, x2 + bow, y2, x2, y2));
    }
  }

  private static void box(Graphics2D g, int sip, double x, double y) {
    RoundRectangle2D box = new RoundRectangle2D.Double(x - BOX / 2, y - BOX / 2, BOX, BOX, 8, 8);
    g.setColor(FILL);
    g.fill(box);
    g.setColor(INK);
    g.setStroke(new BasicStroke(1.2f));
    g.draw(box);
    Font font = FigureFonts.plain(11);
    FontMetrics metrics = g.getFontMetrics(font);
    Rectangle2D size = metrics.getStringBounds("sip" + sip, g);
    text(g, "sip" + sip, x - size.getWidth() / 2, y + 4, font, INK);
    g.setColor(LINK);
    g.setStroke(new BasicStroke(2));
  }

  private static void text(Graphics2D g, String text, double x, double y, Font font, Color colour) {
    g.setFont(font);
    g.setColor(colour);
    g.drawString(text, (float) x, (float) y);
  }
}
