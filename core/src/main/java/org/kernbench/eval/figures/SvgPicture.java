package org.kernbench.eval.figures;

import com.github.weisj.jsvg.SVGDocument;
import com.github.weisj.jsvg.parser.LoaderContext;
import com.github.weisj.jsvg.parser.SVGLoader;
import com.github.weisj.jsvg.view.FloatSize;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.kernbench.eval.output.OutputException;
import org.kernbench.eval.output.WholeFile;

/** An SVG as an image of pixels. */
public final class SvgPicture {
  private SvgPicture() {}

  /**
   * Writes a PNG file, whole or not at all.
   *
   * @throws OutputException if it cannot be written
   */
  public static void writePng(Path file, String svg) {
    WholeFile.write(file, out -> out.write(png(svg)));
  }

  /**
   * The bytes of a PNG file with twice as many pixels as the SVG is wide and high. Text is in the
   * program's own font, whatever is installed.
   *
   * @throws IllegalArgumentException if it is no SVG
   */
  static byte[] png(String svg) {
    FigureFonts.register();
    byte[] text =
        svg.replaceFirst("font-family=\"[^\"]*\"", "font-family=\"DejaVu Sans\"")
            .getBytes(StandardCharsets.UTF_8);
    SVGDocument document =
        new SVGLoader().load(new ByteArrayInputStream(text), null, LoaderContext.createDefault());
    if (document == null) {
      throw new IllegalArgumentException("no SVG: " + svg.lines().findFirst().orElse(""));
    }
    FloatSize size = document.size();
    BufferedImage image = Figure.blank((int) size.width, (int) size.height);
    Graphics2D g = Figure.graphics(image);
    try {
      g.setRenderingHint(
          RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
      document.render(null, g);
    } finally {
      g.dispose();
    }
    return Figure.png(image);
  }
}
