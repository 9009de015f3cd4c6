package org.kernbench.machine.report;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import org.kernbench.config.Quantity;
import org.kernbench.machine.Machine;
import org.kernbench.machine.NodeKind;
import org.kernbench.machine.report.Svg.LineStyle;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkSpec;

/**
 * The sheet that a view of a machine is drawn on: title and legend, and how its links and places
 * look, which is the same in all views.
 */
final class Sheet {
  static final double MARGIN = 30;
  static final double HEADER = 62;
  static final double LEGEND_ROW = 20;
  static final String INK = "#1f2933";
  static final String FAINT = "#616e7c";
  static final LineStyle DEAD = new LineStyle("#9aa5b1", 2, true);
  static final LineStyle UNEQUAL = new LineStyle("#e0983a", 3, false);

  final Svg svg = new Svg();

  private final Machine machine;
  private final Set<LinkKind> drawn = EnumSet.noneOf(LinkKind.class);
  private boolean dead;
  private boolean unequal;

  Sheet(Machine machine) {
    this.machine = machine;
  }

  /** How a link is drawn that is dead, which the legend will say. */
  LineStyle dead() {
    dead = true;
    return DEAD;
  }

  /** How a link is drawn that is not as others of its kind, which the legend will say. */
  LineStyle unequal() {
    unequal = true;
    return UNEQUAL;
  }

  /** What the page is about, above all else. */
  void title(String what, String subtitle) {
    svg.title(MARGIN, 32, 18, INK, machine.name() + ": " + what);
    svg.left(MARGIN, 50, 12, FAINT, subtitle);
  }

  /** The legend of the links drawn, and the document. */
  String finish(double width, double bottom) {
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

  /** How a kind of link is drawn, which the legend will say. */
  LineStyle style(LinkKind kind) {
    drawn.add(kind);
    return look(kind);
  }

  /** How a kind of link is drawn. */
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
  void box(double x, double y, double width, double height, NodeKind kind) {
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

  static String name(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  static String bandwidth(double bytesPerSecond) {
    return Quantity.BANDWIDTH.formatRounded(bytesPerSecond, 2);
  }

  static String size(double bytes) {
    return Quantity.SIZE.formatRounded(bytes, 1);
  }

  static String time(long ps) {
    return Quantity.round(ps / 1000.0, 3) + " ns";
  }
}
