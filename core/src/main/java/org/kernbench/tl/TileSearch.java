package org.kernbench.tl;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.CostModel;
import org.kernbench.device.log.StreamCosts;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;

/**
 * Chooses the tile of a {@link CompositeGemm}: the quickest of those that fit TCM, without
 * simulating. A closed form ranks all candidates; from the best of them the search goes on to
 * neighbours, each followed command by command ({@link TileForecast}), until none is quicker.
 *
 * <p>The closed form is that of a pipeline whose slowest part decides: with {@code λ} the time of
 * one tile's loads alone, {@code t_l} the interval at which the DMA can bring tiles, {@code t_c}
 * the product and {@code t_e} the epilogue of an output,
 *
 * <pre>
 * step  = max(t_l, t_c, (λ + t_c) / buffers)
 * T     = λ + max(sum of step + n_o t_e, n_o t_s, bytes / B) + drain + t_s
 * </pre>
 *
 * where the sum is over {@code n_o n_k} steps, those at the edges with the tiles that are left
 * there; they make {@code n_o} outputs, and {@code t_s} stores one. It differs from the closed form
 * D2 of {@code docs/spec/gemm.md} in that queues overlap the latency of loads and a buffer is held
 * while its load is under way.
 *
 * <p>Candidates of an extent are multiples of the array, since a part of it costs as much as all of
 * it; the extent in 1, 2, 3, ... even parts; and powers of two. Of buffers, two, and as many as
 * hide the latency of the loads, up to 32.
 */
public final class TileSearch {
  /** What a tile is expected to take. */
  public record Prediction(TileShape tile, int buffers, int sets, double ps, long tcmBytes) {}

  private static final int FEWEST = 2;
  private static final int MOST = 32;

  /** Sizes along an extent that are ranked; their third power is what the closed form looks at. */
  private static final int CANDIDATES = 14;

  /** Sizes along an extent among which a climb goes on. */
  private static final int FINE = 48;

  /** Tiles that a climb begins with. */
  private static final int STARTS = 16;

  /** What a forecast is doubted by for each step, times the logarithm of their number. */
  private static final double DOUBT = 0.004;

  /** Outputs and depth of a block of multiprocessors: 64 x 64, 32 deep, as CUTLASS has for f16. */
  private static final int BLOCK = 64;

  private static final int BLOCK_DEPTH = 32;

  private static final int MOST_SETS = 8;

  /** Tiles that it follows before it stops. */
  private static final int LOOKS = 160;

  private static final Comparator<Prediction> QUICKEST =
      Comparator.comparingDouble(Prediction::ps).thenComparingLong(Prediction::tcmBytes);

  private final StreamCosts costs;
  private final long roomBytes;

  /** For products whose operands lie in the PE's own slice of HBM. */
  public TileSearch(Machine machine, Pe pe) {
    this.costs = StreamCosts.of(machine, pe);
    this.roomBytes = costs.tcmBytes() * 3 / 4; // the kernel's own values need room too
  }

  /**
   * The tile and buffers to use, with the time of the closed form: those of the product, else of
   * the machine, else the quickest. If none fits, the smallest.
   */
  public Prediction choose(CompositeGemm gemm) {
    List<Prediction> ranked = search(gemm, tiles(gemm));
    if (ranked.size() == 1 || gemm.m() == 0 || gemm.n() == 0 || gemm.k() == 0) {
      return ranked.getFirst();
    }
    Climb climb = new Climb(gemm);
    ranked.stream().filter(distinct()).limit(STARTS).forEach(climb::look);
    return climb.best();
  }

  /** One per size of the output tile: the others differ in depth and buffers, as a climb does. */
  private static Predicate<Prediction> distinct() {
    Set<Long> seen = new HashSet<>();
    return p -> seen.add((long) p.tile().m() << Integer.SIZE | p.tile().n());
  }

  /** From the quickest of some tiles to the next that is quicker, until no neighbour is. */
  private final class Climb {
    private final CompositeGemm gemm;
    private final boolean fixedTile;
    private final boolean fixedBuffers;
    private final NavigableSet<Integer> rows;
    private final NavigableSet<Integer> depths;
    private final NavigableSet<Integer> columns;
    private final Set<List<Integer>> seen = new HashSet<>();
    private @Nullable Prediction best;
    private double bestPs = Double.POSITIVE_INFINITY;

