package org.kernbench.nn.kernels;

import java.util.List;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.machine.spec.IssuePolicy;

/**
 * A lower bound of the time of products whose sums are each made by one PE over all of k, block by
 * block: a block of {@code r x c} sums, which its TCM holds at once, needs {@code (r + c) k}
 * elements, so {@code e} sums need at least {@code f(e) = 2 sqrt(e) k} (or {@code (s + e / s) k} if
 * the matrix has only {@code s} rows or columns). Because {@code f(e) / e} falls with {@code e},
 * all operands that PEs load are at least {@code f(c) / c} for each sum, where no PE makes more
 * than {@code c} in the time, and no block has more.
 *
 * <p>They come out of the slices of HBM, into which results go, and through the link of each PE.
 * Where commands are issued one after the other, a PE multiplies nothing while it loads or stores.
 */
final class OperandBound {
  private static final double ROUNDING = 1 - 1e-9;
  private static final int HALVINGS = 80;

  /** Of the rate of HBM, by loads of many PEs (ADR 0322). */
  private static final double REACHED = 0.85;

  /** Bytes. */
  private static final long MANY = 1L << 36;

  /**
   * A product.
   *
   * @param n columns of all results together, if several have one left operand
   * @param inBytes of an element of the operands
   * @param sumBytes of a sum
   * @param rate how often the array multiplies in the time of one product
   * @param stored bytes of all results
   */
  record Made(double m, double n, double k, int inBytes, int sumBytes, double rate, long stored) {
    private double sums() {
      return m * n;
    }

    /** Bytes of operands of so many sums, at least. */
    private double bytes(double sums) {
      double side = Math.sqrt(sums);
      double least = Math.min(m, n);
      return k * inBytes * (side <= least ? 2 * side : least + sums / least);
    }
  }

  private final int pes;
  private final boolean serial;
  private final double room;
  private final double macsPerSecond;
  private final double hbmPerSecond;
  private final double portPerSecond;

  OperandBound(Compute compute) {
    Machine machine = compute.torch().machine();
    GemmSpec gemm = machine.pe().gemm();
    Pe first = compute.mesh().pe(0);
    int[] way = machine.route(machine.hbmNode(first), machine.peNode(first)).links();
    this.pes = compute.mesh().size();
    this.serial = isSerial(machine);
    this.room = compute.torch().roomBesideQueues();
    this.macsPerSecond = (double) gemm.macsPerCycle() * gemm.clockHz();
    this.hbmPerSecond = bytesPerSecond(machine, way[0]);
    this.portPerSecond = bytesPerSecond(machine, way[way.length - 1]);
  }

  /** The rate of a link, not rounded to picoseconds for each byte. */
  static double bytesPerSecond(Machine machine, int link) {
    return MANY * 1e12 / machine.specOf(link).durationPs(MANY);
  }

  /** Whether a PE of the machine multiplies nothing while it loads or stores. */
  static boolean isSerial(Machine machine) {
    return machine.pe().cpu().issue() == IssuePolicy.SERIAL;
  }

  /**
   * Whether loads for products keep a PE as long as the products keep its array, or longer: they
   * meet those of others and reach only so much of the rate.
   *
   * @param macs products of two numbers
   * @param rate how often the array multiplies in the time of one product
   * @param bytes that it loads
   */
  boolean loadsDecide(double macs, double rate, double bytes) {
    double loading = bytes / (REACHED * Math.min(hbmPerSecond, portPerSecond));
    return serial || loading > macs / (macsPerSecond * rate);
  }

  /** The least time of some products in one launch. */
  long leastPs(List<Made> products) {
    double above = 1e-12;
    while (!isEnough(above, products)) {
      above *= 2;
    }
    double below = above / 2;
    for (int i = 0; i < HALVINGS; i++) {
      double middle = (below + above) / 2;
      if (isEnough(middle, products)) {
        above = middle;
      } else {
        below = middle;
      }
    }
    return (long) (below * 1e12 * ROUNDING);
  }

  private boolean isEnough(double seconds, List<Made> products) {
    double multiplying = 0;
    double loaded = 0;
    double stored = 0;
    for (Made p : products) {
      double block = Math.min(most(seconds, p), Math.min(p.sums(), room / p.sumBytes));
      multiplying += p.sums() * p.k / (macsPerSecond * p.rate);
      loaded += p.sums() * p.bytes(block) / block;
      stored += p.stored;
    }
    double all = seconds * pes;
    boolean reaches =
        serial
            ? multiplying + (loaded + stored) / portPerSecond <= all
            : multiplying <= all && loaded / portPerSecond <= all;
    return reaches && (loaded + stored) / hbmPerSecond <= all;
  }

  /** Sums that a PE can make in a time, at most. */
  private double most(double seconds, Made p) {
    double below = 0;
    double above = Math.max(1, seconds * macsPerSecond * p.rate / p.k);
    for (int i = 0; i < HALVINGS; i++) {
      double middle = (below + above) / 2;
      double multiplying = middle * p.k / (macsPerSecond * p.rate);
      double loading = p.bytes(middle) / portPerSecond;
      double both = serial ? multiplying + loading : Math.max(multiplying, loading);
      if (both <= seconds) {
        below = middle;
      } else {
        above = middle;
      }
    }
    return Math.max(above, Double.MIN_NORMAL);
  }
}
