package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Pe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * {@code attention-prefill}: {@code softmax(Q K^T / sqrt(d)) V} for one head per PE of a cube, tile
 * by tile with the running maximum and sum of Milakov and Gimelshein (as in FlashAttention): scores
 * never leave TCM. The mask is causal and may hide the first queries altogether, as left padding
 * does; those give zeros. Or the same heads as attention of a model, which chooses its tiles and
 * divides queries and heads itself.
 */
final class AttentionPrefillBench implements Bench {
  private static final Param<Integer> SEQUENCE =
      Param.integer("sequence", 80, 1, 1 << 14, "queries and keys");
  private static final Param<Integer> HEAD_DIM =
      Param.integer("head_dim", 64, 1, 1024, "width of a head");
  private static final Param<Integer> PADDING =
      Param.integer("padding", 5, 0, 1 << 14, "positions at the start that are hidden");

  /** Queries and keys of a tile, unless the user says so. */
  private static final int TILE = 32;

  private static final Param<Integer> TILE_Q =
      Param.integer("tile_q", TILE, 1, 1024, "queries of a tile");
  private static final Param<Integer> TILE_K =
      Param.integer("tile_k", TILE, 1, 1024, "keys of a tile");

  private static final Param<Split> SPLIT =
      Param.choice(
          "split",
          Split.HEADS,
          Split.class,
          "how heads, one for each PE, are divided: each to its PE, or as models do it on a device");

  private enum Split {
    HEADS,
    DEVICE
  }

  @Override
  public String name() {
    return "attention-prefill";
  }

  @Override
  public String description() {
    return "causal attention of a head per PE, with online softmax and hidden positions";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(
        SEQUENCE,
        HEAD_DIM,
        PADDING,
        TILE_Q,
        TILE_K,
        KernelBed.DTYPE,
        SPLIT,
        ModelBed.OVER,
        DeviceChoice.PARAM);
  }

  @Override
  public Outcome run(BenchContext context) {
    return context.param(SPLIT) == Split.DEVICE ? onDevice(context) : byHeads(context);
  }

  private static Outcome onDevice(BenchContext context) {
    for (Param<Integer> tile : List.of(TILE_Q, TILE_K)) {
      if (context.param(tile) != TILE) {
        throw new UsageException(
            """
            --param %s=%s: with split=device tiles follow from the machine; leave it out, or \
            take split=heads\
            """
                .formatted(tile.name(), context.param(tile)));
      }
    }
    try (ModelBed bed = ModelBed.open(context, context.param(ModelBed.OVER))) {
      int s = context.param(SEQUENCE);
      int dim = context.param(HEAD_DIM);
      int padding = context.param(PADDING);
      DType d = KernelBed.dtype(context);
      int heads = bed.pes();
      List<Head> all = new ArrayList<>();
      for (int r = 0; r < heads; r++) {
        all.add(Head.of(bed.bed(), r, s, dim, d));
      }
      int[] at = IntStream.range(0, s).toArray();
      int[] seenFrom = IntStream.range(0, s).map(i -> i < padding ? s + i : i).toArray();
      Variable[] in = new Variable[3];
      for (int i = 0; i < in.length; i++) {
        int part = i;
        HostValues values =
            bed.bed()
                .values(() -> besides(all.stream().map(h -> h.part(part).get()).toList(), s, dim));
        in[i] = bed.activation("qkv".substring(i, i + 1), d, values, s, 1, heads * dim);
      }
      Variable y = bed.graph().attention(in[0], in[1], in[2], dim, at, seenFrom);
      HostValues want =
          bed.bed().values(() -> besides(all.stream().map(h -> h.want(padding)).toList(), s, dim));
      bed.check(y.value(), want, () -> bound(d, s, dim));
      Least least = Least.of(s, padding);
      return bed.outcome(4 * least.pairs * dim * heads, least.rows * dim * heads * d.sizeBytes());
    }
  }

  /** Matrices of {@code s} rows of {@code dim}, one behind the other in each row. */
  private static double[] besides(List<double[]> matrices, int s, int dim) {
    double[] rows = new double[s * dim * matrices.size()];
    for (int i = 0; i < s; i++) {
      for (int r = 0; r < matrices.size(); r++) {
        System.arraycopy(matrices.get(r), i * dim, rows, (i * matrices.size() + r) * dim, dim);
      }
    }
    return rows;
  }

  /** Queries, keys and values of one head. */
  private record Head(HostValues q, HostValues k, HostValues v, int s, int dim) {
    static Head of(KernelBed bed, int r, int s, int dim, DType d) {
      return new Head(
          bed.random(r, s * dim, d),
          bed.random(50 + r, s * dim, d),
          bed.random(99 + r, s * dim, d),
          s,
          dim);
    }

    HostValues part(int i) {
      return List.of(q, k, v).get(i);
    }

    double[] want(int padding) {
      int from = Math.min(padding, s);
      return ReferenceFunctions.attention(
          q.get(),
          k.rows(dim, from, s).get(),
          v.rows(dim, from, s).get(),
          s,
          dim,
          i -> Math.max(0, i + 1 - padding));
    }
  }

  /**
   * Probabilities and the result are rounded to the dtype, each relative to values of at most 1.
   */
  private static double bound(DType d, int s, int dim) {
    return 2.5 * d.unitRoundoff() + (s + 4 * dim + 64) * d.accumulator().unitRoundoff();
  }

