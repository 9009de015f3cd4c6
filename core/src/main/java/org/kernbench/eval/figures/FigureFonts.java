package org.kernbench.eval.figures;

import java.awt.Font;
import java.awt.FontFormatException;
import java.awt.GraphicsEnvironment;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The font of all figures, packed with the program: figures look the same on every machine, and
 * text can be drawn where no font is installed.
 */
final class FigureFonts {
  private static final String REGULAR = "/fonts/DejaVuSans-subset.ttf";
  private static final String BOLD = "/fonts/DejaVuSans-Bold-subset.ttf";
  private static final String CONFIGURATION = "sun.awt.fontconfig";

  private FigureFonts() {}

  private static final class Loaded {
    static final Font REGULAR_FONT = load(REGULAR);
    static final Font BOLD_FONT = load(BOLD);
  }

  /** The font in a size, in points. */
  static Font plain(float size) {
    return Loaded.REGULAR_FONT.deriveFont(size);
  }

  /** The bold font in a size, in points. */
  static Font bold(float size) {
    return Loaded.BOLD_FONT.deriveFont(size);
  }

  /** Lets the windowing toolkit find it by its name, {@code DejaVu Sans}. */
  static void register() {
    Font plain = Loaded.REGULAR_FONT; // first, for it tells the toolkit where fonts are
    GraphicsEnvironment environment = GraphicsEnvironment.getLocalGraphicsEnvironment();
    environment.registerFont(plain);
    environment.registerFont(Loaded.BOLD_FONT);
  }

  private static Font load(String name) {
    try (InputStream in = FigureFonts.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new AssertionError(name + " is not packed with the program");
      }
      byte[] bytes = in.readAllBytes();
      configure(bytes);
      return Font.createFont(Font.TRUETYPE_FONT, new java.io.ByteArrayInputStream(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (FontFormatException e) {
      throw new AssertionError(name + " is no font", e);
    }
  }

  /**
   * The windowing toolkit looks for installed fonts before it reads any, and ends with an error
   * where there are none, as in most containers. Told that ours is installed it does not look.
   */
  private static void configure(byte[] font) throws IOException {
    if (System.getProperty("java.awt.headless") == null) {
      System.setProperty("java.awt.headless", "true");
    }
    if (System.getProperty(CONFIGURATION) != null
        || !System.getProperty("os.name", "").startsWith("Linux")) {
      return;
    }
    Path file = Files.createTempFile("kernbench-font", ".ttf");
    Path configuration = Files.createTempFile("kernbench-font", ".properties");
    file.toFile().deleteOnExit();
    configuration.toFile().deleteOnExit();
    Files.write(file, font);
    StringBuilder text = new StringBuilder("version=1\nsequence.allfonts=latin1\n");
    for (String family : List.of("serif", "sansserif", "monospaced", "dialog", "dialoginput")) {
      for (String style : List.of("plain", "bold", "italic", "bolditalic")) {
        text.append(family).append('.').append(style).append(".latin1=DejaVu Sans\n");
      }
    }
    text.append("filename.DejaVu_Sans=").append(file).append('\n');
    Files.writeString(configuration, text, StandardCharsets.ISO_8859_1);
    System.setProperty(CONFIGURATION, configuration.toString());
  }
}
