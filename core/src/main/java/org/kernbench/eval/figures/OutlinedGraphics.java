package org.kernbench.eval.figures;

import java.awt.Color;
import java.awt.Font;
import java.awt.FontMetrics;
import java.awt.Graphics;
import java.awt.Graphics2D;
import java.awt.GraphicsConfiguration;
import java.awt.Image;
import java.awt.Shape;
import java.awt.font.FontRenderContext;
import java.awt.font.TextLayout;
import java.awt.geom.AffineTransform;
import java.awt.image.ImageObserver;
import java.awt.image.RenderedImage;
import java.awt.image.renderable.RenderableImage;
import java.text.AttributedCharacterIterator;
import org.apache.batik.ext.awt.g2d.AbstractGraphics2D;
import org.apache.batik.ext.awt.g2d.GraphicContext;

/**
 * Draws text as the outlines of its letters, without hints.
 *
 * <p>The toolkit has letters turned into pixels by FreeType, whose result depends on the version
 * that a JDK comes with or finds installed. Outlines depend on the font alone, and shapes are
 * filled by code of the JDK that is written in Java: the same pixels everywhere.
 */
final class OutlinedGraphics extends AbstractGraphics2D {
  private static final FontRenderContext UNHINTED = new FontRenderContext(null, true, true);

  private final Graphics2D target;

  /** Draws onto another, which has the transform of the whole picture. */
  OutlinedGraphics(Graphics2D target) {
    super(true);
    this.target = target;
    this.gc = new GraphicContext(target.getTransform());
    gc.setRenderingHints(target.getRenderingHints());
  }

  private OutlinedGraphics(OutlinedGraphics other) {
    super(other);
    this.target = (Graphics2D) other.target.create();
  }

  /** The target with the state of this. */
  private Graphics2D prepared() {
    target.setTransform(gc.getTransform());
    target.setClip(gc.getClip());
    target.setPaint(gc.getPaint());
    target.setStroke(gc.getStroke());
    target.setComposite(gc.getComposite());
    return target;
  }

  @Override
  public void draw(Shape shape) {
    prepared().draw(shape);
  }

  @Override
  public void fill(Shape shape) {
    prepared().fill(shape);
  }

  @Override
  public void drawString(String text, float x, float y) {
    if (!text.isBlank()) {
      fill(getFont().createGlyphVector(UNHINTED, text).getOutline(x, y));
    }
  }

  @Override
  public void drawString(AttributedCharacterIterator text, float x, float y) {
    fill(new TextLayout(text, UNHINTED).getOutline(AffineTransform.getTranslateInstance(x, y)));
  }

  @Override
  public FontRenderContext getFontRenderContext() {
    return UNHINTED;
  }

  @Override
  public FontMetrics getFontMetrics(Font font) {
    return target.getFontMetrics(font);
  }

  @Override
  public GraphicsConfiguration getDeviceConfiguration() {
    return target.getDeviceConfiguration();
  }

  @Override
  public Graphics create() {
    return new OutlinedGraphics(this);
  }

  @Override
  public void dispose() {
    target.dispose();
  }

  // ---- figures have no images ----

  @Override
  public void drawRenderedImage(RenderedImage image, AffineTransform transform) {
    prepared().drawRenderedImage(image, transform);
  }

  @Override
  public void drawRenderableImage(RenderableImage image, AffineTransform transform) {
    prepared().drawRenderableImage(image, transform);
  }

  @Override
  public boolean drawImage(Image image, int x, int y, ImageObserver observer) {
    return prepared().drawImage(image, x, y, observer);
  }

  @Override
  public boolean drawImage(
      Image image, int x, int y, int width, int height, ImageObserver observer) {
    return prepared().drawImage(image, x, y, width, height, observer);
  }

  @Override
  public void copyArea(int x, int y, int width, int height, int dx, int dy) {
    prepared().copyArea(x, y, width, height, dx, dy);
  }

  @Override
  public void setXORMode(Color colour) {
    throw new UnsupportedOperationException("figures are drawn, not inverted");
  }
}