    Climb(CompositeGemm gemm) {
      this.gemm = gemm;
      this.fixedTile = gemm.tile.isPresent() || costs.tileM() > 0;
      this.fixedBuffers = gemm.buffers.isPresent() || costs.buffers() > 0;
      this.rows = rows(gemm, FINE);
      this.depths = depths(gemm, FINE);
      this.columns = columns(gemm, FINE);
    }

    void look(Prediction p) {
      if (seen.add(List.of(p.tile().m(), p.tile().k(), p.tile().n(), p.buffers()))) {
        double ps = forecastPs(p);
        // of equals the one of fewer steps: each is an occasion to wait
        double weighed = ps * (1 + DOUBT * StrictMath.log(1 + steps(p)));
        boolean less = best == null || p.tcmBytes() < best.tcmBytes();
        if (weighed < bestPs || (weighed == bestPs && less)) {
          bestPs = weighed;
          best = p;
        }
      }
    }

    /** Where a window of commands stalls the scheduler, a little decides when: the worse of two. */
    private double forecastPs(Prediction p) {
      int window = costs.commandWindow();
      int less = Math.max(2, window * 3 / 4);
      TileForecast whole = new TileForecast(costs, gemm, p.tile(), p.buffers(), window);
      double ps = whole.ps();
      return whole.fits(less)
          ? ps
          : Math.max(ps, new TileForecast(costs, gemm, p.tile(), p.buffers(), less).ps());
    }

    private long steps(Prediction p) {
      return TileStream.steps(gemm.m(), gemm.k(), gemm.n(), p.tile());
    }

    Prediction best() {
      Prediction from = Objects.requireNonNull(best);
      do {
        from = Objects.requireNonNull(best);
        TileShape t = from.tile();
        int more = Math.min(MOST, from.buffers() + Math.max(1, from.buffers() / 4));
        int fewer = Math.max(FEWEST, from.buffers() - Math.max(1, from.buffers() / 4));
        look(t.m(), t.k(), t.n(), more);
        look(t.m(), t.k(), t.n(), fewer);
        for (Move step : List.<Move>of(NavigableSet::higher, NavigableSet::lower)) {
          int m = step.from(rows, t.m());
          int k = step.from(depths, t.k());
          int n = step.from(columns, t.n());
          look(m, t.k(), t.n(), from.buffers());
          look(t.m(), k, t.n(), from.buffers());
          look(t.m(), t.k(), n, from.buffers());
          look(t.m(), k, t.n(), k > t.k() ? fewer : more);
          look(m, t.k(), n, from.buffers());
        }
      } while (best != from && seen.size() < LOOKS);
      return Objects.requireNonNull(best);
    }

    private void look(int m, int k, int n, int buffers) {
      boolean given = fixedTile || m == 0 || k == 0 || n == 0;
      TileShape t = given ? Objects.requireNonNull(best).tile() : new TileShape(m, k, n);
      Prediction p =
          predict(gemm, t, fixedBuffers ? Objects.requireNonNull(best).buffers() : buffers);
      if (p.tcmBytes() <= room(gemm)) {
        look(p);
      }
    }
  }

  private List<TileShape> tiles(CompositeGemm gemm) {
    if (gemm.tile.isPresent()) {
      return List.of(gemm.tile.get());
    }
    return costs.tileM() > 0
        ? List.of(new TileShape(costs.tileM(), costs.tileK(), costs.tileN()))
        : candidates(gemm);
  }

  /**
   * Predictions by the closed form for all candidates that fit, the quickest first; of equals, the
   * one that takes less TCM. If none fits, the smallest.
   */
  public List<Prediction> search(CompositeGemm gemm) {
    return search(gemm, candidates(gemm));
  }

  private List<Prediction> search(CompositeGemm gemm, List<TileShape> tiles) {
    int fixed = gemm.buffers.orElse(costs.buffers());
    long room = room(gemm);
    List<Prediction> fit = new ArrayList<>();
    Prediction least = predict(gemm, tiles.getFirst(), fixed > 0 ? fixed : FEWEST);
    for (TileShape t : tiles) {
      for (int buffers : fixed > 0 ? new int[] {fixed} : buffers(gemm, t)) {
        Prediction p = predict(gemm, t, buffers);
        if (p.tcmBytes() <= room) {
          fit.add(p);
        } else if (p.tcmBytes() < least.tcmBytes()) {
          least = p;
        }
      }
    }
    fit.sort(QUICKEST);
    return fit.isEmpty() ? List.of(least) : List.copyOf(fit);
  }

