package org.kernbench.ccl.algorithms;

import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Wiring;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * Full vectors round rings: first along the rows of a grid, then along its columns. In each of the
 * {@code w - 1} and {@code h - 1} rounds a rank passes on the vector that it received last and adds
 * it. Moves more than a reduce-scatter does, but in the fewest steps: {@code (w-1) + (h-1)}.
 *
 * <p>What was received is passed on before it is added, and contributions are combined in a fixed
 * association ({@link OrderedFold}), so that all ranks have the same bits.
 */
final class TorusExchange implements RootExchange {
  private final int[][] ranks; // [y][x]
  private final int[] x;
  private final int[] y;
  private final String prefix;
  private final IpcqSpec queues;

  /**
   * An exchange.
   *
   * @param ranks by row and column
   * @param groupSize ranks of the whole group
   * @param prefix put before the direction names E, W, S, N
   */
  TorusExchange(int[][] ranks, int groupSize, String prefix, IpcqSpec queues) {
    this.ranks = ranks;
    this.prefix = prefix;
    this.queues = queues;
    this.x = new int[groupSize];
    this.y = new int[groupSize];
    for (int row = 0; row < ranks.length; row++) {
      for (int column = 0; column < ranks[row].length; column++) {
        x[ranks[row][column]] = column;
        y[ranks[row][column]] = row;
      }
    }
  }

  private int width() {
    return ranks[0].length;
  }

  private int height() {
    return ranks.length;
  }

  @Override
  public void wire(Wiring wiring) {
    for (int row = 0; row < height(); row++) {
      for (int column = 0; column < width(); column++) {
        int here = ranks[row][column];
        if (width() > 1) {
          wiring.join(here, prefix + "E", ranks[row][(column + 1) % width()], prefix + "W");
        }
        if (height() > 1) {
          wiring.join(here, prefix + "S", ranks[(row + 1) % height()][column], prefix + "N");
        }
      }
    }
  }

  @Override
  public int held() {
    // Of each size of partial result up to two: below and above the own place.
    int longest = Math.max(width(), height());
    return 2 * (32 - Integer.numberOfLeadingZeros(longest - 1));
  }

  @Override
  public Value run(Tl tl, int rank, Value own, Reduction reduction) {
    Value row = ring(tl, own, x[rank], width(), "E", "W", reduction);
    return ring(tl, row, y[rank], height(), "S", "N", reduction);
  }

  /**
   * On each axis of n: {@code (n - 1) (o + s/B + L)}, and additions along the association for what
   * comes last.
   */
  @Override
  public long formulaPs(Group group, long bytes, long additionPs) {
    long ps = 0;
    for (boolean rows : new boolean[] {true, false}) {
      int places = rows ? width() : height();
      int next = rows ? ranks[0][1 % width()] : ranks[1 % height()][0];
      if (places > 1) {
        LinkCosts hop =
            LinkCosts.between(group.machine(), group.lead(ranks[0][0]), group.lead(next));
        int additions = 32 - Integer.numberOfLeadingZeros(places - 1);
        ps += (places - 1) * hop.messagePs(bytes) + additions * additionPs;
      }
    }
    return ps;
  }

  private Value ring(
      Tl tl, Value own, int place, int places, String next, String previous, Reduction reduction) {
    OrderedFold fold = new OrderedFold(tl, reduction, places);
    // A value that waits for its sibling must not hold a slot that later ones need.
    boolean copy = places - 1 > queues.slots();
    if (places > 1) {
      tl.send(prefix + next, own);
    }
    fold.put(place, own);
    for (int round = 1; round < places; round++) {
      Value received =
          copy
              ? tl.recvCopy(prefix + previous, own.shape(), own.dtype())
              : tl.recv(prefix + previous, own.shape(), own.dtype());
      if (round < places - 1) {
        tl.send(prefix + next, received);
      }
      fold.put(Math.floorMod(place - round, places), received);
    }
    return fold.result();
  }
}
