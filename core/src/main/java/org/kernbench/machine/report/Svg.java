package org.kernbench.machine.report;

import java.util.Locale;

/** Writes an SVG drawing element by element. */
final class Svg {
  private static final String FONT = "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\"";

  private final StringBuilder body = new StringBuilder();

  /** A rectangle with round corners. */
  Svg box(double x, double y, double width, double height, String fill, String stroke) {
    body.append(
        format(
            "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"4\" fill=\"%s\" stroke=\"%s\"/>\n",
            x, y, width, height, fill, stroke));
    return this;
  }

  /** A dashed frame with a translucent look. */
  Svg frame(double x, double y, double width, double height, String stroke) {
    body.append(
        format(
            """
            <rect x="%s" y="%s" width="%s" height="%s" rx="8" fill="#fafbfc" stroke="%s" \
            stroke-dasharray="5 4"/>
            """,
            x, y, width, height, stroke));
    return this;
  }

  /** A straight line; {@code style} holds further attributes. */
  Svg line(double x1, double y1, double x2, double y2, LineStyle style) {
    return path(format("M%s %sL%s %s", x1, y1, x2, y2), style);
  }

  /** A path in SVG's own notation. */
  Svg path(String data, LineStyle style) {
    body.append(
        format(
            "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\"%s/>\n",
            data,
            style.colour(),
            style.width(),
            style.dashed() ? " stroke-dasharray=\"4 3\"" : ""));
    return this;
  }

  /** Text centred at a point. */
  Svg centred(double x, double y, double size, String colour, String text) {
    return text(x, y + size * 0.35, size, colour, "middle", "normal", text);
  }

  /** Text that starts at a point on its base line. */
  Svg left(double x, double y, double size, String colour, String text) {
    return text(x, y, size, colour, "start", "normal", text);
  }

  /** Bold text that starts at a point on its base line. */
  Svg title(double x, double y, double size, String colour, String text) {
    return text(x, y, size, colour, "start", "bold", text);
  }

  private Svg text(
      double x, double y, double size, String colour, String anchor, String weight, String text) {
    body.append(
        format(
            """
            <text x="%s" y="%s" font-size="%s" fill="%s" text-anchor="%s" \
            font-weight="%s">%s</text>
            """,
            x, y, size, colour, anchor, weight, escaped(text)));
    return this;
  }

  /** The whole document, on white. */
  String document(double width, double height) {
    return format(
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" %s>
        <rect width="%s" height="%s" fill="#ffffff"/>
        %s</svg>
        """,
        width, height, width, height, FONT, width, height, body);
  }

  /** Replaces each {@code %s}; numbers get at most two decimals. */
  static String format(String pattern, Object... values) {
    Object[] texts = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      texts[i] = values[i] instanceof Double number ? number(number) : values[i];
    }
    return String.format(Locale.ROOT, pattern, texts);
  }

  private static String number(double value) {
    double rounded = Math.round(value * 100) / 100.0;
    return rounded == Math.rint(rounded) ? Long.toString((long) rounded) : Double.toString(rounded);
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }

  /** How a line looks. */
  record LineStyle(String colour, double width, boolean dashed) {}
}
