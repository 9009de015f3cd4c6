package org.kernbench.nn.autograd;

import java.util.Arrays;
import java.util.List;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Scaled dot-product attention with a causal mask by position, tile by tile: the matrix of scores
 * is never stored. The forward pass keeps the logarithm of each row's sum of exponentials, from
 * which the backward pass computes the scores again.
 *
 * <p>Source of the scheme: online softmax (Milakov and Gimelshein 2018) and FlashAttention-2 (Dao
 * 2023). Every query of a call may see any subset of its keys, also none; results over parts of the
 * keys can be {@linkplain #merge merged}, so a ring over parts gives what one call over all does.
 */
final class Attention {
  private static final int TILE = 128;

  private final Graph graph;
  private final Compute compute;
  private final Heads heads;
  private final double scale;

  /**
   * How queries, keys and values are laid out: {@code [sequence, batch, heads x size]}.
   *
   * @param batch samples
   * @param queryHeads heads of queries
   * @param keyHeads heads of keys and values, which divides {@code queryHeads}: so many query heads
   *     share one
   * @param size elements of a head
   */
  record Heads(int batch, int queryHeads, int keyHeads, int size) {
    Heads {
      if (keyHeads < 1 || queryHeads % keyHeads != 0) {
        throw new ShapeException(
            "%s query heads cannot share %s key heads evenly; expected a divisor"
                .formatted(queryHeads, keyHeads));
      }
    }

    int keyHead(int queryHead) {
      return queryHead / (queryHeads / keyHeads);
    }
  }

  Attention(Graph graph, Heads heads) {
    this.graph = graph;
    this.compute = graph.compute();
    this.heads = heads;
    this.scale = 1 / Math.sqrt(heads.size);
  }

  /** Attention for operands of these shapes. */
  static Attention of(
      Graph graph, Variable q, Variable k, Variable v, int size, int[] qAt, int[] kAt) {
    if (q.shape().rank() != 3
        || !k.shape().equals(v.shape())
        || k.shape().rank() != 3
        || q.dim(1) != k.dim(1)
        || q.dim(0) != qAt.length
        || k.dim(0) != kAt.length
        || q.columns() % size != 0
        || k.columns() % size != 0) {
      throw new ShapeException(
          """
          attention of %s, %s and %s with heads of %s: expected [sequence, batch, heads x \
          size], and one position per query and key\
          """
              .formatted(q, k, v, size));
    }
    return new Attention(graph, new Heads(q.dim(1), q.columns() / size, k.columns() / size, size));
  }

  /** One call over all keys, as an operation of the graph. */
  Variable apply(Variable q, Variable k, Variable v, int[] qAt, int[] kAt) {
    Positions queries = positions(qAt);
    Positions keys = positions(kAt);
    Partial result = forward(q.value(), k.value(), v.value(), queries, keys, q.dtype());
    return graph.record(
        result.output,
        q.shape(),
        List.of(q, k, v),
        (grad, into) -> {
          Grads g =
              backward(
                  q.value(),
                  k.value(),
                  v.value(),
                  queries,
                  keys,
                  result.logSum,
                  inner(result.output, grad),
                  grad);
          into.give(0, as(q, g.q));
          into.give(1, as(k, g.k));
          into.give(2, as(v, g.v));
        });
  }

  /** A gradient in the type of its variable. */
  Tensor as(Variable of, Tensor grad) {
    return grad.dtype() == of.dtype()
        ? grad
        : compute.map(graph.name("cast"), of.shape(), of.dtype(), List.of(grad), x -> x.get(0));
  }

  /**
   * What attention over some keys gives.
   *
   * @param output {@code [sequence, batch, queryHeads x size]}
   * @param logSum of the exponentials of each query's scores, {@code [sequence x batch x
   *     queryHeads]} in the working type; {@code -inf} where a query sees none of the keys
   */
  record Partial(Tensor output, Tensor logSum) {}

  /** Positions on the device, and on the host to know which tiles the mask leaves out. */
  record Positions(int[] host, Tensor device) {
    int count() {
      return host.length;
    }
  }

  Positions positions(int[] of) {
    int[] host = of.clone();
    return new Positions(
        host,
        graph.own(
            graph
                .torch()
                .from(
                    () -> Arrays.stream(host).asDoubleStream().toArray(),
                    Shape.of(host.length),
                    DType.I32,
                    graph.name("positions"))));
  }

  // ---- tiles ----

  private int width(int headCount) {
    return heads.batch * headCount * heads.size;
  }

  /** Rows of one sample's head: {@code [rows, size]}. */
  private Slice tile(
      Tl tl, Tensor t, int rows, int headCount, int b, int head, int row, int count) {
    int width = width(headCount);
    Shard shard = Compute.as(tl.shard(t), rows, width);
    return shard.block(row, count, (b * headCount + head) * heads.size, heads.size);
  }

  private Slice vector(Tl tl, Tensor t, int rows, int b, int head, int row, int count) {
    int width = heads.batch * heads.queryHeads;
    return Compute.as(tl.shard(t), rows, width).block(row, count, b * heads.queryHeads + head, 1);
  }

  private static Value wide(Tl tl, Slice slice) {
    Value v = tl.load(slice);
    return v.cast(Compute.working(v.dtype()));
  }

  /** Scores of a tile, {@code -inf} where the mask hides the key. */
  private Value scores(Tl tl, Value q, Value k, Value queryAt, Value keyAt) {
    Value s = tl.dot(q, k.trans()).mul(scale);
    return tl.where(keyAt.le(queryAt), s, Double.NEGATIVE_INFINITY);
  }

  private Value at(Tl tl, Positions p, int row, int count, boolean asColumn) {
    Value v = tl.load(tl.shard(p.device).range(row, count));
    return asColumn ? v.reshape(count, 1) : v.reshape(1, count);
  }

  private static boolean seesAny(Positions q, int row, int rows, Positions k, int key, int keys) {
    int latest = Integer.MIN_VALUE;
    for (int i = row; i < row + rows; i++) {
      latest = Math.max(latest, q.host[i]);
    }
    for (int j = key; j < key + keys; j++) {
      if (k.host[j] <= latest) {
        return true;
      }
    }
    return false;
  }

  // ---- forward ----

  /**
   * Attention of all queries over some keys.
   *
   * @param type of the output
   */
  Partial forward(Tensor q, Tensor k, Tensor v, Positions qAt, Positions kAt, DType type) {
    DType working = Compute.working(q.dtype());
    int n = qAt.count();
    Tensor out =
        compute.empty(
            graph.name("attention"), Shape.of(n, heads.batch, heads.queryHeads * heads.size), type);
    Tensor logSum =
        compute.empty(graph.name("logsum"), Shape.of(n * heads.batch * heads.queryHeads), working);
    Kernel kernel =
        tl -> {
          for (int b = 0; b < heads.batch; b++) {
            for (int h = 0; h < heads.queryHeads; h++) {
              for (int row = 0; row < n; row += TILE) {
                int count = Math.min(TILE, n - row);
                forwardTile(tl, q, k, v, qAt, kAt, out, logSum, b, h, row, count);
              }
            }
          }
        };
    graph
        .torch()
        .launch(graph.name("attention"), kernel, out, logSum, q, k, v, qAt.device, kAt.device);
    return new Partial(out, logSum);
  }

  private void forwardTile(
      Tl tl,
      Tensor q,
      Tensor k,
      Tensor v,
      Positions qAt,
      Positions kAt,
      Tensor out,
      Tensor logSum,
      int b,
      int h,
      int row,
      int count) {
    DType working = Compute.working(q.dtype());
    int n = qAt.count();
    int keys = kAt.count();
    int kh = heads.keyHead(h);
    try (Scope all = tl.scope()) {
      Value query = wide(tl, tile(tl, q, n, heads.queryHeads, b, h, row, count));
      Value queryAt = at(tl, qAt, row, count, true);
      Value most = tl.full(Shape.of(count, 1), Double.NEGATIVE_INFINITY, working);
      Value sum = tl.zeros(Shape.of(count, 1), working);
      Value acc = tl.zeros(Shape.of(count, heads.size), working);
      for (int key = 0; key < keys; key += TILE) {
        int width = Math.min(TILE, keys - key);
        if (!seesAny(qAt, row, count, kAt, key, width)) {
          continue;
        }
        try (Scope step = tl.scope()) {
          Value kt = wide(tl, tile(tl, k, keys, heads.keyHeads, b, kh, key, width));
          Value vt = wide(tl, tile(tl, v, keys, heads.keyHeads, b, kh, key, width));
          Value s = scores(tl, query, kt, queryAt, at(tl, kAt, key, width, false));
          Value nextMost = most.maximum(s.max(1).expandDims(1));
          // a row that has seen nothing yet must not compute inf - inf
          Value finite = tl.where(nextMost.gt(Double.NEGATIVE_INFINITY), nextMost, 0);
          Value p = s.sub(finite).exp();
          Value shrink = most.sub(finite).exp();
          Value nextSum = sum.mul(shrink).add(p.sum(1).expandDims(1));
          Value nextAcc = acc.mul(shrink).add(tl.dot(p, vt));
          tl.release(most);
          tl.release(sum);
          tl.release(acc);
          most = step.keep(nextMost);
          sum = step.keep(nextSum);
          acc = step.keep(nextAcc);
        }
      }
      Value some = sum.gt(0);
      Value result = acc.div(tl.where(some, sum, 1));
      tl.store(tile(tl, out, n, heads.queryHeads, b, h, row, count), result.cast(out.dtype()));
      Value finiteMost = tl.where(some, most, 0);
      Value log = tl.where(some, finiteMost.add(tl.where(some, sum, 1).log()), NEVER);
      tl.store(vector(tl, logSum, n, b, h, row, count), log);
    }
  }

  private static final double NEVER = Double.NEGATIVE_INFINITY;

  /** The result over the keys of two results together. */
  Partial merge(Partial a, Partial b) {
    int size = heads.size;
    int rows = Math.toIntExact(a.output.shape().elements() / size);
    Tensor out = compute.empty(graph.name("merge"), a.output.shape(), a.output.dtype());
    Tensor logSum = compute.empty(graph.name("merge-logsum"), a.logSum.shape(), a.logSum.dtype());
    compute.rows(
        graph.name("merge"),
        rows,
        List.of(
            Compute.RowArg.rows(a.output, size),
            Compute.RowArg.rows(a.logSum, 1),
            Compute.RowArg.rows(b.output, size),
            Compute.RowArg.rows(b.logSum, 1)),
        List.of(Compute.RowArg.rows(out, size), Compute.RowArg.rows(logSum, 1)),
        (tl, x) -> {
          Value most = x.get(1).maximum(x.get(3));
          Value some = most.gt(NEVER);
          Value base = tl.where(some, most, 0);
          Value wa = x.get(1).sub(base).exp();
          Value wb = x.get(3).sub(base).exp();
          Value total = tl.where(some, wa.add(wb), 1);
          return List.of(
              x.get(0).mul(wa).add(x.get(2).mul(wb)).div(total),
              tl.where(some, base.add(total.log()), NEVER));
        });
    return new Partial(out, logSum);
  }

  // ---- backward ----

  /** Gradients with respect to queries, keys and values. */
  record Grads(Tensor q, Tensor k, Tensor v) {}

  /**
   * Each query's inner product of the output with its gradient, which the gradient of softmax
   * needs; as long as {@link Partial#logSum}.
   */
  Tensor inner(Tensor output, Tensor grad) {
    int rows = Math.toIntExact(output.shape().elements() / heads.size);
    Tensor inner =
        compute.empty(graph.name("inner"), Shape.of(rows), Compute.working(output.dtype()));
    compute.rows(
        graph.name("inner"),
        rows,
        List.of(Compute.RowArg.rows(output, heads.size), Compute.RowArg.rows(grad, heads.size)),
        List.of(Compute.RowArg.rows(inner, 1)),
        (tl, x) -> List.of(x.get(0).mul(x.get(1)).sum(1).expandDims(1)));
    return inner;
  }

  /**
   * The share of some keys in the gradients.
   *
   * @param logSum over all keys, not only these
   * @param inner see {@link #inner}
   */
  Grads backward(
      Tensor q,
      Tensor k,
      Tensor v,
      Positions qAt,
      Positions kAt,
      Tensor logSum,
      Tensor inner,
      Tensor grad) {
    DType working = Compute.working(q.dtype());
    int n = qAt.count();
    int keys = kAt.count();
    Tensor dq =
        compute.empty(
            graph.name("dq"), Shape.of(n, heads.batch, heads.queryHeads * heads.size), working);
    Shape keyShape = Shape.of(keys, heads.batch, heads.keyHeads * heads.size);
    Tensor dk = compute.empty(graph.name("dk"), keyShape, working);
    Tensor dv = compute.empty(graph.name("dv"), keyShape, working);
    Tiles tiles = new Tiles(q, k, v, qAt, kAt, logSum, inner, grad);
    Kernel queries =
        tl -> {
          for (int b = 0; b < heads.batch; b++) {
            for (int h = 0; h < heads.queryHeads; h++) {
              for (int row = 0; row < n; row += TILE) {
                queryGrad(tl, tiles, dq, b, h, row, Math.min(TILE, n - row));
              }
            }
          }
        };
    graph
        .torch()
        .launch(
            graph.name("dq"), queries, dq, q, k, v, logSum, inner, grad, qAt.device, kAt.device);
    Kernel pairs =
        tl -> {
          for (int b = 0; b < heads.batch; b++) {
            for (int kh = 0; kh < heads.keyHeads; kh++) {
              for (int key = 0; key < keys; key += TILE) {
                keyGrad(tl, tiles, dk, dv, b, kh, key, Math.min(TILE, keys - key));
              }
            }
          }
        };
    graph
        .torch()
        .launch(
            graph.name("dkv"), pairs, dk, dv, q, k, v, logSum, inner, grad, qAt.device, kAt.device);
    return new Grads(dq, dk, dv);
  }

  private record Tiles(
      Tensor q,
      Tensor k,
      Tensor v,
      Positions qAt,
      Positions kAt,
      Tensor logSum,
      Tensor inner,
      Tensor grad) {}

  /** Probabilities of a tile and the gradient of its scores. */
  private record Softmax(Value p, Value ds) {}

  private Softmax softmax(
      Tl tl,
      Tiles t,
      Value q,
      Value k,
      Value v,
      Value dOut,
      int b,
      int h,
      int row,
      int rows,
      int key,
      int width) {
    int n = t.qAt.count();
    Value s = scores(tl, q, k, at(tl, t.qAt, row, rows, true), at(tl, t.kAt, key, width, false));
    Value logSum = tl.load(vector(tl, t.logSum, n, b, h, row, rows));
    Value seen = logSum.gt(NEVER);
    Value p = s.sub(tl.where(seen, logSum, 0)).exp();
    Value inner = tl.load(vector(tl, t.inner, n, b, h, row, rows));
    Value dp = tl.dot(dOut, v.trans());
    return new Softmax(p, p.mul(dp.sub(inner)).mul(scale));
  }

  private void queryGrad(Tl tl, Tiles t, Tensor dq, int b, int h, int row, int rows) {
    int n = t.qAt.count();
    int keys = t.kAt.count();
    int kh = heads.keyHead(h);
    try (Scope all = tl.scope()) {
      Value q = wide(tl, tile(tl, t.q, n, heads.queryHeads, b, h, row, rows));
      Value dOut = wide(tl, tile(tl, t.grad, n, heads.queryHeads, b, h, row, rows));
      Value sum = tl.zeros(Shape.of(rows, heads.size), dq.dtype());
      for (int key = 0; key < keys; key += TILE) {
        int width = Math.min(TILE, keys - key);
        if (seesAny(t.qAt, row, rows, t.kAt, key, width)) {
          try (Scope step = tl.scope()) {
            Value k = wide(tl, tile(tl, t.k, keys, heads.keyHeads, b, kh, key, width));
            Value v = wide(tl, tile(tl, t.v, keys, heads.keyHeads, b, kh, key, width));
            Softmax s = softmax(tl, t, q, k, v, dOut, b, h, row, rows, key, width);
            Value next = step.keep(tl.dot(s.ds, k, sum));
            tl.release(sum);
            sum = next;
          }
        }
      }
      tl.store(tile(tl, dq, n, heads.queryHeads, b, h, row, rows), sum);
    }
  }

  private void keyGrad(Tl tl, Tiles t, Tensor dk, Tensor dv, int b, int kh, int key, int width) {
    int n = t.qAt.count();
    int keys = t.kAt.count();
    int share = heads.queryHeads / heads.keyHeads;
    try (Scope all = tl.scope()) {
      Value k = wide(tl, tile(tl, t.k, keys, heads.keyHeads, b, kh, key, width));
      Value v = wide(tl, tile(tl, t.v, keys, heads.keyHeads, b, kh, key, width));
      Value sumK = tl.zeros(Shape.of(width, heads.size), dk.dtype());
      Value sumV = tl.zeros(Shape.of(width, heads.size), dv.dtype());
      for (int h = kh * share; h < (kh + 1) * share; h++) {
        for (int row = 0; row < n; row += TILE) {
          int rows = Math.min(TILE, n - row);
          if (seesAny(t.qAt, row, rows, t.kAt, key, width)) {
            try (Scope step = tl.scope()) {
              Value q = wide(tl, tile(tl, t.q, n, heads.queryHeads, b, h, row, rows));
              Value dOut = wide(tl, tile(tl, t.grad, n, heads.queryHeads, b, h, row, rows));
              Softmax s = softmax(tl, t, q, k, v, dOut, b, h, row, rows, key, width);
              Value nextK = step.keep(tl.dot(s.ds.trans(), q, sumK));
              Value nextV = step.keep(tl.dot(s.p.trans(), dOut, sumV));
              tl.release(sumK);
              tl.release(sumV);
              sumK = nextK;
              sumV = nextV;
            }
          }
        }
      }
      tl.store(tile(tl, dk, keys, heads.keyHeads, b, kh, key, width), sumK);
      tl.store(tile(tl, dv, keys, heads.keyHeads, b, kh, key, width), sumV);
    }
  }
}
