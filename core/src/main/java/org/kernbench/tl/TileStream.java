package org.kernbench.tl;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.kernbench.tensor.DType;

/**
 * The commands of a {@link CompositeGemm}, as the tile scheduler issues them.
 *
 * <p>A step multiplies one tile of A by one of B. Before the tiles of step {@code s} are loaded,
 * the product of step {@code s - 1} has been issued and that of step {@code s - buffers} has read
 * its own, so at most {@code buffers} tiles of each operand are in TCM. Before the first product of
 * an output tile, the store of the output before the last has ended: two sets of sums, or more (see
 * {@link TileSearch}). Engines do the rest: nothing else orders the commands.
 */
final class TileStream {
  private final Tl tl;
  private final CompositeGemm gemm;
  private final TileShape tile;
  private final int buffers;
  private final int sets;
  private final int columns;
  private final int stepsOfOutput;
  private final int steps;
  private final DType sumType;
  private final DType outType;
  private final Map<Value, Value> inSumType = new HashMap<>();

  /** Tiles that are loaded and not used up, oldest first. */
  private final ArrayDeque<Step> held = new ArrayDeque<>();

  /** Output tiles that are being stored, oldest first. */
  private final ArrayDeque<Value> stored = new ArrayDeque<>();

  /** The sums of the current output tile; they exist from its first step on. */
  private Value sums;

  private record Step(int number, Value a, Value b) {}

  @SuppressWarnings("NullAway.Init") // the first step of an output makes the sums
  TileStream(Tl tl, CompositeGemm gemm, TileSearch.Prediction plan) {
    this.tl = tl;
    this.gemm = gemm;
    this.tile = plan.tile();
    this.buffers = plan.buffers();
    this.sets = plan.sets();
    this.columns = Math.ceilDiv(gemm.n(), tile.n());
    this.stepsOfOutput = Math.max(1, Math.ceilDiv(gemm.k(), tile.k()));
    this.steps = Math.ceilDiv(gemm.m(), tile.m()) * columns * stepsOfOutput;
    this.sumType = gemm.dtype().accumulator();
    this.outType = gemm.out().shard().dtype();
  }

  /** Steps of a product: tiles along m, n and k multiplied. */
  static long steps(int m, int k, int n, TileShape tile) {
    return (long) Math.ceilDiv(m, tile.m())
        * Math.ceilDiv(n, tile.n())
        * Math.max(1, Math.ceilDiv(k, tile.k()));
  }

  void run() {
    ArrayDeque<Step> loaded = new ArrayDeque<>();
    for (int s = 0; s < steps; s++) {
      if (s > 0) {
        multiply(loaded.remove());
      }
      if (s >= buffers) {
        waitForReaders(held.remove());
      }
      Step step = load(s);
      loaded.add(step);
      held.add(step);
    }
    if (!loaded.isEmpty()) {
      multiply(loaded.remove());
    }
    if (gemm.has(Epilogue.When.KERNEL)) {
      passOverOutput();
    }
  }

  // ---- where a step is ----

  private int row(int step) {
    return step / stepsOfOutput / columns * tile.m();
  }

  private int column(int step) {
    return step / stepsOfOutput % columns * tile.n();
  }

  private int depth(int step) {
    return step % stepsOfOutput * tile.k();
  }

  private int rows(int step) {
    return Math.min(tile.m(), gemm.m() - row(step));
  }

  private int columns(int step) {
    return Math.min(tile.n(), gemm.n() - column(step));
  }

  private int depths(int step) {
    return Math.min(tile.k(), gemm.k() - depth(step));
  }

  // ---- the stages ----

  private Step load(int s) {
    Value a = gemm.a.block(tl, row(s), rows(s), depth(s), depths(s));
    Value b = gemm.b.block(tl, depth(s), depths(s), column(s), columns(s));
    return new Step(s, a, b);
  }

  private void waitForReaders(Step step) {
    if (!gemm.a.isInTcm()) {
      tl.fenceReaders(step.a);
    }
    if (!gemm.b.isInTcm()) {
      tl.fenceReaders(step.b);
    }
  }

