package org.kernbench.tl;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import org.kernbench.device.ComputeOp;
import org.kernbench.device.CostModel;
import org.kernbench.device.StreamCosts;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.BinaryOp;

/**
 * Chooses the tile of a {@link CompositeGemm}: the least predicted time over tiles that fit TCM,
 * without simulating.
 *
 * <p>The prediction is that of a pipeline whose slowest part decides: with {@code λ} the time of
 * one tile's loads alone, {@code t_l} the interval at which the DMA can bring tiles, {@code t_c}
 * the product and {@code t_e} the epilogue of an output,
 *
 * <pre>
 * step  = max(t_l, t_c, (λ + t_c) / buffers)
 * T     = λ + max(n_o n_k step + n_o t_e, n_o t_s, bytes / B) + drain + t_s
 * </pre>
 *
 * where {@code n_o n_k} steps make {@code n_o} outputs and {@code t_s} stores one. It differs from
 * the closed form D2 of {@code docs/spec/gemm.md} in that queues overlap the latency of loads and a
 * buffer is held while its load is under way.
 */
public final class TileSearch {
  /** What a tile is expected to take. */
  public record Prediction(TileShape tile, int buffers, double ps, long tcmBytes) {}

  private static final int FEWEST = 2;
  private static final int MOST = 4;

  private final StreamCosts costs;
  private final long roomBytes;

  /** For products whose operands lie in the PE's own slice of HBM. */
  public TileSearch(Machine machine, Pe pe) {
    this.costs = StreamCosts.of(machine, pe);
    this.roomBytes = costs.tcmBytes() * 3 / 4; // the kernel's own values need room too
  }

  /** The tile and buffers to use: those of the product, else of the machine, else the quickest. */
  Prediction choose(CompositeGemm gemm) {
    List<TileShape> tiles = new ArrayList<>();
    if (gemm.tile.isPresent()) {
      tiles.add(gemm.tile.get());
    } else if (costs.tileM() > 0) {
      tiles.add(new TileShape(costs.tileM(), costs.tileK(), costs.tileN()));
    } else {
      tiles.addAll(candidates(gemm));
    }
    return search(gemm, tiles).getFirst();
  }

  /**
   * Predictions for all candidates that fit, the quickest first; of equals, the one that takes less
   * TCM. If none fits, the smallest.
   */
  public List<Prediction> search(CompositeGemm gemm) {
    return search(gemm, candidates(gemm));
  }

  private List<Prediction> search(CompositeGemm gemm, List<TileShape> tiles) {
    int fixed = gemm.buffers.orElse(costs.buffers());
    long room = Math.max(roomBytes - gemm.residentBytes(), costs.tcmBytes() / 16);
    List<Prediction> fit = new ArrayList<>();
    Prediction least = predict(gemm, tiles.getFirst(), fixed > 0 ? fixed : FEWEST);
    for (TileShape t : tiles) {
      for (int buffers = fixed > 0 ? fixed : FEWEST; buffers <= Math.max(fixed, MOST); buffers++) {
        Prediction p = predict(gemm, t, buffers);
        if (p.tcmBytes() <= room) {
          fit.add(p);
        } else if (p.tcmBytes() < least.tcmBytes()) {
          least = p;
        }
        if (fixed > 0) {
          break;
        }
      }
    }
    fit.sort(Comparator.comparingDouble(Prediction::ps).thenComparingLong(Prediction::tcmBytes));
    return fit.isEmpty() ? List.of(least) : List.copyOf(fit);
  }

  private static List<TileShape> candidates(CompositeGemm gemm) {
    List<TileShape> all = new ArrayList<>();
    for (int m : candidates(gemm.m())) {
      for (int n : candidates(gemm.n())) {
        for (int k : candidates(gemm.k())) {
          all.add(new TileShape(m, k, n));
        }
      }
    }
    return all;
  }

  /** Powers of two from 16 to 1024 and even parts of the extent; the whole extent if small. */
  private static TreeSet<Integer> candidates(int extent) {
    TreeSet<Integer> sizes = new TreeSet<>();
    int least = Math.max(1, extent);
    for (int size = 16; size <= 1024; size *= 2) {
      sizes.add(Math.min(size, least));
    }
    for (int parts = 1; parts <= 8; parts++) {
      int size = Math.ceilDiv(least, parts);
      if (size <= 1024) {
        sizes.add(size);
      }
    }
    return sizes;
  }

  /** What a tile is expected to take, and the room it needs beside resident operands. */
  public Prediction predict(CompositeGemm gemm, TileShape t, int buffers) {
    int m = Math.min(t.m(), Math.max(1, gemm.m()));
    int n = Math.min(t.n(), Math.max(1, gemm.n()));
    int k = Math.min(t.k(), Math.max(1, gemm.k()));
    final long w = gemm.dtype().sizeBytes();
    final long sum = gemm.dtype().accumulator().sizeBytes();
    long aBytes = gemm.a.isInTcm() ? 0 : (long) m * k * w;
    long bBytes = gemm.b.isInTcm() ? 0 : (long) k * n * w;
    final long outBytes = (long) m * n * gemm.out().shard().dtype().sizeBytes();
    final double outputs = (double) gemm.m() / m * gemm.n() / n;
    final double stepsOfOutput = (double) gemm.k() / k;
    final double bytesPerPs = costs.bytesPerPs();
    final double latency = costs.latencyPs();
    final CostModel cost = costs.compute();

    int loads = (gemm.a.isInTcm() ? 0 : 1) + (gemm.b.isInTcm() ? 0 : 1);
    double serial = (aBytes + bBytes) / bytesPerPs;
    double interval = Math.max(serial, (loads * latency + serial) / costs.readQueues());
    double alone =
        loads == 0 ? 0 : serial + latency * Math.max(1, (double) loads / costs.readQueues());
    var product = new ComputeOp.Gemm(gemm.dtype(), gemm.dtype().accumulator(), m, n, k, true);
    double compute = cost.occupancyPs(product) + costs.dispatchPs();
    double drain = cost.durationPs(product) - cost.occupancyPs(product);
    double epilogue = epiloguePs(gemm, m * n);
    double step = Math.max(Math.max(interval, compute), (alone + compute) / buffers);
    double storeSerial = outBytes / bytesPerPs;
    double store = Math.max(storeSerial, (latency + storeSerial) / costs.writeQueues());
    double traffic = outputs * (stepsOfOutput * (aBytes + bBytes) + outBytes) / bytesPerPs;
    double busy = outputs * (stepsOfOutput * step + (epilogue > 0 ? epilogue + drain : 0));
    double ps =
        alone + Math.max(Math.max(busy, outputs * store), traffic) + drain + latency + storeSerial;
    long tcm = buffers * (aBytes + bBytes) + 2L * m * n * sum;
    return new Prediction(new TileShape(m, k, n), buffers, ps, tcm);
  }

  /** Each epilogue on an output tile is about one pass over its sums. */
  private double epiloguePs(CompositeGemm gemm, int elements) {
    long applied = gemm.epilogues.stream().filter(e -> e.scope() != Epilogue.Scope.KERNEL).count();
    var pass = new ComputeOp.BinaryScalar(BinaryOp.MUL, gemm.dtype().accumulator(), elements, 1);
    return applied * (double) costs.compute().durationPs(pass);
  }
}
