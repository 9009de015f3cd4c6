package org.kernbench.eval.training;

import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.machine.Machine;

/**
 * A lower bound of a training step, or of a part of one: its products on the GEMM engines of all
 * ranks at their peak, and what a rank's slice of HBM must read and write.
 *
 * <p>Gradients are shrunk by the norm of all of them before an optimizer sees them, so a step's
 * last writes come after its last product: {@code T >= products + writes / B}. Reads may have come
 * before, as far as the TCM holds, so they count only in {@code T >= (reads + writes) / B}.
 */
final class StepBound {
  private static final double ROUNDING = 1 - 1e-9;

  private final Machine machine;
  private final double flops;
  private final int ranks;
  private final int pes;
  private long mostMoved;
  private long mostAfterwards;

  /**
   * A bound of products alone.
   *
   * @param flops of all ranks together
   * @param pes that compute in each rank
   */
  StepBound(Machine machine, double flops, int ranks, int pes) {
    this.machine = machine;
    this.flops = flops;
    this.ranks = ranks;
    this.pes = pes;
  }

  /** What a rank's memory must read and write at any time. */
  void moves(long bytes) {
    mostMoved = Math.max(mostMoved, bytes);
  }

  /** What a rank's optimizer must read, and write when all products are done. */
  void changes(long bytesRead, long bytesWritten) {
    moves(bytesRead + bytesWritten);
    mostAfterwards = Math.max(mostAfterwards, bytesWritten);
  }

  /** The products of all ranks at the peak of their engines. */
  long productsPs() {
    return TrainingFlops.boundPs(machine, flops, ranks * pes);
  }

  Bounds.Bound bound() {
    long products = productsPs();
    long afterwards = memoryPs(mostAfterwards);
    long moved = memoryPs(mostMoved);
    if (moved > products + afterwards) {
      return new Bounds.Bound(moved, "memory");
    }
    String kind = afterwards == 0 ? "compute" : "compute, then memory";
    return new Bounds.Bound(products + afterwards, kind);
  }

  /** Tensors of a rank lie in the slices of the PEs that compute. */
  private long memoryPs(long bytes) {
    double seconds = bytes / ((double) pes * machine.hbm().rate().bytesPerSecond());
    return (long) (seconds * 1e12 * ROUNDING);
  }
}