  private void multiply(Step step) {
    int s = step.number;
    boolean first = s % stepsOfOutput == 0;
    boolean last = s % stepsOfOutput == stepsOfOutput - 1;
    if (first && stored.size() == sets) {
      tl.fenceReaders(stored.remove());
    }
    if (gemm.has(Epilogue.When.K_TILE)) {
      sums = addPartial(step, first);
    } else if (last && !gemm.has(Epilogue.When.OUTPUT_TILE)) {
      sums = lastProduct(step, first);
    } else {
      sums = first ? tl.dot(step.a, step.b, sumType) : tl.dotInPlace(sums, step.a, step.b);
    }
    if (!gemm.a.isInTcm()) {
      tl.release(step.a);
    }
    if (!gemm.b.isInTcm()) {
      tl.release(step.b);
    }
    if (last) {
      finish(s);
    }
  }

  /** The last step rounds to the type of the output where no epilogue comes between. */
  private Value lastProduct(Step step, boolean alsoFirst) {
    if (alsoFirst) {
      return tl.dot(step.a, step.b, outType);
    }
    Value rounded = tl.dot(step.a, step.b, sums, outType);
    tl.release(sums);
    return rounded;
  }

  private Value addPartial(Step step, boolean first) {
    Value product = tl.dot(step.a, step.b, sumType);
    Value partial = apply(Epilogue.When.K_TILE, product, step.number);
    if (first) {
      return partial;
    }
    Value all = sums.add(partial);
    tl.release(sums);
    tl.release(partial);
    return all;
  }

  private void finish(int s) {
    Value y = apply(Epilogue.When.OUTPUT_TILE, sums, s);
    if (y.dtype() != outType) {
      y = replace(y, y.cast(outType));
    }
    tl.store(gemm.out().block(row(s), rows(s), column(s), columns(s)), y);
    tl.release(y);
    stored.add(y);
  }

  /** The output is read back and stored once more. */
  private void passOverOutput() {
    for (int s = 0; s < steps; s += stepsOfOutput) {
      Slice block = gemm.out().block(row(s), rows(s), column(s), columns(s));
      Value y = tl.load(block);
      if (y.dtype() != sumType) {
        y = replace(y, y.cast(sumType));
      }
      y = apply(Epilogue.When.KERNEL, y, s);
      if (y.dtype() != outType) {
        y = replace(y, y.cast(outType));
      }
      tl.store(block, y);
      tl.release(y);
    }
  }

  // ---- epilogues ----

  private Value apply(Epilogue.When when, Value tileOfSums, int s) {
    Value y = tileOfSums;
    for (CompositeGemm.Applied e : gemm.epilogues) {
      if (e.when() == when) {
        y = replace(y, apply(e, y, s));
      }
    }
    return y;
  }

  private Value replace(Value old, Value by) {
    tl.release(old);
    return by;
  }

  private Value apply(CompositeGemm.Applied e, Value y, int s) {
    return switch (e.epilogue()) {
      case Epilogue.Bias x -> y.add(columnsOf(x.bias(), s));
      case Epilogue.Relu x -> y.relu();
      case Epilogue.Gelu x -> y.gelu();
      case Epilogue.Silu x -> y.silu();
      case Epilogue.Scale x -> y.mul(x.factor());
      case Epilogue.Dequant x -> y.mul(scales(e.when(), x.scales(), s));
      case Epilogue.Add x -> {
        Value more = tl.load(x.matrix().block(row(s), rows(s), column(s), columns(s)));
        if (more.dtype() != sumType) {
          more = replace(more, tl.cast(more, sumType));
        }
        Value all = y.add(more);
        tl.release(more);
        yield all;
      }
      case Epilogue.AddValue x ->
          y.add(inSumType(x.matrix()).narrow(0, row(s), rows(s)).narrow(1, column(s), columns(s)));
    };
  }

  private Value columnsOf(Value vector, int s) {
    return inSumType(vector).narrow(0, column(s), columns(s));
  }

  private Value scales(Epilogue.When when, Value scales, int s) {
    if (when != Epilogue.When.K_TILE) {
      return columnsOf(scales, s);
    }
    if (scales.shape().dim(0) != stepsOfOutput) {
      throw new org.kernbench.tensor.ShapeException(
          """
          dequant per K tile: the scales are %s, tile %s makes %s steps along K; expected \
          one row for each\
          """
              .formatted(scales, tile, stepsOfOutput));
    }
    Value row = inSumType(scales).narrow(0, s % stepsOfOutput, 1);
    return scales.shape().dim(1) == 1 ? row : row.narrow(1, column(s), columns(s));
  }

  /** A vector of the kernel in the type of the sums; converted once. */
  private Value inSumType(Value vector) {
    return inSumType.computeIfAbsent(vector, v -> tl.cast(v, sumType));
  }
}
