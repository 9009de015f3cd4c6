package org.kernbench.eval.figures;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.apache.batik.svggen.SVGGeneratorContext;
import org.apache.batik.svggen.SVGGraphics2D;
import org.apache.batik.svggen.SVGGraphics2DIOException;
import org.w3c.dom.Document;

/**
 * A picture as PNG and as SVG with real text. The same rows give the same bytes of SVG and the same
 * pixels of PNG wherever they are drawn; the bytes of a PNG also follow the JDK's zlib.
 *
 * @param name of the files, without their ending
 * @param width in pixels of a plain screen; the PNG has twice as many
 * @param height likewise
 * @param drawing draws it
 */
public record Figure(String name, int width, int height, Drawing drawing) {
  private static final int SCALE = 2;

  /** Draws a picture into an area. */
  @FunctionalInterface
  public interface Drawing {
    /** Draws. */
    void draw(Graphics2D g, Rectangle2D area);
  }

  /** The bytes of a PNG file. */
  public byte[] png() {
    BufferedImage image = blank(width, height);
    Graphics2D g = graphics(image);
    try {
      draw(new OutlinedGraphics(g));
    } finally {
      g.dispose();
    }
    return png(image);
  }

  /** An image with twice as many pixels as a plain screen has on that area. */
  static BufferedImage blank(int width, int height) {
    return new BufferedImage(width * SCALE, height * SCALE, BufferedImage.TYPE_INT_RGB);
  }

  /** Draws on it, in units of a plain screen. */
  static Graphics2D graphics(BufferedImage image) {
    Graphics2D g = image.createGraphics();
    g.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
    g.setRenderingHint(
        RenderingHints.KEY_FRACTIONALMETRICS, RenderingHints.VALUE_FRACTIONALMETRICS_ON);
    g.setRenderingHint(RenderingHints.KEY_STROKE_CONTROL, RenderingHints.VALUE_STROKE_PURE);
    g.scale(SCALE, SCALE);
    return g;
  }

  static byte[] png(BufferedImage image) {
    try {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      ImageIO.setUseCache(false);
      ImageIO.write(image, "png", out);
      return out.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The text of an SVG file. */
  public String svg() {
    try {
      Document document =
          DocumentBuilderFactory.newInstance()
              .newDocumentBuilder()
              .getDOMImplementation()
              .createDocument("http://www.w3.org/2000/svg", "svg", null);
      SVGGeneratorContext context = SVGGeneratorContext.createDefault(document);
      context.setComment(" kernbench ");
      context.setPrecision(2);
      SVGGraphics2D g = new SVGGraphics2D(context, false);
      g.setSVGCanvasSize(new java.awt.Dimension(width, height));
      draw(g);
      org.w3c.dom.Element root = g.getRoot();
      root.setAttributeNS(null, "viewBox", "0 0 " + width + " " + height);
      StringWriter text = new StringWriter();
      g.stream(root, text, false, false);
      return text.toString()
          .replace("\r\n", "\n")
          .replace("'DejaVu Sans'", "'DejaVu Sans', sans-serif");
    } catch (ParserConfigurationException | SVGGraphics2DIOException e) {
      throw new IllegalStateException("an SVG cannot be written", e);
    }
  }

  private void draw(Graphics2D g) {
    Rectangle2D area = new Rectangle2D.Double(0, 0, width, height);
    g.setColor(Color.WHITE);
    g.fill(area);
    drawing.draw(g, area);
  }
}
