package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What the guides to torch, kernels, layouts and training quote is in the examples: a block {@code
 * java NAME} in the code of {@code examples/NAME.java}, a block {@code text NAME} in what it
 * prints, which {@link ExamplesTest} checks. Blocks {@code console} are run by the command line's
 * tests. Indentation is not compared.
 */
final class TorchGuideTest {
  private static final Path ROOT = Path.of(System.getProperty("basedir", "."), "..");

  /** A fenced block of the guide. */
  record Block(String guide, String language, String example, int line, List<String> lines) {
    @Override
    public String toString() {
      return guide + ":" + line + ": " + language + " of " + example;
    }
  }

  static List<Block> blocks() throws IOException {
    List<Block> blocks = new ArrayList<>(blocks("docs/torch-guide.md"));
    blocks.addAll(blocks("docs/kernel-guide.md"));
    blocks.addAll(blocks("docs/layout-guide.md"));
    blocks.addAll(blocks("docs/parallel-guide.md"));
    return blocks;
  }

  private static List<Block> blocks(String name) throws IOException {
    List<Block> blocks = new ArrayList<>();
    List<String> guide = Files.readAllLines(ROOT.resolve(name));
    for (int i = 0; i < guide.size(); i++) {
      if (!guide.get(i).startsWith("```")) {
        continue;
      }
      String[] info = guide.get(i).substring(3).split(" ");
      List<String> lines = new ArrayList<>();
      int first = i + 1;
      for (i++; !guide.get(i).equals("```"); i++) {
        lines.add(guide.get(i));
      }
      boolean isFile = info.length > 1 && info[1].contains("."); // for the commands after it
      if (!info[0].equals("sh") && !info[0].equals("console") && !isFile) {
        blocks.add(new Block(name, info[0], info.length > 1 ? info[1] : "none", first, lines));
      }
    }
    return blocks;
  }

  @ParameterizedTest
  @MethodSource("blocks")
  void block_quotedFromAnExample_isThere(Block block) throws IOException {
    List<String> source =
        Files.readAllLines(ROOT.resolve("examples").resolve(block.example() + ".java"));
    boolean text = block.language().equals("text");
    Stream<String> lines =
        text
            ? source.stream().filter(l -> l.startsWith(" *   ")).map(l -> l.substring(2))
            : source.stream();
    List<String> there = stripped(lines);
    List<String> quoted = stripped(block.lines().stream());
    assertThat(quoted).isNotEmpty();
    assertThat(Collections.indexOfSubList(there, quoted))
        .as("%s is not in examples/%s.java: %s", block, block.example(), block.lines())
        .isNotNegative();
  }

  private static List<String> stripped(Stream<String> lines) {
    return lines.map(String::strip).filter(l -> !l.isEmpty()).toList();
  }
}
