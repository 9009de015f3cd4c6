package org.kernbench.eval.figures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.machine.Machines;
import org.kernbench.machine.report.MachineDiagram;

final class SvgPictureTest {
  private static BufferedImage image(String svg) throws IOException {
    return ImageIO.read(new ByteArrayInputStream(SvgPicture.png(svg)));
  }

  @Test
  void png_shapesAndText_areWhereTheSvgHasThem() throws IOException {
    BufferedImage image =
        image(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"40\""
                + " font-family=\"Nobody Has This\"><rect width=\"60\" height=\"40\""
                + " fill=\"#ffffff\"/><rect x=\"10\" y=\"10\" width=\"5\" height=\"5\""
                + " fill=\"#ff0000\"/><text x=\"30\" y=\"30\" font-size=\"20\""
                + " fill=\"#0000ff\">H</text></svg>");
    assertThat(image.getWidth()).isEqualTo(120);
    assertThat(image.getHeight()).isEqualTo(80);
    assertThat(image.getRGB(25, 25) & 0xffffff).isEqualTo(0xff0000);
    assertThat(image.getRGB(35, 35) & 0xffffff).isEqualTo(0xffffff);
    int blue = 0;
    for (int y = 0; y < 80; y++) {
      for (int x = 0; x < 120; x++) {
        if ((image.getRGB(x, y) & 0xffffff) == 0x0000ff) {
          assertThat(x).isBetween(60, 95); // the letter, and no box for a missing one
          assertThat(y).isBetween(28, 60);
          blue++;
        }
      }
    }
    assertThat(blue).isBetween(150, 600);
  }

  /** What the diagram of a machine draws is there as pixels: every colour that fills a shape. */
  @ParameterizedTest
  @EnumSource(MachineDiagram.View.class)
  void png_diagramOfAMachine_hasItsColours(MachineDiagram.View view) throws IOException {
    String svg = MachineDiagram.svg(Machines.load("tiny", List.of()), view);
    BufferedImage image = image(svg);
    Set<Integer> drawn = new HashSet<>();
    for (int y = 0; y < image.getHeight(); y++) {
      for (int x = 0; x < image.getWidth(); x++) {
        drawn.add(image.getRGB(x, y) & 0xffffff);
      }
    }
    List<Integer> fills =
        Pattern.compile("<rect[^>]*fill=\"#([0-9a-f]{6})\"")
            .matcher(svg)
            .results()
            .map(m -> Integer.parseInt(m.group(1), 16))
            .toList();
    assertThat(fills).isNotEmpty();
    assertThat(drawn).containsAll(fills);
  }

  @Test
  void png_otherText_isRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> SvgPicture.png("no picture"));
  }
}
