package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.tensor.DType;

/**
 * How large the tiles of a product are, and how many of them a PE makes at once: as large as its
 * TCM has room for beside message queues and what they are made of. Large tiles read each operand
 * less often. Tiles of another size sum in the same order, so no bit depends on the choice (ADR
 * 0237).
 *
 * @param grid the tiles, divided over the PEs
 * @param down rows of tiles that a PE makes at once, at most
 * @param across columns of tiles that it makes at once, of each output, at most
 * @param step of k, for which a PE has operands at once
 * @param lastBytes of operands that it has at once for the end of a block, at most
 * @param endBytes likewise where no other block follows, whose operands would want room
 */
record ProductPlan(TileGrid grid, int down, int across, int step, long lastBytes, long endBytes) {
  /** Rows, or columns, of tiles that a PE makes at once. */
  private static final List<Integer> SIDES = List.of(4, 2, 1);

  /** Blocks up to this side are taken wherever they fit. */
  private static final int USUAL_SIDE = 2;

  /** Larger ones must have room for so many steps, so that loads go on beside products, */
  private static final int STEPS_AHEAD = 2;

  /** and be so many for a PE, so that it stores one while it makes another, unless loads decide. */
  private static final int FEWEST_LARGE = 2;

  /** Sums over a shorter k leave no time to win back what waits at the end of one large block. */
  private static final int LONG = 1024;

  /** Steps over k are no deeper, so that other loads get their turn. */
  private static final int DEEPEST = 512;

  /**
   * What a plan is for: {@code [m, k]} times {@code [k, n]}.
   *
   * @param outputs products of this shape that are made at once
   * @param results of their {@link Ending}
   * @param adds whether rounded tiles wait for others, to which they are added
   */
  record Sizes(int m, int n, int k, DType in, int outputs, int results, boolean adds) {}

  /** Divides tiles of some size over PEs. */
  @FunctionalInterface
  interface Division {
    TileGrid of(int tileM, int tileN);
  }

  /**
   * The largest tiles that fit: those of {@code tileM x tileN}, else of half the rows and columns
   * and so on, down to one array of the engine.
   *
   * @throws TcmException if not even these do
   */
  static ProductPlan of(Compute compute, Sizes sizes, int tileM, int tileN, Division division) {
    GemmSpec gemm = compute.torch().machine().pe().gemm();
    long room = compute.torch().roomBesideQueues();
    long least = Long.MAX_VALUE;
    for (int m = tileM, n = tileN; ; ) {
      TileGrid grid = division.of(m, n);
      for (Block block : blocks(grid, sizes, loadsDecide(compute, grid, sizes))) {
        ProductPlan plan = of(grid, block, sizes, compute.blockBytes(), room);
        if (plan.lastBytes >= 0) {
          return plan;
        }
        least = Math.min(least, room - plan.lastBytes);
      }
      int smallerM = smaller(m, gemm.rows());
      int smallerN = smaller(n, gemm.columns());
      if (smallerM == m && smallerN == n) {
        throw tooSmall(sizes, m, n, least, room);
      }
      m = smallerM;
      n = smallerN;
    }
  }

  /** Tiles that a PE makes at once: rows of them, and columns of each output. */
  private record Block(int down, int across, int outputs) {
    int columns() {
      return across * outputs;
    }

    int tiles() {
      return down * columns();
    }

    /** Operands of a tile's size that each tile takes. */
    double reads() {
      return (down + columns()) / (double) tiles();
    }

    boolean isLarge() {
      return down > USUAL_SIDE || across > Math.max(1, USUAL_SIDE / outputs);
    }
  }

