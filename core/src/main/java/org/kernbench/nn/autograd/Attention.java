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
          Grads g = backward(q.value(), kRows, vRows, queries, keys, result, grad);
          into.give(0, as(q, g.q));
          into.give(1, as(k, g.k));
          into.give(2, as(v, g.v));
        });
  }

  /** A tensor in the type of a variable. */
  Tensor as(Variable of, Tensor x) {
    return x.dtype() == of.dtype()
        ? x
        : compute.map(graph.name("cast"), x.shape(), of.dtype(), List.of(x), all -> all.get(0));
  }

  /**
   * What attention over some keys gives.
   *
   * @param output {@code [sequence, batch, queryHeads x valueSize]}
   * @param logSum of the exponentials of each query's scores, {@code [batch x queryHeads x
   *     sequence]} in the working type; {@code -inf} where a query sees none of the keys
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

  /** One number for each query and head: the queries of a tile are neighbours. */
  private HeadRows perQuery(Tensor t, int rows) {
    return HeadRows.numbers(t, rows, heads.batch, heads.queryHeads);
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
   * Products of queries and keys, in the working type and not scaled; {@code -inf} where the mask
   * hides the key.
   */
  private static Value products(Tl tl, MaskedTile tile, Value q, Value k) {
    return tile.masked(tl, tl.dot(q, k.trans(), Compute.working(q.dtype())));
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
        graph.name("attention"), 2 * pairs(qAt, kAt) * (heads.size + heads.valueSize), type);
    compute.countBytes(graph.name("attention"), -kRows.surplusBytes() - vRows.surplusBytes());
    Forward tiles =
        new Forward(
            queries(q, n), kRows, vRows, qAt, kAt, results(out, n), perQuery(logSum, n), working);
    deal(
        "attention",
        List.of(out, logSum),
        all(List.of(q), qAt.tensors(), kAt.tensors(), kRows.tensors(), vRows.tensors(), drawn()),
        new Dealt(heads.queryHeads, n, TILE),
        tiles::run);
    return new Partial(out, logSum);
  }

  /** Rows of heads, and how many of them are a tile. */
  private record Dealt(int headCount, int rows, int tile) {}

  /** What is done with a tile of a head of a sample. */
  @FunctionalInterface
  private interface OfTile {
    void run(Tl tl, int sample, int head, int row, int count);
  }

  /** Launches on all PEs, each of which has some tiles. */
  private void deal(
      String name, List<Tensor> written, List<Tensor> read, Dealt dealt, OfTile work) {
    compute.deal(
        graph.name(name),
        compute.places(),
        written,
        read,
        (tl, place, places) ->
            HeadRows.deal(
                compute.mesh(),
                place,
                heads.batch,
                dealt.headCount,
                dealt.rows,
                dealt.tile,
                (sample, head, row, count) -> work.run(tl, sample, head, row, count)));
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
        Value scaling = tl.full(Shape.of(1, 1), scale, working);
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
            Value vt = tl.load(v.block(tl, b, kh, key, width));
            Value s = products(tl, tile, query, kt);
            Value wideV = wide(vt); // while products leave the array
            Value nextMost = most.maximum(s.max(1).expandDims(1));
            // a row that has seen nothing yet must not compute inf - inf
            Value less = tl.where(nextMost.gt(NEVER), nextMost, 0).mul(-scale);
            Value p = s.fma(scaling, less).exp();
            Value shrink = most.fma(scaling, less).exp();
            Value nextSum = sum.mul(shrink).add(p.sum(1).expandDims(1));
            Value weights = masked(tl, kept(tl, tile, b, h), p);
            Value nextAcc = tl.dotInPlace(acc.mul(shrink), weights, wideV);
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
        Value finiteMost = tl.where(some, most, 0).mul(scale);
        Value log = tl.where(some, finiteMost.add(tl.where(some, sum, 1).log()), NEVER);
        tl.store(logSum.block(tl, b, h, row, count), log);
      }
    }
  }

  private static final double NEVER = Double.NEGATIVE_INFINITY;

  /** The result over the keys of two results together. */
  Partial merge(Partial a, Partial b) {
    int n = Math.toIntExact(a.logSum.shape().elements() / heads.batch / heads.queryHeads);
    Tensor out = compute.empty(graph.name("merge"), a.output.shape(), a.output.dtype());
    Tensor logSum = compute.empty(graph.name("merge-logsum"), a.logSum.shape(), a.logSum.dtype());
    Rows to = new Rows(results(out, n), perQuery(logSum, n));
    Rows first = new Rows(results(a.output, n), perQuery(a.logSum, n));
    Rows second = new Rows(results(b.output, n), perQuery(b.logSum, n));
    deal(
        "merge",
        List.of(out, logSum),
        List.of(a.output, a.logSum, b.output, b.logSum),
        new Dealt(heads.queryHeads, n, TILE),
        (tl, sample, h, row, count) -> merge(tl, to, first, second, sample, h, row, count));
    return new Partial(out, logSum);
  }

  /** The rows of a {@link Partial}. */
  private record Rows(HeadRows output, HeadRows logSum) {}

  private static void merge(
      Tl tl, Rows to, Rows first, Rows second, int sample, int h, int row, int count) {
    try (Scope all = tl.scope()) {
      Value one = tl.load(first.logSum.block(tl, sample, h, row, count));
      Value other = tl.load(second.logSum.block(tl, sample, h, row, count));
      Value most = one.maximum(other);
      Value some = most.gt(NEVER);
      Value base = tl.where(some, most, 0);
      Value a = one.sub(base).exp();
      Value b = other.sub(base).exp();
      Value total = tl.where(some, a.add(b), 1);
      Value firsts = wide(tl.load(first.output.block(tl, sample, h, row, count)));
      Value seconds = wide(tl.load(second.output.block(tl, sample, h, row, count)));
      Value both = firsts.mul(a).add(seconds.mul(b)).div(total);
      tl.store(to.output.block(tl, sample, h, row, count), both.cast(to.output.dtype()));
      Value log = tl.where(some, base.add(total.log()), NEVER);
      tl.store(to.logSum.block(tl, sample, h, row, count), log);
    }
  }

  // ---- backward ----

  /** Gradients with respect to queries, keys and values. */
  record Grads(Tensor q, Tensor k, Tensor v) {}

  /**
   * The share of some keys in the gradients.
   *
   * @param result over all keys, not only these
   */
  Grads backward(
      Tensor q, Tensor k, Tensor v, Positions qAt, Positions kAt, Partial result, Tensor grad) {
    int keys = kAt.count();
    try (HeadRows kRows = keys(k, keys).gathered(compute, graph.name("keys-by-head"), true);
        HeadRows vRows = values(v, keys).gathered(compute, graph.name("values-by-head"), true)) {
      return backward(q, kRows, vRows, qAt, kAt, result, grad);
    }
  }

  private Grads backward(
      Tensor q,
      HeadRows kRows,
      HeadRows vRows,
      Positions qAt,
      Positions kAt,
      Partial result,
      Tensor grad) {
    int n = qAt.count();
    Tensor inner = compute.empty(graph.name("inner"), result.logSum.shape(), result.logSum.dtype());
    Tiles where =
        new Tiles(
            queries(q, n),
            kRows,
            vRows,
            qAt,
            kAt,
            perQuery(result.logSum, n),
            perQuery(inner, n),
            results(grad, n));
    double pairs = 2 * pairs(qAt, kAt);
    compute.countFlops(graph.name("dq"), pairs * (2 * heads.size + heads.valueSize), q.dtype());
    compute.countFlops(graph.name("dkv"), pairs * 2 * (heads.size + heads.valueSize), q.dtype());
    Tensor dq = queryGrads(where, results(result.output, n), inner);
    try (Tiles copied = where.byHead(compute, graph)) {
      return keyGrads(copied, dq);
    }
  }

  /**
   * Each query is read by one PE, so where it lies. That PE also finds the inner product of its
   * output with its gradient, which the gradient of softmax needs.
   */
  private Tensor queryGrads(Tiles tiles, HeadRows output, Tensor inner) {
    int n = tiles.qAt.count();
    Shape shape = Shape.of(n, heads.batch, heads.queryHeads * heads.size);
    Tensor dq = compute.empty(graph.name("dq"), shape, Compute.working(tiles.q.dtype()));
    HeadRows toQ = queries(dq, n);
    compute.countBytes(graph.name("dq"), -tiles.surplusBytes());
    deal(
        "dq",
        List.of(dq, inner),
        all(tiles.tensors(), output.tensors(), drawn()),
        new Dealt(heads.queryHeads, n, TILE),
        (tl, b, h, row, count) -> queryGrad(tl, tiles, output, toQ, b, h, row, count));
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
    deal(
        "dkv",
        List.of(dk, dv),
        all(tiles.tensors(), drawn()),
        new Dealt(heads.keyHeads, keys, keyTile(keys)),
        (tl, b, kh, key, width) -> keyGrad(tl, tiles, toK, toV, b, kh, key, width));
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
      return List.of(q, k, v, grad).stream().mapToLong(HeadRows::surplusBytes).sum();
    }

    /** These tiles with copies of what belongs to queries, which each key reads again. */
    Tiles byHead(Compute compute, Graph graph) {
      return new Tiles(
          q.gathered(compute, graph.name("queries-by-head"), true),
          k,
          v,
          qAt,
          kAt,
          logSum,
          inner,
          grad.gathered(compute, graph.name("grad-by-head"), true));
    }

    @Override
    public void close() {
      q.close();
      grad.close();
    }
  }

  /**
   * Some rows of queries, with what the gradient of softmax needs of them: where sums of products
   * begin, for the array takes an addition for nothing.
   *
   * @param lessLogSum what the products with keys, before they are scaled, begin from
   * @param lessInner what the gradients of probabilities begin from
   */
  private record Queries(Value q, Value dOut, Value lessLogSum, Value lessInner) {
    Queries(Tl tl, Value q, Value dOut, Value logSum, Value inner, double scale) {
      this(q, dOut, tl.where(logSum.gt(NEVER), logSum, 0).mul(-1 / scale), inner.neg());
    }
  }

  /** Probabilities of a tile, and the gradient of its scores over their scale. */
  private record Softmax(Value p, Value ds) {}

  private Softmax softmax(
      Tl tl, MaskedTile tile, Optional<Value> kept, Queries of, Value k, Value v) {
    Shape pairs = Shape.of(tile.rows(), tile.keys());
    // both products first: what leaves the array last is not what MATH needs first
    Value products = tl.dot(of.q, k.trans(), of.lessLogSum.broadcastTo(pairs));
    Value dp =
        kept.isEmpty()
            ? tl.dot(of.dOut, v.trans(), of.lessInner.broadcastTo(pairs))
            : masked(tl, kept, tl.dot(of.dOut, v.trans(), products.dtype())).add(of.lessInner);
    Value p = tile.masked(tl, products).mul(scale).exp();
    return new Softmax(p, p.mul(dp));
  }

  private void queryGrad(
      Tl tl, Tiles t, HeadRows output, HeadRows dq, int b, int h, int row, int rows) {
    int keys = t.kAt.count();
    int kh = heads.keyHead(h);
    try (Scope all = tl.scope()) {
      Value q = tl.load(t.q.block(tl, b, h, row, rows));
      Value dOut = tl.load(t.grad.block(tl, b, h, row, rows));
      Value logSum = tl.load(t.logSum.block(tl, b, h, row, rows));
      Value inner = inner(tl, output.block(tl, b, h, row, rows), dOut);
      tl.store(t.inner.block(tl, b, h, row, rows), inner);
      Queries of = new Queries(tl, q, dOut, logSum, inner, scale);
      Value sum = tl.zeros(Shape.of(rows, heads.size), dq.dtype());
      for (int key = 0; key < keys; key += TILE) {
        int width = Math.min(TILE, keys - key);
        MaskedTile tile = new MaskedTile(t.qAt, row, rows, t.kAt, key, width);
        if (tile.seesAny()) {
          try (Scope step = tl.scope()) {
            Value k = tl.load(t.k.block(tl, b, kh, key, width));
            Value v = tl.load(t.v.block(tl, b, kh, key, width));
            Softmax s = softmax(tl, tile, kept(tl, tile, b, h), of, k, v);
            sum = step.keep(tl.dotInPlace(sum, s.ds, wide(k)));
          }
        }
      }
      tl.store(dq.block(tl, b, h, row, rows), sum.mul(scale));
    }
  }

  private static Value inner(Tl tl, Slice output, Value grad) {
    try (Scope one = tl.scope()) {
      Value products = wide(tl.load(output)).mul(wide(grad));
      return one.keep(products.sum(1).expandDims(1));
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
              Queries of =
                  new Queries(
                      tl,
                      tl.load(t.q.block(tl, b, h, row, rows)),
                      tl.load(t.grad.block(tl, b, h, row, rows)),
                      tl.load(t.logSum.block(tl, b, h, row, rows)),
                      tl.load(t.inner.block(tl, b, h, row, rows)),
                      scale);
              Optional<Value> kept = kept(tl, tile, b, h);
              Softmax s = softmax(tl, tile, kept, of, k, v);
              Value weights = masked(tl, kept, s.p);
              sumK = step.keep(tl.dotInPlace(sumK, s.ds.trans(), wide(of.q)));
              sumV = step.keep(tl.dotInPlace(sumV, weights.trans(), wide(of.dOut)));
            }
          }
        }
      }
      tl.store(dk.block(tl, b, kh, key, width), sumK.mul(scale));
      tl.store(dv.block(tl, b, kh, key, width), sumV);
    }
  }
}