  private long room(CompositeGemm gemm) {
    return Math.max(roomBytes - gemm.residentBytes(), costs.tcmBytes() / 16);
  }

  /** The next larger or smaller candidate. */
  private interface Move {
    @Nullable Integer next(NavigableSet<Integer> sizes, Integer from);

    default int from(NavigableSet<Integer> sizes, int size) {
      Integer next = next(sizes, size);
      return next == null ? size : next;
    }
  }

  /** Two, and as many as it takes until the loads of a tile are hidden behind products. */
  private int[] buffers(CompositeGemm gemm, TileShape t) {
    Step s = step(gemm, t.m(), t.n(), t.k());
    double busy = Math.max(s.intervalPs, s.productPs);
    int hiding = (int) Math.min(MOST, Math.ceil((s.alonePs + s.productPs) / busy));
    return hiding <= FEWEST ? new int[] {FEWEST} : new int[] {FEWEST, hiding};
  }

  private List<TileShape> candidates(CompositeGemm gemm) {
    List<TileShape> all = new ArrayList<>();
    NavigableSet<Integer> depths = depths(gemm, CANDIDATES);
    NavigableSet<Integer> columns = columns(gemm, CANDIDATES);
    for (int m : rows(gemm, CANDIDATES)) {
      for (int n : columns) {
        for (int k : depths) {
          all.add(new TileShape(m, k, n));
        }
      }
    }
    return all;
  }

  /**
   * Of a batch, multiprocessors work in whole blocks: other sizes leave part of one idle in every
   * step, and products of a batch hide nothing of it.
   */
  private NavigableSet<Integer> inBlocks(
      CompositeGemm gemm, NavigableSet<Integer> sizes, int block) {
    if (followed(costs, gemm) > 1) {
      int whole = sizes.last();
      sizes.removeIf(size -> size % block != 0 && size != whole);
    }
    return sizes;
  }

  private NavigableSet<Integer> rows(CompositeGemm gemm, int most) {
    return inBlocks(gemm, candidates(gemm.m(), costs.arrayRows(), most), BLOCK);
  }

  private NavigableSet<Integer> columns(CompositeGemm gemm, int most) {
    return inBlocks(gemm, candidates(gemm.n(), costs.arrayColumns(), most), BLOCK);
  }

  private NavigableSet<Integer> depths(CompositeGemm gemm, int most) {
    return inBlocks(gemm, candidates(gemm.k(), 0, most), BLOCK_DEPTH);
  }

  /**
   * Sizes of a tile along an extent.
   *
   * @param array rows or columns of the array, 0 along k, which any size fills
   * @param most how many at most, about
   */
  private static TreeSet<Integer> candidates(int extent, int array, int most) {
    int whole = Math.max(1, extent);
    TreeSet<Integer> sizes = new TreeSet<>();
    sizes.add(whole);
    for (int times = 1; times <= most / 3 && array > 0; times++) {
      sizes.add((int) Math.min(whole, (long) times * array));
    }
    for (int parts = 2; parts <= most / 3; parts++) {
      sizes.add(Math.ceilDiv(whole, parts));
    }
    for (int size = 16; size < whole && sizes.size() < most; size *= 2) {
      sizes.add(size);
    }
    for (int parts = most / 3; parts < whole && sizes.size() < most; parts++) {
      sizes.add(Math.ceilDiv(whole, parts));
    }
    return sizes;
  }