  /**
   * Whether the usual blocks would take longer to load for than to make: then a large one pays even
   * though nothing else is made while it is stored, if there are steps enough before.
   */
  private static boolean loadsDecide(Compute compute, TileGrid grid, Sizes s) {
    if (s.k < LONG) {
      return false;
    }
    Block usual = new Block(USUAL_SIDE, Math.max(1, USUAL_SIDE / s.outputs), s.outputs);
    double height = Math.min(grid.tileM(), s.m);
    double width = Math.min(grid.tileN(), s.n);
    double loaded = (usual.down * height + usual.columns() * width) * s.k * s.in.sizeBytes();
    double rate = compute.rate(s.in);
    return compute.operandBound().loadsDecide(usual.tiles() * height * width * s.k, rate, loaded);
  }

  /** What a PE may make at once, that which reads least first. */
  private static List<Block> blocks(TileGrid grid, Sizes s, boolean loadsDecide) {
    int outputs = s.outputs;
    TileGrid.Rectangle most = grid.tilesOf(0, 0); // the first place has most
    List<Block> blocks = new ArrayList<>();
    for (int high : SIDES) {
      for (int wide : SIDES) {
        int down = Math.clamp(most.rows().count(), 1, high);
        int across = Math.clamp(most.columns().count(), 1, Math.max(1, wide / outputs));
        Block block = new Block(down, across, outputs);
        int tiles = most.rows().count() * most.columns().count();
        if (!block.isLarge() || loadsDecide || FEWEST_LARGE * down * across <= tiles) {
          blocks.add(block);
        }
      }
    }
    blocks.sort(Comparator.comparingDouble(Block::reads).thenComparing(b -> b.down * b.across));
    return blocks;
  }

  /** Whether its tiles are as large as those of a plan of one product, and usually as many. */
  boolean hasTilesOf(ProductPlan one) {
    return grid.tileM() == one.grid.tileM()
        && grid.tileN() == one.grid.tileN()
        && down >= Math.min(USUAL_SIDE, one.down);
  }

  private static TcmException tooSmall(Sizes sizes, int m, int n, long least, long room) {
    return new TcmException(
        """
        product of %s x %s and %s x %s in %s: tiles of one GEMM array, %s x %s, need %s bytes of \
        TCM beside message queues, a PE has %s\
        """
            .formatted(sizes.m, sizes.k, sizes.k, sizes.n, sizes.in, m, n, least, room),
        "expected a pe.tcm.size of at least %s B, or a smaller array".formatted(2 * least));
  }

  /** Half as many arrays, or one. */
  private static int smaller(int tile, int array) {
    return tile <= array ? tile : Math.max(array, tile / 2 / array * array);
  }

  /** A plan whose {@link #lastBytes} are negative if it does not fit: by as many bytes. */
  private static ProductPlan of(TileGrid grid, Block block, Sizes s, int blockBytes, long room) {
    int down = block.down;
    int across = block.across;
    long height = Math.min(grid.tileM(), s.m);
    long width = Math.min(grid.tileN(), s.n);
    int wider = Math.max(grid.tileM(), grid.tileN());
    int step = Math.max(1, Math.min(DEEPEST, blockBytes / (wider * s.in.sizeBytes())));
    long tile = height * width;
    long tiles = (long) down * across * s.outputs;
    long sums = tile * tiles * s.in.accumulator().sizeBytes();
    long rounded =
        s.in.isF8() // scaled by both factors, and what a sum is added to
            ? 4 * tile * s.in.accumulator().sizeBytes()
            : s.in == s.in.accumulator() ? 0 : tile * s.in.sizeBytes();
    // rounded tiles that wait for their ending, what is made of them and what on the way to it
    long ends = s.results == 0 ? 0 : tile * s.in.sizeBytes() * (tiles + 4L * s.results);
    long added = s.adds ? tile * s.in.sizeBytes() * (tiles + 1) : 0;
    long one =
        (down * height + (long) across * s.outputs * width)
            * Math.min(step, s.k)
            * s.in.sizeBytes();
    long rest = room - sums - rounded - ends - added;
    long needed = block.isLarge() ? STEPS_AHEAD * one : one;
    long last = rest < needed ? rest - needed : Math.min(room - room / 4, rest);
    return new ProductPlan(grid, down, across, step, last, Math.max(last, rest));
  }
}
