package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.kernels.Compute.RowArg;
import org.kernbench.nn.kernels.Compute.RowFormula;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
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

  /** Values that are added up at once take as much room as so many others. */
  private static final int SUM_BLOCKS = 4;

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
              share.block(rows);
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

  /**
   * Who adds up the sums of blocks: some columns each at every {@code step}-th place. A block's
   * sums go to as many memories, and what each gets is read there at once: about the root of the
   * places, for a store takes as long as some memories and a load as some bytes (ADR 0281).
   */
  private record Adders(int step, int count, int width) {
    static Adders of(int places, int columns) {
      int step = Math.max(1, (int) Math.sqrt(places));
      int width = Math.ceilDiv(columns, Math.ceilDiv(places, step));
      return new Adders(step, Math.ceilDiv(columns, width), width);
    }
  }

  private Adders adders(int columns) {
    return Adders.of(compute.places(), columns);
  }

  /** Room for the sums of blocks, {@code [places, blocks, width]}, of which adders use theirs. */
  private Tensor partial(RowArg of, int blocks) {
    Adders by = adders(of.columns());
    Shape shape = Shape.of(compute.places(), blocks * by.width);
    return Compute.spread(compute.torch(), name + "-part", shape, working);
  }

  /** Stores the sums of one block, {@code [1, columns]}, to those who add them up. */
  private void storePart(Tl tl, Tensor parts, int block, Value sums) {
    int columns = sums.shape().dim(1);
    Adders by = adders(columns);
    int each = parts.shape().dim(1);
    for (int i = 0; i < by.count; i++) {
      int first = i * by.width;
      int count = Math.min(by.width, columns - first);
      tl.store(
          tl.whole(parts).range(i * by.step * each + block * by.width, count),
          sums.range(first, count));
    }
  }

  /** Adds the sums of blocks in their order. */
  private void addUp(Tensor parts, RowArg to, int blocks) {
    Adders by = adders(to.columns());
    compute.deal(
        name + "-sum",
        (by.count - 1) * by.step + 1,
        List.of(to.tensor()),
        List.of(parts),
        (tl, place, places) -> {
          if (place % by.step == 0) {
            addUp(tl, parts, to, blocks, place, place / by.step * by.width);
          }
        });
  }

  /** As many blocks at once as there is room for; the sum so far goes before the next. */
  private void addUp(Tl tl, Tensor parts, RowArg to, int blocks, int place, int first) {
    int width = adders(to.columns()).width;
    int count = Math.min(width, to.columns() - first);
    int most = Math.max(1, SUM_BLOCKS * compute.blockBytes() / (width * working.sizeBytes()));
    Shard own = tl.whole(parts).as(compute.places() * blocks, width);
    try (Scope all = tl.scope()) {
      Value sum = null;
      for (int b = 0; b < blocks; b += most) {
        Value next = tl.load(own.block(place * blocks + b, Math.min(most, blocks - b), 0, count));
        sum = (sum == null ? next : tl.concat(0, sum, next)).sum(0).reshape(1, count);
      }
      tl.store(
          tl.whole(to.tensor()).range(first, count),
          Objects.requireNonNull(sum).reshape(count).cast(to.tensor().dtype()));
    }
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

    /** All rows, whose sums are the results. */
    void block(int all) {
      try (Scope inner = tl.scope()) {
        @Nullable Value[] sums = summed(0, all);
        for (int i = 0; i < sums.length; i++) {
          Value sum = sums[i];
          if (sum != null) {
            RowArg a = results.get(i);
            tl.store(row(a, 1, 0), narrow(sum, a));
          }
        }
      }
    }

    /** Rows of one sum block, whose sums are a part of the results. */
    void block(int index, int from, int to) {
      try (Scope inner = tl.scope()) {
        @Nullable Value[] sums = summed(from, to);
        for (int i = 0; i < sums.length; i++) {
          Value sum = sums[i];
          if (sum != null) {
            storePart(tl, results.get(i).tensor(), index, sum);
          }
        }
      }
    }

    private @Nullable Value[] summed(int from, int to) {
      @Nullable Value[] sums = new Value[results.size()];
      for (int i = 0; i < sums.length; i++) {
        if (!results.get(i).rowwise()) {
          sums[i] = tl.zeros(Shape.of(1, results.get(i).columns()), working);
        }
      }
      steps(from, to, sums);
      return sums;
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
