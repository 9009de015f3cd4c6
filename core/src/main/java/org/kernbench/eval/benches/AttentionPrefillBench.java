package org.kernbench.eval.benches;

import java.util.List;
import org.kernbench.device.Launch;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Pe;
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
 * does; those give zeros.
 */
final class AttentionPrefillBench implements Bench {
  private static final Param<Integer> SEQUENCE =
      Param.integer("sequence", 80, 1, 1 << 14, "queries and keys");
  private static final Param<Integer> HEAD_DIM =
      Param.integer("head_dim", 64, 1, 1024, "width of a head");
  private static final Param<Integer> PADDING =
      Param.integer("padding", 5, 0, 1 << 14, "positions at the start that are hidden");
  private static final Param<Integer> TILE_Q =
      Param.integer("tile_q", 32, 1, 1024, "queries of a tile");
  private static final Param<Integer> TILE_K =
      Param.integer("tile_k", 32, 1, 1024, "keys of a tile");

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
        SEQUENCE, HEAD_DIM, PADDING, TILE_Q, TILE_K, KernelBed.DTYPE, DeviceChoice.PARAM);
  }

  @Override
  public Outcome run(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int s = context.param(SEQUENCE);
      int dim = context.param(HEAD_DIM);
      int padding = context.param(PADDING);
      int tileQ = context.param(TILE_Q);
      int tileK = context.param(TILE_K);
      DType d = KernelBed.dtype(context);
      List<Pe> pes = bed.places(KernelBed.Over.CUBE);
      int p = pes.size();
      Tensor[] qs = new Tensor[p];
      Tensor[] ks = new Tensor[p];
      Tensor[] vs = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      for (int r = 0; r < p; r++) {
        qs[r] = bed.tensor(pes.get(r), "q" + r, d, bed.random(r, s * dim, d), s, dim);
        ks[r] = bed.tensor(pes.get(r), "k" + r, d, bed.random(50 + r, s * dim, d), s, dim);
        vs[r] = bed.tensor(pes.get(r), "v" + r, d, bed.random(99 + r, s * dim, d), s, dim);
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
        HostValues q = bed.random(r, s * dim, d);
        HostValues k = bed.random(50 + r, s * dim, d).rows(dim, Math.min(padding, s), s);
        HostValues v = bed.random(99 + r, s * dim, d).rows(dim, Math.min(padding, s), s);
        HostValues want =
            bed.values(() ->
                ReferenceFunctions.attention(
                    q.get(), k.get(), v.get(), s, dim, i -> Math.max(0, i + 1 - padding)));
        // probabilities and the result are rounded to the dtype, each relative to |v| <= 1
        bed.check(
            ys[r],
            want,
            2.5 * d.unitRoundoff() + (s + 4 * dim + 64) * d.accumulator().unitRoundoff());
      }
      double pairs = (double) s * (s + 1) / 2;
      return bed.outcome(
          launch, new KernelBed.Work(4 * pairs * dim, 4.0 * s * dim * d.sizeBytes()));
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