  /** What a tile is expected to take, and the room it needs beside resident operands. */
  public Prediction predict(CompositeGemm gemm, TileShape t, int buffers) {
    int m = Math.min(t.m(), Math.max(1, gemm.m()));
    int n = Math.min(t.n(), Math.max(1, gemm.n()));
    int k = Math.min(t.k(), Math.max(1, gemm.k()));
    final Step step = step(gemm, m, n, k);
    final double bytesPerPs = costs.bytesPerPs();
    final long outBytes = (long) m * n * gemm.out().shard().dtype().sizeBytes();
    final double outputs = (double) followed(costs, gemm) * gemm.m() / m * gemm.n() / n;
    final double steps = outputs * gemm.k() / k;
    double product = step.productPs * ragged(gemm.m(), m, costs.arrayRows());
    product *= ragged(gemm.n(), n, costs.arrayColumns());
    double pace =
        Math.max(Math.max(step.intervalPs, product), (step.alonePs + step.productPs) / buffers);
    double epilogue = passes(gemm) * passPs(costs, gemm.dtype(), m * n);
    double storeSerial = outBytes / bytesPerPs;
    double store = Math.max(storeSerial, (costs.latencyPs() + storeSerial) / costs.writeQueues());
    double traffic = (steps * step.loadBytes + outputs * outBytes) / bytesPerPs;
    double busy = steps * pace + (epilogue > 0 ? outputs * (epilogue + step.drainPs) : 0);
    double ps =
        step.alonePs
            + Math.max(Math.max(busy, outputs * store), traffic)
            + step.drainPs
            + costs.latencyPs()
            + storeSerial;
    long sum = gemm.dtype().accumulator().sizeBytes();
    int sets = setsOfSums(costs, gemm, buffers);
    long tcm = buffers * step.loadBytes + (long) sets * m * n * sum;
    return new Prediction(new TileShape(m, k, n), buffers, sets, ps, tcm);
  }

  /** What the array works along an extent in tiles over what it would if all were whole. */
  private static double ragged(int extent, int size, int array) {
    int whole = extent / size;
    long folds = (long) whole * Math.ceilDiv(size, array) + Math.ceilDiv(extent % size, array);
    return folds / (Math.ceilDiv(size, array) * ((double) extent / size));
  }

  /**
   * The stages of a whole step, in picoseconds.
   *
   * @param loadBytes of its tiles, of operands that are streamed
   * @param alonePs of its loads with nobody in their way
   * @param intervalPs in which the DMA can bring the tiles of a step
   * @param productPs for which the product keeps the array
   * @param drainPs until its sums are out
   */
  private record Step(
      long loadBytes, double alonePs, double intervalPs, double productPs, double drainPs) {}

  private Step step(CompositeGemm gemm, int m, int n, int k) {
    long w = gemm.dtype().sizeBytes();
    long loadBytes = (gemm.a.isInTcm() ? 0 : m * w * k) + (gemm.b.isInTcm() ? 0 : k * w * n);
    int loads = (gemm.a.isInTcm() ? 0 : 1) + (gemm.b.isInTcm() ? 0 : 1);
    double latency = costs.latencyPs();
    double serial = loadBytes / costs.bytesPerPs();
    CostModel cost = costs.compute();
    var product =
        new ComputeOp.Gemm(gemm.dtype(), gemm.dtype().accumulator(), m, n, k, true, gemm.whole());
    double occupancy = cost.occupancyPs(product);
    return new Step(
        loadBytes,
        loads == 0 ? 0 : serial + latency * Math.max(1, (double) loads / costs.readQueues()),
        Math.max(serial, (loads * latency + serial) / costs.readQueues()),
        occupancy + costs.dispatchPs(),
        cost.durationPs(product) - occupancy);
  }

  /** Products that a search looks at together: a batch on multiprocessors, else one. */
  static int followed(StreamCosts costs, CompositeGemm gemm) {
    return costs.compute().isInWaves() ? gemm.batch : 1;
  }

  /**
   * Output tiles that are summed or stored at once. One array makes the next while one is stored;
   * of a batch, multiprocessors have as many under way as they hold tiles of operands.
   */
  static int setsOfSums(StreamCosts costs, CompositeGemm gemm, int buffers) {
    return followed(costs, gemm) > 1 ? Math.clamp(buffers, 2, MOST_SETS) : 2;
  }

  /** Epilogues that go over the sums of an output tile. */
  static long passes(CompositeGemm gemm) {
    return gemm.epilogues.stream().filter(e -> e.when() != Epilogue.When.KERNEL).count();
  }

  /** Each epilogue on an output tile is about one pass over its sums. */
  static double passPs(StreamCosts costs, DType dtype, int elements) {
    var pass = new ComputeOp.BinaryScalar(BinaryOp.MUL, dtype.accumulator(), elements, 1);
    return costs.compute().durationPs(pass);
  }
}
