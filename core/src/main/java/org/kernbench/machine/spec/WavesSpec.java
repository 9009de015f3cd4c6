package org.kernbench.machine.spec;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.config.ConfigMap;

/**
 * The multiprocessors of a PE that stands for a whole GPU; {@code pe.gemm.mode: waves}.
 *
 * @param units multiprocessors that work side by side, at least 1
 * @param macs multiply-adds of each per cycle, of 16-bit operands, at least 1
 * @param tiles outputs that one of them makes at once, the choices of a library
 * @param splits into how many parts a library may cut K, so that more tiles are there; 1: not at
 *     all
 * @param l2BytesPerCycle what the cache before the memory hands to all of them together
 */
public record WavesSpec(
    int units, int macs, List<Block> tiles, List<Integer> splits, long l2BytesPerCycle) {
  private static final int MOST_UNITS = 1 << 16;

  /** One of them is enough to say that there are multiprocessors. */
  private static final List<String> KEYS = List.of("units", "macs", "tiles", "split_k", "l2_width");

  /** Copies the lists. */
  public WavesSpec {
    tiles = List.copyOf(tiles);
    splits = List.copyOf(splits);
  }

  /**
   * Reads the multiprocessors of {@code pe.gemm}, where they are described; they must be in mode
   * {@code waves}.
   */
  static Optional<WavesSpec> read(ConfigMap gemm) {
    boolean inWaves = gemm.isText("mode", GemmMode.WAVES.name().toLowerCase(Locale.ROOT));
    long written = KEYS.stream().filter(gemm::has).count(); // asks for all, so that none is unknown
    if (!inWaves && written == 0) {
      return Optional.empty();
    }
    List<WavesSpec.Block> tiles = new ArrayList<>();
    for (String text : gemm.texts("tiles", "[256x128, 128x128]")) {
      try {
        tiles.add(WavesSpec.Block.parse(text));
      } catch (IllegalArgumentException e) {
        gemm.problem("tiles", String.valueOf(e.getMessage()));
      }
    }
    List<Integer> splits = new ArrayList<>();
    for (String text : gemm.has("split_k") ? gemm.texts("split_k", "[1, 2]") : List.of("1")) {
      if (text.matches("[1-9][0-9]{0,2}")) {
        splits.add(Integer.valueOf(text));
      } else {
        gemm.problem("split_k", "got \"" + text + "\"; expected whole numbers from 1 to 999");
      }
    }
    return Optional.of(
        new WavesSpec(
            gemm.integer("units", 1, MOST_UNITS),
            gemm.integer("macs", 1, 1 << 20),
            tiles,
            splits,
            gemm.size("l2_width")));
  }

  /**
   * Outputs of one unit at once.
   *
   * @param m rows
   * @param n columns
   */
  public record Block(int m, int n) {
    /**
     * Reads {@code 256x128}.
     *
     * @throws IllegalArgumentException that says what was expected
     */
    public static Block parse(String text) {
      String[] sides = text.strip().split("x", -1);
      try {
        Block block = new Block(Integer.parseInt(sides[0]), Integer.parseInt(sides[1]));
        if (sides.length == 2 && block.m > 0 && block.n > 0 && block.m <= 4096 && block.n <= 4096) {
          return block;
        }
      } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
        // told below
      }
      throw new IllegalArgumentException(
          String.format(
              Locale.ROOT,
              "got \"%s\"; expected rows x columns of a tile, up to 4096, e.g. 256x128",
              text));
    }
  }
}
