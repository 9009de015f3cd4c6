package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * A formula applied to rows that may be too wide for the TCM, such as those of logits: where {@link
 * #ALIVE} values as wide as a row do not fit the room that message queues leave to kernels, each
 * row is taken in pieces of its columns, one after the other, as few as fit. Where they fit, this
 * is {@link Compute#rows}.
 *
 * <p>Results of one number per row are formed of each piece, then merged in the order of the
 * pieces. How many there are depends on the machine and the width alone, so the results have the
 * same bits on any number of PEs and with any collectives beside them (ADR 0186).
 */
public final class WideRows implements Dependent {
  /** Values as wide as a row that a formula keeps alive at once, at most. */
  static final int ALIVE = 4;

  /** What is computed of a piece. */
  @FunctionalInterface
  public interface Formula {
    /**
     * @param x the operands in the working type: columns of wide ones, one number of others
     * @param first column of the piece
     * @param width columns of the piece
     * @return the results: as many columns of wide ones, one number of others
     */
    List<Value> apply(Tl tl, List<Value> x, int first, int width);
  }

  private final Compute compute;
  private final int rows;
  private final int columns;
  private final List<RowArg> in;
  private final List<RowArg> out;
  private final BinaryOperator<Value> merge;
  private final Formula formula;
  private final DType working;
  private final int pieces;

  /**
   * @param columns of wide operands and results; all others have one
   * @param in each with rows of its own
   * @param out each with rows of its own
   * @param merge of results of one number: that of the pieces before with the next
   */
  public WideRows(
      Compute compute,
      int rows,
      int columns,
      List<RowArg> in,
      List<RowArg> out,
      BinaryOperator<Value> merge,
      Formula formula) {
    this.compute = compute;
    this.rows = rows;
    this.columns = columns;
    this.in = in;
    this.out = out;
    this.merge = merge;
    this.formula = formula;
    this.working = Compute.working(out.getFirst().tensor().dtype());
    this.pieces = pieces(columns, working, compute.torch().roomBesideQueues());
  }

  /** Pieces of a row, the fewest of which {@link #ALIVE} fit. */
  static int pieces(int columns, DType working, long room) {
    long fitting = Math.max(1, room / ALIVE / working.sizeBytes());
    return Math.toIntExact(Math.ceilDiv(columns, fitting));
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(compute, rows, columns, in, out, merge, formula, working, pieces);
  }

  public void launch(String name) {
    if (pieces == 1) {
      compute.rows(name, rows, in, out, (tl, x) -> formula.apply(tl, x, 0, columns));
      return;
    }
    compute.cut(
        name,
        rows,
        tensors(out),
        tensors(in),
        (tl, from, to) -> {
          for (int row = from; row < to; row++) {
            row(tl, row);
          }
        });
  }

  private static List<Tensor> tensors(List<RowArg> of) {
    return of.stream().map(RowArg::tensor).toList();
  }

  private void row(Tl tl, int row) {
    try (Scope all = tl.scope()) {
      @Nullable Value[] numbers = new Value[in.size()];
      for (int i = 0; i < numbers.length; i++) {
        numbers[i] = isWide(in.get(i)) ? null : load(tl, in.get(i), row, 0, 1);
      }
      @Nullable Value[] merged = new Value[out.size()];
      for (int piece = 0; piece < pieces; piece++) {
        piece(tl, row, piece, numbers, merged);
      }
      for (int i = 0; i < merged.length; i++) {
        Value number = merged[i];
        if (number != null) {
          store(tl, out.get(i), row, 0, number);
        }
      }
    }
  }

  private void piece(
      Tl tl, int row, int piece, @Nullable Value[] numbers, @Nullable Value[] merged) {
    int first = Math.toIntExact((long) columns * piece / pieces);
    int width = Math.toIntExact((long) columns * (piece + 1) / pieces) - first;
    try (Scope inner = tl.scope()) {
      List<Value> x = new ArrayList<>();
      for (int i = 0; i < numbers.length; i++) {
        Value number = numbers[i];
        x.add(number == null ? load(tl, in.get(i), row, first, width) : number);
      }
      List<Value> made = formula.apply(tl, x, first, width);
      for (int i = 0; i < merged.length; i++) {
        if (isWide(out.get(i))) {
          store(tl, out.get(i), row, first, made.get(i));
        } else {
          Value before = merged[i];
          merged[i] = inner.keep(before == null ? made.get(i) : merge.apply(before, made.get(i)));
        }
      }
    }
  }

  private boolean isWide(RowArg a) {
    return a.columns() == columns;
  }

  private Value load(Tl tl, RowArg a, int row, int first, int width) {
    Value v = tl.load(tl.whole(a.tensor()).as(rows, a.columns()).block(row, 1, first, width));
    return v.dtype().isFloatingPoint() ? v.cast(working) : v;
  }

  private void store(Tl tl, RowArg a, int row, int first, Value v) {
    tl.store(
        tl.whole(a.tensor()).as(rows, a.columns()).block(row, 1, first, v.shape().dim(1)),
        v.cast(a.tensor().dtype()));
  }
}
