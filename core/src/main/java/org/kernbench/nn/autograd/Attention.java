package org.kernbench.nn.autograd;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.HeadRows;
import org.kernbench.nn.parallel.Documents;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
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
final class Attention implements Dependent {
  private static final int TILE = 128;

  private final Graph graph;
  private final Compute compute;
  private final Heads heads;
  private final double scale;
  private final Optional<HeadMasks> masks;

  /**
   * How queries, keys and values are laid out: {@code [sequence, batch, heads x size]}.
   *
   * @param batch samples
   * @param queryHeads heads of queries
   * @param keyHeads heads of keys and values, which divides {@code queryHeads}: so many query heads
   *     share one
   * @param size elements of a head of queries or keys
   * @param valueSize elements of a head of values, and of the result
   */
  record Heads(int batch, int queryHeads, int keyHeads, int size, int valueSize) {
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

  private Attention(Graph graph, Heads heads, Optional<HeadMasks> masks, double sharper) {
    this.graph = graph;
    this.compute = graph.compute();
    this.heads = heads;
    this.scale = sharper / Math.sqrt(heads.size);
    this.masks = masks;
  }

  /** This attention, some of whose keys are left out, with a factor of its scores. */
  Attention with(Optional<HeadMasks> leftOut, double sharper) {
    return new Attention(graph, heads, leftOut, sharper);
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(compute, heads, scale, masks);
  }

  /** Attention for operands of these shapes. */
  static Attention of(
      Graph graph, Variable q, Variable k, Variable v, int size, int[] qAt, int[] kAt) {
    if (q.shape().rank() != 3
        || k.shape().rank() != 3
        || v.shape().rank() != 3
        || v.dim(0) != k.dim(0)
        || v.dim(1) != k.dim(1)
        || q.dim(1) != k.dim(1)
        || q.dim(0) != qAt.length
        || k.dim(0) != kAt.length
        || q.columns() % size != 0
        || k.columns() % size != 0
        || v.columns() % (k.columns() / size) != 0) {
      throw graph.wrong(
          """
          attention of %s, %s and %s with heads of %s: expected [sequence, batch, heads x \
          size], and one position per query and key\
          """
              .formatted(q, k, v, size));
    }
    int keyHeads = k.columns() / size;
    int valueSize = v.columns() / keyHeads;
    Heads heads = new Heads(q.dim(1), q.columns() / size, keyHeads, size, valueSize);
    return new Attention(graph, heads, Optional.empty(), 1);
  }

