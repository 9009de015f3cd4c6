package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.tl.ShardedGemm;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * {@code attention-decode}: one query per head against keys and values that lie over the PEs of a
 * cube, or over the cubes of a package. Each rank makes maximum, sum and weighted values of its own
 * keys; these triplets are merged along the chain of ranks, and the last one stores the result. A
 * context shorter than the number of ranks leaves some without keys.
 */
final class AttentionDecodeBench implements Bench {
  private static final Param<Integer> CONTEXT =
      Param.integer("context", 100, 0, 1 << 20, "keys in the cache; ranks share them");
  private static final Param<Integer> HEADS =
      Param.integer("heads", 8, 1, 256, "query heads that share keys and values (GQA)");
  private static final Param<Integer> HEAD_DIM =
      Param.integer("head_dim", 64, 1, 1024, "width of a head");
  private static final Param<Integer> TILE_K =
      Param.integer("tile_k", 64, 1, 4096, "keys of a tile");
  private static final Param<KernelBed.Over> OVER =
      Param.choice(
          "over",
          KernelBed.Over.CUBE,
          List.of(KernelBed.Over.CUBE, KernelBed.Over.CUBES),
          "ranks: PEs of a cube, or cubes");

  @Override
  public String name() {
    return "attention-decode";
  }

  @Override
  public String description() {
    return "decode attention, keys and values over PEs or cubes, partial results merged on the way";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(CONTEXT, HEADS, HEAD_DIM, TILE_K, OVER, KernelBed.DTYPE, DeviceChoice.PARAM);
  }

  @Override
  public Outcome run(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int keys = context.param(CONTEXT);
      int heads = context.param(HEADS);
      int dim = context.param(HEAD_DIM);
      int tile = context.param(TILE_K);
      DType d = KernelBed.dtype(context);
      List<Pe> pes = bed.places(context.param(OVER));
      int p = pes.size();
      HostValues q = bed.random(1, heads * dim, d);
      HostValues k = bed.random(2, keys * dim, d);
      HostValues v = bed.random(3, keys * dim, d);
      Tensor[] qs = new Tensor[p];
      Tensor[] ks = new Tensor[p];
      Tensor[] vs = new Tensor[p];
      List<QueuePlan.Connection> chain = new ArrayList<>();
      for (int r = 0; r < p; r++) {
        int from = ShardedGemm.start(keys, r, p);
        int to = ShardedGemm.start(keys, r + 1, p);
        qs[r] = bed.tensor(pes.get(r), "q" + r, d, q, heads, dim);
        ks[r] = bed.tensor(pes.get(r), "k" + r, d, k.rows(dim, from, to), to - from, dim);
        vs[r] = bed.tensor(pes.get(r), "v" + r, d, v.rows(dim, from, to), to - from, dim);
        if (r + 1 < p) {
          chain.add(new QueuePlan.Connection(pes.get(r), "next", pes.get(r + 1), "previous"));
        }
      }
      Tensor y = bed.empty(pes.get(p - 1), "y", d, heads, dim);
      DType wide = d.accumulator();
      Launch launch =
          bed.run(
              "attention-decode",
              tl -> {
                int r = pes.indexOf(tl.pe());
                Shard keyShard = tl.shard(ks[r]);
                Shard valueShard = tl.shard(vs[r]);
                Value query = tl.load(qs[r]);
                var state = AttentionPrefillBench.Online.empty(tl, heads, dim, wide);
                int mine = keyShard.shape().dim(0);
                for (int j = 0; j < mine; j += tile) {
                  try (var turn = tl.scope()) {
                    int count = Math.min(tile, mine - j);
                    Value keyTile = tl.load(keyShard.block(j, count, 0, dim));
                    Value valueTile = tl.load(valueShard.block(j, count, 0, dim));
                    Value scores = tl.dot(query, keyTile.trans(), wide).mul(1 / Math.sqrt(dim));
                    var next = state.with(tl, scores, valueTile);
                    next.keep(turn);
                    state.release(tl);
                    state = next;
                  }
                }
                if (r > 0) {
                  Value triplet = tl.recv("previous", Shape.of(heads, dim + 2), wide);
                  List<Value> parts = triplet.split(1, 1, 1, dim);
                  state =
                      state.merge(
                          tl,
                          new AttentionPrefillBench.Online(
                              parts.get(0), parts.get(1), parts.get(2)));
                }
                if (r + 1 < p) {
                  tl.send("next", tl.concat(1, state.largest(), state.sum(), state.weighted()));
                } else {
                  tl.store(y, state.result(tl).cast(d));
                }
              },
              bed.connect(chain));
      HostValues want =
          bed.values(
              () -> ReferenceFunctions.attention(q.get(), k.get(), v.get(), heads, dim, i -> keys));
      bed.check(
          y, want, 2.5 * d.unitRoundoff() + (keys + 4 * dim + 8 * p + 64) * wide.unitRoundoff());
      double mine = Math.ceilDiv(keys, p);
      return bed.outcome(
              launch, new KernelBed.Work(4 * mine * heads * dim, 2 * mine * dim * d.sizeBytes()))
          .condition("ranks", p);
    }
  }
}
