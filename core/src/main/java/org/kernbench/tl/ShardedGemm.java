package org.kernbench.tl;

import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/**
 * Products over several PEs: what each program does with its shards. The host lays out the shards
 * and connects the queues; ranks are numbered along a ring or a grid.
 *
 * <table>
 * <caption>{@code Y[M, N] = A[M, K] B[K, N]} over p ranks</caption>
 * <tr><th>kernel</th><th>a rank holds</th><th>moves</th></tr>
 * <tr><td>column split: a {@link CompositeGemm}</td><td>A, B and Y by columns</td><td>nothing</td></tr>
 * <tr><td>{@link #splitK}</td><td>A by columns, B by rows, Y by rows</td>
 *     <td>(p - 1)/p of the partial sums</td></tr>
 * <tr><td>{@link #ring}</td><td>A by rows, B and Y by columns</td>
 *     <td>A once around, behind the products</td></tr>
 * <tr><td>{@link #summa}</td><td>blocks of a grid</td><td>A along rows, B along columns</td></tr>
 * </table>
 */
public final class ShardedGemm {
  private ShardedGemm() {}

  /**
   * A program's place in a ring.
   *
   * @param rank from 0
   * @param size of the ring
   * @param next direction of the rank after it
   * @param previous direction of the rank before it
   */
  public record Ring(int rank, int size, String next, String previous) {
    int at(int steps) {
      return Math.floorMod(rank + steps, size);
    }
  }

  /**
   * A program's place in a square grid of rings.
   *
   * @param row from 0
   * @param column from 0
   * @param size ranks along each side
   * @param east direction of the next column; rows are rings
   * @param west of the column before
   * @param south of the next row; columns are rings
   * @param north of the row before
   */
  public record Grid(
      int row, int column, int size, String east, String west, String south, String north) {}

  /** First row of part {@code i} if {@code extent} rows are divided over {@code parts}. */
  public static int start(int extent, int i, int parts) {
    return i * (extent / parts) + Math.min(i, extent % parts);
  }

  /**
   * Collective product: {@code y = A b} for all of A, whose row blocks go round the ring while they
   * are multiplied. A block is sent on before its product begins, so the next one arrives behind
   * it: {@code T = t_c + (p - 1) max(t_c, o + L + s/B)}.
   *
   * @param ownA rows {@code start(M, rank, size)} and on of A
   * @param b {@code [K, n]}, in memory; read once and kept in TCM
   * @param y {@code [M, n]}
   */
  public static void ring(Tl tl, Ring me, Slice ownA, Slice b, Slice y) {
    int m = y.shape().dim(0);
    int k = b.shape().dim(0);
    int n = b.shape().dim(1);
    DType type = ownA.shard().dtype();
    Value weights = tl.load(b);
    Value block = tl.load(ownA);
    for (int step = 0; step < me.size; step++) {
      int owner = me.at(-step);
      if (step < me.size - 1) {
        tl.send(me.next, block);
      }
      int first = start(m, owner, me.size);
      int rows = start(m, owner + 1, me.size) - first;
      tl.composite(CompositeGemm.of(block, weights).into(y.block(first, rows, 0, n)));
      tl.release(block);
      if (step < me.size - 1) {
        int before = me.at(-step - 1);
        int nextRows = start(m, before + 1, me.size) - start(m, before, me.size);
        block = tl.recvAsync(me.previous, Shape.of(nextRows, k), type);
      }
    }
  }

  /**
   * K split: each rank multiplies its part of K, then the partial sums are reduced around the ring
   * and scattered by rows. Row blocks are multiplied in the order in which they travel, so the
   * reduction of one overlaps the product of the next. Sums travel and are added in the
   * accumulator's type.
   *
   * @param a {@code [M, K_rank]}
   * @param b {@code [K_rank, N]}
   * @param partial {@code [M, N]} of the accumulator's type, scratch
   * @param ownY rows {@code start(M, rank, size)} and on of Y
   */
  public static void splitK(Tl tl, Ring me, Slice a, Slice b, Slice partial, Slice ownY) {
    int m = a.shape().dim(0);
    int n = b.shape().dim(1);
    Handle[] done = new Handle[me.size];
    for (int step = 0; step < me.size; step++) {
      int block = me.at(-1 - step);
      int first = start(m, block, me.size);
      int rows = start(m, block + 1, me.size) - first;
      done[step] =
          tl.composite(
              CompositeGemm.of(a.block(first, rows, 0, a.shape().dim(1)), b)
                  .into(partial.block(first, rows, 0, n)));
    }
    Value sums = partialBlock(tl, me, partial, m, n, done, 0);
    for (int step = 1; step < me.size; step++) {
      tl.send(me.next, sums);
      tl.release(sums);
      Value own = partialBlock(tl, me, partial, m, n, done, step);
      Value arrived = tl.recv(me.previous, own.shape(), own.dtype());
      sums = arrived.add(own);
      tl.release(arrived);
      tl.release(own);
    }
    tl.store(ownY, sums.cast(ownY.shard().dtype()));
  }

  private static Value partialBlock(
      Tl tl, Ring me, Slice partial, int m, int n, Handle[] done, int step) {
    int block = me.at(-1 - step);
    int first = start(m, block, me.size);
    tl.await(done[step]);
    return tl.load(partial.block(first, start(m, block + 1, me.size) - first, 0, n));
  }

  /**
   * SUMMA: in step {@code s} the blocks of A in column {@code s} go along their rows and the blocks
   * of B in row {@code s} along their columns, from rank to rank; each rank adds their product to
   * its sums, which stay in TCM.
   *
   * @param a this rank's block of A
   * @param b this rank's block of B
   * @param y this rank's block of Y
   * @param depths extent of K of each step, as many as the side of the grid
   */
  public static void summa(Tl tl, Grid me, Slice a, Slice b, Slice y, int... depths) {
    int m = y.shape().dim(0);
    int n = y.shape().dim(1);
    DType type = a.shard().dtype();
    Value sums = tl.zeros(Shape.of(m, n), type.accumulator());
    for (int step = 0; step < me.size; step++) {
      Value left =
          me.column == step ? tl.load(a) : tl.recv(me.west, Shape.of(m, depths[step]), type);
      if ((me.column + 1) % me.size != step) {
        tl.send(me.east, left);
      }
      Value above =
          me.row == step ? tl.load(b) : tl.recv(me.north, Shape.of(depths[step], n), type);
      if ((me.row + 1) % me.size != step) {
        tl.send(me.south, above);
      }
      sums = tl.dotInPlace(sums, left, above);
      tl.release(left);
      tl.release(above);
    }
    tl.store(y, sums.cast(y.shard().dtype()));
  }

  /**
   * Grouped product: {@code y[g] = a[g] b[g]} for the groups of a rank, one composite after the
   * other; the first tiles of one are read while the last of the one before is multiplied. Groups
   * may have any number of rows, also none.
   */
  public static void grouped(Tl tl, Slice[] a, Slice[] b, Slice[] y) {
    for (int g = 0; g < a.length; g++) {
      if (a[g].shape().dim(0) > 0) {
        tl.composite(CompositeGemm.of(a[g], b[g]).into(y[g]));
      }
    }
  }
}
