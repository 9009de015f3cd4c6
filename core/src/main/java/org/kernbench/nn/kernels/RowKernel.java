package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.nn.kernels.Compute.RowFormula;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.ElementRun;
import org.kernbench.torch.Tensor;

/**
 * A formula applied to blocks of rows, by PEs that have the rows of a share each.
 *
 * <p>Sums over rows have an order of their own: rows are taken in {@linkplain #sumRows sum blocks},
 * each of which one PE adds up from its first row on; then the sums of the blocks are added in
 * their order. The blocks depend on the number of rows alone, so the sums have the same bits
 * whichever PE has which block (ADR 0101).
 */
final class RowKernel implements Dependent {
  /** Rows of a sum block at least, and sum blocks at most. */
  private static final int LEAST_ROWS = 16;

  private static final int MOST_BLOCKS = 256;

  private final Compute compute;
  private final String name;
  private final int rows;
  private final List<RowArg> in;
  private final List<RowArg> out;
  private final RowFormula formula;
  private final DType working;
  private final int block;

  RowKernel(
      Compute compute,
      String name,
      int rows,
      List<RowArg> in,
      List<RowArg> out,
      RowFormula formula) {
    this.compute = compute;
    this.name = name;
    this.rows = rows;
    this.in = in;
    this.out = out;
    this.formula = formula;
    this.working = Compute.working(out.getFirst().tensor().dtype());
    int widest = 1;
    for (RowArg a : in) {
      widest = Math.max(widest, a.columns());
    }
    for (RowArg a : out) {
      widest = Math.max(widest, a.columns());
    }
    this.block = Math.max(1, compute.blockBytes() / (widest * working.sizeBytes()));
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(compute, rows, in, out, formula, working, block);
  }

  /** Rows that are added up one after the other. */
  static int sumRows(int rows) {
    return Math.max(LEAST_ROWS, Math.ceilDiv(rows, MOST_BLOCKS));
  }

  void launch() {
    List<Tensor> written = tensors(out);
    List<Tensor> read = tensors(in);
    if (out.stream().allMatch(RowArg::rowwise)) {
      compute.cut(
          name,
          rows,
          written,
          read,
          (tl, from, to) -> {
            try (Share share = new Share(tl, out)) {
              share.run(from, to);
            }
          });
      return;
    }
    int each = sumRows(rows);
    int blocks = Math.max(1, Math.ceilDiv(rows, each));
    if (blocks == 1) {
      compute.cut(
          name,
          1,
          written,
          read,
          (tl, from, to) -> {
            try (Share share = new Share(tl, out)) {
              share.block(0, 0, rows);
            }
          });
      return;
    }
    inBlocks(read, each, blocks);
  }

  private static List<Tensor> tensors(List<RowArg> of) {
    return of.stream().map(RowArg::tensor).toList();
  }

  /** Adds up each sum block, then the sums of the blocks. */
  private void inBlocks(List<Tensor> read, int each, int blocks) {
    List<RowArg> partly = new ArrayList<>();
    for (RowArg a : out) {
      partly.add(a.rowwise() ? a : RowArg.once(partial(a, blocks), a.columns()));
    }
    List<List<Integer>> dealt = nearOperand(each, blocks);
    compute.deal(
        name,
        dealt.size(),
        tensors(partly),
        read,
        (tl, place, places) -> {
          if (dealt.get(place).isEmpty()) {
            return;
          }
          try (Share share = new Share(tl, partly)) {
            for (int b : dealt.get(place)) {
              share.block(b, b * each, Math.min(rows, (b + 1) * each));
            }
          }
        });
    for (int i = 0; i < out.size(); i++) {
      if (!out.get(i).rowwise()) {
        addUp(partly.get(i).tensor(), out.get(i), blocks);
        partly.get(i).tensor().close();
      }
    }
  }

  /**
   * The blocks of each place: those that begin in its memory, if the first operand lies in another
   * order than that of its rows and all have about as many; otherwise evenly, in their order.
   */
  private List<List<Integer>> nearOperand(int each, int blocks) {
    int places = Math.min(blocks, compute.places());
    List<List<Integer>> near = none(compute.places());
    RowArg first = in.getFirst();
    if (compute.places() > 1 && first.rowwise()) {
      first
          .tensor()
          .runs()
          .forEach((pe, runs) -> {
            for (ElementRun run : runs) {
              long step = (long) each * first.columns();
              for (long b = Math.ceilDiv(run.start(), step);
                  b * step < run.start() + run.count() && b < blocks;
                  b++) {
                near.get(compute.mesh().placeOf(pe)).add((int) b);
              }
            }
          });
      int most = near.stream().mapToInt(List::size).max().orElse(0);
      int found = near.stream().mapToInt(List::size).sum();
      if (found == blocks && most <= Math.ceilDiv(blocks, places)) {
        return near;
      }
    }
    List<List<Integer>> even = none(places);
    for (int place = 0, b = 0; place < places; place++) {
      int count = blocks / places + (place < blocks % places ? 1 : 0);
      for (int i = 0; i < count; i++) {
        even.get(place).add(b++);
      }
    }
    return even;
  }