  /** One call over all keys, as an operation of the graph. */
  Variable apply(Variable q, Variable k, Variable v, Positions queries, Positions keys) {
    HeadRows kRows =
        keys(k.value(), keys.count()).gathered(compute, graph.name("keys-by-head"), false);
    HeadRows vRows =
        values(v.value(), keys.count()).gathered(compute, graph.name("values-by-head"), false);
    kRows.leaveTo(compute);
    vRows.leaveTo(compute);
    Partial result = forward(q.value(), kRows, vRows, queries, keys, q.dtype());
    return graph.record(
        result.output,
        result.output.shape(),
        List.of(q, k, v),
        (grad, into) -> {
          Grads g =
              backward(
                  q.value(),
                  kRows,
                  vRows,
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
   * @param output {@code [sequence, batch, queryHeads x valueSize]}
   * @param logSum of the exponentials of each query's scores, {@code [sequence x batch x
   *     queryHeads]} in the working type; {@code -inf} where a query sees none of the keys
   */
  record Partial(Tensor output, Tensor logSum) {}

  Positions positions(int[] of) {
    return positions(of, Optional.empty());
  }

  /** Positions of queries that see keys of their own document only. */
  Positions positions(int[] of, Documents documents) {
    return positions(of, Optional.of(positions(documents.starts(of))));
  }

  private Positions positions(int[] of, Optional<Positions> from) {
    int[] host = of.clone();
    return new Positions(
        host,
        graph.own(
            Compute.everywhere(
                graph.torch(),
                graph.name("positions"),
                Shape.of(host.length),
                DType.I32,
                () -> Arrays.stream(host).asDoubleStream().toArray())),
        from);
  }

  // ---- tiles ----

  private HeadRows queries(Tensor t, int rows) {
    return HeadRows.of(t, rows, heads.batch, heads.queryHeads, heads.size);
  }

  private HeadRows keys(Tensor t, int rows) {
    return HeadRows.of(t, rows, heads.batch, heads.keyHeads, heads.size);
  }

  private HeadRows values(Tensor t, int rows) {
    return HeadRows.of(t, rows, heads.batch, heads.keyHeads, heads.valueSize);
  }

  /** Rows of results, or of their gradients. */
  private HeadRows results(Tensor t, int rows) {
    return HeadRows.of(t, rows, heads.batch, heads.queryHeads, heads.valueSize);
  }

  /** One number for each query and head. */
  private HeadRows perQuery(Tensor t, int rows) {
    return HeadRows.of(t, rows, heads.batch, heads.queryHeads, 1);
  }

  /** What masks are drawn from. */
  private List<Tensor> drawn() {
    return masks.map(HeadMasks::tensors).orElse(List.of());
  }

  /** Which keys are not left out; empty if none is. */
  private Optional<Value> kept(Tl tl, MaskedTile tile, int b, int h) {
    return masks.map(m -> m.keeps(tl, tile, b * heads.queryHeads + h));
  }

  private Value masked(Tl tl, Optional<Value> kept, Value pairs) {
    return kept.map(k -> masks.orElseThrow().apply(tl, k, pairs)).orElse(pairs);
  }

  private static Value wide(Value v) {
    return v.cast(Compute.working(v.dtype()));
  }

  /**
   * Products of queries and keys, in the working type; {@code -inf} where the mask hides the key.
   */
  private Value scores(Tl tl, MaskedTile tile, Value q, Value k) {
    return tile.masked(tl, tl.dot(q, k.trans(), Compute.working(q.dtype())).mul(scale));
  }

  /**
   * Keys whose gradient a PE computes at once: half as many if each PE has one tile only, for the
   * first ones, which most queries see, would take longest.
   */
  private int keyTile(int keys) {
    int units = heads.batch * heads.keyHeads * Math.ceilDiv(keys, TILE);
    return compute.places() > 1 && units < 2 * compute.places() ? TILE / 2 : TILE;
  }

  /** Pairs of a query and a key that it sees, of all heads. */
  private double pairs(Positions queries, Positions keys) {
    return (double) queries.pairs(keys) * heads.batch * heads.queryHeads;
  }

  // ---- forward ----

  /**
   * Attention of all queries over some keys.
   *
   * @param type of the output
   */
  Partial forward(Tensor q, Tensor k, Tensor v, Positions qAt, Positions kAt, DType type) {
    int keys = kAt.count();
    try (HeadRows kRows = keys(k, keys).gathered(compute, graph.name("keys-by-head"), false);
        HeadRows vRows = values(v, keys).gathered(compute, graph.name("values-by-head"), false)) {
      return forward(q, kRows, vRows, qAt, kAt, type);
    }
  }

  private Partial forward(
      Tensor q, HeadRows kRows, HeadRows vRows, Positions qAt, Positions kAt, DType type) {
    DType working = Compute.working(q.dtype());
    int n = qAt.count();
    Tensor out =
        compute.empty(
            graph.name("attention"),
            Shape.of(n, heads.batch, heads.queryHeads * heads.valueSize),
            type);
    Tensor logSum =
        compute.empty(graph.name("logsum"), Shape.of(n * heads.batch * heads.queryHeads), working);
    compute.countFlops(
        graph.name("attention"), 2 * pairs(qAt, kAt) * (heads.size + heads.valueSize));
    compute.countBytes(graph.name("attention"), -kRows.surplusBytes() - vRows.surplusBytes());
    Forward tiles =
        new Forward(
            queries(q, n), kRows, vRows, qAt, kAt, results(out, n), perQuery(logSum, n), working);
    compute.deal(
        graph.name("attention"),
        compute.places(),
        List.of(out, logSum),
        all(List.of(q), qAt.tensors(), kAt.tensors(), kRows.tensors(), vRows.tensors(), drawn()),
        (tl, place, places) ->
            HeadRows.deal(
                compute.mesh(),
                place,
                heads.batch,
                heads.queryHeads,
                n,
                TILE,
                (b, h, row, count) -> tiles.run(tl, b, h, row, count)));
    return new Partial(out, logSum);
  }

  @SafeVarargs
  private static List<Tensor> all(List<Tensor>... parts) {
    return Arrays.stream(parts).flatMap(List::stream).toList();
  }

  /** The forward pass: its operands and results. */
  private final class Forward implements Dependent {
    private final HeadRows q;
    private final HeadRows k;
    private final HeadRows v;
    private final Positions qAt;
    private final Positions kAt;
    private final HeadRows out;
    private final HeadRows logSum;
    private final DType working;

    Forward(
        HeadRows q,
        HeadRows k,
        HeadRows v,
        Positions qAt,
        Positions kAt,
        HeadRows out,
        HeadRows logSum,
        DType working) {
      this.q = q;
      this.k = k;
      this.v = v;
      this.qAt = qAt;
      this.kAt = kAt;
      this.out = out;
      this.logSum = logSum;
      this.working = working;
    }

    @Override
    public List<Object> dependsOn() {
      return List.of(Attention.this, q, k, v, qAt, kAt, out, logSum, working);
    }

    void run(Tl tl, int b, int h, int row, int count) {
      int keys = kAt.count();
      int kh = heads.keyHead(h);
      try (Scope all = tl.scope()) {
        Value query = tl.load(q.block(tl, b, h, row, count));
        Value most = tl.full(Shape.of(count, 1), NEVER, working);
        Value sum = tl.zeros(Shape.of(count, 1), working);
        Value acc = tl.zeros(Shape.of(count, heads.valueSize), working);
        for (int key = 0; key < keys; key += TILE) {
          int width = Math.min(TILE, keys - key);
          MaskedTile tile = new MaskedTile(qAt, row, count, kAt, key, width);
          if (!tile.seesAny()) {
            continue;
          }
          try (Scope step = tl.scope()) {
            Value kt = tl.load(k.block(tl, b, kh, key, width));
            Value vt = wide(tl.load(v.block(tl, b, kh, key, width)));
            Value s = scores(tl, tile, query, kt);
            Value nextMost = most.maximum(s.max(1).expandDims(1));
            // a row that has seen nothing yet must not compute inf - inf
            Value finite = tl.where(nextMost.gt(NEVER), nextMost, 0);
            Value p = s.sub(finite).exp();
            Value shrink = most.sub(finite).exp();
            Value nextSum = sum.mul(shrink).add(p.sum(1).expandDims(1));
            Value nextAcc = acc.mul(shrink).add(tl.dot(masked(tl, kept(tl, tile, b, h), p), vt));
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
        tl.store(out.block(tl, b, h, row, count), result.cast(out.dtype()));
        Value finiteMost = tl.where(some, most, 0);
        Value log = tl.where(some, finiteMost.add(tl.where(some, sum, 1).log()), NEVER);
        tl.store(logSum.block(tl, b, h, row, count), log);
      }
    }
  }

  private static final double NEVER = Double.NEGATIVE_INFINITY;

  /** The result over the keys of two results together. */
  Partial merge(Partial a, Partial b) {
    int size = heads.valueSize;
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
    int size = heads.valueSize;
    int rows = Math.toIntExact(output.shape().elements() / size);
    Tensor inner =
        compute.empty(graph.name("inner"), Shape.of(rows), Compute.working(output.dtype()));
    compute.rows(
        graph.name("inner"),
        rows,
        List.of(Compute.RowArg.rows(output, size), Compute.RowArg.rows(grad, size)),
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
    int keys = kAt.count();
    try (HeadRows kRows = keys(k, keys).gathered(compute, graph.name("keys-by-head"), true);
        HeadRows vRows = values(v, keys).gathered(compute, graph.name("values-by-head"), true)) {
      return backward(q, kRows, vRows, qAt, kAt, logSum, inner, grad);
    }
  }

  private Grads backward(
      Tensor q,
      HeadRows kRows,
      HeadRows vRows,
      Positions qAt,
      Positions kAt,
      Tensor logSum,
      Tensor inner,
      Tensor grad) {
    int n = qAt.count();
    Tiles where =
        new Tiles(
            queries(q, n),
            kRows,
            vRows,
            qAt,
            kAt,
            perQuery(logSum, n),
            perQuery(inner, n),
            results(grad, n));
    double pairs = 2 * pairs(qAt, kAt);
    compute.countFlops(graph.name("dq"), pairs * (2 * heads.size + heads.valueSize));
    compute.countFlops(graph.name("dkv"), pairs * 2 * (heads.size + heads.valueSize));
    Tensor dq = queryGrads(where);
    try (Tiles copied = where.byHead(compute, graph)) {
      return keyGrads(copied, dq);
    }
  }

  /** Each query is read by one PE, so where it lies. */
  private Tensor queryGrads(Tiles tiles) {
    int n = tiles.qAt.count();
    Shape shape = Shape.of(n, heads.batch, heads.queryHeads * heads.size);
    Tensor dq = compute.empty(graph.name("dq"), shape, Compute.working(tiles.q.dtype()));
    HeadRows toQ = queries(dq, n);
    compute.countBytes(graph.name("dq"), -tiles.surplusBytes());
    compute.deal(
        graph.name("dq"),
        compute.places(),
        List.of(dq),
        all(tiles.tensors(), drawn()),
        (tl, place, places) ->
            HeadRows.deal(
                compute.mesh(),
                place,
                heads.batch,
                heads.queryHeads,
                n,
                TILE,
                (b, h, row, count) -> queryGrad(tl, tiles, toQ, b, h, row, count)));
    return dq;
  }

  private Grads keyGrads(Tiles tiles, Tensor dq) {
    int keys = tiles.kAt.count();
    Shape shape = Shape.of(keys, heads.batch, heads.keyHeads * heads.size);
    Shape ofValues = shape.with(2, heads.keyHeads * heads.valueSize);
    Tensor dk = compute.empty(graph.name("dk"), shape, dq.dtype());
    Tensor dv = compute.empty(graph.name("dv"), ofValues, dq.dtype());
    HeadRows toK = keys(dk, keys);
    HeadRows toV = values(dv, keys);
    compute.countBytes(graph.name("dkv"), -tiles.surplusBytes());
    compute.deal(
        graph.name("dkv"),
        compute.places(),
        List.of(dk, dv),
        all(tiles.tensors(), drawn()),
        (tl, place, places) ->
            HeadRows.deal(
                compute.mesh(),
                place,
                heads.batch,
                heads.keyHeads,
                keys,
                keyTile(keys),
                (b, kh, key, width) -> keyGrad(tl, tiles, toK, toV, b, kh, key, width)));
    return new Grads(dq, dk, dv);
  }

  /** What the gradients are computed from. */
  private record Tiles(
      HeadRows q,
      HeadRows k,
      HeadRows v,
      Positions qAt,
      Positions kAt,
      HeadRows logSum,
      HeadRows inner,
      HeadRows grad)
      implements AutoCloseable {
    List<Tensor> tensors() {
      return all(
          qAt.tensors(),
          kAt.tensors(),
          q.tensors(),
          k.tensors(),
          v.tensors(),
          logSum.tensors(),
          inner.tensors(),
          grad.tensors());
    }

    /** Bytes of copies beyond the first of each. */
    long surplusBytes() {
      return List.of(q, k, v, logSum, inner, grad).stream().mapToLong(HeadRows::surplusBytes).sum();
    }

    /** These tiles with copies of what belongs to queries, which each key reads again. */
    Tiles byHead(Compute compute, Graph graph) {
      return new Tiles(
          q.gathered(compute, graph.name("queries-by-head"), true),
          k,
          v,
          qAt,
          kAt,
          logSum.gathered(compute, graph.name("logsum-by-head"), true),
          inner.gathered(compute, graph.name("inner-by-head"), true),
          grad.gathered(compute, graph.name("grad-by-head"), true));
    }

    @Override
    public void close() {
      List.of(q, logSum, inner, grad).forEach(HeadRows::close);
    }
  }

  /** Some rows of queries, with what the gradient of softmax needs of them. */
  private record Rows(Value q, Value dOut, Value logSum, Value inner) {
    static Rows load(Tl tl, Tiles t, int b, int h, int row, int rows) {
      Value q = tl.load(t.q.block(tl, b, h, row, rows));
      Value dOut = tl.load(t.grad.block(tl, b, h, row, rows));
      Value logSum = tl.load(t.logSum.block(tl, b, h, row, rows));
      Value inner = tl.load(t.inner.block(tl, b, h, row, rows));
      return new Rows(q, dOut, tl.where(logSum.gt(NEVER), logSum, 0), inner);
    }
  }

  /** Probabilities of a tile and the gradient of its scores. */
  private record Softmax(Value p, Value ds) {}

  private Softmax softmax(Tl tl, MaskedTile tile, Optional<Value> kept, Rows of, Value k, Value v) {
    Value p = scores(tl, tile, of.q, k).sub(of.logSum).exp();
    Value dp = masked(tl, kept, tl.dot(of.dOut, v.trans(), p.dtype()));
    return new Softmax(p, p.mul(dp.sub(of.inner)).mul(scale));
  }

  private void queryGrad(Tl tl, Tiles t, HeadRows dq, int b, int h, int row, int rows) {
    int keys = t.kAt.count();
    int kh = heads.keyHead(h);
    try (Scope all = tl.scope()) {
      Rows of = Rows.load(tl, t, b, h, row, rows);
      Value sum = tl.zeros(Shape.of(rows, heads.size), dq.dtype());
      for (int key = 0; key < keys; key += TILE) {
        int width = Math.min(TILE, keys - key);
        MaskedTile tile = new MaskedTile(t.qAt, row, rows, t.kAt, key, width);
        if (tile.seesAny()) {
          try (Scope step = tl.scope()) {
            Value k = tl.load(t.k.block(tl, b, kh, key, width));
            Value v = tl.load(t.v.block(tl, b, kh, key, width));
            Softmax s = softmax(tl, tile, kept(tl, tile, b, h), of, k, v);
            Value next = step.keep(tl.dot(s.ds, wide(k), sum));
            tl.release(sum);
            sum = next;
          }
        }
      }
      tl.store(dq.block(tl, b, h, row, rows), sum);
    }
  }

  private void keyGrad(
      Tl tl, Tiles t, HeadRows dk, HeadRows dv, int b, int kh, int key, int width) {
    int n = t.qAt.count();
    int share = heads.queryHeads / heads.keyHeads;
    try (Scope all = tl.scope()) {
      Value k = tl.load(t.k.block(tl, b, kh, key, width));
      Value v = tl.load(t.v.block(tl, b, kh, key, width));
      Value sumK = tl.zeros(Shape.of(width, heads.size), dk.dtype());
      Value sumV = tl.zeros(Shape.of(width, heads.valueSize), dv.dtype());
      for (int h = kh * share; h < (kh + 1) * share; h++) {
        for (int row = 0; row < n; row += TILE) {
          int rows = Math.min(TILE, n - row);
          MaskedTile tile = new MaskedTile(t.qAt, row, rows, t.kAt, key, width);
          if (tile.seesAny()) {
            try (Scope step = tl.scope()) {
              Rows of = Rows.load(tl, t, b, h, row, rows);
              Optional<Value> kept = kept(tl, tile, b, h);
              Softmax s = softmax(tl, tile, kept, of, k, v);
              Value nextK = step.keep(tl.dot(s.ds.trans(), wide(of.q), sumK));
              Value nextV = step.keep(tl.dot(masked(tl, kept, s.p).trans(), wide(of.dOut), sumV));
              tl.release(sumK);
              tl.release(sumV);
              sumK = nextK;
              sumV = nextV;
            }
          }
        }
      }
      tl.store(dk.block(tl, b, kh, key, width), sumK);
      tl.store(dv.block(tl, b, kh, key, width), sumV);
    }
  }
}
