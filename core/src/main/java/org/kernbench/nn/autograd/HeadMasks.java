package org.kernbench.nn.autograd;

import java.util.List;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Masks of what attention gives each key. The number of a pair is {@code ((sample heads + head)
 * sequence + query) sequence + key}, of all heads and of positions in the whole sequence, so that
 * it does not matter which rank has which heads, queries or keys at the moment.
 *
 * @param rate of what is left out
 * @param key of the masks
 * @param heads {@code sample heads + head} of each sample and head of the rank
 * @param queries position of each query
 * @param sequence length of the whole sequence
 */
record HeadMasks(double rate, Tensor key, Tensor heads, Tensor queries, int sequence) {
  List<Tensor> tensors() {
    return List.of(key, heads, queries);
  }

  /** Which pairs of a tile are kept. */
  Value keeps(Tl tl, MaskedTile tile, int head) {
    Value of = tl.load(tl.whole(heads).range(head, 1)).mul(sequence);
    Value query = tl.load(tl.whole(queries).range(tile.row(), tile.rows()));
    Value row = query.add(of).mul(sequence).reshape(tile.rows(), 1);
    Value offsets = row.add(tile.keysAt(tl).cast(DType.I64).reshape(1, tile.keys()));
    Value keeps = keeps(tl, tl.load(tl.whole(key).range(0, 1)), offsets, rate);
    tl.release(offsets);
    return keeps;
  }

  /** Where a random number is not below the rate. */
  static Value keeps(Tl tl, Value key, Value offsets, double rate) {
    Value random = tl.rand(key, offsets);
    Value keeps = random.ge(rate);
    tl.release(random);
    return keeps;
  }

  /** Values of pairs, of which those that are kept grow. */
  Value apply(Tl tl, Value keeps, Value pairs) {
    return tl.where(keeps, pairs.mul(1 / (1 - rate)), 0);
  }
}