  private static List<List<Integer>> none(int places) {
    return IntStream.range(0, places).<List<Integer>>mapToObj(i -> new ArrayList<>()).toList();
  }

  private Tensor partial(RowArg of, int blocks) {
    Shape shape = Shape.of(blocks, of.columns());
    return Compute.spread(compute.torch(), name + "-part", shape, working);
  }

  /** Adds the rows of a matrix in their order; each PE has some of the columns. */
  private void addUp(Tensor parts, RowArg to, int blocks) {
    int columns = to.columns();
    int most = Math.max(1, compute.blockBytes() / (blocks * working.sizeBytes()));
    compute.cut(
        name + "-sum",
        columns,
        List.of(to.tensor()),
        List.of(parts),
        (tl, from, behind) -> {
          for (int column = from; column < behind; column += most) {
            int width = Math.min(most, behind - column);
            try (Scope one = tl.scope()) {
              Value all =
                  tl.load(tl.whole(parts).as(blocks, columns).block(0, blocks, column, width));
              tl.store(
                  tl.whole(to.tensor()).range(column, width), all.sum(0).cast(to.tensor().dtype()));
            }
          }
        });
  }

  /** What one PE does. */
  private final class Share implements AutoCloseable {
    private final Tl tl;
    private final List<RowArg> results;
    private final Scope outer;
    private final @Nullable Value[] once = new Value[in.size()];

    Share(Tl tl, List<RowArg> results) {
      this.tl = tl;
      this.results = results;
      this.outer = tl.scope();
      for (int i = 0; i < once.length; i++) {
        once[i] = in.get(i).rowwise() ? null : widen(tl.load(row(in.get(i), 1, 0)));
      }
    }

    @Override
    public void close() {
      outer.close();
    }

    /** Rows without sums. */
    void run(int from, int to) {
      @Nullable Value[] sums = new Value[results.size()];
      steps(from, to, sums);
    }

    /** Rows of one sum block, whose sums are row {@code index} of what is stored. */
    void block(int index, int from, int to) {
      try (Scope all = tl.scope()) {
        @Nullable Value[] sums = new Value[results.size()];
        for (int i = 0; i < sums.length; i++) {
          if (!results.get(i).rowwise()) {
            sums[i] = tl.zeros(Shape.of(1, results.get(i).columns()), working);
          }
        }
        steps(from, to, sums);
        for (int i = 0; i < sums.length; i++) {
          Value sum = sums[i];
          if (sum != null) {
            RowArg a = results.get(i);
            int height = Math.toIntExact(a.tensor().shape().elements() / a.columns());
            tl.store(row(a, height, index), narrow(sum, a));
          }
        }
      }
    }

    private void steps(int from, int to, @Nullable Value[] sums) {
      for (int row = from; row < to; row += block) {
        step(row, Math.min(block, to - row), sums);
      }
    }

    private void step(int row, int count, @Nullable Value[] sums) {
      try (Scope inner = tl.scope()) {
        List<Value> x = new ArrayList<>();
        for (int i = 0; i < in.size(); i++) {
          Value all = once[i];
          x.add(all == null ? widen(tl.load(rowsOf(in.get(i), row, count))) : all);
        }
        List<Value> made = formula.apply(tl, x);
        for (int i = 0; i < made.size(); i++) {
          RowArg a = results.get(i);
          Value before = sums[i];
          if (before == null) {
            tl.store(rowsOf(a, row, count), narrow(made.get(i), a));
          } else {
            sums[i] = inner.keep(before.add(made.get(i)));
            tl.release(before);
          }
        }
      }
    }

    private Slice row(RowArg a, int height, int index) {
      return tl.whole(a.tensor()).as(height, a.columns()).block(index, 1, 0, a.columns());
    }

    private Slice rowsOf(RowArg a, int row, int count) {
      return tl.whole(a.tensor()).as(rows, a.columns()).block(row, count, 0, a.columns());
    }

    private Value widen(Value v) {
      return v.dtype().isFloatingPoint() ? v.cast(working) : v;
    }

    private static Value narrow(Value v, RowArg a) {
      return v.cast(a.tensor().dtype());
    }
  }
}
