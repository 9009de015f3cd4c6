package org.kernbench.nn.kernels;

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
 * @param lastBytes of operands that it has at once for the end of a product, at most
 */
record ProductPlan(TileGrid grid, int down, int across, int step, long lastBytes) {
  private static final int MOST_SIDE = 2;

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
      for (int side = MOST_SIDE; side >= 1; side--) {
        ProductPlan plan = of(grid, side, sizes, compute.blockBytes(), room);
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
  private static ProductPlan of(TileGrid grid, int side, Sizes s, int blockBytes, long room) {
    TileGrid.Rectangle most = grid.tilesOf(0, 0); // the first place has most
    int acrossMost = Math.max(1, side / s.outputs);
    int down = Math.clamp(most.rows().to() - most.rows().from(), 1, side);
    int across = Math.clamp(most.columns().to() - most.columns().from(), 1, acrossMost);
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
    return new ProductPlan(
        grid, side, acrossMost, step, rest < one ? rest - one : Math.min(room / 2, rest));
  }
}
