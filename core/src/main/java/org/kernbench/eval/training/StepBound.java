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
 *
 * <p>Where each rank is a package, other packages need what a sum of gradients takes from it, all
 * of which follows from a loss: {@code T >= forward + gradients / ports + writes / B}, with all
 * links that leave a package at once.
 */
final class StepBound {
  private static final double ROUNDING = 1 - 1e-9;

  /** The backward pass has twice the products of the forward pass. */
  private static final int FORWARD_SHARE = 3;

  private final Machine machine;
  private final double flops;
  private final int ranks;
  private final int pes;
  private long mostMoved;
  private long mostAfterwards;
  private long mostSent;

  /**
   * A bound of products alone.
   *
   * @param flops of all ranks together
   * @param pes of each rank, whichever of them compute
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

  /** What a rank, a package of its own, must send for sums of gradients. */
  void sends(long bytes) {
    mostSent = Math.max(mostSent, bytes);
  }

  /** The products of all ranks at the peak of their engines. */
  long productsPs() {
    return TrainingFlops.boundPs(machine, flops, ranks * pes);
  }

  Bounds.Bound bound() {
    long products = productsPs();
    long afterwards = memoryPs(mostAfterwards);
    long moved = memoryPs(mostMoved);
    long summed = mostSent == 0 ? 0 : products / FORWARD_SHARE + sentPs() + afterwards;
    if (summed > Math.max(products + afterwards, moved)) {
      return new Bounds.Bound(summed, "forward pass, links, then memory");
    }
    if (moved > products + afterwards) {
      return new Bounds.Bound(moved, "memory");
    }
    String kind = afterwards == 0 ? "compute" : "compute, then memory";
    return new Bounds.Bound(products + afterwards, kind);
  }

  /** Through all links of the package that has the most, at once. */
  private long sentPs() {
    double most = 0;
    for (double rate : ratesOfPorts()) {
      most = Math.max(most, rate);
    }
    return (long) (mostSent / most * 1e12 * ROUNDING);
  }

  /** By package, the bytes per second of all links that leave it for other packages. */
  private double[] ratesOfPorts() {
    double[] rates = new double[machine.sips()];
    for (int link = 0; link < machine.linkCount(); link++) {
      int from = machine.packageOf(machine.linkFrom(link));
      int to = machine.linkTo(link);
      if (from < machine.sips() && to != machine.hostNode() && machine.packageOf(to) != from) {
        rates[from] += machine.specOf(link).rate().bytesPerSecond();
      }
    }
    return rates;
  }

  /** Tensors of a rank lie in the slices of the PEs that compute. */
  private long memoryPs(long bytes) {
    double seconds = bytes / ((double) pes * machine.hbm().rate().bytesPerSecond());
    return (long) (seconds * 1e12 * ROUNDING);
  }
}