  private static Outcome byHeads(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int s = context.param(SEQUENCE);
      int dim = context.param(HEAD_DIM);
      int padding = context.param(PADDING);
      int tileQ = context.param(TILE_Q);
      int tileK = context.param(TILE_K);
      DType d = KernelBed.dtype(context);
      List<Pe> pes = bed.places(context.param(ModelBed.OVER));
      int p = pes.size();
      Tensor[] qs = new Tensor[p];
      Tensor[] ks = new Tensor[p];
      Tensor[] vs = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      for (int r = 0; r < p; r++) {
        Head head = Head.of(bed, r, s, dim, d);
        qs[r] = bed.tensor(pes.get(r), "q" + r, d, head.q, s, dim);
        ks[r] = bed.tensor(pes.get(r), "k" + r, d, head.k, s, dim);
        vs[r] = bed.tensor(pes.get(r), "v" + r, d, head.v, s, dim);
        ys[r] = bed.empty(pes.get(r), "y" + r, d, s, dim);
      }
      Launch launch =
          bed.run(
              "attention-prefill",
              tl -> {
                int r = pes.indexOf(tl.pe());
                Shard q = tl.shard(qs[r]);
                Shard k = tl.shard(ks[r]);
                Shard v = tl.shard(vs[r]);
                Shard y = tl.shard(ys[r]);
                for (int i = 0; i < s; i += tileQ) {
                  int rows = Math.min(tileQ, s - i);
                  try (var outer = tl.scope()) {
                    Value queries = tl.load(q.block(i, rows, 0, dim));
                    Online state = Online.empty(tl, rows, dim, d.accumulator());
                    for (int j = 0; j < Math.min(s, i + rows); j += tileK) {
                      int columns = Math.min(tileK, s - j);
                      try (var turn = tl.scope()) {
                        Value keys = tl.load(k.block(j, columns, 0, dim));
                        Value values = tl.load(v.block(j, columns, 0, dim));
                        Value scores =
                            tl.dot(queries, keys.trans(), d.accumulator()).mul(1 / Math.sqrt(dim));
                        Value query = tl.arange(i, i + rows).expandDims(1);
                        Value key = tl.arange(j, j + columns).expandDims(0);
                        Value seen = query.ge(key).and(key.ge(padding));
                        scores = tl.where(seen, scores, Double.NEGATIVE_INFINITY);
                        Online next = state.with(tl, scores, values);
                        next.keep(turn);
                        state.release(tl);
                        state = next;
                      }
                    }
                    tl.store(y.block(i, rows, 0, dim), state.result(tl).cast(d));
                  }
                }
              });
      for (int r = 0; r < p; r++) {
        Head head = Head.of(bed, r, s, dim, d);
        bed.check(ys[r], bed.values(() -> head.want(padding)), () -> bound(d, s, dim));
      }
      Least least = Least.of(s, padding);
      return bed.outcome(
          launch, new KernelBed.Work(4 * least.pairs * dim, least.rows * dim * d.sizeBytes()));
    }
  }

  /**
   * What must be done for a head.
   *
   * @param pairs of a query and a key that it sees
   * @param rows of queries, keys and values that are seen, and of the result
   */
  private record Least(double pairs, double rows) {
    /** Of so many positions, of which the first are padding, and hidden as keys. */
    static Least of(int positions, int padding) {
      double seen = Math.max(0, positions - padding);
      return new Least(seen * (seen + 1) / 2, 3 * seen + positions);
    }
  }

  /** What attention knows of the keys so far, for each query: maximum, sum, weighted values. */
  record Online(Value largest, Value sum, Value weighted) {
    static Online empty(Tl tl, int rows, int dim, DType type) {
      return new Online(
          tl.full(Shape.of(rows, 1), Double.NEGATIVE_INFINITY, type),
          tl.zeros(Shape.of(rows, 1), type),
          tl.zeros(Shape.of(rows, dim), type));
    }

    /** Takes in more keys; scores of hidden ones are -inf. */
    Online with(Tl tl, Value scores, Value values) {
      Value most = largest.maximum(scores.max(1).expandDims(1));
      Value shift = tl.where(most.eq(Double.NEGATIVE_INFINITY), 0.0, most);
      Value p = scores.sub(shift).exp();
      Value fade = largest.sub(shift).exp();
      return new Online(
          most,
          sum.mul(fade).add(p.sum(1).expandDims(1)),
          tl.dot(p.cast(values.dtype()), values, weighted.mul(fade)));
    }

    /** The two together. */
    Online merge(Tl tl, Online other) {
      Value most = largest.maximum(other.largest);
      Value shift = tl.where(most.eq(Double.NEGATIVE_INFINITY), 0.0, most);
      Value fade = largest.sub(shift).exp();
      Value otherFade = other.largest.sub(shift).exp();
      return new Online(
          most,
          sum.mul(fade).add(other.sum.mul(otherFade)),
          weighted.mul(fade).add(other.weighted.mul(otherFade)));
    }

    void keep(org.kernbench.tl.Scope scope) {
      scope.keep(largest);
      scope.keep(sum);
      scope.keep(weighted);
    }

    void release(Tl tl) {
      tl.release(largest);
      tl.release(sum);
      tl.release(weighted);
    }

    /** Zeros where no key was seen. */
    Value result(Tl tl) {
      return weighted.div(tl.where(sum.eq(0), 1.0, sum));
    }
  }
}
